# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of every model node, converted for the processing of joint states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.ros2_control import read_condition
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.ros.compatibility import can_call_after_parameters_are_set
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.parameters import Parameters

from ..model.actuated import actuated
from ..model.payloads import Payloads
from ..model.running_model import RunningModel
from ..parameters import (
    base_parameters,
    controller_topic_parameters,
    payload_parameters,
    shared_parameters,
    state_parameters,
)
from ..parameters.gravity_parameters import PARAMETER
from ..parameters.per_joint import effort_calibration

PAYLOAD = {specification.name for specification in payload_parameters.TABLE}


class ModelParameters:
    """Checks, applies and distributes the parameters of `shared_parameters`.

    Parameters
    ----------
    node : rclpy.node.Node
        Owns the parameters.
    model : callable
        Returns the active model, or None. Names are checked against its robot, even while another
        one is being compiled, because accepted values take effect immediately.
    payloads : Payloads
        Receives the payload of the parameters.
    check, apply : callable
        Further checks, which raise `ScrewDynamicsError`, and further actions; both receive the
        changed values.

    Attributes
    ----------
    declared : Parameters
    gravity : (3,) array
        Always the same array.
    effort_shares : (5,) array
        1 for each of `TERMS` that measured efforts contain, else 0; always the same array.
    policies : Policies
        Policies for imperfect joint states.
    """

    def __init__(
        self,
        node: Node,
        model: Callable[[], RunningModel | None],
        payloads: Payloads,
        check: Callable[[Mapping[str, Any]], None],
        apply: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._node = node
        self._model, self._check_elsewhere, self._apply_elsewhere = model, check, apply
        self._step_callbacks: list[Callable[[], None]] = []
        self._payloads, self._transition = payloads, 0.0
        self.gravity = np.zeros(3)
        self.effort_shares = np.ones(len(TERMS))
        self.policies = Policies()
        self.declared = Parameters(node, shared_parameters.TABLE, self._check, self._apply)
        self._follow()
        self.gravity[:] = self.declared['gravity']
        base_parameters.check(self.declared, {})
        payload_parameters.check(self.declared, {}, None)
        controller_topic_parameters.check(self.declared.values)
        if self.declared['effort_condition']:
            read_condition(self.declared['effort_condition'])
        payload_parameters.put(self.declared, payloads)

    def on_step(self, callback: Callable[[], None]) -> None:
        """Register a callback for changes of gravity or payloads without a transition."""
        self._payloads.on_step(callback)
        self._step_callbacks.append(callback)

    def calibrate(self, mapper: JointStateMapper) -> None:
        """Set scale and offset of the efforts of a mapper; raises `ScrewDynamicsError`."""
        calibration = effort_calibration(self.declared.values, mapper.measured_joints)
        mapper.calibrate(*calibration)

    def set_payload(self, values: Mapping[str, Any], duration: float) -> str:
        """Set parameters of the payload, with a transition [s]; return '' or why it is refused."""
        self._transition = duration
        result = self._node.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in values.items()]
        )
        if not result.successful or can_call_after_parameters_are_set(self._node):
            self._transition = 0.0  # otherwise `_apply` runs later
        return str(result.reason)

    def _check(self, values: dict[str, Any]) -> None:
        """Refuse invalid values; raises `ScrewDynamicsError`."""
        model = self._model()
        state_parameters.policies(self.declared, values)
        base_parameters.check(self.declared, values)
        robot: Robot | None = None
        if model is not None:
            robot = model.robot
            effort_calibration({**self.declared.values, **values}, actuated(robot).sensed)
        payload_parameters.check(self.declared, values, robot)
        controller_topic_parameters.check({**self.declared.values, **values})
        self._check_elsewhere(values)

    def _follow(self) -> None:
        if self.declared['gravity_source'] == PARAMETER:
            self.gravity[:] = self.declared['gravity']
        self.effort_shares[:] = shared_parameters.effort_shares(self.declared)
        self.policies = state_parameters.policies(self.declared)

    def _apply(self, values: dict[str, Any]) -> None:
        self._follow()
        model = self._model()
        if model is not None:
            model.robot.gravity = self.gravity
        if values.keys() & PAYLOAD:
            duration, self._transition = self._transition, 0.0
            payload_parameters.put(self.declared, self._payloads, duration)
            self._payloads.keep_house()
        self._apply_elsewhere(values)
        steps = self.declared['gravity_source'] == PARAMETER
        if steps and values.keys() & {'gravity', 'gravity_source'}:
            for stepped in self._step_callbacks:
                stepped()
