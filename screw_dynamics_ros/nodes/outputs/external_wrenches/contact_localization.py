# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Localization of a contact: `~/contact_point` and `~/contact_force`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.compile.typed.functions import Ints
from screw_dynamics_ros.core.estimation.contact_localization import (
    ContactLocator,
    Localization,
    LocalizationOptions,
    LocatedContact,
)
from screw_dynamics_ros.core.estimation.link_segments import link_segments
from screw_dynamics_ros.core.estimation.noise_propagation import update_covariance
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverPlan
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel, of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.ros.data_path.loop import compiled_step, take_snapshot
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import NEVER_STAMP
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, NOT_VALID, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers
from screw_dynamics_ros.ros.topics.snapshot import StateSnapshot

from .torque_covariance import TorqueCovariance
from .torque_observer import TorqueObserver

TABLE = (
    Specification(
        'contact_rate',
        100.0,
        'Rate of contact localization, by the stamps of the joint states [Hz], at most the rate '
        'of the joint states. 0: every joint state.',
        minimum=0.0,
    ),
    Specification(
        'contact_torque_deviation',
        [0.5],
        'Standard deviation of the external torques due to noise and model errors [N m, N], for '
        'the localization of contacts; the covariance of the observer is added. Not used if '
        'observer_model_deviation is set for all joints.',
        minimum=1e-9,
        rule='one for all joints, or one for each in the order of ~/external_torque',
    ),
    Specification(
        'contact_detection',
        5.0,
        'Detection threshold for the external torque of a joint, in standard deviations.',
        minimum=1.0,
    ),
    Specification(
        'contact_link_radius',
        0.05,
        'Radius of links without a shape in the description [m]. The line of action of a contact '
        'may miss the axis of the link by half of this radius.',
        minimum=0.0,
    ),
    Specification(
        'contact_expected_force',
        50.0,
        'Expected magnitude of contact forces [N].',
        minimum=1e-3,
    ),
    Specification(
        'contact_largest_deviation',
        0.05,
        'Largest standard deviation of a published contact along its link [m].',
        minimum=1e-6,
    ),
    Specification(
        'contact_least_probability',
        0.9,
        'Smallest probability of the link of a published contact, among all links that explain '
        'the torques.',
        minimum=0.5,
        maximum=1.0,
    ),
)


#: A topic with its message for each link, and the numbers of a contact in it.
Message = tuple[Channel, Mapping[str, Template], Callable[[LocatedContact], Array]]


@dataclass(frozen=True)
class LocationPlan:
    """Locator of contacts on a robot, and its inputs.

    Attributes
    ----------
    refusal : str
        Reason why contacts cannot be localized, '' if they can.
    locator : ContactLocator or None
    outputs : tuple of Formula
        The body Jacobians of the links of the locator.
    """

    refusal: str = ''
    locator: ContactLocator | None = None
    outputs: tuple[Formula, ...] = ()


class ContactSnapshot(StateSnapshot):
    """The Jacobians, torques and covariances of a state at which a contact is localized.

    Attributes
    ----------
    settled : (1,) array of int
        Whether the torques are valid.
    seen : int
        Number of the last state with velocities and efforts.
    period : int
        Between two localizations [ns].
    covariance : TorqueCovariance
        Of the torques.
    """

    settled: Ints
    seen: int
    period: int
    covariance: TorqueCovariance


@compiled_step
def take_contact(s: ContactSnapshot, loop: LoopRecord) -> int:
    """Copy the numbers of the current state, if a localization is due."""
    number = loop.mapper.accepted
    is_settled = s.settled[0] != 0
    if not is_settled or number > s.seen + 1:
        s.stamp = NEVER_STAMP
    s.seen = number
    if is_settled and s.number != number and not 0 <= loop.mapper.stamp - s.stamp < s.period:
        update_covariance(s.covariance, number, loop.state)
        take_snapshot(s, loop)
    return NOT_VALID


class TorquePlan(Protocol):
    """The plan of the node, as far as the localization uses it."""

    @property
    def location(self) -> LocationPlan:
        """The plan of the localization."""

    @property
    def filtered_torque(self) -> Formula:
        """External torques (n,)."""

    @property
    def observer(self) -> ObserverPlan:
        """The observer of the torques, with their covariance."""


class ContactLocation:
    """The topics of one contact, updated at a rate while one of them has subscribers.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    publishers : Publishers
    observer : TorqueObserver
    """

    def __init__(
        self, node: Node, host: ModelHost, publishers: Publishers, observer: TorqueObserver
    ) -> None:
        self._host, self._publishers, self._observer = host, publishers, observer
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._channels: list[Channel] = []
        self._plan: LocationPlan | None = None
        self._found: Localization | None = None
        self._snapshot: ContactSnapshot | None = None

    def plan(self, robot: Robot) -> LocationPlan:
        """Compile the functions for a robot."""
        joints = scalar_joints(robot)
        if actuated(robot).has_loops:
            return LocationPlan('it is not for robots with loops')
        segments = link_segments(robot.description, joints)
        if not segments:
            return LocationPlan('no link has a joint and a length')
        locator = ContactLocator(segments, joints, self._host.parameters['backend'])
        jacobians = tuple(of_joints(robot, ('jacobian', link, 'body')) for link in locator.links)
        stack = Formula('body Jacobians', jacobians, stacked)
        return LocationPlan('', locator, (stack,))

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        plan: TorquePlan,
        covariance: TorqueCovariance,
    ) -> list[Channel]:
        """Adopt a new model, with the covariance of its torques; return the topics."""
        self._plan, self._found, self._mapper = plan.location, None, mapper
        self._channels, self._stated, self._snapshot = [], covariance, None
        locator, noise = self._plan.locator, plan.observer.observation.covariance
        if locator is None:
            return []
        self._covariance = np.zeros((len(model.joints), len(model.joints)))
        outputs = [self._plan.outputs[0], plan.filtered_torque, *([noise] if noise else [])]
        snapshot = self._snapshot = ContactSnapshot(
            lambda: [covariance.covariance, *(model.results[each] for each in outputs)],
            self._locate,
        )
        snapshot.settled, snapshot.covariance = self._observer.settled, covariance
        self._follow()
        self._messages: list[Message] = []
        prefix = self._host.parameters['frame_prefix']
        for kind, topic, template, numbers in (
            (
                PoseWithCovarianceStamped,
                '~/contact_point',
                templates.pose_with_covariance,
                pose_numbers,
            ),
            (WrenchStamped, '~/contact_force', templates.wrench, wrench_numbers),
        ):
            self._channels.append(
                Channel(
                    self._publishers.get(kind, topic),
                    velocity=True,
                    effort=True,
                    gates=(Gate(CALL, snapshot, take_contact),),
                    snapshot=snapshot,
                )
            )
            messages = {link: template(prefix + link) for link in locator.links}
            self._messages.append((self._channels[-1], messages, numbers))
        return list(self._channels)

    def report(self, status: Status) -> None:
        """Report the contact, or why there is none."""
        plan = self._plan
        if plan is None:
            return
        refusal = plan.refusal or self._wrong_count(self._parameters['contact_torque_deviation'])
        if any(channel.listened for channel in self._channels) and refusal:
            status.warn(f'contacts are not localized: {refusal}')
        found = self._found
        if found is None or not self._is_possible:
            status.values['contact'] = 'none: ' + (refusal or 'no state with subscribers')
        elif found.contact is None:
            status.values['contact'] = f'none: {found.reason}'
        else:
            status.values['contact'] = described(found.contact)

    @property
    def _is_possible(self) -> bool:
        """Whether contacts are localized for states like the last one."""
        return (
            any(channel.listened for channel in self._channels)
            and self._mapper.has_velocity
            and self._mapper.has_effort
            and self._observer.is_settled
            and not self._wrong_count(self._parameters['contact_torque_deviation'])
        )

    def _locate(self, stamp: int, stated: Array, *results: Array) -> None:
        """Localize the contact of a state, and publish it.

        `results` are the Jacobians, the torques, and the covariance that the observer estimates.
        """
        assert self._plan is not None
        assert self._plan.locator is not None
        if self._wrong_count(self._parameters['contact_torque_deviation']):
            return
        covariance, (jacobians, torques, *noise) = self._covariance, results
        if self._stated.is_complete:
            covariance = stated.reshape(covariance.shape)
        elif noise:
            covariance = covariance + noise[0].reshape(covariance.shape)
        self._found = self._plan.locator.locate(jacobians, torques, covariance)
        contact = self._found.contact
        if contact is None:
            return
        for channel, messages, numbers in self._messages:
            if channel.is_sent:
                message = messages[contact.segment.link]
                channel.send(message.fill(numbers(contact), stamp))
                channel.published += 1

    # --- parameters -----------------------------------------------------------------------------

    def _wrong_count(self, deviations: list[float]) -> str:
        """Return the fault if the number of deviations does not fit the joints, else ''."""
        model = self._host.model
        if len(deviations) == 1 or model is None or len(deviations) == len(model.joints):
            return ''
        return (
            f'contact_torque_deviation must have 1 or {len(model.joints)} elements, for '
            f'{", ".join(model.joints)}; it has {len(deviations)}'
        )

    def _check(self, values: Mapping[str, Any]) -> None:
        fault = self._wrong_count(values.get('contact_torque_deviation', [0.0]))
        if fault or not values.get('contact_torque_deviation', [0.0]):
            raise ArgumentError(fault or 'contact_torque_deviation must not be empty')

    def _apply(self, values: Mapping[str, Any]) -> None:
        if self._plan is not None and self._plan.locator is not None:
            self._follow()

    def _follow(self) -> None:
        """Apply the current values of the parameters."""
        assert self._plan is not None
        assert self._plan.locator is not None
        value = self._parameters
        self._plan.locator.options = LocalizationOptions(
            detection=value['contact_detection'],
            link_radius=value['contact_link_radius'],
            force=value['contact_expected_force'],
            largest_deviation=value['contact_largest_deviation'],
            least_probability=value['contact_least_probability'],
        )
        rate, deviations = value['contact_rate'], value['contact_torque_deviation']
        if self._snapshot is not None:
            self._snapshot.period = math.ceil(NANOSECONDS / rate) if rate else 0
        if len(deviations) in (1, len(self._covariance)):
            np.fill_diagonal(self._covariance, np.square(deviations))


def pose_numbers(contact: LocatedContact) -> Array:
    """Return the numbers of geometry_msgs/PoseWithCovariance, (43,)."""
    frame = contact.frame
    covariance = swap_linear_angular(swap_linear_angular(contact.frame_covariance).T)
    return np.concatenate(
        [frame[:3, 3], quaternions.from_matrix(frame[:3, :3]), covariance.ravel()]
    )


def wrench_numbers(contact: LocatedContact) -> Array:
    """Return force and moment (6,)."""
    return swap_linear_angular(contact.wrench)


def described(contact: LocatedContact) -> str:
    """Return a text about the contact."""
    return (
        f'{contact.segment.link}, {contact.segment.part}: {contact.along:.3f} m along it '
        f'(deviation {contact.deviation:.3f} m), {np.linalg.norm(contact.force):.3g} N, '
        f'probability {contact.probability:.3f}'
    )


def stacked(*arrays: Array) -> Array:
    """Return arrays of one shape as a stack."""
    return np.stack(arrays)
