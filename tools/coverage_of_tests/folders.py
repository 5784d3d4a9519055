# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The folders of the package that tables of coverage and of changes have a row for."""

from __future__ import annotations

from pathlib import Path


def folder_of(file: str) -> str:
    """Return the folder of the package that counts a file: `core/lie`, `nodes`, or `.`.

    >>> folder_of('screw_dynamics_ros/core/arms/inverse/search.py'), folder_of('a/b.py')
    ('core/arms', '.')
    """
    parts = Path(file).parts[1:-1]
    return '/'.join(parts[: 2 if parts[:1] == ('core',) else 1]) or '.'
