# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The printed formulas that are wrong, as negative tests, so that nobody puts them back.

On a general random chain (mixed joints, arbitrary axes, centers of mass away from the frames) the
corrected form gives what `Robot` computes and the printed one does not. Errata E-14, E-17, E-18,
E-19, E-25, E-26, E-27 and E-36 of doc/spec/muller_errata.md; everything here is in its notation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from oracles.lagrange import CENTRAL
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription
from support.models import random_description

SEEDS = pytest.mark.parametrize('seed', range(2))
WRONG = 1e-2  # least deviation of a printed formula that counts as wrong


def hat(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def blocks(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    return np.block([[a, b], [c, d]])


ZERO, ONE = np.zeros((3, 3)), np.eye(3)


def ad(X: np.ndarray) -> np.ndarray:
    return blocks(hat(X[:3]), ZERO, hat(X[3:]), hat(X[:3]))


def Ad(C: np.ndarray) -> np.ndarray:
    R = C[:3, :3]
    return blocks(R, ZERO, hat(C[:3, 3]) @ R, R)


def Ad_r(r: np.ndarray) -> np.ndarray:
    return blocks(ONE, ZERO, hat(r), ONE)


def Ad_R(R: np.ndarray) -> np.ndarray:
    return blocks(R, ZERO, ZERO, R)


@dataclass
class Chain:
    """A serial chain at a state: what the formulas of the papers are made of, from poses alone."""

    robot: Robot
    q: np.ndarray
    v: np.ndarray

    @cached_property
    def n(self) -> int:
        return self.robot.nv

    @cached_property
    def C(self) -> list[np.ndarray]:
        return [self.robot.link_pose(self.q, joint.child) for joint in self.description.joints]

    @cached_property
    def A(self) -> list[np.ndarray]:
        return [self.robot.link_pose(0 * self.q, joint.child) for joint in self.description.joints]

    @property
    def description(self) -> RobotDescription:
        return self.robot.description

    @cached_property
    def X(self) -> list[np.ndarray]:
        """Joint screws in the body frames: the axes go through the origins of the link frames."""
        return [
            np.concatenate(
                [np.zeros(3), j.axis] if j.type == 'prismatic' else [j.axis, np.zeros(3)]
            )
            for j in self.description.joints
        ]

    @cached_property
    def M(self) -> list[np.ndarray]:
        """Inertia matrices about the body frames (D-17)."""
        result = []
        for link in self.description.links[1:]:
            m, d, I = link.inertia.mass, hat(link.inertia.com), link.inertia.matrix  # noqa: E741
            result.append(blocks(I - m * d @ d, m * d, -m * d, m * ONE))
        return result

    @cached_property
    def J(self) -> list[np.ndarray]:
        """Body-fixed Jacobians J_i with columns Ad_{C_i^-1 C_j} X_j (K-21)."""
        return [
            np.stack(
                [
                    Ad(np.linalg.inv(self.C[i]) @ self.C[j]) @ self.X[j] if j <= i else np.zeros(6)
                    for j in range(self.n)
                ],
                axis=1,
            )
            for i in range(self.n)
        ]

    @cached_property
    def V(self) -> list[np.ndarray]:
        return [J @ self.v for J in self.J]

    @cached_property
    def bias(self) -> list[np.ndarray]:
        """dJ/dt v of each body: the body-fixed accelerations at zero joint accelerations (D-24)."""
        result = []
        for i in range(self.n):
            c = -self.v[i] * ad(self.X[i]) @ self.V[i]
            if i:
                c = c + Ad(np.linalg.inv(self.C[i]) @ self.C[i - 1]) @ result[-1]
            result.append(c)
        return result

    def project(self, wrenches: list[np.ndarray]) -> np.ndarray:
        """Return Q = sum J_i^T W_i (D-32)."""
        return sum(J.T @ W for J, W in zip(self.J, wrenches))


@pytest.fixture
def chain(seed: int) -> Chain:
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(seed, 5, chain=True), gravity=(0, 0, 0), backend='reference')
    return Chain(robot, rng.uniform(-1.5, 1.5, 5), rng.uniform(-1.5, 1.5, 5))


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() < 1e-10 * max(1.0, np.abs(b).max()))


def differs(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() > WRONG)


@SEEDS
def test_e14_coupling_of_translation_and_rotation(chain):
    """[D](42): the moment about a frame off the center of mass: ... + m d x (dv + omega x v)."""

    def torque(sign: float) -> np.ndarray:
        wrenches = []
        for link, M, V, A in zip(chain.description.links[1:], chain.M, chain.V, chain.bias):
            (omega, u), (domega, du), m, d = (
                np.split(V, 2),
                np.split(A, 2),
                link.inertia.mass,
                link.inertia.com,
            )
            a = du + np.cross(omega, u)
            Theta = M[:3, :3]
            wrenches.append(
                np.concatenate(
                    [
                        Theta @ domega + np.cross(omega, Theta @ omega) + sign * m * np.cross(d, a),
                        m * (a + (hat(domega) + hat(omega) @ hat(omega)) @ d),
                    ]
                )
            )
        return chain.project(wrenches)

    expected = chain.robot.coriolis_torques(chain.q, chain.v)
    assert same(torque(+1.0), expected)
    assert differs(torque(-1.0), expected)


@SEEDS
def test_e17_momentum_balance_off_the_center_of_mass(chain):
    """[D](52): dPi^h/dt = W^h holds at the center of mass only; in general W^h + ad_{vV}^T Pi^h."""
    robot, h = chain.robot, 1e-2

    def momentum(t: float) -> list[np.ndarray]:
        at = Chain(robot, chain.q + t * chain.v, chain.v)
        return [Ad_R(C[:3, :3]) @ M @ V for C, M, V in zip(at.C, at.M, at.V)]

    rates = [
        sum(w * (a - b) for w, a, b in zip(CENTRAL.values(), plus, minus)) / h
        for plus, minus in zip(
            zip(*(momentum(k * h) for k in CENTRAL)), zip(*(momentum(-k * h) for k in CENTRAL))
        )
    ]

    def torque(with_correction: bool) -> np.ndarray:
        wrenches = []
        for C, M, V, rate in zip(chain.C, chain.M, chain.V, rates):
            R = C[:3, :3]
            V_h, Pi = Ad_R(R) @ V, Ad_R(R) @ M @ V
            only_v = np.concatenate([np.zeros(3), V_h[3:]])
            W = rate - with_correction * ad(only_v).T @ Pi
            wrenches.append(Ad_R(R).T @ W)
        return chain.project(wrenches)

    expected = robot.coriolis_torques(chain.q, chain.v)
    assert np.abs(torque(True) - expected).max() < 1e-8
    assert differs(torque(False), expected)


@SEEDS
def test_e18_sign_of_an_applied_wrench(chain):
    """[D](67a),(71b),(76b): W = W_next + M dV - ad^T M V - W^app, for a wrench ON the body."""
    link = chain.description.links[4].name
    W = np.random.default_rng(1).uniform(-3, 3, 6)
    without = chain.robot.inverse_dynamics(chain.q, chain.v, 0 * chain.v)
    work = chain.J[3].T @ W
    with_wrench = chain.robot.inverse_dynamics(chain.q, chain.v, 0 * chain.v, {link: W})
    assert same(with_wrench, without - work)
    assert differs(with_wrench, without + work)
    # the push does work: the torques that hold the robot against it do as much, of opposite sign
    assert (with_wrench - without) @ chain.v == pytest.approx(-W @ chain.V[3], rel=1e-12)
    accelerated = chain.robot.forward_dynamics(chain.q, 0 * chain.v, 0 * chain.v, {link: W})
    assert (
        chain.J[3] @ accelerated
    ) @ W > 0  # pushed, the body gives way in the direction of the push


@SEEDS
def test_e19_the_last_joint_is_part_of_the_recursion(chain):
    """[D](67): the loop runs over i = n, ..., 1, not from n - 1: the last joint has a torque."""
    M = chain.robot.mass_matrix(chain.q)
    assert same(M[-1, -1], chain.X[-1] @ chain.M[-1] @ chain.X[-1])
    assert M[-1, -1] > WRONG


@SEEDS
def test_e25_spatial_columns_from_the_current_screws(chain):
    """[D](75b),(107): J^s_j = Ad_{r_j} Ad_{R_j} X_j is not the constant Y_j, except at q = 0."""
    tip = chain.description.links[-1].name
    columns = chain.robot.jacobian(chain.q, tip, 'spatial').T
    Y = [Ad(A) @ X for A, X in zip(chain.A, chain.X)]
    for column, C, X in zip(columns, chain.C, chain.X):
        assert same(column, Ad_r(C[:3, 3]) @ Ad_R(C[:3, :3]) @ X)
    assert all(
        same(y, column) for y, column in zip(Y, chain.robot.jacobian(0 * chain.q, tip, 'spatial').T)
    )
    assert same(Y[0], columns[0])
    assert differs(np.stack(Y), columns)


def christoffel_of_robot(chain: Chain) -> np.ndarray:
    """Return Gamma_ijk = C_ij(q, e_k) of `Robot.coriolis_matrix`."""
    return np.stack([chain.robot.coriolis_matrix(chain.q, e) for e in np.eye(chain.n)], axis=2)


@SEEDS
def test_e26_christoffel_symbols(chain):
    """[D](86): r, s order j and k, the sum starts at max(i, j, k); true for all i, j, k then."""
    n, J, M = chain.n, chain.J, chain.M

    def gamma(i: int, j: int, k: int, first: int, r: int, s: int) -> float:
        return 0.5 * sum(
            J[m][:, k] @ M[m] @ ad(J[m][:, i]) @ J[m][:, j]
            + J[m][:, j] @ M[m] @ ad(J[m][:, i]) @ J[m][:, k]
            + J[m][:, i] @ M[m] @ ad(J[m][:, s]) @ J[m][:, r]
            for m in range(first, n)
        )

    expected, worst = christoffel_of_robot(chain), 0.0
    for i, j, k in np.ndindex(n, n, n):
        corrected = gamma(i, j, k, max(i, j, k), max(j, k), min(j, k))
        assert same(corrected, expected[i, j, k])
        if i < j <= k or j <= i < k:
            printed = gamma(i, j, k, k, max(i, j), min(i, j))
            worst = max(worst, abs(printed - expected[i, j, k]))
    assert worst > WRONG


@SEEDS
def test_e27_christoffel_symbols_with_binets_inertia(chain):
    """[D](87): sum of omega_s . theta (omega_r x omega_i) + m v_i . (omega_s x v_r), COM frames."""
    n, expected = chain.n, christoffel_of_robot(chain)
    binet, J_c = [], []
    for link, J in zip(chain.description.links[1:], chain.J):
        I = link.inertia.matrix  # noqa: E741
        binet.append(0.5 * np.trace(I) * ONE - I)
        J_c.append(Ad_r(-link.inertia.com) @ J)
    masses = [link.inertia.mass for link in chain.description.links[1:]]
    printed = np.zeros((n, n, n))
    for i, j, k in np.ndindex(n, n, n):
        r, s, total = max(j, k), min(j, k), 0.0
        for m in range(max(i, j, k), n):
            omega, u = J_c[m][:3], J_c[m][3:]
            total += omega[:, s] @ binet[m] @ np.cross(omega[:, r], omega[:, i])
            total += masses[m] * u[:, i] @ np.cross(omega[:, s], u[:, r])
            turn = blocks(hat(omega[:, k]), ZERO, ZERO, hat(omega[:, k]))
            mixed = blocks(binet[m], ZERO, ZERO, masses[m] * ONE)
            printed[i, j, k] += 0.5 * J_c[m][:, j] @ mixed @ turn @ J_c[m][:, i]
        assert same(total, expected[i, j, k])
    # neither as printed nor with its indices or the sign of the whole exchanged
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        for factor in (1.0, -1.0, 2.0, -2.0):
            assert differs(factor * np.transpose(printed, order), expected)


@SEEDS
def test_e36_the_closed_form_of_84_is_not_skew(chain):
    """[D](84) gives the right torques, but dM/dt - 2 C is not skew there; that of `Robot` is."""
    n, h = chain.n, 1e-2
    J = np.concatenate(chain.J)
    big_M = np.zeros((6 * n, 6 * n))
    A, a, b = np.eye(6 * n), np.zeros_like(big_M), np.zeros_like(big_M)
    for i in range(n):
        rows = slice(6 * i, 6 * i + 6)
        big_M[rows, rows], b[rows, rows] = chain.M[i], ad(chain.V[i])
        a[rows, rows] = chain.v[i] * ad(chain.X[i])
        for j in range(i):
            A[rows, 6 * j : 6 * j + 6] = Ad(np.linalg.inv(chain.C[i]) @ chain.C[j])
    of_84 = -J.T @ (big_M @ A @ a + b.T @ big_M) @ J
    robot = chain.robot
    rate = (
        sum(
            w
            * (
                robot.mass_matrix(chain.q + k * h * chain.v)
                - robot.mass_matrix(chain.q - k * h * chain.v)
            )
            for k, w in CENTRAL.items()
        )
        / h
    )
    assert same(J.T @ big_M @ J, robot.mass_matrix(chain.q))
    assert same(of_84 @ chain.v, robot.coriolis_torques(chain.q, chain.v))
    skew, own = rate - 2 * of_84, rate - 2 * robot.coriolis_matrix(chain.q, chain.v)
    assert differs(skew, -skew.T)
    assert np.abs(own + own.T).max() < 1e-9
