# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench at a contact from joint torques (C-107), against its definition and Pinocchio."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import (
    contact_wrench,
    external_torques,
    observability_pivots,
    smallest_singular_value,
)
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from support.robots import urdf_path

TOOL = 'panda_hand_tcp'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def state(rng, robot):
    limits = robot.limits
    return rng.uniform(limits.lower, limits.upper), rng.normal(size=robot.nv)


@pytest.mark.parametrize('length', [0.05, 0.2, 1.0, 3.0])
def test_injected_wrench_is_recovered(robot, rng, length):
    """C-107: tau = J^T w gives w back, whatever the characteristic length."""
    for _ in range(20):
        q, _ = state(rng, robot)
        J, w = robot.jacobian(q, TOOL, 'body'), rng.normal(size=6)
        smallest = smallest_singular_value(J, length)
        np.testing.assert_allclose(
            contact_wrench(J, J.T @ w, 0.0, length), w, atol=1e-13 / smallest**2
        )


def test_sign_is_that_of_the_environment_on_the_robot(robot, rng):
    """E-54: with w_ext acting on the robot, dynamics and estimate agree in the sign."""
    (q, v), zero = state(rng, robot), np.zeros(robot.nv)
    w = np.array([0.3, -0.2, 0.1, 8.0, -5.0, 12.0])
    # The torque that keeps the accelerations at zero while w acts:
    measured = robot.inverse_dynamics(q, v, zero, {TOOL: w})
    g, c = robot.gravity_torques(q), robot.coriolis_torques(q, v)
    external = external_torques([g, c], [1.0, 1.0], measured, zero)
    J = robot.jacobian(q, TOOL, 'body')
    np.testing.assert_allclose(external, J.T @ w, atol=1e-10)
    np.testing.assert_allclose(contact_wrench(J, external), w, atol=1e-8)
    # Power of the contact on the robot is the power of the external torques.
    assert (J @ v) @ w == pytest.approx(external @ v)
    friction, offset = rng.normal(size=(2, robot.nv))
    moving = external_torques([g, c, friction], np.ones(3), measured + friction, offset)
    np.testing.assert_allclose(moving, external - offset, atol=1e-12)


@pytest.mark.parametrize('shares', [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
def test_terms_that_are_not_measured_are_no_contact(rng, shares):
    """Each is measured if and only if it is in the model; with none of them only contact is."""
    terms, contact, offset = rng.normal(size=(3, 7)), rng.normal(size=7), rng.normal(size=7)
    measured = np.array(shares) @ terms - contact
    external = external_torques(terms, shares, measured, offset)
    np.testing.assert_allclose(external, contact - offset, atol=1e-12)


def test_against_pinocchio(robot, rng):
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(urdf_path('panda')), mimic=True)
    data = model.createData()
    frame = model.getFrameId(TOOL)
    q, _ = state(rng, robot)
    w = rng.normal(size=6)
    J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)  # linear rows first
    force_first = np.concatenate([w[3:], w[:3]])
    estimate = contact_wrench(robot.jacobian(q, TOOL, 'body'), J.T @ force_first)
    np.testing.assert_allclose(estimate, w, atol=1e-8)


def test_least_squares_when_torques_fit_no_wrench(robot, rng):
    """The residual is orthogonal to every torque a wrench can cause."""
    q, _ = state(rng, robot)
    J, tau = robot.jacobian(q, TOOL, 'body'), rng.normal(size=robot.nv)
    residual = tau - J.T @ contact_wrench(J, tau)
    assert np.linalg.norm(residual) > 1e-3
    np.testing.assert_allclose(J @ residual, 0.0, atol=1e-9)


def test_damping_is_a_price_on_the_wrench(rng):
    """w minimizes |tau - J^T w|^2 + d^2 |(n / L, f)|^2: the gradient vanishes."""
    J, tau, damping, length = rng.normal(size=(6, 9)), rng.normal(size=9), 0.4, 0.25
    w = contact_wrench(J, tau, damping, length)
    sizes = np.array([length] * 3 + [1.0] * 3)
    np.testing.assert_allclose(J @ (tau - J.T @ w), damping**2 * w / sizes**2, atol=1e-12)
    assert not np.allclose(w, contact_wrench(J, tau))


def test_damping_shortens_along_singular_vectors(rng):
    """By s^2 / (s^2 + d^2) along the singular value s of D J."""
    J, damping, length = rng.normal(size=(6, 7)), 0.3, 0.5
    D = np.diag([length] * 3 + [1.0] * 3)
    U, S, _ = np.linalg.svd(D @ J)
    for u, s in zip(U.T, S):
        w = D @ u
        np.testing.assert_allclose(
            contact_wrench(J, J.T @ w, damping, length), w * s**2 / (s**2 + damping**2), atol=1e-12
        )


def test_damping_bounds_the_estimate_at_a_singularity(robot):
    q = np.zeros(robot.nv)  # stretched out
    J, tau = robot.jacobian(q, TOOL, 'body'), np.ones(robot.nv)
    assert smallest_singular_value(J, 0.2) < 1e-3
    w = contact_wrench(J, tau, 0.01, 0.2)
    # s / (s^2 + d^2) <= 1 / (2 d)
    assert np.linalg.norm(w / [0.2, 0.2, 0.2, 1, 1, 1]) <= np.linalg.norm(tau) / 0.02 + 1e-9


@pytest.mark.parametrize('joints', [0, 1, 2, 5, 6, 7, 12])
def test_pivots_say_whether_every_singular_value_exceeds_the_threshold(rng, joints):
    for scale in (0.01, 0.1, 1.0):
        for _ in range(50):
            J, threshold = scale * rng.normal(size=(6, joints)), rng.uniform(0.005, 0.2)
            pivots = observability_pivots(J, threshold, 0.3)
            assert (pivots > 0).all() == (smallest_singular_value(J, 0.3) > threshold)


def test_pivots_at_the_threshold(robot, rng):
    """Sharp on both sides of the smallest singular value."""
    for _ in range(20):
        J = robot.jacobian(state(rng, robot)[0], TOOL, 'body')
        smallest = smallest_singular_value(J, 0.2)
        if smallest < 1e-3:
            continue
        assert (observability_pivots(J, smallest * (1 - 1e-6), 0.2) > 0).all()
        assert not (observability_pivots(J, smallest * (1 + 1e-6), 0.2) > 0).all()


def test_pivots_of_nothing_are_not_positive():
    with np.errstate(all='ignore'):
        assert not (observability_pivots(np.zeros((6, 7)), 0.0, 1.0) > 0).all()
        assert not (observability_pivots(np.full((6, 7), np.nan), 0.1, 1.0) > 0).all()


def test_smallest_singular_value_is_the_least_torque_of_a_unit_wrench(robot, rng):
    J, length = robot.jacobian(state(rng, robot)[0], TOOL, 'body'), 0.2
    smallest = smallest_singular_value(J, length)
    wrenches = rng.normal(size=(20000, 6))
    sizes = np.linalg.norm(wrenches / [length, length, length, 1, 1, 1], axis=1)
    torques = np.linalg.norm(wrenches @ J, axis=1) / sizes
    assert torques.min() >= smallest - 1e-12
    assert torques.min() < 3 * smallest + 0.05


@pytest.mark.parametrize('joints', [0, 1, 5])
def test_few_joints_never_see_a_whole_wrench(rng, joints):
    assert smallest_singular_value(rng.normal(size=(6, joints)), 1.0) == 0.0


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_recorded_functions_give_the_same(rng, backend):
    """As formulas of a fused kernel, with the options as vectors that may change."""
    if backend == 'native':
        pytest.importorskip('llvmlite')
    robot = Robot.from_urdf(urdf_path('panda'), backend=backend)
    jacobian = ('jacobian', TOOL, 'body')
    wrench = Formula(
        'wrench',
        (jacobian, 'torques', 'options'),
        lambda J, tau, options: contact_wrench(J, tau, options[0], options[1]),
    )
    pivots = Formula(
        'pivots',
        (jacobian, 'options'),
        lambda J, options: observability_pivots(J, options[2], options[1]),
    )
    kernel = robot.fuse(wrench, pivots, jacobian, parameters={'torques': 8, 'options': 3})
    assert kernel.inputs == ('q', 'torques', 'options')
    for damping, length, threshold in ((0.0, 1.0, 0.1), (0.2, 0.3, 0.01)):
        (q, _), tau = state(rng, robot), rng.normal(size=8)
        w, p, J = kernel(q, tau, np.array([damping, length, threshold]))
        np.testing.assert_allclose(w, contact_wrench(J, tau, damping, length), rtol=1e-8)
        np.testing.assert_allclose(p, observability_pivots(J, threshold, length), rtol=1e-6)
