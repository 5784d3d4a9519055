# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The printed formulas that are wrong, as negative tests, so that nobody puts them back.

On a general random chain (mixed joints, arbitrary axes, centers of mass away from the frames) the
corrected form gives what `Robot` computes and the printed one does not. Errata E-26 and E-27 of
doc/spec/muller_errata.md in its notation; the others are tested where the functions are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

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
