# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Loop closures of a mechanism, and its actuated and sensed joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...arguments import check_number
from ...description.file_entries import check_keys, number_of, quoted
from ...description.robot_description import RobotDescription
from ...errors import ArgumentError, DescriptionError, UnknownNameError
from ...robot.robot import Robot
from ...tree.multibody_tree import mimic_map
from ..absolute_coordinates.bodies import GROUND, ConstraintJoint
from ..absolute_coordinates.from_description import loop_closures
from ..absolute_coordinates.lower_pairs import PAIRS


@dataclass(frozen=True, eq=False)
class LoopClosures:
    """The cut joints of a mechanism, and the roles of the joints of its tree.

    Attributes
    ----------
    closures : sequence of ConstraintJoint
        Cut joints, between links of the description or `ground`, in the frames of the links.
    actuated : sequence of str
        Joints with motors, in the order in which their positions, rates and torques are given. The
        others are passive.
    sensed : sequence of str, optional
        Joints with sensors; the actuated ones by default.
    positions : {joint: position}
        Approximate joint positions in the intended assembly [rad, m], 0 by default: a loop often
        closes in several configurations.
    tolerance : float
        Largest closure error of measured positions if there are more sensors than degrees of
        freedom, rotations [rad] and displacements [m] in one norm.
    """

    closures: Sequence[ConstraintJoint]
    actuated: Sequence[str]
    sensed: Sequence[str] = ()
    positions: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 1e-3

    def check(self, robot: Robot) -> None:
        """Raise unless a robot has their joints and links, and its joints have one coordinate."""
        for joint in robot.joint_names:
            _, v = robot.joint_coordinates(joint)
            if v.stop - v.start != 1:
                raise ArgumentError(
                    f'joint {joint!r} has {v.stop - v.start} freedoms; closures are for joints '
                    'with one: take an AbsoluteSystem'
                )
        if robot.floating_base:
            raise ArgumentError('closures are for robots with a fixed base: take an AbsoluteSystem')
        if not self.closures:
            raise ArgumentError('there are no closures; a Robot needs none')
        leaders = mimic_map(robot.description)
        for joint in (*self.actuated, *self.sensed, *self.positions):
            leader = leaders[joint][0] if joint in leaders else joint
            if leader != joint:
                raise ArgumentError(
                    f'loop closures: joint {joint!r} mimics {leader!r}: it has no motor, sensor or '
                    f'independent position; name {leader!r}'
                )
            if joint not in robot.joint_names:
                raise UnknownNameError(
                    f'loop closures: no joint named {joint!r}; there are '
                    f'{", ".join(robot.joint_names)}'
                )
        for closure in self.closures:
            for link in (closure.parent, closure.child):
                if link not in robot.link_names and link != GROUND:
                    raise UnknownNameError(
                        f'closure {closure.name!r}: no link named {link!r}; there are '
                        f'{", ".join(robot.link_names)}'
                    )

    @classmethod
    def of(cls, description: RobotDescription) -> LoopClosures:
        """Return the closures of a description, such as the connects and welds of an MJCF.

        They are assembled near its first posture, or near zero without one. Raises
        `DescriptionError` if it has no closures, or does not say which joints have motors.
        """
        closures, motors = described_closures(description), description.actuated
        if not motors:
            raise DescriptionError(
                f'the description of {description.name!r} has no actuators; give a file of loop '
                'closures'
            )
        leaders = {joint.name for joint in description.joints if joint.mimic is None}
        return cls(
            closures,
            [name for name in motors if name in leaders],
            positions=described_positions(description),
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, 'closures', tuple(self.closures))
        object.__setattr__(self, 'actuated', tuple(self.actuated))
        object.__setattr__(self, 'sensed', tuple(self.sensed) or self.actuated)
        object.__setattr__(self, 'positions', dict(self.positions))
        check_number('the tolerance of loop closures', self.tolerance, positive=True)


def described_closures(description: RobotDescription) -> list[ConstraintJoint]:
    """Return the closures of a description; raises `DescriptionError` if it has none."""
    if not description.closures:
        raise DescriptionError(
            f'the description of {description.name!r} has no closures of loops; give a file of '
            'loop closures'
        )
    return [
        ConstraintJoint(each.name, PAIRS[each.pair], *each.links, *each.poses)
        for each in description.closures
    ]


def described_positions(description: RobotDescription) -> dict[str, float]:
    """Return the positions of independent joints in the first posture, none without one."""
    posture = next(iter(description.postures.values()), {})
    leaders = {joint.name for joint in description.joints if joint.mimic is None}
    return {
        name: values[0] for name, values in posture.items() if name in leaders and len(values) == 1
    }


def read_loop_closures(content: Any, where: str = 'loop closures') -> LoopClosures:
    """Return the loop closures of a file; `content` is the result of a YAML parser.

    A mapping with `closures` as `absolute_coordinates.from_description.loop_closures` reads them,
    and

    * `actuated`: names of the joints with motors,
    * `sensed`: names of the joints with sensors, by default the actuated ones,
    * `positions`: a mapping of joints to their approximate positions in the intended assembly,
    * `tolerance`: see `LoopClosures`.

    Raises
    ------
    DescriptionError
        If the content is invalid; names `where` it is and the key.
    """
    closures = loop_closures(content, where)
    check_keys(where, content, {'closures', 'actuated'}, {'sensed', 'positions', 'tolerance'})
    return LoopClosures(
        closures,
        names(where, 'actuated', content['actuated']),
        names(where, 'sensed', content.get('sensed', [])),
        read_positions(content, where),
        read_tolerance(content, where),
    )


def read_tolerance(content: dict[str, Any], where: str) -> float:
    """Return the tolerance of a file of loop closures."""
    value = number_of(f'{where}: tolerance', content.get('tolerance', LoopClosures.tolerance))
    if not value > 0.0:
        raise DescriptionError(f'{where}: tolerance must be positive, got {value:g}')
    return value


def read_positions(content: Any, where: str) -> dict[str, float]:
    """Return the positions of a file of loop closures, none if it has none."""
    positions = content.get('positions', {}) if isinstance(content, dict) else {}
    if not isinstance(positions, dict):
        raise DescriptionError(
            f'{where}: positions must map joints to numbers, got {quoted(positions)}'
        )
    return {
        str(joint): number_of(f'{where}: positions, {quoted(joint)}', position)
        for joint, position in positions.items()
    }


def names(where: str, key: str, value: Any) -> list[str]:
    """Return a list of joint names."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DescriptionError(f'{where}: {key} must be a list of joints, got {quoted(value)}')
    if len(set(value)) < len(value):
        raise DescriptionError(f'{where}: {key} names a joint twice: {quoted(value)}')
    return value
