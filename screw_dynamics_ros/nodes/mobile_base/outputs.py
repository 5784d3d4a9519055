# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `odometry`, and its messages: planar poses and twists in three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseWithCovariance,
    PoseWithCovarianceStamped,
    Quaternion,
    TransformStamped,
    Twist,
    TwistWithCovariance,
)
from nav_msgs.msg import Odometry as OdometryMessage
from numpy.typing import ArrayLike
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.mobile import planar
from screw_dynamics_ros.core.mobile.followed_path import FollowedPath
from screw_dynamics_ros.core.mobile.odometry import Odometry
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.templates import vector
from screw_dynamics_ros.ros.names import shown
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.topics import qos

#: Indices of (phi, x, y) in the order x, y, z, roll, pitch, yaw of ROS covariances.
COVARIANCE_INDICES = (5, 0, 1)
MAX_COORDINATE = 1e9  # m, m^2, rad^2; numbers of a pose that is set
TILT_TOLERANCE = 1e-3  # of x and y of the quaternion of a pose that is set


def stamp_of(nanoseconds: int) -> Time:
    """Return a stamp [ns] as a message."""
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def twist_message(twist: Sequence[float]) -> Twist:
    """Return geometry_msgs/Twist of (omega, v_x, v_y)."""
    omega, vx, vy = map(float, twist)
    return Twist(linear=vector((vx, vy, 0.0)), angular=vector((0.0, 0.0, omega)))


def odometry_message(
    odometry: Odometry,
    twist: Array,
    twist_covariance: Array,
    frames: tuple[str, str],
    stamp: int,
    diagonals: tuple[Sequence[float], Sequence[float]],
) -> OdometryMessage:
    """Return nav_msgs/Odometry.

    Parameters
    ----------
    odometry : Odometry
        Provides the pose.
    twist, twist_covariance : (3,), (3, 3) arrays
        (omega, v_x, v_y) in the frame of the platform.
    frames : tuple of str
        header.frame_id and child_frame_id.
    stamp : int
        [ns].
    diagonals : two sequences of six numbers
        Variances added to pose and twist.
    """
    phi, x, y = odometry.pose
    pose = Pose(position=Point(x=x, y=y, z=0.0), orientation=heading(phi))
    return OdometryMessage(
        header=Header(stamp=stamp_of(stamp), frame_id=frames[0]),
        child_frame_id=frames[1],
        pose=PoseWithCovariance(
            pose=pose, covariance=covariance(odometry.reference_covariance, diagonals[0])
        ),
        twist=TwistWithCovariance(
            twist=twist_message(twist.tolist()),
            covariance=covariance(twist_covariance, diagonals[1]),
        ),
    )


def joint_state(names: Sequence[str], odometry: Odometry, twist: Array, stamp: int) -> JointState:
    """Return sensor_msgs/JointState of three joints for x, y and heading, and their rates."""
    phi, x, y = odometry.pose.tolist()
    vx, vy = planar.rotated(phi, twist[1:]).tolist()
    return JointState(
        header=Header(stamp=stamp_of(stamp)),
        name=list(names),
        position=[x, y, phi],
        velocity=[vx, vy, float(twist[0])],
    )


def covariance(P: Array, diagonal: ArrayLike) -> list[float]:
    """Return the 36 elements of a covariance of (phi, x, y), with variances added."""
    whole = np.diag(np.asarray(diagonal, dtype=float))
    whole[np.ix_(COVARIANCE_INDICES, COVARIANCE_INDICES)] += P
    return [float(number) for number in whole.ravel()]


def heading(phi: float) -> Quaternion:
    """Return the quaternion of a rotation about z [rad]."""
    return Quaternion(x=0.0, y=0.0, z=math.sin(0.5 * phi), w=math.cos(0.5 * phi))


def read_pose(message: PoseWithCovarianceStamped, frame: str) -> tuple[Array, Array]:
    """Return (phi, x, y) and its covariance in the frame of the platform.

    Raises `ArgumentError` for another frame, a tilted pose, or numbers that are not finite, or
    above `MAX_COORDINATE`.
    """
    if message.header.frame_id != frame:
        raise ArgumentError(
            f'header.frame_id is {shown(message.header.frame_id)!r} instead of {frame!r}'
        )
    p, o = message.pose.pose.position, message.pose.pose.orientation
    q = np.array([o.x, o.y, o.z, o.w])
    numbers = np.array([p.x, p.y, *q, *message.pose.covariance])
    if not np.isfinite(numbers).all() or not abs(q @ q - 1.0) < TILT_TOLERANCE:
        raise ArgumentError('numbers must be finite and the orientation a unit quaternion')
    if max(abs(o.x), abs(o.y)) > TILT_TOLERANCE:
        raise ArgumentError('the pose is tilted; a platform rotates about z only')
    if max(abs(p.x), abs(p.y), *np.abs(message.pose.covariance)) > MAX_COORDINATE:
        raise ArgumentError(f'numbers must be at most {MAX_COORDINATE:g}')
    R = quaternions.to_matrix(q / np.sqrt(q @ q))
    phi = math.atan2(R[1, 0], R[0, 0])
    turn = np.eye(3)
    turn[1:, 1:] = R[:2, :2].T
    P = np.reshape(message.pose.covariance, (6, 6))[np.ix_(COVARIANCE_INDICES, COVARIANCE_INDICES)]
    return np.array([phi, p.x, p.y]), turn @ P @ turn.T


class PoseOutputs:
    """Publishes ~/odom, /tf, and joints that represent the pose on `joint_states`.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters

    Attributes
    ----------
    frames : tuple of str
        Parent frame and frame of the platform.
    count : int
        Number of messages so far.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._values, self.count = parameters, 0
        self.frames = parameters['odom_frame_id'], parameters['base_frame_id']
        self.restart()
        self._names = parameters['odom_joint_names']
        self._poses = node.create_publisher(OdometryMessage, '~/odom', qos.OUTPUT)
        self._transforms = self._joints = None
        if parameters['enable_odom_tf']:
            self._transforms = node.create_publisher(TFMessage, '/tf', qos.OUTPUT)
        if self._names:
            self._joints = node.create_publisher(JointState, 'joint_states', qos.OUTPUT)

    def restart(self) -> None:
        """Publish the next pose immediately."""
        self._limit = RateLimit(self._values['publish_rate'])

    def publish(self, path: FollowedPath, dt: float, steering: Array, stamp: int) -> None:
        """Publish the pose after a step of dt [s], at most at publish_rate."""
        if not self._limit.use(stamp):
            return
        odometry, values = path.odometry, self._values
        message = odometry_message(
            odometry,
            path.twist,
            odometry.twist_covariance(path.twist, dt, steering),
            self.frames,
            stamp,
            (values['pose_covariance_diagonal'], values['twist_covariance_diagonal']),
        )
        self._poses.publish(message)
        self.count += 1
        if self._joints is not None:
            state = joint_state(self._names, odometry, path.twist, stamp)
            self._joints.publish(state)
        if self._transforms is not None:
            self._transforms.publish(TFMessage(transforms=[self._transform(message)]))

    def _transform(self, message: OdometryMessage) -> TransformStamped:
        pose = message.pose.pose
        transform = TransformStamped(header=message.header, child_frame_id=self.frames[1])
        transform.transform.translation = vector((pose.position.x, pose.position.y, 0.0))
        transform.transform.rotation = pose.orientation
        return transform
