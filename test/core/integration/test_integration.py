# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps in time: local coordinates, orders of convergence, independent integrators, energy.

Spec IDs: D-44 and K-36, C-062, I-10, I-23, I-24 and I-26; I-25 is in test_tableau.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.integration import (
    EULER,
    RK4,
    TABLEAUS,
    ConfigurationSpace,
    RungeKutta,
    SemiImplicitEuler,
    Tableau,
    munthe_kaas_step,
)
from screw_dynamics_ros.core.lie import se3
from support.compilation import BACKENDS, build, close, needs_llvmlite
from support.free_body_motion import COM, Q0, V0, errors, free_body, orders, pose, run
from support.models import random_configuration, random_description
from support.tangents import displaced, partial

INCREMENTS = ('body', 'spatial', 'mixed', 'hybrid')
ALL_INCREMENTS = pytest.mark.parametrize('increments', INCREMENTS)
FREE = Limits(-np.inf, np.inf, np.inf, np.inf)


# --- local coordinates ----------------------------------------------------------------------------


@BACKENDS
@ALL_INCREMENTS
def test_local_coordinates(increments, backend):
    """D-44: along X + t X' the robot moves with v; floating base, floating and planar joints."""
    robot = build('planar, floating', backend)
    rng = np.random.default_rng(0)
    q, X, v = random_configuration(robot, rng), *rng.uniform(-1.5, 1.5, (2, robot.nv))
    at = robot.integrate(q, X, increments)
    rate = robot.increment_rate(at, X, v, increments)
    along = partial(lambda t: robot.integrate(q, X + t[0] * rate, increments), 1)
    # A quaternion from the oracle may have the other sign.
    signs = np.sign(displaced(robot, at, 0 * v) * at + 1e-300)
    close(along[:, 0], signs * partial(lambda t: displaced(robot, at, t[0] * v), 1)[:, 0], 1e-9)
    close(robot.integrate(at, np.zeros(robot.nv), increments), at, 1e-15)
    if increments == 'body':
        close(at, np.sign(at * displaced(robot, q, X) + 1e-300) * displaced(robot, q, X), 1e-14)


def test_sides_are_related_by_the_adjoint():
    """D-44: q exp X = exp(Ad_C X) q, on both groups."""
    robot = free_body()
    rng = np.random.default_rng(1)
    q, X = random_configuration(robot, rng), rng.uniform(-1.5, 1.5, 6)
    C = robot.link_pose(q, 'body')
    close(robot.integrate(q, se3.Ad(C) @ X, 'spatial'), robot.integrate(q, X, 'body'), 1e-14)
    turned = np.concatenate([C[:3, :3] @ X[:3], X[3:]])
    close(robot.integrate(q, turned, 'hybrid'), robot.integrate(q, X, 'mixed'), 1e-14)


def test_pinocchio_moves_bodies_on_se3():
    """The increments of `pinocchio.integrate` are those of `body`."""
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromXML(
        '<robot name="r"><link name="a"/></robot>', pin.JointModelFreeFlyer()
    )
    robot = free_body()
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, X = random_configuration(robot, rng), rng.uniform(-1.5, 1.5, 6)
        expected = pin.integrate(model, q, X[[3, 4, 5, 0, 1, 2]])
        moved = robot.integrate(q, X)
        close(moved * np.sign(moved[3:] @ expected[3:]) ** [0, 0, 0, 1, 1, 1, 1], expected, 1e-14)


def test_mujoco_moves_bodies_on_the_direct_product():
    """K-36: `mj_integratePos` turns by the body-fixed rates and moves straight: `mixed`."""
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    )
    robot = free_body()
    rng = np.random.default_rng(3)
    q, X, dt = random_configuration(robot, rng), rng.uniform(-1.5, 1.5, 6), 0.7
    theirs = q[[0, 1, 2, 6, 3, 4, 5]]
    mujoco.mj_integratePos(model, theirs, X[[3, 4, 5, 0, 1, 2]], dt)
    close(robot.integrate(q, dt * X, 'mixed')[[0, 1, 2, 6, 3, 4, 5]], theirs, 1e-14)


# --- one free body --------------------------------------------------------------------------------


def free_step(robot: Robot, tableau: Tableau = RK4, increments: str = 'body') -> Callable:
    integrator = RungeKutta(robot, tableau, increments)
    return lambda q, v, dt: integrator.step(q, v, np.zeros(6), dt)


@pytest.mark.parametrize(
    ('tableau', 'increments'),
    [*product(TABLEAUS, ['body']), *product([RK4], INCREMENTS[1:])],
    ids=str,
)
def test_order_on_a_free_body(tableau, increments):
    """D-44, I-23: Munthe-Kaas' method has the order of its tableau; COM off the origin."""
    counts = (50, 100, 200) if tableau.order < 3 else (25, 50, 100)
    error = errors(free_step(free_body(), tableau, increments), counts)
    np.testing.assert_allclose(orders(error), tableau.order, atol=0.12)
    if tableau.order == 4:
        assert error[-1] < 4e-9


def test_sides_give_the_same_motion_groups_do_not():
    """D-44: left and right increments on one group, the same stages; another group, others."""
    robot = free_body()
    end = {name: run(free_step(robot, increments=name), 20)[0] for name in INCREMENTS}
    close(end['spatial'], end['body'], 1e-13)
    close(end['hybrid'], end['mixed'], 1e-13)
    assert np.abs(end['mixed'] - end['body']).max() > 1e-6


def test_frame_of_the_body():
    """SE(3) does not see where the frame of the body is, SO(3) x R^3 does."""

    def from_frame_at(com: np.ndarray, increments: str) -> np.ndarray:
        """Return the center of mass after a second; the body's frame is where it is at com."""
        q, v = Q0.copy(), V0.copy()
        R0 = Rotation.from_quat(Q0[3:]).as_matrix()
        q[:3] += R0 @ (COM - com)
        v[3:] += np.cross(V0[:3], COM - com)
        q, _ = run(free_step(free_body(com), increments=increments), 20, q=q, v=v)
        return q[:3] + Rotation.from_quat(q[3:]).as_matrix() @ com

    there = np.array([0.3, 0.2, -0.1])
    close(from_frame_at(there, 'body'), from_frame_at(COM, 'body'), 1e-13)
    assert np.abs(from_frame_at(there, 'mixed') - from_frame_at(COM, 'mixed')).max() > 1e-7


def test_center_of_mass_moves_straight():
    """K-36: with the velocity (omega^b, r') as y, SO(3) x R^3 is exact for the center of mass."""
    robot = free_body(np.zeros(3))
    space = ConfigurationSpace(robot, 'mixed')

    def motion(t: float, q: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R = Rotation.from_quat(q[3:]).as_matrix()
        v = np.append(y[:3], R.T @ y[3:])
        a = robot.forward_dynamics(q, v, np.zeros(6))
        return v, np.append(a[:3], R @ (a[3:] + np.cross(v[:3], v[3:])))

    velocity = Rotation.from_quat(Q0[3:]).as_matrix() @ V0[3:]
    start = np.append(V0[:3], velocity)
    for tableau in (EULER, RK4):
        step = partial_step(space, motion, tableau)
        close(run(step, 20, v=start)[0][:3], Q0[:3] + velocity, 1e-14)
    for increments in ('body', 'mixed'):  # with the body-fixed velocity it is of order 4
        end, _ = run(free_step(robot, increments=increments), 20)
        assert 1e-8 < np.abs(end[:3] - Q0[:3] - velocity).max() < 1e-3


def partial_step(space: ConfigurationSpace, motion: Callable, tableau: Tableau) -> Callable:
    return lambda q, y, dt: munthe_kaas_step(space, motion, q, y, dt, tableau)


def wrong(rate: Callable[[np.ndarray, np.ndarray], np.ndarray], increments: str) -> Callable:
    """Return the step of RK4 with another equation of reconstruction."""

    class Wrong(ConfigurationSpace):
        def increment_rate(self, q, X, v):
            return rate(X, v)

    robot = free_body()
    space = Wrong(robot, increments)

    def motion(t, q, v):
        return v, robot.forward_dynamics(q, v, np.zeros(6))

    return partial_step(space, motion, RK4)


@pytest.mark.parametrize(
    ('rate', 'increments', 'order'),
    [
        (lambda X, v: se3.dexp_inv(-X) @ v, 'body', 4),
        (lambda X, v: se3.dexp_inv(X) @ v, 'body', 2),
        (lambda X, v: se3.dexp(-X) @ v, 'body', 2),
        (lambda X, v: v, 'body', 2),
        (lambda X, v: se3.dexp_inv(X) @ v, 'spatial', 0),
    ],
    ids=['right', 'sign', 'dexp', 'no dexp', 'left increment, body twist'],
)
def test_wrong_reconstruction_loses_the_order(rate, increments, order):
    """D-44, I-24: the sign of dexp^-1_{-X}, its inverse, and the twist it takes all matter."""
    error = errors(wrong(rate, increments))
    np.testing.assert_allclose(orders(error), order, atol=0.12)
    assert (error[-1] < 4e-9) == (order == 4)


@needs_llvmlite
def test_quaternions_stay_of_unit_length():
    """I-26: 5000 steps without normalization; one of 2 stays 2, for the same rotation."""
    robot = free_body(backend='native')
    q, _ = run(free_step(robot), 5_000, 50.0)
    assert abs(np.linalg.norm(q[3:]) - 1.0) < 1e-13
    scaled, _ = run(free_step(robot), 100, q=Q0 * [1, 1, 1, 2, 2, 2, 2])
    close(scaled, run(free_step(robot), 100)[0] * [1, 1, 1, 2, 2, 2, 2], 1e-13)


def test_steps_too_long_are_refused():
    """I-10: local coordinates end at a full turn; no step beyond it is returned."""
    integrator = RungeKutta(free_body())
    spin = np.array([0, 0, 40.0, 0, 0, 0])
    q, _ = integrator.step(Q0, spin, np.zeros(6), 0.15)
    assert np.isfinite(q).all()
    with pytest.raises(ArgumentError, match=r"'body' turns by 6\.4 rad in one step"):
        integrator.step(Q0, spin, np.zeros(6), 0.16)
    with pytest.raises(ArgumentError, match='turns by'):
        SemiImplicitEuler(free_body()).step(Q0, spin, np.zeros(6), 0.16)


def test_not_a_number():
    spoilt = V0 * [1, np.nan, 1, 1, 1, 1]
    for integrator in (RungeKutta(free_body()), SemiImplicitEuler(free_body())):
        q, v = integrator.step(Q0, spoilt, np.zeros(6), 0.01)
        assert np.isnan(q).any()
        assert np.isnan(v).any()


def test_wrong_names_and_shapes():
    robot = free_body()
    with pytest.raises(UnknownNameError, match="'left'"):
        RungeKutta(robot, increments='left')
    with pytest.raises(ArgumentError, match=r'tau must have shape'):
        RungeKutta(robot).step(Q0, V0, np.zeros(5), 0.01)
    with pytest.raises(ArgumentError, match=r'displacement must have shape \(6,\)'):
        robot.integrate(Q0, np.zeros(7))


# --- trees ----------------------------------------------------------------------------------------


def torques(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return torques that depend on everything."""
    return np.cos(3 * t + np.arange(v.shape[-1])) + 0.3 * np.sin(q[..., -1:]) - 0.1 * v


@pytest.mark.parametrize('tableau', TABLEAUS, ids=repr)
def test_fixed_base_against_scipy(tableau):
    """C-062, I-23: in ordinary coordinates, torques of t, q, v; the order of the tableau."""
    robot = Robot(random_description(4, 3), backend='python')
    q0, v0 = np.array([0.3, -0.5, 0.8]), np.array([1.0, -0.5, 0.2])

    def rate(t, x):
        return np.append(x[3:], robot.forward_dynamics(x[:3], x[3:], torques(t, x[:3], x[3:])))

    start = np.append(q0, v0)
    exact = solve_ivp(rate, (0.2, 0.7), start, 'DOP853', rtol=1e-13, atol=1e-13).y[:, -1]
    integrator, error = RungeKutta(robot, tableau), []
    for steps in (15, 30, 60) if tableau.order > 4 else (25, 50, 100):
        q, v, dt = q0, v0, 0.5 / steps
        for k in range(steps):
            q, v = integrator.step(q, v, torques, dt, t=0.2 + k * dt)
        error.append(np.abs(np.append(q, v) - exact).max())
    found = orders(np.array(error))
    assert (found > tableau.order - 0.25).all()
    assert (found < tableau.order + (0.25 if tableau.order < 5 else 1.0)).all()
    assert error[-1] < {1: 0.1, 2: 1e-3, 3: 1e-5, 4: 1e-7, 5: 1e-7}[tableau.order]


def test_floating_base_against_pinocchio_and_scipy():
    """D-44: Pinocchio's accelerations, quaternion rates, DOP853; a wrench, gravity, joints."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio
    from support.models import to_urdf

    description = random_description(1, 3)
    robot = Robot(description, floating_base=True, backend='python')
    oracle = Pinocchio(to_urdf(description), robot)
    rng = np.random.default_rng(0)
    q0, v0 = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    tau, wrenches = rng.uniform(-1, 1, robot.nv), {'link2': rng.uniform(-2, 2, 6)}

    def rate(t, x):
        q, v = x[: robot.nq], x[robot.nq :]
        e, omega = q[3:7], v[:3]
        turn = np.append(e[3] * omega + np.cross(e[:3], omega), -e[:3] @ omega) / 2
        dr = Rotation.from_quat(e).as_matrix() @ v[3:6]
        unit = np.concatenate([q[:3], e / np.linalg.norm(e), q[7:]])
        return np.concatenate([dr, turn, v[6:], oracle.forward_dynamics(unit, v, tau, wrenches)])

    solution = solve_ivp(rate, (0, 0.5), np.append(q0, v0), 'DOP853', rtol=1e-12, atol=1e-12)
    q_exact, v_exact = solution.y[: robot.nq, -1], solution.y[robot.nq :, -1]
    integrator, error = RungeKutta(robot), []
    for steps in (20, 40, 80):
        q, v = run(lambda q, v, dt: integrator.step(q, v, tau, dt, wrenches), steps, 0.5, q0, v0)
        error.append(max(np.abs(q - q_exact).max(), np.abs(v - v_exact).max()))
    np.testing.assert_allclose(orders(np.array(error)), 4, atol=0.25)
    assert error[-1] < 1e-6
    kinds = [joint.type for joint in description.joints]
    assert {'revolute', 'prismatic'} <= set(kinds)


@BACKENDS
def test_stacks(backend):
    """Many robots in one step, single torques or one for each, as one after the other."""
    robot = build('planar, floating', backend)
    rng = np.random.default_rng(0)
    q, v = random_configuration(robot, rng, (3,)), rng.uniform(-1, 1, (3, robot.nv))
    for integrator, tau in product(
        [RungeKutta(robot), SemiImplicitEuler(robot, 'mixed')], [np.ones(robot.nv), torques]
    ):
        stacked = integrator.step(q, v, tau, 0.01)
        single = [integrator.step(*state, tau, 0.01) for state in zip(q, v)]
        for together, apart in zip(stacked, zip(*single)):
            close(together, np.stack(apart), 1e-12)


# --- energy ---------------------------------------------------------------------------------------


def pendulum() -> Robot:
    bob = Inertia(1.5, np.array([0.0, 0.0, -0.4]), 0.01 * np.eye(3))
    joint = Joint('hinge', 'continuous', 'ground', 'bob', np.eye(4), np.eye(3)[1], FREE)
    return Robot(
        RobotDescription.from_parts('pendulum', [Link('ground'), Link('bob', bob)], [joint]),
        backend='python',
    )


def swing(robot: Robot, integrator: object, steps: int, periods: int) -> np.ndarray:
    """Return the energy errors [J] of a pendulum let go at a radian, (periods, steps)."""
    q, v, still = np.ones(1), np.zeros(1), np.zeros(1)
    period = 2 * np.pi * np.sqrt((0.01 + 1.5 * 0.16) / (1.5 * 9.81 * 0.4))  # of small swings
    energies = []
    for _ in range(steps * periods):
        energies.append(robot.kinetic_energy(q, v) + robot.potential_energy(q))
        q, v = integrator.step(q, v, still, period / steps)
    return np.reshape(energies, (periods, steps)) - energies[0]


def test_energy_of_a_pendulum():
    """C-062: semi-implicit steps swing about the right energy for ever, explicit ones run away."""
    robot = pendulum()
    depth = 1.5 * 9.81 * 0.4 * (1 - np.cos(1.0))  # J, of the swing
    error = swing(robot, SemiImplicitEuler(robot), 100, 120) / depth
    assert np.abs(error).max() < 0.05
    assert np.abs(error[-20:]).max() < 1.02 * np.abs(error[:20]).max()  # no trend
    assert abs(error[-20:].mean() - error[:20].mean()) < 2e-3
    finer = swing(robot, SemiImplicitEuler(robot), 200, 5) / depth
    assert np.abs(finer).max() == pytest.approx(np.abs(error).max() / 2, rel=0.1)  # first order

    explicit = swing(robot, RungeKutta(robot, EULER), 100, 10) / depth
    assert (np.diff(explicit[:, -1]) > 0).all()
    assert explicit[-1, -1] > 2.0
    fourth = swing(robot, RungeKutta(robot), 100, 40) / depth
    assert np.abs(fourth).max() < 1e-5


def test_semi_implicit_euler():
    """C-062: by hand for joints; a free body moves along the screw of its new velocity; order 1."""
    robot = pendulum()
    q, v, dt = np.array([0.7]), np.array([-0.4]), 0.01
    a = robot.forward_dynamics(q, v, np.array([0.2]))
    q_next, v_next = SemiImplicitEuler(robot).step(q, v, [0.2], dt)
    np.testing.assert_allclose(v_next, v + dt * a, rtol=1e-15)
    np.testing.assert_allclose(q_next, q + dt * (v + dt * a), rtol=1e-15)

    free = free_body()
    q_next, v_next = SemiImplicitEuler(free).step(Q0, V0, np.zeros(6), dt)
    close(v_next, V0 + dt * free.forward_dynamics(Q0, V0, np.zeros(6)), 1e-15)
    close(pose(q_next), pose(Q0) @ se3.exp(dt * v_next), 1e-15)
    for increments in ('body', 'mixed'):
        integrator = SemiImplicitEuler(free, increments)
        error = errors(lambda q, v, dt: integrator.step(q, v, np.zeros(6), dt))  # noqa: B023
        np.testing.assert_allclose(orders(error), 1, atol=0.12)
