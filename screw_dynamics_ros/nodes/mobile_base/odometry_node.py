# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `odometry`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped, Twist, TwistStamped
from numpy.typing import ArrayLike
from rclpy.node import Node
from std_msgs.msg import Header

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.mobile.command_limits import TwistLimiter, admissible_twist
from screw_dynamics_ros.core.mobile.followed_path import SLIP_TOLERANCE, FollowedPath, WheelReadings
from screw_dynamics_ros.core.mobile.odometry import Odometry, WheelNoise
from screw_dynamics_ros.core.mobile.wheeled_platform import WheeledPlatform
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import NEVER_STAMP, Policies
from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.services import Services
from screw_dynamics_ros.ros.topics import qos

from ..hosting import statuses
from ..hosting.state_input import TOPIC, state_input
from ..parameters.state_parameters import policies
from . import outputs
from .assembly import make_base
from .outputs import PoseOutputs
from .parameters import TABLE, axis_limits

CHANGE_TOLERANCE = 1e-9  # rad/s, m/s
MAX_COMMAND = 1e6  # rad/s, m/s; numbers are still accurate after hours of open loop


class CommandFilter:
    """Returns the feasible and limited part of the newest command.

    Parameters
    ----------
    platform : WheeledPlatform
    values : callable
        Returns the active parameters.

    Attributes
    ----------
    acting : str
        Reasons for changes to the current command; '' if it is unchanged.
    """

    def __init__(self, platform: WheeledPlatform, values: Callable[[], Mapping[str, Any]]) -> None:
        self._platform, self._values = platform, values
        self._limiter = TwistLimiter(axis_limits(values()))
        self._command, self._since = np.zeros(3), -math.inf
        self._resting, self.acting = True, ''

    def adapt(self) -> None:
        """Adopt changed limits; the motion continues from the last twist."""
        self._limiter = self._limiter.with_axes(axis_limits(self._values()))

    def take(self, twist: ArrayLike, now: float) -> None:
        """Activate a command (omega, v_x, v_y) at a time [s], for cmd_vel_timeout.

        Raises `ArgumentError` if it is not finite, or above `MAX_COMMAND`; the previous command
        stays active.
        """
        wanted = vector('the command', 3, twist)
        if not (np.abs(wanted) <= MAX_COMMAND).all():
            raise ArgumentError(
                f'a component is not finite, or above {MAX_COMMAND:g}: {wanted.tolist()}'
            )
        self._command, self._since = wanted, now
        self._resting = False

    def next(self, now: float, dt: float) -> Array | None:
        """Return the twist for now, dt [s] after the previous one; None at rest.

        The last twist before rest is zero.
        """
        if self._resting:
            return None
        values = self._values()
        # After the clock was set back, the command seems to be from the future.
        is_fresh = abs(now - self._since) <= values['cmd_vel_timeout']
        wanted = self._command if is_fresh else np.zeros(3)
        possible = self._curved(admissible_twist(self._platform, wanted, values['filter_length']))
        given = self._curved(self._limiter.limit(possible, dt))
        reasons = [] if is_fresh else ['the command has timed out']
        if np.abs(possible - wanted).max() > CHANGE_TOLERANCE:
            reasons.append('not feasible for the platform')
        if self._limiter.acted:
            reasons.append('limits')
        self.acting = ', '.join(reasons)
        if not is_fresh and not given.any():
            self._resting, self.acting = True, ''
            self._limiter.restart()
        return given

    def _curved(self, twist: Array) -> Array:
        """Return the twist with a curvature that the steering can reach."""
        values = self._values()
        angle = values['max_steering_angle']
        if not angle or values['platform'] not in ('bicycle', 'ackermann'):
            return twist
        most = abs(twist[1]) * math.tan(angle) / values['wheelbase']
        return np.array([min(max(twist[0], -most), most), *twist[1:]])


SET_POSE = '~/set_pose'
COMMANDS, UNSTAMPED = '~/cmd_vel', '~/cmd_vel_unstamped'
HOUSEKEEPING_PERIOD_S = 0.1


class OdometryNode:
    """Publishes the pose of a wheeled platform, and limited commands.

    When the path is lost (a gap, a clock set back, an encoder jump), nothing is published until
    ~/reset or ~/set_pose, because the pose would be wrong.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.parameters = values = Parameters(node, TABLE, self._check, self._adapt)
        self._base = base = make_base(values.values)
        noise = WheelNoise(values['wheel_noise_along'], values['wheel_noise_across'])
        readings = WheelReadings(base.wheels, values['position_feedback'])
        self._states = state_input(node, base.joints, self._policies(), base.joints)
        self._path = FollowedPath(Odometry(base.platform, noise), readings)
        self._commands = CommandFilter(base.platform, lambda: values.values)
        self._read = np.full(len(base.joints), NEVER_STAMP)
        self._ticked, self._moved = math.nan, time.monotonic()
        self._refused: dict[str, str] = {}

        self._outputs = PoseOutputs(node, values)
        self._limited = (
            node.create_publisher(TwistStamped, '~/cmd_vel_out', qos.COMMAND)
            if values['publish_limited_velocity']
            else None
        )
        self._subscribe()
        services = Services(node)
        services.serve('Trigger', '~/reset', lambda *_: self._reset())
        diagnostics = Diagnostics(node)
        diagnostics.add(self.status)
        diagnostics.add(services.status)
        diagnostics.add(FAULTS.status)

    def _subscribe(self) -> None:
        node, guarded, open_loop = self._node, FAULTS.guarded, self.parameters['open_loop']

        def listen(kind: type, topic: str, callback: Any, profile: Any) -> None:
            node.create_subscription(
                kind, topic, guarded(f'a message on {topic}', callback), profile
            )

        if not open_loop:
            self._states.subscribe_to_states(self._on_state)
            every(node, HOUSEKEEPING_PERIOD_S, self._states.keep_house)
        listen(PoseWithCovarianceStamped, SET_POSE, self._on_pose, qos.COMMAND)
        if self._takes_commands:
            listen(TwistStamped, COMMANDS, self._on_stamped, qos.COMMAND)
            listen(Twist, UNSTAMPED, self._on_twist, qos.COMMAND)
            every(node, 1.0 / self.parameters['publish_rate'], self._tick)

    @property
    def _takes_commands(self) -> bool:
        return self.parameters['open_loop'] or self._limited is not None

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, changes: dict[str, Any]) -> None:
        """Refuse values that are inconsistent with the others."""
        make_base({**self.parameters.values, **changes})
        self._policies(changes)

    def _adapt(self, changes: dict[str, Any]) -> None:
        self._states.policies = self._policies()
        if any('.max_' in name or '.min_' in name for name in changes):
            self._commands.adapt()

    def _policies(self, changes: dict[str, Any] | None = None) -> Policies:
        """Return the policies of joint states; measured velocities make positions optional."""
        found = policies(self.parameters, changes)
        is_measured_by_velocity = not self.parameters['position_feedback']
        if is_measured_by_velocity and not self._base.steering:
            return replace(found, position='zero')
        return found

    # --- odometry -------------------------------------------------------------------------------

    def _on_state(self, mapper: JointStateMapper) -> None:
        if not (mapper.has_velocity or self.parameters['position_feedback']):
            return  # reported in the status of the joint states
        # Several publishers may each report some wheels; a step needs a new reading of all.
        stamps = mapper.stamps
        if not (mapper.restarted or (stamps > self._read).all()):
            return
        self._read = stamps
        gap, rate = self.parameters['max_gap'], self.parameters['max_wheel_velocity']
        step = self._path.follow(mapper.q, mapper.v, mapper.stamp, gap, rate)
        if step is not None:
            self._moved = time.monotonic()
            self._outputs.publish(self._path, step.dt, step.steering, step.stamp)

    def _on_pose(self, message: PoseWithCovarianceStamped) -> None:
        try:
            pose = outputs.read_pose(message, self._outputs.frames[0])
            self._path.odometry.reset(*pose)
        except ScrewDynamicsError as error:
            self._refused[SET_POSE] = f'{SET_POSE}: {error}'
        else:
            self._refused.pop(SET_POSE, None)
            self._restart()

    def _reset(self) -> str:
        self._path.odometry.reset()
        self._restart()
        parent, platform = self._outputs.frames
        return f'{platform} is at the origin of {parent}'

    def _restart(self) -> None:
        self._path.restart()
        self._outputs.restart()

    # --- commands -------------------------------------------------------------------------------

    def _on_stamped(self, message: TwistStamped) -> None:
        stamp = message.header.stamp
        sent = stamp.sec + 1e-9 * stamp.nanosec
        self._obey(COMMANDS, message.twist, self._now - sent if sent else 0.0)

    def _on_twist(self, message: Twist) -> None:
        self._obey(UNSTAMPED, message, 0.0)

    def _obey(self, topic: str, twist: Twist, age: float) -> None:
        """Activate a command, or store the reason why it is refused."""
        components = twist.angular.z, twist.linear.x, twist.linear.y
        try:
            if abs(age) > self.parameters['cmd_vel_timeout']:
                when = f'{age:.3f} s old' if age > 0.0 else f'{-age:.3f} s in the future'
                raise ArgumentError(f'it is {when}, more than cmd_vel_timeout')
            self._commands.take(components, self._now)
        except ScrewDynamicsError as error:
            self._refused[topic] = f'{topic}: {error}'
        else:
            self._refused.pop(topic, None)

    def _tick(self) -> None:
        """Publish the limited command; integrate it in open loop."""
        now = self._now
        dt = now - self._ticked
        self._ticked = now
        if not 0.0 < dt <= self.parameters['max_gap']:  # first tick, or the clock was set
            return
        twist = self._commands.next(now, dt)
        stamp = round(now * NANOSECONDS)
        if twist is not None and self._limited is not None:
            header = Header(stamp=outputs.stamp_of(stamp), frame_id=self._outputs.frames[1])
            self._limited.publish(
                TwistStamped(header=header, twist=outputs.twist_message(twist.tolist()))
            )
        if self.parameters['open_loop']:
            self._path.drive(np.zeros(3) if twist is None else twist, dt)
            steering = np.zeros(len(self._base.platform.steered))
            self._outputs.publish(self._path, dt, steering, stamp)

    @property
    def _now(self) -> float:
        """Time of the node's clock [s]."""
        return 1e-9 * stamp_of_clock(self._node.get_clock().now().nanoseconds)

    # --- report ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """Report the pose, its standard deviations, and refused messages."""
        status, path = Status('odometry'), self._path
        odometry = path.odometry
        phi, x, y = odometry.pose
        deviations = np.sqrt(np.diag(odometry.covariance))
        status.values.update(
            {
                'pose [m, m, rad]': f'{x:.4f}, {y:.4f}, {phi:.4f}',
                'standard deviation, ahead, across, heading [m, m, rad]': ', '.join(
                    f'{deviations[k]:.3g}' for k in (1, 2, 0)
                ),
                'distance [m]': f'{path.distance:.3f}',
                'slip from inconsistent wheels [m/s]': f'{path.slip:.3g}',
                'published': str(self._outputs.count),
                'command': self._commands.acting or 'unchanged',
            }
        )
        if path.lost:
            status.error(
                f'the path is lost, {path.lost}; nothing is published until ~/reset or ~/set_pose'
            )
        elif not self.parameters['open_loop']:
            age = time.monotonic() - self._moved
            if age > (self.parameters['state_timeout'] or math.inf):
                joints = shorten(self._base.joints)
                status.error(f'no step of {joints} in {TOPIC} for {age:.3g} s')
        if path.check.misfit > SLIP_TOLERANCE:
            likely = path.check.likely
            status.warn(
                f'the wheels contradict each other by {100.0 * path.check.misfit:.0f} % of the '
                'path: check names, signs and dimensions of wheels and steering'
                + (f'; it looks as if {likely}' if likely else '')
            )
        if not self.parameters['open_loop']:
            self._states.report(
                status, () if self.parameters['position_feedback'] else ['velocity']
            )
        statuses.report_clock(status, self._node)
        for refusal in list(self._refused.values()):
            status.warn(f'refused {refusal}')
        count = self._node.count_publishers
        publishers = sum(map(count, map(self._node.resolve_topic_name, (COMMANDS, UNSTAMPED))))
        if self._takes_commands and publishers > 1:
            status.warn(
                f'{publishers} publishers of commands on {COMMANDS} and {UNSTAMPED}: the newest '
                'command acts, of any of them; leave one, or use a multiplexer'
            )
        return status
