# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The services `~/tare` and `~/reset`: which external torque is taken as zero.

The map of residuals, if there is one, gives the residual for the present pose; it is subtracted,
and a constant that `~/tare` sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.output_group import Stage
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.outputs.external_wrenches.external_torque import external_torque
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_offsets import ResidualOffsets
from screw_dynamics_ros.nodes.outputs.external_wrenches.tare import TareStates
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.status import Status


class Tare:
    """The torques that are taken as zero, and how they are set.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With the values of `tare.TABLE`.
    reset : callable
        What `~/reset` does besides.
    effort_terms : callable
        Returns the parameter of that name.

    Attributes
    ----------
    residuals : ResidualOffsets
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        reset: Callable[[], None],
        effort_terms: Callable[[], Sequence[str]],
    ) -> None:
        self._reset = reset
        self._model: RunningModel | None = None
        self._mapper: JointStateMapper | None = None
        self._offset, self._constant, self._is_tared = np.zeros(0), np.zeros(0), False
        self.residuals = ResidualOffsets(
            node, parameters, self.mean_torque, self._on_map, effort_terms
        )
        self._states = TareStates(parameters)
        node.create_service(Trigger, '~/tare', self._on_tare)
        node.create_service(Trigger, '~/reset', self._on_reset)

    def bind(self, model: RunningModel, mapper: JointStateMapper, offset: Array) -> None:
        """Adopt a new model, which reads `offset` (n,); another robot starts without tare."""
        is_new = mapper is not self._mapper
        self._offset, self._model, self._mapper = offset, model, mapper
        if is_new:
            self._constant, self._is_tared = np.zeros(len(offset)), False
            self._states.forget()
        self.residuals.bind(model, mapper)
        self._set_offset()

    def stage(self) -> Stage:
        """Return what acts on each joint state."""
        return Stage(prepare=self._follow_pose, observe=self._states.observe)

    def _follow_pose(self) -> None:
        """Take the residual of the present pose, before anything is computed for it."""
        self.residuals.adopt()
        if self.residuals.map is not None:
            self._set_offset()

    def _set_offset(self) -> None:
        """Write what is taken as zero where the program reads it."""
        fitted = self.residuals.map
        self._offset[:] = self._constant
        if fitted is not None and self._mapper is not None:
            self._offset += fitted.residual(self._mapper.q)

    def _on_map(self) -> None:
        """Follow another map: a new one includes the tare before it."""
        if self.residuals.map is not None:
            self._constant[:], self._is_tared = 0.0, False
        self._set_offset()

    def fill_offset(self, numbers: Array) -> bool:
        """Write what is taken as zero in the present state, (n,); always valid."""
        numbers[:] = self._offset
        return True

    def update_parameters(self, changed: Collection[str]) -> None:
        """Apply the parameters, of which some have changed."""
        self._states.resize()
        if 'residual_map' in changed:
            self.residuals.load()

    def report(self, status: Status) -> None:
        """Say whether there is a tare."""
        status.values['tared'] = 'yes' if self._is_tared else 'no'
        self.residuals.report(status)

    def mean_torque(self, service: str) -> Array:
        """Return the mean external torque (n,) of the latest states, without tare.

        Raises `ScrewDynamicsError` if it cannot be estimated or is not at rest, for `service`.
        """
        if self._model is None or self._mapper is None:
            raise ScrewDynamicsError('no robot description so far; see /diagnostics')
        model = self._model
        fault = self._states.fault(self._mapper, model.robot, service)
        if fault:
            raise ScrewDynamicsError(fault)
        output, untared = external_torque(model.robot), np.zeros_like(self._offset)
        mean: Array = np.mean(
            [
                model.results_at(q, v, measured=tau, offset=untared)[output]
                for q, v, tau in self._states.states
            ],
            axis=0,
        )
        for name, torque in zip(model.joints, mean.tolist()):
            if not math.isfinite(torque):
                raise ScrewDynamicsError(
                    f'the mean external torque of {name} is {torque}: the efforts of the driver '
                    'are too large to compute with'
                )
        return mean

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._tare()
            response.success = True
        except ScrewDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _tare(self) -> str:
        """Take the present external torque as zero; return it as a text.

        Raises `ScrewDynamicsError`, with nothing changed, if it cannot be estimated or is not at
        rest.
        """
        offset = self.mean_torque('~/tare')
        assert self._model is not None
        assert self._mapper is not None
        fitted = self.residuals.map
        self._constant[:] = offset if fitted is None else offset - fitted.residual(self._mapper.q)
        self._is_tared = True
        self._set_offset()
        return f'offset of {len(self._states.states)} states: ' + ', '.join(
            f'{name} {torque:.4g}' for name, torque in zip(self._model.joints, offset)
        )

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._constant[:], self._is_tared = 0.0, False
        self.residuals.drop()
        self._set_offset()
        self._states.forget()
        self._reset()
        response.success, response.message = True, 'no offset'
        return response
