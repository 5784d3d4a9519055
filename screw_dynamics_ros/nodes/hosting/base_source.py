# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pose and twist of a floating base at the stamp of each joint state."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import MissingStateError, ScrewDynamicsError
from screw_dynamics_ros.core.kinematics.pose_history import MeasuredMotion, PoseHistory
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.lie.screws import swap, transform_twist
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.hosting.state_pipeline import StatePipeline
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.parameters.base_parameters import FIXED, IMU, ODOMETRY, STOP, TF
from screw_dynamics_ros.nodes.services.payload_services import link_of, relative_pose
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

NORM_TOLERANCE = 1e-2  # deviation of the norm of a quaternion that is attributed to rounding
JUMP = NANOSECONDS  # stamps that run back by more restart the history [ns]
UNKNOWN = -1.0  # first element of the covariance of a missing quantity, see sensor_msgs/Imu


class BaseSource:
    """Writes the motion of the root link into the state of the model.

    Parameters
    ----------
    node : rclpy.node.Node
        Owns the subscriptions.
    parameters : Parameters
        With the rows of `base_parameters`.
    states : StatePipeline
        Suspended while the motion is unknown, with on_base_loss stop.
    """

    def __init__(self, node: Node, parameters: Parameters, states: StatePipeline) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self._history = PoseHistory()
        self._motion: MeasuredMotion | None = None
        self._reason = ''
        self._chain: FrameChain | None = None
        self._subscribed: set[str] = set()
        self.update_parameters()

    @property
    def is_used(self) -> bool:
        """Whether the base may move."""
        return bool(self._parameters['base_source'] != FIXED)

    def update_parameters(self) -> None:
        """Apply the parameters: create required subscriptions, and forget earlier motion."""
        source = self._parameters['base_source']
        self._history.clear()
        self._motion, self._reason = None, 'no measurement so far'
        if source == TF and self._chain is None:
            self._chain = FrameChain(self._node, TFMessage, '')
        if source == ODOMETRY:
            from nav_msgs.msg import Odometry

            self._subscribe(Odometry, 'odom', self.receive_odometry)
        if source == IMU:
            from sensor_msgs.msg import Imu

            self._subscribe(Imu, 'imu', self.receive_imu)
        if source == FIXED:
            self._states.suspend('base', False)

    def _subscribe(self, kind: type, topic: str, receive: Any) -> None:
        if topic not in self._subscribed:
            self._subscribed.add(topic)
            callback = FAULTS.guarded(f'a message on {topic}', STATE_LOCK.exclusive(receive))
            self._node.create_subscription(kind, topic, callback, qos_profile_sensor_data)

    # --- measurements ---------------------------------------------------------------------------

    def receive_odometry(self, message: Any) -> None:
        """Add a nav_msgs/Odometry."""
        if self._parameters['base_source'] != ODOMETRY:
            return
        p, twist = message.pose.pose.position, message.twist.twist
        known = message.twist.covariance[0] >= 0.0
        V = swap(vector(twist.linear, twist.angular)) if known else None
        self._add(message, message.child_frame_id, message.pose.pose.orientation, vector(p), V)

    def receive_imu(self, message: Any) -> None:
        """Add a sensor_msgs/Imu; position and linear velocity are zero."""
        if self._parameters['base_source'] != IMU:
            return
        if message.orientation_covariance[0] == UNKNOWN:
            self._reason = 'the IMU has no orientation; use one that estimates it'
            return
        V = None
        if message.angular_velocity_covariance[0] != UNKNOWN:
            V = np.concatenate([vector(message.angular_velocity), np.zeros(3)])
        self._add(message, message.header.frame_id, message.orientation, np.zeros(3), V)

    def _add(self, message: Any, frame: str, orientation: Any, p: Array, V: Array | None) -> None:
        """Add pose and twist of a frame of the robot as those of its root link."""
        model = self._states.model
        if model is None or not model.robot.floating_base:
            self._reason = 'no robot description yet'
            return
        o, stamp = message_vector(orientation), stamp_of(message)
        given = np.concatenate([o, p, np.zeros(6) if V is None else V])
        if not (np.isfinite(given).all() and abs(np.linalg.norm(o) - 1.0) <= NORM_TOLERANCE):
            self._reason = 'a number is not finite, or the orientation is not a unit quaternion'
            return
        if stamp <= 0:
            self._reason = 'a message has no stamp'
            return
        try:
            prefix = self._parameters['frame_prefix']
            link = link_of(model.robot, prefix, frame, self._parameters['base_source'])
            pose, twist = self._of_root(model, link, se3.pose(quaternions.to_matrix(o), p), V)
        except ScrewDynamicsError as error:
            self._reason = str(error)
            return
        if self._parameters['base_source'] == IMU:
            pose[:3, 3] = 0.0
            if twist is not None:
                twist[3:] = 0.0
        self._take(stamp, pose, twist)

    def _of_root(
        self, model: RunningModel, link: str, pose: Array, V: Array | None
    ) -> tuple[Array, Array | None]:
        """Return pose and body twist of the root link from those of a link.

        Joints between the two are in their latest state.
        """
        root = model.robot.description.root
        C = relative_pose(model, self._states.mapper, root, link)
        of_root = pose @ se3.inverse(C)
        if V is None:
            return of_root, None
        return of_root, transform_twist(C, V - self._rates_of_joints(model, link))

    @staticmethod
    def _rates_of_joints(model: RunningModel, link: str) -> Array:
        """Return the body twist of a link relative to the root link."""
        if model.robot.tree.frame(link).body == 0:
            return np.zeros(6)
        twist: Array = model.robot.jacobian(model.q, link, 'body')[:, 6:] @ model.v[6:]
        return twist

    def _take(self, stamp: int, pose: Array, twist: Array | None) -> None:
        newest = self._history.newest
        if newest is not None and newest - stamp > JUMP:
            self._history.clear()
        if self._history.add(stamp, pose, twist):
            self._reason = ''

    def _look(self, model: RunningModel) -> None:
        """Add the pose of the transforms, if it is a new one."""
        assert self._chain is not None
        self._chain.frame = self._parameters['frame_prefix'] + model.robot.description.root
        try:
            pose, stamp = self._chain.pose(self._parameters['base_frame'])
        except MissingStateError as error:
            self._reason = str(error)
            return
        if stamp is None:
            self._reason = 'all transforms are static'
        elif stamp != self._history.newest:
            self._take(stamp, pose, None)

    # --- results --------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Write the motion at the stamp of the current joint state."""
        model, mapper = self._states.model, self._states.mapper
        if model is None or mapper is None or not model.robot.floating_base:
            return
        if self._parameters['base_source'] == TF:
            self._look(model)
        motion = self._motion = self._history.at(mapper.stamp)
        is_lost = motion is None or motion.age > self._parameters['base_timeout']
        self._states.suspend('base', is_lost and self._parameters['on_base_loss'] == STOP)
        if motion is None:
            return
        pose = self._history.last_pose if is_lost else motion.pose
        model.base_q[:] = *pose[:3, 3], *quaternions.from_matrix(pose[:3, :3])
        model.base_v[:] = 0.0 if is_lost else motion.twist

    def report(self, status: Status) -> None:
        """Report the source, and why its motion is unknown."""
        source = self._parameters['base_source']
        status.values['base'] = source
        if source == FIXED:
            return
        motion, longest = self._motion, self._parameters['base_timeout']
        if motion is not None:
            status.values['base: joint state to nearest measurement [s]'] = f'{motion.age:.4f}'
        if motion is not None and motion.age <= longest:
            return
        what = 'unknown' if motion is None else f'{motion.age:.3g} s from the joint states'
        reason = f': {printable(self._reason)}' if self._reason else ''
        consequence = (
            'outputs have stopped (on_base_loss)'
            if self._parameters['on_base_loss'] == STOP
            else 'the base is held at rest'
        )
        status.report(
            Level.ERROR,
            f'the motion of the base by base_source {source} is {what}{reason}; {consequence}',
        )


def vector(*parts: Any) -> Array:
    """Return the components x, y, z of messages."""
    return np.array([getattr(part, axis) for part in parts for axis in 'xyz'])


def message_vector(quaternion: Any) -> Array:
    """Return the components of a geometry_msgs/Quaternion (x, y, z, w)."""
    return np.array([getattr(quaternion, axis) for axis in 'xyzw'])
