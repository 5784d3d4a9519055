# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives and effort calibration of a robot from a parameter file, without ROS.

The file is written by `identify` (drives.yaml), a parameter file of the nodes, or a driver preset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Drive
from screw_dynamics_ros.core.arguments import check_number
from screw_dynamics_ros.core.description.drives import NO_DRIVE, drive_of, drives_of
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.drivers import FACTS, presets
from screw_dynamics_ros.ros.parameter_files import read_parameters

from .per_joint import EFFORTS, FLAGS, effort_calibration

JOINTS, PREFIX = 'drive_joints', 'drives.'
HALF_WIDTHS = 'half_widths'  # of intervals, by joint and parameter, which only `identify` uses
#: Parameters of efforts, with their defaults.
NO_EFFORTS: dict[str, Any] = {'effort_joints': [], 'effort_scale': [], 'effort_offset': []}


@dataclass(frozen=True)
class RobotParameters:
    """The parameters of a file.

    Attributes
    ----------
    path : str
        Path of the file; '' without a file.
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
        each_joint = (EFFORTS.names, EFFORTS.numbers), (FLAGS.names, FLAGS.numbers)
        for names, numbers in ((JOINTS, ()), *each_joint):
            kept = [name not in joints for name in values.get(names, ())]
            for each in (names, *numbers):
                if kept and len(values.get(each, ())) == len(kept):  # else refused later
                    values[each] = list(compress(values[each], kept))
        return RobotParameters(self.path, values)

    def drives(self, description: RobotDescription) -> dict[str, Drive]:
        """Return the drives of a robot by joint, from the file or else from the description.

        Raises
        ------
        ArgumentError
            Invalid values, or drives of joints that are not in `drive_joints`.
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
                        f'({", ".join(joints) or "empty"}); add it there'
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

    @property
    def payloads(self) -> dict[str, RigidBody]:
        """The payload by its link, empty without one; raises `InertiaError` if it is invalid."""
        link, mass = self.values.get('payload_link'), self.values.get('payload_mass')
        if not (link and mass):
            return {}
        com = self.values.get('payload_center_of_mass', [0.0] * 3)
        moments = self.values.get('payload_inertia', [0.0] * 6)
        return {link: RigidBody.from_moments(mass, com, moments)}

    def half_widths(self, joints: Sequence[str], kinds: Sequence[str]) -> Array | None:
        """Return half widths of identified intervals, (joints, kinds), NaN if not set; None if all.

        Raises `ArgumentError` for one that is negative or no number.
        """
        found = np.full((len(joints), len(kinds)), np.nan)
        for i, joint in enumerate(joints):
            for k, kind in enumerate(kinds):
                if (name := f'{HALF_WIDTHS}.{joint}.{kind}') in self.values:
                    check_number(f'{self.path}: {name}', self.values[name])
                    found[i, k] = self.values[name]
        return None if np.isnan(found).all() else found

    def calibration(self, joints: Sequence[str]) -> tuple[Array | None, Array | None]:
        """Return scale and offset of the efforts of `joints`, (n,) each, None if not set.

        Raises as `PerJoint.check`.
        """
        return effort_calibration({**NO_EFFORTS, **self.values}, joints)


def robot_parameters(path: Path | None, left_out: Collection[str] = ()) -> RobotParameters:
    """Return the parameters of a file or driver preset; no parameters for None.

    Parameters of joints in `left_out` are excluded. Raises ArgumentError if the file cannot be read
    or is not a parameter file.
    """
    if path is None:
        return RobotParameters()
    file = path if path.exists() else presets().get(str(path), path)
    try:
        values = read_parameters(file, left_out=(FACTS,))
    except ArgumentError as error:
        raise ArgumentError(f'--drives: {file}: {error}') from None
    return RobotParameters(str(file), values).without(left_out)
