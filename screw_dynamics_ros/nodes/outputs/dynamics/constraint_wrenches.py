# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constraint wrenches of the environment on links: `~/constraint_wrench/<link>`.

With the constraints A^T dV/dt = 0 and the torques tau of the drives (Bruyninckx 2010, 6.7.1,
C-072),

    M a + C v + g = tau + sum J^T W,    W = A lambda the wrench of the environment on the link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.constraints.constrained_dynamics import ConstrainedMotion
from screw_dynamics_ros.core.constraints.motion_constraint import MotionConstraint, fixed_frame
from screw_dynamics_ros.core.robot.actuated_robot import Source
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.parameters.constraint_parameters import BlockedMotions
from screw_dynamics_ros.ros.data_path.loop import take_snapshot
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shorten, topic_tokens
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers
from screw_dynamics_ros.ros.topics.snapshot import StateSnapshot

Flags = NDArray[np.bool_]

MEASURED, FEEDFORWARD = 'measured', 'feedforward'

TABLE = (
    Specification(
        'constraint_torques',
        MEASURED,
        'Joint torques from which the constraint wrenches are computed. measured: the efforts '
        'of the joint states; feedforward: ~/feedforward plus the terms that the robot adds '
        'internally.',
        choices=(MEASURED, FEEDFORWARD),
    ),
    Specification(
        'constraint_rate',
        100.0,
        'Rate of ~/constraint_wrench/<link> [Hz], at most the rate of the joint states.',
        minimum=1.0,
        maximum=1000.0,
    ),
    Specification(
        'constraint_tolerance',
        0.01,
        'Largest admissible acceleration along a blocked motion [rad/s^2, m/s^2]. Redundant '
        'constraints are slightly inconsistent because of velocity noise.',
        minimum=0.0,
    ),
)


class Measured(NamedTuple):
    """A state of a robot with its measured torques, its payload, and results of the model."""

    q: Array
    v: Array
    tau: Array
    payload: Array
    results: Mapping[Source, Array]


class ConstraintWrenches:
    """The wrenches of the constraints of one robot.

    Parameters
    ----------
    constraints : mapping
        The constraints, by the entries of the parameter `constraints`.
    faults : list of str
        Faults of the other entries.
    robot : Robot
        The required functions are compiled for this robot.
    """

    def __init__(
        self,
        constraints: Mapping[BlockedMotions, MotionConstraint],
        faults: list[str],
        robot: Robot,
    ) -> None:
        self._blocked = list(constraints)
        self._faults = faults
        # Constraints that hold planar, ball and floating joints, which joint states cannot contain.
        held = [
            fixed_frame(joint.child, other=joint.parent)
            for joint in robot.description.joints
            if joint.kind.nv > 1
        ]
        self._constraints = [*constraints.values(), *held]
        self._wanted = sum(constraint.size for constraint in constraints.values())
        self._motion: ConstrainedMotion | None = None
        self._fault = ''
        self._channels: list[Channel] = []
        if constraints:
            self._compile(robot)

    def _compile(self, robot: Robot) -> None:
        """Compile the required functions; on failure there are no constraint wrenches."""
        import scipy.linalg.lapack  # noqa: F401 - slow: no state is to wait for its first use

        start, rest = robot.neutral(), np.zeros(robot.nv)
        try:
            robot.constraint_terms(start, rest, rest, self._constraints)
            robot.payload_torques(start, rest, rest, {})
        except ScrewDynamicsError as error:
            self._faults = [*self._faults, f'no constraint wrenches: {error}']
            self._blocked = []

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        torques: Callable[[Measured], Array],
        outputs: Sequence[Source],
        publishers: Publishers,
        prefix: str,
        parameters: Parameters,
    ) -> list[Channel]:
        """Return the topics.

        `torques` returns the torques that move the robot and its payload in a state, (n,) for the
        joints of the model [N m, N], from its results `outputs`. Weight and velocity terms of the
        payload are included; its inertial forces are not part of the solved equations.
        """
        self._model, self._torques, self._outputs = model, torques, outputs
        self._torques_name: str = parameters['constraint_torques']
        self._tolerance: float = parameters['constraint_tolerance']
        snapshot = StateSnapshot(
            lambda: [
                *(model.q, model.v, mapper.tau, model.payload),
                *(model.results[output] for output in outputs),
            ],
            self._use,
        )
        self._numbers: list[Array] = []
        tokens = topic_tokens(blocked.link for blocked in self._blocked)
        for link, token in tokens.items():
            template = templates.wrench(prefix + link)
            self._numbers.append(template.array(0))
            publisher = publishers.get(WrenchStamped, f'~/constraint_wrench/{token}')
            self._channels.append(
                Channel(
                    publisher,
                    template,
                    name=f'constraint_wrench/{token}',
                    velocity=True,
                    effort=self._torques_name == MEASURED,
                    gates=(Gate(CALL, snapshot, take_snapshot),),
                    rate=RateLimit(parameters['constraint_rate']),
                    is_held=True,
                    snapshot=snapshot,
                )
            )
        return self._channels

    def _use(
        self, stamp: int, q: Array, v: Array, tau: Array, payload: Array, *results: Array
    ) -> None:
        """Publish the wrenches in a state, if they are known; one solution serves all links."""
        found = dict(zip(self._outputs, results))
        wrenches = self._solve(Measured(q, v, tau, payload, found))
        if wrenches is None:
            return
        STATE_LOCK.acquire()  # the model state reads them
        try:
            for channel, numbers, wrench in zip(self._channels, self._numbers, wrenches):
                numbers[:], channel.valid_stamp = swap_linear_angular(wrench), stamp
        finally:
            STATE_LOCK.release()
        for channel in self._channels:
            if channel.is_sent:
                channel.publish(packed(stamp))

    def _solve(self, state: Measured) -> Array | None:
        """Return the wrenches in a state, (k, 6), moment first; None if they are unknown."""
        model, (q, v, _, payload, _) = self._model, state
        tau = model.whole_v(self._torques(state))
        if payload.any():
            tau -= model.robot.payload_torques(q, v, np.zeros_like(v), payload)
        self._motion, self._fault = None, ''
        try:
            motion = model.robot.constrained_dynamics(q, v, tau, self._constraints, least_norm=True)
        except ScrewDynamicsError as error:
            self._fault = str(error)
            return None
        if not np.isfinite(motion.wrenches).all():
            self._fault = 'results are not finite because torques or velocities are too large'
            return None
        self._motion = motion
        return None if self._missed(motion).any() else motion.wrenches

    def _missed(self, motion: ConstrainedMotion) -> Flags:
        """Return flags of the constrained directions that are violated."""
        forces = motion.forces
        missed: Flags = forces.conflicting & (np.abs(forces.error) > self._tolerance)
        return missed

    def status(self) -> Status:
        """Report the constraints and, with subscribers, whether they are consistent."""
        status = Status('constraints')
        for fault in self._faults:
            status.error(fault)
        status.values['constraints'] = ', '.join(map(str, self._blocked)) or 'none'
        if not any(channel.listened for channel in self._channels):
            return status
        status.values['torques'] = self._torques_name
        if self._fault:
            status.error(f'no constraint wrenches: {self._fault}')
        motion = self._motion
        if motion is None:
            return status
        freedoms = self._model.robot.nv - len(self._model.joints)  # of joints that are held
        rank = int(motion.forces.rank) - freedoms
        status.values['directions'] = f'{self._wanted}, {rank} independent'
        if self._missed(motion).any():
            status.error(
                'no constraint wrenches: the constraints are inconsistent with each other or with '
                f'the mobility of the joints; violated: {self._conflict(motion)}; block fewer '
                'motions in the parameter constraints'
            )
        elif rank < self._wanted:
            status.warn(
                f'the constraint wrenches are not unique: {self._wanted} motions are blocked, and '
                f'{rank} of them are independent; the minimum-norm wrenches are published'
            )
        return status

    def _conflict(self, motion: ConstrainedMotion) -> str:
        """Return a text with the violated motions and their accelerations."""
        parts, first = [], 0
        for blocked in self._blocked:
            those = slice(first, first + len(blocked.motions))
            missed = self._missed(motion)[those]
            if missed.any():
                words = [word for word, is_missed in zip(blocked.motions, missed) if is_missed]
                error = np.abs(motion.forces.error[those][missed]).max()
                parts.append(f'{blocked.link}: {" ".join(words)} by {error:.3g} rad/s^2, m/s^2')
            first = those.stop
        return shorten(parts) or 'planar, ball and floating joints, which are held'
