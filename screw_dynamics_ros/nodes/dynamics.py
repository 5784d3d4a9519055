"""Node `dynamics`: joint torques and mass matrix of a robot."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core import FusedKernel, Robot, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.nodes import reports
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.main import run
from screw_dynamics_ros.nodes.model import Model, scalar_joints
from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.ros import messages, qos
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states import shorten
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.publishers import Publishers
from screw_dynamics_ros.ros.reference import Reference, read_reference
from screw_dynamics_ros.ros.serialized import Template

Array = NDArray[np.float64]

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


@dataclass(frozen=True)
class DynamicsPlan:
    """The kernel for references, and the order of the commands, empty if some joint is absent."""

    inverse_dynamics: FusedKernel | None
    commands: tuple[str, ...]
    absent: tuple[str, ...]
    outputs: tuple[Output, ...] = ('gravity_torques', 'coriolis_torques', 'mass_matrix')


class Dynamics:
    """`~/gravity`, `~/coriolis`, `~/feedforward`, `~/commands` and `~/mass_matrix`.

    Feedforward is what moves the robot along the reference: inverse dynamics of its first point.
    Without one it is what lets the measured motion go on unaccelerated: gravity and Coriolis.
    """

    _model: Model  # as long as there is a plan

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._plan: DynamicsPlan | None = None
        self._reference: Reference | None = None
        self._reference_arrival = -np.inf
        self._refused = ''
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._compensated = tuple(self._parameters['compensated_terms'])
        node.create_subscription(JointTrajectory, '~/reference', self._on_reference, qos.COMMAND)

    def plan(self, robot: Robot) -> DynamicsPlan:
        """Compile the inverse dynamics for references."""
        wanted = self._parameters['joints']
        scalar = scalar_joints(robot)
        absent = tuple(name for name in wanted if name not in scalar)
        kernel = robot.fuse('inverse_dynamics') if robot.nv else None
        return DynamicsPlan(kernel, () if absent else tuple(wanted) or scalar, absent)

    def bind(self, model: Model, plan: DynamicsPlan) -> list[Channel]:
        """Take over a new model."""
        self._model, self._plan = model, plan
        self._reference, self._refused = None, ''
        order = np.array([model.joints.index(name) for name in plan.commands], dtype=int)
        self._channels = []
        if model.results:
            get, efforts = self._publishers.get, partial(messages.joint_efforts, model.joints)
            self._channels = [
                Channel(get(JointState, '~/gravity'), partial(
                    self._encode_torques, model.results['gravity_torques'], efforts())),
                Channel(get(JointState, '~/coriolis'), partial(
                    self._encode_torques, model.results['coriolis_torques'], efforts()),
                    velocity=True),
                Channel(get(JointState, '~/feedforward'), partial(
                    self._encode_feedforward, None, efforts()), velocity=True),
                Channel(get(Float64MultiArray, '~/mass_matrix'), partial(
                    encode, model.results['mass_matrix'],
                    messages.matrix(model.velocity_labels, model.velocity_labels)))]
            if plan.commands:
                self._channels.append(Channel(get(Float64MultiArray, '~/commands'), partial(
                    self._encode_feedforward, order, messages.matrix(plan.commands)),
                    velocity=True))
        self._publishers.retire()
        return self._channels

    def prepare(self) -> None:
        """Let the feedforward be computed anew, if anybody asks for it."""
        self._is_current = False

    def status(self) -> Status:
        """Report the outputs, the reference and what is compensated elsewhere."""
        status = Status('outputs')
        if self._plan is None:
            return status
        if self._plan.absent:
            status.report(Level.ERROR, 'no ~/commands: the robot has no joint '
                          f'{shorten(self._plan.absent)}; correct the parameter joints')
        if self._refused:
            status.report(Level.WARN, f'reference refused: {self._refused}')
        if self._reference is not None and not self._follows:
            status.report(Level.WARN, 'the reference is older than reference_timeout: feedforward '
                          'follows the measured state')
        status.values['feedforward follows'] = 'reference' if self._follows else 'measured state'
        status.values['compensated by the robot'] = ', '.join(self._compensated) or 'nothing'
        status.values['order of ~/commands'] = ', '.join(self._plan.commands)
        reports.report_channels(status, self._channels, self._host)
        return status

    # --- feedforward ----------------------------------------------------------------------------

    @property
    def _follows(self) -> bool:
        """Whether there is a reference that counts."""
        timeout = self._parameters['reference_timeout'] or np.inf
        return (self._reference is not None
                and time.monotonic() - self._reference_arrival <= timeout)

    def _compute_feedforward(self) -> Array:
        """Return the torques still missing of the wanted motion, one for each of `model.joints`."""
        results, compensated = self._model.results, self._compensated
        gravity, coriolis = results['gravity_torques'], results['coriolis_torques']
        if self._reference is not None and self._follows:
            torques = self._inverse_dynamics(self._reference, 'inertia' not in compensated)
        else:
            torques = gravity + coriolis
        # The robot compensates where it is, not where it should be.
        if 'gravity' in compensated:
            torques = torques - gravity
        if 'coriolis' in compensated:
            torques = torques - coriolis
        return self._model.of_joints(torques)

    def _inverse_dynamics(self, reference: Reference, accelerated: bool) -> Array:
        """Return the torques of a reference; joints it does not name go on as they do."""
        model, plan = self._model, self._plan
        assert plan is not None
        assert plan.inverse_dynamics is not None
        mapper, given = model.mapper, reference.given
        vectors = {
            'q': model.whole_q(np.where(given, reference.q, mapper.q)),
            'v': model.whole_v(np.where(given, reference.v, mapper.v)),
            'a': model.whole_v(reference.a * accelerated), 'gravity': self._host.gravity}
        kernel = plan.inverse_dynamics
        return kernel(*(vectors[name] for name in kernel.inputs))[0]

    def _encode_feedforward(
        self, order: NDArray[np.intp] | None, template: Template, stamp: tuple[int, int],
    ) -> bytes:
        if not self._is_current:
            self._feedforward, self._is_current = self._compute_feedforward(), True
        torques = self._feedforward
        return template.fill(torques if order is None else torques[order], stamp)

    def _encode_torques(self, values: Array, template: Template, stamp: tuple[int, int]) -> bytes:
        return template.fill(self._model.of_joints(values), stamp)

    # --- callbacks ------------------------------------------------------------------------------

    def _on_reference(self, message: JointTrajectory) -> None:
        if self._plan is None:
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
        if 'joints' in values:
            self._host.reload()
        self._compensated = tuple(self._parameters['compensated_terms'])


def encode(values: Array, template: Template, stamp: tuple[int, int]) -> bytes:
    """Return the message of a matrix."""
    return template.fill(values, stamp)


def main() -> None:
    """Run the node."""
    run('dynamics', [Dynamics])


if __name__ == '__main__':
    main()
