# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The drives of joints as parameters: `drives.<joint>.rotor_inertia` and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Drive
from screw_dynamics_ros.core.description.drives import NO_DRIVE, drive_of, drives_of
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

#: Parameters of each joint, after `drives.<joint>.`; named as the fields of `Drive`.
TABLE = (
    Specification(
        'rotor_inertia', 0.0, 'Inertia of the rotor about its own axis [kg m^2].', minimum=0.0
    ),
    Specification(
        'gear_ratio',
        1.0,
        'Turns of the rotor per turn of the joint [rad/rad, rad/m]; its sign has an '
        'effect only with rotor_axis.',
        rule='not 0',
    ),
    Specification(
        'armature',
        0.0,
        'Additional reflected inertia at the joint, such as that of gears [kg m^2, kg].',
        minimum=0.0,
    ),
    Specification(
        'damping',
        0.0,
        'Viscous friction [N m s/rad, N s/m]. 0: from the description.',
        minimum=0.0,
    ),
    Specification(
        'coulomb',
        0.0,
        'Coulomb friction [N m, N]. 0: from the description.',
        minimum=0.0,
    ),
    Specification(
        'breakaway',
        0.0,
        'Breakaway friction near standstill, not below coulomb [N m, N]. 0: the same as coulomb.',
        minimum=0.0,
    ),
    Specification(
        'stribeck_speed',
        0.1,
        'Speed at which the Stribeck effect, breakaway - coulomb, is halved [rad/s, m/s].',
        minimum=1e-9,
    ),
    Specification(
        'smoothing',
        0.01,
        'Speed below which Coulomb friction decreases smoothly to zero; 71 % at this speed '
        '[rad/s, m/s].',
        minimum=1e-9,
    ),
    Specification(
        'rotor_axis',
        [0.0, 0.0, 0.0],
        'Axis of the rotor in the frame of its carrier, for gyroscopic effects. '
        'Zeros: only the reflected inertia of the rotor is included.',
        size=3,
    ),
    Specification(
        'carrier',
        '',
        'Link on which the motor is mounted, with rotor_axis. Empty: the parent link.',
        rule='a link of the robot, or empty',
    ),
    Specification(
        'coupled_joints',
        [''],
        'Other joints that turn the motor of this one, as in wrists with concentric shafts. The '
        'rotor turns with the motor, and measured efforts are those of the motors.',
        rule='joints of the robot',
    ),
    Specification(
        'coupling_ratios',
        [],
        'Share of their displacement that each adds to that of this joint [rad/rad, rad/m, m/rad].',
        rule='one for each of coupled_joints, not 0',
    ),
    Specification(
        'motor_damping',
        0.0,
        'Viscous friction of a coupled motor, at its rate in units of its joint [N m s/rad, '
        'N s/m].',
        minimum=0.0,
    ),
    Specification(
        'motor_coulomb', 0.0, 'Dry friction of a coupled motor, likewise [N m, N].', minimum=0.0
    ),
    Specification(
        'load_friction',
        0.0,
        'Dry friction per torque that the drive transmits, as of gears [1].',
        minimum=0.0,
        rule='less than 1',
    ),
    Specification(
        'spring_stiffness',
        0.0,
        'Stiffness of a spring along the joint [N m/rad, N/m].',
        minimum=0.0,
    ),
    Specification(
        'spring_position', 0.0, 'Joint position at which this spring is relaxed [rad, m].'
    ),
    Specification(
        'counterbalance_on_parent',
        [0.0, 0.0, 0.0],
        'Pivot of a counterbalance (coil or gas spring) in the frame of the parent link [m].',
        size=3,
    ),
    Specification(
        'counterbalance_on_child',
        [0.0, 0.0, 0.0],
        'Pivot of the counterbalance in the frame of the child link [m].',
        size=3,
    ),
    Specification(
        'counterbalance_preload',
        0.0,
        'Preload of the counterbalance [N]. Its tension is preload + stiffness * distance of the '
        'pivots. Coil spring: -stiffness * rest length.',
    ),
    Specification('counterbalance_stiffness', 0.0, 'Stiffness of the counterbalance [N/m].'),
)

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
