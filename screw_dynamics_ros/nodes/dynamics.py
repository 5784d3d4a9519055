"""Node `dynamics`: joint torques and mass matrix of a robot."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core import FusedKernel, Robot, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.dynamics.feedforward import weighted_terms
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.core.fused import Formula
from screw_dynamics_ros.nodes import reports
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.main import run
from screw_dynamics_ros.nodes.model import (
    Model,
    elements,
    of_joints,
    scalar_joints,
    velocity_labels,
)
from screw_dynamics_ros.nodes.part import Channel, Plan
from screw_dynamics_ros.ros import messages, qos
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.publishers import Publishers
from screw_dynamics_ros.ros.reference import Reference, read_reference
from screw_dynamics_ros.ros.serialized import Template

TERMS = ('gravity', 'coriolis', 'inertia')

TABLE = (
    Specification(
        'joints', [''],
        'Order of the elements of ~/commands, as in the parameter joints of the controller they '
        'are for. Empty: all movable joints in the order of the description.'),
    Specification(
        'compensated_terms', [''],
        'Torques the robot adds to its commands by itself; they are subtracted from ~/feedforward '
        'and ~/commands.', choices=TERMS),
    Specification(
        'reference_timeout', 0.5,
        'Time after which a reference is no longer followed [s]; feedforward then follows the '
        'measured state. 0: never.', minimum=0.0),
)


GRAVITY, CORIOLIS, MASS_MATRIX = 'gravity_torques', 'coriolis_torques', 'mass_matrix'


@dataclass(frozen=True)
class Torques:
    """The outputs for the joints of one robot, and what follows references.

    Attributes
    ----------
    gravity, coriolis, feedforward, commands : output or Formula
    inverse_dynamics : FusedKernel or None
    order : tuple of str
        Joints of the commands; empty if some of the wanted ones are absent.
    absent : tuple of str
    """

    gravity: Output | Formula
    coriolis: Output | Formula
    feedforward: Formula
    commands: Formula
    inverse_dynamics: FusedKernel | None
    order: tuple[str, ...]
    absent: tuple[str, ...]


class Dynamics:
    """`~/gravity`, `~/coriolis`, `~/feedforward`, `~/commands` and `~/mass_matrix`.

    Feedforward is what moves the robot along the reference: inverse dynamics of its first point.
    Without one it is what lets the measured motion go on unaccelerated: gravity and Coriolis.
    """

    _model: Model  # as long as there are torques

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._torques: Torques | None = None
        self._shares = np.ones(2)  # of gravity and Coriolis torques that the robot does not add
        self._reference: Reference | None = None
        self._reference_arrival = -np.inf
        self._refused = ''
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._apply({})
        node.create_subscription(JointTrajectory, '~/reference', self._on_reference, qos.COMMAND)

    def plan(self, robot: Robot) -> Plan:
        """Choose the order of the commands, and compile the inverse dynamics for references."""
        wanted, joints = tuple(self._parameters['joints']), scalar_joints(robot)
        absent = tuple(name for name in wanted if name not in joints)
        order = () if absent else wanted or joints
        gravity, coriolis = of_joints(robot, GRAVITY), of_joints(robot, CORIOLIS)
        feedforward = Formula('weighted terms', (gravity, coriolis, 'shares'), weighted_terms)
        commands = Formula('commands', (elements(feedforward, [
            joints.index(name) for name in order]),), np.array)
        torques = Torques(
            gravity, coriolis, feedforward, commands,
            robot.fuse('inverse_dynamics') if robot.nv else None, order, absent)
        return Plan([gravity, coriolis, feedforward, MASS_MATRIX, *[commands][:len(order)]],
                    parameters={'shares': self._shares}, details=torques)

    def bind(self, model: Model, plan: Plan) -> list[Channel]:
        """Take over a new model."""
        self._model, torques = model, plan.details
        self._torques = torques
        self._reference, self._refused = None, ''
        self._channels = []
        if model.results:
            for topic, output, velocity in (('~/gravity', torques.gravity, False),
                                            ('~/coriolis', torques.coriolis, True),
                                            ('~/feedforward', torques.feedforward, True)):
                self._add(JointState, topic, messages.joint_efforts(model.joints), output, velocity)
            labels = velocity_labels(model.robot)
            self._add(Float64MultiArray, '~/mass_matrix', messages.matrix(labels, labels),
                      MASS_MATRIX, False)
            if torques.order:
                self._add(Float64MultiArray, '~/commands', messages.matrix(torques.order),
                          torques.commands, True)
        self._publishers.retire()
        return self._channels

    def _add(self, kind: type, topic: str, template: Template, output: Output | Formula,
             velocity: bool) -> None:
        """Add a topic whose numbers are one output."""
        self._channels.append(Channel(
            self._publishers.get(kind, topic), template, {output: template.array(0)},
            velocity=velocity))

    def prepare(self) -> None:
        """Replace the feedforward by that of the reference, if there is one."""
        if self._reference is not None and self._is_followed:
            self._follow(self._reference)

    def status(self) -> Status:
        """Report the outputs, the reference and what is compensated elsewhere."""
        status = Status('outputs')
        if self._torques is None:
            return status
        if self._torques.absent:
            status.report(Level.ERROR, 'no ~/commands: the robot has no joint '
                          f'{shorten(self._torques.absent)}; correct the parameter joints')
        if self._refused:
            status.report(Level.WARN, f'reference refused: {self._refused}')
        if self._reference is not None and not self._is_followed:
            status.report(Level.WARN, 'the reference is older than reference_timeout: feedforward '
                          'follows the measured state')
        status.values['feedforward follows'] = (
            'reference' if self._is_followed else 'measured state')
        status.values['compensated by the robot'] = (
            ', '.join(self._parameters['compensated_terms']) or 'nothing')
        status.values['order of ~/commands'] = ', '.join(self._torques.order)
        reports.report_channels(status, self._channels, self._host)
        return status

    # --- reference ------------------------------------------------------------------------------

    @property
    def _is_followed(self) -> bool:
        """Whether there is a reference that counts."""
        timeout = self._parameters['reference_timeout'] or np.inf
        return (self._reference is not None
                and time.monotonic() - self._reference_arrival <= timeout)

    def _follow(self, reference: Reference) -> None:
        """Compute feedforward and commands: what the motion needs and the robot does not add.

        Joints the reference does not name go on as they do. The robot compensates gravity and
        Coriolis torques where it is, not where it should be.
        """
        model, torques = self._model, self._torques
        assert torques is not None
        assert torques.inverse_dynamics is not None
        mapper, given, results = model.mapper, reference.given, model.results
        vectors = {
            'q': model.whole_q(np.where(given, reference.q, mapper.q)),
            'v': model.whole_v(np.where(given, reference.v, mapper.v)),
            'a': model.whole_v(reference.a * self._accelerates), 'gravity': self._host.gravity}
        kernel = torques.inverse_dynamics
        (needed,) = kernel(*(vectors[name] for name in kernel.inputs))
        added = weighted_terms(
            results[torques.gravity], results[torques.coriolis], 1.0 - self._shares)
        results[torques.feedforward][:] = model.of_joints(needed) - added
        if torques.order:
            results[torques.commands][:] = results[torques.feedforward][
                [model.joints.index(name) for name in torques.order]]

    # --- callbacks ------------------------------------------------------------------------------

    def _on_reference(self, message: JointTrajectory) -> None:
        if self._torques is None:
            return
        known = [joint.name for joint in self._model.robot.description.joints]
        try:
            self._reference = read_reference(message, self._model.joints, known)
            self._reference_arrival, self._refused = time.monotonic(), ''
        except ScrewDynamicsError as error:
            self._refused = str(error)

    def _check(self, values: dict[str, Any]) -> None:
        if self._host.model is None:
            return
        for name in values.get('joints', ()):
            if name not in self._host.model.joints:
                raise UnknownNameError(f'joints: the robot has no joint {name!r}; it has '
                                       f'{shorten(self._host.model.joints, 30)}')

    def _apply(self, values: dict[str, Any]) -> None:
        compensated = self._parameters['compensated_terms']
        self._shares[:] = [term not in compensated for term in ('gravity', 'coriolis')]
        self._accelerates = 'inertia' not in compensated
        if 'joints' in values:
            self._host.reload()


def main() -> None:
    """Run the node."""
    run('dynamics', [Dynamics])


if __name__ == '__main__':
    main()
