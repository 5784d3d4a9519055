# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measure speed side by side with others, in turns: `python benchmarks/run.py [--quick]`.

Prints tables with what is required beside each figure and a mark where a peer is better. Each part
writes its figures, with what they depend on, to benchmarks/results/<part>.json, which is committed;
`python tools/pages.py` makes the tables of pages from these files. With `--quick` they
go to results/ instead, as the picture does. Times are medians, 99th percentiles beside them, and
ratios are medians of turns. A time that misses its limit is only reported; the
benchmark ends with status 1 if a count is beyond its limit: lost and excused states.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import signal
import sys
import tempfile
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback while modules are imported

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from figures import Figure, table  # noqa: E402

from screw_dynamics_ros.cli.command_line import print_above, progress_bar, write_whole  # noqa: E402
from screw_dynamics_ros.entry import INTERRUPTED  # noqa: E402

MODULES = (
    'single_calls',
    'c_code',
    'stacks',
    'trajectories',
    'python_backend',
    'chain_length',
    'simulation',
    'absolute_coordinates',
    'inverse_kinematics',
    'all_solutions_speed',
    'first_use',
    'node_latency',
    'node_endurance',
    'node_beside_requests',
    'parameter_gap',
    'timer_thread',
    'recordings',
)
#: What takes long runs only if it is named.
ON_DEMAND = (
    'all_solutions',
    'external_torque',
    'gradients',
    'identification',
    'instruction_sets',
    'node_kilohertz',
    'node_rates',
)
COMMITTED = ROOT / 'benchmarks' / 'results'
#: Packages whose version the figures may depend on.
PACKAGES = {
    'numpy': 'numpy',
    'llvmlite': 'llvmlite',
    'pinocchio': 'pin',
    'rclpy': 'ros-jazzy-rclpy',
    'fastrtps': 'ros-jazzy-rmw-fastrtps-cpp',
    'pink': 'pin-pink',
    'Robotics Toolbox': 'roboticstoolbox-python',
    'EAIK': 'EAIK',
    'ssik': 'ssik',
    'MuJoCo': 'mujoco',
    'JAX': 'jax',
    'frax': 'frax',
    'PyTorch': 'torch',
}


def main() -> None:
    """Run the benchmark; Ctrl-C ends it, and the part that runs writes nothing."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        measure()
    except KeyboardInterrupt:
        print('\nbenchmark: interrupted; the parts before are written', file=sys.stderr)
        sys.exit(INTERRUPTED)


def measure() -> None:
    """Measure what the command line names, write and print it."""
    parser = argparse.ArgumentParser(description='Speed side by side with others, in turns.')
    parser.add_argument('--quick', action='store_true', help='fewer repeats and shorter chains')
    parser.add_argument(
        '--only',
        choices=(*MODULES, *ON_DEMAND),
        action='append',
        help='run only this part (repeatable)',
    )
    parser.add_argument(
        '--results', type=Path, help='where JSON files are written, instead of benchmarks/results'
    )
    options = parser.parse_args()
    missing = [name for name in ('pinocchio', 'matplotlib') if not importable(name)]
    if missing:
        parser.exit(
            1,
            f'{", ".join(missing)} cannot be imported; run "make setup", or '
            '"pip install -r requirements/oracles.txt matplotlib". Pinocchio wants '
            'NumPy 2: beside an older ROS 2 use "make bench VENV=.venv-wheels" in a '
            'terminal where it is not sourced.\n',
        )
    folder = options.results or (ROOT / 'results' if options.quick else COMMITTED)
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Figure] = []
    with (
        tempfile.TemporaryDirectory(prefix='screw_dynamics_benchmark_') as cache,
        progress_bar('benchmark') as progress,
    ):
        os.environ['SCREW_DYNAMICS_CACHE'] = cache
        parts = options.only or MODULES
        for number, name in enumerate(parts, 1):
            print_above(f'measuring {number} of {len(parts)}: {name} ...')
            progress((number - 1) / len(parts), name)
            before = os.getloadavg()[0]
            new = list(importlib.import_module(name).figures(options.quick))
            found += new
            print_above(table(sorted(new, key=lambda figure: figure.group)), sys.stdout)
            if new:  # else it said why not
                write(folder / f'{name}.json', new, before)
    pictured = draw_picture(found)
    tell(found)
    print(f'written: {shown(folder)}/*.json{pictured}')
    if folder == COMMITTED:
        print('"make tables" brings them into the pages')
    sys.exit(any(figure.fails and figure.fulfilled is False for figure in found))


def write(path: Path, figures: list[Figure], load_before: float) -> None:
    """Write the figures of one part, one in each line, with what they depend on."""
    from native_peer import NAME as CPP
    from native_peer import compiler_version

    load = [round(load_before, 2), round(os.getloadavg()[0], 2)]
    where = environment()
    if any(figure.peer == CPP for figure in figures):
        where['C++'] = compiler_version()
    where['load before and after'] = load
    header = json.dumps(where, indent=1)
    lines = ',\n  '.join(json.dumps(figure.as_dict()) for figure in figures)
    indented = header.replace('\n', '\n ')
    text = f'{{\n "environment": {indented},\n "figures": [\n  {lines}\n ]\n}}\n'
    write_whole(path, text.encode())


def draw_picture(found: list[Figure]) -> str:
    """Draw what there is a panel for; return what to say about it."""
    from picture import PATH, conditions, draw

    return f', {shown(PATH)}' if draw(found, PATH, conditions(environment())) else ''


def tell(found: list[Figure]) -> None:
    """Print what was missed and where others are better."""
    missed = [figure for figure in found if figure.fulfilled is False]
    met = sum(figure.fulfilled is True for figure in found)
    print(f'\n{met} requirements met, {len(missed)} missed')
    for figure in missed:
        against = f' against {figure.peer}' if figure.peer else ''
        print(f'  missed: {figure.group}: {figure.robot}: {figure.name}{against}')
    worse = [figure for figure in found if figure.worse]
    print(f'{len(worse)} of {sum(bool(figure.peer) for figure in found)} comparisons lost')
    for figure in worse:
        print(
            f'  lost: {figure.group}: {figure.robot}: {figure.name}: {figure.peer} is better in '
            f'{", ".join(figure.worse)}'
        )


def shown(path: Path) -> Path:
    """Return a path as seen from the repository, if it is in there."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def importable(name: str) -> bool:
    """Return whether a module can be imported."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def environment() -> dict[str, Any]:
    """Return what the times depend on, without the name of the host."""
    from screw_dynamics_ros.core.compile.llvm import native

    where: dict[str, Any] = {
        'date': datetime.now(timezone.utc).date().isoformat(),
        'processor': processor(),
        'cores': len(os.sched_getaffinity(0)),
        'vectors': native.simd_lanes() if native.available() else 1,
        'instruction set': native.processor()[0] if native.available() else 'none',
        'system': f'{platform.system()} {platform.machine()}',
        'python': platform.python_version(),
        'ROS': os.environ.get('ROS_DISTRO') or 'none sourced',
    }
    for name, package in PACKAGES.items():
        try:
            where[name] = version(package)
        except PackageNotFoundError:
            where[name] = 'none'
    return where


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
        return next(
            line.partition(':')[2].strip() for line in lines if line.startswith('model name')
        )
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == '__main__':
    main()
