# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the demo and tests with each Python of this machine on each ROS 2 that has wheels.

    python tools/support_matrix.py
    python tools/support_matrix.py --python 3.10 --ros kilted --target test -- test/package -q

Prints a table in Markdown and leaves the whole outputs in results/support_matrix. Each combination
gets an environment of its own, which is removed afterwards unless `--keep` is given (2.5 GB each).
What follows `--` goes to pytest. Needs the standard library only.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / 'results/support_matrix'
VERSIONS = ('3.10', '3.11', '3.12', '3.13')
DEMO_DURATION = 6  # s


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the combinations one after the other; return 1 if one of them failed."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows, failed = [], False
    for distribution in options.ros:
        for version in options.python:
            python = find_python(version)
            if python is None:
                rows.append((distribution, version, '', 'not on this machine', '', ''))
                continue
            venv = ROOT / f'.venv-matrix-{distribution}-{version}'
            for target in options.target:
                passed, counts, seconds = run(target, distribution, python, venv, options.pytest)
                failed |= not passed
                result = 'passed' if passed else '**failed**'
                rows.append((distribution, version, target, result, counts, f'{seconds:.0f} s'))
                print('|', ' | '.join(rows[-1]), '|', file=sys.stderr, flush=True)
            if not options.keep:
                shutil.rmtree(venv, ignore_errors=True)
                venv.with_name(f'{venv.name}.lock').unlink(missing_ok=True)
    print('| ROS 2 | Python | make | result | counts | time |\n|---|---|---|---|---|---|')
    for row in rows:
        print('|', ' | '.join(row), '|')
    return int(failed)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    distributions = sorted(
        path.stem.removeprefix('ros-wheels-')
        for path in (ROOT / 'requirements').glob('ros-wheels-*.txt')
    )
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, choices in (
        ('python', VERSIONS),
        ('ros', tuple(distributions)),
        ('target', ('demo', 'test')),
    ):
        parser.add_argument(
            f'--{name}',
            nargs='+',
            choices=choices,
            default=choices,
            help=f'some of {", ".join(choices)} (default: all)',
        )
    parser.add_argument('--keep', action='store_true', help='keep the environments')
    parser.add_argument('pytest', nargs='*', metavar='ARGUMENT', help='arguments of pytest')
    return parser.parse_args(arguments)


def find_python(version: str) -> str | None:
    """Return a Python of this version, in PATH or made by pyenv; None if there is none."""
    root = Path(os.environ.get('PYENV_ROOT') or Path.home() / '.pyenv')
    ours = sorted(map(str, root.glob(f'versions/{version}.*/bin/python{version}')))
    for command in (f'python{version}', *ours):
        probe = [command, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])']
        try:
            if subprocess.run(probe, capture_output=True, text=True).stdout.strip() == version:
                return command
        except OSError:
            continue
    return None


def run(
    target: str, distribution: str, python: str, venv: Path, pytest: Sequence[str]
) -> tuple[bool, str, float]:
    """Run a target of make; return whether it passed, its counts, and its time with set-up [s]."""
    start = time.monotonic()
    log = RESULTS / f'{venv.name.removeprefix(".venv-matrix-")}-{target}.log'
    with log.open('w') as output:
        status = subprocess.run(
            [
                'make',
                '--no-print-directory',
                target,
                f'ROS={distribution}',
                f'PYTHON={python}',
                f'VENV={venv}',
                f'DURATION={DEMO_DURATION}',
                f'PYTEST_ARGS={shlex.join(pytest)}',
            ],
            cwd=ROOT,
            env={**os.environ, 'TUTORIALS': '1'},
            stdout=output,
            stderr=subprocess.STDOUT,
        ).returncode
    text = log.read_text(errors='replace')
    return status == 0, counts(text), time.monotonic() - start


def counts(output: str) -> str:
    """Return what a run says about how many tests or comparisons passed."""
    found = re.findall(r'^(?:=+ )?((?:\d+ \w+, )*\d+ \w+) in [\d.]+s', output, re.MULTILINE)
    found += re.findall(r'^PASSED: all (\d+ comparisons)', output, re.MULTILINE)
    return str(found[-1]) if found else ''


if __name__ == '__main__':
    sys.exit(main())
