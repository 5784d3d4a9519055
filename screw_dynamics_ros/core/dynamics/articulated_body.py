"""The articulated-body recursion: what a subtree looks like to the joint that carries it.

A body with all its successors, their joints free to give way, resists an acceleration dV by the
wrench P dV + beta, with the articulated inertia P and the bias wrench beta. Joints whose motion is
prescribed do not give way: their acceleration is part of the bias acceleration c, and P passes
through them unchanged (hybrid dynamics).

dV = (domega, ddr) is the angular acceleration of a body and the acceleration of its origin, in its
own frame, as in `inverse_dynamics`. Gravity enters as acceleration of the root frame.

Source: muller.md D-38; bruyninckx_2.md C-051, C-056, C-059, C-060, with (6.22), (6.25), (6.27),
(6.28) and (6.30) corrected (E-11, E-15 to E-18).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.dynamics.inverse_dynamics import (
    applied_wrenches,
    friction_torques,
    joint_motion,
)
from screw_dynamics_ros.core.dynamics.spatial_inertia import inertia_matrix, transported_matrix
from screw_dynamics_ros.core.errors import InertiaError
from screw_dynamics_ros.core.kinematics.poe import relative_pose
from screw_dynamics_ros.core.lie.screws import inverse_transform_twist, transform_wrench
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.linear import (
    is_zero,
    solve_positive_definite,
    symmetric,
    triangular_factor,
    zeros,
)
from screw_dynamics_ros.core.tree.multibody_tree import GROUND, Tree, per_body
from screw_dynamics_ros.core.types import Array

#: Part of a body's inertia that counts as none: what rounding leaves.
NOTHING = 1e-12


@dataclass(frozen=True)
class ArticulatedBodies:
    """What the inward pass finds, by the index of the body.

    Attributes
    ----------
    C : (4, 4) arrays
        Configuration in the predecessor's frame.
    omega : (3,) arrays
        Angular velocity.
    c : (6,) arrays
        Acceleration the joint adds by itself: centripetal and Coriolis terms, prescribed motion.
    P, beta : (6, 6) and (6,) arrays
        Articulated inertia and bias wrench, before the body's own joint gives way.
    X : (6, k) arrays
        Screws of the free directions of the joint.
    free : lists of k int
        Their places in v.
    U, D, u : (6, k), (k, k) and (k,) arrays
        P X, the inertia X^T P X felt by the joint, that of its drive included, and the torque
        tau - X^T beta left for it.
    """

    C: dict[int, Array]
    omega: dict[int, Array]
    c: dict[int, Array]
    P: dict[int, Array]
    beta: dict[int, Array]
    X: dict[int, Array]
    free: dict[int, list[int]]
    U: dict[int, Array]
    D: dict[int, Array]
    u: dict[int, Array]


def inward(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    prescribed: Sequence[bool],
    wrenches: Mapping[str, Array] | None = None,
) -> ArticulatedBodies:
    """Return the articulated bodies of a tree without mimic joints.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,)
    a, tau : (nv,)
        Accelerations of the prescribed joints and torques of the free ones; the rest is not read.
    prescribed : (nv,) sequence of bool
        Which accelerations are given.
    wrenches : {link: (6,)}
        As in `inverse_dynamics`.
    """
    C, omega, Omega, c, P, beta, X, U, D, u = per_body(10)
    free: dict[int, list[int]] = {}
    applied = applied_wrenches(tree, wrenches)
    given = np.where(prescribed, a, 0.0)
    if tree.with_friction:
        tau = tau - friction_torques(tree, v)

    for i, body in enumerate(tree.bodies):
        C[i] = relative_pose(body, q)
        R, r = C[i][:3, :3], C[i][:3, 3]
        on_ground = body.parent == GROUND
        omega_p = np.zeros(3) if on_ground else omega[body.parent]
        centripetal = np.zeros(3) if on_ground else Omega[body.parent] @ r
        omega[i], domega, ddr = joint_motion(
            body, R.T @ omega_p, np.zeros(3), R.T @ centripetal, v, given
        )
        Omega[i] = hat(omega[i]) @ hat(omega[i])
        c[i] = np.concatenate([domega, ddr])
        P[i] = inertia_matrix(body)
        # Euler's form: without angular acceleration it takes less than `newton_euler`.
        gyroscopic = np.concatenate([hat(omega[i]) @ (body.I @ omega[i]), Omega[i] @ body.h])
        beta[i] = gyroscopic - applied.get(i, 0.0)
        places = range(body.v.start, body.v.stop)
        free[i] = [k for k in places if not prescribed[k]]
        X[i] = body.X[:, [k - body.v.start for k in free[i]]]

    carrying = {body.parent for body in tree.bodies}
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        U[i] = P[i] @ X[i]
        D[i] = X[i].T @ U[i] + body.drive.felt_inertia * np.eye(len(free[i]))
        if body.massless_about_joint and i not in carrying:
            D[i] = 0.0 * D[i]  # but for rounding
        if not body.massless_about_joint or i not in carrying or D[i].dtype == object:
            check_moves_mass(D[i], body.joint)  # a number may be zero here and not elsewhere
        if body.massless_about_joint and free[i]:
            D[i] = not_a_number_below(D[i], NOTHING * P[i].diagonal()[block_of(X[i])].sum())
        u[i] = tau[free[i]] - X[i].T @ beta[i]
        if body.parent != GROUND:
            P_a, beta_a = P[i], beta[i]
            if free[i]:
                P_a = symmetric(P_a - U[i] @ solve_positive_definite(D[i], U[i].T))
                if not body.drive.felt_inertia:  # P_a X = 0: nothing is felt along a free joint
                    nothing = unit_rows(X[i])
                    P_a[nothing, :] = P_a[:, nothing] = 0.0
                beta_a = beta_a + U[i] @ solve_positive_definite(D[i], u[i])
            beta_a = beta_a + P_a @ c[i]
            P[body.parent] = P[body.parent] + transported_matrix(C[i], P_a)
            beta[body.parent] = beta[body.parent] + transform_wrench(C[i], beta_a)
    return ArticulatedBodies(C, omega, c, P, beta, X, free, U, D, u)


def outward(
    tree: Tree, bodies: ArticulatedBodies, a: Array, gravity: Array
) -> tuple[Array, dict[int, Array]]:
    """Return the accelerations of all joints (nv,), and dV of all bodies, relative to free fall.

    `a` holds those that are prescribed; `gravity` (3,) is the acceleration of free fall.
    """
    dV: dict[int, Array] = {}
    result = zeros(a.shape, a, *bodies.beta.values(), *bodies.u.values())
    at_rest = np.concatenate([np.zeros(3), -gravity])
    for i, body in enumerate(tree.bodies):
        dV_p = at_rest if body.parent == GROUND else dV[body.parent]
        dV[i] = inverse_transform_twist(bodies.C[i], dV_p) + bodies.c[i]
        result[body.v] = a[body.v]
        free = bodies.free[i]
        if free:
            torque = bodies.u[i] - bodies.U[i].T @ dV[i]
            result[free] = solve_positive_definite(bodies.D[i], torque)
            dV[i] = dV[i] + bodies.X[i] @ result[free]
    return result, dV


def check_moves_mass(D: Array, joint: str) -> None:
    """Raise `InertiaError` if a joint moves nothing: its acceleration is not defined."""
    if any(is_zero(inertia) for inertia in D.diagonal()):
        raise InertiaError(
            f'forward dynamics is not defined: joint {joint!r} moves no mass; give the links '
            'beyond it inertias, make the joint fixed, or prescribe its motion'
        )


def not_a_number_below(D: Array, least: Array) -> Array:
    """Return the inertia D felt by a joint, (1, 1), or NaN if it is less than `least`.

    Where a joint has nothing to work against (the middle axis of three without mass between them,
    the outer two aligned), rounding would decide on its acceleration.
    """
    with np.errstate(invalid='ignore'):
        root = np.sqrt((D - least)[0, 0])
    return np.array([[root * root + least]])


def resisted(tree: Tree, M: Array, places: Sequence[int]) -> Array:
    """Return a mass matrix with NaN for the coordinates that nothing resists; see above.

    `places` are the coordinates of its rows in v. Eliminated from the tips, each keeps the inertia
    D that its joint feels as pivot.
    """
    leaning = [
        all(body.massless_about_joint for body in tree.bodies if body.v.start <= k < body.v.stop)
        for k in places
    ]
    if not any(leaning):
        return M
    result, pivots = M.copy(), triangular_factor(M).diagonal()
    for k in np.flatnonzero(leaning):
        pivot = pivots[[k]][None]
        excess = not_a_number_below(pivot, NOTHING * M[k, k]) - pivot  # zero or NaN
        result[k, k] = M[k, k] + excess[0, 0]
    return result


def block_of(X: Array) -> slice:
    """Return the rows of a screw (6, 1) that its own kind of inertia is in: angular or linear."""
    return slice(0, 3) if X[:3].any() else slice(3, 6)


def unit_rows(X: Array) -> Array:
    """Return k for each column of X that is the unit vector e_k; a helical joint has none."""
    columns = X[:, np.abs(X).sum(axis=0) == 1.0]
    return columns.argmax(axis=0)
