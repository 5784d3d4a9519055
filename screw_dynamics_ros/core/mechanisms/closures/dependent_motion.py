# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rates and accelerations of all joints of closed loops from those of some of them.

With the columns of the closure Jacobian J sorted into those of the joints whose motion is given (a)
and the others (p),

    J_p q_p' = -J_a q_a',  q' = G q_a',  G_p = -J_p^+ J_a,  G_a = 1,
    q'' = G q_a'' + d,     d_p = -J_p^+ b,  d_a = 0.

Redundant equations, such as three of the six of a planar loop, need no choice: they are solved in
the sense of least squares, with the residual zero. `independence` is the distance of J_p from a
loss of rank, where the other joints gain a freedom.

Source: Bruyninckx 2010, section 5.5.4, (5.28), (5.29) corrected (C-009 to C-011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...linear import least_squares, solve_positive_definite, symmetric, zeros
from ...robot.fused_kernel import Formula
from ...tree.multibody_tree import Tree, plain
from ...types import Array
from ..absolute_coordinates.bodies import ConstraintJoint
from .closure_equations import closure_bias, closure_jacobian, gap

#: Of a Newton step, in proportion to the squared gap; keeps it short where a loop hardly closes.
NEWTON_DAMPING = 0.03
MIN_DAMPING = 1e-14  # solvable in a singular configuration


@dataclass(frozen=True, eq=False)
class Partition:
    """Loops of a tree, and the joints whose motion is given.

    Attributes
    ----------
    closures : tuple of ConstraintJoint
    given, others : tuple of int
        Where the joints stand in q.
    """

    closures: tuple[ConstraintJoint, ...]
    given: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def identity(self) -> str:
        """All that the function depends on, besides the tree."""
        return repr((plain(self.closures), self.given, self.others))


def newton_step(tree: Tree, partition: Partition, q: Array) -> tuple[Array, Array]:
    """Return the configuration (nq,) after one Newton step, and the norm (1,) of the gap before it.

    Only the joints that are not given move. Levenberg-Marquardt, damped by
    `NEWTON_DAMPING`.
    """
    g = gap(tree, q, partition.closures)
    others = list(partition.others)
    J = closure_jacobian(tree, q, partition.closures)[:, others]
    squares = g @ g
    normal = symmetric(J.T @ J) + (NEWTON_DAMPING * squares + MIN_DAMPING) * np.eye(len(others))
    result = q + zeros(q.shape, g)
    result[others] = q[others] - solve_positive_definite(normal, J.T @ g)
    return result, np.array([np.sqrt(squares)])


def dependent_motion(
    J: Array, given: Sequence[int], others: Sequence[int], bias: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return G (n, k), d (n,), and the independence (n - k + 1,) of the columns of the others.

    Parameters
    ----------
    J : (c, n) array
        Closure Jacobian.
    given, others : k and n - k int
    bias : (c,) array, optional
        b; zero by default.

    Returns
    -------
    independence : (n - k + 1,) array
        Of the columns of the others, see `least_squares`; the last one is 1.
    """
    given, others = list(given), list(others)
    b = zeros(len(J), J) if bias is None else bias
    X, independence = least_squares(J[:, others], np.column_stack([J[:, given], b]))
    G, d = zeros((J.shape[1], len(given)), X), zeros(J.shape[1], X)
    G[given] = np.eye(len(given))
    G[others], d[others] = -X[:, :-1], -X[:, -1]
    return G, d, np.append(independence, 1.0)


def motion(
    tree: Tree, partition: Partition, q: Array, v: Array
) -> tuple[Array, Array, Array, Array]:
    """Return G (n, k), q' (n,), d (n,) and the independence at a closed configuration.

    Parameters
    ----------
    q : (nq,) array
        Of all joints.
    v : (k,) array
        Rates of the given joints.
    """
    J = closure_jacobian(tree, q, partition.closures)
    G, _, _ = dependent_motion(J, partition.given, partition.others)
    rates = G @ v
    b = closure_bias(tree, q, rates, partition.closures)
    G, d, independence = dependent_motion(J, partition.given, partition.others, b)
    return G, rates, d, independence


@dataclass(frozen=True)
class DependentMotion:
    """The function of a formula: G (n, k) and d (n,) in one matrix (n, k + 1), of q and v (n,)."""

    tree: Tree = field(compare=False)
    partition: Partition = field(compare=False)
    identity: str

    def __call__(self, q: Array, v: Array) -> Array:
        """Return G and, in the last column, d."""
        G, _, d, _ = motion(self.tree, self.partition, q, v[list(self.partition.given)])
        return np.column_stack([G, d])


def dependent(tree: Tree, partition: Partition) -> Formula:
    """Return G and d, (n, k + 1), in the current state; where that moves, d needs velocities."""
    function = DependentMotion(tree, partition, repr((tree.digest, partition.identity)))
    return Formula('dependent motion', ('q', 'v'), function)


def columns(J: Array, motion_of_loops: Array) -> Array:
    """Return J G."""
    return J @ motion_of_loops[:, :-1]


def reduced(M: Array, motion_of_loops: Array) -> Array:
    """Return G^T M G."""
    G = motion_of_loops[:, :-1]
    return G.T @ M @ G


def projected(torques: Array, motion_of_loops: Array, places: Sequence[int]) -> Array:
    """Return G^T torques in some places of a vector (n,) of zeros."""
    of_motors = motion_of_loops[:, :-1].T @ torques
    result = np.zeros(len(torques), dtype=of_motors.dtype)
    result[list(places)] = of_motors
    return result


def moved_along(motors: Array, motion_of_loops: Array, places: Sequence[int]) -> Array:
    """Return G x for the elements x of a vector (n,) that belong to the motors."""
    return motion_of_loops[:, :-1] @ motors[list(places)]


def accelerated(motors: Array, motion_of_loops: Array, places: Sequence[int]) -> Array:
    """Return G x + d likewise."""
    return moved_along(motors, motion_of_loops, places) + motion_of_loops[:, -1]
