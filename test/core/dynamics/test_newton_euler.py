# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Newton-Euler equations of one body, by differentiating the momentum of a cloud of particles.

Spec IDs: D-17 to D-23 and the errata E-14 to E-17, E-20 to E-22. The oracle knows poses
and point masses only: momenta are sums over particles, rates are central differences of order 14 in
extended precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import ArgumentError, InertiaError, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody, is_physical
from screw_dynamics_ros.core.dynamics import spatial_inertia as inertias
from screw_dynamics_ros.core.dynamics.newton_euler import (
    bias_matrix,
    frame_twist,
    momentum_rate,
    newton_euler,
    newton_euler_binet,
    newton_euler_in_frame,
    represented_inertia,
    skew_bias_matrix,
)
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie.screws import convert_twist, convert_wrench, general_twist
from support.models import random_unit
from support.poe_models import EXTENDED, REPRESENTATIONS, STEP, differences, vector

REPRESENTATION = pytest.mark.parametrize('representation', REPRESENTATIONS)
SEEDS = pytest.mark.parametrize('seed', range(2))
NODES = range(-7, 8)
WRONG = 1e-2


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max())
    )


def hat(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


@dataclass
class Motion:
    """A frame along a smooth path in the group: turning about a moving axis and moving on."""

    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.axes = np.stack([random_unit(self.rng) for _ in range(2)]).astype(EXTENDED)
        self.rates = self.rng.uniform(0.5, 1.5, 4).astype(EXTENDED)
        self.position = self.rng.uniform(-1, 1, (3, 3)).astype(EXTENDED)
        self.start = Rotation.from_quat(random_unit(self.rng, 4)).as_matrix().astype(EXTENDED)

    def pose(self, t: np.longdouble) -> np.ndarray:
        """Return C(t) (4, 4) in extended precision."""
        R = self.start
        for axis, rate, more in zip(self.axes, self.rates[:2], self.rates[2:]):
            angle = rate * t + more * t**2 / 2
            K = hat(axis).astype(EXTENDED) / np.sqrt(axis @ axis)
            eye = np.eye(3, dtype=EXTENDED)
            R = R @ (eye + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)
        C = np.eye(4, dtype=EXTENDED)
        C[:3, :3] = R
        C[:3, 3] = self.position[0] + self.position[1] * t + self.position[2] * t**2
        return C

    @cached_property
    def derivatives(self) -> list[np.ndarray]:
        """[C, C', C'']."""
        return differences([self.pose(k * STEP) for k in NODES], 2)

    @cached_property
    def C(self) -> np.ndarray:
        return self.derivatives[0].astype(float)

    @property
    def R(self) -> np.ndarray:
        return self.C[:3, :3]

    def twist(self, representation: str) -> tuple[np.ndarray, np.ndarray]:
        """Return V and V', from the derivatives of the pose by definition of the four twists."""
        C, dC, ddC = self.derivatives
        inverse = np.linalg.inv(C.astype(float)).astype(EXTENDED)
        d_inverse = -inverse @ dC @ inverse
        spatial = vector(dC @ inverse), vector(ddC @ inverse + dC @ d_inverse)
        body = vector(inverse @ dC), vector(inverse @ ddC + d_inverse @ dC)
        angular = body if representation in ('body', 'mixed') else spatial
        linear = (
            [dC[:3, 3], ddC[:3, 3]]
            if representation in ('hybrid', 'mixed')
            else [V[3:] for V in (spatial if representation == 'spatial' else body)]
        )
        V, dV = (np.concatenate([x[:3], y]).astype(float) for x, y in zip(angular, linear))
        return V, dV


class Case:
    """A cloud of particles glued to a moving frame."""

    def __init__(self, seed: int, *, at_com: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.masses, self.points = rng.uniform(0.1, 1, 6), rng.uniform(-0.5, 1, (6, 3))
        if at_com:
            self.points = self.points - self.masses @ self.points / self.masses.sum()
        self.motion = Motion(rng)
        self.body = RigidBody.from_particles(self.masses, self.points)
        self.inertia = self.body.mass, self.body.first_moment, self.body.inertia

    def M(self, representation: str) -> np.ndarray:
        return represented_inertia(self.inertia, self.motion.C, representation)

    def world(self, order: int) -> list[np.ndarray]:
        """Return positions of the particles (6, 3) and their derivatives."""
        points = np.concatenate([self.points, np.ones((6, 1))], axis=1)
        return [(points @ C.T)[:, :3].astype(float) for C in self.motion.derivatives[: order + 1]]

    def momentum(self) -> np.ndarray:
        """Return the spatial momentum (L, P) of the particles."""
        r, dr = self.world(1)
        p = self.masses[:, None] * dr
        return np.concatenate([np.cross(r, p).sum(axis=0), p.sum(axis=0)])

    def wrench(self, representation: str) -> np.ndarray:
        """Return Newton's and Euler's wrench on the particles, (6,)."""
        r, _, ddr = self.world(2)
        f = self.masses[:, None] * ddr
        W = np.concatenate([np.cross(r, f).sum(axis=0), f.sum(axis=0)])
        return convert_wrench(W, self.motion.C, 'spatial', representation)


@pytest.fixture
def case(seed: int) -> Case:
    return Case(seed)


# --- inertia and momentum -------------------------------------------------------------------------


@SEEDS
@REPRESENTATION
def test_kinetic_energy_is_that_of_the_particles(case, representation):
    """D-17: V^T M V / 2 in every representation; M symmetric and positive definite."""
    V, _ = case.motion.twist(representation)
    M = case.M(representation)
    _, dr = case.world(1)
    close(0.5 * V @ M @ V, 0.5 * case.masses @ (dr**2).sum(axis=1))
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@SEEDS
def test_inertia_in_arbitrary_frames(case):
    """D-17, [D](61), (64), E-21: jM = Ad_Cj^T M^s Ad_Cj, kM = Ad_R^T jM Ad_R with R_j,k."""
    j, k = Motion(np.random.default_rng(8)), Motion(np.random.default_rng(9))
    M_j = se3.Ad(j.C).T @ case.M('spatial') @ se3.Ad(j.C)
    in_j = se3.inverse(j.C) @ case.motion.C  # pose of the body in frame j
    close(M_j, represented_inertia(case.inertia, in_j, 'spatial'))
    Ad_R = se3.Ad_R(j.R.T @ k.R)
    M_k = Ad_R.T @ M_j @ Ad_R
    V_s, _ = case.motion.twist('spatial')
    V_k = general_twist(V_s, j.C, k.R)
    close(V_k @ M_k @ V_k, V_s @ case.M('spatial') @ V_s)
    printed = Ad_R @ M_j @ Ad_R.T
    assert abs(V_k @ printed @ V_k - V_k @ M_k @ V_k) > WRONG


@SEEDS
@REPRESENTATION
def test_rate_of_the_inertia(case, representation):
    """D-17, [D](37), (47): dM/dt = B + B^T, zero body-fixed; so dM/dt - 2 B is skew (D-19)."""
    V, _ = case.motion.twist(representation)
    M, R = case.M(representation), case.motion.R
    values = [
        represented_inertia(case.inertia, case.motion.pose(k * STEP), representation) for k in NODES
    ]
    rate = differences(values, 1)[1].astype(float)
    B = skew_bias_matrix(M, V, R, representation)
    close(B + B.T, rate, 1e-11)
    skew = rate - 2 * B
    close(skew, -skew.T, 1e-11)
    close(B @ V, bias_matrix(M, V, R, representation) @ V)


def test_skew_property_of_the_printed_bias_matrices():
    """D-19, [D] remark 2: stated for the spatial form, and false for the others (E-36)."""
    case = Case(0)
    for representation in REPRESENTATIONS:
        V, _ = case.motion.twist(representation)
        B = bias_matrix(case.M(representation), V, case.motion.R, representation)
        of_skew = skew_bias_matrix(case.M(representation), V, case.motion.R, representation)
        defect = np.abs(B + B.T - of_skew - of_skew.T).max()
        assert (defect < 1e-12) == (representation == 'spatial')


@SEEDS
@REPRESENTATION
def test_momentum(case, representation):
    """D-18: M V is the momentum of the particles, in the coordinates dual to the twist."""
    V, _ = case.motion.twist(representation)
    expected = convert_wrench(case.momentum(), case.motion.C, 'spatial', representation)
    close(case.M(representation) @ V, expected)


@SEEDS
@REPRESENTATION
def test_momentum_balance(case, representation):
    """D-18, E-17: rates of the components of the momentum, by differences."""
    motion = case.motion

    def momentum(t: np.longdouble) -> np.ndarray:
        C = motion.pose(t)
        dC = differences([motion.pose(t + k * STEP) for k in NODES], 1)[1]
        points = np.concatenate([case.points, np.ones((6, 1))], axis=1)
        r, dr = ((points @ X.T)[:, :3] for X in (C, dC))
        p = case.masses[:, None] * dr
        Pi = np.concatenate([np.cross(r, p).sum(axis=0), p.sum(axis=0)])
        return convert_wrench(Pi.astype(float), C.astype(float), 'spatial', representation)

    rate = differences([momentum(k * STEP) for k in NODES], 1)[1].astype(float)
    V, _ = motion.twist(representation)
    W, Pi = case.wrench(representation), case.M(representation) @ V
    close(momentum_rate(W, Pi, V, motion.R, representation), rate, 1e-9)
    if representation != 'spatial':  # only there the momentum changes by the wrench alone
        assert np.abs(W - rate).max() > WRONG


def test_free_body_keeps_its_spatial_momentum():
    """D-18: no wrench, no rate, whatever the body does."""
    case = Case(1)
    V, _ = case.motion.twist('spatial')
    Pi = case.M('spatial') @ V
    np.testing.assert_array_equal(momentum_rate(np.zeros(6), Pi, V, case.motion.R, 'spatial'), 0.0)


# --- equations of motion --------------------------------------------------------------------------


@SEEDS
@REPRESENTATION
@pytest.mark.parametrize('at_com', [False, True])
def test_newton_euler(seed, representation, at_com):
    """D-19 to D-22: off the center of mass and at it, against particles."""
    case = Case(seed, at_com=at_com)
    V, dV = case.motion.twist(representation)
    M, R = case.M(representation), case.motion.R
    expected = case.wrench(representation)
    close(newton_euler(M, V, dV, R, representation), expected, 1e-10)
    for B in (bias_matrix, skew_bias_matrix):
        close(M @ dV + B(M, V, R, representation) @ V, expected, 1e-10)


@SEEDS
def test_split_equations(case):
    """D-20 to D-22, [D](42), (43), (54)-(58), E-14: moment and force one by one."""
    m, h, Theta = case.inertia
    d, R = h / m, case.motion.R
    (omega, v), (domega, dv) = (np.split(x, 2) for x in case.motion.twist('body'))
    a = dv + np.cross(omega, v)
    moment = Theta @ domega + np.cross(omega, Theta @ omega)
    Omega = hat(domega) + hat(omega) @ hat(omega)
    body = np.concatenate([moment + m * np.cross(d, a), m * (a + Omega @ d)])
    close(body, case.wrench('body'), 1e-10)
    misprinted = np.concatenate([moment - m * np.cross(d, a), body[3:]])
    assert np.abs(misprinted - case.wrench('body')).max() > WRONG

    ddr = case.motion.twist('hybrid')[1][3:]
    mixed = np.concatenate([moment + m * np.cross(d, R.T @ ddr), m * (ddr + R @ Omega @ d)])
    close(mixed, case.wrench('mixed'), 1e-10)

    (omega, _), (domega, _) = (np.split(x, 2) for x in case.motion.twist('hybrid'))
    Theta, d, Omega = R @ Theta @ R.T, R @ d, hat(domega) + hat(omega) @ hat(omega)
    moment = Theta @ domega + np.cross(omega, Theta @ omega)
    hybrid = np.concatenate([moment + m * np.cross(d, ddr), m * (ddr + Omega @ d)])
    close(hybrid, case.wrench('hybrid'), 1e-10)


@SEEDS
def test_at_the_center_of_mass_the_hybrid_equations_decouple(seed):
    """D-21, [D](48)-(50), E-16: Theta w' + w x Theta w = t and m r'' = f; m r' is the momentum."""
    case = Case(seed, at_com=True)
    m, _, Theta = case.inertia
    R = case.motion.R
    (omega, dr), (domega, ddr) = (np.split(x, 2) for x in case.motion.twist('hybrid'))
    Theta = R @ Theta @ R.T
    W = case.wrench('hybrid')
    close(Theta @ domega + np.cross(omega, Theta @ omega), W[:3], 1e-10)
    close(m * ddr, W[3:], 1e-10)
    assert np.abs(m * dr - W[3:]).max() > WRONG  # as printed in [D](50)
    # body-fixed, force and rotation stay coupled through omega x v ([D](46))
    (omega, v), (_, dv) = (np.split(x, 2) for x in case.motion.twist('body'))
    close(m * (dv + np.cross(omega, v)), case.wrench('body')[3:], 1e-10)


@SEEDS
def test_rate_of_the_shift_to_the_center_of_mass(seed):
    """E-17: d/dt Ad_d^-1 = -ad_d' = ad_w Ad_d^-1 - Ad_d^-1 ad_w, printed with the opposite sign."""
    case = Case(seed)
    d = case.body.com
    values = [se3.Ad_r(-(case.motion.pose(k * STEP)[:3, :3] @ d).astype(float)) for k in NODES]
    rate = differences(values, 1)[1].astype(float)
    V, _ = case.motion.twist('hybrid')
    turn, shift = se3.Ad_R(hat(V[:3])), se3.Ad_r(-case.motion.R @ d)
    close(rate, turn @ shift - shift @ turn, 1e-11)
    assert np.abs(rate - (shift @ turn - turn @ shift)).max() > WRONG


@SEEDS
def test_moving_frames(case):
    """D-23, [D](59)-(64), E-20: point of one moving frame, axes of another, against particles."""
    j, k = Motion(np.random.default_rng(21)), Motion(np.random.default_rng(22))

    def components(t: np.longdouble) -> np.ndarray:
        C = case.motion.pose(t).astype(float)
        dC = differences([case.motion.pose(t + i * STEP) for i in NODES], 1)[1].astype(float)
        V_s = vector(dC @ se3.inverse(C))
        return general_twist(V_s, j.pose(t).astype(float), k.pose(t)[:3, :3].astype(float))

    V, dV = (x.astype(float) for x in differences([components(i * STEP) for i in NODES], 1))
    R_jk = j.R.T @ k.R
    M_j = se3.Ad(j.C).T @ case.M('spatial') @ se3.Ad(j.C)
    M = se3.Ad_R(R_jk).T @ M_j @ se3.Ad_R(R_jk)
    omega_k, v_j = k.R.T @ k.twist('hybrid')[0][:3], k.R.T @ j.twist('hybrid')[0][3:]
    W_s = case.wrench('spatial')
    moment = W_s[:3] - np.cross(j.C[:3, 3], W_s[3:])
    expected = np.concatenate([k.R.T @ moment, k.R.T @ W_s[3:]])
    close(newton_euler_in_frame(M, V, dV, np.concatenate([omega_k, v_j])), expected, 1e-8)
    # E-20: with the absolute angular velocity of k on top of the twist of j it fails
    omega_j = k.R.T @ j.twist('hybrid')[0][:3]
    printed = newton_euler_in_frame(M, V, dV, np.concatenate([omega_j + omega_k, v_j]))
    assert np.abs(printed - expected).max() > WRONG


@SEEDS
@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid'])
def test_special_frames(case, representation):
    """D-23, E-22: j = i, k = i is the body-fixed form, j = k = 0 the spatial one, k = 0 hybrid."""
    V, dV = case.motion.twist(representation)
    M = case.M(representation)
    close(
        newton_euler_in_frame(M, V, dV, frame_twist(V, representation)),
        newton_euler(M, V, dV, case.motion.R, representation),
    )


def test_twists_of_the_representations_convert():
    """E-15: V^h_c = Ad_R V^b_c, not its inverse."""
    case = Case(2, at_com=True)
    V_b, V_h = (case.motion.twist(name)[0] for name in ('body', 'hybrid'))
    close(convert_twist(V_b, case.motion.C, 'body', 'hybrid'), V_h)
    close(se3.Ad_R(case.motion.R) @ V_b, V_h)
    assert np.abs(se3.Ad_R(case.motion.R).T @ V_b - V_h).max() > WRONG


# --- Binet's and pseudo-inertia -------------------------------------------------------------------


@SEEDS
def test_pseudo_inertia_of_particles(case):
    """D-17: sum of m (r, 1) (r, 1)^T, carried along by C Sigma C^T; T = tr(C' Sigma C'^T) / 2."""
    points = np.concatenate([case.points, np.ones((6, 1))], axis=1)
    expected = np.einsum('k,ka,kb->ab', case.masses, points, points)
    Sigma = inertias.pseudo_inertia(case.inertia)
    close(Sigma, expected)
    close(case.body.pseudo_inertia, expected)
    for part, own in zip(inertias.from_pseudo_inertia(Sigma), case.inertia):
        close(part, own)
    C, dC = (x.astype(float) for x in case.motion.derivatives[:2])
    close(case.body.moved(C).pseudo_inertia, C @ Sigma @ C.T)
    close(0.5 * np.trace(dC @ Sigma @ dC.T), case.body.kinetic_energy(case.motion.twist('body')[0]))
    close(RigidBody.from_pseudo_inertia(Sigma).parameters, case.body.parameters)


@SEEDS
def test_newton_euler_in_binets_form(case):
    """D-17, D-20: moment and force from C^-1 C'' Sigma."""
    Sigma = inertias.pseudo_inertia(case.inertia)
    close(newton_euler_binet(Sigma, *case.motion.twist('body')), case.wrench('body'), 1e-10)


def test_physical_consistency_is_positive_definiteness():
    """D-17: the pseudo-inertia is semidefinite exactly if the triangle inequalities hold."""
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(200):
        moments, com = rng.uniform(0.1, 1, 3), rng.uniform(-1, 1, 3)
        R = Rotation.from_quat(random_unit(rng, 4)).as_matrix()
        I = R @ np.diag(moments) @ R.T - 2.0 * hat(com) @ hat(com)  # noqa: E741
        parameters = np.concatenate([[2.0], 2.0 * com, I[np.triu_indices(3)]])
        triangle = 2 * moments.max() <= moments.sum()
        verdicts.append(triangle)
        assert is_physical(parameters) == triangle
        if not triangle:
            with pytest.raises(InertiaError):
                RigidBody.from_parameters(parameters)
    assert 50 < sum(verdicts) < 150
    # positive definite, with a positive mass matrix, and still no body
    box = np.array([1, 0, 0, 0, 1, 0, 0, 1, 0, 2.5])
    assert not is_physical(box)
    assert not is_physical(-RigidBody(1.0, [0, 0, 0], np.eye(3)).parameters)
    assert is_physical([1, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # a particle
    np.testing.assert_array_equal(is_physical(np.stack([box, np.eye(10)[0]])), [False, True])


def test_bad_input():
    with pytest.raises(UnknownNameError, match="'inertial'"):
        represented_inertia((1.0, np.zeros(3), np.eye(3)), np.eye(4), 'inertial')
    with pytest.raises(InertiaError, match='symmetric'):
        RigidBody.from_pseudo_inertia(np.eye(4) + np.eye(4, k=1))
    with pytest.raises(InertiaError):
        RigidBody.from_pseudo_inertia(np.diag([1.0, 1.0, -0.5, 1.0]))
    with pytest.raises(ArgumentError, match='parameters'):
        is_physical([1.0, 2.0])
