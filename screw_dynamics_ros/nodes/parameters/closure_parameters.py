# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameter `loop_closures`: a file with the joints that close kinematic loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.mechanisms.closures import LoopClosures, read_loop_closures
from screw_dynamics_ros.ros.parameters import Specification
from screw_dynamics_ros.ros.yaml_text import read_yaml_file

SPECIFICATION = Specification(
    'loop_closures',
    '',
    'Path of a YAML file with the joints that close loops, and the joints with motors and sensors '
    '(doc/theory/closed_loops.md). Empty: the robot has no loops.',
    rule='a path, or empty',
    read_only=True,
)


def read(path: str) -> LoopClosures:
    """Return the closures of a file; raises `DescriptionError`."""
    return read_loop_closures(content_of(path), path)


def content_of(path: str) -> Any:
    """Return the contents of a YAML file; raises `DescriptionError`."""
    try:
        return read_yaml_file(Path(path))
    except ArgumentError as error:
        raise DescriptionError(f'parameter loop_closures: {Path(path).name}: {error}') from None
