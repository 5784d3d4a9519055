# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observer of external torques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverPlan, ObserverState
from screw_dynamics_ros.core.estimation.observers.parameters import (
    DEFAULTS,
    JOINTS,
    ObserverParameters,
    check_per_joint,
    values_of_joints,
)
from screw_dynamics_ros.core.estimation.observers.table import (
    OBSERVERS,
    descriptions,
    parameter_texts,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification, Value

from . import observer_step as step
from .external_torque import observation


def default_of(name: str) -> Value:
    """Return the default of an observer parameter as one of a node."""
    default = getattr(DEFAULTS, name)
    if name == JOINTS:
        return ['']
    return list(default) if isinstance(default, tuple) else default


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
            default_of(each.name),
            parameter_texts()[each.name],
            minimum=each.metadata['minimum'],
            maximum=each.metadata['maximum'],
            rule=each.metadata['rule'],
        )
        for each in fields(ObserverParameters)
    ),
)


def check(values: Mapping[str, Any], robot: Robot | None) -> None:
    """Refuse lists of `TABLE` that are inconsistent with each other or with the robot.

    Raises `ArgumentError`, `UnknownNameError`.
    """
    check_per_joint(values, scalar_joints(robot) if robot is not None else None)


class TorqueObserver:
    """Advances the configured observer with the joint states.

    It restarts after a pause, a stamp that does not advance, missing or non-finite velocities or
    efforts, and a change of the model.

    Parameters
    ----------
    parameters : Parameters
        With the rows of `TABLE`.

    Attributes
    ----------
    noise_deviations : pair of (n,) arrays
        Standard deviations of efforts [N m, N] and velocities [rad/s, m/s] between two states.
    model_variances : (n,) array
        Variances of external torques due to model errors; NaN if they are unknown.
    record : ObserverState
        Always the same.
    settled : (1,) array of int64
        Its `is_settled`.
    """

    noise_deviations: tuple[Array, Array]
    model_variances: Array

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._plan: ObserverPlan | None = None
        self.record = ObserverState()
        self.settled = self.record.element('is_settled')

    def plan(self, robot: Robot) -> ObserverPlan:
        """Return the configured observer for a robot, or the static one with a refusal."""
        wanted, n = self._parameters['observer'], len(scalar_joints(robot))
        try:
            chosen, refusal = observation(robot, wanted), ''
        except ArgumentError as error:
            chosen, refusal = observation(robot, 'static'), str(error)
        return ObserverPlan.of(chosen, n, refusal)

    def bind(self, model: RunningModel, mapper: JointStateMapper, plan: ObserverPlan) -> None:
        """Adopt a new model."""
        self._model, self._mapper, self._plan = model, mapper, plan
        plan.bind(self.record, model.results)
        self.update_parameters()

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        plan, value = self._plan, self._parameters
        if plan is None:
            return
        plan.set_values(self.record, value.values, self._model.joints)
        self.noise_deviations = (
            self._of_joints('observer_effort_deviation'),
            self._of_joints('observer_velocity_deviation'),
        )
        self.model_variances = self._of_joints('observer_model_deviation') ** 2

    def _of_joints(self, name: str) -> Array:
        """Return the value of a parameter for each joint of the model (n,), NaN if unknown."""
        return values_of_joints(self._parameters.values, name, self._model.joints)

    @property
    def is_settled(self) -> bool:
        """Whether the external torques are valid."""
        return self.record.is_settled

    def stages(self) -> list[Stage]:
        """Return the stages that process each joint state: delayed torques, then the observer."""
        return [
            Stage(
                prepare=StateStep(step.advance_delay, lambda: self.record),
                consume=StateStep(step.keep_delay, lambda: self.record),
                is_needed=lambda: self._plan is not None and self._plan.line.delay > 0,
            ),
            Stage(
                prepare=StateStep(step.advance_observer, lambda: self.record),
                consume=StateStep(step.keep_state, lambda: self.record),
                is_needed=lambda: self.has_memory,
            ),
        ]

    @property
    def has_memory(self) -> bool:
        """Whether the observer has a state."""
        return self._plan is not None and self._plan.observation.state is not None

    def report(self, status: Status) -> None:
        """Report the observer, and whether its torques are valid."""
        plan = self._plan
        if plan is None:
            return
        if plan.refusal:
            status.error(f'no external torques: {plan.refusal}')
            return
        status.values['observer'] = self._parameters['observer']
        try:
            check(self._parameters.values, self._model.robot)
        except ScrewDynamicsError as error:
            status.error(str(error))
        if plan.observation.state is None:
            status.values['covariances'] = 'valid at rest: without inertial torques'
            return
        status.values['observer starts'] = str(plan.steps.starts)
        if not self.is_settled:
            status.warn(
                f'no external torques: observer {self._parameters["observer"]} has not settled '
                'since its last start'
            )
