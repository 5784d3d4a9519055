# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A joint to a body that hardly moves: the floating pair with a base of f times the mass.

Source: Müller and Terze, section 6, who expect of it what holds for the ground; numbers derived
(spec 9.4, I-43).
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    SPHERICAL,
    ConstraintJoint,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    NO_WEIGHT,
    Example,
    box,
    started,
)


def pair_with_heavy_base(factor: float, group: str) -> Example:
    """Return two boxes, the first at rest but for the reaction, `factor` times as heavy.

    The second turns as that of the double pendulum; the pair has no linear momentum.
    """
    half, light = np.array([0.1, 0.0, 0.0]), box((0.2, 0.1, 0.05))
    heavy = Inertia(factor * light.mass, light.com, factor * light.matrix)
    omega = np.pi * np.array([10.0, 10.0, 20.0])
    relative = np.cross(omega, half)
    v = -relative * light.mass / (light.mass + heavy.mass)
    return started(
        [heavy, light],
        ['base', 'body'],
        [group, group],
        [ConstraintJoint('joint', SPHERICAL, 'base', 'body', frame(half), frame(-half))],
        [np.eye(3)] * 2,
        [half, 3 * half],
        [np.zeros(3), omega],
        [v, v + relative],
        NO_WEIGHT,
    )
