# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The heavy top with its body frame elsewhere: all the same in SE(3), not in SO(3) x R^3.

Source: derived (spec 6, I-45).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    Example,
    heavy_top,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History
from screw_dynamics_ros.core.types import Array

#: Where the body frame is, seen from the center of mass [m].
PLACES = {
    'center of mass': (0.0, 0.0, 0.0),
    'pivot': (-0.5, 0.0, 0.0),
    'elsewhere': (0.1, -0.2, 0.3),
}


def top_with_frame(place: Sequence[float], group: str) -> Example:
    """Return the heavy top of the paper with its body frame at a place [m]."""
    top, d = heavy_top(), np.array(place, dtype=float)
    (body,), (pivot,) = top.system.bodies, top.system.joints
    to_pivot = pivot.child_frame[:3, 3] - d
    inertia = Inertia(body.inertia.mass, -d, body.inertia.matrix)
    system = AbsoluteSystem(
        [AbsoluteBody(body.name, inertia, group)],
        [
            ConstraintJoint(
                pivot.name, pivot.pair, pivot.parent, body.name, frame(), frame(to_pivot)
            )
        ],
        configuration=np.append(-to_pivot, top.q[3:]),
        gravity=top.system.gravity,
    )
    omega = top.v[:3]
    return Example(system, system.configuration, np.append(omega, np.cross(omega, -to_pivot)))


def centers_of_mass(history: History, place: Sequence[float]) -> Array:
    """Return the positions (k, 3) [m] of the center of mass of a top with its frame at a place."""
    return history.q[:, :3] - quaternions.to_matrix(history.q[:, 3:]) @ np.array(place)
