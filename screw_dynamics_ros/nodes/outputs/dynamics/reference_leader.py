# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reference from the joint states of another robot, the leader.

Ages count from arrival: the clocks of two robots differ, and some drivers do not stamp.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.parameters.per_joint import PerJoint
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages.reference import read_leader
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

from .reference_joints import ReferenceJoints
from .reference_stamped import StampedReference

TOPIC, TORQUE_TOPIC = 'leader_topic', 'leader_torque_topic'

#: Names of both sources in reports, and the fields that they read.
LEADER = {
    TOPIC: ('leader state', ('position', 'velocity')),
    TORQUE_TOPIC: ('torque of the leader', ('effort',)),
}
MAPPED = PerJoint('leader_joints', ('leader_scale', 'leader_offset'))


def leader_joints(values: Mapping[str, Any]) -> dict[str, tuple[str, float, float]]:
    """Return the leader's joint, scale and offset by joint of the robot, from parameters.

    The position is scale * leader's + offset. Raises `ArgumentError`.
    """
    MAPPED.check(values)
    entries = MAPPED.named(values)
    scales, offsets = (MAPPED.of(name, values) for name in MAPPED.numbers)
    found = {}
    for entry in entries:
        own, _, other = entry.partition('=')
        found[own] = other or own, scales.get(entry, 1.0), offsets.get(entry, 0.0)
        if not found[own][1]:
            raise ArgumentError(f'leader_scale of joint {own!r} is 0; give -1 to mirror a joint')
    if len(found) < len(entries):
        raise ArgumentError(f'leader_joints: {shorten(entries)} names a joint twice')
    return found


class LeaderReference(StampedReference):
    """The latest positions and velocities, or torques, of the leader, in terms of own joints.

    Positions beyond the limits of a joint are held at the limit. Torques are divided by the scale
    of positions, so that the power is that of the leader.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
    topic : {TOPIC, TORQUE_TOPIC}
        The parameter with the topic.
    forgotten : callable
        Returns how often everything received has been forgotten.
    """

    def __init__(
        self, node: Node, parameters: Parameters, topic: str, forgotten: Callable[[], int]
    ) -> None:
        super().__init__()
        self._parameters, self._parameter = parameters, topic
        self.name, self._fields = LEADER[topic]
        self._given = leader_joints(parameters.values)
        self._stamp, self._unusable = 0, ''
        self._topic: CommandTopic | None = None
        if parameters[topic]:
            self._topic = CommandTopic(
                node,
                JointState,
                parameters[topic],
                self.receive,
                self.refuse,
                lambda: self.timeout,
                forgotten=forgotten,
                profile=qos.JOINT_STATES,
            )

    @property
    def moves(self) -> bool:
        """Whether it has positions."""
        return self._parameter == TOPIC

    def bind(self, joints: ReferenceJoints) -> None:
        """Adopt a new robot."""
        super().bind(joints)
        if self.moves:
            limits = np.array([joints.limits[name] for name in joints.names]).reshape(-1, 3)
            self.lower, self.upper, self._speed = limits.T.copy()
        unknown = [name for name in self._given if name not in joints.motors]
        self._unusable = (
            f'leader_joints: the robot has no joint {shorten(unknown)} with a motor; it has '
            f'{shorten(joints.motors, 30)}'
            if unknown
            else ''
        )
        mapped = [self._given.get(name, (name, 1.0, 0.0))[1:] for name in joints.names]
        self._scale, self._offset = np.array(mapped).reshape(-1, 2).T
        self._others = {name: each[0] for name, each in self._given.items()}

    def read(self, message: Any, joints: ReferenceJoints) -> tuple[Array, int]:
        """Return the rows and the time of arrival [ns]; raises `ScrewDynamicsError`."""
        now, stamp = round(time.monotonic() * NANOSECONDS), stamp_of(message)
        if self._unusable:
            raise UnknownNameError(self._unusable)
        is_next = self.is_given and now - self.sent <= self.timeout * NANOSECONDS
        if is_next and stamp < self._stamp:
            raise ArgumentError('its stamp is older than the one before; correct its clock')
        others = self._others or {name: name for name in joints.motors}
        rows = read_leader(f'the {self.name}', message, self._fields, others, joints.names)
        if self.moves:
            missing = [name for name in self._others if not rows[0, joints.names.index(name)]]
            if missing:
                raise ArgumentError(f'it lacks joint {self._others[missing[0]]!r} (leader_joints)')
            rows[1] = rows[0] * (self._scale * rows[1] + self._offset)
            rows[2] = np.clip(self._scale * rows[2], -self._speed, self._speed)
        else:
            rows[1] /= self._scale
        self._stamp = stamp
        return rows, now

    def report(self, status: Status, afterwards: str) -> None:
        """Report why the leader is not followed, and `afterwards`, what happens instead."""
        if self._topic is not None:
            self._topic.report(status)
            late = f'old, more than leader_timeout: {afterwards}'
            self.report_source(status, self._parameter, self._topic.topic, late)
