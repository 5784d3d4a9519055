# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Times of a cycle of laws in C++: `LawRunner::update`, without ROS.

    PYTHONPATH=.:test:benchmarks .venv/bin/python benchmarks/law_runner.py [--print]

Laws are compiled as `LawController` does. Writes the table of doc/how_to/law_controller.md (with
--print: to the terminal only).
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from robots_compared import NAMES, PANDA, TALOS, TIPS

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.laws.c_law import c_law
from screw_dynamics_ros.core.motion.laws.law_source import LawSource
from support.cpp_programs import COMPILER, CPP, INCLUDE, with_digest
from support.robots import urdf_path

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'how_to' / 'law_controller.md'
BEGIN, END = '<!-- table: cycles -->', '<!-- end of table -->'
LAWS = (
    'gravity_compensation',
    'computed_torque',
    'cartesian_impedance',
    'cartesian_impedance+joint_limit_repulsion+friction_compensation',
)
FLAGS = ('-O2', '-march=native', '-fno-math-errno', '-ffp-contract=fast', '-shared', '-fPIC')


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description='Times of a cycle of laws in C++.')
    parser.add_argument('--print', action='store_true', help='do not write the page')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = '\n'.join(rows(Path(folder)))
    print(table)
    if not options.print:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f'{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}')


def rows(folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    program = folder / 'program'
    source = Path(__file__).with_suffix('.cpp')
    subprocess.run(
        [CPP, '-std=c++17', '-O2', f'-I{INCLUDE}', source, '-o', program, '-ldl'], check=True
    )
    yield f'| law | {NAMES[PANDA]} | {NAMES[TALOS]} |'
    yield '|---|---|---|'
    for law in LAWS:
        names = ' + '.join(f'`{each}`' for each in law.split('+'))
        times = [measured(program, name, law) for name in (PANDA, TALOS)]
        yield f'| {names} | {times[0]:.2f} µs | {times[1]:.2f} µs |'


def measured(program: Path, name: str, law: str) -> float:
    """Return the median of the times [us]."""
    robot = Robot.from_urdf(urdf_path(name), backend='reference')
    options = {'link': TIPS[name]} if 'cartesian' in law else {}
    code = c_law(LawSource(law).law.on(robot, **options), 'law')
    folder = program.parent
    (folder / 'law.h').write_text(code.header)
    (folder / 'law.c').write_text(code.source)
    command = [COMPILER, *FLAGS, 'law.c', '-lm', '-o', 'law.so']
    subprocess.run(command, check=True, cwd=folder)
    with_digest(folder / 'law.so')
    done = subprocess.run([program, 'law.so'], check=True, cwd=folder, capture_output=True)
    return float(done.stdout)


if __name__ == '__main__':
    main()
