# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The plan of the node `wrench_estimator` for one robot."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.dead_band import torques_outside_band
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverPlan
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Plan
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.nodes.parameters.frame_parameters import Frames

from .contact_localization import LocationPlan
from .contacts import Contact, contact_at
from .external_torque import effort_terms, external_torque
from .output_filters import BANDS, FilterPlan, filtered
from .support_contacts import SupportPlan


@dataclass(frozen=True, eq=False)
class WrenchPlan(Plan):
    """The outputs for a robot, with its observer and filters.

    Attributes
    ----------
    observer : ObserverPlan
    location : LocationPlan
    filters : FilterPlan
        Signals: the torques, then the wrench of each contact.
    torque : Formula
        Published external torques (n,).
    frames : Frames
    contacts : dict
        Contact of each link.
    support : SupportPlan
    offset : (n,) array
        Offset of the external torques.
    """

    observer: ObserverPlan = field(kw_only=True)
    location: LocationPlan = field(kw_only=True)
    filters: FilterPlan = field(kw_only=True)
    torque: Formula = field(kw_only=True)
    frames: Frames = field(kw_only=True)
    contacts: dict[str, Contact] = field(kw_only=True)
    offset: Array = field(kw_only=True)
    support: SupportPlan = field(kw_only=True)

    @property
    def filtered_torque(self) -> Formula:
        """The filtered external torques (n,), without dead band."""
        return self.filters.signals[0].value


def wrench_plan(
    robot: Robot,
    frames: Frames,
    observer: ObserverPlan,
    location: LocationPlan,
    support: SupportPlan,
    *,
    bands: Array,
    options: Array,
    effort_shares: Array,
) -> WrenchPlan:
    """Return the plan.

    Parameters
    ----------
    robot : Robot
    frames : Frames
        The links with contacts.
    observer : ObserverPlan
    location : LocationPlan
    support : SupportPlan
    bands : (3,) array
        Dead bands of torques, forces and moments.
    options : (3,) array
        Damping, characteristic length and threshold of singular values [m].
    effort_shares : array
        1 for each of `TERMS` that the efforts contain, else 0.
    """
    observed, offset = observer.observation, np.zeros(len(scalar_joints(robot)))
    signals = [filtered('torque', observed.torque, len(offset), ())]
    contacts: dict[str, Contact] = {}
    for link in frames.tokens:
        contacts[link] = contact_at(robot, link, signals[0].value, signals)
        signals.append(contacts[link].signal)
    filters = FilterPlan.of(signals, bands)
    published = Formula('torques outside band', (signals[0].value, BANDS), torques_outside_band)
    results = (
        published,
        signals[0].value,
        observed.state,
        observed.covariance,
        observed.inertia,
        observed.model,
        external_torque(robot),
    )
    return WrenchPlan(
        [
            *effort_terms(robot).values(),
            *(c.jacobian for c in contacts.values()),
            *location.outputs,
            *support.outputs,
        ],
        [
            *(result for result in results if result is not None),
            *(signal.state for signal in signals),
            *(output for c in contacts.values() for output in (c.wrench, c.pivots)),
        ],
        {
            'offset': offset,
            'contact': options,
            'effort_shares': effort_shares,
            **observer.parameters,
            **filters.parameters,
            **support.parameters,
        },
        observer=observer,
        location=location,
        filters=filters,
        torque=published,
        frames=frames,
        contacts=contacts,
        offset=offset,
        support=support,
    )
