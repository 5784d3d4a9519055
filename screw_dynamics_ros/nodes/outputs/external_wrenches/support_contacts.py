# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of the feet of a robot with a floating base: `~/contact_wrench/<link>`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.delay_line import DelayLine
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import (
    GeneralizedMomentum,
    momentum_step,
)
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.estimation.support_wrenches import SupportWrenches
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.lie.screws import WRENCH_ROWS, swap
from screw_dynamics_ros.core.robot.actuated_robot import elements
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints
from screw_dynamics_ros.nodes.model.torque_terms import base_momentum
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.names import shorten, topic_tokens
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, TRUE, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..quantity_messages import numbers_of
from . import support_step as step
from .observer_step import advance_observer, keep_state
from .torque_covariance import TorqueCovariance
from .torque_observer import TorqueObserver

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


@dataclass(frozen=True, eq=False)
class SupportPlan:
    """Inputs of the estimate for one robot.

    Attributes
    ----------
    tokens : dict
        The last part of the topic name of each link; empty without a floating base.
    jacobians : tuple of Formula
        Body Jacobians of the links, (6, 6 + n): columns of the base, then of the n joints.
    base : Formula or None
        The wrench on the base, angular part first: without acceleration, or by its momentum.
    state : Formula or None
        State of the observer of its momentum, unless the observer is static.
    fault : str
        Why there is no estimate, empty if there is one or none is wanted.
    steps : ObserverSteps
        Of the observer of the momentum.
    memory : (18,) array
        Its state.
    """

    tokens: dict[str, str] = field(default_factory=dict)
    jacobians: tuple[Formula, ...] = ()
    base: Formula | None = None
    state: Formula | None = None
    fault: str = ''
    steps: ObserverSteps = field(default_factory=lambda: ObserverSteps(6))
    memory: Array = field(default_factory=lambda: np.zeros(18))

    @property
    def outputs(self) -> list[Any]:
        """Outputs of the kernel."""
        made = *self.jacobians, self.base, self.state
        return [each for each in made if each is not None]

    @property
    def parameters(self) -> dict[str, Array]:
        """The inputs of the program that `state` reads."""
        return {'base_observer': self.memory, 'base_step': self.steps.numbers}


def state_of_base(state: Array, momentum: Array, numbers: Array) -> Array:
    """Return the next state of the observer of `base_momentum`."""
    return momentum_step(state, momentum[:6], momentum[6:], numbers[:6], numbers[6:7])


def last_of_three(state: Array) -> Array:
    """Return the torques in the state of `momentum_step`."""
    return state.reshape(3, -1)[2]


class SupportContacts:
    """The contact wrenches, flags of contact, and covariances of the links `support_frames`.

    Parameters
    ----------
    parameters : Parameters
        With the rows of `TABLE`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._plan, self._observer = SupportPlan(), ObserverState()
        self._state = step.SupportState()
        self._state.flags = ()

    def plan(self, robot: Robot) -> SupportPlan:
        """Choose the links."""
        wanted = [name for name in self._parameters['support_frames'] if name]
        links = [name for name in wanted if name in robot.link_names]
        if wanted and not robot.floating_base:
            return SupportPlan(fault='the base is fixed; set base_source')
        if len(links) < len(wanted):
            absent = shorten([name for name in wanted if name not in links])
            return SupportPlan(fault=f'the robot has no link {absent}')
        if not links:
            return SupportPlan()
        columns = [*range(6), *coordinates(robot, scalar_joints(robot))[1].tolist()]
        jacobians = tuple(elements(('jacobian', link, 'body'), columns) for link in links)
        if self._parameters['observer'] == 'static':
            state, base = None, Formula('base', (numbers_of('base_wrench', robot),), swap)
        else:
            inputs = 'base_observer', base_momentum(robot), 'base_step'
            state = Formula('momentum observer of the base', inputs, state_of_base)
            base = Formula('base', (state,), last_of_three)
        return SupportPlan(topic_tokens(links), jacobians, base, state)

    def bind(
        self,
        model: RunningModel,
        plan: SupportPlan,
        torque: Formula,
        covariance: TorqueCovariance,
        observer: TorqueObserver,
        publishers: Publishers,
        prefix: str,
    ) -> list[Channel]:
        """Return the topics.

        `torque` are the external torques (n,) by `observer`, `covariance` is theirs.
        """
        state = self.start(model, plan, torque, covariance)
        if plan.base is None:
            return []

        def channel(kind: type, name: str, template: Template) -> Channel:
            gates = Gate(TRUE, observer.settled), Gate(CALL, state, step.fill_support)
            publisher = publishers.get(kind, f'~/{name}')
            return Channel(publisher, template, name=name, velocity=True, effort=True, gates=gates)

        flags = templates.matrix(tuple(plan.tokens))
        state.numbers = flags.array(0)
        channels = [channel(Float64MultiArray, 'support', flags)]
        for (link, token), contact in zip(plan.tokens.items(), state.found.contacts):
            wrench = templates.wrench(prefix + link)
            square = templates.matrix(WRENCH_ROWS, WRENCH_ROWS)
            contact.wrench, contact.covariance = wrench.array(0), square.array(0)
            channels.append(channel(WrenchStamped, f'contact_wrench/{token}', wrench))
            name = f'contact_wrench_covariance/{token}'
            channels.append(channel(Float64MultiArray, name, square))
        return channels

    def start(
        self, model: RunningModel, plan: SupportPlan, torque: Formula, covariance: TorqueCovariance
    ) -> step.SupportState:
        """Return the record of a new model; arguments as for `bind`."""
        self._plan, results = plan, model.results
        state = self._state = step.SupportState()
        state.flags = ()
        if plan.base is None:
            return state
        m = len(plan.tokens)
        self._weight = model.robot.total_mass * float(np.linalg.norm(model.robot.gravity))
        jacobians = [results[each] for each in plan.jacobians]
        state.found = SupportWrenches(jacobians, 6 + len(model.joints))
        state.base, state.torques = results[plan.base], results[torque]
        state.covariance = covariance
        state.sizes, state.numbers, state.base_deviations = *np.zeros((2, m)), np.zeros(6)
        state.flags = tuple(ThresholdFlag(np.ones(1), np.zeros(1), 0.0, 0.0) for _ in range(m))
        if plan.state is not None:
            state.observer = base = self._observer
            base.steps, base.state, base.result = plan.steps, plan.memory, results[plan.state]
            base.line, base.is_pending = DelayLine(0), False
        self.update_parameters()
        return state

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        state, value, steps = self._state, self._parameters, self._plan.steps
        if not state.flags:
            return
        steps.time_constants[:] = value['observer_time_constant']
        self._observer.settling_time = GeneralizedMomentum().settling_time(
            steps.longest_time_constant
        )
        force, moment = value['support_base_deviation']
        deviations = np.array([moment] * 3 + [force] * 3)
        state.base_deviations[:] = np.maximum(deviations, step.MIN_DEVIATION)
        state.found.has_moments = value['support_moments']
        for contact in state.found.contacts:
            contact.covariance[:] = 0.0
        limit = np.array([max(value['support_share'] * self._weight, MIN_FORCE)])
        for flag in state.flags:
            flag.set_thresholds(limit, 0.5 * limit)

    def stage(self) -> Stage:
        """Return the stage that observes the momentum of the base."""
        return Stage(
            StateStep(advance_observer, lambda: self._observer),
            StateStep(keep_state, lambda: self._observer),
            is_needed=lambda: self._state.observer is not None,
        )

    def report(self, status: Status) -> None:
        """Report the links in contact, and why there is no estimate."""
        plan = self._plan
        if plan.fault:
            status.error(f'no contact wrenches: {plan.fault}')
        if plan.base is None:
            return
        flags, reason = self._state.flags, step.REASONS[self._state.outcome]
        touching = [link for link, flag in zip(plan.tokens, flags) if flag.is_raised]
        status.values['in contact'] = ', '.join(touching) or 'none'
        if reason:
            status.warn(f'no contact wrenches: {reason}')
