# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of planar and floating joints at the stamp of each joint state."""

from __future__ import annotations

from itertools import repeat

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import MultiDOFJointState

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import printable, shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Level, Status

from ..model.running_model import RunningModel
from ..parameters.base_parameters import MULTI_DOF, STOP
from .measured_body import MeasuredBody, measurement, stamped
from .state_pipeline import StatePipeline

TOPIC = 'multi_dof_joint_states'


class MultiDofSource:
    """Writes the motion of planar and floating joints into the state of the model.

    Parameters
    ----------
    node : rclpy.node.Node
        Owns the subscription.
    parameters : Parameters
        With the rows of `base_parameters`.
    states : StatePipeline
        Processes nothing while a motion is unknown, with on_base_loss stop.
    """

    def __init__(self, node: Node, parameters: Parameters, states: StatePipeline) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self._model: RunningModel | None = None  # the one of `_bodies`
        self._bodies: dict[str, MeasuredBody] = {}
        self._lost: list[str] = []
        self._reason = ''
        self._is_subscribed = False
        self.update_parameters()

    @property
    def is_used(self) -> bool:
        """Whether planar and floating joints may move."""
        return bool(self._parameters[MULTI_DOF])

    def update_parameters(self) -> None:
        """Apply the parameters: subscribe if required, and forget earlier motion."""
        self._model, self._bodies, self._lost = None, {}, []
        self._reason = 'no measurement so far'
        if self.is_used and not self._is_subscribed:
            self._is_subscribed = True
            receive = FAULTS.guarded(f'a message on {TOPIC}', STATE_LOCK.exclusive(self.receive))
            self._node.create_subscription(
                MultiDOFJointState, TOPIC, receive, qos_profile_sensor_data
            )
        model = self._states.model
        if not self.is_used and model is not None:
            self._states.lose(TOPIC, False)
            for name in model.held:
                q, v = model.robot.joint_coordinates(name)
                model.q[q], model.v[v] = model.robot.neutral()[q], 0.0

    def receive(self, message: MultiDOFJointState) -> None:
        """Add the poses and twists of the joints that the robot has."""
        model = self._states.model
        if not self.is_used or model is None:
            return
        self._follow(model)
        try:
            found = self._read(message)
            stamp = stamped(stamp_of(message))
        except ArgumentError as error:
            self._reason = str(error)
            return
        for name, (pose, twist) in found.items():
            if self._bodies[name].take(stamp, pose, twist):
                self._reason = ''

    def _follow(self, model: RunningModel) -> None:
        """Adopt the joints of a model; those of the last one keep their measurements."""
        if model is self._model:
            return
        self._model, before = model, self._bodies
        self._bodies = {
            name: MeasuredBody(*model.robot.joint_coordinates(name), coordinates)
            for name, coordinates in model.held_coordinates.items()
        }
        for name in before.keys() & self._bodies.keys():
            self._bodies[name].history = before[name].history

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

    def prepare(self) -> None:
        """Write the motions at the stamp of the current joint state."""
        model, mapper = self._states.model, self._states.mapper
        if not self.is_used or model is None or mapper is None:
            return
        self._follow(model)
        longest = self._parameters['base_timeout']
        self._lost = [
            name
            for name, body in self._bodies.items()
            if not body.write(model.q, model.v, mapper.stamp, longest)
        ]
        self._states.lose(TOPIC, bool(self._lost), self._parameters['on_base_loss'] == STOP)

    @property
    def fault(self) -> str:
        """Why the motion of joints is unknown."""
        reason = f': {printable(self._reason)}' if self._reason else ''
        return (
            f'no motion on {TOPIC} within base_timeout of the joint states for '
            f'{shorten(self._lost)}{reason}'
        )

    def report(self, status: Status) -> None:
        """Report joints whose motion is unknown."""
        if not (self.is_used and self._lost):
            return
        consequence = (
            'outputs have stopped (on_base_loss)'
            if self._parameters['on_base_loss'] == STOP
            else 'they rest'
        )
        status.report(Level.ERROR, f'{self.fault}; {consequence}')
