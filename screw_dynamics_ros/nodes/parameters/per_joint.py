# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers for some joints: one parameter lists the joints, others a number for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.status import Status

if TYPE_CHECKING:
    from screw_dynamics_ros.ros.parameters import Parameters

    Values = Mapping[str, Any] | Parameters  # by name


@dataclass(frozen=True)
class PerJoint:
    """A parameter with names of joints, and parameters with a number for each of them.

    Attributes
    ----------
    names : str
        The parameter with the names.
    numbers : tuple of str
        The parameters with numbers. The argument `values` of methods has all values by name.
    may_be_empty : bool
        Whether a list of numbers may be empty although joints are named.
    may_repeat : bool
        Whether a joint may be named twice; the last number is used.
    """

    names: str
    numbers: tuple[str, ...]
    may_be_empty: bool = True
    may_repeat: bool = False

    def check(self, values: Values, joints: Sequence[str] | None = None) -> None:
        """Refuse lists of different lengths, and names that are not among `joints`.

        Raises `ArgumentError`, `UnknownNameError`.
        """
        named = self.named(values)
        for what in self.numbers:
            count = len(values[what])
            if count != len(named) and (count or not self.may_be_empty):
                how_many = (
                    f'{what} has {count} elements' if self.may_be_empty else f'{count} {what}'
                )
                raise ArgumentError(f'{how_many} for {len(named)} {self.names}')
        if not self.may_repeat and len(set(named)) < len(named):
            raise ArgumentError(f'{self.names}: {shorten(named)} names a joint twice')
        unknown = self.absent(values, joints) if joints is not None else []
        if joints is not None and unknown:
            raise UnknownNameError(
                f'{self.names}: the robot has no joint {unknown[0]!r} with one coordinate; it has '
                f'{shorten(joints, 30)}'
            )

    def named(self, values: Values) -> list[str]:
        """Return the named joints; `['']` is the empty list, which has no type in ROS 2."""
        return [name for name in values[self.names] if name]

    def of(self, what: str, values: Values) -> dict[str, float]:
        """Return the numbers of one of the parameters by joint."""
        return dict(zip(self.named(values), values[what]))  # the list of numbers may be empty

    def array(self, what: str, values: Values, joints: Sequence[str], neutral: float) -> Array:
        """Return the numbers for all `joints`, (n,); `neutral` for joints not named."""
        given = self.of(what, values)
        return np.array([given.get(joint, neutral) for joint in joints], dtype=float)

    def absent(self, values: Values, joints: Sequence[str]) -> list[str]:
        """Return the named joints that are not among `joints`."""
        return [name for name in self.named(values) if name not in joints]

    def report(self, status: Status, values: Values, joints: Sequence[str]) -> None:
        """Report the named joints that a robot with `joints` does not have."""
        absent = self.absent(values, joints)
        if absent:
            status.error(f'{self.names}: the robot has no joint {shorten(absent)}; correct it')


#: Calibration of efforts: torque = scale * effort + offset.
EFFORTS = PerJoint('effort_joints', ('effort_scale', 'effort_offset'), may_repeat=True)

#: Thresholds of flags [N m, N].
FLAGS = PerJoint('flag_joints', ('contact_thresholds', 'collision_thresholds'))


def effort_calibration(
    values: Mapping[str, Any], joints: Sequence[str]
) -> tuple[Array | None, Array | None]:
    """Return scale and offset of the efforts of `joints`, (n,) each, None if not set.

    Raises as `PerJoint.check`.
    """
    EFFORTS.check(values, joints)
    scale, offset = (
        EFFORTS.array(name, values, joints, neutral) if values[name] else None
        for name, neutral in (('effort_scale', 1.0), ('effort_offset', 0.0))
    )
    return scale, offset
