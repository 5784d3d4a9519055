# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `parallel_robot`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.lie import quaternions, screws
from screw_dynamics_ros.core.mechanisms.parallel.parallel_robot import ParallelRobot
from screw_dynamics_ros.core.mechanisms.parallel.pose_tracking import PoseTracker
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shorten, shown
from screw_dynamics_ros.ros.parameters import Parameters, Value
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.services import Services
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..hosting import statuses
from ..hosting.state_input import TOPIC, state_input
from ..parameters.state_parameters import policies
from .parameters import TABLE, check, make_robot

WRENCH = '~/external_wrench'
HOUSEKEEPING_PERIOD_S = 0.1


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


class PlatformNode:
    """Publishes pose, twist and forces of a platform for each joint state of its motors.

    Nothing is published for a refused state, nor while the assembly mode is lost; ~/reset declares
    that the platform is near its home pose again.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.parameters = parameters = Parameters(node, TABLE, self._check, self._follow)
        check(parameters.values)
        robot = make_robot(parameters)
        self._robot, self._tracker = robot, PoseTracker(robot)
        self._outputs = ParallelOutputs(node, robot, parameters, self._external)
        self._refused: dict[str, str] = {}
        self._wrench, self._wrench_time = np.zeros(6), -np.inf
        self._heard = time.monotonic()
        self._states = state_input(node, robot.joint_names, policies(parameters))
        self._follow({})
        self._prepare()

        guarded = FAULTS.guarded
        self._states.subscribe_to_states(self._on_state)
        node.create_subscription(
            WrenchStamped, WRENCH, guarded(f'a message on {WRENCH}', self._on_wrench), qos.COMMAND
        )
        services = Services(node)
        services.serve('Trigger', '~/reset', lambda *_: self._reset())
        diagnostics = Diagnostics(node)
        diagnostics.add(self.status)
        diagnostics.add(services.status)
        diagnostics.add(FAULTS.status)
        every(node, HOUSEKEEPING_PERIOD_S, self._look_around)

    def _prepare(self) -> None:
        """Compile the functions that states need."""
        q = self._robot.inverse_position(self._robot.home)
        self._tracker.update(q)
        self._outputs.compute_once(MotorState(0, q, 0.0 * q, 0.0 * q), self._robot.home)
        self._tracker.reset()

    def _check(self, values: dict[str, Value]) -> None:
        check({**self.parameters.values, **values})
        policies(self.parameters, values)

    def _follow(self, changes: dict[str, Value]) -> None:
        """Apply the limits of the pose tracker."""
        tracker, parameters = self._tracker, self.parameters
        self._states.policies = policies(parameters)
        tracker.smallest_singular_value = parameters['smallest_singular_value']
        tracker.largest_turn = parameters['largest_turn']
        tracker.largest_shift = parameters['largest_shift']
        redundant = len(self._robot.mechanism.rod_legs) > 6
        tracker.tolerance = parameters['length_tolerance'] if redundant else None

    def _look_around(self) -> None:
        """Count subscribers, and look for drivers."""
        self._outputs.count_listeners()
        self._states.keep_house()

    # --- messages and requests ------------------------------------------------------------------

    def _on_state(self, mapper: JointStateMapper) -> None:
        try:
            pose = self._tracker.update(mapper.q)
        except ScrewDynamicsError as error:
            self._refused[TOPIC] = f'{TOPIC}: {error}'
            return
        self._refused.pop(TOPIC, None)
        self._heard = time.monotonic()
        v = mapper.v if mapper.has_velocity else None
        tau = mapper.tau if mapper.has_effort else None
        self._outputs.publish(MotorState(mapper.stamp, mapper.q, v, tau), pose)

    def _on_wrench(self, message: WrenchStamped) -> None:
        frame, f, n = message.header.frame_id, message.wrench.force, message.wrench.torque
        wrench = swap_linear_angular(np.array([f.x, f.y, f.z, n.x, n.y, n.z]))
        wanted = self.parameters['platform_frame']
        if frame != wanted:
            self._refused[WRENCH] = f'{WRENCH}: its frame is {shown(frame)!r}, not {wanted!r}'
        elif not np.isfinite(wrench).all():
            self._refused[WRENCH] = f'{WRENCH}: a number is not finite'
        else:
            self._refused.pop(WRENCH, None)
            self._wrench, self._wrench_time = wrench, time.monotonic()

    def _external(self) -> Array:
        """Return the current external wrench (6,), in the platform frame."""
        age = time.monotonic() - self._wrench_time
        return self._wrench if age < self.parameters['wrench_timeout'] else np.zeros(6)

    def _reset(self) -> str:
        self._tracker.reset()
        self._refused.pop(TOPIC, None)
        return 'the platform is assumed to be near its home pose'

    # --- report ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """Report whether the pose is known, and missing inputs."""
        status, tracker = Status('platform'), self._tracker
        report, age = tracker.singularity, time.monotonic() - self._heard
        smallest = f'{report.singular_values[-1]:.3g}' if report else 'none yet'
        factors = report.factors.items() if report else ()
        status.values.update(
            {
                'design': self._robot.design,
                'motors': ', '.join(self._robot.joint_names),
                'smallest singular value': smallest,
                **{f'factor of singularity {name}': f'{x:.3g}' for name, x in factors},
            }
        )
        if tracker.lost:
            status.error(
                f'assembly mode lost, nothing is published: {tracker.lost}; move the platform '
                'near its home pose and call ~/reset'
            )
        elif age > (self.parameters['state_timeout'] or math.inf):
            motors = shorten(self._robot.joint_names)
            status.error(f'no state of {motors} in {TOPIC} for {age:.3g} s')
        statuses.report_clock(status, self._node)
        for refusal in list(self._refused.values()):
            status.warn(f'refused {refusal}')
        statuses.report_channels(status, self._outputs.channels, self._states.mapper)
        self._states.report(status, statuses.needs(self._outputs.channels))
        return status
