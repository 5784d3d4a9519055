"""Measure speed side by side with Pinocchio, in one process: `python benchmarks/run.py [--quick]`.

Prints a table of ratios with what is required beside each, and writes results/benchmark.json and
results/benchmark.png. Times are the smallest of many interleaved repeats, medians beside them;
ratios are of the smallest. Nothing here fails because of a time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from figures import Figure, table  # noqa: E402

MODULES = (
    'single_calls',
    'stacks',
    'trajectories',
    'python_backend',
    'chain_length',
    'inverse_kinematics',
    'first_use',
    'node_latency',
    'node_endurance',
    'node_beside_requests',
    'parameter_gap',
)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description='Speed side by side with Pinocchio, and of the nodes.'
    )
    parser.add_argument('--quick', action='store_true', help='fewer repeats and shorter chains')
    parser.add_argument(
        '--only', choices=MODULES, action='append', help='run only this part (repeatable)'
    )
    parser.add_argument(
        '--results', type=Path, default=ROOT / 'results', help='where files are written'
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
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix='screw_dynamics_benchmark_') as folder:
        os.environ['SCREW_DYNAMICS_CACHE'] = folder
        for name in options.only or MODULES:
            print(f'measuring: {name} ...', file=sys.stderr, flush=True)
            new = list(importlib.import_module(name).figures(options.quick))
            found += new
            print(table(sorted(new, key=lambda figure: figure.group)), flush=True)
    where = environment()
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / 'benchmark.json').write_text(
        json.dumps(
            {'environment': where, 'figures': [figure.as_dict() for figure in found]}, indent=1
        )
    )
    from picture import draw

    draw(
        found,
        options.results / 'benchmark.png',
        f'{where["processor"]}, {where["cores"]} cores, {where["vectors"]} doubles per vector; '
        f'Python '
        f'{where["python"]}, llvmlite {where["llvmlite"]}, Pinocchio {where["pinocchio"]}',
    )
    missed = [figure for figure in found if figure.fulfilled is False]
    print(
        f'\n{sum(figure.fulfilled is True for figure in found)} requirements met, '
        f'{len(missed)} missed'
        + ''.join(f'\n  missed: {figure.group}: {figure.robot}: {figure.name}' for figure in missed)
    )
    print(f'written: {options.results / "benchmark.json"}, {options.results / "benchmark.png"}')


def importable(name: str) -> bool:
    """Return whether a module can be imported."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def environment() -> dict[str, Any]:
    """Return what the times depend on."""
    import numpy
    import pinocchio

    from screw_dynamics_ros.core.compile.llvm import native

    try:
        import llvmlite

        version, lanes = llvmlite.__version__, native.simd_lanes()
    except ImportError:
        version, lanes = 'none', 1
    return {
        'date': datetime.now(timezone.utc).isoformat(timespec='seconds'),
        'processor': processor(),
        'cores': len(os.sched_getaffinity(0)),
        'vectors': lanes,
        'load average': os.getloadavg(),
        'system': platform.platform(),
        'python': platform.python_version(),
        'numpy': numpy.__version__,
        'llvmlite': version,
        'pinocchio': pinocchio.__version__,
    }


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
