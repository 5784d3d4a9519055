# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The same figures with the instruction sets that computers have: plain x86-64, AVX2, AVX-512.

Each set is a process of its own, which compiles everything for it: our machine code, the C code,
and Pinocchio's C++. Inside, ours and the peer take turns as in the parts that measure them. Sets
that this processor lacks are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from figures import Figure, read
from native_peer import NAME as CPP

from screw_dynamics_ros.core.compile.llvm import native

HERE = Path(__file__).resolve().parent
PARTS = ('single_calls', 'c_code', 'stacks')
#: Names of the sets, and the levels of x86-64 that have them.
SETS = {'x86-64': 'x86-64', 'AVX2': 'x86-64-v3', 'AVX-512': 'x86-64-v4'}
GROUP = 'Instruction sets'


def figures(quick: bool) -> Iterator[Figure]:
    """Yield the comparisons with C++, the name of each with that of the instruction set."""
    host = native.host_features().split(',') if native.available() else []
    for name, level in SETS.items():
        if host and all(f'+{feature}' in host for feature in native.LEVELS[level].features):
            with tempfile.TemporaryDirectory(prefix='screw_dynamics_sets_') as folder:
                for figure in measured(level, Path(folder), quick):
                    if figure.peer == CPP:
                        yield replace(
                            figure,
                            group=f'{GROUP}: {figure.group}',
                            name=f'{figure.name}, {name}',
                            required=float('nan'),
                        )


def measured(level: str, folder: Path, quick: bool) -> Iterator[Figure]:
    """Yield the figures of the parts, measured by a process that compiles for a level."""
    parts = [word for part in PARTS for word in ('--only', part)]
    subprocess.run(
        [sys.executable, HERE / 'run.py', *parts, '--results', folder, *['--quick'] * quick],
        env={**os.environ, native.ENVIRONMENT_VARIABLE: level},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    for part in PARTS:
        yield from read(folder / f'{part}.json')
