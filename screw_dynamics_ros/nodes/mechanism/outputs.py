# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of the mechanism simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.simulated_mechanism import (
    SimulatedMechanism,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers


class MechanismOutputs:
    """The topics of a simulated mechanism; nothing is computed for those without subscribers.

    * /tf: the pose of each body in `world_frame`
    * `joint_states`: revolute and prismatic joints, with the commanded torques as effort
    * `~/energy`: kinetic, potential and total energy [J], and the change of the total energy since
      the start, relative to the initial kinetic energy
    * `~/violation`: gap [rad, m] and its rate [rad/s, m/s] of each joint
    * `~/reaction/<joint>`: wrench of the joint on its child, in the frame of the child

    Parameters
    ----------
    node : rclpy.node.Node
    mechanism : SimulatedMechanism
    forces : callable
        Returns the generalized forces (6 n,) at a time [ns], and the joint torques by joint.
    world_frame : str
    """

    def __init__(
        self,
        node: Node,
        mechanism: SimulatedMechanism,
        forces: Callable[[int], tuple[Array, dict[str, float]]],
        world_frame: str,
    ) -> None:
        self._mechanism, self._forces = mechanism, forces
        self._publishers = Publishers(node)
        self._wrenches: dict[str, Array] | None = None
        self.restart()
        self._topics = [
            *self._numbers_of_state(),
            *self._reactions(),
            *self._transforms(world_frame),
        ]

    def restart(self) -> None:
        """Set the current energy as the initial energy."""
        mechanism = self._mechanism
        self._start = mechanism.system.energy(mechanism.q, mechanism.v)

    def _numbers_of_state(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        mechanism, system = self._mechanism, self._mechanism.system
        moving = list(system.joint_positions(mechanism.q))

        def joint_states(now: int) -> Array:
            positions = system.joint_positions(mechanism.q)
            rates = system.joint_rates(mechanism.q, mechanism.v)
            torques = self._forces(now)[1]
            return np.array(
                [
                    *(positions[name] for name in moving),
                    *(rates[name].item() for name in moving),
                    *(torques.get(name, 0.0) for name in moving),
                ]
            )

        def energy(now: int) -> Array:
            T, U = system.energy(mechanism.q, mechanism.v)
            change = T + U - self._start.total
            scale = self._start.kinetic
            return np.array([T, U, T + U, change / scale if scale else np.nan])

        def violation(now: int) -> Array:
            return np.array(list(system.violation(mechanism.q, mechanism.v).values())).ravel()

        publishers = self._publishers
        if moving:
            template = templates.joint_states(moving)
            yield Channel(publishers.get(JointState, 'joint_states'), template), joint_states
        labels = ('kinetic', 'potential', 'total', 'relative change')
        template = templates.matrix(labels)
        yield Channel(publishers.get(Float64MultiArray, '~/energy'), template), energy
        if system.joints:
            names = [joint.name for joint in system.joints]
            template = templates.matrix(names, ('gap', 'rate'))
            yield Channel(publishers.get(Float64MultiArray, '~/violation'), template), violation

    def _reactions(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        system = self._mechanism.system
        tokens = topic_tokens([joint.name for joint in system.joints])
        for joint in system.joints:
            to_body = se3.Ad(se3.inverse(joint.child_frame)).T

            def numbers(now: int, name: str = joint.name, to_body: Array = to_body) -> Array:
                return swap_linear_angular(to_body @ self._wrenches_at(now)[name])

            name = f'~/reaction/{tokens[joint.name]}'
            template = templates.wrench(joint.child)
            yield Channel(self._publishers.get(WrenchStamped, name), template), numbers

    def _wrenches_at(self, now: int) -> dict[str, Array]:
        """Return the reaction wrenches of all joints, solved once for all of their topics."""
        if self._wrenches is None:
            mechanism, forces = self._mechanism, self._forces(now)[0]
            self._wrenches = mechanism.system.reactions(mechanism.q, mechanism.v, forces)
        return self._wrenches

    def _transforms(self, world_frame: str) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        mechanism = self._mechanism
        frames = [(world_frame, body.name) for body in mechanism.system.bodies]
        template = templates.transforms(frames)
        yield Channel(self._publishers.get(TFMessage, '/tf'), template), lambda now: mechanism.q

    def count_listeners(self) -> None:
        """Count the subscribers of all topics."""
        for topic, _ in self._topics:
            topic.count_listeners()

    def publish(self, now: int) -> None:
        """Publish the state at a time [ns]."""
        self._wrenches = None
        for topic, numbers in self._topics:
            if topic.listened:
                topic.put(numbers(now), now)
