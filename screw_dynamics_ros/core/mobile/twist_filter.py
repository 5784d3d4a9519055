# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Twists that a platform can make, nearest to one that is wanted.

A twist t with A t = 0 slips nowhere. The kinetostatic filter takes a wanted twist to the admissible
one nearest to it,

    t' = t - W^-1 A^T (A W^-1 A^T)^+ A t,      |t|^2 = length^2 omega^2 + v_x^2 + v_y^2,

where `length` [m] says how much speed an angular velocity of 1 rad/s is worth: there is no natural
choice, so there is no default. A large one keeps the rotation and gives up translation.

Source: Bruyninckx 2010, section 9.4 (C-134).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number
from ..arms.inverse.weighted_inverse import WeightedInverse
from ..types import Array
from . import planar
from .wheeled_platform import WheeledPlatform


def admissible_twist(
    platform: WheeledPlatform,
    twist: ArrayLike,
    length: float,
    steering: ArrayLike | None = None,
) -> Array:
    """Return the twist (3,) without slip that is nearest to a wanted one.

    Parameters
    ----------
    platform : WheeledPlatform
    twist : (3,)
        (omega, v_x, v_y) of and in the frame of the platform.
    length : float
        Weight of rotation against translation [m].
    steering : (k,), optional
        Angles of the steered wheels [rad]; if not given they will turn as the twist needs it, and
        only the others count.

    Examples
    --------
    A car that steers by 0.35 rad cannot turn faster; which speed it takes depends on the weight.

    >>> from screw_dynamics_ros.core.mobile.platforms import bicycle
    >>> car = bicycle(1.2, 0.3)
    >>> admissible_twist(car, [0.5, 1.0, 0.2], 0.01, [0.35]).round(3) + 0.0
    array([0.304, 1.   , 0.   ])
    >>> admissible_twist(car, [0.5, 1.0, 0.2], 100.0, [0.35]).round(3) + 0.0
    array([0.5  , 1.643, 0.   ])
    """
    check_number('the characteristic length [m]', length, positive=True)
    t = planar.triple('the twist', twist)
    A = platform.fixed_slip_matrix() if steering is None else platform.slip_matrix(steering)
    if not len(A):
        return np.array(t)
    solver = WeightedInverse(A, domain_metric=[length**2, 1.0, 1.0])
    return solver.null_projector() @ t
