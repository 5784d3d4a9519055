"""doc/identification.md: its table is that of the results."""

from __future__ import annotations

import json
import re

from support.paths import DOC, ROOT


def test_the_table_is_made_from_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))
    from identification import RESULTS, table

    page = (DOC / 'identification.md').read_text()
    found = re.search(r'<!-- table: simulated -->\n(.*?)<!-- end', page, re.DOTALL)[1]
    assert found == table(json.loads(RESULTS.read_text())['figures']) + '\n'
