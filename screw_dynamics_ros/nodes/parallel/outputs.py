# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of the node `parallel_robot`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.lie import quaternions, screws
from screw_dynamics_ros.core.mechanisms.parallel.parallel_robot import ParallelRobot
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers


class MotorState(NamedTuple):
    """A state of the motors.

    Attributes
    ----------
    stamp : int
        [ns].
    q : (n,) array
    v, tau : (n,) array or None
        None if they are unknown for some motor.
    """

    stamp: int
    q: Array
    v: Array | None
    tau: Array | None


#: Numbers of a message for a state and its pose (4, 4); None if the state lacks the data.
Numbers = Callable[[MotorState, Array], Array | None]


class ParallelOutputs:
    """The topics of one platform; nothing is computed for those without subscribers.

    * /tf and `~/pose`: the platform in the base frame
    * `~/twist`: its twist at its origin, along the axes of the base frame
    * `~/gravity`: motor efforts that hold the weight of the platform
    * `~/leg_forces`: motor efforts that also balance `~/external_wrench`
    * `~/wrench`: external wrench on the platform at rest, in its frame, from the motor efforts

    Parameters
    ----------
    node : rclpy.node.Node
    robot : ParallelRobot
    parameters : Parameters
    external : callable
        Returns the current external wrench (6,) on the platform, in its frame.
    """

    def __init__(
        self,
        node: Node,
        robot: ParallelRobot,
        parameters: Parameters,
        external: Callable[[], Array],
    ) -> None:
        self._robot, self._parameters, self._external = robot, parameters, external
        self._publishers = Publishers(node)
        self._topics = list(self._make())

    def _make(self) -> Iterator[tuple[Channel, Numbers]]:
        base, platform = (self._parameters[f'{name}_frame'] for name in ('base', 'platform'))
        joints, publishers = self._robot.joint_names, self._publishers
        if self._parameters['publish_tf']:
            template = templates.transforms([(base, platform)])
            yield Channel(publishers.get(TFMessage, '/tf'), template), self._pose
        yield Channel(publishers.get(PoseStamped, '~/pose'), templates.pose(base)), self._pose
        publisher, template = publishers.get(TwistStamped, '~/twist'), templates.twist(base)
        yield Channel(publisher, template, velocity=True), self._twist
        efforts = templates.joint_efforts(joints)
        yield Channel(publishers.get(JointState, '~/gravity'), efforts), self._gravity
        efforts = templates.joint_efforts(joints)
        yield Channel(publishers.get(JointState, '~/leg_forces'), efforts), self._leg_forces
        publisher, template = publishers.get(WrenchStamped, '~/wrench'), templates.wrench(platform)
        yield Channel(publisher, template, effort=True), self._wrench

    @property
    def channels(self) -> list[Channel]:
        """All topics."""
        return [channel for channel, _ in self._topics]

    def count_listeners(self) -> None:
        """Count the subscribers of all topics."""
        for topic, _ in self._topics:
            topic.count_listeners()

    def publish(self, state: MotorState, pose: Array) -> None:
        """Publish the outputs for a state and the pose (4, 4) of the platform."""
        for topic, numbers in self._topics:
            if topic.listened:
                found = numbers(state, pose)
                if found is not None and np.isfinite(found).all():
                    topic.put(found, state.stamp)

    def compute_once(self, state: MotorState, pose: Array) -> None:
        """Compile the functions of all topics before the first state."""
        for _, numbers in self._topics:
            numbers(state, pose)

    def _pose(self, state: MotorState, pose: Array) -> Array:
        return np.concatenate([pose[:3, 3], quaternions.from_matrix(pose[:3, :3])])

    def _twist(self, state: MotorState, pose: Array) -> Array | None:
        if state.v is None:
            return None
        return swap_linear_angular(self._robot.jacobian(state.q, pose) @ state.v)

    def _weight(self, pose: Array) -> Array:
        return self._robot.wrench_of_weight(pose, self._parameters['gravity'])

    def _gravity(self, state: MotorState, pose: Array) -> Array:
        return self._robot.inverse_force(state.q, self._weight(pose), pose)

    def _leg_forces(self, state: MotorState, pose: Array) -> Array:
        external = screws.convert_wrench(self._external(), pose, 'body', 'hybrid')
        return self._robot.inverse_force(state.q, self._weight(pose) - external, pose)

    def _wrench(self, state: MotorState, pose: Array) -> Array | None:
        if state.tau is None:
            return None
        exerted = self._robot.forward_force(state.q, state.tau, pose)
        external = self._weight(pose) - exerted
        return swap_linear_angular(screws.convert_wrench(external, pose, 'hybrid', 'body'))
