# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass matrix of a tree by composite inertias.

    M_ij = X_i^T Ad_{C_j,i}^T (sum of the inertias that joint j carries) X_j + d_i delta_ij

for i on the path to j, and M_ij = 0 if neither joint carries the other. Example: the arm of unit
lengths and masses has M = [[3 + 2 cos q_2, 1 + cos q_2], [1 + cos q_2, 1]].

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> mass_matrix(planar_arm(), np.zeros(2))
array([[5., 2.],
       [2., 1.]])

Source: Müller 2018b (81) (D-35), with composite inertias (D-37); Bruyninckx 2010 section 6.2.6 for
drives (C-054).
"""

from __future__ import annotations

import numpy as np

from ..kinematics.poe import relative_pose
from ..lie.screws import transform_wrench
from ..linear import is_recorded, symmetric, zeros
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .spatial_inertia import RigidInertia, added, momentum, transported


def mass_matrix(tree: Tree, q: Array) -> Array:
    """Return M(q), (nv, nv): M_ij = X_i^T Ad^T (sum of the inertias outboard) X_j (D-37).

    Every composite inertia (m, h, I) is transported to its predecessor. The momentum of a unit rate
    of joint i is transported to the root, and projected on each joint on the path: recorded, for
    one joint i after the other; of numbers, for all joints of a subtree at once. Mimic joints sum
    to G^T M G.
    """
    C = [relative_pose(body, q) for body in tree.bodies]
    composite: list[RigidInertia] = [(body.m, body.h, body.I) for body in tree.bodies]
    M = zeros((tree.nv, tree.nv), *C) + reflected_inertias(tree)

    waiting: dict[int, list[tuple[Array, Array, Array]]] = {}
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        W = momentum(composite[i], body.X)
        M[body.v, body.v] = M[body.v, body.v] + body.multiplier**2 * symmetric(body.X.T @ W)
        columns = np.arange(body.v.start, body.v.stop)
        parts = [(columns, np.full(body.dof, body.multiplier), W), *waiting.pop(i, [])]
        columns, scale, W = (np.concatenate(each, axis=-1) for each in zip(*parts))
        j = i
        while tree.bodies[j].parent != GROUND:
            W = transform_wrench(C[j], W.T).T
            j = tree.bodies[j].parent
            other = tree.bodies[j]
            block = scale * other.multiplier * (other.X.T @ W)
            rows = np.arange(other.v.start, other.v.stop)
            np.add.at(M, (rows[:, None], columns), block)
            np.add.at(M, (columns[:, None], rows), block.T)
            if not is_recorded(W):  # j continues, with those of all joints that it carries
                waiting.setdefault(j, []).append((columns, scale, W))
                break
        if body.parent != GROUND:
            carried = transported(C[i], composite[i])
            composite[body.parent] = added(composite[body.parent], carried)
    return M


def reflected_inertias(tree: Tree) -> Array:
    """Return the matrix (nv, nv) of the reflected inertias of drives (C-054).

    Diagonal except for motors coupled to several joints.
    """
    d = tree.coupled_inertias.copy()
    for body in tree.bodies:
        d[body.v, body.v] += body.multiplier**2 * body.drive.reflected_inertia * np.eye(body.dof)
    return d
