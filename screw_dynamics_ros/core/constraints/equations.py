# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constrained dynamics of a tree, as far as it can be said before the constraints are solved.

Constraints add A lambda to the wrenches on the links. The accelerations are linear in lambda,

    a = a_free + K lambda,    rates = drift + inverse_inertia lambda,
    K = M^-1 J^T,             inverse_inertia = J M^-1 J^T,

where J v = A^T V are the velocities that are constrained and rates = A^T dV/dt = J a + J' v.
Popov's and Vereshchagin's recursion finds all this in O(n m^2) without M and J: wrenches E of unit
lambda are propagated inward through the articulated bodies, the motion of each joint is added to

    inverse_inertia = sum e_i^T D_i^-1 e_i,  e_i = X_i^T E_i,  E_p += Ad^T (E_i - U_i D_i^-1 e_i),

and the outward pass, being linear, runs once without constraints and once for each unit lambda. A
floating base is a joint of six freedoms, a constraint between two links starts with E on one and -E
on the other. With mimic joints M and J are formed and M is decomposed; on any tree this is the
second formulation.

Source: Bruyninckx 2010 (6.40) to (6.44), (6.46) to (6.50) corrected (C-071, C-074, C-075, C-077,
C-079, C-082; E-15 to E-25). There L = -inverse_inertia and nu = -lambda.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics import articulated_body, massless_joints
from ..dynamics.drive_forces import moving_torques
from ..dynamics.inverse_dynamics import joint_motion, newton_euler_torques
from ..dynamics.mass_matrix import mass_matrix
from ..kinematics.poe import relative_pose
from ..kinematics.pose_error import pose_error
from ..lie import screws, se3
from ..lie.so3 import hat
from ..linear import solve_positive_definite, symmetric, zeros
from ..tree.multibody_tree import GROUND, Frame, Tree, per_body
from ..types import Array
from .motion_constraint import Structure

#: a_free (nv,), K (nv, m), inverse_inertia (m, m), drift and greatest mobility (m,) each.
Solution = tuple[Array, Array, Array, Array, Array]

#: The same, rate A^T V and displacement (m,) each, and the wrenches of unit lambda (6, m) at and in
#: the link frames.
Equations = tuple[Array, Array, Array, Array, Array, Array, Array, Array]


@dataclass(frozen=True, eq=False)
class BodyMotions:
    """Configuration, twist and acceleration of every body; `GROUND` rests in the root frame.

    Attributes
    ----------
    C : (4, 4) arrays
        In the root frame.
    V : (6,) arrays
        Body-fixed twist.
    dV : (6,) arrays
        Angular acceleration and acceleration of the origin, in the body frame, for a = 0.
    """

    C: dict[int, Array]
    V: dict[int, Array]
    dV: dict[int, Array]


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """One constraint at a state: m rates are W^T dV of the body - W_other^T dV of the other + bias.

    Attributes
    ----------
    body, other : int
    W, W_other, W_link : (6, m) arrays
        Wrenches of unit lambda in the frames of the body, of the other body, of the link.
    bias, rate, displacement : (m,) arrays
    point : (3,) array
        Where A is given, in the root frame [m].
    moment, force : (m,) arrays
        Squares of the magnitudes of moments and forces in A.
    """

    body: int
    other: int
    W: Array
    W_other: Array
    W_link: Array
    bias: Array
    rate: Array
    displacement: Array
    point: Array
    moment: Array
    force: Array


def motion(tree: Tree, q: Array, v: Array) -> BodyMotions:
    """Return how the bodies move with velocities v and no joint accelerating."""
    C, V, dV = per_body(3)
    C[GROUND], V[GROUND], dV[GROUND] = np.eye(4), np.zeros(6), np.zeros(6)
    for i, body in enumerate(tree.bodies):
        relative, p = relative_pose(body, q), body.parent
        C[i] = relative if p == GROUND else C[p] @ relative
        V_p = screws.inverse_transform_twist(relative, V[p])
        V[i] = V_p + body.X @ (body.multiplier * v[body.v])
        omega, domega, r = V[p][:3], dV[p][:3], relative[:3, 3]
        R_T = relative[:3, :3].T
        ddr = R_T @ (dV[p][3:] + hat(domega) @ r + hat(omega) @ (hat(omega) @ r))
        _, domega, ddr = joint_motion(body, V_p[:3], R_T @ domega, ddr, v, np.zeros(tree.nv))
        dV[i] = np.concatenate([domega, ddr])
    return BodyMotions(C, V, dV)


def columns(transform: object, C: Array, X: Array) -> Array:
    """Return the columns of X (6, k), transformed by a function of `screws`."""
    result: Array = transform(C, X.T).T  # type: ignore[operator]
    return result


def row(tree: Tree, bodies: BodyMotions, structure: Structure, parameters: Array) -> ConstraintRow:
    """Return one constraint at the current state.

    V is the body-fixed twist of the frame at the point relative to the other link, V_o that of the
    other in the same frame. In the chosen representation, or expressed in a frame that moves with
    the twist V_j, the twist is G V, and its rate

        G (dV/dt + ad_V V_o) + G' V,    G = Ad_C, G' = G ad_{V + V_o - V_j} in a moving frame,

    so that A^T (rate) = B^T (dV/dt + ...) with B = G^T A.
    """
    link, other, expressed_in, representation, m, has_target = structure
    A = parameters[: 6 * m].reshape(6, m)
    at_point = se3.pose(np.eye(3), parameters[6 * m : 6 * m + 3])
    frame = tree.frame(link)
    reference = Frame(GROUND, np.eye(4)) if other is None else tree.frame(other)
    i, o = frame.body, reference.body
    S = frame.S @ at_point if expressed_in is None else frame.S
    C = se3.inverse(bodies.C[o] @ reference.S) @ (bodies.C[i] @ S)
    V_o = seen_from(bodies, o, reference.S @ C)
    V = screws.inverse_transform_twist(S, bodies.V[i]) - V_o

    if expressed_in is None:
        B = screws.conversion_matrix(C, 'body', representation).T @ A
        bias = B.T @ (se3.ad(V) @ V_o)
        origin = bodies.C[o] @ reference.S if representation == 'spatial' else bodies.C[i] @ S
        if representation in ('hybrid', 'mixed'):
            bias = bias + B[3:].T @ centrifugal(V)
    else:
        axes = tree.frame(expressed_in)
        origin = bodies.C[axes.body] @ axes.S @ at_point
        from_j = se3.inverse(origin) @ (bodies.C[i] @ S)
        B = columns(screws.inverse_transform_wrench, from_j, A)
        V_j = seen_from(bodies, axes.body, axes.S @ at_point @ from_j)
        bias = B.T @ (se3.ad(V) @ V_j)
    W, W_other = columns(screws.transform_wrench, S, B), zeros((6, m), B)
    if o != GROUND:
        W_other = columns(screws.transform_wrench, reference.S @ C, B)
    bias = bias - W[3:].T @ centrifugal(bodies.V[i]) + W_other[3:].T @ centrifugal(bodies.V[o])
    displacement = np.zeros(m)
    if has_target:
        displacement = -(B.T @ pose_error(C, parameters[6 * m + 3 :].reshape(4, 4)))
    W_link = columns(screws.transform_wrench, se3.inverse(frame.S) @ S, B)
    given = origin[:3, 3], (A[:3] * A[:3]).sum(axis=0), (A[3:] * A[3:]).sum(axis=0)
    return ConstraintRow(i, o, W, W_other, W_link, bias, B.T @ V, displacement, *given)


def seen_from(bodies: BodyMotions, i: int, C: Array) -> Array:
    """Return the twist of body i in a frame at pose C in its own; the ground has none."""
    return np.zeros(6) if i == GROUND else screws.inverse_transform_twist(C, bodies.V[i])


def centrifugal(V: Array) -> Array:
    """Return omega x v."""
    result: Array = hat(V[:3]) @ V[3:]
    return result


def rates(rows: Sequence[ConstraintRow], dV: dict[int, Array]) -> Array:
    """Return A^T dV/dt of all constraints (m,) from the accelerations of the bodies."""
    return np.concatenate([r.W.T @ dV[r.body] - r.W_other.T @ dV[r.other] + r.bias for r in rows])


def unit_wrenches(tree: Tree, rows: Sequence[ConstraintRow]) -> dict[int, Array]:
    """Return the wrenches of unit lambda on every body, (6, m)."""
    m = sum(r.W.shape[1] for r in rows)
    E = {i: zeros((6, m), *(r.W for r in rows)) for i in range(GROUND, len(tree.bodies))}
    start = 0
    for r in rows:
        place = slice(start, start + r.W.shape[1])
        E[r.body][:, place] = E[r.body][:, place] + r.W
        E[r.other][:, place] = E[r.other][:, place] - r.W_other
        start = place.stop
    return E


def greatest_mobility(
    tree: Tree, state: BodyMotions, rows: Sequence[ConstraintRow], resistance: Array
) -> Array:
    """Return (m,): the diagonal of inverse_inertia, had every wrench the best possible direction.

    Each joint between is free to move under the wrench with its lever arm, against the inertia
    `resistance` (nv,). Values smaller by orders are rounding: nothing moves in that direction.
    """
    result = []
    for r in rows:
        total = zeros(r.moment.shape, r.moment, resistance)
        for i in (*tree.path(r.body), *tree.path(r.other)):
            body, d = tree.bodies[i], r.point - state.C[i][:3, 3]
            for k, X in zip(range(body.v.start, body.v.stop), body.X.T):
                lever = r.moment + r.force * (d @ d) if X[:3].any() else r.force
                total = total + body.multiplier**2 * lever / resistance[k]
        result.append(total)
    return np.concatenate(result)


def constraint_equations(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    structures: Sequence[Structure],
    parameters: Sequence[Array],
) -> Equations:
    """Return all terms of the equations, see `Equations`.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,), tau : (nv,), gravity : (3,)
        As in `forward_dynamics`.
    structures, parameters
        Of the constraints.
    """
    bodies = motion(tree, q, v)
    rows = [row(tree, bodies, s, p) for s, p in zip(structures, parameters)]
    method = dense if tree.is_coupled else recursive
    return (
        *method(tree, q, v, tau, gravity, bodies, rows),
        np.concatenate([r.rate for r in rows]),
        np.concatenate([r.displacement for r in rows]),
        np.concatenate([r.W_link for r in rows], axis=1),
    )


def recursive(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    state: BodyMotions,
    rows: Sequence[ConstraintRow],
) -> Solution:
    """Return a_free, K, inverse_inertia and drift by the recursion of Popov and Vereshchagin."""
    at_rest = np.zeros(tree.nv)
    bodies = articulated_body.inward(tree, q, v, at_rest, tau, [False] * tree.nv)
    a_free, dV = articulated_body.outward(tree, bodies, at_rest, gravity)
    for i in dV:  # of free fall, added to the relative acceleration
        dV[i] = dV[i] + np.concatenate([np.zeros(3), state.C[i][:3, :3].T @ gravity])
    dV[GROUND] = np.zeros(6)

    E = unit_wrenches(tree, rows)
    m = E[GROUND].shape[1]
    e, y = per_body(2)
    inverse_inertia = zeros((m, m), *E.values())
    for i in reversed(range(len(tree.bodies))):
        p = tree.bodies[i].parent
        e[i] = bodies.X[i].T @ E[i]
        y[i] = solve_positive_definite(bodies.D[i], e[i])
        inverse_inertia = inverse_inertia + symmetric(e[i].T @ y[i])
        if p != GROUND:
            passed_on = E[i] - bodies.U[i] @ y[i]
            E[p] = E[p] + columns(screws.transform_wrench, bodies.C[i], passed_on)

    K = zeros((tree.nv, m), *y.values())
    dV_unit: dict[int, Array] = {}
    for i, body in enumerate(tree.bodies):
        K[body.v], dV_unit[i] = y[i], body.X @ y[i]
        if body.parent != GROUND:
            inherited = columns(screws.inverse_transform_twist, bodies.C[i], dV_unit[body.parent])
            K[body.v] = y[i] - solve_positive_definite(bodies.D[i], bodies.U[i].T @ inherited)
            dV_unit[i] = inherited + body.X @ K[body.v]
    resistance = zeros(tree.nv, *bodies.D.values())
    for i, body in enumerate(tree.bodies):
        resistance[body.v] = bodies.D[i].diagonal()
    mobility = greatest_mobility(tree, state, rows, resistance)
    return a_free, K, inverse_inertia, rates(rows, dV), mobility


def dense(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    state: BodyMotions,
    rows: Sequence[ConstraintRow],
) -> Solution:
    """Return a_free, K, inverse_inertia and drift by the mass matrix and the Jacobian."""
    E = unit_wrenches(tree, rows)
    J = zeros((E[GROUND].shape[1], tree.nv), *E.values())
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        J[:, body.v] = J[:, body.v] + body.multiplier * (E[i].T @ body.X)
        if body.parent != GROUND:
            relative = relative_pose(body, q)
            E[body.parent] = E[body.parent] + columns(screws.transform_wrench, relative, E[i])
    h = newton_euler_torques(tree, q, v, np.zeros(tree.nv), gravity)
    moving = moving_torques(tree, q, v, tau)
    M = mass_matrix(tree, q)
    for joint, (_, place) in tree.coordinates.items():
        massless_joints.check_moves_mass(M[place, place], joint)
    M = massless_joints.resisted(tree, M, range(tree.nv))
    solution = solve_positive_definite(M, np.column_stack([moving - h, J.T]))
    a_free, K = solution[:, 0], solution[:, 1:]
    mobility = greatest_mobility(tree, state, rows, M.diagonal())
    return a_free, K, symmetric(J @ K), rates(rows, state.dV) + J @ a_free, mobility
