"""Forward dynamics: articulated bodies, or dense reduced equations where joints mimic others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from screw_dynamics_ros.core.dynamics.inertia import (
    inertia_matrix,
    transported_matrix,
)
from screw_dynamics_ros.core.dynamics.inverse_dynamics import (
    applied_wrenches,
    friction_torques,
    inverse_dynamics,
    joint_motion,
    newton_euler,
)
from screw_dynamics_ros.core.dynamics.linear import is_zero, solve_positive_definite, symmetric
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.errors import InertiaError
from screw_dynamics_ros.core.kinematics.poe import relative_pose
from screw_dynamics_ros.core.lie.screws import inverse_transform_twist, transform_wrench
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.model.tree import GROUND, Array, Tree, per_body, zeros


def forward_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the joint accelerations (nv,) under the generalised forces tau and applied wrenches.

    Arguments as in `inverse_dynamics`. With mimic joints several bodies share one coordinate, and
    the reduced equations G^T M G a = tau - G^T h are solved; otherwise the articulated-body
    recursion runs.
    """
    if tree.has_mimic:
        bias = inverse_dynamics(tree, q, v, np.zeros(tree.nv), gravity, wrenches)
        M = mass_matrix(tree, q)
        for joint, (_, v_j) in tree.coordinates.items():
            check_moves_mass(M[v_j, v_j], joint)
        return solve_positive_definite(M, tau - bias)
    return articulated_body(tree, q, v, tau, gravity, wrenches)


def articulated_body(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Articulated-body forward dynamics (muller.md D-38), in the form of `inverse_dynamics`.

    P is the articulated inertia, beta the bias wrench, c the bias acceleration of a body, and dV
    its acceleration (domega, ddr): angular acceleration and acceleration of the origin.
    """
    C, omega, c, P, beta, U, D, u, dV = per_body(9)
    rest = np.zeros(tree.nv)
    applied = applied_wrenches(tree, wrenches)
    if tree.with_friction:
        tau = tau - friction_torques(tree, v)

    for i, body in enumerate(tree.bodies):
        C[i] = relative_pose(body, q)
        R, r = C[i][:3, :3], C[i][:3, 3]
        omega_p = np.zeros(3) if body.parent == GROUND else omega[body.parent]
        centripetal = hat(omega_p) @ (hat(omega_p) @ r)
        omega[i], domega, ddr = joint_motion(
            body, R.T @ omega_p, np.zeros(3), R.T @ centripetal, v, rest
        )
        c[i] = np.concatenate([domega, ddr])
        P[i] = inertia_matrix(body)
        beta[i] = newton_euler(body, hat(omega[i]) @ hat(omega[i]), np.zeros(3)) - applied.get(
            i, 0.0
        )

    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        X, free = body.X, unit_rows(body.X)
        U[i] = P[i] @ X
        D[i] = X.T @ U[i] + body.drive.felt_inertia * np.eye(body.dof)
        check_moves_mass(D[i], body.joint)
        u[i] = tau[body.v] - X.T @ beta[i]
        if body.parent != GROUND:
            P_a = symmetric(P[i] - U[i] @ solve_positive_definite(D[i], U[i].T))
            if not body.drive.felt_inertia:  # P_a X = 0: nothing is felt along a free joint
                P_a[free, :] = P_a[:, free] = 0.0
            beta_a = beta[i] + P_a @ c[i] + U[i] @ solve_positive_definite(D[i], u[i])
            P[body.parent] = P[body.parent] + transported_matrix(C[i], P_a)
            beta[body.parent] = beta[body.parent] + transform_wrench(C[i], beta_a)

    a = zeros(tree.nv, *beta.values(), *u.values())
    for i, body in enumerate(tree.bodies):
        at_rest = np.concatenate([np.zeros(3), -gravity])
        dV_p = at_rest if body.parent == GROUND else dV[body.parent]
        inherited = inverse_transform_twist(C[i], dV_p) + c[i]
        a[body.v] = solve_positive_definite(D[i], u[i] - U[i].T @ inherited)
        dV[i] = inherited + body.X @ a[body.v]
    return a


def check_moves_mass(D: Array, joint: str) -> None:
    """Raise `InertiaError` if a joint moves nothing: its acceleration is not defined."""
    if any(is_zero(inertia) for inertia in D.diagonal()):
        raise InertiaError(
            f'forward dynamics is not defined: joint {joint!r} moves no mass; give the links '
            'beyond it inertias, or make the joint fixed'
        )


def unit_rows(X: Array) -> Array:
    """Return k for each column of X that is the unit vector e_k; a helical joint has none."""
    columns = X[:, np.abs(X).sum(axis=0) == 1.0]
    return columns.argmax(axis=0)
