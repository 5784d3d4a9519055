# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameter `loop_closures`: a file with the joints that close kinematic loops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.bodies import ConstraintJoint
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import loop_closures
from screw_dynamics_ros.core.mechanisms.closures.loop_closures import (
    LoopClosures,
    described_closures,
    described_positions,
    read_loop_closures,
    read_positions,
)
from screw_dynamics_ros.ros.parameters import Specification
from screw_dynamics_ros.ros.text_files import read_yaml_file

OF_DESCRIPTION = 'description'

SPECIFICATION = Specification(
    'loop_closures',
    '',
    'Path of a YAML file with the joints that close loops, and the joints with motors and sensors '
    '(doc/theory/closed_loops.md); description: those of the description. Empty: none.',
    rule='a path, description, or empty',
    read_only=True,
)


def read(value: str, description: RobotDescription) -> LoopClosures:
    """Return the closures of a file or of the description; raises `DescriptionError`."""
    return LoopClosures.of(description) if value == OF_DESCRIPTION else read_file(value)


def read_file(path: str) -> LoopClosures:
    """Return the closures of a file; raises `DescriptionError`."""
    return read_loop_closures(content_of(path), path)


def assembly(
    value: str, description: RobotDescription
) -> tuple[Sequence[ConstraintJoint], dict[str, float]]:
    """Return the closures only, and the positions near which they are assembled, without motors.

    Raises `DescriptionError`.
    """
    if not value:
        return (), {}
    if value == OF_DESCRIPTION:
        return described_closures(description), described_positions(description)
    content = content_of(value)
    return loop_closures(content, value), read_positions(content, value)


def content_of(path: str) -> Any:
    """Return the contents of a YAML file; raises `DescriptionError`."""
    try:
        return read_yaml_file(Path(path))
    except ArgumentError as error:
        raise DescriptionError(f'parameter loop_closures: {Path(path).name}: {error}') from None
