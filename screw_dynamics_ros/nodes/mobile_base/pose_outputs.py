# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `odometry` with the pose."""

from __future__ import annotations

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.mobile.followed_path import FollowedPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.templates import vector
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.topics import qos

from . import messages


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
        message = messages.odometry_message(
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
            state = messages.joint_state(self._names, odometry, path.twist, stamp)
            self._joints.publish(state)
        if self._transforms is not None:
            self._transforms.publish(TFMessage(transforms=[self._transform(message)]))

    def _transform(self, message: OdometryMessage) -> TransformStamped:
        pose = message.pose.pose
        transform = TransformStamped(header=message.header, child_frame_id=self.frames[1])
        transform.transform.translation = vector((pose.position.x, pose.position.y, 0.0))
        transform.transform.rotation = pose.orientation
        return transform
