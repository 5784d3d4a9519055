# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measures which lines and branches the whole test suite runs: `make coverage`.

The processes of nodes and commands that tests start count, too, but for those that are ended by
force. Writes what is not reached to build/coverage/missing.txt, and the counts of each folder to
results/coverage.json, which `make tables` shows in QUALITY_DECLARATION.md. The exit status is that
of the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coverage import Coverage

from tools.coverage_of_tests.folders import folder_of
from tools.coverage_of_tests.measurement import BUILD, PACKAGE, SETTINGS, measure, test_files

ROOT = Path(__file__).resolve().parents[2]
RESULT = Path(__file__).with_name('results') / 'coverage.json'
COUNTS = ('num_statements', 'covered_lines', 'num_branches', 'covered_branches')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests, write what they reach, and return their status."""
    argparse.ArgumentParser(
        prog='make coverage', description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    ).parse_args(arguments)
    folder = ROOT / BUILD
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob('*.tests.json'):
        old.unlink()
    path, status = measure(ROOT, test_files(ROOT))
    report(path.with_name(path.name.replace('.tests.json', '.data')), folder)
    return status


def report(data: Path, folder: Path) -> None:
    """Write the counts of each folder, and what is not reached."""
    measured = Coverage(data_file=str(data), config_file=str(ROOT / SETTINGS))
    measured.load()
    everything = folder / 'everything.json'
    ours = [str(ROOT / PACKAGE / '*')]  # no copies that tests install
    measured.json_report(outfile=str(everything), include=ours)
    files: dict[str, Any] = json.loads(everything.read_text())['files']
    with (folder / 'missing.txt').open('w') as missing:
        measured.report(show_missing=True, skip_covered=True, file=missing, include=ours)
    folders: dict[str, Counter[str]] = {}
    for name, each in sorted(files.items()):
        counts = {key: each['summary'][key] for key in COUNTS}
        folders.setdefault(folder_of(name), Counter()).update(counts)
    text = json.dumps({name: dict(counts) for name, counts in folders.items()}, indent=1)
    RESULT.write_text(f'{text}\n')


if __name__ == '__main__':
    sys.exit(main())
