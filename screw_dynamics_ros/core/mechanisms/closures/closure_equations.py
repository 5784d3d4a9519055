# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of loops that were cut open, on the tree that is left, and their freedoms.

A cut joint leaves two virtual end-effectors: its frame S_i on the link `parent`, and its frame S_j
on the link `child`. The loop is closed where C = (C_i S_i)^-1 C_j S_j is a motion that the cut
joint admits:

    position      g = gap(C) = 0, to first order N log C,
    velocity      J q' = 0,  J = N (J_j - Ad_{C^-1} J_i),
    acceleration  J q'' + b = 0,  b = N (V_j' - Ad_{C^-1} V_i' + [V, Ad_{C^-1} V_i]) for q'' = 0,

with the constrained directions N of the pair, and body-fixed Jacobians and twists of the two
frames, V = V_j - Ad_{C^-1} V_i. The joints of the two branches enter with opposite signs: the twist
of one end minus that of the other (E-01).

Source: Bruyninckx 2010, section 5.5.4, (5.28) corrected (C-007 to C-009); sections 5.5.4 and 5.8
(C-011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...kinematics.higher_order import twist_derivatives
from ...kinematics.jacobians import jacobian
from ...kinematics.poe import link_pose
from ...lie import screws, se3
from ...linear import zeros
from ...tree.multibody_tree import Tree
from ...types import Array
from ..absolute_coordinates.bodies import GROUND, ConstraintJoint

Closures = Sequence[ConstraintJoint]
#: Singular values, relative to the largest, below which a matrix is taken to have lost rank.
RANK_TOLERANCE = 1e-8


def end_pose(tree: Tree, q: Array, link: str, S: Array) -> Array:
    """Return the pose (4, 4) of a frame S on a link, or on the ground, in the root frame."""
    return S if link == GROUND else link_pose(tree, q, link) @ S


def relative_pose(tree: Tree, q: Array, closure: ConstraintJoint) -> Array:
    """Return C, (4, 4): the frame on the child in the frame on the parent."""
    return se3.inverse(end_pose(tree, q, closure.parent, closure.parent_frame)) @ end_pose(
        tree, q, closure.child, closure.child_frame
    )


def end_jacobian(tree: Tree, q: Array, link: str, S: Array) -> Array:
    """Return the body-fixed Jacobian (6, nv) of a frame S on a link, or on the ground."""
    if link == GROUND:
        return zeros((6, tree.nv), q)
    J: Array = screws.inverse_transform_twist(S, jacobian(tree, q, link, 'body').T).T
    return J


def gap(tree: Tree, q: Array, closures: Closures) -> Array:
    """Return the closure errors of all loops, (c,) [rad, m]; zero where they are closed.

    Parameters
    ----------
    tree : Tree
        With all cut joints open.
    q : (nq,) array
    closures : sequence of ConstraintJoint
        The cut joints, between links of the tree or the ground.
    """
    return np.concatenate(  # of stacks, which may be recorded
        [closure.pair.gap(relative_pose(tree, q, closure)[None])[0] for closure in closures]
    )


def closure_jacobian(tree: Tree, q: Array, closures: Closures) -> Array:
    """Return J, (c, nv), of the closed loops at q: J q' = 0 (C-009)."""
    rows = []
    for closure in closures:
        C = relative_pose(tree, q, closure)
        J_i = end_jacobian(tree, q, closure.parent, closure.parent_frame)
        J_j = end_jacobian(tree, q, closure.child, closure.child_frame)
        rows.append(closure.pair.N @ (J_j - screws.inverse_transform_twist(C, J_i.T).T))
    return np.concatenate(rows)


def closure_bias(tree: Tree, q: Array, v: Array, closures: Closures) -> Array:
    """Return b, (c,): J q'' = -b for the accelerations of loops that stay closed."""
    rows = []
    for closure in closures:
        C = relative_pose(tree, q, closure)
        (V_i, dV_i), (V_j, dV_j) = (
            end_motion(tree, q, v, *end)
            for end in (
                (closure.parent, closure.parent_frame),
                (closure.child, closure.child_frame),
            )
        )
        V_i, dV_i = (screws.inverse_transform_twist(C, x) for x in (V_i, dV_i))
        rows.append(closure.pair.N @ (dV_j - dV_i + screws.motor_product(V_j - V_i, V_i)))
    return np.concatenate(rows)


def end_motion(tree: Tree, q: Array, v: Array, link: str, S: Array) -> tuple[Array, Array]:
    """Return the body-fixed twist of a frame S on a link, and its derivative for q'' = 0."""
    if link == GROUND:
        return zeros(6, q), zeros(6, q)
    V, dV = twist_derivatives(tree, q, [v, np.zeros_like(v)], link, 'body')
    return screws.inverse_transform_twist(S, V), screws.inverse_transform_twist(S, dV)


@dataclass(frozen=True)
class Mobility:
    """Freedoms at one configuration.

    Attributes
    ----------
    joint_freedoms : int
        Of the tree.
    equations : int
        Of all closures.
    rank : int
        Number of independent ones here.
    gained : int
        Freedoms of the passive joints while the actuated ones are at rest: dim null(J_p).
    """

    joint_freedoms: int
    equations: int
    rank: int
    gained: int

    @property
    def mobility(self) -> int:
        """Freedoms of the mechanism: joint freedoms - rank."""
        return self.joint_freedoms - self.rank

    @property
    def redundant(self) -> int:
        """Equations that follow from the others: 3 of a planar loop of revolute joints."""
        return self.equations - self.rank


def rank(A: Array) -> int:
    """Return the numerical rank of a matrix; 0 of an empty one."""
    values = np.linalg.svd(A, compute_uv=False) if A.size else np.zeros(0)
    return int((values > RANK_TOLERANCE * max(1e-300, values.max(initial=0.0))).sum())


def mobility(J: Array, passive: Sequence[int]) -> Mobility:
    """Return the freedoms of a mechanism with closure Jacobian J, (c, n)."""
    passive = list(passive)
    return Mobility(J.shape[1], len(J), rank(J), len(passive) - rank(J[:, passive]))
