# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every lower pair, to the ground and between bodies: what is predicted and what is measured.

Source: Müller and Terze, section 6, which names them; numbers derived (spec 9.4, I-33).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    CYLINDRICAL,
    GROUND,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    ConstraintJoint,
    LowerPair,
    frame,
    lower_pair,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    project_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.exactness import exactness
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    WEIGHT,
    Example,
    box,
    started,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import record
from studies.integration.runs import GROUPS, STEP

PAIRS = (REVOLUTE, PRISMATIC, lower_pair('helical', 0.1), CYLINDRICAL, SPHERICAL, PLANAR)
#: Axis of the joints, and where they are in the body frame [m].
AXIS, OFFSET = (1.0, 2.0, 2.0), (0.1, -0.05, 0.08)
#: Positions: to the ground off the center of mass and through it, between two bodies.
TO_GROUND, CENTRAL, BETWEEN = 'to the ground', 'to the ground, centered', 'between bodies'


class PairResult(NamedTuple):
    """What to expect of a joint in one group and what came out.

    Attributes
    ----------
    pair, place, group : str
    predicted : bool
        Whether `core.mechanisms.absolute_coordinates.exactness` calls it exact.
    gap : float
        The largest on the way [rad, m].
    """

    pair: str
    place: str
    group: str
    predicted: bool
    gap: float


def example_of(pair: LowerPair, place: str, group: str) -> Example:
    """Return one body on the ground, or two that are free, with a joint; admissible velocities."""
    inertia, shift = box((0.2, 0.1, 0.05)), np.array([0.3, 0.1, 0.0])
    at = frame((0.0, 0.0, 0.0) if place == CENTRAL else OFFSET, AXIS)
    bodies = ['body 1', 'body 2'] if place == BETWEEN else ['body 2']
    parent_frame = at.copy()
    parent_frame[:3, 3] += shift
    joint = ConstraintJoint(
        'joint', pair, 'body 1' if place == BETWEEN else GROUND, 'body 2', parent_frame, at
    )
    n = len(bodies)
    omega, v = np.random.default_rng(7).uniform(-6.0, 6.0, (2, 2, 3))
    made = started(
        [inertia] * n,
        bodies,
        [group] * n,
        [joint],
        [np.eye(3)] * n,
        [np.zeros(3), shift][-n:],
        list(omega[:n]),
        list(v[:n] / 6),
        WEIGHT,
    )
    return Example(made.system, made.q, project_velocity(made.system, made.q, made.v))


def all_pairs(duration: float) -> list[PairResult]:
    """Let each pair move for a time [s] in each place and group."""
    results = []
    for pair in PAIRS:
        for place in (TO_GROUND, CENTRAL, BETWEEN):
            for group in GROUPS:
                made = example_of(pair, place, group)
                motion = record(*made, duration=duration, dt=STEP, every=20)
                predicted = exactness(made.system)['joint'].exact
                gap = float(motion.gaps['joint'].max())
                results.append(PairResult(pair.name, place, group, predicted, gap))
    return results
