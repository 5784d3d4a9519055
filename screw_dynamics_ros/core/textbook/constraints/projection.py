# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Projection onto constraints: closes loops exactly, and removes drift after an integration step.

Integrated accelerations satisfy position and velocity constraints only up to the integration error,
which grows. Baumgarte stabilization bounds it; projection removes it, by the smallest change of
configuration and velocity in the norm of the kinetic energy:

    q <- q + K lambda,  inverse_inertia lambda = -displacement    (Newton's method),
    v <- v + K lambda,  inverse_inertia lambda = -rate,           K = M^-1 J^T.

Source: Bruyninckx 2010, sections 6.7.6 and 6.10 (C-079, C-086).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_count, check_number, vector
from ...constraints.constrained_dynamics import Terms
from ...constraints.forces import constraint_forces
from ...constraints.motion_constraint import MotionConstraint, checked
from ...errors import ArgumentError, InfeasibleConstraintsError
from ...tree.joint_limits import Coordinates
from ...types import Array


class ConstrainedRobot(Coordinates, Protocol):
    """Interface of a robot for projection, implemented by `Robot`."""

    def integrate(self, q: ArrayLike, displacement: ArrayLike) -> Array:
        """Return the configuration (nq,) after a displacement (nv,) from q."""

    def constraint_terms(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Sequence[MotionConstraint],
    ) -> Terms:
        """Return the equations of motion under constraints."""


def project_configuration(
    robot: ConstrainedRobot,
    q: ArrayLike,
    constraints: MotionConstraint | Sequence[MotionConstraint],
    *,
    tolerance: float = 1e-12,
    max_iterations: int = 50,
) -> Array:
    """Return the configuration (nq,) near q that satisfies all constraints with a target.

    Parameters
    ----------
    robot : Robot
        Joint limits are ignored.
    q : (nq,)
    tolerance : float
        Largest accepted displacement [rad, m].
    max_iterations : int
        Newton steps.

    Raises
    ------
    InfeasibleConstraintsError
        If Newton's method does not converge: the loop cannot be closed, or not from this q.
    """
    check_number('tolerance', tolerance)
    check_count('max_iterations', max_iterations)
    holonomic = [c for c in checked(constraints) if c.target is not None]
    if not holonomic:
        raise ArgumentError('no constraint has a target: q cannot be projected')
    at_rest = np.zeros(robot.nv)
    q = vector('q', robot.nq, q)
    for _ in range(max_iterations + 1):
        terms = robot.constraint_terms(q, at_rest, at_rest, holonomic)
        if np.isnan(terms.displacement).any():
            return np.full(robot.nq, np.nan)
        if np.abs(terms.displacement).max() <= tolerance:
            return q
        q = robot.integrate(q, smallest_change(terms, terms.displacement))
    of = [c for c in holonomic for _ in range(c.size)]
    worst = int(np.argmax(np.abs(terms.displacement)))
    raise InfeasibleConstraintsError(
        f'the constraints cannot be met near this configuration: after {max_iterations} Newton '
        f'steps {of[worst]} is still {abs(terms.displacement[worst]):.3g} off [rad, m]; the loops '
        'are inconsistent (lengths do not fit), or the search must start nearer'
    )


def project_velocity(
    robot: ConstrainedRobot,
    q: ArrayLike,
    v: ArrayLike,
    constraints: MotionConstraint | Sequence[MotionConstraint],
) -> Array:
    """Return the velocity (nv,) nearest to v that satisfies all constraints, holonomic or not."""
    v = vector('v', robot.nv, v)
    terms = robot.constraint_terms(q, v, np.zeros(robot.nv), checked(constraints))
    return v + smallest_change(terms, terms.rate)


def smallest_change(terms: Terms, error: Array) -> Array:
    """Return the change of velocity of least kinetic energy that removes `error` (m,)."""
    forces = constraint_forces(terms.inverse_inertia, error, np.zeros_like(error), terms.mobility)
    change: Array = terms.K @ forces.multipliers
    return change
