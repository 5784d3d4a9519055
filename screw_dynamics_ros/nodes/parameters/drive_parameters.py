# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The drives of joints as parameters: `drives.<joint>.rotor_inertia` and so on."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Drive
from screw_dynamics_ros.core.description.drives import (
    BOUNDS,
    DRIVE_FIELDS,
    NO_DRIVE,
    VECTORS,
    drive_of,
    drives_of,
)
from screw_dynamics_ros.core.description.friction import Friction
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.ros.parameters import Parameters, Specification

JOINTS = Specification(
    'drive_joints',
    [''],
    'Joints whose drives are described by the parameters drives.<joint>.rotor_inertia and so '
    'on. The drives of other joints are those of the description.',
    rule='joints of the robot',
    read_only=True,
)

#: By the types of fields of `Drive`: default of the parameter, and its meaning.
EMPTY: dict[str, tuple[Any, str]] = {
    'float | None': (0.0, ' 0: the default.'),
    'Vector | None': ([0.0, 0.0, 0.0], ''),
    'str | None': ('', ' Empty: the default.'),
    'tuple[str, ...]': ([''], ''),
    'tuple[float, ...]': ([], ''),
}
RULES = {
    'gear_ratio': 'not 0',
    'carrier': 'a link of the robot, or empty',
    'coupled_joints': 'joints of the robot',
    'coupling_ratios': 'one for each of coupled_joints, not 0',
}


def texts(*kinds: type) -> dict[str, str]:
    """Return the texts of attributes by name, from the docstrings of classes."""
    entries = r'^([\w, ]+) : .*\n((?:    .*\n)+)'
    return {
        name: ' '.join(text.replace('`', '').split())
        for kind in kinds
        for names, text in re.findall(entries, inspect.cleandoc(kind.__doc__ or ''), re.MULTILINE)
        for name in names.split(', ')
    }


def specification(name: str, text: str) -> Specification:
    """Return the parameter of a field of `Drive`."""
    field, bounds = DRIVE_FIELDS[name], BOUNDS[name]
    default, empty = EMPTY.get(str(field.type), (field.default, ''))
    return Specification(
        name,
        default,
        text + (' 0: from the description.' if bounds.described else empty),
        minimum=1e-9 if bounds.positive else bounds.minimum,
        size=3 if name in VECTORS else None,
        rule=f'less than {bounds.below:g}' if bounds.below < math.inf else RULES.get(name, ''),
    )


#: Parameters of each joint, after `drives.<joint>.`; named as the fields of `Drive`.
TEXTS = texts(Friction, Drive)
TABLE = tuple(specification(name, TEXTS.get(name, '')) for name in DRIVE_FIELDS)

Values = Mapping[str, Any]


class DriveParameters:
    """The parameters of the drives of some joints.

    Parameters
    ----------
    node : rclpy.node.Node
    joints : sequence of str
    check : callable, optional
        Receives the proposed drives, as a function of the description; raises `ScrewDynamicsError`
        to refuse them.
    apply : callable, optional
        Called after a change.
    read_only : bool
        Whether they can only be set at start.

    Raises
    ------
    ArgumentError
        If an initial value is invalid, or its joint or parameter does not exist.
    """

    def __init__(
        self,
        node: Node,
        joints: Sequence[str],
        check: Callable[[Callable[[RobotDescription], dict[str, Drive]]], None] = lambda on: None,
        apply: Callable[[], None] = lambda: None,
        *,
        read_only: bool = False,
    ) -> None:
        self._joints = tuple(dict.fromkeys(joints))
        self._check_elsewhere = check
        table = [
            replace(
                specification,
                name=f'drives.{joint}.{specification.name}',
                read_only=read_only or specification.read_only,
            )
            for joint in self._joints
            for specification in TABLE
        ]
        self._parameters = Parameters(node, table, self._check, lambda values: apply())
        self._check({})
        self._refuse_others(node)

    @property
    def values(self) -> dict[str, Any]:
        """All values by the names of the parameters."""
        return self._parameters.values

    def on(self, description: RobotDescription, changed: Values | None = None) -> dict[str, Drive]:
        """Return the drives of a robot by joint, with some parameters changed.

        Raises `UnknownNameError` or `ArgumentError` for drives the robot cannot have.
        """
        described = drives_of(description)
        drives = {
            joint: self._drive(joint, described.get(joint, NO_DRIVE), changed)
            for joint in self._joints
        }
        drives_of(description, drives)
        return drives

    def _check(self, values: dict[str, Any]) -> None:
        for joint in self._joints:
            self._drive(joint, NO_DRIVE, values)
        self._check_elsewhere(lambda description: self.on(description, values))

    def _drive(self, joint: str, described: Drive, changed: Values | None = None) -> Drive:
        """Return the drive of a joint; friction defaults to that of the description."""
        values = {}
        for specification in TABLE:
            name = f'drives.{joint}.{specification.name}'
            values[specification.name] = (changed or {}).get(name, self._parameters[name])
        return drive_of(joint, values, described)

    def _refuse_others(self, node: Node) -> None:
        """Refuse parameters of other joints and unknown names, which would be ignored."""
        for name in getattr(node, '_parameter_overrides', ()):
            if not name.startswith('drives.') or node.has_parameter(name):
                continue
            joint, _, field = name.removeprefix('drives.').rpartition('.')
            known = ', '.join(specification.name for specification in TABLE)
            if joint in self._joints:
                raise ArgumentError(f'parameter {name}: a drive has no {field!r}; it has {known}')
            raise ArgumentError(
                f'parameter {name}: {joint!r} is not in drive_joints '
                f'({", ".join(self._joints) or "empty"}); add it there'
            )
