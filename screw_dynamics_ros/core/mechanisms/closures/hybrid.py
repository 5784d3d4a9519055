# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of a mechanism with loops when some joints are moved and the others are driven.

With the joints sorted into moved (m) and driven (f), a symmetric matrix A that resists motion and
closures J x = -b, the motion x of the driven joints and the multipliers of the closures solve

    | A_ff  J_f^T | | x_f |   | tau_f - h_f - A_fm x_m |
    | J_f   0     | | l   | = | -b - J_m x_m           |,

and the moved ones need tau_m = A_mf x_f + A_mm x_m + J_m^T l + h_m. In dynamics A is the mass
matrix, x the acceleration and h all torques at zero acceleration; in quasi-statics A holds the
stiffnesses of the joints, x their displacements, b and h are zero.

Source: Bruyninckx 2010, section 5.7.7 (C-014), which states the problem; the equations are those of
constrained motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import (
    ArgumentError,
    InfeasibleConstraintsError,
    SingularClosureError,
    UnknownNameError,
)
from ...types import Array

#: Residual of the equations, relative to their largest term, from which they contradict each other.
CONTRADICTION_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class ClosedHybridMotion:
    """Motion and torques of all joints.

    Attributes
    ----------
    motion : (n,) array
        Accelerations [rad/s^2, m/s^2], or displacements [rad, m].
    torques : (n,) array
        Those that were given, and those that the moved joints need [N m, N].
    multipliers : (c,) array
        Of the closure equations: J^T l acts against the motors. The smallest ones, if the closures
        are redundant.
    """

    motion: Array
    torques: Array
    multipliers: Array


def hybrid_motion(
    A: Array, J: Array, moved: Array, motion: Array, torques: Array, h: Array, b: Array
) -> ClosedHybridMotion:
    """Return the motion of all joints.

    Parameters
    ----------
    A : (n, n) array
        Mass matrix, or stiffnesses.
    J : (c, n) array
        Closure Jacobian.
    moved : (n,) array of bool
        Joints whose motion is given.
    motion, torques : (n,) arrays
        Read for the moved and for the other joints.
    h : (n,) array
        Torques that hold the joints at zero motion.
    b : (c,) array

    Raises
    ------
    InfeasibleConstraintsError
        The closures do not admit the motion of the moved joints.
    SingularClosureError
        Nothing resists some motion of the others.
    """
    free = ~moved
    A_ff, J_f = A[np.ix_(free, free)], J[:, free]
    count = int(free.sum())
    K = np.block([[A_ff, J_f.T], [J_f, np.zeros((len(J), len(J)))]])
    right = np.concatenate(
        [
            torques[free] - h[free] - A[np.ix_(free, moved)] @ motion[moved],
            -b - J[:, moved] @ motion[moved],
        ]
    )
    solution = np.linalg.lstsq(K, right, rcond=1e-12)[0]
    x_f, multipliers = solution[:count], solution[count:]
    residual = float(np.abs(J_f @ x_f - right[count:]).max(initial=0.0))
    if residual > CONTRADICTION_TOLERANCE * max(1.0, float(np.abs(right[count:]).max(initial=0.0))):
        raise InfeasibleConstraintsError(
            f'the closures do not admit this motion of the moved joints: {residual:.3g} is left; '
            'move fewer joints'
        )
    unmoved = np.linalg.matrix_rank(np.vstack([A_ff, J_f]), tol=1e-12)
    if unmoved < count:
        raise SingularClosureError(
            f'nothing resists {count - unmoved} motions of the joints that are not moved; give '
            'their links inertia, or their joints stiffness'
        )
    whole, tau = motion.copy(), torques.copy()
    whole[free] = x_f
    tau[moved] = (A @ whole + J.T @ multipliers + h)[moved]
    return ClosedHybridMotion(whole, tau, multipliers)


def roles(
    joints: Sequence[str], motion: Mapping[str, float], torques: Mapping[str, float]
) -> tuple[Array, Array, Array]:
    """Return which joints are moved (n,), and motion and torques of all joints (n,), 0 by default.

    Raises `UnknownNameError`, and `ArgumentError` for a joint that is both moved and driven, or a
    number that is not finite.
    """
    for name, value in (*motion.items(), *torques.items()):
        if name not in joints:
            raise UnknownNameError(f'no joint named {name!r}; there are {", ".join(joints)}')
        if not np.isfinite(value):
            raise ArgumentError(f'joint {name!r}: {value} is not a finite number')
        if name in motion and name in torques:
            raise ArgumentError(f'joint {name!r} cannot be moved and driven at once')
    return (
        np.array([name in motion for name in joints]),
        np.array([motion.get(name, 0.0) for name in joints], dtype=float),
        np.array([torques.get(name, 0.0) for name in joints], dtype=float),
    )
