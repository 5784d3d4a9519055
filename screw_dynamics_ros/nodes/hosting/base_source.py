# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pose and twist of a floating base at the stamp of each joint state."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, Vector3
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import ArgumentError, MissingStateError, ScrewDynamicsError
from screw_dynamics_ros.core.kinematics.joint_poses import FreeCoordinates
from screw_dynamics_ros.core.kinematics.twist_check import TwistCheck
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie.screws import transform_twist
from screw_dynamics_ros.core.measurement.estimation.gravity_direction import (
    OrientationCheck,
    down_by_orientation,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from ..model.running_model import RunningModel
from ..parameters.base_parameters import FIXED, IMU, ODOMETRY, STOP, TF
from ..services.payload_services import link_of, relative_pose
from .imu_messages import UNKNOWN, down_to_compare
from .measured_body import MeasuredBody, measurement, stamped
from .state_pipeline import StatePipeline


class BaseSource:
    """Writes the motion of the root link into the state of the model.

    Parameters
    ----------
    node : rclpy.node.Node
        Owns the subscriptions.
    parameters : Parameters
        With the rows of `base_parameters`.
    states : StatePipeline
        Processes nothing while the motion is unknown, with on_base_loss stop.
    """

    def __init__(self, node: Node, parameters: Parameters, states: StatePipeline) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self._body = MeasuredBody(slice(0, 7), slice(0, 6), FreeCoordinates())
        self._reason, self._check, self._twists = '', OrientationCheck(), TwistCheck()
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
        self._body.history.clear()
        self._check, self._twists = OrientationCheck(), TwistCheck()
        self._body.motion, self._reason = None, 'no measurement so far'
        if source == TF and self._chain is None:
            self._chain = FrameChain(self._node, TFMessage, '')
        if source == ODOMETRY:
            from nav_msgs.msg import Odometry

            self._subscribe(Odometry, 'odom', self.receive_odometry)
        if source == IMU:
            from sensor_msgs.msg import Imu

            self._subscribe(Imu, 'imu', self.receive_imu)
        if source == FIXED:
            self._states.lose('base', False)

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
        is_known = message.twist.covariance[0] >= 0.0
        pose, twist = message.pose.pose, message.twist.twist if is_known else None
        self._add(message, message.child_frame_id, pose.position, pose.orientation, twist)

    def receive_imu(self, message: Any) -> None:
        """Add a sensor_msgs/Imu; position and linear velocity are zero."""
        if self._parameters['base_source'] != IMU:
            return
        if message.orientation_covariance[0] == UNKNOWN:
            self._reason = 'the IMU has no orientation; use one that estimates it'
            return
        o = message.orientation
        down = down_by_orientation(np.array([o.x, o.y, o.z, o.w]))
        magnitude = float(np.linalg.norm(self._parameters['gravity']))
        if down is not None and not self._check.admits(down, down_to_compare(message, magnitude)):
            self._reason = self._check.fault
            return
        is_known = message.angular_velocity_covariance[0] != UNKNOWN
        twist = Twist(angular=message.angular_velocity) if is_known else None
        self._add(message, message.header.frame_id, Vector3(), o, twist)

    def _add(
        self, message: Any, frame: str, position: Any, orientation: Any, twist: Twist | None
    ) -> None:
        """Add pose and twist of a frame of the robot as those of its root link."""
        model = self._states.model
        if model is None or not model.robot.floating_base:
            self._reason = 'no robot description yet'
            return
        try:
            pose, V = measurement(position, orientation, twist)
            stamp = stamped(stamp_of(message))
            prefix = self._parameters['frame_prefix']
            link = link_of(model.robot, prefix, frame, self._parameters['base_source'])
            if V is not None and self._parameters['base_source'] == ODOMETRY:
                self._twists.add(stamp, pose, V)
                if self._twists.fault:
                    raise ArgumentError(
                        f'{self._twists.fault}; give it in the axes of child_frame_id, or set its '
                        'covariance[0] to -1 (twist of the poses)'
                    )
            pose, V = self._of_root(model, link, pose, V)
        except ScrewDynamicsError as error:
            self._reason = str(error)
            return
        if self._parameters['base_source'] == IMU:
            pose[:3, 3] = 0.0
            if V is not None:
                V[3:] = 0.0
        self._take(stamp, pose, V)

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
        if self._body.take(stamp, pose, twist):
            self._reason = ''

    def keep_house(self) -> None:
        """Follow the transforms of the root link, also without joint states."""
        model = self._states.model
        if self._chain is not None and model is not None:
            self._chain.frame = self._parameters['frame_prefix'] + model.robot.description.root

    def _look(self) -> None:
        """Add the pose of the transforms, if it is a new one."""
        assert self._chain is not None
        self.keep_house()
        try:
            pose, stamp = self._chain.pose(self._parameters['base_frame'])
        except MissingStateError as error:
            self._reason = str(error)
            return
        if stamp is None:
            self._reason = 'all transforms are static'
        elif stamp != self._body.history.newest:
            self._take(stamp, pose, None)

    # --- results --------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Write the motion at the stamp of the current joint state."""
        model, mapper = self._states.model, self._states.mapper
        if model is None or mapper is None or not model.robot.floating_base:
            return
        if self._parameters['base_source'] == TF:
            self._look()
        longest = self._parameters['base_timeout']
        is_lost = not self._body.write(model.q, model.v, mapper.stamp, longest)
        self._states.lose('base', is_lost, self._parameters['on_base_loss'] == STOP)

    @property
    def fault(self) -> str:
        """Why the motion of the base is unknown."""
        motion = self._body.motion
        what = 'unknown' if motion is None else f'{motion.age:.3g} s from the joint states'
        reason = f': {printable(self._reason)}' if self._reason else ''
        source = self._parameters['base_source']
        return f'the motion of the base by base_source {source} is {what}{reason}'

    def report(self, status: Status) -> None:
        """Report the source, and why its motion is unknown."""
        source = self._parameters['base_source']
        status.values['base'] = source
        if source == FIXED:
            return
        motion, longest = self._body.motion, self._parameters['base_timeout']
        if motion is not None:
            status.values['base: joint state to nearest measurement [s]'] = f'{motion.age:.4f}'
        if motion is not None and motion.age <= longest:
            return
        consequence = (
            'outputs have stopped (on_base_loss)'
            if self._parameters['on_base_loss'] == STOP
            else 'the base is held at rest'
        )
        status.report(Level.ERROR, f'{self.fault}; {consequence}')
