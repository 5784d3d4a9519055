# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives and efforts of a robot in a parameter file, read without ROS.

As `identify` writes it (drives.yaml), a file for the nodes, or a driver preset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

from screw_dynamics_ros.core import ArgumentError, Drive
from screw_dynamics_ros.core.description.drives import NO_DRIVE, drive_of, drives_of
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.parameters.per_joint import EFFORTS, effort_calibration
from screw_dynamics_ros.ros.drivers import FACTS, presets
from screw_dynamics_ros.ros.parameter_files import read_parameters

JOINTS, PREFIX = 'drive_joints', 'drives.'
#: Parameters of efforts, and their values if a file does not have them.
NO_EFFORTS: dict[str, Any] = {'effort_joints': [], 'effort_scale': [], 'effort_offset': []}


@dataclass(frozen=True)
class RobotParameters:
    """The parameters of a file.

    Attributes
    ----------
    path : str
        Of the file; '' without one.
    values : {parameter: value}
    """

    path: str = ''
    values: Mapping[str, Any] = field(default_factory=dict)

    def without(self, joints: Collection[str]) -> RobotParameters:
        """Return the parameters without those of some joints."""
        values = {
            name: x
            for name, x in self.values.items()
            if not (
                name.startswith(PREFIX) and name.removeprefix(PREFIX).rpartition('.')[0] in joints
            )
        }
        for names, numbers in ((JOINTS, ()), (EFFORTS.names, EFFORTS.numbers)):
            kept = [name not in joints for name in values.get(names, ())]
            for each in (names, *numbers):
                if kept and len(values.get(each, ())) == len(kept):  # others are refused elsewhere
                    values[each] = list(compress(values[each], kept))
        return RobotParameters(self.path, values)

    def drives(self, description: RobotDescription) -> dict[str, Drive]:
        """Return the drives of a robot by joint: those of the file, else of the description.

        Raises
        ------
        ArgumentError
            A value that cannot be; drives of joints that are not in `drive_joints`.
        UnknownNameError
            The robot has no such joint.
        """
        joints = [name for name in self.values.get(JOINTS, ()) if name]
        given: dict[str, dict[str, Any]] = {joint: {} for joint in joints}
        for name, value in self.values.items():
            if name.startswith(PREFIX):
                joint, _, what = name.removeprefix(PREFIX).rpartition('.')
                if joint not in given:
                    raise ArgumentError(
                        f'{self.path}: parameter {name}: {joint!r} is not in {JOINTS} '
                        f'({", ".join(joints) or "empty"}); name all joints with drives there'
                    )
                given[joint][what] = value
        described = drives_of(description)
        return drives_of(
            description,
            {
                joint: drive_of(joint, values, described.get(joint, NO_DRIVE))
                for joint, values in given.items()
            },
        )

    def calibration(self, joints: Sequence[str]) -> tuple[Array | None, Array | None]:
        """Return scale and offset (n,) of the efforts of `joints`, None where there is nothing.

        Raises what `PerJoint.check` raises.
        """
        return effort_calibration({**NO_EFFORTS, **self.values}, joints)


def robot_parameters(path: Path | None, left_out: Collection[str] = ()) -> RobotParameters:
    """Return the parameters of a file, or of a driver preset of that name; none of None.

    Those of joints that are `left_out` are not among them.

    Raises ArgumentError if it cannot be read, or is no parameter file.
    """
    if path is None:
        return RobotParameters()
    file = path if path.exists() else presets().get(str(path), path)
    try:
        values = read_parameters(file, left_out=(FACTS,))
    except ArgumentError as error:
        raise ArgumentError(f'--drives: {file}: {error}') from None
    return RobotParameters(str(file), values).without(left_out)
