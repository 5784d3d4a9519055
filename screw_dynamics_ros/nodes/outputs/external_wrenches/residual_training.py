# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `~/train_residual`: a residual model from motion of the running robot."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.annotation.settings import AnnotationSettings
from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.observers.parameters import ObserverParameters
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY

from .residual_offsets import OffsetUpdate, ResidualOffsets

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


BEFORE, AFTER = 500_000_000, 1_000_000_000  # ns: around a contact nothing is recorded
MAX_STEP = 500_000_000  # ns, within a motion


class RecordedStates(Record):
    """States of n joints, as many as fit into memory.

    Parameters
    ----------
    torques : (n,) array
        External torques of the current state [N m, N].
    size, duration : int
        Number of states at most, and duration of the motion to be recorded [ns].

    Attributes
    ----------
    is_active : bool
        Whether it records.
    count, recorded : int
        Number of states, and the duration of their motion [ns].
    free : int
        Stamp before which nothing is recorded [ns].
    stamps, states : (size,) and (3 n size,) arrays
        [ns]; positions, velocities and efforts.
    flag : ThresholdFlag
        Torques above its thresholds are contacts.
    observer : ObserverState
    """

    is_active: bool
    duration: int
    count: int
    recorded: int
    free: int
    stamps: Ints
    states: Floats
    torques: Floats
    flag: ThresholdFlag
    observer: ObserverState

    def __init__(self, torques: Array, size: int = 0, duration: int = 0) -> None:
        self.torques, self.duration = torques, duration
        self.stamps, self.states = np.zeros(size, np.int64), np.zeros(3 * len(torques) * size)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Times (N,) [s], positions, velocities and efforts (N, n)."""
        numbers = self.states.reshape(len(self.stamps), 3, -1)[: self.count]
        t = (self.stamps[: self.count] - self.stamps[:1]) * 1e-9
        return t, *np.ascontiguousarray(np.moveaxis(numbers, 1, 0))


@typed
def step_to(r: RecordedStates, k: int) -> int:
    """Return the duration of the motion before the k-th state [ns]."""
    step = 0 if k == 0 else r.stamps[k] - r.stamps[k - 1]
    return step if step <= MAX_STEP else 0


@typed
def record_state(r: RecordedStates, state: Floats, stamp: int, is_valid: bool) -> None:
    """Add a state (3 n,) with a stamp [ns], if its external torques are valid and no contact."""
    if not (r.is_active and is_valid):
        return
    if r.count > 0 and stamp <= r.stamps[r.count - 1]:  # time went back: start again
        r.count = r.recorded = r.free = 0
    n = len(r.torques)
    for j in range(n):
        if not abs(r.torques[j]) <= r.flag.upper[j]:
            r.free = stamp + AFTER
    if stamp < r.free:
        while r.count > 0 and r.stamps[r.count - 1] > r.free - AFTER - BEFORE:
            r.recorded -= step_to(r, r.count - 1)
            r.count -= 1
        return
    # As many states as fit, at regular times.
    if r.count > 0 and stamp - r.stamps[r.count - 1] < r.duration // len(r.stamps):
        return
    r.stamps[r.count] = stamp
    copy_bytes(r.states[3 * n * r.count :], state, 24 * n)
    r.recorded += step_to(r, r.count)
    r.count += 1
    r.is_active = r.recorded < r.duration and r.count < len(r.stamps)


@compiled_step
def take_state(r: RecordedStates, loop: LoopRecord) -> int:
    """Record the current joint state."""
    is_valid = loop.has == VELOCITY | EFFORT and r.observer.is_settled
    record_state(r, loop.state, loop.mapper.stamp, is_valid)
    return TAKEN


class ResidualTraining:
    """Records motion without contact; `ResidualOffsets` fits and activates its model.

    A recording ends without a fit with a new model, by the service, and when payloads, gravity or
    `effort_terms` change.

    Parameters
    ----------
    serve : callable
        Offers a service of the node, see `Services.serve`.
    parameters : Parameters
        With `TABLE` and those of the observer.
    host : ModelHost
    residuals : ResidualOffsets
    """

    def __init__(
        self,
        serve: Callable[..., None],
        parameters: Parameters,
        host: ModelHost,
        residuals: ResidualOffsets,
    ) -> None:
        self._parameters, self._host, self._residuals = parameters, host, residuals
        self._fault = self._conditions = ''
        self.record = RecordedStates(np.zeros(0))
        serve('SetBool', SERVICE, lambda request, _: self._switch(request.data))

    def bind(
        self, model: RunningModel, torques: Array, flag: ThresholdFlag, observer: ObserverState
    ) -> None:
        """Adopt a new model, with its external torques (n,), and their contacts and observer."""
        if self._is_recording:
            self._stop('the model has changed')
        self._model, self._inputs = model, (torques, flag, observer)

    def stage(self) -> Stage:
        """Return the stage that records each joint state."""
        return Stage(
            consume=StateStep(take_state, lambda: self.record),
            is_needed=lambda: self.record.is_active,
        )

    @property
    def _is_recording(self) -> bool:
        return self.record.is_active or self.record.count > 0

    def _stop(self, reason: str) -> None:
        """End a recording."""
        self.record.is_active = False
        self.record = RecordedStates(np.zeros(0))
        self._fault = f'no training of the residual: {reason}'

    def _switch(self, wanted: bool) -> str:
        """Start or end a recording; raises `ScrewDynamicsError` where it cannot start."""
        self.advance()
        if not wanted:
            if self._is_recording:
                self._stop(f'it was ended by {SERVICE}')
            return 'nothing is recorded; the residual stays as it is'
        if self._is_recording:
            raise ScrewDynamicsError(f'a training is active: {self._progress}')
        self._residuals.check_model_file(SERVICE)
        model, (torques, flag, observer) = self._model, self._inputs
        if model.joints != model.robot.joint_names or model.robot.floating_base:
            raise ScrewDynamicsError('only for robots with a fixed base and joints of one freedom')
        if observer.is_settled and (np.abs(torques) > flag.upper).any():
            raise ScrewDynamicsError(
                'a joint torque is above its contact threshold: remove contacts, or record a tare'
            )
        duration = self._parameters['training_duration']
        self.record = RecordedStates(torques, MAX_STATES, round(1e9 * duration))
        self.record.flag, self.record.observer = flag, observer
        self.record.is_active, self._fault, self._conditions = True, '', self._current_conditions
        return (
            f'recording {duration:g} s: move all joints without contact, slow and fast, with many '
            'reversals; /diagnostics shows the progress'
        )

    def advance(self) -> None:
        """Let the model be fitted after the last state."""
        with STATE_LOCK:
            record = self.record
            if self._is_recording and self._conditions != self._current_conditions:
                self._stop('payloads, gravity or effort_terms have changed')
            elif record.count and not record.is_active:
                self.record = RecordedStates(np.zeros(0))
                self._residuals.ask(self._fit(record))

    def _fit(self, record: RecordedStates) -> Callable[[], OffsetUpdate]:
        """Return the fit in the background."""
        bodies, save = self._host.payloads.active_bodies(), self._residuals.model_writer()
        context, (t, q, v, tau) = self._host.situation(bodies), record.arrays
        settings = AnnotationSettings(
            effort_terms=tuple(self._host.parameters['effort_terms']),
            observer=self._parameters['observer'],
            **{each.name: self._parameters[each.name] for each in fields(ObserverParameters)},
        )

        def task() -> OffsetUpdate:
            # Not at the start of nodes: it takes 30 ms and 2 MB.
            from screw_dynamics_ros.core.identification.recording import JointRecording
            from screw_dynamics_ros.core.identification.residual_fit import fit_residual

            robot: Robot = pickle.loads(context.robot)
            robot.gravity = context.gravity
            recording = JointRecording(t, q, v, tau, bodies)
            fit = fit_residual(robot, [recording], settings)
            save(fit.model)
            errors = zip(fit.joint_names, fit.before.tolist(), fit.after.tolist())
            text = ', '.join(f'{name} {a:.3g} to {b:.3g}' for name, a, b in errors if a == a)
            return OffsetUpdate(None, fit.model, text='; '.join([text, *map(str, fit.findings)]))

        return task

    @property
    def _current_conditions(self) -> str:
        """Conditions that stay the same during a recording, as a text."""
        given = self._host.parameters['effort_terms'], self._host.payloads.active_bodies()
        return f'{given} {self._host.gravity}'

    @property
    def _progress(self) -> str:
        record = self.record
        q = record.arrays[1]
        limits = q.min(axis=0, initial=np.inf), q.max(axis=0, initial=-np.inf)
        ranges = zip(self._model.joints, *limits)
        return (
            f'{record.recorded * 1e-9:.0f} of {record.duration * 1e-9:g} s, {record.count} states, '
            + ', '.join(f'{name} {low:.2f} to {high:.2f}' for name, low, high in ranges)
        )

    def report(self, status: Status) -> None:
        """Report the progress of a recording, with the range of each joint, or why it ended."""
        self.advance()
        if self._is_recording:
            status.values['residual training'] = self._progress
        if self._fault:
            status.warn(self._fault)
