# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The floating base, and planar, ball and floating joints, at the stamp of each joint state."""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, Vector3
from sensor_msgs.msg import MultiDOFJointState

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
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from ..model.running_model import RunningModel
from ..parameters.base_parameters import IMU, MULTI_DOF, ODOMETRY
from ..services.payload_services import link_of, relative_pose
from .imu_messages import UNKNOWN, down_to_compare
from .measured_body import MeasuredBody, MotionSource, measurement, stamped

TOPIC = 'multi_dof_joint_states'


class MultiDofSource(MotionSource):
    """Writes the motion of planar, ball and floating joints into the state of the model."""

    SOURCE, _without = MULTI_DOF, 'they rest'

    def _bodies_of(self, model: RunningModel) -> dict[str, MeasuredBody]:
        places = {name: model.robot.joint_coordinates(name) for name in model.held}
        return {
            name: MeasuredBody(model.q[places[name][0]], model.v[places[name][1]], coordinates)
            for name, coordinates in model.held_coordinates.items()
        }

    def _subscribe(self) -> None:
        self._listen(MultiDOFJointState, TOPIC, self.receive)

    def update_parameters(self) -> None:
        """Apply the parameters; joints that no longer move return to zero."""
        super().update_parameters()
        model = self._states.model
        if not self.source and model is not None:
            for name in model.held:
                q, v = model.robot.joint_coordinates(name)
                model.q[q], model.v[v] = model.robot.neutral()[q], 0.0

    def receive(self, message: MultiDOFJointState) -> None:
        """Add the poses and twists of the joints that the robot has."""
        if not self.source:
            return
        try:
            found = self._read(message)
            stamp = stamped(stamp_of(message))
        except ArgumentError as error:
            self._reason = str(error)
            return
        for name, (pose, twist) in found.items():
            if self._bodies[name].take(stamp, pose, twist):
                self._reason = ''

    def _read(self, message: MultiDOFJointState) -> dict[str, tuple[Array, Array | None]]:
        """Return pose and body twist of each joint of the robot; raises `ArgumentError`."""
        names, found = message.joint_names, {}
        for field in ('transforms', 'twist'):
            count = len(getattr(message, field))
            if count != len(names) and (count or field == 'transforms'):
                raise ArgumentError(f'{len(names)} joint_names, but {count} of {field}')
        if len(set(names)) < len(names):
            raise ArgumentError('a name is in joint_names twice')
        for name, transform, twist in zip(names, message.transforms, message.twist or repeat(None)):
            if name not in self._bodies:
                continue
            try:
                pose, V = measurement(transform.translation, transform.rotation, twist)
                self._bodies[name].coordinates.check(pose)
            except ArgumentError as error:
                raise ArgumentError(f'{name}: {error}') from None
            found[name] = pose, V
        return found

    def _what(self) -> str:
        timeout = self.record.timeout
        lost = [name for name, body in self._bodies.items() if body.history.age > timeout]
        return f'no motion on {TOPIC} within base_timeout of the joint states for {shorten(lost)}'


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
