# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Localization of a contact: `~/contact_point` and `~/contact_force`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.measurement.estimation.contact_localization import (
    ContactLocator,
    Localization,
    LocalizationOptions,
    LocatedContact,
)
from screw_dynamics_ros.core.measurement.estimation.link_segments import link_segments
from screw_dynamics_ros.core.measurement.estimation.observers.observer_state import ObserverPlan
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel, of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

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
        self._is_new, self._found_at = False, 0  # from the current state; its stamp [ns]

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
        self, model: RunningModel, plan: TorquePlan, covariance: TorqueCovariance
    ) -> list[Channel]:
        """Adopt a new model, with the covariance of its torques; return the topics."""
        self._plan, self._found, self._stated = plan.location, None, covariance
        self._model, self._torque = model, plan.filtered_torque
        self._noise = plan.observer.observation.covariance
        self._channels = []
        locator = self._plan.locator
        if locator is None:
            return []
        self._covariance = np.zeros((len(model.joints), len(model.joints)))
        self._follow()
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
                contact_channel(
                    self._publishers.get(kind, topic),
                    {link: template(prefix + link) for link in locator.links},
                    numbers,
                    self._new_contact,
                )
            )
        return list(self._channels)

    def report(self, status: Status) -> None:
        """Report the contact, or why there is none."""
        plan = self._plan
        if plan is None:
            return
        refusal = plan.refusal or self._wrong_count(self._parameters['contact_torque_deviation'])
        if any(channel.listened for channel in self._channels) and refusal:
            status.report(Level.WARN, f'contacts are not localized: {refusal}')
        found = self._found
        if found is None:
            status.values['contact'] = 'none: ' + (refusal or 'no state with subscribers')
        elif found.contact is None:
            status.values['contact'] = f'none: {found.reason}'
        else:
            status.values['contact'] = described(found.contact)

    @property
    def is_listened(self) -> bool:
        """Whether `locate` has anything to do."""
        return self._found is not None or any(channel.listened for channel in self._channels)

    def locate(self) -> None:
        """Localize the contact from the current results."""
        plan, mapper, self._is_new = self._plan, self._host.mapper, False
        if (
            plan is None
            or plan.locator is None
            or mapper is None
            or not any(channel.listened for channel in self._channels)
            or not (mapper.has_velocity and mapper.has_effort and self._observer.is_settled)
            or self._wrong_count(self._parameters['contact_torque_deviation'])
        ):
            self._found = None
            return
        rate, elapsed = self._parameters['contact_rate'], mapper.stamp - self._found_at
        if rate and self._found is not None and 0 <= elapsed < 1e9 / rate:
            return
        results, covariance = self._model.results, self._covariance
        if np.isfinite(self._stated.of_model).all():
            covariance = self._stated.now()
        elif self._noise is not None:
            covariance = covariance + results[self._noise].reshape(covariance.shape)
        self._found = plan.locator.locate(
            results[plan.outputs[0]], results[self._torque], covariance
        )
        self._is_new, self._found_at = True, mapper.stamp

    def _new_contact(self) -> LocatedContact | None:
        """Return the contact of the current state, or None."""
        return self._found.contact if self._found is not None and self._is_new else None

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
        deviations = value['contact_torque_deviation']
        if len(deviations) in (1, len(self._covariance)):
            np.fill_diagonal(self._covariance, np.square(deviations))


def contact_channel(
    publisher: Any,
    templates: Mapping[str, Template],
    numbers: Callable[[LocatedContact], Array],
    contact: Callable[[], LocatedContact | None],
) -> Channel:
    """Return a topic of the contact, in the frame of the link in contact.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    templates : mapping
        The message for each link.
    numbers : callable
        Returns the numbers of the message for a contact.
    contact : callable
        Returns the current contact, or None.
    """

    def encode(stamp: bytes) -> bytes | None:
        found = contact()
        if found is None:
            return None
        template = templates[found.segment.link]
        template.array(0)[:] = numbers(found)
        return template.encode(stamp)

    return Channel(
        publisher, encode, velocity=True, effort=True, is_valid=lambda: contact() is not None
    )


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
