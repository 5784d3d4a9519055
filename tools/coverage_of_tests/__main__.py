# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measures which lines and branches the whole test suite runs: `make coverage`.

The processes of nodes and commands that tests start count, too, but for those that are ended by
force. Writes what is not reached to build/coverage/missing.txt, and the counts of each folder to
benchmarks/results/coverage.json, which `make tables` shows in QUALITY_DECLARATION.md. The exit
status is that of the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from coverage import Coverage

from tools.coverage_of_tests.folders import folder_of

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / 'build/coverage'
RESULT = ROOT / 'benchmarks/results/coverage.json'
SETTINGS = 'tools/coverage_of_tests/coverage.ini'
COUNTS = ('num_statements', 'covered_lines', 'num_branches', 'covered_branches')


def main() -> int:
    """Run the tests, write what they reach, and return their status."""
    BUILD.mkdir(parents=True, exist_ok=True)
    data = BUILD / 'data'
    command = [
        sys.executable, '-m', 'pytest', '-n', 'auto', '--maxprocesses', '4', '--dist', 'loadfile',
        '--no-loadscope-reorder', '-p', 'tools.coverage_of_tests.plugin',
        '--cov=screw_dynamics_ros', '--cov-report=', f'--cov-config={SETTINGS}',
    ]  # fmt: skip
    status = subprocess.run(
        command, cwd=ROOT, env=os.environ | {'COVERAGE_FILE': str(data)}, check=False
    ).returncode
    report(data)
    return status


def report(data: Path) -> None:
    """Write the counts of each folder, and what is not reached."""
    measured = Coverage(data_file=str(data), config_file=str(ROOT / SETTINGS))
    measured.load()
    everything = BUILD / 'everything.json'
    measured.json_report(outfile=str(everything))
    files: dict[str, Any] = json.loads(everything.read_text())['files']
    with (BUILD / 'missing.txt').open('w') as missing:
        measured.report(show_missing=True, skip_covered=True, file=missing)
    folders: dict[str, Counter[str]] = {}
    for name, each in sorted(files.items()):
        counts = {key: each['summary'][key] for key in COUNTS}
        folders.setdefault(folder_of(name), Counter()).update(counts)
    text = json.dumps({name: dict(counts) for name, counts in folders.items()}, indent=1)
    RESULT.write_text(f'{text}\n')


if __name__ == '__main__':
    sys.exit(main())
