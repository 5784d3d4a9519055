# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formats of robot descriptions: the root element selects the reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .checks import InertiaCheck
from .mjcf import read_mjcf
from .robot_description import RobotDescription
from .sdf import read_sdf
from .urdf import read_urdf
from .urdf_writer import write_urdf
from .xml_document import root_tag, source_of

#: Readers by root element, each with the arguments of `read_robot_description`.
READERS: dict[str, Callable[..., RobotDescription]] = {
    'robot': read_urdf,
    'sdf': read_sdf,
    'mujoco': read_mjcf,
}


def read_robot_description(
    text_or_path: str | bytes | os.PathLike[str], *, inertia_check: InertiaCheck = 'warn'
) -> RobotDescription:
    """Read a robot description in any of the formats of `READERS`.

    Parameters
    ----------
    text_or_path, inertia_check
        As in `read_urdf`.

    Raises
    ------
    DescriptionError, InertiaError, ArgumentError
        As the reader of the format; a text with another root element is refused as a URDF.

    Examples
    --------
    >>> read_robot_description('<robot name="stone"><link name="base"/></robot>').root
    'base'
    """
    reader: Any = READERS.get(root_tag(source_of(text_or_path)), read_urdf)
    description: RobotDescription = reader(text_or_path, inertia_check=inertia_check)
    return description


def has_other_format(text: str | bytes) -> bool:
    """Return whether a text has the root element of a format of `READERS` other than URDF."""
    tag = root_tag(text)
    return tag != 'robot' and tag in READERS


def urdf_of(text: str, description: RobotDescription) -> str:
    """Return a text that describes a robot if it is a URDF, else the URDF of its description."""
    return write_urdf(description) if has_other_format(text) else text
