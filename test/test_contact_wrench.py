"""The wrench at a contact from joint torques (C-107), against its definition and Pinocchio."""

import numpy as np
import pytest
from robots import urdf_path

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import contact_wrench, external_torques

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
        estimate = contact_wrench(J, J.T @ w, characteristic_length=length)
        np.testing.assert_allclose(
            estimate.wrench, w, atol=1e-13 / estimate.smallest_singular_value**2)
        np.testing.assert_allclose(
            estimate.smallest_singular_value,
            np.linalg.svd(np.diag([length] * 3 + [1.0] * 3) @ J, compute_uv=False)[-1], atol=1e-7)


def test_sign_is_that_of_the_environment_on_the_robot(robot, rng):
    """E-54: with w_ext acting on the robot, forward dynamics and estimate agree in the sign."""
    q, v = state(rng, robot)
    w, tau = np.array([0.3, -0.2, 0.1, 8.0, -5.0, 12.0]), rng.normal(size=robot.nv)
    # The torque that keeps the accelerations at zero while w acts:
    measured = robot.inverse_dynamics(q, v, np.zeros(robot.nv), {TOOL: w})
    external = external_torques(robot.gravity_torques(q), robot.coriolis_torques(q, v), measured)
    J = robot.jacobian(q, TOOL, 'body')
    np.testing.assert_allclose(external, J.T @ w, atol=1e-10)
    np.testing.assert_allclose(contact_wrench(J, external).wrench, w, atol=1e-8)
    # Power of the contact on the robot is the power of the external torques.
    assert (J @ v) @ w == pytest.approx(external @ v)
    assert np.abs(external_torques(robot.gravity_torques(q), np.zeros(robot.nv), tau)
                  - (robot.gravity_torques(q) - tau)).max() == 0.0


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
    np.testing.assert_allclose(estimate.wrench, w, atol=1e-8)


def test_least_squares_when_torques_fit_no_wrench(robot, rng):
    """The residual is orthogonal to every torque a wrench can cause."""
    q, _ = state(rng, robot)
    J, tau = robot.jacobian(q, TOOL, 'body'), rng.normal(size=robot.nv)
    wrench = contact_wrench(J, tau).wrench
    residual = tau - J.T @ wrench
    assert np.linalg.norm(residual) > 1e-3
    np.testing.assert_allclose(J @ residual, 0.0, atol=1e-10)


def test_damping_is_that_of_the_normal_equations(rng):
    """w minimises |tau - J^T w|^2 + d^2 |(n / L, f)|^2."""
    J, tau, damping, length = rng.normal(size=(6, 9)), rng.normal(size=9), 0.4, 0.25
    D = np.diag([length] * 3 + [1.0] * 3)
    expected = D @ np.linalg.solve(D @ J @ J.T @ D + damping**2 * np.eye(6), D @ J @ tau)
    found = contact_wrench(J, tau, damping=damping, characteristic_length=length).wrench
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert not np.allclose(found, contact_wrench(J, tau).wrench)


def test_damping_bounds_the_estimate_at_a_singularity(robot):
    q = np.zeros(robot.nv)  # stretched out
    q[3] = -1e-6
    J, tau = robot.jacobian(q, TOOL, 'body'), np.ones(robot.nv)
    estimate = contact_wrench(J, tau, damping=0.01, characteristic_length=0.2)
    assert estimate.smallest_singular_value < 1e-3
    # s / (s^2 + d^2) <= 1 / (2 d)
    assert np.linalg.norm(estimate.wrench / [0.2, 0.2, 0.2, 1, 1, 1]) <= (
        np.linalg.norm(tau) / 0.02 + 1e-9)


def test_smallest_singular_value_is_the_least_torque_of_a_unit_wrench(robot, rng):
    q, _ = state(rng, robot)
    J, length = robot.jacobian(q, TOOL, 'body'), 0.2
    smallest = contact_wrench(J, np.zeros(robot.nv),
                              characteristic_length=length).smallest_singular_value
    wrenches = rng.normal(size=(20000, 6))
    sizes = np.linalg.norm(wrenches / [length, length, length, 1, 1, 1], axis=1)
    torques = np.linalg.norm(wrenches @ J, axis=1) / sizes
    assert torques.min() >= smallest - 1e-12
    assert torques.min() < 3 * smallest + 0.05


@pytest.mark.parametrize('joints', [0, 1, 2, 5])
def test_few_joints_never_see_a_whole_wrench(rng, joints):
    estimate = contact_wrench(rng.normal(size=(6, joints)), rng.normal(size=joints), damping=0.01)
    assert estimate.smallest_singular_value == 0.0
    assert np.isfinite(estimate.wrench).all()
    assert estimate.wrench.shape == (6,)


def test_jacobian_of_zeros(rng):
    estimate = contact_wrench(np.zeros((6, 7)), rng.normal(size=7))
    np.testing.assert_array_equal(estimate.wrench, 0.0)
    assert estimate.smallest_singular_value == 0.0
