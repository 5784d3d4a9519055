# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observer of external torques from joint state to joint state."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.measurement.estimation.observers.parameters import ObserverParameters
from screw_dynamics_ros.core.measurement.estimation.observers.quantities import Observation
from screw_dynamics_ros.core.measurement.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.measurement.estimation.observers.table import (
    OBSERVERS,
    descriptions,
    parameter_texts,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.output_group import Stage
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.outputs.external_wrenches.external_torque import observation
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification

TABLE = (
    Specification(
        'observer',
        'static',
        f'How external torques are estimated. {descriptions()}.',
        choices=tuple(OBSERVERS),
    ),
    *(
        Specification(
            each.name,
            getattr(ObserverParameters, each.name),
            parameter_texts()[each.name],
            minimum=each.metadata['minimum'],
            maximum=each.metadata['maximum'],
        )
        for each in fields(ObserverParameters)
    ),
)


@dataclass(frozen=True)
class ObserverPlan:
    """What an observer adds to the program of a robot, and the arrays it reads.

    Attributes
    ----------
    observation : Observation
    refusal : str
        Why the wanted observer is not the one of `observation`; empty if it is.
    steps : ObserverSteps
    state, values : arrays
        Of the observer, and of its parameters, a row (n,) each.
    """

    observation: Observation
    refusal: str
    steps: ObserverSteps
    state: Array
    values: Array

    @property
    def parameters(self) -> dict[str, Array]:
        """The inputs of the program that `observation` reads."""
        return {
            'observer': self.state,
            'observer_step': self.steps.numbers,
            'observer_parameters': self.values,
        }


class TorqueObserver:
    """Leads the chosen observer from state to state.

    It restarts after pauses, where stamps do not advance, where velocities or efforts were
    missing or not finite, and with every change of the program.

    Parameters
    ----------
    parameters : Parameters
        With the values of `TABLE`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._plan: ObserverPlan | None = None
        self._pending = False  # a step whose result has not been adopted

    def plan(self, robot: Robot) -> ObserverPlan:
        """Return the chosen observer for a robot, the static one where that is not possible."""
        wanted, n = self._parameters['observer'], len(scalar_joints(robot))
        try:
            chosen, refusal = observation(robot, wanted), ''
        except ArgumentError as error:
            chosen, refusal = observation(robot, 'static'), str(error)
        return ObserverPlan(
            chosen,
            refusal,
            ObserverSteps(n),
            np.zeros(max(1, chosen.size)),
            np.zeros(max(1, len(chosen.observer.parameters) * n)),
        )

    def bind(self, model: RunningModel, mapper: JointStateMapper, plan: ObserverPlan) -> None:
        """Start with a new model."""
        self._model, self._mapper, self._plan = model, mapper, plan
        self._pending = False
        self.update_parameters()

    def update_parameters(self) -> None:
        """Apply the present values of the parameters."""
        plan, value = self._plan, self._parameters
        if plan is None:
            return
        plan.steps.time_constants[:] = value['observer_time_constant']
        names = plan.observation.observer.parameters
        n = len(plan.steps.time_constants)
        plan.values[: len(names) * n] = np.repeat([value[name] for name in names], n)

    @property
    def is_settled(self) -> bool:
        """Whether the external torques may be used."""
        plan = self._plan
        if plan is None or plan.refusal:
            return False
        return plan.observation.observer.is_settled(plan.steps, not self._pending)

    @property
    def noise_stages(self) -> tuple[list[Array], list[Array]]:
        """How noise of efforts, and of momenta, passes the present step.

        See `Observer.noise`.
        """
        plan = self._plan
        if plan is None:
            return [], []
        decay, rate = plan.steps.numbers[[0, -3]].tolist()
        return plan.observation.observer.noise(decay, rate)

    def stage(self) -> Stage:
        """Return what acts on each joint state."""
        return Stage(prepare=self._advance, consume=lambda mapper, sent: self._keep_state())

    def _advance(self) -> None:
        """Take the step to the present state, before anything is computed for it."""
        plan = self._plan
        if plan is None or plan.observation.state is None:
            return
        mapper, steps = self._mapper, plan.steps
        complete = mapper.has_velocity and mapper.has_effort
        if self._pending or not complete:
            steps.restart()
        steps.lengths.longest = mapper.policies.timeout * 1e-9
        if steps.advance(mapper.stamp, mapper.restarted):
            plan.state[:] = 0.0
        if not complete:
            steps.restart()
        self._pending = complete

    def _keep_state(self) -> None:
        """Keep what the observer has to keep, if it is finite."""
        plan = self._plan
        if plan is None or plan.observation.state is None or not self._pending:
            return
        result = self._model.results[plan.observation.state]
        if np.isfinite(result.sum()):
            plan.state[:] = result
            self._pending = False

    def report(self, status: Status) -> None:
        """Say which observer it is, and whether its torques may be used."""
        plan = self._plan
        if plan is None:
            return
        if plan.refusal:
            status.report(Level.ERROR, f'no external torques: {plan.refusal}')
            return
        status.values['observer'] = self._parameters['observer']
        if plan.observation.state is None:
            return
        status.values['observer starts'] = str(plan.steps.starts)
        if not self.is_settled:
            status.report(
                Level.WARN,
                f'no external torques: observer {self._parameters["observer"]} has not settled '
                'since its last start',
            )
