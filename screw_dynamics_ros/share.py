# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths of the files installed beside the modules: config, launch, rviz, urdf."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent  # resolved: colcon's --symlink-install links it


def share_folder(package: Path = PACKAGE) -> Path:
    """Return share/screw_dynamics_ros of the prefix that the package is in, or its source tree.

    Parameters
    ----------
    package : Path
        The folder of the modules.

    Raises
    ------
    FileNotFoundError
        If it was copied without share/.
    """
    if (package.parent / 'package.xml').is_file():
        return package.parent
    for folder in package.parents:  # of prefix/lib/python3.12/site-packages/screw_dynamics_ros
        share = folder / 'share' / package.name
        if (share / 'package.xml').is_file():
            return share
    raise FileNotFoundError(
        f'no share/{package.name} in a folder above {package}: install the package with pip or '
        'colcon, which put config, launch, rviz and urdf there'
    )
