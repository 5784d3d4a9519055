# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A planar arm of three unit rods, redundant for the position of its tip."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription

#: Rows of a twist that are the velocity of the tip in the plane.
IN_THE_PLANE = np.eye(6)[3:5]


def planar_3r() -> RobotDescription:
    """Return the arm of E-10: slender rods of length and mass 1, axes z."""
    at_tip, axis, limits = np.eye(4), np.array([0.0, 0.0, 1.0]), Limits(-9.0, 9.0, 9.0, 50.0)
    at_tip[0, 3] = 1.0
    rod = Inertia(1.0, [0.5, 0.0, 0.0], np.diag([1e-9, 1 / 12, 1 / 12]))
    names = ['base', 'rod1', 'rod2', 'rod3']
    joints = [
        Joint(f'j{k + 1}', 'revolute', *names[k : k + 2], at_tip if k else np.eye(4), axis, limits)
        for k in range(3)
    ]
    return RobotDescription.from_parts(
        'planar_3r',
        [Link('base'), *(Link(name, rod) for name in names[1:]), Link('tip')],
        [*joints, Joint('end', 'fixed', 'rod3', 'tip', at_tip, axis, limits)],
    )


def tip(q):
    """Return the position (2,) of the tip, in closed form."""
    return np.array([np.cos(np.cumsum(q)).sum(), np.sin(np.cumsum(q)).sum()])


def jacobian(q):
    """Return the Jacobian (2, 3) of the tip."""
    c, s = np.cos(np.cumsum(q)), np.sin(np.cumsum(q))
    return np.array([[-s[k:].sum(), c[k:].sum()] for k in range(3)]).T


def partials(q):
    """Return its partial derivatives, dJ / dq_k at [..., k]."""
    c, s = np.cos(np.cumsum(q)), np.sin(np.cumsum(q))
    far = np.maximum.outer(np.arange(3), np.arange(3))
    return -np.array([[[x[k:].sum() for k in row] for row in far] for x in (c, s)])


def mass_matrix(q):
    """Return the mass matrix (3, 3)."""
    c, s = np.cos(np.cumsum(q)), np.sin(np.cumsum(q))
    M = np.zeros((3, 3))
    for i in range(3):
        center = np.zeros((2, 3))
        for k in range(i + 1):
            center[:, k] = (-s[k:i].sum() - s[i] / 2, c[k:i].sum() + c[i] / 2)
        turn = np.array([float(k <= i) for k in range(3)])
        M += center.T @ center + np.outer(turn, turn) / 12
    return M
