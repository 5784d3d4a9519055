# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which constraints of joints follow from the others.

Only joints in loops can have such: bodies that a single joint connects are removed first, until
only loops and their connections remain. The rows of J there are taken in the order of the joints;
one that is a combination of earlier ones is redundant. Whether that holds in general, or only at
this configuration, is seen at a second one nearby: if a row is independent there, the configuration
is singular.

Source: Müller and Terze, section 3, where J must have full rank (I-29); the search is derived.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import InfeasibleConstraintsError
from screw_dynamics_ros.core.lie import screw_systems
from screw_dynamics_ros.core.types import Array

Numbers = NDArray[np.intp]

#: A row is dependent if what earlier rows leave of it is smaller, relative to the row.
DEPENDENCE_TOLERANCE = 1e-8
#: How far the second configuration is from the first [rad, m].
TEST_EXCURSION = 0.05


def independent_rows(
    ends: Numbers,
    joint_of_row: Numbers,
    n: int,
    jacobian: Callable[[Array], Array],
    q: Array,
    moved: Callable[[Array, Array], Array],
) -> Numbers:
    """Return the numbers of the rows that do not follow from earlier ones.

    Parameters
    ----------
    ends : (k, 2) array of int
        The bodies of each joint; n is the ground.
    joint_of_row : (m,) array of int
    n : int
    jacobian : callable
        All rows of J, (m, 6 n), at a configuration.
    q : array
        A configuration in which all joints are closed.
    moved : callable
        A configuration, displaced.

    Raises
    ------
    InfeasibleConstraintsError
        If the number of independent rows changes with the configuration.
    """
    in_loops = np.flatnonzero(np.isin(joint_of_row, joints_in_loops(ends, n)))
    everything = np.arange(len(joint_of_row))
    if not in_loops.size:
        return everything
    J = jacobian(q)
    kept = first_independent(J[in_loops])
    if len(kept) == len(in_loops):
        return everything
    nearby = moved(q, admissible(J, TEST_EXCURSION))
    if len(first_independent(jacobian(nearby)[in_loops], 0.1 * TEST_EXCURSION)) > len(kept):
        raise InfeasibleConstraintsError(
            f'at this configuration {len(in_loops) - len(kept)} constraints of the closed loops '
            'are redundant, nearby fewer: it is singular (a loop is stretched out or folded); '
            'start at another configuration'
        )
    redundant = np.delete(in_loops, kept)
    return np.setdiff1d(everything, redundant)


def joints_in_loops(ends: Numbers, n: int) -> Numbers:
    """Return the joints that remain when open branches have been removed.

    Parameters
    ----------
    ends : (k, 2) array of int
        The bodies of each joint; n is the ground.
    n : int

    Examples
    --------
    A triangle of bodies 0, 1, 2 on a body 3 that is jointed to the ground:

    >>> joints_in_loops(np.array([[4, 3], [3, 0], [0, 1], [1, 2], [2, 0]]), 4)
    array([2, 3, 4])
    """
    joints_of: list[set[int]] = [set() for _ in range(n + 1)]
    for k, joint in enumerate(ends.tolist()):
        for body in joint:
            joints_of[body].add(k)
    remaining = set(range(len(ends)))
    leaves = [body for body in range(n + 1) if len(joints_of[body]) == 1]
    while leaves:
        for k in tuple(joints_of[leaves.pop()]):
            remaining.discard(k)
            for body in ends[k].tolist():
                joints_of[body].discard(k)
                if len(joints_of[body]) == 1:
                    leaves.append(body)
    return np.array(sorted(remaining), dtype=np.intp)


def first_independent(J: Array, tolerance: float = DEPENDENCE_TOLERANCE) -> Numbers:
    """Return the rows of J (m, k) that are no combinations of earlier ones."""
    basis = np.zeros((0, J.shape[1]))
    kept = []
    for k, row in enumerate(J):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        size = float(np.linalg.norm(rest))
        if size > tolerance * float(np.linalg.norm(row)):
            kept.append(k)
            basis = np.vstack([basis, rest / size])
    return np.array(kept, dtype=np.intp)


def admissible(J: Array, length: float) -> Array:
    """Return a displacement of that length that J admits: all free motions at once."""
    free = screw_systems.null_space(J, DEPENDENCE_TOLERANCE)
    if not free.shape[1]:
        return np.zeros(J.shape[1])
    X = free @ (1.0 + np.arange(free.shape[1]) / (1 + free.shape[1]))
    direction: Array = X * (length / np.linalg.norm(X))
    return direction
