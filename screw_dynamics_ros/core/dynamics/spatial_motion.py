# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion and inertia of all bodies in one frame; sums over bodies need no transformation.

    V_i = V_p + J_i q_i',    J_i = Ad_{C_i} X_i,    J_i' = [V_i, J_i],    Psi_i = [V_p, J_i].

The joint torques of a limb (all bodies carried by one body at the root) do not depend on the frame.
In the frame of a body of the limb, the Jacobian has more zeros than in the root frame.

Example: for the planar arm this is the frame of the upper link. There the elbow is always at x = 1,
and its column is (z, x cross z) = (z, -y), independent of the shoulder angle.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> motions = spatial_motions(planar_arm(), np.array([0.7, 0.0]), np.zeros(2))
>>> motions[1].J[:, 0] + 0.0
array([ 0.,  0.,  1.,  0., -1.,  0.])

Source: Müller 2018a (28)-(31) (K-25, K-26); Müller 2018b (15)-(19), (86), (87) (D-10, D-36).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kinematics.poe import relative_pose
from ..kinematics.twist_recursions import bracket, to_root
from ..lie.se3 import inverse
from ..lie.so3 import hat
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .spatial_inertia import RigidInertia, binet, transported


@dataclass(frozen=True, eq=False)
class VelocityInertia:
    """The part of the wrench of a moving body that is bilinear in its velocity.

    B X of (86) in Müller 2018b (D-36), with 2 B X = -ad_X^T M V - M ad_V X - ad_V^T M X. B V is the
    velocity part of the Newton-Euler wrench, and 2 B X its derivative in the direction X, except
    for the term M ad_X V. With the first moment h, Binet's inertia theta and the linear momentum
    P = m v + omega x h

        B (xi, eta) = (N xi, -P x xi),    N = -omega~ theta - h~ v~.
    """

    N: Array
    P: Array

    @classmethod
    def of(cls, inertia: RigidInertia, V: Array) -> VelocityInertia:
        """Return the operator B of one body with twist V."""
        m, h, I = inertia  # noqa: E741
        omega, v = V[:3], V[3:]
        return cls(-hat(omega) @ binet(I) - hat(h) @ hat(v), m * v + hat(omega) @ h)

    def __add__(self, other: VelocityInertia) -> VelocityInertia:
        return VelocityInertia(self.N + other.N, self.P + other.P)

    def __matmul__(self, X: Array) -> Array:
        """Return B X for screws X, (6,) or (6, k)."""
        return np.concatenate([self.N @ X[:3], -hat(self.P) @ X[:3]])

    def angular(self, X: Array) -> Array:
        """Return the angular part of B^T X, (3, k): the linear part is zero."""
        return self.N.T @ X[:3] + hat(self.P) @ X[3:]

    def displacement_rate(self, X: Array) -> VelocityInertia:
        """Return -ad_X^T B - B ad_X: the derivative with respect to a displacement along X."""
        xi, eta = hat(X[:3]), hat(X[3:])
        return VelocityInertia(xi @ self.N - self.N @ xi - eta @ hat(self.P), xi @ self.P)


@dataclass(eq=False)
class SpatialBody:
    """One body.

    Attributes
    ----------
    C : (4, 4) array
        Configuration [m].
    V_p, V : (6,) arrays
        Spatial twists of the predecessor and of the body.
    J, dJ : (6, k) arrays
        Columns of the spatial Jacobian, and their time derivatives [V, J] (D-10).
    Psi : (6, k) array
        [V_p, J]: change of V by a displacement along J, except for [J, V]. Equals dJ if k = 1.
    M, B : RigidInertia, VelocityInertia
        Of the single body.
    """

    C: Array
    V_p: Array
    V: Array
    J: Array
    dJ: Array
    Psi: Array
    M: RigidInertia
    B: VelocityInertia


def spatial_motions(tree: Tree, q: Array, v: Array) -> list[SpatialBody]:
    """Return the motion of every body (K-25, K-26, D-10)."""
    motions: list[SpatialBody] = []
    C = central_poses(tree, q)
    for i, body in enumerate(tree.bodies):
        V_p = np.zeros(6) if body.parent == GROUND else motions[body.parent].V
        rate = body.multiplier * v[body.v]
        J = to_root(C[i], body.X)
        V = V_p + J @ rate
        Psi = bracket(V_p, J)
        dJ = Psi + to_root(C[i], bracket(body.X @ rate, body.X))  # [X q', X] = 0 if k = 1
        M = transported(C[i], (body.m, body.h, body.I))
        motions.append(SpatialBody(C[i], V_p, V, J, dJ, Psi, M, VelocityInertia.of(M, V)))
    return motions


def central_poses(tree: Tree, q: Array) -> dict[int, Array]:
    """Return the poses (4, 4) of all bodies, those of a limb in the frame of its central body."""
    relative = [relative_pose(body, q) for body in tree.bodies]
    C: dict[int, Array] = {}
    for center in central_bodies(tree):
        C[center] = np.eye(4)
        path = tree.path(center)
        for p, i in zip(path[-2::-1], path[:0:-1]):
            C[p] = C[i] @ inverse(relative[i])
    for i, body in enumerate(tree.bodies):
        if i not in C:
            C[i] = C[body.parent] @ relative[i]
    return C


def central_gravity(tree: Tree, q: Array, gravity: Array) -> dict[int, Array]:
    """Return gravity (3,) in the frames of `central_poses`, by the body at the root of a limb."""
    result = {}
    for center in central_bodies(tree):
        path, g = tree.path(center), gravity
        for i in path:
            g = relative_pose(tree.bodies[i], q)[:3, :3].T @ g
        result[path[0]] = g
    return result


def central_bodies(tree: Tree) -> list[int]:
    """Return for each limb the body whose frame gives short programs.

    It is the body at the root, or the last one of a shoulder or hip with intersecting axes.
    """
    children: dict[int, list[int]] = {}
    for i, body in enumerate(tree.bodies):
        children.setdefault(body.parent, []).append(i)

    def center(i: int) -> int:
        outward = children.get(i, [])
        if len(outward) != 1 or tree.bodies[i].dof > 1 or tree.bodies[outward[0]].B[:3, 3].any():
            return i
        return center(outward[0])

    return [center(i) for i in children.get(GROUND, [])]
