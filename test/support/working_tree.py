# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a release would hold: the files of the repository as they are now."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT


def tracked() -> list[str]:
    """Return the files of the repository, relative to its root; skip the test outside of git."""
    command = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if files.returncode:
        pytest.skip('not a git checkout')
    return [name for name in files.stdout.split('\0') if (ROOT / name).is_file()]


def copy_tracked(target: Path) -> Path:
    """Copy the files of the repository; return the copy."""
    for name in tracked():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place)
    return target
