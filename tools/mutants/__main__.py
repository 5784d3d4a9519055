# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Changes the package in one place at a time, and counts the changes that its tests find.

    make mutants MUTANTS='screw_dynamics_ros/core/lie --sample 100'
    make mutants MUTANTS='--since origin/main'

Cosmic Ray makes the changes, each in a copy of the tree. The test suite runs once with coverage,
nodes in other processes included, and test files that change run again; each change is then tried
with the tests that run the changed line, doctests included: first those in the folder of `test`
with the path of the file, then others, a minute (--seconds) and eight files of each at most.
Results are kept in build/mutants/results.jsonl: an interrupted run goes on, a change that was found
is not tried again while its file is the same, and one that survived while its tests are. What
changes no result is listed, with the reason, in tools/mutants/equivalent.yaml.

Prints a table by folder and every change that no test finds; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutants.changes import Change, can_be_imported, changed_lines, changes_of, python_files
from tools.mutants.copies import copy_of
from tools.mutants.coverage import TestsByLine
from tools.mutants.report import Counts, Equivalent, Results, count, table
from tools.mutants.trials import try_all

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / 'build/mutants'
RESULT = ROOT / 'tools/coverage_of_tests/results/mutants.json'


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the changes of the command line; return 1 if tests miss one."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    lines = changed_lines(ROOT, options.since) if options.since else None
    files = python_files(ROOT, options.path) if lines is None else sorted(lines)
    changes = changes_of(ROOT, files, lines, options.sample, options.seed)
    BUILD.mkdir(parents=True, exist_ok=True)
    tests = TestsByLine(ROOT, options.seconds)
    results = Results(BUILD / 'results.jsonl', ROOT, tests)
    if absent := {each.file for each in changes if not can_be_imported(each.file)}:
        print(f'left out, as their libraries are not here: {", ".join(sorted(absent))}')
        changes = [each for each in changes if each.file not in absent]
    equivalent = Equivalent(Path(__file__).with_name('equivalent.yaml'), ROOT)
    untried = [each for each in changes if each not in results and each not in equivalent]
    random.Random(options.seed).shuffle(untried)  # what is tried before an interruption is a sample
    print(f'{len(changes)} changes, {len(untried)} of them not tried yet', flush=True)
    try:
        if untried:
            copies = [copy_of(ROOT, BUILD / f'copy_{k}') for k in range(options.jobs)]
            try_all(copies, untried, tests, results)
    except KeyboardInterrupt:
        print('interrupted; the same command goes on from here', file=sys.stderr)
    changes = [each for each in changes if each in results or each in equivalent]
    counts = count(changes, results, equivalent)
    if options.write:
        before = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        RESULT.write_text(f'{json.dumps(before | counts, indent=1, sort_keys=True)}\n')
    return report(changes, results, equivalent, counts)


def report(
    changes: Sequence[Change], results: Results, equivalent: Equivalent, counts: Counts
) -> int:
    """Print what was found, and what was not."""
    survivors = [c for c in changes if c not in equivalent and results.survived(c)]
    for change in survivors:
        print(f'\n{change.file}:{change.line} [{change.operator}] {results.tests(change)} tests')
        print(f'  - {change.before}\n  + {change.after}')
    print()
    print(table(counts))
    return int(bool(survivors))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog='make mutants',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('path', nargs='*', default=['screw_dynamics_ros'], help='folders and files')
    parser.add_argument('--since', metavar='REVISION', help='only lines that differ from there')
    parser.add_argument('--sample', type=int, metavar='N', help='so many of the changes, at random')
    parser.add_argument('--seed', type=int, default=1, help='of the sample (default: 1)')
    parser.add_argument(
        '--write', action='store_true', help='write the counts for QUALITY_DECLARATION.md'
    )
    parser.add_argument(
        '--seconds', type=float, default=60.0, help='of tests beside the file, and of others'
    )
    parser.add_argument('--jobs', type=int, default=2, help='processes at a time (default: 2)')
    return parser.parse_args(arguments)


if __name__ == '__main__':
    sys.exit(main())
