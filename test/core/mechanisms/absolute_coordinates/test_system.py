# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion, reactions, energy, and what is refused (I-17, I-19 to I-22, I-32, I-46)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    InertiaError,
    InfeasibleConstraintsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    PLANAR,
    REVOLUTE,
    SE3,
    SPHERICAL,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    LowerPair,
    SO3xR3,
    frame,
    lower_pair,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    double_pendulum,
    heavy_top,
)
from screw_dynamics_ros.core.types import Array
from support.jointed_bodies import ALL_PAIRS, GROUPS, random_inertia, random_system


@pytest.mark.parametrize('group', GROUPS)
def test_free_body_obeys_the_equations_of_euler(group: str) -> None:
    """Theta omega' = -omega x Theta omega about the center of mass, which flies straight (I-17)."""
    rng = np.random.default_rng(1)
    inertia = random_inertia(rng)
    system = AbsoluteSystem([AbsoluteBody('body', inertia, group)])
    q = system.integrate(system.neutral(), rng.normal(size=6))
    v = rng.normal(size=6)
    a = system.forward_dynamics(q, v)
    omega, alpha, R = v[:3], a[:3], system.poses(q)['body'][:3, :3]
    np.testing.assert_allclose(
        inertia.matrix @ alpha, -np.cross(omega, inertia.matrix @ omega), atol=1e-12
    )
    linear = R @ (a[3:] + np.cross(omega, v[3:])) if group == SE3 else a[3:]
    com = linear + R @ (
        np.cross(alpha, inertia.com) + np.cross(omega, np.cross(omega, inertia.com))
    )
    np.testing.assert_allclose(com, [0, 0, -9.81], atol=1e-12)


@pytest.mark.parametrize('group', GROUPS)
def test_static_top(group: str) -> None:
    """Force (m g, 0, 0) and R = 1 give a = 0 and lambda = (m g, 0, 0) (I-20, spec 3)."""
    system, q, _ = heavy_top([group])
    weight = np.array([0, 0, 0, 21.6 * 9.81, 0, 0])
    a, multipliers = system.accelerations_and_multipliers(q, np.zeros(6), weight)
    np.testing.assert_allclose(a, 0.0, atol=1e-12)
    np.testing.assert_allclose(multipliers, weight[3:], rtol=1e-12)
    reaction = system.reactions(q, np.zeros(6), weight)['pivot']
    np.testing.assert_allclose(reaction, -weight, atol=1e-10)  # the pivot pulls back
    np.testing.assert_array_equal(
        system.reactions(q, np.zeros(6), external_wrenches={'top': weight})['pivot'], reaction
    )


@pytest.mark.parametrize('pair', ALL_PAIRS, ids=lambda pair: pair.name)
@pytest.mark.parametrize('groups', [(SE3, SE3, SE3), (SO3xR3, SE3, SO3xR3)])
def test_reactions_balance_each_body(pair: LowerPair, groups: tuple[str, ...]) -> None:
    """M V' = velocity terms + weight + reactions, each moved to the center of mass (I-19, I-21)."""
    rng = np.random.default_rng(2)
    system, q, v = random_system(rng, pair, groups)
    a, reactions, poses = (system.forward_dynamics(q, v), system.reactions(q, v), system.poses(q))
    total = {body.name: np.zeros(6) for body in system.bodies}  # about the origin, inertial axes
    for joint in system.joints:
        S = poses[joint.child] @ joint.child_frame
        wrench = se3.Ad(se3.inverse(S)).T @ reactions[joint.name]
        total[joint.child] += wrench
        if joint.parent != GROUND:
            total[joint.parent] -= wrench
    for body, place in system.free_bodies.items():
        inertia = system.bodies[place.start // 6].inertia
        C, omega, alpha = poses[body], v[place][:3], a[place][:3]
        R = C[:3, :3]
        linear = a[place][3:]
        if system.bodies[place.start // 6].group == SE3:
            linear = R @ (linear + np.cross(omega, v[place][3:]))
        arm = R @ inertia.com
        com_acceleration = linear + R @ (
            np.cross(alpha, inertia.com) + np.cross(omega, np.cross(omega, inertia.com))
        )
        com = C[:3, 3] + arm
        force = inertia.mass * (com_acceleration - [0, 0, -9.81])
        moment = R @ (inertia.matrix @ alpha + np.cross(omega, inertia.matrix @ omega))
        np.testing.assert_allclose(total[body][3:], force, atol=1e-9)
        np.testing.assert_allclose(total[body][:3], moment + np.cross(com, force), atol=1e-9)


@pytest.mark.parametrize('groups', [(SE3, SE3), (SO3xR3, SO3xR3), (SE3, SO3xR3)])
def test_index_3_residuals(groups: tuple[str, ...]) -> None:
    """M a + J^T lambda - Q = 0, J a = eta, g = 0 (I-19, I-20)."""
    rng = np.random.default_rng(3)
    system, q, v = random_system(rng, SPHERICAL, groups)
    tau, wrenches = rng.normal(size=12), {'body 1': rng.normal(size=6)}
    a, multipliers = system.accelerations_and_multipliers(q, v, tau, wrenches)
    J = system.constraint_jacobian(q)
    residual = (
        system.mass_matrix(q) @ a
        + J.T @ multipliers
        - system.generalized_forces(q, v, tau, wrenches)
    )
    np.testing.assert_allclose(residual, 0.0, atol=1e-10)
    np.testing.assert_allclose(J @ a, system.constraint_bias(q, v), atol=1e-10)
    np.testing.assert_allclose(system.constraint_residuals(q), 0.0, atol=1e-13)
    x, mu = system.solve_saddle_point(q, tau, np.ones(6))
    np.testing.assert_allclose(system.mass_matrix(q) @ x + J.T @ mu, tau, atol=1e-10)
    np.testing.assert_allclose(J @ x, 1.0, atol=1e-10)


def test_velocity_is_the_rate_of_the_configuration() -> None:
    """C^-1 C' = V in SE(3), (R^T R', r') in SO(3) x R^3, by finite differences (I-22, I-02)."""
    rng = np.random.default_rng(4)
    system, q, v = random_system(rng, SPHERICAL, (SE3, SO3xR3))
    h = 1e-6
    ahead, behind = (system.poses(system.integrate(q, s * v)) for s in (h, -h))
    for (name, C), place, group in zip(system.poses(q).items(), (0, 6), system.groups):
        rate = (ahead[name] - behind[name]) / (2 * h)
        np.testing.assert_allclose(
            so3.vee(C[:3, :3].T @ rate[:3, :3]), v[place : place + 3], atol=1e-8
        )
        linear = C[:3, :3].T @ rate[:3, 3] if group == SE3 else rate[:3, 3]
        np.testing.assert_allclose(linear, v[place + 3 : place + 6], atol=1e-8)


def test_rate_of_the_mass_matrix() -> None:
    """Only hybrid bodies off their center of mass have one; by finite differences."""
    system, q, v = random_system(np.random.default_rng(6), SPHERICAL, (SE3, SO3xR3))
    h = 1e-6
    ahead, behind = (system.mass_matrix(system.integrate(q, s * v)) for s in (h, -h))
    rate = system.mass_matrix_rate(q, v).toarray()
    np.testing.assert_allclose(rate, (ahead - behind).toarray() / (2 * h), atol=1e-8)
    assert not rate[:6].any()
    assert np.abs(rate[6:]).max() > 0.01


def test_power_of_joint_torques() -> None:
    """tau^T v of the generalized forces is torque times joint rate, for all pairs (I-12)."""
    rng = np.random.default_rng(5)
    for pair in ALL_PAIRS[:-1]:
        system, q, v = random_system(rng, pair, (SE3, SO3xR3))
        rates = system.joint_rates(q, v)
        torques = {name: rng.normal(size=rate.shape) for name, rate in rates.items()}
        power = sum(torques[name] @ rates[name] for name in rates)
        assert system.joint_forces(q, torques) @ v == pytest.approx(power, rel=1e-10)


@pytest.mark.parametrize('pair', [REVOLUTE, SPHERICAL, PLANAR], ids=lambda pair: pair.name)
@pytest.mark.parametrize('groups', [(SE3, SO3xR3), (SO3xR3, SE3)])
def test_energy_rises_by_the_power_of_forces(pair: LowerPair, groups: tuple[str, ...]) -> None:
    """(T + U)' = tau^T v + W^T V, with the centers of mass off the origins (I-32, I-46)."""
    rng = np.random.default_rng(8)
    system, q, v = random_system(rng, pair, groups)
    tau, wrench, h = rng.normal(size=12), rng.normal(size=6), 1e-5
    a = system.forward_dynamics(q, v, tau, {'body 1': wrench})
    ahead, behind = (
        system.energy(system.integrate(q, s * v + s**2 / 2 * a), v + s * a).total for s in (h, -h)
    )
    twist = v[6:].copy()
    if groups[1] == SO3xR3:
        twist[3:] = system.poses(q)['body 1'][:3, :3].T @ twist[3:]
    power = tau @ v + wrench @ twist
    assert (ahead - behind) / (2 * h) == pytest.approx(power, abs=1e-8)


def test_energy_and_momentum_of_the_examples() -> None:
    """T0 of the paper's examples (I-32); weight times height (I-46, erratum X3)."""
    system, q, v = heavy_top()
    assert system.energy(q, v).kinetic == pytest.approx(13972.3990, abs=6e-5)  # as printed
    system, q, v = double_pendulum()
    assert system.energy(q, v).kinetic == pytest.approx(95.0739, rel=1e-6)
    lifted = q + np.tile([0, 0, 1.0, 0, 0, 0, 0], 2)
    rise = system.energy(lifted, v).potential - system.energy(q, v).potential
    assert rise == pytest.approx(2 * 2.7 * 9.81)


def test_gravity_has_the_mass_in_it() -> None:
    """The force of gravity as printed, without the mass, moves the top far too little (X3)."""
    free, q, _ = heavy_top([SO3xR3])
    printed = np.concatenate([np.zeros(5), [-9.81]])  # F^s = g^s
    a = free.forward_dynamics(q, np.zeros(6), printed)
    right = heavy_top([SO3xR3], gravity=(0, 0, -9.81)).system.forward_dynamics(q, np.zeros(6))
    np.testing.assert_allclose(right, 21.6 * a, rtol=1e-12, atol=1e-12)


def test_refusals() -> None:
    """What is wrong is named, with the remedy."""
    body = AbsoluteBody('a', Inertia(1.0, np.zeros(3), np.eye(3)))
    with pytest.raises(InertiaError, match="body 'b' has mass 0 kg"):
        AbsoluteBody('b', Inertia(0.0, np.zeros(3), np.zeros((3, 3))))
    with pytest.raises(InertiaError, match='three moments'):
        AbsoluteBody('b', Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 0.0])))
    with pytest.raises(UnknownNameError, match='choose one of SE'):
        AbsoluteBody('b', body.inertia, 'SO(3)')
    with pytest.raises(ArgumentError, match='exchange parent and child'):
        ConstraintJoint('j', SPHERICAL, 'a', GROUND)
    with pytest.raises(ArgumentError, match='itself'):
        ConstraintJoint('j', SPHERICAL, 'a', 'a')
    with pytest.raises(ArgumentError, match='parent_frame: not a rotation'):
        ConstraintJoint('j', SPHERICAL, GROUND, 'a', np.diag([2.0, 1, 1, 1]))
    with pytest.raises(UnknownNameError, match="leads to 'c'"):
        AbsoluteSystem([body], [ConstraintJoint('j', SPHERICAL, 'c', 'a')])
    with pytest.raises(ArgumentError, match="two bodies are named 'a'"):
        AbsoluteSystem([body, body])
    with pytest.raises(ArgumentError, match='at least one body'):
        AbsoluteSystem([])
    with pytest.raises(ArgumentError, match='quaternion'):
        AbsoluteSystem([body], configuration=np.zeros(7))
    with pytest.raises(ArgumentError, match='pitch'):
        lower_pair('helical')
    with pytest.raises(ArgumentError, match='no pitch'):
        lower_pair('revolute', 1.0)
    with pytest.raises(UnknownNameError, match='universal'):
        lower_pair('universal')
    with pytest.raises(ArgumentError, match='axis'):
        frame(axis=[0, 0, 0])
    system = AbsoluteSystem([body])
    with pytest.raises(UnknownNameError, match="'mixed'"):
        system.integrate(system.neutral(), np.zeros(6), 'mixed')
    with pytest.raises(UnknownNameError, match="'mixed'"):
        system.increment_rate(system.neutral(), np.zeros(6), np.zeros(6), 'mixed')
    with pytest.raises(ArgumentError, match=r'v must have shape \(6,\)'):
        system.forward_dynamics(system.neutral(), np.zeros(5))
    with pytest.raises(UnknownNameError, match=r"no body named 'x'; there are a$"):
        system.forward_dynamics(system.neutral(), np.zeros(6), external_wrenches={'x': np.zeros(6)})
    with pytest.raises(ArgumentError, match=r"wrench on 'a' must have shape \(6,\)"):
        system.applied_forces(system.neutral(), {'a': np.zeros(3)})


def parallelogram(backend: str, group: str) -> tuple[AbsoluteSystem, Array]:
    """Return a linkage whose cranks stand up, and the configuration in which all bars align."""
    bodies = [AbsoluteBody(name, Inertia(1.0, np.zeros(3), np.eye(3)), group) for name in 'abc']
    joints = [
        ConstraintJoint('A', REVOLUTE, GROUND, 'a'),
        ConstraintJoint('B', REVOLUTE, 'a', 'b', frame([1, 0, 0])),
        ConstraintJoint('C', REVOLUTE, 'b', 'c', frame([2, 0, 0]), frame([1, 0, 0])),
        ConstraintJoint('D', REVOLUTE, GROUND, 'c', frame([2, 0, 0])),
    ]
    half = np.sqrt(0.5)
    up = [0, 0, 0, 0, 0, half, half, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, half, half]
    flat = [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 1]
    return AbsoluteSystem(bodies, joints, configuration=up, backend=backend), np.array(flat)


@pytest.mark.parametrize('group', GROUPS)
@pytest.mark.parametrize('backend', ['native', 'reference', 'sparse'])
def test_singular_configurations_are_refused(backend: str, group: str) -> None:
    """The rods may fold to either side: an error, rather than NaN."""
    system, flat = parallelogram(backend, group)
    assert max(each.gap for each in system.violation(flat, np.zeros(18)).values()) == 0.0
    message = 'constraints of joints A, B, C, D depend on each other at this configuration'
    with pytest.raises(InfeasibleConstraintsError, match=message):
        system.forward_dynamics(flat, np.zeros(18))
    with pytest.raises(InfeasibleConstraintsError, match=message):
        system.solve_saddle_point(flat, np.zeros(18), np.ones(17))


def test_backends() -> None:
    """Large systems are solved by sparse matrices unless something else is asked for."""
    inertia = Inertia(1.0, np.zeros(3), np.eye(3))
    bodies = [AbsoluteBody(f'{k}', inertia) for k in range(17)]
    assert AbsoluteSystem(bodies[:16]).backend != 'sparse'
    assert AbsoluteSystem(bodies).backend == 'sparse'
    assert AbsoluteSystem(bodies, backend='reference').backend == 'reference'
    small = AbsoluteSystem(bodies[:2], backend='sparse')
    assert small.backend == 'sparse'
    np.testing.assert_array_equal(small.gravity, [0, 0, -9.81])
    assert small.stabilization == (0.0, 0.0)
    assert (small.nq, small.nv, small.constraint_count, small.redundant) == (14, 12, 0, ())


@pytest.mark.parametrize('backend', ['native', 'sparse'])
def test_nan_gives_nan(backend: str) -> None:
    """What is not a number stays none, without an exception."""
    system, q, v = double_pendulum(backend=backend)
    v = v.copy()
    v[3] = np.nan
    assert np.isnan(system.forward_dynamics(q, v)).any()
