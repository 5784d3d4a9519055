# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One rigid body on a floating base, for simulations of contacts."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Link, RobotDescription

LINK = 'box'
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def free_box(mass: float = 1.0, inertia: float = 0.01, **options: object) -> Robot:
    """Return a robot of one link with equal moments of inertia about its origin [kg, kg m^2]."""
    link = Link(LINK, Inertia(mass, np.zeros(3), inertia * np.eye(3)))
    return Robot(RobotDescription.from_parts('box', [link], []), floating_base=True, **options)
