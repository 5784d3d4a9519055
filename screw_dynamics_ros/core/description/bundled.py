# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions of the package."""

from __future__ import annotations

from pathlib import Path

from screw_dynamics_ros.share import share_folder

from ..errors import UnknownNameError


def bundled_urdf(name: str) -> Path:
    """Return the URDF file of a robot of the package.

    Parameters
    ----------
    name : str
        'panda', 'planar_2r', 'gripper_tree', or one with kinematic loops: 'delta_gripper',
        'excavator'.

    Raises
    ------
    UnknownNameError
        If there is no such robot; the message lists them.

    Examples
    --------
    >>> bundled_urdf('panda').name
    'panda.urdf'
    """
    files = {file.stem: file for file in (share_folder() / 'urdf').rglob('*.urdf')}
    if name not in files:
        raise UnknownNameError(
            f'there is no bundled robot {name!r}; use {", ".join(sorted(files))}'
        )
    return files[name]
