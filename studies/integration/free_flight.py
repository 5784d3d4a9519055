# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A body in free flight: its center of mass moves on a straight line, if the group knows."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    NO_WEIGHT,
    box,
    started,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import record
from studies.integration.runs import STEP


def deviation_from_line(group: str, duration: float) -> float:
    """Return how far a tumbling box leaves the line of its center of mass [m]."""
    omega, v = np.pi * np.array([10.0, 10.0, 20.0]), np.array([1.0, 0.0, 0.0])
    made = started(
        [box((0.2, 0.1, 0.05))],
        ['body'],
        [group],
        [],
        [np.eye(3)],
        [np.zeros(3)],
        [omega],
        [v],
        NO_WEIGHT,
    )
    motion = record(*made, duration=duration, dt=STEP, every=20)
    return float(np.linalg.norm(motion.q[:, :3] - motion.t[:, None] * v, axis=1).max())
