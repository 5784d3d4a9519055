"""Node `wrench_estimator`: what pushes the robot, from its joint efforts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import contact_wrench, external_torques
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.nodes import frames, reports
from screw_dynamics_ros.nodes.frames import Frames
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.main import run
from screw_dynamics_ros.nodes.model import Model
from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.ros import messages
from screw_dynamics_ros.ros.conversions import swap_linear_angular
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.publishers import Publishers
from screw_dynamics_ros.ros.serialized import Template

Array = NDArray[np.float64]

TABLE = (
    frames.specification('the wrench of a contact there'),
    Specification(
        'damping', 0.001,
        'Damping of the least squares [m]: a direction with singular value s is estimated short by '
        's^2 / (s^2 + damping^2).', minimum=0.0),
    Specification(
        'characteristic_length', 0.2,
        'Lever arm at which a moment counts as much as a force [m]; scales the rotational rows of '
        'the Jacobian before its singular values are taken.', minimum=1e-6),
    Specification(
        'singularity_threshold', 0.02,
        'Smallest singular value of the scaled Jacobian [m] at which a wrench is published.',
        minimum=0.0),
    Specification(
        'tare_samples', 100,
        'Number of latest joint states whose mean external torque ~/tare takes as zero.', minimum=1,
        maximum=100_000),
)


@dataclass(frozen=True)
class WrenchPlan:
    """The chosen frames and what has to be computed for them."""

    frames: Frames

    @property
    def outputs(self) -> list[Output]:
        """As for `Robot.fuse`."""
        return ['gravity_torques', 'coriolis_torques',
                *(('jacobian', link, 'body') for link in self.frames.tokens)]


class History:
    """The latest states, for taring: positions, velocities and efforts, (n,) each."""

    def __init__(self, length: int, size: int) -> None:
        self._states = np.zeros((length, 3, size))
        self._count = 0

    def add(self, mapper: JointStateMapper) -> None:
        """Keep the present state, if it has velocities and efforts."""
        if mapper.has_velocity and mapper.has_effort:
            state = self._states[self._count % len(self._states)]
            state[0], state[1], state[2] = mapper.q, mapper.v, mapper.tau
            self._count += 1

    @property
    def states(self) -> Array:
        """The states that are there, (number, 3, n)."""
        return self._states[:self._count]

    def clear(self) -> None:
        """Forget all states."""
        self._count = 0


class WrenchEstimator:
    """`~/external_torque`, `~/wrench/<frame>`, `~/tare` and `~/reset`.

    Torques and wrenches are those of the environment on the robot. A wrench is at the origin of its
    frame and resolved in it, and assumes that all external torque comes from a contact there.
    """

    _model: Model  # as long as there is a plan

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._plan: WrenchPlan | None = None
        self._history = History(1, 0)
        self._singular_values: dict[str, float] = {}
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        node.create_service(Trigger, '~/tare', self._on_tare)
        node.create_service(Trigger, '~/reset', self._on_reset)
        host.observe(self._observe)

    def plan(self, robot: Robot) -> WrenchPlan:
        """Choose the frames."""
        return WrenchPlan(Frames.choose(self._parameters['frames'], robot))

    def bind(self, model: Model, plan: WrenchPlan) -> list[Channel]:
        """Take over a new model; another robot starts without tare."""
        if self._plan is None or model.mapper is not self._model.mapper:
            self._offset = np.zeros(len(model.joints))
            self._is_tared = False
        self._model, self._plan = model, plan
        self._clear_history()
        self._singular_values = {}
        self._channels = []
        if model.results:
            prefix, get = self._host.parameters['frame_prefix'], self._publishers.get
            self._channels = [Channel(
                get(JointState, '~/external_torque'),
                partial(self._encode_torques, messages.joint_efforts(model.joints)),
                velocity=True, effort=True)]
            self._channels += [Channel(
                get(WrenchStamped, f'~/wrench/{token}'),
                partial(self._encode_wrench, link, model.results['jacobian', link, 'body'],
                        messages.wrench(prefix + link)),
                velocity=True, effort=True) for link, token in plan.frames.tokens.items()]
        self._publishers.retire()
        return self._channels

    def prepare(self) -> None:
        """Compute the external torques."""
        model = self._model
        self._torques = self._external_torques(model.results, model.mapper.tau) - self._offset

    def status(self) -> Status:
        """Report the outputs, the tare, and frames too near to a singularity."""
        status = Status('outputs')
        if self._plan is None:
            return status
        self._plan.frames.report(status)
        threshold = self._parameters['singularity_threshold']
        for link, value in self._singular_values.items():
            status.values[f'{link} smallest singular value [m]'] = f'{value:.6f}'
            if value < threshold:
                status.report(Level.WARN, self._explain(link, value, threshold))
        self._singular_values = {}  # those of the time until the next report
        status.values['tared'] = 'yes' if self._is_tared else 'no'
        reports.report_channels(status, self._channels, self._host)
        return status

    def _explain(self, link: str, value: float, threshold: float) -> str:
        seen = int(np.count_nonzero(np.any(self._model.results['jacobian', link, 'body'], axis=0)))
        if seen < 6:
            return (f'no wrench at {link}: it is moved by {seen} joints, and the six components of '
                    'a wrench need six')
        return (f'no wrench at {link}: near a singularity, smallest singular value {value:.4f} m '
                f'is below singularity_threshold {threshold:.4f} m')

    # --- estimates ------------------------------------------------------------------------------

    def _external_torques(self, results: dict[Output, Array], measured: Array) -> Array:
        """Return the external torques, (n,), from measured ones and results for one state."""
        of_joints = self._model.of_joints
        return external_torques(of_joints(results['gravity_torques']),
                                of_joints(results['coriolis_torques']), measured)

    def _encode_torques(self, template: Template, stamp: tuple[int, int]) -> bytes:
        return template.fill(self._torques, stamp)

    def _encode_wrench(self, link: str, jacobian: Array, template: Template,
                       stamp: tuple[int, int]) -> bytes | None:
        parameters = self._parameters
        estimate = contact_wrench(
            self._model.of_joints(jacobian), self._torques, damping=parameters['damping'],
            characteristic_length=parameters['characteristic_length'])
        self._singular_values[link] = estimate.smallest_singular_value
        if estimate.smallest_singular_value < parameters['singularity_threshold']:
            return None
        return template.fill(swap_linear_angular(estimate.wrench), stamp)

    # --- tare -----------------------------------------------------------------------------------

    def _observe(self, mapper: JointStateMapper) -> None:
        if mapper.restarted:
            self._history.clear()
        self._history.add(mapper)

    def _clear_history(self) -> None:
        size = len(self._model.joints) if self._plan is not None else 0
        self._history = History(self._parameters['tare_samples'], size)

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        states = self._history.states
        if self._plan is None or not len(states):
            response.success, response.message = False, (
                'no joint states with velocity and effort so far; see /diagnostics')
            return response
        self._offset = self._mean_torques(states)
        self._is_tared = True
        names = zip(self._model.joints, self._offset)
        response.success, response.message = True, (
            f'offset of {len(states)} states: '
            + ', '.join(f'{name} {torque:.4g}' for name, torque in names))
        return response

    def _mean_torques(self, states: Array) -> Array:
        """Return the mean of the external torques in the states, (number, 3, n)."""
        return np.mean([self._external_torques(self._model.results_at(q, v), tau)
                        for q, v, tau in states], axis=0)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._offset = np.zeros_like(self._offset) if self._plan is not None else np.zeros(0)
        self._is_tared = False
        self._history.clear()
        response.success, response.message = True, 'no offset'
        return response

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, values: dict[str, Any]) -> None:
        frames.check(values, self._host.model.robot if self._host.model else None)

    def _apply(self, values: dict[str, Any]) -> None:
        if 'frames' in values:
            self._host.reload()
        if 'tare_samples' in values:
            self._clear_history()


def main() -> None:
    """Run the node."""
    run('wrench_estimator', [WrenchEstimator])


if __name__ == '__main__':
    main()
