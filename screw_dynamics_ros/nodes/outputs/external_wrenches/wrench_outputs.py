# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the node `wrench_estimator`: external torques and contact wrenches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import smallest_singular_value
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.drawing import source_of
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.parts import Adopted, Stage
from screw_dynamics_ros.nodes.parameters import frame_parameters
from screw_dynamics_ros.nodes.parameters.frame_parameters import Frames
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from .. import marker_topic
from ..marker_topic import MarkerPlan, MarkerTopic
from . import (
    flag_parameters,
    friction_monitor,
    output_filters,
    residual_offsets,
    residual_training,
    support_contacts,
    tare,
    torque_observer,
    wrench_markers,
)
from .contact_flags import ContactFlags
from .contact_localization import ContactLocation
from .contacts import Contact, is_observable
from .friction_monitor import FrictionMonitor
from .output_filters import OutputFilters
from .residual_training import ResidualTraining
from .support_contacts import SupportContacts
from .tare_service import Tare
from .torque_observer import TorqueObserver
from .wrench_plan import WrenchPlan, wrench_plan
from .wrench_topics import WrenchTopics

TABLE = (
    frame_parameters.specification('a contact wrench is'),
    Specification(
        'damping',
        0.001,
        'Damping of the least-squares solution [m]: a direction with singular value s is scaled by '
        's^2 / (s^2 + damping^2).',
        minimum=0.0,
    ),
    Specification(
        'characteristic_length',
        0.2,
        'Length by which moments are divided for comparison with forces [m]; it scales the '
        'rotational rows of the Jacobian for its singular values.',
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
    *flag_parameters.TABLE,
    *friction_monitor.TABLE,
    *support_contacts.TABLE,
    *tare.TABLE,
    *residual_offsets.TABLE,
    *residual_training.TABLE,
    *marker_topic.TABLE,
    *wrench_markers.TABLE,
)


#: Parameters of markers only.
DRAWN = {each.name for each in (*marker_topic.TABLE, *wrench_markers.TABLE)}


class WrenchEstimator:
    """External torques, wrenches and their observability, markers, `~/tare` and `~/reset`.

    Torques and wrenches are those of the environment on the robot. A wrench acts at the origin of
    its frame, is expressed in this frame, and assumes that all external torques come from one
    contact at its link.
    """

    def __init__(self, node: Node, host: ModelHost) -> None:
        self._host = host
        self._publishers = Publishers(node)
        self._channels: list[Channel] = []
        self._markers = MarkerTopic(self._publishers, host.drawing)
        self._adopted: Adopted[WrenchPlan] | None = None
        self._topics: WrenchTopics | None = None
        self._options = np.zeros(3)  # damping, characteristic length, threshold
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._observer = TorqueObserver(self._parameters)
        self._filters = OutputFilters(self._parameters)
        self._flags = ContactFlags(self._parameters)
        self._friction = FrictionMonitor(self._parameters, lambda: host.effort_shares)
        self._location = ContactLocation(node, host, self._publishers, self._observer)
        self._support = SupportContacts(self._parameters)
        serve = partial(host.services.serve, owner=node)
        self._tare = Tare(
            serve,
            self._parameters,
            self._flags.reset,
            self._flags.update_parameters,
            lambda: host.parameters['effort_terms'],
        )
        self._training = ResidualTraining(serve, self._parameters, host, self._tare.residuals)
        self._check({})
        self._apply({})

    def plan(self, robot: Robot) -> WrenchPlan:
        """Choose the frames."""
        frames = Frames.choose(self._parameters['frames'], robot)
        return wrench_plan(
            robot,
            frames,
            self._observer.plan(robot),
            self._location.plan(robot),
            self._support.plan(robot),
            bands=self._filters.bands,
            options=self._options,
            effort_shares=self._host.effort_shares,
        )

    def stages(self) -> list[Stage]:
        """Return the stages for each joint state: the observer precedes the filters."""
        return [
            *self._observer.stages(),
            self._filters.stage(),
            *self._tare.stages(),
            self._support.stage(),
            self._friction.stage(),
            self._training.stage(),
        ]

    def bind(self, adopted: Adopted[WrenchPlan]) -> list[Channel]:
        """Adopt a new model; a new robot starts without tare."""
        self._adopted = adopted
        model, mapper, plan = adopted.model, adopted.mapper, adopted.plan
        self._tare.bind(model, mapper, plan.offset)
        self._observer.bind(model, mapper, plan.observer)
        pivots = [
            model.results.get(contact.pivots) if contact.joints >= 6 else None
            for contact in plan.contacts.values()
        ]
        self._filters.bind(
            model, mapper, plan.filters, self._observer.record, [np.zeros(0), *pivots]
        )
        self._friction.bind(model, mapper, plan.filtered_torque, self._observer.record)
        self._topics, self._channels = None, []
        if model.results:
            topics = self._topics = WrenchTopics(
                model,
                mapper,
                plan,
                self._publishers,
                self._parameters,
                self._observer,
                self._tare,
                self._host.parameters['frame_prefix'],
            )
            flags = self._flags.bind(
                model,
                mapper,
                plan.filtered_torque,
                self._publishers,
                self._observer.settled,
                self._tare.record,
                self._friction.record,
            )
            self._training.bind(
                model,
                model.results[plan.filtered_torque],
                self._flags.contact,
                self._observer.record,
            )
            contacts = self._location.bind(model, mapper, plan, topics.torque_covariance)
            support = self._support.bind(
                model,
                plan.support,
                plan.filtered_torque,
                topics.torque_covariance,
                self._observer,
                self._publishers,
                self._host.parameters['frame_prefix'],
            )
            self._channels = [*topics.channels, *flags, *contacts, *support]
        self._channels += self._markers.bind(self._pictures(), self._parameters['marker_rate'])
        return self._channels

    def status(self) -> Status:
        """Report the outputs, the tare, and frames near a singularity."""
        status, adopted = Status('outputs'), self._adopted
        if adopted is None:
            return status
        plan, results = adopted.plan, adopted.model.results
        # Whether results of the current state exist.
        is_present = adopted.mapper.accepted > 0 and any(c.listened for c in self._channels)
        plan.frames.report(status)
        self._observer.report(status)
        for link, contact in plan.contacts.items() if is_present else ():
            value = smallest_singular_value(
                results[contact.jacobian], self._parameters['characteristic_length']
            )
            status.values[f'{link} smallest singular value [m]'] = f'{value:.6f}'
            if not is_observable(contact, results[contact.pivots]):
                status.warn(f'no wrench at {link}: ' + self._explain(contact, value))
        if self._topics is not None:
            if is_present:
                self._topics.report_observability(status)
            self._topics.report(status)
            self._flags.report(status)
            self._friction.report(status)
            self._support.report(status)
        self._training.report(status)
        self._tare.report(status)
        self._location.report(status)
        statuses.report_channels(status, self._channels, self._host.mapper)
        return status

    def _pictures(self) -> list[MarkerPlan]:
        """Return the contents of `~/markers`."""
        adopted, prefix = self._adopted, self._host.parameters['frame_prefix']
        if adopted is None or not adopted.model.results:
            return []
        return [
            wrench_markers.wrench(
                prefix + link,
                self._parameters,
                source_of(
                    adopted.model,
                    contact.wrench,
                    contact.pivots,
                    value=partial(self._known_wrench, adopted.mapper, contact),
                ),
            )
            for link, contact in adopted.plan.contacts.items()
        ]

    def _known_wrench(
        self, mapper: JointStateMapper, contact: Contact, wrench: Array, pivots: Array
    ) -> Array:
        """Return a wrench (6,), moment first; zero if it is not valid."""
        is_known = (
            mapper.has_velocity
            and mapper.has_effort
            and self._observer.is_settled
            and is_observable(contact, pivots)
            and np.isfinite(wrench).all()
        )
        return swap_linear_angular(wrench) if is_known else np.zeros(6)

    def _explain(self, contact: Contact, value: float) -> str:
        if contact.joints < 6:
            return (
                f'{contact.joints} joints move it, but the six components of a wrench require six'
            )
        return (
            f'near a singularity, smallest singular value {value:.4f} m is not above '
            f'singularity_threshold {self._parameters["singularity_threshold"]:.4f} m'
        )

    # --- parameters -----------------------------------------------------------------------------

    def _check(self, values: dict[str, Any]) -> None:
        robot = self._host.model.robot if self._host.model else None
        frame_parameters.check(values, robot)
        residual_offsets.check(values or self._parameters.values)
        frame_parameters.check(values, robot, 'support_frames')
        for each in (flag_parameters, torque_observer):
            each.check(self._parameters.values | values, robot if values else None)

    def _apply(self, values: dict[str, Any]) -> None:
        self._options[:] = [
            self._parameters[name]
            for name in ('damping', 'characteristic_length', 'singularity_threshold')
        ]
        self._observer.update_parameters()
        self._filters.update_parameters()
        self._friction.update_parameters()
        self._flags.update_parameters()
        if values.keys() & {'frames', 'observer', *support_contacts.SHAPING}:
            self._host.reload()
        elif values.keys() & DRAWN:
            self._markers.redraw(self._pictures(), self._parameters['marker_rate'])
        self._tare.update_parameters(values)
        if self._topics is not None:
            self._topics.update_parameters()
            self._support.update_parameters()
