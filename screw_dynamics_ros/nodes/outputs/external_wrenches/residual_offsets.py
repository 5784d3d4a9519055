# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals by pose or by state: `~/record_residual`, `~/fit_residual_map`, the active model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from screw_dynamics_ros.core import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.estimation.observers.table import described
from screw_dynamics_ros.core.estimation.residual_map import MIN_POSES
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros import data_folder
from screw_dynamics_ros.ros.data_folder import DataFolder
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK

from .residual_recordings import (
    MAX_FILE_BYTES,
    MAX_POSES,
    Recordings,
    model_text,
    read,
    write,
)

TABLE = (
    Specification(
        'residual_map',
        '',
        'YAML file of the recorded residuals, read at start and when this parameter changes, '
        'written by ~/fit_residual_map; or of a model by identify --residual. Empty: no file; '
        'recorded residuals are lost when the node exits.',
        rule=data_folder.RULE,
    ),
    data_folder.SPECIFICATION,
)
MIN_CONFIDENCE = 0.5  # lower confidence is reported


def check(values: dict[str, Any]) -> None:
    """Refuse names that are not plain file names; raises `ArgumentError`."""
    data_folder.check_name('residual_map', values.get('residual_map', ''))


@dataclass(frozen=True)
class OffsetUpdate:
    """Result of reading or fitting in the background.

    Attributes
    ----------
    recordings : Recordings or None
        None if nothing was recorded.
    model : ResidualModel or None
    fault : str
    is_unreadable : bool
        Whether the file belongs to another robot: it is not overwritten.
    text : str
        What /diagnostics report about the model.
    """

    recordings: Recordings | None = None
    model: ResidualModel | None = None
    fault: str = ''
    is_unreadable: bool = False
    text: str = 'a model of states'


class ResidualOffsets:
    """The recorded residuals of one robot and the map fitted to them, or the model of a file.

    Parameters
    ----------
    serve : callable
        Offers a service of the node, see `Services.serve`.
    parameters : Parameters
        With the rows of `TABLE`.
    mean_torque : callable
        Returns the mean external torque at rest without any offset, see `Tare.mean_torque`.
    changed : callable
        Called when the active model changes.
    effort_terms : callable
        Returns the parameter of that name.

    Attributes
    ----------
    model : ResidualModel or None
        The active map or model.
    """

    def __init__(
        self,
        serve: Callable[..., None],
        parameters: Parameters,
        mean_torque: Callable[[str], Array],
        changed: Callable[[], None],
        effort_terms: Callable[[], Sequence[str]],
    ) -> None:
        self._parameters, self._mean_torque, self._changed = parameters, mean_torque, changed
        self._effort_terms = effort_terms
        self._folder = DataFolder(parameters['data_folder'])
        self.model: ResidualModel | None = None
        self._mapper: JointStateMapper | None = None
        self._recordings = Recordings((), ())
        self._background: Latest[OffsetUpdate] = Latest('residuals')
        self._fault = self._text = ''
        self._is_loading = self._is_unreadable = self._has_model = False
        serve('Trigger', '~/record_residual', lambda *_: self._record())
        serve('Trigger', '~/fit_residual_map', lambda *_: self._fit())

    def bind(self, model: RunningModel, mapper: JointStateMapper) -> None:
        """Adopt a new model; for another robot the file is read again."""
        is_new = mapper is not self._mapper
        self._model, self._mapper = model, mapper
        if is_new:
            self._turning = model.robot.description.turns(model.joints)
            self.load()

    def load(self, is_active: bool = True) -> None:
        """Read the recordings of the file, if any, and activate their map."""
        if self._mapper is None:
            return
        self._recordings = Recordings(self._model.joints, tuple(self._effort_terms()))
        self._use(None)
        self._fault, name = '', self._parameters['residual_map']
        self._is_unreadable = self._has_model = False
        self._is_loading = bool(name)
        if not name:
            self._background.cancel()
            return
        nothing, turning, folder = self._recordings, self._turning, self._folder

        def task() -> OffsetUpdate:
            try:
                found = read(folder, name, nothing.joints, nothing.effort_terms)
            except ScrewDynamicsError as error:
                return OffsetUpdate(fault=str(error), is_unreadable=True)
            if isinstance(found, ResidualModel):
                return OffsetUpdate(model=found)
            enough = is_active and len(found) >= MIN_POSES
            return OffsetUpdate(found, found.fitted(turning) if enough else None)

        self.ask(task)

    def ask(self, task: Callable[[], OffsetUpdate]) -> None:
        """Run a task in the background; its errors are reported as faults of the map."""

        def attempt() -> OffsetUpdate:
            try:
                return task()
            except ScrewDynamicsError as error:
                return OffsetUpdate(fault=str(error))
            except Exception as error:  # any failure is reported
                return OffsetUpdate(fault=f'{type(error).__name__}: {error}')

        self._background.ask(attempt)

    @property
    def is_preparing(self) -> bool:
        """Whether a map is being prepared, or has not been adopted."""
        return self._background.is_busy or self._background.outcome is not None

    def adopt(self) -> None:
        """Adopt the result of the background task."""
        with STATE_LOCK:
            self._adopt()

    def _adopt(self) -> None:
        made = self._background.poll()
        if made is None:
            return
        self._fault, self._is_loading = made.fault, False
        self._is_unreadable = self._is_unreadable or made.is_unreadable
        if made.recordings is not None:
            self._recordings = made.recordings
        if made.model is not None:
            self._has_model = made.model.has_memory and bool(self._parameters['residual_map'])
            self._text = made.text
            self._use(made.model)

    def drop(self) -> None:
        """Deactivate the map; keep the recordings."""
        if self._is_loading:
            self.load(is_active=False)
        else:
            self._background.cancel()
            self._use(None)

    def check_model_file(self, service: str) -> None:
        """Raise `ScrewDynamicsError` if `model_writer` cannot write, or a task is active."""
        self.adopt()
        self._wait_for_background(service)
        name = self._parameters['residual_map']
        if name and (self._is_unreadable or self._recordings):
            raise ScrewDynamicsError(
                f'{name} contains other residuals and is not overwritten: set residual_map to '
                'another file'
            )

    def model_writer(self) -> Callable[[ResidualModel], None]:
        """Return a function that writes the file of a model, if any; raises `ArgumentError`."""
        folder, name = self._folder, self._parameters['residual_map']
        joints, terms = self._model.joints, tuple(self._effort_terms())

        def save(model: ResidualModel) -> None:
            if name:
                heading, _, text = model_text(joints, terms, model).partition('\n')
                folder.write(name, text, heading, MAX_FILE_BYTES)

        return save

    def _use(self, found: ResidualModel | None) -> None:
        if found is not self.model:
            self.model = found
            self._changed()

    # --- services ---------------------------------------------------------------------------------

    def _record(self) -> str:
        """Record the mean residual at the current pose; refused as by `Tare`."""
        self.adopt()
        residual = self._mean_torque('~/record_residual')
        assert self._mapper is not None
        self._wait_for_background('~/record_residual')
        if self._has_model:
            raise ScrewDynamicsError(
                f'{self._parameters["residual_map"]} is a model by identify --residual: set '
                'residual_map to another file to record poses'
            )
        if not self._recordings:
            self._recordings = Recordings(self._model.joints, tuple(self._effort_terms()))
        if not self._has_these_terms:
            raise ScrewDynamicsError(
                'the previous poses were recorded with effort_terms '
                f'{", ".join(self._recordings.effort_terms)}: set residual_map to another file to '
                'restart'
            )
        if len(self._recordings) >= MAX_POSES:
            raise ScrewDynamicsError(f'already {MAX_POSES} poses, the maximum')
        self._recordings = self._recordings.with_pose(self._mapper.q.copy(), residual)
        count = len(self._recordings)
        return f'pose {count}: ' + ', '.join(
            f'{name} {torque:.4g}' for name, torque in zip(self._model.joints, residual)
        )

    @property
    def _has_these_terms(self) -> bool:
        """Whether the efforts contain the same terms as in the recordings."""
        return sorted(self._effort_terms()) == sorted(self._recordings.effort_terms)

    def _wait_for_background(self, service: str) -> None:
        """Refuse a request while poses are read or fitted; raises `ScrewDynamicsError`."""
        if self._background.is_busy:
            raise ScrewDynamicsError(f'poses are being read or fitted: call {service} again later')

    def _fit(self) -> str:
        """Fit the map in the background, write the file, and activate it."""
        self.adopt()
        if self._mapper is None:
            raise ScrewDynamicsError('no robot description so far; see /diagnostics')
        self._wait_for_background('~/fit_residual_map')
        recordings, turning, folder = self._recordings, self._turning, self._folder
        name = self._parameters['residual_map']
        if self._has_model:
            self.load()
            return f'reading {name}; /diagnostics shows when the model is active'
        if len(recordings) < MIN_POSES:
            raise ScrewDynamicsError(
                f'{len(recordings)} poses are recorded, but a map needs at least {MIN_POSES}: call '
                '~/record_residual in more poses'
            )

        if self._is_unreadable:
            raise ScrewDynamicsError(
                f'{name} does not contain residuals of this robot and is not overwritten: set '
                'residual_map to another file'
            )

        def task() -> OffsetUpdate:
            found, fault = recordings.fitted(turning), ''
            if name:
                try:
                    write(folder, name, recordings)
                except ArgumentError as error:
                    fault = str(error)
            return OffsetUpdate(None, found, fault)

        self.ask(task)
        return f'fitting {len(recordings)} poses; /diagnostics shows when the map is active'

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        """Report the map, and its confidence at the current pose."""
        self.adopt()
        if self._mapper is None:
            return
        status.values['recorded residuals'] = f'{len(self._recordings)} poses'
        if self._fault:
            status.error(f'residual map: {self._fault}')
        if self.model is not None and not self._has_these_terms:
            status.warn(
                'the residual map was recorded with effort_terms '
                f'{", ".join(self._recordings.effort_terms)}: record it again'
            )
        if self._background.is_busy:
            status.values['residual map'] = 'in preparation'
        elif self.model is None:
            status.values['residual map'] = 'none'
        else:
            found = self.model
            if fault := found.other_observer(described(self._parameters.values)):
                status.warn(
                    f'{fault}: set these parameters, or fit it again (~/train_residual, or '
                    'identify --residual --observer)'
                )
            status.values['residual map'] = (
                f'active, {self._text}'
                if found.has_memory
                else f'active, length {found.map.length:g}, noise {found.map.noise:g}'
            )
            if self._mapper.accepted:
                with STATE_LOCK:  # the compiled loop uses the same memory
                    confidence = found.confidence(self._mapper.q)
                status.values['residual map confidence'] = f'{confidence:.3f}'
                if confidence < MIN_CONFIDENCE:
                    status.report(
                        Level.OK,
                        f'far from recorded poses, confidence of the residual map {confidence:.2f}',
                    )
