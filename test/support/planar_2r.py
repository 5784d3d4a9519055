# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The planar arm of the golden cases, and the bundled one with limits."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from support.robots import urdf_path

#: The bundled arm, within 3 rad: it moves at 3 rad/s and is held by 30 N m.
LIMITED = (
    urdf_path('planar_2r')
    .read_text()
    .replace('continuous', 'revolute')
    .replace('<limit ', '<limit lower="-3" upper="3" ')
)


def planar_2r(d: float = 0.0) -> RobotDescription:
    """Return the arm of golden case 8.2: unit lengths, unit point masses at the tips."""
    at_tip, axis, limits = np.eye(4), np.array([0.0, 0.0, 1.0]), Limits(-9.0, 9.0, 9.0, 9.0)
    at_tip[0, 3] = 1.0
    point = Inertia(1.0, [1.0, 0.0, 0.0], np.zeros((3, 3)))
    return RobotDescription.from_parts(
        'planar_2r',
        [Link('base'), Link('l1', point), Link('l2', point), Link('tip')],
        [
            Joint('j1', 'revolute', 'base', 'l1', np.eye(4), axis, limits),
            Joint('j2', 'revolute', 'l1', 'l2', at_tip, axis, limits),
            Joint('tip_joint', 'fixed', 'l2', 'tip', at_tip, axis, limits),
        ],
    )
