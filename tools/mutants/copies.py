# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Copies of the tree, in which files are changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def copy_of(root: Path, folder: Path) -> Path:
    """Bring a copy of the tracked files up to date, with what is not committed, and return it."""
    listed = subprocess.run(
        ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    shutil.rmtree(folder, ignore_errors=True)
    for name in filter(None, listed.split('\0')):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    own = os.environ | {'PYTHONPYCACHEPREFIX': str(bytecode_of(folder))}
    own.pop('PYTHONDONTWRITEBYTECODE', None)
    command = [sys.executable, '-m', 'compileall', '-q', 'screw_dynamics_ros', 'tools']
    subprocess.run(command, cwd=folder, env=own, check=False)
    return folder


def bytecode_of(copy: Path) -> Path:
    """Return the folder of the bytecode of a copy; changed files get none there."""
    return copy.with_name(f'{copy.name}_bytecode')


def environment(copy: Path) -> dict[str, str]:
    """Return the environment of tests in a copy: one thread, a cache, bytecode that is only read.

    Two changes of a file within a second would look the same to their bytecode.
    """
    return os.environ | {
        'PYTHONPATH': str(copy),
        'PYTHONDONTWRITEBYTECODE': '1',
        'PYTHONPYCACHEPREFIX': str(bytecode_of(copy)),
        'OPENBLAS_NUM_THREADS': '1',
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'SCREW_DYNAMICS_TEST_CACHE': str(copy.with_name(f'{copy.name}_cache')),
    }
