"""Outputs of the node `wrench_estimator`: external torques and contact wrenches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import smallest_singular_value
from screw_dynamics_ros.core.inverse.manipulability import freedoms
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.output_group import Channel, Plan
from screw_dynamics_ros.nodes.model.running_model import Model
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.outputs import (
    marker_topic,
    output_filters,
    tare,
    torque_observer,
    wrench_markers,
)
from screw_dynamics_ros.nodes.outputs.contacts import Contact, contact_at, is_observable
from screw_dynamics_ros.nodes.outputs.external_torque import effort_terms, external_torque
from screw_dynamics_ros.nodes.outputs.finite_check import Finite, are_finite
from screw_dynamics_ros.nodes.outputs.marker_topic import MarkerTopic, Picture
from screw_dynamics_ros.nodes.outputs.observable_wrenches import (
    VALIDITY_LABELS,
    ComputedChannel,
    ObservableWrench,
)
from screw_dynamics_ros.nodes.outputs.output_filters import (
    BANDS,
    FilterPlan,
    OutputFilters,
    filtered,
    torques_outside_band,
)
from screw_dynamics_ros.nodes.outputs.singularity_measures import random_samples
from screw_dynamics_ros.nodes.outputs.tare_service import Tare
from screw_dynamics_ros.nodes.outputs.torque_covariance import TorqueCovariance
from screw_dynamics_ros.nodes.outputs.torque_observer import ObserverPlan, TorqueObserver
from screw_dynamics_ros.nodes.parameters import frame_parameters
from screw_dynamics_ros.nodes.parameters.frame_parameters import Frames
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import WRENCH_ROWS
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.publishers import Publishers

TABLE = (
    frame_parameters.specification('the wrench of a contact there is'),
    Specification(
        'damping',
        0.001,
        'Damping of the least squares [m]: a direction with singular value s is scaled by s^2 / '
        '(s^2 + damping^2).',
        minimum=0.0,
    ),
    Specification(
        'characteristic_length',
        0.2,
        'Length by which moments are divided to be comparable with forces [m]; scales the '
        'rotational rows of the Jacobian before the computation of its singular values.',
        minimum=1e-6,
    ),
    Specification(
        'singularity_threshold',
        0.02,
        'Smallest singular value of the scaled Jacobian [m] above which a wrench is published.',
        minimum=0.0,
    ),
    *torque_observer.TABLE,
    *output_filters.TABLE,
    *tare.TABLE,
    *marker_topic.TABLE,
    *wrench_markers.TABLE,
)


#: Parameters that only decide how things are drawn.
DRAWN = {each.name for each in (*marker_topic.TABLE, *wrench_markers.TABLE)}


@dataclass(frozen=True)
class WrenchPlan(Plan):
    """What `WrenchEstimator` publishes of a robot, and the torques (n,) taken as zero."""

    observer: ObserverPlan = field(kw_only=True)
    filters: FilterPlan = field(kw_only=True)
    torque: Formula = field(kw_only=True)  # what is published
    frames: Frames = field(kw_only=True)
    contacts: dict[str, Contact] = field(kw_only=True)
    offset: Array = field(kw_only=True)


class WrenchEstimator:
    """External torques, wrenches, what is observable of them, markers, `~/tare` and `~/reset`.

    Torques and wrenches are those of the environment on the robot. A wrench is at the origin of its
    frame and resolved in it, and assumes that all external torque comes from a contact there.
    """

    _model: Model  # as long as there are frames
    _mapper: JointStateMapper

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._markers = MarkerTopic(self._publishers, host.drawing)
        self._frames: Frames | None = None
        self._contacts: dict[str, Contact] = {}
        self._wrenches: dict[str, ObservableWrench] = {}
        self._checks: list[Finite] = []
        self._options = np.zeros(3)  # damping, characteristic length, threshold
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._tare = Tare(node, self._parameters, host.states)
        self._observer = TorqueObserver(self._parameters, host.states)
        self._filters = OutputFilters(self._parameters, host.states)
        self._apply({})

    def plan(self, robot: Robot) -> WrenchPlan:
        """Choose the frames."""
        chosen = Frames.choose(self._parameters['frames'], robot)
        offset = np.zeros(len(scalar_joints(robot)))
        observer = self._observer.plan(robot)
        observed = observer.observation
        signals = [filtered('torque', observed.torque, len(offset), ())]
        contacts: dict[str, Contact] = {}
        for link in chosen.tokens:
            contacts[link] = contact_at(robot, link, signals[0].value, signals)
            signals.append(contacts[link].signal)
        filters = FilterPlan.of(signals, self._filters.bands)
        published = Formula('torques outside band', (signals[0].value, BANDS), torques_outside_band)
        results = (
            published,
            signals[0].value,
            observed.state,
            observed.covariance,
            observed.inertia,
            external_torque(robot),
        )
        return WrenchPlan(
            [*effort_terms(robot).values(), *(c.jacobian for c in contacts.values())],
            [
                *(result for result in results if result is not None),
                *(signal.state for signal in signals),
                *(output for c in contacts.values() for output in (c.wrench, c.pivots)),
            ],
            {
                'offset': offset,
                'contact': self._options,
                'effort_shares': self._host.effort_shares,
                **observer.parameters,
                **filters.parameters,
            },
            observer=observer,
            filters=filters,
            torque=published,
            frames=chosen,
            contacts=contacts,
            offset=offset,
        )

    def bind(self, model: Model, mapper: JointStateMapper, plan: WrenchPlan) -> list[Channel]:
        """Take over a new model; another robot starts without tare."""
        self._model, self._mapper = model, mapper
        self._frames, self._contacts, self._wrenches = plan.frames, plan.contacts, {}
        self._tare.bind(model, mapper, plan.offset)
        self._channels, self._checks = [], []
        self._observer.bind(model, mapper, plan.observer)
        self._filters.bind(model, mapper, plan.filters, self._validities())
        if model.results:
            self._bind_torques(plan)
            samples = random_samples(model)
            for number, link in enumerate(self._contacts):
                self._bind_wrench(link, number + 1, plan, samples)
        self._channels += self._markers.bind(self._pictures(), self._parameters['marker_rate'])
        return self._channels

    def _bind_torques(self, plan: WrenchPlan) -> None:
        """Add the topics of external torques."""
        joints = self._model.joints
        topic = '~/external_torque'
        self._add(JointState, topic, templates.joint_efforts(joints), plan.torque)
        covariance = self._covariance(plan, 0)
        self._add_computed(
            Float64MultiArray,
            f'{topic}_covariance',
            templates.matrix(joints, joints),
            covariance.fill,
        )

    def _bind_wrench(
        self, link: str, number: int, plan: WrenchPlan, samples: list[dict[Any, Array]]
    ) -> None:
        """Add the topics of one link, whose wrench is the signal of this number."""
        contact, model, parameters = plan.contacts[link], self._model, self._parameters
        observable = partial(is_observable, contact, model.results[contact.pivots])
        reduced = self._wrenches[link] = ObservableWrench(
            model,
            self._mapper,
            contact,
            plan.filters.signals[0].value,
            self._covariance(plan, number),
            parameters,
            self._filters.bands,
            freedoms(np.array([sample[contact.jacobian] for sample in samples])),
        )
        frame, token = self._host.parameters['frame_prefix'] + link, plan.frames.tokens[link]
        wrench, square = templates.wrench(frame), templates.matrix(WRENCH_ROWS, WRENCH_ROWS)
        self._add(WrenchStamped, f'~/wrench/{token}', wrench, contact.wrench, observable)
        self._add_computed(
            Float64MultiArray,
            f'~/wrench_covariance/{token}',
            square,
            lambda numbers: observable() and reduced.fill_covariance(numbers),
        )
        self._add_computed(
            WrenchStamped, f'~/reduced_wrench/{token}', wrench.copy(), reduced.fill_reduced
        )
        self._add_computed(
            Float64MultiArray,
            f'~/wrench_validity/{token}',
            templates.matrix(VALIDITY_LABELS),
            reduced.fill_validity,
            of_positions=True,
        )

    def _covariance(self, plan: WrenchPlan, number: int) -> TorqueCovariance:
        """Return the covariance of torques that pass the filters of the signals 0 and `number`."""
        return TorqueCovariance(
            self._model,
            self._mapper,
            self._parameters,
            self._observer,
            plan.observer.observation,
            [plan.filters.steps[k] for k in sorted({0, number})],
        )

    def _validities(self) -> list[Callable[[], bool]]:
        """Return what tells whether the torques and the wrenches may be used."""
        return [
            lambda: self._observer.is_settled,
            *(
                lambda contact=contact: (
                    self._observer.is_settled
                    and is_observable(contact, self._model.results[contact.pivots])
                )
                for contact in self._contacts.values()
            ),
        ]

    def _add(
        self,
        kind: type,
        topic: str,
        template: Template,
        output: Formula,
        is_valid: Callable[[], bool] = lambda: True,
    ) -> None:
        """Add a topic whose numbers are one output, published when they are finite and valid."""
        publisher, numbers = self._publishers.get(kind, topic), template.array(0)
        is_finite = Finite(publisher.topic_name, numbers, self._mapper)
        self._checks.append(is_finite)
        self._channels.append(
            Channel(
                publisher,
                template,
                {output: numbers},
                velocity=True,
                effort=True,
                is_valid=lambda: self._observer.is_settled and is_valid() and is_finite(),
            )
        )

    def _add_computed(
        self,
        kind: type,
        topic: str,
        template: Template,
        fill: Callable[[Array], bool],
        of_positions: bool = False,
    ) -> None:
        """Add a topic whose numbers `fill` writes, if they may be published, outside the kernel.

        They need nothing but positions, or velocities, efforts and a settled observer as well.
        """
        publisher, numbers = self._publishers.get(kind, topic), template.array(0)
        is_finite = Finite(publisher.topic_name, numbers, self._mapper)
        if of_positions:
            channel = ComputedChannel(publisher, template, {}, is_valid=lambda: fill(numbers))
        else:
            self._checks.append(is_finite)
            channel = ComputedChannel(
                publisher,
                template,
                {},
                velocity=True,
                effort=True,
                is_valid=lambda: self._observer.is_settled and fill(numbers) and is_finite(),
            )
        self._channels.append(channel)

    def status(self) -> Status:
        """Report the outputs, the tare, and frames too near to a singularity."""
        status = Status('outputs')
        if self._frames is None:
            return status
        self._frames.report(status)
        self._observer.report(status)
        for link, contact in self._contacts.items() if self._has_results() else ():
            value = smallest_singular_value(
                self._model.results[contact.jacobian], self._parameters['characteristic_length']
            )
            status.values[f'{link} smallest singular value [m]'] = f'{value:.6f}'
            if not is_observable(contact, self._model.results[contact.pivots]):
                status.report(Level.WARN, f'no wrench at {link}: ' + self._explain(contact, value))
        for check in self._checks:
            check.report(status)
        self._tare.report(status)
        statuses.report_channels(status, self._channels, self._host.mapper)
        return status

    def _pictures(self) -> list[Picture]:
        """Return what `~/markers` show."""
        prefix = self._host.parameters['frame_prefix']
        return [
            wrench_markers.wrench(
                prefix + link, self._parameters, partial(self._known_wrench, contact)
            )
            for link, contact in self._contacts.items()
            if self._model.results
        ]

    def _known_wrench(self, contact: Contact) -> Array:
        """Return the present wrench of a contact (6,), zero if it may not be shown."""
        return self._model.results[contact.wrench] if self._is_known(contact) else np.zeros(6)

    def _is_known(self, contact: Contact) -> bool:
        """Whether the present wrench of a contact may be shown."""
        mapper = self._mapper
        return (
            mapper.has_velocity
            and mapper.has_effort
            and self._observer.is_settled
            and is_observable(contact, self._model.results[contact.pivots])
            and are_finite(self._model.results[contact.wrench])
        )

    def _has_results(self) -> bool:
        """Whether there are present results."""
        return self._mapper.accepted > 0 and any(c.listened for c in self._channels)

    def _explain(self, contact: Contact, value: float) -> str:
        if contact.joints < 6:
            return (
                f'it is moved by {contact.joints} joints, and six are needed for the six '
                'components of a wrench'
            )
        return (
            f'near a singularity, smallest singular value {value:.4f} m is not above '
            f'singularity_threshold {self._parameters["singularity_threshold"]:.4f} m'
        )

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, values: dict[str, Any]) -> None:
        frame_parameters.check(values, self._host.model.robot if self._host.model else None)

    def _apply(self, values: dict[str, Any]) -> None:
        self._options[:] = [
            self._parameters[name]
            for name in ('damping', 'characteristic_length', 'singularity_threshold')
        ]
        self._observer.follow()
        self._filters.follow()
        if values.keys() & {'frames', 'observer'}:
            self._host.reload()
        elif values.keys() & DRAWN:
            self._markers.redraw(self._pictures(), self._parameters['marker_rate'])
        self._tare.resize()
        for wrench in self._wrenches.values():
            wrench.forget()
