# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Momenta and the velocity of the center of mass: differences, conservation.

`test_pinocchio.py` has those of all robots.

Spec IDs: D-18, D-34, C-055.
"""

from __future__ import annotations

import numpy as np

from support.compilation import ALL_CASES, build, close, states
from support.tangents import displaced, partial


@ALL_CASES
def test_definitions(case):
    """The map, the velocity of the center of mass by differences, and kinetic energy."""
    robot = build(case, 'reference')
    q, v, _ = (x[0] for x in states(robot, 1).values())
    h, com = robot.centroidal_momentum(q, v), robot.center_of_mass(q)
    close(robot.centroidal_map(q) @ v, h, 1e-12)
    about_origin = robot.total_momentum(q, v)
    close(about_origin[:3], h[:3] + np.cross(com, h[3:]), 1e-12)
    close(about_origin[3:], h[3:], 1e-14)
    velocity = partial(lambda t: robot.center_of_mass(displaced(robot, q, t[0] * v)), 1)[:, 0]
    close(robot.center_of_mass_velocity(q, v), velocity, 1e-9)
    close(robot.total_mass * velocity, h[3:], 1e-9)


def test_weight_changes_the_total_momentum():
    """D-34: without applied wrenches a free robot keeps its momentum but for its weight."""
    robot = build('planar, floating', 'reference')
    q, v, tau = (x[0] for x in states(robot, 1).values())
    tau[:6] = 0.0
    a = robot.forward_dynamics(q, v, tau)

    def along(t):
        moved = displaced(robot, q, t[0] * v + 0.5 * t[0] ** 2 * a)
        return robot.total_momentum(moved, v + t[0] * a)

    rate = partial(along, 1)[:, 0]
    weight = robot.total_mass * robot.gravity
    close(rate[3:], weight, 1e-8)
    close(rate[:3], np.cross(robot.center_of_mass(q), weight), 1e-8)
