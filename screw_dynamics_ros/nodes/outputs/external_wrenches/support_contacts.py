# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of the feet of a robot with a floating base: `~/contact_wrench/<link>`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.lie.screws import swap
from screw_dynamics_ros.core.measurement.estimation.observers.generalized_momentum import (
    momentum_step,
)
from screw_dynamics_ros.core.measurement.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.measurement.estimation.support_wrenches import (
    SupportWrenches,
    support_wrenches,
)
from screw_dynamics_ros.core.measurement.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.robot.actuated_robot import Source
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.state_clock import StateClock
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Stage, python_step
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.torque_terms import base_momentum
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.names import shorten, topic_tokens
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..quantity_messages import numbers_of
from .torque_covariance import TorqueCovariance

TABLE = (
    Specification(
        'support_frames',
        [''],
        'Links that may touch the environment, for robots with a floating base: contact wrenches '
        'at their origins are estimated from the torques of the joints and the motion of the base. '
        'Empty: none.',
        rule='links of the robot',
    ),
    Specification(
        'support_moments',
        False,
        'Whether these contacts exert moments, as flat feet do, and not only forces, as points do.',
    ),
    Specification(
        'support_share',
        0.05,
        'Share of the weight of the robot: a link with a larger force is in contact, one with less '
        'than half of it is not.',
        minimum=1e-6,
        maximum=1.0,
    ),
    Specification(
        'support_base_deviation',
        [2.0, 1.0],
        'Standard deviations of force and moment on the base by errors of the model and of its '
        'motion [N, N m]; with the observer static also by its acceleration, which is set to zero.',
        size=2,
    ),
)

#: Parameters that require a new model.
SHAPING = {'support_frames'}

MIN_FORCE = 1e-6  # of a link in contact, without weight [N]
MIN_DEVIATION = 1e-6  # of the torque of a joint, with which weights are finite [N m, N]
WRENCH_ROWS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')


@dataclass(frozen=True)
class SupportPlan:
    """Inputs of the estimate for one robot.

    Attributes
    ----------
    tokens : dict
        The last part of the topic name of each link; empty without a floating base.
    base : output, Formula or None
        The wrench on the base without acceleration, force first.
    momentum : Formula or None
        `base_momentum`, unless the observer is static.
    fault : str
        Why there is no estimate, empty if there is one or none is wanted.
    """

    tokens: dict[str, str]
    base: Source | None
    momentum: Formula | None = None
    fault: str = ''

    @property
    def outputs(self) -> list[Any]:
        """Outputs of the kernel."""
        jacobians = [('jacobian', link, 'body') for link in self.tokens]
        return [*jacobians, *(each for each in (self.base, self.momentum) if each is not None)]


class SupportContacts:
    """The contact wrenches, flags of contact, and covariances of the links `support_frames`.

    Parameters
    ----------
    parameters : Parameters
        With the rows of `TABLE`.
    clock : StateClock
    """

    def __init__(self, parameters: Parameters, clock: StateClock) -> None:
        self._parameters, self._clock = parameters, clock
        self._plan = SupportPlan({}, None)
        self._flags: list[ThresholdFlag] = []
        self._reason = ''
        self._found: SupportWrenches | None = None
        self._steps, self._state = ObserverSteps(6), np.zeros(18)

    def plan(self, robot: Robot) -> SupportPlan:
        """Choose the links."""
        wanted = [name for name in self._parameters['support_frames'] if name]
        links = [name for name in wanted if name in robot.link_names]
        if wanted and not robot.floating_base:
            return SupportPlan({}, None, fault='the base is fixed; set base_source')
        if len(links) < len(wanted):
            absent = shorten([name for name in wanted if name not in links])
            return SupportPlan({}, None, fault=f'the robot has no link {absent}')
        if not links:
            return SupportPlan({}, None)
        is_static = self._parameters['observer'] == 'static'
        momentum = None if is_static else base_momentum(robot)
        return SupportPlan(topic_tokens(links), numbers_of('base_wrench', robot), momentum)

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        plan: SupportPlan,
        torque: Formula,
        covariance: TorqueCovariance,
        is_settled: Callable[[], bool],
        publishers: Publishers,
        prefix: str,
    ) -> list[Channel]:
        """Return the topics.

        `torque` are the external torques (n,), `covariance` is theirs; `is_settled` returns whether
        they are valid.
        """
        self._plan, self._solved, self._found = plan, -1, None
        self._model, self._mapper, self._is_settled = model, mapper, is_settled
        self._covariance = covariance
        self._steps.restart()
        if plan.base is None:
            return []
        self._torque, self._places = torque, np.concatenate([np.arange(6), model.v_places])
        self._weight = model.robot.total_mass * float(np.linalg.norm(model.robot.gravity))
        limit = self._limit
        self._flags = [ThresholdFlag(limit, 0.5 * limit, 0.0, 0.0) for _ in plan.tokens]
        channels = []
        for k, (link, token) in enumerate(plan.tokens.items()):
            wrench = templates.wrench(prefix + link)
            square = templates.matrix(WRENCH_ROWS, WRENCH_ROWS)
            for kind, name, template, fill in (
                (WrenchStamped, 'contact_wrench', wrench, self._fill_wrench),
                (Float64MultiArray, 'contact_wrench_covariance', square, self._fill_covariance),
            ):
                channels.append(
                    self._channel(publishers, kind, f'{name}/{token}', template, partial(fill, k))
                )
        flags = templates.matrix(tuple(plan.tokens))
        channels.append(
            self._channel(publishers, Float64MultiArray, 'support', flags, self._fill_flags)
        )
        return channels

    def _channel(
        self,
        publishers: Publishers,
        kind: type,
        name: str,
        template: Any,
        fill: Callable[[SupportWrenches, Array], None],
    ) -> Channel:
        numbers = template.array(0)

        def is_valid() -> bool:
            found = self._current()
            if found is None:
                return False
            fill(found, numbers)
            return True

        return Channel(
            publishers.get(kind, f'~/{name}'),
            template,
            name=name,
            velocity=True,
            effort=True,
            is_valid=is_valid,
        )

    def _fill_wrench(self, k: int, found: SupportWrenches, numbers: Array) -> None:
        numbers[:] = swap(found.wrenches[k])

    def _fill_covariance(self, k: int, found: SupportWrenches, numbers: Array) -> None:
        C = found.covariances[k]
        numbers[:] = np.block([[C[3:, 3:], C[3:, :3]], [C[:3, 3:], C[:3, :3]]]).ravel()

    def _fill_flags(self, found: SupportWrenches, numbers: Array) -> None:
        numbers[:] = [flag.is_raised for flag in self._flags]

    # --- one state ------------------------------------------------------------------------------

    def stage(self) -> Stage:
        """Return the stage that observes the momentum of the base."""
        return Stage(
            consume=python_step('momentum of the base', self._observe),
            is_needed=lambda: self._plan.momentum is not None,
        )

    def _observe(self) -> None:
        """Advance the wrench on the base to a state."""
        plan, steps, mapper = self._plan, self._steps, self._mapper
        if plan.momentum is None:
            return
        if not mapper.has_velocity:
            steps.restart()
            return
        steps.time_constants[:] = self._parameters['observer_time_constant']
        if steps.advance(self._clock.elapsed):
            self._state[:] = 0.0
        p, known = self._model.results[plan.momentum].reshape(2, 6)
        decay, rate = steps.numbers[:6], steps.numbers[6:7]
        self._state = momentum_step(self._state, p, known, decay, rate)

    def _current(self) -> SupportWrenches | None:
        """Return the wrenches of the current state, None if they are unknown."""
        mapper = self._mapper
        if self._solved != mapper.accepted:
            self._solved = mapper.accepted
            self._found = self._solve() if self._is_settled() else None
        return self._found

    def _solve(self) -> SupportWrenches | None:
        """Estimate all wrenches, then those of the links in contact alone."""
        results, plan = self._model.results, self._plan
        assert plan.base is not None
        if plan.momentum is not None and not self._steps.settled:
            self._reason = 'the observer of the base has not settled since its last start'
            return None
        base = swap(results[plan.base]) if plan.momentum is None else self._state[12:]
        forces = np.concatenate([base, results[self._torque]])
        J = np.array([results['jacobian', link, 'body'] for link in plan.tokens])
        J = J[:, :, self._places]
        if not (np.isfinite(forces).all() and np.isfinite(J).all()):
            self._reason = 'a number is not finite'
            return None
        force, moment = self._parameters['support_base_deviation']
        joints = np.sqrt(np.diagonal(self._covariance.now()))
        deviations = np.maximum(np.concatenate([[moment] * 3, [force] * 3, joints]), MIN_DEVIATION)
        solve = partial(
            support_wrenches,
            forces=forces,
            deviations=deviations,
            moments=self._parameters['support_moments'],
        )
        every = solve(J)
        if every is None:
            self._reason = 'the joint torques do not determine them in this configuration'
            return None
        self._reason = ''
        touching = self._in_contact(every)
        found = solve(J[touching])
        assert found is not None  # with fewer unknowns
        wrenches, covariances = np.zeros_like(every.wrenches), every.covariances
        wrenches[touching], covariances[touching] = found
        return SupportWrenches(wrenches, covariances)

    @property
    def _limit(self) -> Array:
        """Force above which a link is in contact, (1,) [N]."""
        return np.array([max(self._parameters['support_share'] * self._weight, MIN_FORCE)])

    def _in_contact(self, found: SupportWrenches) -> NDArray[np.bool_]:
        """Return which links are in contact, (m,)."""
        limit = self._limit
        for flag, wrench in zip(self._flags, found.wrenches):
            flag.set_thresholds(limit, 0.5 * limit)
            flag.take(np.array([np.linalg.norm(wrench[3:])]), self._clock.elapsed)
        return np.array([flag.is_raised for flag in self._flags])

    def report(self, status: Status) -> None:
        """Report the links in contact, and why there is no estimate."""
        plan = self._plan
        if plan.fault:
            status.report(Level.ERROR, f'no contact wrenches: {plan.fault}')
        if plan.base is None:
            return
        touching = [link for link, flag in zip(plan.tokens, self._flags) if flag.is_raised]
        status.values['in contact'] = ', '.join(touching) or 'none'
        if self._reason:
            status.report(Level.WARN, f'no contact wrenches: {self._reason}')
