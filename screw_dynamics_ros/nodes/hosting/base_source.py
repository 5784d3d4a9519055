# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pose and twist of a floating base at the stamp of each joint state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, Vector3

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.estimation.gravity_direction import (
    OrientationCheck,
    down_by_orientation,
)
from screw_dynamics_ros.core.kinematics.joint_poses import FreeCoordinates
from screw_dynamics_ros.core.kinematics.twist_check import TwistCheck
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie.screws import transform_twist
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from ..model.running_model import RunningModel
from ..parameters.base_parameters import IMU, ODOMETRY
from ..services.payload_services import link_of, relative_pose
from .imu_messages import UNKNOWN, down_to_compare
from .measured_body import MeasuredBody, MotionSource, measurement, stamped


class BaseSource(MotionSource):
    """Writes the motion of the root link into the state of the model."""

    SOURCE, _without = 'base_source', 'the base is held at rest'

    def _bodies_of(self, model: RunningModel) -> dict[str, MeasuredBody]:
        if not model.robot.floating_base:
            return {}
        return {'base': MeasuredBody(model.q[:7], model.v[:6], FreeCoordinates())}

    def _forget(self) -> None:
        super()._forget()
        self._check, self._twists = OrientationCheck(), TwistCheck()

    def _subscribe(self) -> None:
        if self.source == ODOMETRY:
            from nav_msgs.msg import Odometry

            self._listen(Odometry, 'odom', self.receive_odometry)
        else:
            from sensor_msgs.msg import Imu

            self._listen(Imu, 'imu', self.receive_imu)

    # --- measurements ---------------------------------------------------------------------------

    def receive_odometry(self, message: Any) -> None:
        """Add a nav_msgs/Odometry."""
        if self.source != ODOMETRY:
            return
        is_known = message.twist.covariance[0] >= 0.0
        pose, twist = message.pose.pose, message.twist.twist if is_known else None
        self._add(message, message.child_frame_id, pose.position, pose.orientation, twist)

    def receive_imu(self, message: Any) -> None:
        """Add a sensor_msgs/Imu; position and linear velocity are zero."""
        if self.source != IMU:
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
        if model is None or not self._bodies:
            self._reason = 'no robot description yet'
            return
        try:
            pose, V = measurement(position, orientation, twist)
            stamp = stamped(stamp_of(message))
            prefix = self._parameters['frame_prefix']
            link = link_of(model.robot, prefix, frame, self.source)
            if V is not None and self.source == ODOMETRY:
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
        if self.source == IMU:
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
        if self._bodies['base'].take(stamp, pose, twist):
            self._reason = ''

    def _take_transform(self, chain: FrameChain, world: str) -> None:
        pose, stamp = chain.pose(world)
        if stamp is None:
            self._reason = 'all transforms are static'
        elif self._bodies:
            history = self._bodies['base'].history
            if stamp == history.newest:  # another link of the chain has moved since
                history.written -= 1
            self._take(stamp, pose, None)

    # --- results --------------------------------------------------------------------------------

    @property
    def _age(self) -> float:
        """Time from the last joint state to the nearest measurement [s]."""
        return self._bodies['base'].history.age if self._bodies else math.inf

    def _what(self) -> str:
        what = f'{self._age:.3g} s from the joint states' if self._age < math.inf else 'unknown'
        return f'the motion of the base by base_source {self.source} is {what}'

    def report(self, status: Status) -> None:
        """Report the source, and why its motion is unknown."""
        status.values['base'] = self.source
        if self.record.is_used and self._age < math.inf:
            status.values['base: joint state to nearest measurement [s]'] = f'{self._age:.4f}'
        super().report(status)
