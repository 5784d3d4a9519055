# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of the simulator: measurements and ground truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.kinematics.joint_poses import free_coordinates
from screw_dynamics_ros.core.simulation.joint_sensor import JointSensor
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..model.coupled_motors import CoupledMotors
from .plant import Plant, Timeouts

TRUTH = '~/ground_truth'


class StateOutputs:
    """The topics of one simulated robot.

    Nothing is computed for a topic without subscribers, except `joint_states`.

    Parameters
    ----------
    node : rclpy.node.Node
    plant : Plant
    sensor : JointSensor
    timeouts : callable
        Returns the current timeouts of commands and wrenches.
    world_frame : str
        Parent of a floating base on /tf.

    Attributes
    ----------
    states : Channel
        `joint_states`.
    """

    def __init__(
        self,
        node: Node,
        plant: Plant,
        sensor: JointSensor,
        timeouts: Callable[[], Timeouts],
        world_frame: str,
    ) -> None:
        self._plant, self._sensor, self._timeouts = plant, sensor, timeouts
        self._publishers = Publishers(node)
        self._torques = np.zeros(plant.simulated.robot.nv)
        self._motors = CoupledMotors(plant.simulated.robot)
        template = templates.joint_states(plant.joints.joints)
        self.states = Channel(self._publishers.get(JointState, 'joint_states'), template)
        self._others = [
            *self._truths(),
            *self._base_twist(),
            *self._odometry(world_frame),
            *self._multi_dof_joints(),
            *self._contact_wrenches(),
            *self._transforms(world_frame),
        ]

    def _truths(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        """Yield the ground-truth topics, and the functions that return their numbers."""
        plant, names = self._plant, self._plant.joints.joints
        simulated = plant.simulated
        for kind, name, template, numbers in (
            (
                JointState,
                f'{TRUTH}/joint_states',
                templates.joint_states(names),
                lambda now: np.concatenate(self._true_state()),
            ),
            (
                JointState,
                f'{TRUTH}/external_torque',
                templates.joint_efforts(names),
                lambda now: plant.external_torques(now, self._timeouts()),
            ),
            (
                Float64MultiArray,
                '~/energy',
                templates.matrix(('kinetic', 'potential')),
                lambda now: np.array(simulated.energy),
            ),
            (
                Float64MultiArray,
                '~/violation',
                templates.matrix(('quaternion_norm',)),
                lambda now: np.array([simulated.violation]),
            ),
        ):
            yield Channel(self._publishers.get(kind, name), template), numbers

    def _base_twist(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        """Yield a topic with the twist of a floating base, in its own frame."""
        simulated, robot = self._plant.simulated, self._plant.simulated.robot
        if robot.floating_base:
            name, template = f'{TRUTH}/base_twist', templates.twist(robot.link_names[0])
            topic = Channel(self._publishers.get(TwistStamped, name), template)
            yield topic, lambda now: swap_linear_angular(simulated.v[:6])

    def _odometry(self, world_frame: str) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        """Yield a topic with pose and twist of a floating base."""
        simulated, robot = self._plant.simulated, self._plant.simulated.robot
        if robot.floating_base:
            from nav_msgs.msg import Odometry

            template = templates.odometry(world_frame, robot.link_names[0])
            yield (
                Channel(self._publishers.get(Odometry, 'odom'), template),
                lambda now: np.concatenate([simulated.q[:7], swap_linear_angular(simulated.v[:6])]),
            )

    def _multi_dof_joints(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        """Yield a topic with the motion of planar, ball and floating joints."""
        simulated, joints = self._plant.simulated, self._plant.joints
        places = [
            (each, *joints.robot.joint_coordinates(name))
            for name, each in joints.held_coordinates.items()
        ]
        if not places:
            return

        def numbers(now: int) -> Array:
            motions = [each.motion(simulated.q[q], simulated.v[v]) for each, q, v in places]
            return np.concatenate(
                [
                    *(free_coordinates(pose) for pose, _ in motions),
                    *(swap_linear_angular(twist) for _, twist in motions),
                ]
            )

        template = templates.multi_dof_joint_states(joints.held)
        topic = self._publishers.get(MultiDOFJointState, 'multi_dof_joint_states')
        yield Channel(topic, template), numbers

    def _contact_wrenches(self) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        """Yield a topic for each link with contact points."""
        simulated = self._plant.simulated
        for link, token in topic_tokens(simulated.environment.contact_links).items():

            def numbers(now: int, link: str = link) -> Array:
                return swap_linear_angular(simulated.contact_wrenches[link])

            name = f'~/contact_wrench/{token}'
            yield (
                Channel(self._publishers.get(WrenchStamped, name), templates.wrench(link)),
                numbers,
            )

    def _transforms(self, world_frame: str) -> Iterator[tuple[Channel, Callable[[int], Array]]]:
        """Yield /tf for a floating base and joints that joint states cannot contain."""
        simulated, robot = self._plant.simulated, self._plant.simulated.robot
        described = {joint.name: joint for joint in robot.description.joints}
        rows = [
            k for k, name in enumerate(robot.transform_joints) if name in self._plant.joints.held
        ]
        frames = [
            (
                described[robot.transform_joints[k]].parent,
                described[robot.transform_joints[k]].child,
            )
            for k in rows
        ]
        base = robot.floating_base
        if base:
            frames.insert(0, (world_frame, robot.link_names[0]))
        if not frames:
            return

        def numbers(now: int) -> Array:
            poses = robot.joint_transforms(simulated.q)[rows].ravel() if rows else np.zeros(0)
            return np.concatenate([simulated.q[:7], poses]) if base else poses

        yield Channel(self._publishers.get(TFMessage, '/tf'), templates.transforms(frames)), numbers

    def prepare(self) -> None:
        """Compile the functions of all topics, so that the first messages are not delayed."""
        for _, numbers in self._others:
            numbers(0)

    def count_listeners(self) -> None:
        """Count the subscribers of all topics."""
        for topic, _ in self._others:
            topic.count_listeners()

    def publish(self, now: int) -> int | None:
        """Publish the state at a time [ns]; return the stamp of the last joint state sent [ns].

        With a delay, earlier joint states are sent: several, one, or none (returns None).
        """
        self._torques = self._plant.torques(now, self._timeouts())
        for topic, numbers in self._others:  # before the joint states, to which nodes match poses
            if topic.listened:
                topic.put(numbers(now), now)
        self._sensor.measure(now, *self._true_state())
        measurements = self._sensor.arrived(now)
        for stamp, values in measurements:
            self.states.put(values, stamp)
        return measurements[-1].stamp if measurements else None

    def _true_state(self) -> tuple[Array, Array, Array]:
        """Return positions, velocities and torques of the motors, (n,) each."""
        plant = self._plant
        efforts = self._motors.efforts(plant.joints.of_joints(self._torques))
        return plant.positions, plant.velocities, efforts
