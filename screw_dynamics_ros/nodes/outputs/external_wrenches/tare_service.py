# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The services `~/tare` and `~/reset`: offsets of external torques.

The offset is the residual of the active map or model, plus a constant from `~/tare`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.core.errors import NotAtRestError
from screw_dynamics_ros.core.estimation.residual_offset import set_offset
from screw_dynamics_ros.core.estimation.steadiness import two_levels
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep, python_step
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.status import Status

from .external_torque import external_torque
from .residual_offsets import ResidualOffsets
from .residual_step import TorqueOffset, copy_offset, follow_state
from .tare import TareStates

MIN_LOAD_STEP = 0.05  # between two loads, of the limit of efforts
UNKNOWN_LIMIT = 20.0  # of efforts, without one in the description [N m, N]


class Tare:
    """The offset of external torques, and the services that set it.

    Parameters
    ----------
    serve : callable
        Offers a service of the node, see `Services.serve`.
    parameters : Parameters
        With the rows of `tare.TABLE`.
    reset, changed : callable
        Further actions of `~/reset`, and when another map or model becomes active.
    effort_terms : callable
        Returns the parameter of that name.

    Attributes
    ----------
    residuals : ResidualOffsets
    record : TorqueOffset
    """

    def __init__(
        self,
        serve: Callable[..., None],
        parameters: Parameters,
        reset: Callable[[], None],
        changed: Callable[[], None],
        effort_terms: Callable[[], Sequence[str]],
    ) -> None:
        self._reset, self._changed = reset, changed
        self._model: RunningModel | None = None
        self.record = TorqueOffset()
        self.record.constant = self.record.offset = self.record.copy = np.zeros(0)
        self._mapper: JointStateMapper | None = None
        self._is_tared = False
        self.residuals = ResidualOffsets(
            serve, parameters, self.mean_torque, self._on_map, effort_terms
        )
        self._states = TareStates(parameters)
        serve('Trigger', '~/tare', lambda *_: self._tare())
        serve('Trigger', '~/reset', lambda *_: self._forget())

    def bind(self, model: RunningModel, mapper: JointStateMapper, offset: Array) -> None:
        """Adopt a new model, which reads `offset` (n,); a new robot starts without tare."""
        is_new = mapper is not self._mapper
        self._model, self._mapper = model, mapper
        self.record.offset = self.record.copy = offset
        if is_new:
            self.record.constant, self._is_tared = np.zeros(len(offset)), False
            self._states.forget()
        self.residuals.bind(model, mapper)
        self._set_offset()

    def stages(self) -> list[Stage]:
        """Return the stages that process each joint state."""
        return [
            Stage(
                python_step('the residual map', self.residuals.adopt),
                is_needed=lambda: self.residuals.is_preparing,
            ),
            Stage(
                StateStep(follow_state, lambda: self.record),
                observe=self._states.observe,
                is_needed=lambda: self.residuals.model is not None,
            ),
        ]

    def _set_offset(self) -> None:
        """Write the offset for the current state into the input of the program."""
        self.record.model = self.residuals.model
        if self._mapper is not None:
            set_offset(self.record, self._mapper.q)
            copy_offset(self.record)

    def _on_map(self) -> None:
        """Adopt the active map; a new one includes the tare before it."""
        if self.residuals.model is not None:
            self.record.constant[:], self._is_tared = 0.0, False
        self._set_offset()
        self._changed()

    def copy_offset_to(self, numbers: Array) -> None:
        """Keep an array (n,) equal to the offset, until a new model is adopted."""
        self.record.copy = numbers
        numbers[:] = self.record.offset

    def update_parameters(self, changed: Collection[str]) -> None:
        """Apply the parameters; `changed` are the names of changed ones."""
        self._states.resize()
        if 'residual_map' in changed:
            self.residuals.load()

    def report(self, status: Status) -> None:
        """Report whether a tare is active."""
        status.values['tared'] = 'yes' if self._is_tared else 'no'
        self.residuals.report(status)

    def mean_torque(self, service: str) -> Array:
        """Return the mean external torque (n,) of the latest states, without tare.

        Raises `ScrewDynamicsError` with the name of the service if states are missing, moving
        or not finite, or if torques alternate between two values.
        """
        if self._model is None or self._mapper is None:
            raise ScrewDynamicsError('no robot description so far; see /diagnostics')
        model = self._model
        fault = self._states.fault(self._mapper, model.robot, service)
        if fault:
            raise ScrewDynamicsError(fault)
        output, untared = external_torque(model.robot), np.zeros_like(self.record.offset)
        torques = np.array(
            [
                model.results_at(q, v, measured=tau, offset=untared)[output]
                for q, v, tau in self._states.states
            ]
        )
        mean: Array = torques.mean(axis=0)
        for name, torque in zip(model.joints, mean.tolist()):
            if not math.isfinite(torque):
                raise ScrewDynamicsError(
                    f'the mean external torque of {name} is {torque}: the efforts of the driver '
                    'are too large'
                )
        check_steady(torques, model)
        return mean

    def _tare(self) -> str:
        """Set the offset to the current external torque; return it as a text.

        Raises `ScrewDynamicsError` as `mean_torque`, without a change.
        """
        offset = self.mean_torque('~/tare')
        assert self._model is not None
        assert self._mapper is not None
        fitted = self.residuals.model
        self.record.constant[:] = (
            offset if fitted is None else offset - fitted.residual(self._mapper.q)
        )
        self._is_tared = True
        self._set_offset()
        return f'offset of {len(self._states.states)} states: ' + ', '.join(
            f'{name} {torque:.4g}' for name, torque in zip(self._model.joints, offset)
        )

    def _forget(self) -> str:
        """Remove the offset."""
        self.record.constant[:], self._is_tared = 0.0, False
        self.residuals.drop()
        self._set_offset()
        self._states.forget()
        self._reset()
        return 'no offset'


def check_steady(torques: Array, model: RunningModel) -> None:
    """Raise `NotAtRestError` if external torques (N, n) alternate between two values.

    Their difference must exceed `MIN_LOAD_STEP` of the limit of efforts: drivers have steps.
    """
    described = {joint.name: joint for joint in model.robot.description.joints}
    joints = [described[name] for name in model.joints]
    limits = np.array([joint.limits.effort for joint in joints])
    known = np.isfinite(limits) & (limits > 0.0)
    levels = two_levels(torques, MIN_LOAD_STEP * np.where(known, limits, UNKNOWN_LIMIT))
    if levels is not None:
        joint = joints[levels.place]
        quantity = f'the external torque of {joint.name}'
        raise NotAtRestError(levels.fault(quantity, joint.kind.effort_unit, 'joint states'))
