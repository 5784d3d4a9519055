# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of observers: names, defaults, bounds and descriptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


def parameter(
    default: float, text: str, *, minimum: float = -math.inf, maximum: float = math.inf
) -> Any:
    """Return a field; `{observers}` in its text stands for the observers that read it."""
    bounds = {'minimum': minimum, 'maximum': maximum}
    return field(default=default, kw_only=True, metadata={'text': text, **bounds})


@dataclass(frozen=True)
class ObserverParameters:
    """Values for all observers, the same for all joints."""

    observer_time_constant: float = parameter(
        0.02,
        'Time constant with which {observers} follow external torques [s].',
        minimum=1e-4,
        maximum=10.0,
    )
    observer_velocity_deviation: float = parameter(
        0.002,
        'Standard deviation of the measured velocities, for {observers} and for covariances '
        '[rad/s, m/s].',
        minimum=1e-9,
    )
    observer_effort_deviation: float = parameter(
        0.2,
        'Standard deviation of the measured efforts from one state to the next, for {observers} '
        'and for covariances [N m, N].',
        minimum=0.0,
    )
    observer_torque_change: float = parameter(
        20.0,
        'Standard deviation of the change of an external torque within a second, for {observers}: '
        'the larger, the faster and the noisier [N m, N].',
        minimum=1e-6,
    )
    observer_torque_rate: float = parameter(
        1000.0,
        'Largest rate of change of an external torque that is followed, for {observers}: the '
        'larger, the faster and the noisier [N m/s, N/s].',
        minimum=1e-3,
    )
