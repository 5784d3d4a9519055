# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of planar, ball and floating joints at the stamp of each joint state."""

from __future__ import annotations

from itertools import repeat

from sensor_msgs.msg import MultiDOFJointState

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import shorten

from ..model.running_model import RunningModel
from ..parameters.base_parameters import MULTI_DOF
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
