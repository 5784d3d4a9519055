# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `dynamics`: torques, mass matrix, constraint wrenches and more."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.dynamics.feedforward import completed
from screw_dynamics_ros.core.estimation.effort_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    PAYLOAD,
    TERMS,
)
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.robot.actuated_robot import Source
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model import torque_terms
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.parts import Adopted, Plan, Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.model.torque_terms import TorqueTerms
from screw_dynamics_ros.nodes.parameters import constraint_parameters, payload_parameters
from screw_dynamics_ros.nodes.services.requests import DYNAMICS
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..quantity_messages import channel_of, numbers_of
from . import constraint_wrenches
from .commands import Commands
from .constraint_wrenches import ConstraintWrenches, Measured
from .reference import FollowedReference, follow

TABLE = (
    Specification(
        'joints',
        [''],
        'Order of the elements of ~/commands, as in the parameter joints of the controller that '
        'receives them. Empty: all movable joints in the order of the description.',
        rule='joints of the robot',
    ),
    Specification(
        'compensated_terms',
        [''],
        'Torques that the robot adds to its commands internally; ~/feedforward and ~/commands do '
        'not include them.',
        choices=TERMS,
    ),
    constraint_parameters.SPECIFICATION,
    *constraint_wrenches.TABLE,
)

#: Parameters that require a new model.
SHAPING = {
    'joints',
    constraint_parameters.SPECIFICATION.name,
    *(specification.name for specification in constraint_wrenches.TABLE),
}


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs for one robot, and the arrays of their parameters.

    Attributes
    ----------
    terms : TorqueTerms
    published : dict
        The outputs of `OUTPUTS` with a formula, as numbers of messages.
    order : tuple of str
        Joints of the commands; empty if the robot lacks some of them.
    absent : tuple of str
    reference : (4 n,) array
        See `reference_torques.GIVEN`.
    constraints : ConstraintWrenches
    """

    terms: TorqueTerms
    published: dict[str, Source]
    order: tuple[str, ...]
    absent: tuple[str, ...]
    reference: Array
    constraints: ConstraintWrenches


@dataclass(frozen=True, eq=False)
class DynamicsPlan(Plan):
    """The plan of `Dynamics` for one robot."""

    chosen: Outputs = field(kw_only=True)


class Dynamics:
    """Terms of the joint torques, `~/feedforward`, `~/commands`, mass matrix, constraint wrenches.

    Feedforward is the inverse dynamics of the reference. Without a reference it is the inverse
    dynamics of the measured motion at zero acceleration: gravity and Coriolis torques.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._adopted: Adopted[DynamicsPlan] | None = None
        self.shares = np.ones(len(TERMS))  # 0 for terms that the robot adds internally
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        constraint_parameters.read(self._parameters['constraints'])
        self._apply({})
        self.commands = Commands(node, host)
        host.endings.append(self.commands)
        self.reference = FollowedReference(node, self.commands.changed)
        host.serve(node, DYNAMICS, host.payloads.bodies)
        host.diagnostics.add(self._constraint_status, node)

    @property
    def outputs(self) -> Outputs | None:
        """Outputs of the active robot, None without a robot."""
        return self._adopted.plan.chosen if self._adopted is not None else None

    def plan(self, robot: Robot) -> DynamicsPlan:
        """Choose the order of the commands."""
        wanted, joints = tuple(self._parameters['joints']), scalar_joints(robot)
        motors = actuated(robot)
        absent = tuple(name for name in wanted if name not in joints)
        order = () if absent else wanted or motors.joint_names
        terms = torque_terms.torque_terms(robot)
        chosen = constraint_parameters.choose(self._parameters['constraints'], robot)
        if motors.has_loops and self._parameters['constraints']:
            raise ArgumentError(
                'constraints cannot be combined with loop_closures; clear one of them'
            )
        published = {
            row.name: getattr(terms, row.name) if row.name in TERMS else numbers_of(row.name, robot)
            for row in OUTPUTS.values()
            if row.node == 'dynamics' and row.formula and row.exists(robot)
        }
        outputs = Outputs(
            terms,
            published,
            order,
            absent,
            np.zeros(4 * len(joints)),
            ConstraintWrenches(*chosen, robot),
        )
        return DynamicsPlan(
            [*vars(terms).values(), *published.values()],
            parameters={'shares': self.shares, 'reference': outputs.reference},
            chosen=outputs,
        )

    def stages(self) -> list[Stage]:
        """Return the stages for each joint state: the reference first, the command last."""
        return [
            Stage(prepare=StateStep(follow, lambda: self.reference)),
            Stage(consume=self.commands.step(), is_needed=lambda: self.commands.is_listened),
        ]

    def bind(self, adopted: Adopted[DynamicsPlan]) -> list[Channel]:
        """Adopt a new model."""
        model, mapper, outputs = adopted.model, adopted.mapper, adopted.plan.chosen
        is_new = self._adopted is None or mapper is not self._adopted.mapper
        self._adopted = adopted
        self.reference.bind(model, mapper, outputs.reference)
        self._channels = []
        if model.results:
            terms = outputs.terms
            labels = actuated(model.robot).velocity_labels
            root = self._host.parameters['frame_prefix'] + model.robot.description.root
            for name, output in outputs.published.items():
                arguments = model.joints, labels, root
                self._channels.append(channel_of(self._publishers, name, arguments, output))
            self._channels += self.commands.bind(
                model,
                self._publishers,
                model.results[terms.feedforward],
                model.results[terms.weight],
                outputs.reference,
                mapper.state,
                outputs.order,
                is_new,
            )
            self._channels += outputs.constraints.bind(
                model,
                mapper,
                partial(self._moving_torques, model, terms),
                [*vars(terms).values()],
                self._publishers,
                self._host.parameters['frame_prefix'],
                self._parameters,
            )
        return self._channels

    def status(self) -> Status:
        """Report the outputs, the reference, and terms that the robot compensates."""
        status = Status('outputs')
        outputs = self.outputs
        if outputs is None:
            return status
        if outputs.absent:
            status.error(
                'no ~/commands: the robot has no joint '
                f'{shorten(outputs.absent)}; correct the parameter joints'
            )
        self.reference.report(status)
        status.values['feedforward follows'] = self.reference.source
        status.values['compensated by the robot'] = (
            ', '.join(self._parameters['compensated_terms']) or 'nothing'
        )
        status.values['order of ~/commands'] = ', '.join(outputs.order)
        self._host.payloads.report(status)
        payload_parameters.report(status, self._host.parameters)
        statuses.report_channels(status, self._channels, self._host.mapper)
        return status

    def _constraint_status(self) -> Status:
        outputs = self.outputs
        return outputs.constraints.status() if outputs is not None else Status('constraints')

    def _moving_torques(self, model: RunningModel, terms: TorqueTerms, state: Measured) -> Array:
        """Return the drive torques minus friction, (n,) [N m, N].

        Terms that measured efforts lack (`effort_terms`) are added.
        """
        if self._parameters['constraint_torques'] == constraint_wrenches.MEASURED:
            shares = self._host.effort_shares
            lacking = {
                GRAVITY: state.results[terms.gravity],
                CORIOLIS: state.results[terms.coriolis],
            }
            if not shares[PAYLOAD]:
                lacking[PAYLOAD] = model.of_joints(
                    model.robot.payload_torques(
                        state.q, state.v, np.zeros_like(state.v), state.payload
                    )
                )
            friction = self._friction(model, state.tau, terms, state) if shares[FRICTION] else 0.0
            driven = state.tau - friction
            return completed(driven, [*lacking.values()], shares[[*lacking]])
        driven = state.results[terms.feedforward]
        driven = driven - self._friction(model, driven, terms, state)
        added = [state.results[getattr(terms, term)] for term in TERMS]
        return completed(driven, added, self.shares)

    @staticmethod
    def _friction(
        model: RunningModel, torques: Array, terms: TorqueTerms, state: Measured
    ) -> Array:
        """Return the friction in torques of drives (n,) in a state."""
        if not model.robot.tree.has_load_friction:
            return state.results[terms.friction]
        tau = model.whole_v(torques)
        return model.of_joints(tau - model.robot.transmitted_torques(state.v, tau))

    # --- callbacks ------------------------------------------------------------------------------

    def _check(self, values: dict[str, Any]) -> None:
        model = self._host.model
        constraint_parameters.check(values, model.robot if model is not None else None)
        if model is None:
            return
        for name in values.get('joints', ()):
            if name not in model.joints:
                raise UnknownNameError(
                    f'joints: the robot has no joint {name!r}; it has {shorten(model.joints, 30)}'
                )

    def _apply(self, values: dict[str, Any]) -> None:
        compensated = self._parameters['compensated_terms']
        self.shares[:] = [term not in compensated for term in TERMS]
        if 'compensated_terms' in values:
            self.commands.blend()
        if values.keys() & SHAPING:
            self._host.reload()
