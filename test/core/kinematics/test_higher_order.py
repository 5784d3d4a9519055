# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accelerations to snap, rates and partial derivatives of Jacobians, and what the papers print.

Spec IDs: D-04, D-05, D-08 to D-10, D-12 to D-16, B-084 (part), and the errata E-02 to E-06, E-08 to
E-14, E-16: each as a test in which the printed form fails.
References: poses differentiated in extended precision (`poe_models`), general robots.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.description import Inertia
from screw_dynamics_ros.core.dynamics.inverse_dynamics import hybrid_body_wrench
from screw_dynamics_ros.core.kinematics.higher_order import (
    jacobian_derivative,
    product_derivative,
    twist_derivatives,
)
from screw_dynamics_ros.core.kinematics.jacobian_partials import jacobian_partials
from screw_dynamics_ros.core.kinematics.jacobians import jacobian
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import body_motions
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from support.poe_models import (
    EXTENDED,
    REPRESENTATIONS,
    Derivatives,
    Reference,
    deepest,
    derivatives,
    random_geometry,
    random_inertias,
    random_trajectory,
)

SEEDS = pytest.mark.parametrize('seed', range(2))
IN_ALL_REPRESENTATIONS = pytest.mark.parametrize('representation', REPRESENTATIONS)
N = 6

FIXED, WRONG = 1e-9, 0.1  # a corrected form is exact, a printed one is off by tenths at least


# --- derivatives in time --------------------------------------------------------------------------


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_twist_to_jounce(seed, representation):
    """D-05, D-08, D-10, D-12, D-14 to D-16: four orders against differences, general trees."""
    geometry = random_geometry(seed, N)
    tree, trajectory, i = tree_of(geometry), random_trajectory(seed, N), deepest(geometry)
    found = twist_derivatives(
        tree, trajectory[0], list(trajectory[1:5]), f'body{i + 1}', representation
    )
    expected = Reference(geometry, i).twists(trajectory, 3)[representation]
    for x, y, tolerance in zip(found, expected, (1e-14, 1e-13, 1e-11, 1e-9)):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance)


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_rate_of_the_jacobian(seed, representation):
    """D-06, D-10, D-14, D-16: J' against differences of the Jacobian of the poses."""
    geometry = random_geometry(seed, N)
    (q, v), i = random_trajectory(seed, N)[:2], deepest(geometry)
    rate = jacobian_derivative(tree_of(geometry), q, v, f'body{i + 1}', representation)
    reference = Reference(geometry, i)
    for j, e in enumerate(np.eye(N)):  # V' of a motion with q'' = 0, polarized
        plus, minus = (reference.twists([q, v + s * e], 1)[representation][1] for s in (1, -1))
        mixed = (plus - minus) / 2  # J'(v) e + J'(e) v
        along_e = jacobian_derivative(tree_of(geometry), q, e, f'body{i + 1}', representation)
        np.testing.assert_allclose(rate[:, j] + along_e @ v, mixed, rtol=0, atol=1e-12)
    dV = reference.twists([q, v], 1)[representation][1]
    np.testing.assert_allclose(rate @ v, dV, rtol=0, atol=1e-12)


@SEEDS
def test_changes_of_representation(seed):
    """D-16, B-084: how accelerations and jerks convert; they are not transforms of each other."""
    C, V, dV, ddV = link_motion(seed)
    R, r = C[:3, :3], C[:3, 3]
    omega, rdot = V['hybrid'][:3], V['hybrid'][3:]
    zero, one = np.zeros((3, 3)), np.eye(3)
    to_mixed = np.block([[R.T, zero], [zero, one]])
    np.testing.assert_allclose(dV['spatial'], se3.Ad(C) @ dV['body'], atol=1e-13)
    np.testing.assert_allclose(
        dV['hybrid'], se3.Ad_R(R) @ dV['body'] + [0, 0, 0, *np.cross(omega, rdot)], atol=1e-13
    )
    np.testing.assert_allclose(
        dV['hybrid'], se3.Ad_r(-r) @ dV['spatial'] - [0, 0, 0, *np.cross(rdot, omega)], atol=1e-13
    )
    np.testing.assert_allclose(dV['mixed'], to_mixed @ dV['hybrid'], atol=1e-13)
    w, u = V['body'][:3], V['body'][3:]
    np.testing.assert_allclose(
        dV['mixed'],
        np.block([[one, zero], [zero, R]]) @ (dV['body'] + [0, 0, 0, *np.cross(w, u)]),
        atol=1e-13,
    )
    np.testing.assert_allclose(
        ddV['spatial'], se3.Ad(C) @ (ddV['body'] + se3.ad(V['body']) @ dV['body']), atol=1e-12
    )
    assert np.abs(dV['hybrid'] - se3.Ad_R(R) @ dV['body']).max() > WRONG


def link_motion(seed: int) -> tuple[np.ndarray | dict[str, np.ndarray], ...]:
    """Return pose, twist, acceleration and jerk of one link of a chain, by representation."""
    geometry = random_geometry(seed, N, chain=True)
    trajectory = random_trajectory(seed, N)
    tree, link = tree_of(geometry), f'body{N}'
    orders = {
        name: twist_derivatives(tree, trajectory[0], list(trajectory[1:4]), link, name)
        for name in REPRESENTATIONS
    }
    return (
        geometry.poses(trajectory[0])[-1],
        *({name: x[k] for name, x in orders.items()} for k in range(3)),
    )


# --- closed forms of the papers, as printed and as corrected --------------------------------------


class Chain:
    """The quantities of [D] section 2 for the last body of a general chain; joint indices from 0.

    Jb, Js, Jh, Jm are the columns of its Jacobians; `hybrid`, `spatial` the motions of all bodies.
    """

    def __init__(self, seed: int) -> None:
        self.geometry = random_geometry(seed, N, chain=True)
        self.q, self.v, self.a, self.jerk = random_trajectory(seed, N)[:4]
        self.tree: Tree = tree_of(self.geometry)
        self.C = self.geometry.poses(self.q)
        self.reference = Reference(self.geometry, N - 1)
        self.dV = self.reference.twists([self.q, self.v, self.a, self.jerk], 2)
        link = f'body{N}'
        self.Jb, self.Js, self.Jh, self.Jm = (
            jacobian(self.tree, self.q, link, name).T
            for name in ('body', 'spatial', 'hybrid', 'mixed')
        )
        rates = [self.v, self.a, self.jerk]
        self.hybrid = body_motions(self.tree, self.q, rates, 'hybrid')
        self.spatial = body_motions(self.tree, self.q, rates, 'spatial')

    def partials(self, representation: str) -> np.ndarray:
        """Return dJ_j / dq_k by differences, [j, k]."""
        columns = [
            derivatives(lambda t, e=e: self._jacobian(self.q + float(t) * e, representation), 1)[1]
            for e in np.eye(N)
        ]
        return np.stack(columns, axis=-1).astype(float).transpose(1, 2, 0)

    def _jacobian(self, q: np.ndarray, representation: str) -> np.ndarray:
        return jacobian(self.tree, q, f'body{N}', representation).astype(EXTENDED)


@pytest.fixture(scope='module', params=[0, 1, 2])
def chain(request: pytest.FixtureRequest) -> Chain:
    return Chain(request.param)


def bracket(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return se3.ad(X) @ Y


def angular(X: np.ndarray) -> np.ndarray:
    return np.concatenate([X[:3], np.zeros(3)])


def linear(X: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(3), X[3:]])


def off(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max())


def test_body_fixed_partials(chain):
    """D-04: [J_j, J_k] for j < k <= i, zero otherwise; also -Ad_{C_i,k} ad_{X_k} J_kj."""
    truth = chain.partials('body')
    for j in range(N):
        for k in range(N):
            expected = bracket(chain.Jb[j], chain.Jb[k]) if j < k else np.zeros(6)
            assert off(expected, truth[j, k]) < FIXED
            if j < k:
                J_kj = jacobian(chain.tree, chain.q, f'body{k + 1}', 'body')[:, j]
                Ad = se3.Ad(np.linalg.inv(chain.C[-1]) @ chain.C[k])
                assert off(-Ad @ se3.ad(chain.geometry.X[k]) @ J_kj, truth[j, k]) < FIXED


def test_spatial_partials_and_rates(chain):
    """D-10: dJ_j/dq_k = [J_k, J_j] for k < j; J' = [V_j, J_j] = [V_{j-1}, J_j]."""
    truth = chain.partials('spatial')
    for j in range(N):
        for k in range(N):
            expected = bracket(chain.Js[k], chain.Js[j]) if k < j else np.zeros(6)
            assert off(expected, truth[j, k]) < FIXED
        V = chain.spatial[j].V[0]
        before = chain.spatial[j - 1].V[0] if j else np.zeros(6)
        assert off(bracket(V, chain.Js[j]), truth[j].T @ chain.v) < FIXED
        assert off(bracket(before, chain.Js[j]), truth[j].T @ chain.v) < FIXED


def test_printed_sum_of_rates_fails(chain):
    """E-06, [D](16): the rates belong into the sum, [sum J_k q_k', J_j], not behind the bracket."""
    truth = chain.partials('spatial')
    worst = 0.0
    for j in range(N):
        corrected = bracket(chain.v[: j + 1] @ chain.Js[: j + 1], chain.Js[j])
        printed = bracket(chain.Js[: j + 1].sum(axis=0), chain.Js[j]) * chain.v[j]
        assert off(corrected, truth[j].T @ chain.v) < FIXED
        worst = max(worst, off(printed, truth[j].T @ chain.v))
    assert worst > WRONG


def test_printed_derivatives_of_relative_poses_fail(chain):
    """E-02, E-03, E-04, [D](2) to (4): last factor, last index, and the range j < k."""
    i = N - 1

    def relative(a: int, b: int, q: np.ndarray) -> np.ndarray:
        C = chain.geometry.poses(q)
        return np.linalg.inv(C[a]) @ C[b]

    def partial(a: int, b: int, index: int) -> np.ndarray:
        e = np.eye(N)[index]
        return derivatives(lambda t: relative(a, b, chain.q + float(t) * e).astype(EXTENDED), 1)[1]

    J = [se3.hat(column) for column in chain.Jb]
    truth = chain.partials('body')
    wrong = {'E-02': 0.0, 'E-03': 0.0, 'E-04': 0.0}
    for j in range(N - 1):
        C_ij, C_ji = relative(i, j, chain.q), relative(j, i, chain.q)
        X = se3.hat(chain.geometry.X[j])
        assert off(partial(i, j, j), np.zeros((4, 4))) < FIXED
        wrong['E-04'] = max(wrong['E-04'], off(partial(i, j, j), -J[j] @ C_ij))
        for k in range(j + 1, N):
            there, back = partial(i, j, k), partial(j, i, k)
            assert off(there, -J[k] @ C_ij) < FIXED
            assert off(back, C_ji @ J[k]) < FIXED
            wrong['E-03'] = max(wrong['E-03'], off(back, C_ji @ J[j]))
            dJ = se3.hat(truth[j, k])
            assert off(there @ X @ C_ji + C_ij @ X @ back, dJ) < FIXED
            wrong['E-02'] = max(wrong['E-02'], off(there @ X @ C_ij + C_ij @ X @ back, dJ))
    assert min(wrong.values()) > WRONG, wrong


def test_body_fixed_acceleration_and_jerk(chain):
    """D-05, D-08 and E-05: in [D](13) the last sum must be 2 sum_{k<r} + sum_{k=r}."""
    J, v, a = chain.Jb, chain.v, chain.a
    pairs = [(j, k) for j in range(N) for k in range(j + 1, N)]
    acceleration = a @ J + sum(bracket(J[j], J[k]) * v[j] * v[k] for j, k in pairs)
    assert off(acceleration, chain.dV['body'][1]) < FIXED
    first = chain.jerk @ J + sum(
        bracket(J[j], J[k]) * (2 * a[j] * v[k] + v[j] * a[k]) for j, k in pairs
    )

    def triple(j: int, k: int, r: int) -> np.ndarray:
        return bracket(bracket(J[j], J[k]), J[r]) * v[j] * v[k] * v[r]

    full = sum(triple(j, min(k, r), max(k, r)) for j, k in pairs for r in range(j + 1, N))
    corrected = sum((2 - (k == r)) * triple(j, k, r) for j, k in pairs for r in range(k, N))
    printed = sum(2 * triple(j, k, r) for j, k in pairs for r in range(k, N))
    truth = chain.dV['body'][2]
    assert off(first + full, truth) < FIXED
    assert off(first + corrected, truth) < FIXED
    assert off(first + printed, truth) > 0.02


def test_spatial_acceleration_jerk_and_second_partials(chain):
    """D-10, D-12: (17), (21), (22) and the recursion agree; (20) is the second partial."""
    J, v, a = chain.Js, chain.v, chain.a
    V = [motion.V[0] for motion in chain.spatial]
    dJ = [bracket(V[j], J[j]) for j in range(N)]
    acceleration = a @ J + v @ np.array(dJ)
    assert off(acceleration, chain.dV['spatial'][1]) < FIXED
    eq21 = eq22 = np.zeros(6)
    for j in range(N):
        before = V[j - 1] if j else np.zeros(6)
        forward = a[: j + 1] @ J[: j + 1]
        common = J[j] * chain.jerk[j] + 2 * dJ[j] * a[j]
        eq21 = (
            eq21 + common + (bracket(forward, J[j]) + bracket(before + V[j] - V[-1], dJ[j])) * v[j]
        )
        eq22 = (
            eq22
            + common
            + (bracket(dJ[j], V[-1] - 2 * V[j]) + bracket(forward + dJ[j] * v[j], J[j])) * v[j]
        )
    for jerk in (eq21, eq22, chain.spatial[-1].V[2]):
        assert off(jerk, chain.dV['spatial'][2]) < FIXED
    second = jacobian_partials(chain.tree, chain.q, f'body{N}', 'spatial', 2)
    for i in range(N):
        for k in range(i):
            for j in range(i):
                low, high = min(k, j), max(k, j)
                assert off(bracket(J[low], bracket(J[high], J[i])), second[:, i, k, j]) < 1e-13


def test_hybrid_partials(chain):
    """D-14, E-08: [J_j, vJ_k] for j <= k, [wJ_k, J_j] for k < j, where [D](25) leaves nothing."""
    truth = chain.partials('hybrid')
    missing = 0.0
    for j in range(N):
        for k in range(N):
            if j <= k:
                expected = bracket(chain.Jh[j], linear(chain.Jh[k]))
            else:
                expected = bracket(angular(chain.Jh[k]), chain.Jh[j])
                missing = max(missing, off(expected, np.zeros(6)))
            assert off(expected, truth[j, k]) < FIXED
    assert missing > WRONG


def test_hybrid_rates_and_acceleration(chain):
    """D-14, E-09 to E-11: (26), (27), (28) fail as printed, not corrected; (29) is right."""
    truth = np.einsum('jkx,k->jx', chain.partials('hybrid'), chain.v)
    motions, J, v = chain.hybrid, chain.Jh, chain.v
    V = [motion.V[0] for motion in motions]
    X = [motion.X[0][:, 0] for motion in motions]
    r = [motion.C[:3, 3] for motion in motions]
    errors = dict.fromkeys(('E-09 sum', 'E-09', 'E-10 first', 'E-10 last'), 0.0)
    printed_acceleration = corrected_acceleration = simple = np.zeros(6)
    for j in range(N):
        before = V[j - 1] if j else np.zeros(6)
        r_before = r[j - 1] if j else np.zeros(3)
        delta = V[-1] - se3.Ad_r(r_before - r[-1]) @ before
        Ad, Ad_before = se3.Ad_r(r[j] - r[-1]), se3.Ad_r(r_before - r[-1])
        rdot = se3.ad(linear(V[j]) - linear(V[-1]))  # ad of d/dt (r_j - r_i)
        turning = se3.ad(angular(V[j]))
        corrected = bracket(J[j], linear(delta)) + bracket(angular(before), J[j])
        assert off(corrected, truth[j]) < FIXED
        assert off((rdot + Ad @ turning) @ X[j], truth[j]) < FIXED
        assert off(Ad @ (se3.ad(V[j]) - se3.ad(linear(V[-1]))) @ X[j], truth[j]) < FIXED
        printed = {
            'E-09 sum': sum(
                (bracket(J[j], linear(J[k])) * v[k] for k in range(j + 1)), np.zeros(6)
            ),
            'E-09': bracket(J[j], linear(delta)),
            'E-10 first': (rdot + Ad_before @ turning) @ X[j],
            'E-10 last': Ad_before @ (se3.ad(chain.spatial[j].V[0]) - se3.ad(linear(V[-1]))) @ X[j],
        }
        for name, value in printed.items():
            errors[name] = max(errors[name], off(value, truth[j]))
        common = J[j] * chain.a[j]
        printed_acceleration = printed_acceleration + common + printed['E-09'] * v[j]
        corrected_acceleration = corrected_acceleration + common + corrected * v[j]
        simple = simple + common + (rdot + Ad @ turning) @ X[j] * v[j]
    assert min(errors.values()) > WRONG, errors
    assert off(corrected_acceleration, chain.dV['hybrid'][1]) < FIXED
    assert off(simple, chain.dV['hybrid'][1]) < FIXED
    assert off(printed_acceleration, chain.dV['hybrid'][1]) > WRONG  # E-11


def test_hybrid_second_rates_and_jerk(chain):
    """D-15, E-12: in [D](31), (32) all acts on 0X_j; as printed q' multiplies 2 ad_w q'' too."""
    motions, v, a = chain.hybrid, chain.v, chain.a
    last = motions[-1]
    corrected = printed = np.zeros(6)
    for j, motion in enumerate(motions):
        X = motion.X[0][:, 0]
        Ad = se3.Ad_r(motion.C[:3, 3] - last.C[:3, 3])
        rdot, rddot = (se3.ad(linear(motion.V[k]) - linear(last.V[k])) for k in (0, 1))
        turning, turning_rate = (se3.ad(angular(motion.V[k])) for k in (0, 1))
        dJ = (rdot + Ad @ turning) @ X
        ddJ = (rddot + 2 * rdot @ turning + Ad @ (turning_rate + turning @ turning)) @ X
        corrected = corrected + chain.Jh[j] * chain.jerk[j] + 2 * dJ * a[j] + ddJ * v[j]
        operator = (
            2 * rdot * a[j]
            + (rddot + 2 * rdot @ turning) * v[j]
            + Ad @ (2 * turning * a[j] + turning_rate + turning @ turning) * v[j]
        )
        printed = printed + chain.Jh[j] * chain.jerk[j] + operator @ X
    assert off(corrected, chain.dV['hybrid'][2]) < FIXED
    assert off(printed, chain.dV['hybrid'][2]) > WRONG


def test_mixed_rates_and_jerk(chain):
    """D-16 and E-13: of [D](33) only the acceleration holds."""
    R = chain.C[-1][:3, :3]
    T = np.block([[R.T, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
    omega = chain.hybrid[-1].V[0][:3]
    domega = chain.hybrid[-1].V[1][:3]
    hybrid, mixed = (
        np.einsum('jkx,k->jx', chain.partials(name), chain.v) for name in ('hybrid', 'mixed')
    )
    corrected = (
        hybrid - np.concatenate([np.cross(omega, chain.Jh[:, :3]), np.zeros((N, 3))], axis=1)
    ) @ T.T
    assert off(corrected, mixed) < FIXED
    assert off(hybrid @ T.T, mixed) > WRONG
    assert off(T @ chain.dV['hybrid'][1], chain.dV['mixed'][1]) < FIXED
    jerk = T @ (chain.dV['hybrid'][2] - [*np.cross(omega, domega), 0, 0, 0])
    assert off(jerk, chain.dV['mixed'][2]) < FIXED
    assert off(T @ chain.dV['hybrid'][2], chain.dV['mixed'][2]) > WRONG
    partials = {name: chain.partials(name) for name in ('hybrid', 'mixed')}
    for j in range(N):
        for k in range(N):
            turn = np.concatenate([np.cross(chain.Jh[k, :3], chain.Jh[j, :3]), np.zeros(3)])
            assert off(T @ (partials['hybrid'][j, k] - turn), partials['mixed'][j, k]) < FIXED


# --- two slips in the equations of one body -------------------------------------------------------


def test_printed_newton_euler_equations_fail():
    """E-14, [D](42): + m d~ (v' + w~ v), and E-16, [D](50): m r_c'' = f; against the rate of the
    momentum.
    """
    geometry = random_geometry(0, N, chain=True)
    trajectory = random_trajectory(0, N)
    inertia = random_inertias(0, N)[-1]
    body = tree_of(geometry, inertias=[inertia] * N).bodies[-1]
    pose = Reference(geometry, N - 1).along(trajectory)
    C: Derivatives = derivatives(pose, 2)
    R = C[0][:3, :3]
    points, masses = equivalent_points(inertia)
    force = moment = np.zeros(3)
    for p, m in zip(points, masses):  # sum of m p'' and of (p - r) x m p''
        acceleration = C[2][:3, :3] @ p + C[2][:3, 3]
        force = force + m * acceleration
        moment = moment + m * np.cross(R @ p, acceleration)
    t, f = (R.T @ moment).astype(float), (R.T @ force).astype(float)

    V, dV = (x.astype(float) for x in Reference(geometry, N - 1).twists(trajectory, 1)['body'])
    w, v, dw, dv = V[:3], V[3:], dV[:3], dV[3:]
    m, d, Theta = body.m, inertia.com, body.I
    rotation = Theta @ dw + np.cross(w, Theta @ w)
    a = dv + np.cross(w, v)
    np.testing.assert_allclose(rotation + m * hat(d) @ a, t, atol=1e-11)
    Omega = hat(dw) + hat(w) @ hat(w)
    np.testing.assert_allclose(
        hybrid_body_wrench(body, Omega, a), np.concatenate([t, f]), atol=1e-11
    )
    assert off(rotation - m * hat(d) @ a, t) > WRONG  # E-14, read as a vector equation
    center = [C[k][:3, :3] @ d + C[k][:3, 3] for k in range(3)]
    np.testing.assert_allclose((m * center[2]).astype(float), force.astype(float), atol=1e-11)
    assert off((m * center[1]).astype(float), force.astype(float)) > WRONG  # E-16


def equivalent_points(inertia: Inertia) -> tuple[np.ndarray, np.ndarray]:
    """Return six points and their masses, which have this mass, center and inertia."""
    second_moments = 0.5 * np.trace(inertia.matrix) * np.eye(3) - inertia.matrix
    values, axes = np.linalg.eigh(second_moments)
    assert (values > 0).all()
    shifts = (axes * np.sqrt(3 * values / inertia.mass)).T
    points = np.concatenate([inertia.com + shifts, inertia.com - shifts])
    return points, np.full(6, inertia.mass / 6)


def test_leibniz_rule():
    """The one rule all of this rests on."""
    a = [np.array([f]) for f in (1.0, 2.0, 3.0, 4.0)]
    b = [np.array([f]) for f in (5.0, 6.0, 7.0, 8.0)]
    assert product_derivative(np.multiply, a, b, 3)[0] == 1 * 8 + 3 * 2 * 7 + 3 * 3 * 6 + 4 * 5
