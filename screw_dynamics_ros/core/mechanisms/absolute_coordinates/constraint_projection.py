# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Return to the constraints: closed joints, and velocities that they admit.

A displacement x that closes the joints is the shortest in the metric of the kinetic energy,

    M x + J^T mu = 0,    J x = -g,    q <- q exp x,

repeated until g vanishes; then v <- v - M^-1 J^T (J M^-1 J^T)^-1 J v is the nearest velocity.

Source: Müller and Terze, section 4, which refers to Blajer; formulas derived (I-31, I-44).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...errors import InfeasibleConstraintsError
from ...types import Array
from .system import AbsoluteSystem

#: Largest displacement in one step [rad, m]: Newton's method from further away goes astray.
MAX_STEP = 0.5


def project_configuration(
    system: AbsoluteSystem,
    q: ArrayLike,
    *,
    tolerance: float = 1e-14,
    most_iterations: int = 50,
) -> Array:
    """Return the configuration (7 n,) near q in which all joints are closed.

    Parameters
    ----------
    system : AbsoluteSystem
    q : (7 n,)
    tolerance : float
        Largest |g| of the result, relative to 1 m or the size of the system.
    most_iterations : int

    Raises
    ------
    InfeasibleConstraintsError
        If the joints cannot be closed from here; names the joint with the widest gap.
    """
    q = vector('q', system.nq, q)
    nothing = np.zeros(system.nv)
    best, best_gap = q, np.inf
    for _ in range(most_iterations):
        g = system.constraint_residuals(q)
        gap = float(np.abs(g).max(initial=0.0))
        if not np.isfinite(gap):
            break
        if gap < best_gap:
            best, best_gap = q, gap
        elif best_gap <= 10 * tolerance * size(q):
            break  # rounding
        if gap <= tolerance:
            break
        x, _ = system.solve_saddle_point(q, nothing, -g)
        longest = float(np.abs(x).max())
        q = system.integrate(q, x * min(1.0, MAX_STEP / longest) if longest else x)
    check_closed(system, best, max(1e-9, 10 * tolerance) * size(best))
    return best


def project_velocity(system: AbsoluteSystem, q: ArrayLike, v: ArrayLike) -> Array:
    """Return the velocity (6 n,) nearest to v, in the kinetic energy, that the joints admit."""
    q, v = vector('q', system.nq, q), vector('v', system.nv, v)
    for _ in range(2):  # once more against rounding
        x, _ = system.solve_saddle_point(
            q, np.zeros(system.nv), -(system.constraint_jacobian(q) @ v)
        )
        v = v + x
    return v


def consistent_velocity(
    system: AbsoluteSystem, q: ArrayLike, given: Mapping[str, ArrayLike]
) -> Array:
    """Return the velocity (6 n,) with given angular velocities, completed by what joints demand.

    Parameters
    ----------
    system : AbsoluteSystem
    q : (7 n,)
        A configuration in which the joints are closed.
    given : {body: (3,)}
        Body-fixed angular velocities [rad/s]; of other bodies, and of linear velocities, those are
        taken that need the least kinetic energy.

    Raises
    ------
    InfeasibleConstraintsError
        If the joints do not admit these angular velocities.
    """
    q = vector('q', system.nq, q)
    wanted = {name: vector(f'angular velocity of {name!r}', 3, w) for name, w in given.items()}
    fixed = [system.free_bodies[name].start + k for name in wanted for k in range(3)]
    free = np.setdiff1d(np.arange(system.nv), fixed)
    v = np.zeros(system.nv)
    v[fixed] = np.concatenate([*wanted.values(), []])
    J = system.constraint_jacobian(q).toarray()
    M = system.mass_matrix(q).toarray()
    L = np.linalg.cholesky(M[np.ix_(free, free)])
    v[free] = np.linalg.solve(
        L.T, np.linalg.lstsq(J[:, free] @ np.linalg.inv(L.T), -J @ v, rcond=None)[0]
    )
    error = float(np.abs(J @ v).max(initial=0.0))
    if not error <= 1e-9 * max(1.0, float(np.abs(v).max())):
        raise InfeasibleConstraintsError(
            f'the joints do not admit the angular velocities of {", ".join(wanted)}: the residual '
            f'of J v is {error:.3g}; give fewer bodies, or consistent numbers'
        )
    return v


def check_closed(system: AbsoluteSystem, q: Array, tolerance: float) -> None:
    """Raise `InfeasibleConstraintsError` if a joint gapes wider than `tolerance` [rad, m]."""
    violations = system.violation(q, np.zeros(system.nv))
    if not violations:
        return
    joint = max(violations, key=lambda name: np.nan_to_num(violations[name].gap, nan=np.inf))
    if not violations[joint].gap <= tolerance:
        raise InfeasibleConstraintsError(
            f'joint {joint!r} is open by {violations[joint].gap:.3g} (rad, m) and cannot be closed '
            'from here: correct the frames of the joints or the initial configuration'
        )


def size(q: Array) -> float:
    """Return the largest coordinate, at least 1: what rounding is relative to."""
    return max(1.0, float(np.abs(q).max()))
