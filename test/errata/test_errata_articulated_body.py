# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 6 of the book in its own notation: the corrected forms hold, the printed ones do not.

Errata E-11 to E-27 of doc/spec/bruyninckx_errata.md (C-051, C-052, C-056, C-058, C-148) on general
random chains: mixed joints, any axes, centers of mass away from the frames. Twists (w; v), wrenches
(f; m), `SWAP` is the book's Delta; in the working form Ft = (m; f) no Delta appears (C-005).
What is right is decided by `Robot` and by `inward`, the recursion behind it, which are tested
against Pinocchio and Lagrange's equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.constraints.motion_constraint import fixed_point
from screw_dynamics_ros.core.dynamics.articulated_body import ArticulatedBodies, inward
from screw_dynamics_ros.core.dynamics.spatial_inertia import inertia_matrix
from screw_dynamics_ros.core.kinematics.poe import relative_pose
from screw_dynamics_ros.core.lie.se3 import Ad, ad
from support.compilation import close
from support.models import random_description
from support.planar_2r import planar_2r

SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]
SEEDS = pytest.mark.parametrize('seed', range(2))
WRONG = 1e-2  # least deviation of a printed formula that counts as wrong


@dataclass
class Chain:
    """A serial chain at a state, in the book's letters; segment 0 is the base."""

    robot: Robot
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    X: list[np.ndarray]  # screw transforms from the predecessor
    Z: list[np.ndarray]
    M: list[np.ndarray]
    t: list[np.ndarray]
    c: list[np.ndarray]  # bias accelerations

    @property
    def gravity(self) -> np.ndarray:
        return np.concatenate([np.zeros(3), self.robot.gravity])

    def bias_wrenches(self) -> list[np.ndarray]:
        """Return D(t x (D M t)) of every segment, in the form (m; f)."""
        return [-ad(t).T @ M @ t for t, M in zip(self.t, self.M)]

    def bodies(self) -> ArticulatedBodies:
        """Return what the package finds."""
        nv = self.robot.nv
        return inward(self.robot.tree, self.q, self.v, np.zeros(nv), self.tau, [False] * nv)


def make_chain(seed: int, joints: int = 6, armature: float = 0.0) -> Chain:
    description = random_description(seed, joints, chain=True)
    drives = {joint.name: Drive(armature=armature) for joint in description.joints}
    robot = Robot(description, drives=drives, backend='reference')
    return chain_of(robot, *np.random.default_rng(seed).uniform(-2, 2, (3, robot.nv)))


def chain_of(robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Chain:
    chain = Chain(robot, q, v, tau, [], [], [], [], [])
    for body in robot.tree.bodies:
        X = np.linalg.inv(Ad(relative_pose(body, q)))
        t_p = chain.t[-1] if chain.t else np.zeros(6)
        t = X @ t_p + body.X @ v[body.v]
        chain.X.append(X)
        chain.Z.append(body.X[:, 0])
        chain.M.append(inertia_matrix(body))
        chain.t.append(t)
        chain.c.append(ad(t) @ (body.X @ v[body.v]))
    return chain


def projector(M: np.ndarray, Z: np.ndarray, d: float = 0.0) -> np.ndarray:
    """Return P = 1 - M Z D^-1 Z^T with D = d + Z^T M Z."""
    return np.eye(6) - np.outer(M @ Z, Z) / (d + Z @ M @ Z)


def forward_dynamics(chain: Chain, printed: str = '', d: float = 0.0) -> np.ndarray:
    """Return q.. by (6.26)-(6.30), corrected; `printed` puts one of the printed forms back."""
    n = len(chain.Z)
    Ma, pt = [M.copy() for M in chain.M], chain.bias_wrenches()
    D = [0.0] * n
    for i in reversed(range(n)):
        Z, tau = chain.Z[i], chain.tau[i]
        D[i] = d + Z @ Ma[i] @ Z
        if i == 0:
            break
        P = projector(Ma[i], Z, d)
        bias = Ma[i] @ chain.c[i] if printed != 'E-17' else np.zeros(6)
        torque = Ma[i] @ Z / D[i] * tau * (-1 if printed == 'E-16' else 1)
        wrench_operator = P.T if printed == 'E-15' else P  # of (m; f); D P^T D of (f; m) is P^T
        Ma[i - 1] += chain.X[i].T @ P @ Ma[i] @ chain.X[i]
        pt[i - 1] = pt[i - 1] + chain.X[i].T @ (wrench_operator @ (pt[i] + bias) + torque)
    a = chain.gravity * (1 if printed == 'E-19' else -1)
    result = np.empty(n)
    for i in range(n):
        Z = chain.Z[i]
        inherited = chain.X[i] @ a + chain.c[i]
        F = SWAP @ pt[i] if printed == 'E-18' else pt[i]
        result[i] = (chain.tau[i] - Z @ (F + Ma[i] @ inherited)) / D[i]
        a = inherited + Z * result[i]
    return result


@SEEDS
def test_forward_dynamics_in_the_books_notation(seed):
    """C-056, C-059, (6.26)-(6.30) corrected."""
    chain = make_chain(seed)
    close(forward_dynamics(chain), chain.robot.forward_dynamics(chain.q, chain.v, chain.tau), 1e-10)


@SEEDS
@pytest.mark.parametrize('printed', ['E-15', 'E-16', 'E-17', 'E-18', 'E-19'])
def test_printed_forms_give_wrong_accelerations(printed, seed):
    """C-052, C-148: P^S (E-15), signs (E-16), bias (E-17), (f; m) + (m; f) (E-18), X_0 (E-19)."""
    chain = make_chain(seed)
    right = chain.robot.forward_dynamics(chain.q, chain.v, chain.tau)
    assert np.abs(forward_dynamics(chain, printed) - right).max() > WRONG


@SEEDS
def test_e20_terms_belong_inside_the_bracket(seed):
    """(6.35): q.. = M^-1 (tau - c - g), not M^-1 tau - c - g."""
    chain = make_chain(seed)
    robot, q, v = chain.robot, chain.q, chain.v
    M, h = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros_like(v))
    right = robot.forward_dynamics(q, v, chain.tau)
    close(np.linalg.solve(M, chain.tau - h), right, 1e-10)
    assert np.abs(np.linalg.solve(M, chain.tau) - h - right).max() > WRONG


@pytest.mark.parametrize(
    ('d', 'expected'), [(0.0, [-12.634337404, 18.67087633]), (0.1, [-9.783839865, 11.995360631])]
)
def test_golden_2r_with_rotor_inertia(d, expected):
    """C-051, C-054, golden 8.2: the rotor's inertia adds to what the joint feels."""
    drives = {name: Drive(armature=d) for name in ('j1', 'j2')}
    robot = Robot(planar_2r(), gravity=(0, -9.81, 0), drives=drives, backend='reference')
    state = np.array([[0.3, 0.4], [0.5, -0.2], [1.0, 2.0]])
    np.testing.assert_allclose(robot.forward_dynamics(*state), expected, atol=1e-8)
    chain = chain_of(robot, *state)
    np.testing.assert_allclose(forward_dynamics(chain, d=d), expected, atol=1e-8)


def articulated(chain: Chain) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the package's articulated inertias and projectors 1 - U D^-1 X^T of all segments."""
    bodies = chain.bodies()
    segments = range(len(chain.Z))
    projectors = [np.eye(6) - bodies.U[i] / bodies.D[i] @ bodies.X[i].T for i in segments]
    return [bodies.P[i] for i in segments], projectors


def passed_on(chain: Chain, i: int) -> np.ndarray:
    """Return what the package adds to the inertia of the carrier of segment i, at segment i."""
    back = np.linalg.inv(chain.X[i])
    return back.T @ (chain.bodies().P[i - 1] - chain.M[i - 1]) @ back


@SEEDS
def test_primitive_operations(seed):
    """C-051, C-052: (6.6), (6.9), (6.12), (6.16), (6.22), (6.24), one by one."""
    chain = make_chain(seed)
    rng = np.random.default_rng(seed)
    for i, (M, P, Z) in enumerate(zip(*articulated(chain), chain.Z)):
        X1 = rng.normal(size=6)
        acceleration = -(Z @ M @ X1) / (Z @ M @ Z)  # (6.6)
        X2 = X1 + Z * acceleration
        assert abs(Z @ M @ X2) < 1e-12 * np.abs(M).max()
        close(P.T @ X1, X2)  # (6.9)
        close(P @ P, P)
        F2 = SWAP @ M @ P.T @ X1  # (6.12)
        assert abs(Z @ SWAP @ F2) < 1e-12 * np.abs(M).max()
        if i:
            close(passed_on(chain, i), P @ M @ P.T, 1e-11)  # (6.16) is symmetric
            close(passed_on(chain, i), M - np.outer(M @ Z, M @ Z) / (Z @ M @ Z), 1e-11)
        # E-13, (6.24): a wrench on segment 2 arrives as D P D F2; its joint is not loaded
        F = rng.normal(size=6)
        arriving = P @ SWAP @ F
        assert abs(Z @ arriving) < 1e-12
        assert np.abs(P.T @ SWAP @ F - arriving).max() > WRONG  # E-15


def test_e11_the_revolute_axis_is_component_three():
    """(6.18), (6.19), (6.23), "Wrong!!" in the book: column 6 and m66 for a revolute joint."""
    revolute, prismatic = np.eye(6)[[2, 5]]
    seen = 0
    for chain in map(make_chain, range(3)):
        for i, (M, P, Z) in enumerate(zip(*articulated(chain), chain.Z)):
            k = 2 if Z[2] else 5
            close(Z, revolute if k == 2 else prismatic)
            column = -M[:, k] / M[k, k]
            column[k] = 0.0
            close(P[:, k], column)
            close(np.delete(P, k, axis=1), np.delete(np.eye(6), k, axis=1))
            if i:
                passed = passed_on(chain, i)
                close(passed, M - np.outer(M[:, k], M[k]) / M[k, k], 1e-11)
            if i and k == 2:
                printed = M - np.outer(M[:, 5], M[5]) / M[5, 5]
                assert np.abs(printed - passed).max() > WRONG
                seen += 1
    assert seen > 3


@SEEDS
def test_e12_with_a_rotor_the_projector_is_none(seed):
    """(6.23): the entry is d / (d + m33), P is not idempotent, and P M needs a further term."""
    d = 0.3
    chain = make_chain(seed, armature=d)
    for i, (M, P, Z) in enumerate(zip(*articulated(chain), chain.Z)):
        k = np.argmax(Z)
        assert P[k, k] == pytest.approx(d / (d + M[k, k]))
        assert np.abs(P @ P - P).max() > 1e-3
        if i:
            further = M @ np.outer(Z, Z) @ M * d / (d + Z @ M @ Z) ** 2
            close(passed_on(chain, i), P @ M @ P.T + further, 1e-11)
            assert np.abs(passed_on(chain, i) - P @ M @ P.T).max() > 1e-3


@SEEDS
def test_e14_mobility_is_not_the_inverse_of_the_inertia_felt(seed):
    """6.2.7: Z^T M^-1 Z is not (Z^T M Z)^-1."""
    chain = make_chain(seed)
    felt = chain.bodies().D
    for i, (M, Z) in enumerate(zip(articulated(chain)[0], chain.Z)):
        assert Z @ np.linalg.solve(M, Z) > (1 + WRONG) / felt[i][0, 0]


@SEEDS
def test_articulated_form_of_inverse_dynamics(seed):
    """C-058, (6.29): tau_i = D_i q.._i + Z_i^T (pt_i + Ma_i (X a_p + c_i)), with (6.28)."""
    chain = make_chain(seed)
    n, qdd = len(chain.Z), np.random.default_rng(seed).uniform(-2, 2, len(chain.Z))
    Ma, pt = articulated(chain)[0], chain.bias_wrenches()
    expected = chain.robot.inverse_dynamics(chain.q, chain.v, qdd)
    for i in reversed(range(1, n)):  # the torques of the joints beyond are known
        P, D = projector(Ma[i], chain.Z[i]), chain.Z[i] @ Ma[i] @ chain.Z[i]
        onward = P @ (pt[i] + Ma[i] @ chain.c[i]) + Ma[i] @ chain.Z[i] / D * expected[i]
        pt[i - 1] = pt[i - 1] + chain.X[i].T @ onward
    a, tau = -chain.gravity, np.empty(n)
    for i in range(n):
        Z, inherited = chain.Z[i], chain.X[i] @ a + chain.c[i]
        tau[i] = Z @ Ma[i] @ Z * qdd[i] + Z @ (pt[i] + Ma[i] @ inherited)
        a = inherited + Z * qdd[i]
    close(tau, expected)


# --- acceleration constraints ---------------------------------------------------------------------


def constrained(chain: Chain, A: np.ndarray, b: np.ndarray, printed: str = '') -> np.ndarray:
    """Return q.. by (6.40)-(6.44), corrected, for A^T D a = b of the last segment.

    A holds unit wrenches (f; m), a is the spatial acceleration relative to free fall.
    """
    n = len(chain.Z)
    Ma, pt = [M.copy() for M in chain.M], chain.bias_wrenches()
    Et = [np.zeros((6, A.shape[1]))] * n
    D = [0.0] * n
    Et[-1] = A if printed == 'E-21' else SWAP @ A
    L, beta = np.zeros((A.shape[1], A.shape[1])), np.zeros(A.shape[1])
    for i in reversed(range(n)):
        Z, X, c = chain.Z[i], chain.X[i], chain.c[i]
        D[i] = Z @ Ma[i] @ Z
        P = projector(Ma[i], Z)
        e, u = Et[i].T @ Z, chain.tau[i] - Z @ (pt[i] + Ma[i] @ c)
        beta = beta + Et[i].T @ (c + Z * u / D[i])  # (6.41)
        other = (SWAP @ Et[i]).T @ Z if printed == 'E-23' else e  # Z^T A without Delta
        L = L - np.outer(e, other) / D[i]  # (6.42)
        E_p = X.T @ (P.T if printed == 'E-15' else P) @ Et[i]  # (6.40)
        if i == 0:
            break
        Et[i - 1] = E_p
        Ma[i - 1] += X.T @ P @ Ma[i] @ X
        pt[i - 1] = pt[i - 1] + X.T @ (P @ (pt[i] + Ma[i] @ c) + Ma[i] @ Z / D[i] * chain.tau[i])
    a = -chain.gravity
    nu = np.linalg.solve(L, b - E_p.T @ a - beta)  # (6.43)
    result = np.empty(n)
    for i in range(n):
        Z, inherited = chain.Z[i], chain.X[i] @ a + chain.c[i]
        result[i] = (chain.tau[i] - Z @ (pt[i] + Ma[i] @ inherited + Et[i] @ nu)) / D[i]  # (6.44)
        a = inherited + Z * result[i]
    return result


def constrained_case(seed: int) -> tuple[Chain, np.ndarray, np.ndarray, np.ndarray]:
    """Return a chain, A, b of its tip, and the accelerations by the package."""
    chain = make_chain(seed, 7)
    robot, rng = chain.robot, np.random.default_rng(seed)
    b = rng.uniform(-3, 3, 3)
    motion = robot.constrained_dynamics(
        chain.q, chain.v, chain.tau, fixed_point('link7', acceleration=b)
    )
    # the book's data: f along the axes of the root frame, through the origin of link 7
    pose = robot.link_pose(chain.q, 'link7')
    from_segment = Ad(np.linalg.inv(pose) @ body_pose(chain))  # twists of the segment in link 7
    R = pose[:3, :3]
    A_link = np.vstack([R.T, np.zeros((3, 3))])  # (f; m) at and in the link frame
    A = SWAP @ from_segment.T @ SWAP @ A_link
    V = robot.velocity(chain.q, chain.v, 'link7', 'body')
    g = robot.gravity
    return chain, A, b - g - R @ np.cross(V[:3], V[3:]), motion.a


def body_pose(chain: Chain) -> np.ndarray:
    C = np.eye(4)
    for body in chain.robot.tree.bodies:
        C = C @ relative_pose(body, chain.q)
    return C


@SEEDS
def test_vereshchagin_in_the_books_notation(seed):
    """C-071, (6.40)-(6.44) corrected, with the point's acceleration of 3.13.1."""
    chain, A, b, expected = constrained_case(seed)
    close(constrained(chain, A, b), expected, 1e-9)


@SEEDS
@pytest.mark.parametrize('printed', ['E-15', 'E-21', 'E-23'])
def test_printed_constraint_recursions_are_wrong(printed, seed):
    """C-148: P^S in (6.40) (E-15), A^T X pairs f with w (E-21), Z^T A without Delta (E-23)."""
    chain, A, b, expected = constrained_case(seed)
    assert np.abs(constrained(chain, A, b, printed) - expected).max() > WRONG


def test_golden_in_the_books_notation():
    """8.3: L_0 = -0.639632147, nu = -11.858227541; the package has their negatives."""
    robot = Robot(planar_2r(), gravity=(0, -9.81, 0), backend='reference')
    q, v, tau = np.array([[0.3, 0.4], [0.5, -0.2], [1.0, 2.0]])
    up = fixed_point('tip', [(0, 1, 0)])
    terms = robot.constraint_terms(q, v, tau, [up])
    np.testing.assert_allclose(-terms.inverse_inertia, [[-0.639632147]], atol=1e-8)
    nu = -robot.constrained_dynamics(q, v, tau, up).forces.multipliers
    np.testing.assert_allclose(nu, [-11.858227541], atol=1e-8)


@SEEDS
def test_e24_the_floating_base_needs_delta(seed):
    """(6.49): a_0 = -(M0a)^-1 D (F0 + A0 nu), solved together with (6.43)."""
    robot = Robot(random_description(seed, 5, chain=True), floating_base=True, backend='reference')
    rng = np.random.default_rng(seed)
    q = np.concatenate([[0.1, 0.2, 0.3, 0, 0, 0, 1.0], rng.uniform(-2, 2, 5)])
    v, tau = np.zeros(11), np.concatenate([np.zeros(6), rng.uniform(-2, 2, 5)])
    hold = fixed_point('link5', acceleration=[1.0, 2.0, 3.0])
    motion = robot.constrained_dynamics(q, v, tau, hold)
    # at rest: everything the base feels, from unit accelerations of the base with the joints free
    locked = np.arange(11) < 6

    def base_wrench(a_0: np.ndarray, tau: np.ndarray, W: dict[str, np.ndarray]) -> np.ndarray:
        return robot.hybrid_dynamics(q, v, np.concatenate([a_0, np.zeros(5)]), tau, locked, W)[1][
            :6
        ]

    F0 = base_wrench(np.zeros(6), tau, {})
    Ma0 = np.stack([base_wrench(e, tau, {}) - F0 for e in np.eye(6)], axis=1)
    F0_nu = base_wrench(np.zeros(6), tau, {'link5': motion.wrenches[0]})
    close(-np.linalg.solve(Ma0, F0_nu), motion.a[:6], 1e-10)
    printed = -np.linalg.solve(Ma0, SWAP @ F0_nu)
    assert np.abs(printed - motion.a[:6]).max() > WRONG


@SEEDS
def test_e26_gauss_acceleration_energy_is_minimal(seed):
    """6.7.2: the solver minimizes Gauss' function of q.. - q..free, not a kinetic energy."""
    chain, _, _, a = constrained_case(seed)
    robot, q, v, tau = chain.robot, chain.q, chain.v, chain.tau
    M, free = robot.mass_matrix(q), robot.forward_dynamics(q, v, tau)
    J = robot.jacobian(q, 'link7')[3:]
    null_space = np.linalg.svd(J)[2][3:]
    np.testing.assert_allclose(null_space @ M @ (a - free), 0, atol=1e-9 * np.abs(M @ free).max())
    assert np.abs(null_space @ M @ a).max() > WRONG


def test_e27_constraint_forces_are_a_phi():
    """(6.60): tau + A phi with A^T q' = 0, A (n, m), does no work; C-085."""
    rng = np.random.default_rng(0)
    A, phi = rng.normal(size=(5, 2)), rng.normal(size=2)
    v = np.linalg.svd(A.T)[2][2:].T @ rng.normal(size=3)
    assert abs(v @ (A @ phi)) < 1e-12
    with pytest.raises(ValueError):  # printed: A^T phi is not even conformable
        A.T @ phi
