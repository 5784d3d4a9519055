# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gains of PID controllers of single joints, by the inertia that each joint moves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import is_number
from ...errors import ArgumentError
from ...robot.robot import Robot
from ...tree.joint_limits import position_limits
from ...types import Array

MAX_CONDITION = 1e14  # condition of a mass matrix of joints that move no mass


def joint_gains(robot: Robot, q: ArrayLike | None, frequency: float) -> dict[str, dict[str, float]]:
    """Return {joint: {'p': ..., 'i': ..., 'd': ...}} of joints of one freedom.

    With the inertia m_i = 1 / (M^-1)_ii of a joint while the others are free: p = m w^2,
    d = 2 m w, i = m w^3 / (4 l), l the largest eigenvalue of m^-1 M. For small motions the arm then
    has the modes x s^3 + 2 w s^2 + w^2 s + w^3 / (4 l), x the eigenvalues of m^-1 M: none is faster
    than 2 n w, and the integral part is at most an eighth of what would be unstable. With the
    diagonal of M instead, which is larger, the light wrist of an arm is too fast for usual
    controllers.

    It is a start for the tuning, soft at the joints that carry the arm. Gravity is taken up by the
    integral part in some 10 l / w seconds, unless the controller is given the efforts of the
    motion.

    Parameters
    ----------
    robot : Robot
    q : (nq,) or None
        Configuration in which the inertia is taken [rad, m]; None for the middle of the joint
        limits, 0 where there are none. At `Robot.home` many arms are stretched out: with the
        inertias of there, those of a Panda are unstable in other configurations.
    frequency : float
        w [rad/s]; with a controller that runs every T seconds at most 0.06 / T.

    Returns
    -------
    {joint: {'p', 'i', 'd'}}
        [N m/rad, N m/(rad s), N m s/rad], of prismatic joints [N/m, N/(m s), N s/m].

    Raises
    ------
    ArgumentError
        A frequency that is not positive and finite, or joints that move no mass.

    Examples
    --------
    >>> from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
    >>> rod = Link('rod', Inertia(1.0, np.array([2.0, 0, 0]), np.zeros((3, 3))))
    >>> elbow = Joint('elbow', 'continuous', 'base', 'rod', np.eye(4), np.array([0, 0, 1.0]))
    >>> arm = RobotDescription.from_parts('arm', [Link('base'), rod], [elbow])
    >>> joint_gains(Robot(arm, backend='reference'), [0.0], 10.0)  # 4 kg m^2
    {'elbow': {'p': 400.0, 'i': 1000.0, 'd': 80.0}}
    """
    if not (is_number(frequency) and 0.0 < frequency < math.inf):
        raise ArgumentError(f'joint_gains: frequency must be positive [rad/s], got {frequency!r}')
    q = middle_of_range(robot) if q is None else q
    M = np.asarray(robot.mass_matrix(q))
    if not np.isfinite(M).all() or np.linalg.cond(M) > MAX_CONDITION:
        raise ArgumentError(
            f'joint_gains: the mass matrix at {np.asarray(q).tolist()} is singular; give the links '
            'inertias'
        )
    m = 1.0 / np.diag(np.linalg.inv(M))
    root = np.sqrt(m)
    largest = float(np.linalg.eigvalsh(M / np.multiply.outer(root, root)).max(initial=1.0))
    w, gains = frequency, {}
    for name in robot.joint_names:
        own = robot.joint_coordinates(name)[1]
        if own.stop - own.start == 1:
            inertia = float(m[own.start])
            gains[name] = {
                'p': inertia * w**2,
                'i': inertia * w**3 / (4.0 * largest),
                'd': 2.0 * inertia * w,
            }
    return gains


def middle_of_range(robot: Robot) -> Array:
    """Return the configuration (nq,) in the middle of the joint limits, 0 where there are none."""
    lower, upper = position_limits(robot)
    limited = np.isfinite(lower) & np.isfinite(upper)
    middle = robot.neutral()
    middle[limited] = (lower[limited] + upper[limited]) / 2
    return middle
