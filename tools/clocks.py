# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run the tests that read clocks, with clocks that start at other times: `make clocks`.

A clock is the time since the start of the machine in seconds. Each run has a time namespace of
Linux, so that all its processes have such a monotonic clock. Where none may be made, only the
clock of tests in one process (`support.host_bench`) starts there. The wall clock of those tests
starts between 1970 and 2038. Ends with the closing lines of pytest; the status is not 0 if one run
failed.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ('test/nodes', 'test/ros', 'test/cli')

#: Wall clock [s] of the tests in one process for each monotonic clock [s].
CLOCKS = {
    2.0: 86_400.0,  # without a battery: 1970
    3e3: 2_147_000_000.0,  # stamps end in 2038: test/nodes/hosting/test_wall_clock.py goes on
    1e6: 1_750_000_000.0,
    1e9: 946_684_795.0,  # the end of 1999
}
OTHER_WALL = 1_750_000_000.0

WORKERS = ['-n', 'auto', '--maxprocesses', '4', '--dist', 'loadfile', '--no-loadscope-reorder']
CLOSING = re.compile(r'=+ .*(passed|failed|error|skipped|no tests ran).* =+')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pytest once for each clock, and return the status."""
    parser = argparse.ArgumentParser(prog='tools/clocks.py', description=__doc__)
    names = ' '.join(f'{clock:g}' for clock in CLOCKS)
    parser.add_argument(
        '--clocks', default=names, help=f'monotonic clocks at the start [s], {names} by default'
    )
    options, rest = parser.parse_known_args(arguments)
    try:
        clocks = [float(name) for name in options.clocks.split()]
    except ValueError as error:
        parser.error(f'--clocks: {error}')
    if not clocks or not all(0.0 < clock < math.inf for clock in clocks):
        parser.error(f'--clocks must be positive seconds, found {options.clocks!r}')
    if not any(Path(ROOT, each.partition('::')[0]).exists() for each in rest):
        rest = [*rest, *TESTS]
    results = [run(clock, rest) for clock in clocks]
    results.sort(key=lambda result: result[0] != 0)  # a failed one is last
    print()
    for _, clock, closing in results:
        print(f'monotonic clock at {clock:g} s:\n{closing}')
    return results[-1][0]


def run(clock: float, arguments: Sequence[str]) -> tuple[int, float, str]:
    """Run pytest, and return its status, the clock and the closing line."""
    wall = CLOCKS.get(clock, OTHER_WALL)
    environment = {**os.environ, 'BENCH_MONOTONIC': repr(clock), 'BENCH_WALL': repr(wall)}
    command = [sys.executable, '-m', 'pytest', *WORKERS, *arguments]
    prefix = in_namespace(clock)
    where = 'of all processes' if prefix else 'of tests in one process: no time namespace'
    print(f'monotonic clock at {clock:g} s, {where}', flush=True)
    closing = 'pytest ended without a closing line'
    with subprocess.Popen(
        [*prefix, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end='', flush=True)
            if CLOSING.fullmatch(line.strip()):
                closing = line.strip()
    return process.returncode, clock, closing


def in_namespace(clock: float) -> list[str]:
    """Return a command that runs another one with this clock, empty if that is not permitted."""
    for options in ([], ['--map-root-user']):
        prefix = ['unshare', *options, '--time']
        for name in ('monotonic', 'boottime'):
            now = time.clock_gettime(getattr(time, f'CLOCK_{name.upper()}'))
            prefix += [f'--{name}', str(math.ceil(clock - now))]
        try:
            read = 'import time; print(time.monotonic())'
            shown = subprocess.run(
                [*prefix, sys.executable, '-c', read], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        if abs(float(shown.stdout) - clock) < 60.0:
            return prefix
    return []


if __name__ == '__main__':
    sys.exit(main())
