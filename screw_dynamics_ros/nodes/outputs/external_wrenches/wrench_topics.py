# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of external torques and wrenches of one robot; only finite numbers are published."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core.arms.inverse.manipulability import freedoms
from screw_dynamics_ros.core.compile.typed.functions import Floats
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.observers.steps import are_finite
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.externals import MONOTONIC
from screw_dynamics_ros.ros.data_path.loop import compiled_step, seconds, time_of
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics.channel import NO_OUTPUT, Channel
from screw_dynamics_ros.ros.topics.channel_record import (
    CALL,
    NOT_VALID,
    POSITIVE,
    TRUE,
    VALID,
    Gate,
)
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..kinematics.singularity_measures import random_samples
from ..quantity_messages import message_of
from . import observable_step
from .observable_wrenches import ObservableWrench
from .output_filters import BANDS
from .residual_step import fill_confidence
from .tare_service import Tare
from .torque_covariance import TorqueCovariance, fill_torque_covariance
from .torque_observer import TorqueObserver
from .wrench_plan import WrenchPlan


class FiniteCheck(Record):
    """Checks whether the numbers of an output are finite, and records when they are not.

    Attributes
    ----------
    numbers : array
    count, last : int, float
        How often they were not, and when they were not last, on the monotonic clock [s].
    worst, effort : int, float
        The joint with the largest effort then, and this effort.

    Parameters
    ----------
    topic : str
    numbers : array
    mapper : JointStateMapper
        Provides the efforts for the report.
    """

    numbers: Floats
    count: int
    last: float
    worst: int
    effort: float

    def __init__(self, topic: str, numbers: Array, mapper: JointStateMapper) -> None:
        self._topic, self._mapper, self.numbers = topic, mapper, numbers
        self.last = -math.inf

    def report(self, status: Status) -> None:
        """Report messages that were not published recently, and why."""
        if time.monotonic() - self.last < statuses.INCIDENT_HOLD_S:
            status.warn(
                f'not published because numbers are not finite: {self._topic}, '
                f'{self.count} times so far '
                f'(effort {self.effort:.3g} at {self._mapper.joints[self.worst]})'
            )


@compiled_step
def check_finite(f: FiniteCheck, loop: LoopRecord) -> int:
    """Check the numbers of the current state."""
    if are_finite(f.numbers, len(f.numbers)):
        return VALID
    n = len(loop.state) // 3
    f.worst = 0
    for k in range(n):
        if abs(loop.state[2 * n + k]) > abs(loop.state[2 * n + f.worst]):
            f.worst = k
    f.effort = loop.state[2 * n + f.worst]
    f.count += 1
    f.last = seconds(time_of(loop, MONOTONIC))
    return NOT_VALID


class WrenchTopics:
    """Topics of external torques, wrenches, their covariances and observability.

    Parameters
    ----------
    model : RunningModel
    mapper : JointStateMapper
    plan : WrenchPlan
    publishers : Publishers
    parameters : Parameters
    observer : TorqueObserver
    tare : Tare
    prefix : str
        Prefix of frames in messages.

    Attributes
    ----------
    channels : list of Channel
    torque_covariance : TorqueCovariance
        Covariance of the filtered external torques.
    """

    def __init__(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        plan: WrenchPlan,
        publishers: Publishers,
        parameters: Parameters,
        observer: TorqueObserver,
        tare: Tare,
        prefix: str,
    ) -> None:
        self._model, self._mapper, self._publishers = model, mapper, publishers
        self._parameters, self._observer, self._prefix = parameters, observer, prefix
        self._tare, self._settled = tare, (Gate(TRUE, observer.settled),)
        self.channels: list[Channel] = []
        self._checks: list[FiniteCheck] = []
        self._wrenches: dict[str, ObservableWrench] = {}
        self.torque_covariance = self._covariance(plan, 0)
        self._add_torques(plan)
        samples = random_samples(model)
        for number, link in enumerate(plan.contacts, 1):
            self._add_wrench(link, number, plan, samples)

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        self.torque_covariance.use_parameters()
        for wrench in self._wrenches.values():
            wrench.use_parameters()

    def report_observability(self, status: Status) -> None:
        """Report the observable directions of the wrenches in the current state."""
        with STATE_LOCK:  # the compiled loop writes the same decomposition
            for link, wrench in self._wrenches.items():
                status.values[f'{link} observable directions'] = f'{wrench.seen.rank} of 6' + (
                    ', near a singularity' if wrench.is_near_singular else ''
                )

    def report(self, status: Status) -> None:
        """Report messages that were not published recently because they were not finite."""
        for check in self._checks:
            check.report(status)

    def _add_torques(self, plan: WrenchPlan) -> None:
        """Add the topics of external torques."""
        joints = self._model.joints
        kind, template = message_of('external_torque', joints, joints)
        self._add(kind, 'external_torque', template, plan.torque)
        kind, template = message_of('external_torque_covariance', joints, joints)
        self.torque_covariance.covariance = template.array(0)
        self._add(
            kind,
            'external_torque_covariance',
            template,
            gates=(Gate(CALL, self.torque_covariance, fill_torque_covariance),),
        )
        kind, efforts = message_of('residual', joints, joints)
        self._add_of_positions(kind, 'residual', efforts, ())
        self._tare.copy_offset_to(efforts.array(0))
        kind, template = message_of('residual_confidence', joints, joints)
        self._add_of_positions(
            kind,
            'residual_confidence',
            template,
            (Gate(CALL, self._tare.record, fill_confidence),),
        )
        self._tare.record.confidence = self.channels[-1].arrays[0]

    def _add_wrench(
        self, link: str, number: int, plan: WrenchPlan, samples: list[dict[Any, Array]]
    ) -> None:
        """Add the topics of one link; `number` is the index of its signal."""
        contact, model, parameters = plan.contacts[link], self._model, self._parameters
        reduced = ObservableWrench(
            model,
            self._mapper,
            contact,
            plan.filters.signals[0].value,
            (self.torque_covariance, self._covariance(plan, number)),
            parameters,
            plan.filters.parameters[BANDS],
            freedoms(np.array([sample[contact.jacobian] for sample in samples])),
        )
        self._wrenches[link] = reduced
        frame, token = self._prefix + link, plan.frames.tokens[link]
        kind, wrench = message_of('wrench', model.joints, model.joints, frame)
        matrix, square = message_of('wrench_covariance', (), ())
        gate = Gate(POSITIVE, model.results[contact.pivots]) if contact.joints >= 6 else NO_OUTPUT
        self._add(kind, f'wrench/{token}', wrench, contact.wrench, gates=(gate,))
        reduced_wrench, (_, validity) = wrench.copy(), message_of('wrench_validity', (), ())
        reduced.write_into(validity.array(0), reduced_wrench.array(0), square.array(0))
        self._add(
            matrix,
            f'wrench_covariance/{token}',
            square,
            gates=(gate, Gate(CALL, reduced, observable_step.fill_covariance)),
        )
        self._add(
            kind,
            f'reduced_wrench/{token}',
            reduced_wrench,
            gates=(Gate(CALL, reduced, observable_step.fill_reduced),),
        )
        self._add_of_positions(
            matrix,
            f'wrench_validity/{token}',
            validity,
            (Gate(CALL, reduced, observable_step.fill_validity),),
        )

    def _covariance(self, plan: WrenchPlan, number: int) -> TorqueCovariance:
        """Return the covariance of torques after the filters of signals 0 and `number`."""
        return TorqueCovariance(
            self._model,
            self._mapper,
            self._observer,
            plan.observer,
            [plan.filters.steps[k] for k in sorted({0, number})],
            self._tare.record,
        )

    def _add(
        self,
        kind: type,
        name: str,
        template: Template,
        output: Formula | None = None,
        *,
        gates: Sequence[Gate] = (),
    ) -> None:
        """Add a topic that is published if the observer has settled and numbers are finite.

        The numbers are those of an output of the kernel, or what the gates compute.
        """
        publisher, numbers = self._publishers.get(kind, f'~/{name}'), template.array(0)
        is_finite = FiniteCheck(publisher.topic_name, numbers, self._mapper)
        self._checks.append(is_finite)
        channel = Channel(
            publisher,
            template,
            {} if output is None else {output: numbers},
            name=name,
            velocity=True,
            effort=True,
            gates=(*self._settled, *gates, Gate(CALL, is_finite, check_finite)),
            rank=int(output is None),
        )
        self.channels.append(channel)

    def _add_of_positions(
        self,
        kind: type,
        name: str,
        template: Template,
        gates: Sequence[Gate],
    ) -> None:
        """Add a topic that requires positions only."""
        publisher = self._publishers.get(kind, f'~/{name}')
        self.channels.append(Channel(publisher, template, name=name, gates=gates, rank=1))
