"""Mass matrix of a tree by composite inertias."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.dynamics.inverse_dynamics import transported_wrench
from screw_dynamics_ros.core.dynamics.linear import symmetric
from screw_dynamics_ros.core.kinematics.poe import relative_pose
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.model.tree import GROUND, Array, Tree, zeros


def mass_matrix(tree: Tree, q: Array) -> Array:
    """Return M(q), (nv, nv): M_ij = X_i^T Ad^T (sum of the inertias outboard) X_j (muller.md D-37).

    Every composite inertia (m, h, I) is carried to its predecessor; the momentum of a unit rate of
    joint i is carried to the root and meets each joint on the way. Mimic joints add up to G^T M G.
    """
    C = [relative_pose(body, q) for body in tree.bodies]
    m = [body.m for body in tree.bodies]
    h = [body.h for body in tree.bodies]
    I = [body.I for body in tree.bodies]  # noqa: E741
    M = zeros((tree.nv, tree.nv), *C)

    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        xi, eta = body.X[:3], body.X[3:]
        momentum = np.concatenate([I[i] @ xi + hat(h[i]) @ eta, m[i] * eta - hat(h[i]) @ xi])
        M[body.v, body.v] = M[body.v, body.v] + body.multiplier**2 * symmetric(body.X.T @ momentum)
        j = i
        while tree.bodies[j].parent != GROUND:
            momentum = np.stack([transported_wrench(C[j], column) for column in momentum.T], axis=1)
            j = tree.bodies[j].parent
            other = tree.bodies[j]
            block = body.multiplier * other.multiplier * (other.X.T @ momentum)
            M[other.v, body.v] = M[other.v, body.v] + block
            M[body.v, other.v] = M[body.v, other.v] + block.T
        if body.parent != GROUND:
            R, r, p = C[i][:3, :3], C[i][:3, 3], body.parent
            Rh = R @ h[i]
            shift = symmetric(hat(r) @ hat(Rh) + hat(Rh) @ hat(r) + m[i] * (hat(r) @ hat(r)))
            I[p] = I[p] + symmetric(R @ I[i] @ R.T) - shift
            h[p] = h[p] + Rh + m[i] * r
            m[p] = m[p] + m[i]
    return M
