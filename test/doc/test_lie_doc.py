# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of rotations, rigid motions and screws: what they name exists."""

import re

from screw_dynamics_ros.core import lie
from support.doc_pages import ROOT, missing_tests, named_tests

TABLE = ROOT / 'doc' / 'spec' / 'coverage_lie.md'
PAGES = [ROOT / 'doc' / 'theory' / f'{name}.md' for name in ('lie_groups', 'screws_and_twists')]


def test_functions_named_exist():
    text = ''.join(page.read_text() for page in (*PAGES, TABLE))
    names = set(re.findall(r'`(so3|se3|so3xr3|quaternions|screws)\.(\w+)`', text))
    assert len(names) > 40
    missing = [
        f'{module}.{name}' for module, name in names if not hasattr(getattr(lie, module), name)
    ]
    assert not missing


def test_tests_named_exist():
    assert len(named_tests(TABLE)) > 35
    assert not missing_tests(TABLE, 'test_lie_*.py')
