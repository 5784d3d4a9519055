# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of the simulator: measurements, ground truth, diagnostics."""

from __future__ import annotations

import time
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
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..model.coupled_motors import CoupledMotors
from .joint_targets import JointTargets
from .plant import Plant, Timeouts
from .simulation_time import RunState, SimulationTime

TRUTH = '~/ground_truth'


class SimulationReport:
    """Diagnostics of a simulation; rates are since the last report.

    Parameters
    ----------
    plant : Plant
    targets : JointTargets
    state : RunState
    clock : SimulationTime
    dt : float
        Step of the integration [s].

    Attributes
    ----------
    lost : float
        Skipped time [s]; may be set.
    ticks : int
        Number of joint states so far; may be set.
    """

    def __init__(
        self, plant: Plant, targets: JointTargets, state: RunState, clock: SimulationTime, dt: float
    ) -> None:
        self._plant, self._targets, self._state, self._clock = plant, targets, state, clock
        self._dt = dt
        self.lost, self.ticks = 0.0, 0
        self._unanswered, self._last_unanswered = 0, ''
        self._reported = time.monotonic(), 0.0, 0, 0
        self._powerless = self._joints_without_power()

    def was_not_answered(self, instant: str) -> None:
        """Count a joint state without an answer in lock step."""
        self._unanswered, self._last_unanswered = self._unanswered + 1, instant

    def status(self, timeouts: Timeouts) -> Status:
        """Return the current status."""
        status, clock = Status('simulation'), self._clock
        now, before = time.monotonic(), self._reported
        self._reported = now, self.lost, self.ticks, self._unanswered
        rate = (self.ticks - before[2]) / (now - before[0])
        simulated, joints = self._plant.simulated, self._plant.joints
        stops = joints.of_joints(simulated.stop_torques)
        sources = sorted({*self._targets.sources} - {''})
        status.values.update(
            {
                'time [s]': f'{clock.stamp / NANOSECONDS:.3f}',
                'rate [Hz]': f'{rate:.1f}',
                'step [s]': f'{self._dt:.6g}',
                'state': self._condition,
                'driven by': ', '.join(sources)
                or ('gravity compensation' if self._targets.is_idle else 'no command'),
                'pushed at': ', '.join(self._plant.pushes.acting(clock.stamp, timeouts.wrench))
                or 'nothing',
                'at stops': ', '.join(name for name, load in zip(joints.joints, stops) if load)
                or 'none',
                'time skipped [s]': f'{self.lost:.3f}',
                'unanswered': f'{self._unanswered}; the last {self._last_unanswered}'
                if self._unanswered
                else '0',
            }
        )
        if self._state.stopped:
            status.error(
                f'the simulation has stopped, {self._state.stopped}; ~/reset it, or set a state'
            )
        if self.lost > before[1]:
            status.warn(
                'the simulation is slower than real time and skipped '
                f'{self.lost - before[1]:.3f} s; lower the rate or increase the step'
            )
        if self._powerless:
            status.warn(
                f'the effort limit of {self._powerless} is 0 in the '
                'description, so that their motors are off; correct <limit effort="..."/>'
            )
        if self._plant.motors.excess:
            status.warn(self._plant.motors.excess)
        if self._unanswered > before[3]:
            status.warn(
                'no command arrived within lock_step_timeout, and the simulation continued, '
                f'{self._unanswered - before[3]} times; {self._last_unanswered}'
            )
        return status

    @property
    def _condition(self) -> str:
        """The run state in one or a few words."""
        state = self._state
        if state.stopped:
            return 'stopped'
        if state.paused:
            return 'paused'
        return 'running' if state.awaited is None else 'waiting for a command'

    def _joints_without_power(self) -> str:
        """Return the joints with an effort limit of 0 in the description."""
        robot, joints = self._plant.joints.robot, self._plant.joints.joints
        limits = dict(zip(robot.joint_names, robot.limits.effort))
        return ', '.join(name for name in joints if limits[name] == 0.0)


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
