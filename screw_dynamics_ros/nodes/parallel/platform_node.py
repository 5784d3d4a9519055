# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `parallel_robot`."""

from __future__ import annotations

import math
import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.mechanisms.parallel.pose_tracking import PoseTracker
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shorten, shown
from screw_dynamics_ros.ros.parameters import Parameters, Value
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.services import Services
from screw_dynamics_ros.ros.topics import qos

from ..hosting import statuses
from ..hosting.state_input import TOPIC, state_input
from ..parameters.state_parameters import policies
from .outputs import MotorState, ParallelOutputs
from .parameters import TABLE, check, make_robot

WRENCH = '~/external_wrench'
HOUSEKEEPING_PERIOD_S = 0.1


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
