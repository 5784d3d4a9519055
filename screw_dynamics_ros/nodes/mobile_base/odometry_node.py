"""The node `odometry`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from geometry_msgs.msg import (
    PoseWithCovarianceStamped,
    TransformStamped,
    Twist,
    TwistStamped,
)
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.mobile.odometry import Odometry, WheelNoise
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.mobile_base import messages
from screw_dynamics_ros.nodes.mobile_base.assembly import make_base
from screw_dynamics_ros.nodes.mobile_base.command_filter import CommandFilter
from screw_dynamics_ros.nodes.mobile_base.parameters import TABLE
from screw_dynamics_ros.nodes.mobile_base.wheel_readings import (
    NANOSECONDS,
    PathLostError,
    WheelReadings,
)
from screw_dynamics_ros.nodes.simulation.control_services import ControlServices
from screw_dynamics_ros.nodes.simulation.events import Events
from screw_dynamics_ros.ros.diagnostics import Diagnostics, Level, Status
from screw_dynamics_ros.ros.messages.templates import vector
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos

STATES, SET_POSE = 'joint_states', '~/set_pose'
COMMANDS, UNSTAMPED = '~/cmd_vel', '~/cmd_vel_unstamped'


class OdometryNode:
    """Publishes where a platform is, and the commands that it can follow.

    When the path is lost (a gap, a clock set back, a jump of an encoder) nothing is published until
    ~/reset or ~/set_pose: a pose that continues as if nothing had happened would be wrong.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.parameters = values = Parameters(node, TABLE, self._check, self._adapt)
        self._base = base = make_base(values.values)
        noise = WheelNoise(values['wheel_noise_along'], values['wheel_noise_across'])
        self._odometry = Odometry(base.platform, noise)
        self._readings = WheelReadings(base, values['position_feedback'])
        self._commands = CommandFilter(base.platform, lambda: values.values)
        self._frames = values['odom_frame_id'], values['base_frame_id']
        self._period = round(NANOSECONDS / values['publish_rate'])
        self._due, self._lost, self._distance, self._count = -(2**62), '', 0.0, 0
        self._twist, self._ticked = np.zeros(3), math.nan
        self._refused: dict[str, str] = {}
        self._failures = Events()

        self._poses = node.create_publisher(OdometryMessage, '~/odom', qos.OUTPUT)
        self._frames_out = (
            node.create_publisher(TFMessage, '/tf', qos.OUTPUT)
            if values['enable_odom_tf']
            else None
        )
        self._joints = (
            node.create_publisher(JointState, STATES, qos.OUTPUT)
            if values['odom_joint_names']
            else None
        )
        self._limited = (
            node.create_publisher(TwistStamped, '~/cmd_vel_out', qos.COMMAND)
            if values['publish_limited_velocity']
            else None
        )
        self._subscribe()
        services = ControlServices(node)
        services.add_trigger('~/reset', self._reset)
        Diagnostics(node).add(self.status)

    def _subscribe(self) -> None:
        node, guarded, open_loop = self._node, self._failures.guarded, self.parameters['open_loop']

        def listen(kind: type, topic: str, callback: Any, profile: Any) -> None:
            node.create_subscription(
                kind, topic, guarded(f'a message on {topic}', callback), profile
            )

        if not open_loop:
            listen(JointState, STATES, self._on_states, qos.JOINT_STATES)
        listen(PoseWithCovarianceStamped, SET_POSE, self._on_pose, qos.COMMAND)
        if open_loop or self._limited is not None:
            listen(TwistStamped, COMMANDS, self._on_stamped, qos.COMMAND)
            listen(Twist, UNSTAMPED, self._on_twist, qos.COMMAND)
            every(node, 1e-9 * self._period, guarded('a command', self._tick))

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, changes: dict[str, Any]) -> None:
        """Refuse values that do not fit the others."""
        make_base({**self.parameters.values, **changes})

    def _adapt(self, changes: dict[str, Any]) -> None:
        if any('.max_' in name or '.min_' in name for name in changes):
            self._commands.adapt()

    # --- odometry -------------------------------------------------------------------------------

    def _on_states(self, message: JointState) -> None:
        stamp = message.header.stamp
        try:
            step = self._readings.read(
                message.name,
                message.position,
                message.velocity,
                stamp.sec * NANOSECONDS + stamp.nanosec,
                self.parameters['max_gap'],
                self.parameters['max_wheel_velocity'],
            )
            if step is None:
                return
            self._refused.pop(STATES, None)
            if self._lost:
                return
            self._odometry.update(step.displacements, step.steering)
        except PathLostError as error:
            self._lost = self._lost or str(error)
        except ScrewDynamicsError as error:
            self._refused[STATES] = f'{STATES}: {error}'
        else:
            rates = step.displacements / step.dt
            twist = self._base.platform.twist(rates, step.steering)
            self._moved(twist, step.dt, step.steering, step.stamp)

    def _moved(self, twist: Array, dt: float, steering: Array, stamp: int) -> None:
        """Publish the pose after a step, unless the last one was published just now."""
        self._twist = twist
        self._distance += math.hypot(twist[1], twist[2]) * dt
        if not self._due - self._period < stamp < self._due:
            earliest = max(self._due + self._period, stamp + self._period // 2)
            self._due = min(earliest, stamp + self._period)
            self._publish(self._odometry.twist_covariance(twist, dt, steering), stamp)

    def _publish(self, twist_covariance: Array, stamp: int) -> None:
        values = self.parameters
        message = messages.odometry_message(
            self._odometry,
            self._twist,
            twist_covariance,
            self._frames,
            stamp,
            (values['pose_covariance_diagonal'], values['twist_covariance_diagonal']),
        )
        self._poses.publish(message)
        self._count += 1
        if self._joints is not None:
            names = values['odom_joint_names']
            self._joints.publish(messages.joint_state(names, self._odometry, self._twist, stamp))
        if self._frames_out is not None:
            transform = TransformStamped(header=message.header, child_frame_id=self._frames[1])
            pose = message.pose.pose
            transform.transform.translation = vector((pose.position.x, pose.position.y, 0.0))
            transform.transform.rotation = pose.orientation
            self._frames_out.publish(TFMessage(transforms=[transform]))

    def _on_pose(self, message: PoseWithCovarianceStamped) -> None:
        try:
            self._odometry.reset(*messages.read_pose(message, self._frames[0]))
        except ScrewDynamicsError as error:
            self._refused[SET_POSE] = f'{SET_POSE}: {error}'
        else:
            self._refused.pop(SET_POSE, None)
            self._restart()

    def _reset(self) -> str:
        self._odometry.reset()
        self._restart()
        return f'{self._frames[1]} is at the origin of {self._frames[0]}'

    def _restart(self) -> None:
        self._lost, self._distance, self._twist = '', 0.0, np.zeros(3)
        self._readings.forget()
        self._due = -(2**62)

    # --- commands -------------------------------------------------------------------------------

    def _on_stamped(self, message: TwistStamped) -> None:
        stamp = message.header.stamp
        sent = stamp.sec + 1e-9 * stamp.nanosec
        self._obey(COMMANDS, message.twist, self._now - sent if sent else 0.0)

    def _on_twist(self, message: Twist) -> None:
        self._obey(UNSTAMPED, message, 0.0)

    def _obey(self, topic: str, twist: Twist, age: float) -> None:
        """Let a command be in force from now, or keep why not."""
        components = twist.angular.z, twist.linear.x, twist.linear.y
        try:
            if age > self.parameters['cmd_vel_timeout']:
                raise ArgumentError(f'it is {age:.3f} s old, more than cmd_vel_timeout')
            self._commands.take(components, self._now)
        except ScrewDynamicsError as error:
            self._refused[topic] = f'{topic}: {error}'
        else:
            self._refused.pop(topic, None)

    def _tick(self) -> None:
        """Pass on a command; integrate it where there is no feedback."""
        now = self._now
        dt = now - self._ticked
        self._ticked = now
        if not 0.0 < dt <= self.parameters['max_gap']:  # the first one, or the clock was set
            return
        twist = self._commands.next(now, dt)
        stamp = round(now * NANOSECONDS)
        if twist is not None and self._limited is not None:
            header = Header(stamp=messages.stamp_of(stamp), frame_id=self._frames[1])
            self._limited.publish(
                TwistStamped(header=header, twist=messages.twist_message(twist.tolist()))
            )
        if self.parameters['open_loop'] and not self._lost:
            moved = np.zeros(3) if twist is None else twist
            steering = np.zeros(len(self._base.platform.steered))
            self._odometry.move(moved * dt)
            self._moved(moved, dt, steering, stamp)

    @property
    def _now(self) -> float:
        """Time of the clock of the node [s]."""
        return 1e-9 * self._node.get_clock().now().nanoseconds

    # --- report ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """Report where the platform is, how sure that is, and what was refused."""
        status, odometry = Status('odometry'), self._odometry
        phi, x, y = odometry.pose
        deviations = np.sqrt(np.diag(odometry.covariance))
        status.values.update(
            {
                'pose [m, m, rad]': f'{x:.4f}, {y:.4f}, {phi:.4f}',
                'standard deviation, ahead, across, heading [m, m, rad]': ', '.join(
                    f'{deviations[k]:.3g}' for k in (1, 2, 0)
                ),
                'distance [m]': f'{self._distance:.3f}',
                'published': str(self._count),
                'command': self._commands.acting or 'passed on as it is',
                'failures': str(self._failures),
            }
        )
        if self._lost:
            status.report(
                Level.ERROR,
                f'the path is lost, {self._lost}; nothing is published until ~/reset or ~/set_pose',
            )
        news = self._failures.news()
        if news:
            status.report(
                Level.ERROR, f'failed and was skipped, {news} times; {self._failures.last}'
            )
        for refusal in list(self._refused.values()):
            status.report(Level.WARN, f'refused {refusal}')
        return status
