# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constraints and equations of motion against finite differences and the printed matrices."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SE3, LowerPair, SO3xR3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    Example,
    double_pendulum,
    heavy_top,
)
from screw_dynamics_ros.core.types import Array
from support.jointed_bodies import ALL_PAIRS, GROUPS, random_system

ENDS = [
    ('ground', (SE3,)),
    ('ground', (SO3xR3,)),
    ('between', (SE3, SE3)),
    ('between', (SO3xR3, SO3xR3)),
    ('between', (SE3, SO3xR3)),
    ('between', (SO3xR3, SE3)),
]


@pytest.fixture(params=ALL_PAIRS, ids=lambda pair: pair.name)
def pair(request: pytest.FixtureRequest) -> LowerPair:
    return request.param


@pytest.mark.parametrize(('where', 'groups'), ENDS)
def test_jacobian_is_the_rate_of_the_gap(
    pair: LowerPair, where: str, groups: tuple[str, ...]
) -> None:
    """J v = dg/dt for all velocities, admissible or not, where g = 0 (I-27, I-28, I-30)."""
    rng = np.random.default_rng(1)
    system, q, _ = random_system(rng, pair, groups, grounded=where == 'ground')
    assert np.abs(system.constraint_residuals(q)).max() < 1e-13
    v, h = rng.normal(size=system.nv), 1e-5
    ahead, behind = (system.constraint_residuals(system.integrate(q, s * v)) for s in (h, -h))
    np.testing.assert_allclose(
        system.constraint_jacobian(q) @ v, (ahead - behind) / (2 * h), atol=2e-9
    )


@pytest.mark.parametrize('is_admissible', [True, False])
@pytest.mark.parametrize(('where', 'groups'), ENDS)
def test_accelerations_keep_velocities_admissible(
    pair: LowerPair, where: str, groups: tuple[str, ...], is_admissible: bool
) -> None:
    """J a = eta makes J v constant along the motion, zero or not (I-27, I-28, I-30)."""
    rng = np.random.default_rng(2)
    system, q, v = random_system(rng, pair, groups, grounded=where == 'ground')
    if not is_admissible:
        q, v = system.integrate(q, 0.3 * rng.normal(size=system.nv)), rng.normal(size=system.nv)
    a, h = system.forward_dynamics(q, v), 1e-5
    np.testing.assert_allclose(
        system.constraint_jacobian(q) @ a, system.constraint_bias(q, v), atol=1e-10
    )

    def left(t: float) -> Array:
        at = system.integrate(q, t * v + t**2 / 2 * a)
        return system.constraint_jacobian(at) @ (v + t * a)

    np.testing.assert_allclose((left(h) - left(-h)) / (2 * h), 0.0, atol=1e-8)
    assert np.allclose(left(0.0), 0.0, atol=1e-10) is is_admissible


@pytest.mark.parametrize(
    ('pair', 'backend'), [*((pair, 'python') for pair in ALL_PAIRS[:4]), (ALL_PAIRS[4], 'native')]
)
def test_backends_agree(pair: LowerPair, backend: str) -> None:
    """The recorded elimination gives what sparse matrices give (I-20)."""
    rng = np.random.default_rng(3)
    system, q, v = random_system(rng, pair, (SE3, SO3xR3, SE3))
    rng = np.random.default_rng(3)
    compiled, _, _ = random_system(rng, pair, (SE3, SO3xR3, SE3), backend=backend)
    tau = rng.normal(size=system.nv)
    for ours, other in zip(
        compiled.accelerations_and_multipliers(q, v, tau),
        system.accelerations_and_multipliers(q, v, tau),
    ):
        np.testing.assert_allclose(ours, other, rtol=1e-9, atol=1e-10)
    X = 0.3 * rng.normal(size=system.nv)
    np.testing.assert_allclose(compiled.integrate(q, X), system.integrate(q, X), atol=1e-13)
    np.testing.assert_allclose(
        compiled.increment_rate(q, X, v), system.increment_rate(q, X, v), atol=1e-12
    )


@pytest.mark.parametrize(('where', 'groups'), ENDS)
def test_both_forms_give_the_same_motion(
    pair: LowerPair, where: str, groups: tuple[str, ...]
) -> None:
    """Body-fixed and hybrid accelerations are those of one motion, with one lambda (I-18, I-12)."""
    accelerations, reactions = [], []
    for group in GROUPS:
        rng = np.random.default_rng(4)
        system, q, _ = random_system(rng, pair, (group,) * len(groups), grounded=where == 'ground')
        V = np.random.default_rng(5).normal(size=(len(groups), 6))
        R = [C[:3, :3] for C in system.poses(q).values()]
        v = np.concatenate(
            [np.append(w[:3], w[3:] if group == SE3 else r @ w[3:]) for w, r in zip(V, R)]
        )
        v -= system.solve_saddle_point(q, 0 * v, system.constraint_jacobian(q) @ v)[0]
        a = system.forward_dynamics(q, v).reshape(-1, 6)
        if group == SE3:  # r'' = R (v' + omega x v)
            twists = v.reshape(-1, 6)
            for k, r in enumerate(R):
                a[k, 3:] = r @ (a[k, 3:] + np.cross(twists[k, :3], twists[k, 3:]))
        accelerations.append(a)
        reactions.append(np.array(list(system.reactions(q, v).values())))
    np.testing.assert_allclose(accelerations[0], accelerations[1], atol=1e-10)
    np.testing.assert_allclose(reactions[0], reactions[1], atol=1e-9)


def hat(*vectors: Array) -> list[Array]:
    return [so3.hat(x) for x in vectors]


def matrices(example: Example) -> tuple[Array, Array, Array, Array]:
    """Return M, J, Q and eta at the initial state."""
    system, q, v = example
    return (
        system.mass_matrix(q).toarray(),
        system.constraint_jacobian(q).toarray(),
        system.generalized_forces(q, v),
        system.constraint_bias(q, v),
    )


def test_heavy_top_has_the_printed_matrices() -> None:
    """Equations (40) and (42) at the initial state, where R = 1 (I-17, I-18, I-27)."""
    Theta, m = np.diag([0.36, 0.306, 0.09]), 21.6
    r0 = np.array([0.5, 0, 0])
    R = np.eye(3)
    for group in GROUPS:
        example = heavy_top([group])
        omega, v = example.v[:3], example.v[3:]
        M, J, Q, eta = matrices(example)
        np.testing.assert_allclose(
            M, np.block([[Theta, np.zeros((3, 3))], [np.zeros((3, 3)), m * np.eye(3)]])
        )
        gyroscopic = -np.cross(omega, Theta @ omega)
        if group == SE3:  # (40)
            np.testing.assert_allclose(J, np.hstack([so3.hat(r0), np.eye(3)]), atol=1e-15)
            np.testing.assert_allclose(Q, np.append(gyroscopic, -m * np.cross(omega, v)), atol=1e-9)
            printed = -np.cross(omega, np.cross(omega, r0)) + np.cross(omega, v)
        else:  # (42)
            np.testing.assert_allclose(J, np.hstack([R @ so3.hat(r0), np.eye(3)]), atol=1e-15)
            np.testing.assert_allclose(Q, np.append(gyroscopic, np.zeros(3)), atol=1e-9)
            printed = R @ np.cross(omega, np.cross(omega, r0))
        np.testing.assert_allclose(eta, printed, atol=1e-9)


def test_double_pendulum_has_the_printed_matrices() -> None:
    """Equations (50), (53), (61), (64), turned away from the initial state.

    The first row is printed with the opposite sign (spec 0), and the forces without the masses
    and (61) with body-fixed velocities (X3, X4).
    """
    rng = np.random.default_rng(6)
    for group in GROUPS:
        example = double_pendulum([group, group])
        system = example.system
        q = system.integrate(example.q, 0.4 * rng.normal(size=12))
        v = rng.normal(size=12)
        v -= system.solve_saddle_point(q, 0 * v, system.constraint_jacobian(q) @ v)[0]
        M, J, Q, eta = matrices(Example(system, q, v))
        (R1, R2), m = [C[:3, :3] for C in system.poses(q).values()], 2.7
        Theta = np.diag([0.0028125, 0.0095625, 0.01125])
        w1, v1, w2, v2 = v.reshape(4, 3)
        r0, r10, r20 = np.array([[-0.1, 0, 0], [0.1, 0, 0], [-0.1, 0, 0]])
        h0, h10, h20 = hat(r0, r10, r20)
        O, E = np.zeros((3, 3)), np.eye(3)  # noqa: E741
        W1, W2 = hat(w1, w2)
        weight = np.array([0, 0, -9.81 * m])
        if group == SE3:
            second = [R1 @ h10, -R1, -R2 @ h20, R2]
            first = [h0, -E, O, O]
            eta_1 = W1 @ v1 + W1 @ W1 @ r0
            eta_2 = R1 @ W1 @ W1 @ r10 - R2 @ W2 @ W2 @ r20 + R1 @ W1 @ v1 - R2 @ W2 @ v2
            forces = [R1.T @ weight - m * W1 @ v1, R2.T @ weight - m * W2 @ v2]
        else:
            second = [R1 @ h10, -E, -R2 @ h20, E]
            first = [R1 @ h0, -E, O, O]
            eta_1 = R1 @ W1 @ W1 @ r0
            eta_2 = R1 @ W1 @ W1 @ r10 - R2 @ W2 @ W2 @ r20
            forces = [weight, weight]
        np.testing.assert_allclose(J, np.vstack([-np.hstack(first), np.hstack(second)]), atol=1e-14)
        np.testing.assert_allclose(eta, np.append(-eta_1, eta_2), atol=1e-12)
        expected = [-W1 @ Theta @ w1, forces[0], -W2 @ Theta @ w2, forces[1]]
        np.testing.assert_allclose(Q, np.concatenate(expected), atol=1e-12)
        np.testing.assert_allclose(
            M, np.diag(np.tile([0.0028125, 0.0095625, 0.01125, m, m, m], 2)), atol=1e-14
        )
