# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Folders of recordings under attack.

    python test/endurance/recording_folders.py [--recordings 50]

Annotates a folder of recordings, one of which is truncated, kills all processes at random moments
and starts again, until nothing is left to do; compares the outputs byte by byte with those of a run
that was left alone. Ends with status 1 if they differ or something is left behind.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from screw_dynamics_ros.core import Robot  # noqa: E402
from screw_dynamics_ros.entry import PARTIAL  # noqa: E402
from support.recordings import write_stack  # noqa: E402
from support.robots import urdf_path  # noqa: E402

SPAN = 0.1, 0.5  # of the time of a whole run after which one is killed; longer with each kill


def main() -> int:
    """Run the trial; return the exit status."""
    parser = argparse.ArgumentParser(description='Folders of recordings, killed and resumed.')
    parser.add_argument('--recordings', type=int, default=50)
    parser.add_argument('--states', type=int, default=20_000, help='in each recording')
    parser.add_argument('--workers', type=int, default=2)
    options = parser.parse_args()
    text, random = urdf_path('planar_2r').read_text(), np.random.default_rng(0)
    robot, kills = Robot.from_urdf(text), 0
    with tempfile.TemporaryDirectory() as folder:
        source, whole, resumed = (Path(folder, name) for name in ('runs', 'whole', 'resumed'))
        source.mkdir()
        for k in range(options.recordings):
            write_stack(source / f'{k:03d}.mcap', robot, options.states, text, seed=k)
        data = (source / '000.mcap').read_bytes()
        (source / 'cut.mcap').write_bytes(data[: len(data) // 2])
        begin = time.monotonic()
        status = started(source, whole, options.workers).wait()
        needed = time.monotonic() - begin
        print(f'left alone: {len(list(whole.iterdir()))} outputs, exit status {status}')
        while True:
            process, before = started(source, resumed, options.workers), time.monotonic()
            try:
                again = process.wait(needed * random.uniform(*SPAN) * (1.0 + 0.1 * kills))
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                count = len(list(resumed.glob('[!.]*'))) if resumed.exists() else 0
                print(f'killed after {time.monotonic() - before:.1f} s: {count} outputs')
        names = sorted(path.name for path in whole.iterdir())
        faults = [
            name
            for name in names
            if not (resumed / name).exists()
            or (resumed / name).read_bytes() != (whole / name).read_bytes()
        ]
        left = sorted({path.name for path in resumed.iterdir()} - set(names))
        print(
            f'{kills} kills; outputs that differ: {faults or "none"}; left behind: {left or "none"}'
        )
        expected = status == again == PARTIAL and len(names) == options.recordings
        return 0 if expected and kills and not faults and not left else 1


def started(source: Path, target: Path, workers: int) -> subprocess.Popen[bytes]:
    """Start the command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, '-m', 'screw_dynamics_ros', 'annotate', source, '-o', target]
        + ['--workers', str(workers)],
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == '__main__':
    sys.exit(main())
