# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `~/train_residual`: a residual model from motion of the running robot."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.annotation.unloaded_residual import OBSERVER
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.identification.recording import JointRecording
from screw_dynamics_ros.core.identification.residual_fit import ResidualFit, fit_residual
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK

from .recorded_states import RecordedStates, take_state
from .residual_offsets import ResidualOffsets

SERVICE = '~/train_residual'
MAX_STATES = 300_000  # 50 MB for seven joints

TABLE = (
    Specification(
        'training_duration',
        600.0,
        'Duration of the motion without contact that ~/train_residual records [s].',
        minimum=30.0,
        maximum=7200.0,
    ),
)


class ResidualTraining:
    """Records motion without contact, fits a residual model in the background, and activates it.

    It ends with a new model, when stamps go back, by the service, and when payloads, gravity or
    `effort_terms` change; the active residual stays.

    Parameters
    ----------
    serve : callable
        Offers a service of the node, see `Services.serve`.
    parameters : Parameters
        With `TABLE` and those of the observer.
    host : ModelHost
    residuals : ResidualOffsets
        Writes the file of a model, and activates it.
    """

    def __init__(
        self,
        serve: Callable[..., None],
        parameters: Parameters,
        host: ModelHost,
        residuals: ResidualOffsets,
    ) -> None:
        self._parameters, self._host, self._residuals = parameters, host, residuals
        self._model: RunningModel | None = None
        self._background: Latest[ResidualFit | str] = Latest('training of residuals')
        self._fault, self._result, self._conditions = '', 'none', ''
        self.record = RecordedStates(0)
        serve('SetBool', SERVICE, lambda request, _: self._switch(request.data))

    def bind(
        self, model: RunningModel, torques: Formula, flag: ThresholdFlag, observer: ObserverState
    ) -> None:
        """Adopt a new model, with its filtered external torques, after `release`."""
        self._model, self._torques, self._inputs = model, torques, (flag, observer)

    def release(self) -> None:
        """End a training, because the model changes."""
        self._stop('the model has changed')
        self._model = None

    def stage(self) -> Stage:
        """Return the stage that records each joint state."""
        return Stage(
            consume=StateStep(take_state, lambda: self.record),
            is_needed=lambda: self.record.is_active,
        )

    # --- service ----------------------------------------------------------------------------------

    def _switch(self, wanted: bool) -> str:
        """Start or end a training; raises `ScrewDynamicsError` where it cannot start."""
        self.advance()
        if not wanted:
            if not self._is_busy:
                return 'no training; the residual stays as it is'
            self._stop(f'it was stopped by {SERVICE}')
            return 'stopped; the residual stays as it is'
        if self._is_busy:
            raise ScrewDynamicsError(f'a training is active, {self._progress}')
        model, bodies = self._model, self._host.payloads.active_bodies()
        if model is None or not model.results:
            raise ScrewDynamicsError('no robot description so far; see /diagnostics')
        if bodies:
            raise ScrewDynamicsError(f'{", ".join(bodies)} carries a payload: detach it')
        if tuple(model.joints) != tuple(model.robot.joint_names) or model.robot.floating_base:
            raise ScrewDynamicsError('only for robots with a fixed base and joints of one freedom')
        self._residuals.check_model_file()
        flag, observer = self._inputs
        torques = model.results[self._torques]
        if observer.is_settled and (np.abs(torques) > flag.upper).any():
            raise ScrewDynamicsError(
                'a joint torque is above its contact threshold: remove contacts, or record a tare'
            )
        duration = round(1e9 * self._parameters['training_duration'])
        self.record = RecordedStates(len(model.joints), MAX_STATES, duration)
        self.record.torques, self.record.flag, self.record.observer = torques, flag, observer
        self.record.is_active, self._fault, self._conditions = True, '', self._current_conditions
        return (
            f'recording {duration * 1e-9:g} s: move all joints without contact, slow and fast, '
            'with many reversals; /diagnostics shows the progress'
        )

    @property
    def _is_busy(self) -> bool:
        return bool(self.record.count or self.record.is_active or self._background.is_busy)

    def _stop(self, reason: str) -> None:
        """End a training, if there is one."""
        if self._is_busy:
            self._fault = f'the training of the residual has ended: {reason}'
        self._background.cancel()
        self.record = RecordedStates(0)

    # --- progress ---------------------------------------------------------------------------------

    def advance(self) -> None:
        """Start the fit after the last state; activate a fitted model."""
        with STATE_LOCK:
            record, found = self.record, self._background.poll()
            if record.went_back:
                self._stop('stamps of joint states went back')
            elif self._is_busy and self._conditions != self._current_conditions:
                self._stop('payloads, gravity or effort_terms have changed')
            elif record.count and not (record.is_active or self._background.is_busy or found):
                self._background.ask(self._task(record))
            elif isinstance(found, str):
                self._stop(found)
            elif found is not None:
                self._residuals.use_model(found.model)
                self.record = RecordedStates(0)
                self._result = 'done, ' + described(found)

    def _task(self, record: RecordedStates) -> Callable[[], ResidualFit | str]:
        """Return the fit in the background; it returns the fault as a text."""
        context, (t, states) = self._host.situation({}), record.arrays
        terms, save = tuple(self._host.parameters['effort_terms']), self._residuals.model_writer()
        settings = AnnotationSettings(
            observer=OBSERVER,
            effort_terms=terms,
            observer_time_constant=self._parameters['observer_time_constant'],
            effort_delay=self._parameters['effort_delay'],
        )

        def task() -> ResidualFit | str:
            try:
                robot: Robot = pickle.loads(context.robot)
                robot.gravity = context.gravity
                q, v, tau = (np.ascontiguousarray(states[:, k]) for k in range(3))
                fit = fit_residual(robot, [JointRecording(t, q, v, tau)], settings=settings)
                save(fit.model)
                return fit
            except Exception as error:  # any failure is reported
                kind = '' if isinstance(error, ScrewDynamicsError) else f'{type(error).__name__}: '
                return f'{kind}{error}'

        return task

    @property
    def _current_conditions(self) -> str:
        """What a training depends on and must not change, as a text."""
        given = self._host.parameters['effort_terms'], self._host.payloads.active_bodies()
        return f'{given} {self._host.gravity}'

    @property
    def _progress(self) -> str:
        record = self.record
        if not record.is_active:
            return f'fitting {record.count} states'
        text = (
            f'{record.recorded * 1e-9:.0f} of {record.duration * 1e-9:g} s, {record.count} states'
        )
        return f'{text}, {record.contacts} in contact' if record.contacts else text

    def report(self, status: Status) -> None:
        """Report progress or result of a training, and the range of each joint so far."""
        self.advance()
        with STATE_LOCK:
            status.values['residual training'] = self._progress if self._is_busy else self._result
            if self.record.count and self._model is not None:
                q = self.record.arrays[1][:, 0]
                status.values['residual training range'] = ', '.join(
                    f'{name} {low:.2f} to {high:.2f}'
                    for name, low, high in zip(self._model.joints, q.min(axis=0), q.max(axis=0))
                )
        if self._fault:
            status.warn(self._fault)


def described(fit: ResidualFit) -> str:
    """Return the errors of each joint before and after, and the findings."""
    errors: Any = zip(fit.joint_names, fit.before, fit.after)
    return '; '.join(
        [
            ', '.join(f'{name} {a:.3g} to {b:.3g}' for name, a, b in errors if np.isfinite(a)),
            *map(str, fit.findings),
        ]
    )
