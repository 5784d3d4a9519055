# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accelerations of a rigid body (B-081 to B-086, B-088)."""

from math import pi

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import points, poses, screws, se3, so3
from screw_dynamics_ros.core.textbook.screw_geometry import accelerations as acc
from screw_dynamics_ros.core.textbook.screw_geometry import lines
from support.lie import close, derivative
from support.models import random_configuration, random_description
from support.robots import urdf_path

N = 200
T0 = 0.3


COEFFICIENTS = np.random.default_rng(1).uniform(-1, 1, (4, N, 6))


def motion(t):
    """N smooth rigid motions."""
    X = COEFFICIENTS
    return se3.exp(X[0] + t * X[1] + t * t * X[2]) @ se3.exp(np.sin(t) * X[3])


def spatial_twist(t):
    """By differences of the motion."""
    return poses.twist(motion(t), derivative(motion, t), 'spatial')


@pytest.fixture(scope='module')
def state():
    """Pose, spatial twist and screw acceleration, by differences."""
    return motion(T0), spatial_twist(T0), derivative(spatial_twist, T0)


def second_derivative(function, t, h=0.02):
    return derivative(lambda s: derivative(function, s, h), t, h)


# --- points ----------------------------------------------------------------------------------


def test_points_of_a_moving_body(state):
    """B-081, (4.10), (4.30): velocity and acceleration by differences of a point's path."""
    C, V, A = state
    p = np.random.default_rng(2).normal(size=(N, 3))
    now = points.transform_point(C, p)

    def path(t):
        return points.transform_point(motion(t), p)

    close(acc.point_velocity(V, now), derivative(path, T0), 1e-9)
    close(acc.point_acceleration(V, A, now), second_derivative(path, T0), 1e-8)


def test_acceleration_of_the_point_at_the_origin(state):
    """B-081: a0 = v0' + omega × v0 = p'' - alpha × p - omega × (omega × p), p the body's origin."""
    C, V, A = state
    omega, alpha, p = V[:, :3], A[:, :3], C[:, :3, 3]
    a0 = acc.point_acceleration(V, A, np.zeros(3))
    close(a0, A[:, 3:] + np.cross(omega, V[:, 3:]))
    p_ddot = second_derivative(lambda t: motion(t)[:, :3, 3], T0)
    close(a0, p_ddot - np.cross(alpha, p) - np.cross(omega, np.cross(omega, p)), 1e-8)


def test_centripetal_is_not_coriolis():
    """Section 4.10.1: omega × (omega × p) acts on a point at rest in the body, towards the axis.

    Coriolis' term, which the book calls it, is 2 omega × p' and needs motion relative to the body.
    """
    V, p = np.array([0, 0, 2.0, 0, 0, 0]), np.array([1.0, 0, 3])
    close(acc.point_acceleration(V, np.zeros(6), p), [-4, 0, 0])
    forces = acc.inertial_forces(1.0, p, np.zeros(3), V[:3])
    close(forces.coriolis, np.zeros(3))
    close(forces.centrifugal, [4, 0, 0])


def test_acceleration_matrix(state):
    """B-082, (4.31), (4.32): C'' C^-1, by differences."""
    C, V, A = state
    C_ddot = second_derivative(motion, T0)
    close(acc.acceleration_matrix(V, A), C_ddot @ np.linalg.inv(C), 1e-7)
    W = so3.hat(V[:, :3])
    close(acc.acceleration_matrix(V, A)[:, :3, :3], so3.hat(A[:, :3]) + W @ W)


def test_printed_translation_column_fails(state):
    """(4.32): the column of C'' is p'', that of C'' C^-1 is a0; printed p'' - [w] p' - [w'] p'."""
    C, V, A = state
    omega, alpha, p = V[:, :3], A[:, :3], C[:, :3, 3]
    C_ddot = second_derivative(motion, T0)
    p_dot, p_ddot = derivative(motion, T0)[:, :3, 3], C_ddot[:, :3, 3]
    rebuilt = acc.acceleration_matrix(V, A) @ C
    close(rebuilt, C_ddot, 1e-8)
    printed = p_ddot - np.cross(omega, p_dot) - np.cross(alpha, p_dot)
    for column in (p_ddot, (C_ddot @ np.linalg.inv(C))[:, :3, 3]):
        assert np.abs(printed - column).max() > 1
    right = p_ddot - np.cross(alpha, p) - np.cross(omega, np.cross(omega, p))
    close((C_ddot @ np.linalg.inv(C))[:, :3, 3], right, 1e-8)


# --- screw and material acceleration ---------------------------------------------------------


def test_planar_arm_golden_value():
    """G15, B-084: tip, screw and pose acceleration, both ways; robot.acceleration agrees."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    q, v, a = [0.3, 0.5], [0.2, -0.1], [0.4, 0.6]
    p = robot.link_pose(q, 'tip')[:3, 3]
    V, A, material = (
        robot.velocity(q, v, 'tip', 'spatial'),
        *(robot.acceleration(q, v, a, 'tip', x) for x in ('spatial', 'hybrid')),
    )
    close(A, [0, 0, 1, 0.1582053942, -0.5791122976, 0], 1e-10)
    close(material, [0, 0, 1, -0.5185831212, 0.7150803616, 0], 1e-10)
    close(acc.material_acceleration(V, A, p), material)
    close(acc.screw_acceleration(V, material, p), A)


@pytest.mark.parametrize('seed', range(5))
def test_accelerations_of_links(seed):
    """B-084: 'spatial' is the screw, 'hybrid' the material acceleration of a link's origin."""
    robot = Robot(random_description(seed, joints=5, chain=True), backend='reference')
    rng = np.random.default_rng(seed)
    q, (v, a) = random_configuration(robot, rng), rng.normal(size=(2, robot.nv))
    V, A = robot.velocity(q, v, 'link5', 'spatial'), robot.acceleration(q, v, a, 'link5', 'spatial')
    p = robot.link_pose(q, 'link5')[:3, 3]
    hybrid = robot.acceleration(q, v, a, 'link5', 'hybrid')
    close(acc.material_acceleration(V, A, p), hybrid, 1e-11)
    close(acc.screw_acceleration(V, hybrid, p), A, 1e-11)
    # Neither alone is the acceleration: the difference is omega × p' at equal alpha.
    assert np.abs(A - acc.screw_acceleration(V, hybrid, np.zeros(3))).max() > 1e-3


def test_order_as_printed_fails(state):
    """Section 4.10.1, end: (v0'; w') is not in the order (w; v) of the book's own twists."""
    C, V, A = state
    V_dot = derivative(spatial_twist, T0)
    close(A, V_dot, 0)
    printed = screws.swap(A)
    p = points.transform_point(C, np.ones(3))
    path = second_derivative(lambda t: points.transform_point(motion(t), np.ones(3)), T0)
    close(acc.point_acceleration(V, A, p), path, 1e-8)
    assert np.abs(acc.point_acceleration(V, printed, p) - path).max() > 1


def test_derivative_of_a_screw_carried_by_a_body(state):
    """B-085, (4.33), (4.34): d/dt (Ad_C X) = V × (Ad_C X), by differences; a Jacobian's column."""
    C, V, _ = state
    X = np.random.default_rng(3).normal(size=(N, 6))
    rate = derivative(lambda t: screws.transform_twist(motion(t), X), T0)
    close(rate, screws.motor_product(V, screws.transform_twist(C, X)), 1e-8)
    robot = Robot(random_description(7, joints=4, chain=True), backend='reference')
    rng = np.random.default_rng(4)
    q, v = random_configuration(robot, rng), rng.normal(size=4)
    columns = derivative(lambda t: robot.jacobian(q + t * v, 'link4', 'spatial'), 0.0)
    J = robot.jacobian(q, 'link4', 'spatial')
    for i in range(4):
        carrier = robot.velocity(q, v, f'link{i}', 'spatial')
        close(columns[:, i], screws.motor_product(carrier, J[:, i]), 1e-8)


# --- pole ------------------------------------------------------------------------------------


def test_acceleration_pole(state):
    """B-083: no acceleration there; det(alpha~ + omega~ omega~) = -|omega × alpha|^2."""
    _, V, A = state
    pole = acc.acceleration_pole(V, A)
    assert not pole.degenerate.any()
    scale = 1 + np.linalg.norm(pole.point, axis=1)[:, None]
    close(acc.point_acceleration(V, A, pole.point) / scale, 0, 1e-11)
    M = acc.acceleration_matrix(V, A)[:, :3, :3]
    cross = np.cross(V[:, :3], A[:, :3])
    close(np.linalg.det(M), -np.sum(cross * cross, axis=1), 1e-10)


def test_degenerate_poles():
    """B-083: parallel omega and alpha, or one of them zero: flagged, of least acceleration."""
    V = [[0, 0, 2, 1, 0, 0], [0, 0, 2, 0, 0, 1], [0, 0, 0, 1, 2, 3], [0, 0, 0, 0, 0, 0]]
    A = [[0, 0, 3, 0, 1, 0], [0, 0, -1, 0, 0, 5], [0, 0, 1, 0, 2, 0], [0, 0, 0, 0, 0, -9.81]]
    pole = acc.acceleration_pole(V, A)
    assert pole.degenerate.all()
    least = np.linalg.norm(acc.point_acceleration(V, A, pole.point), axis=1)
    close(least, [0, 5, 0, 9.81])
    for step in np.random.default_rng(5).normal(size=(20, 3)):
        there = np.linalg.norm(acc.point_acceleration(V, A, pole.point + step), axis=1)
        assert (there >= least - 1e-12).all()


# --- second-order screw axis -----------------------------------------------------------------


def screw_line(t):
    axis = screws.screw_axis(spatial_twist(t))
    return lines.Line(axis.direction, axis.point)


def test_second_order_axis_is_the_common_normal_of_successive_axes(state):
    """B-086: direction, central point, speeds and rates, by differences of the screw axis."""
    _, V, A = state
    axis = acc.second_order_axis(V, A)
    h = 1e-4
    before, after = screw_line(T0 - h), screw_line(T0 + h)
    normal = lines.common_normal(before, after)
    usable = axis.angular_speed > 0.3
    assert usable.sum() > N / 2
    close(normal.line.direction[usable], axis.direction[usable], 1e-5)
    scale = 1 + np.abs(axis.central_point).max(axis=1)
    middle = 0.5 * (normal.foot1 + normal.foot2)
    close(((middle - axis.central_point) / scale[:, None] ** 2)[usable], 0, 1e-4)
    close((normal.angle / (2 * h) / axis.angular_speed)[usable], 1, 1e-5)
    sliding = np.sum((normal.foot2 - normal.foot1) * normal.line.direction, axis=1) / (2 * h)
    close((sliding - axis.linear_speed)[usable] / scale[usable] ** 2, 0, 1e-4)
    first = screws.screw_axis(V)
    on_first = np.cross(axis.central_point - first.point, first.direction) / scale[:, None]
    close(on_first[usable], 0, 1e-11)

    def speeds(t):
        s = screws.screw_axis(spatial_twist(t))
        return np.stack([s.magnitude, s.pitch * s.magnitude])

    close(derivative(speeds, T0, 0.005), [axis.alpha, axis.a], 1e-6)


def test_second_order_axis_of_two_turntables():
    """B-086: a wheel on a turntable: its axis turns about that of the table, and slides with it."""
    wheel = screws.unit_screw([1, 0, 0], [0, 0, 0.5])
    table = screws.unit_screw([0, 0, 1], pitch=0.2)
    V1 = 3 * wheel  # relative to the table, whose twist is 2 * table, now
    carried = screws.motor_product(2 * table, wheel)
    axis = acc.second_order_axis(V1, 3 * carried)
    close(axis.direction, [0, 0, 1])
    close(axis.central_point, [0, 0, 0.5])
    close([axis.angular_speed, axis.linear_speed, axis.alpha, axis.a], [2, 0.4, 0, 0])
    assert not axis.degenerate


def test_degenerate_second_order_axes():
    """B-086: an axis that keeps its direction, a translation, rest: flagged, finite."""
    V = [[0, 0, 2, 0, 1, 3], [0, 0, 0, 1, 2, 3], [0, 0, 0, 0, 0, 0]]
    A = [[0, 0, 5, 1, 0, 4], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    axis = acc.second_order_axis(V, A)
    assert axis.degenerate.all()
    assert np.isfinite(np.concatenate([np.ravel(x) for x in axis])).all()
    close(axis.angular_speed, 0, 0)
    close([axis.alpha[0], axis.a[0]], [5, 4])


@pytest.mark.parametrize('rate', [1e-6, 1e6])
def test_flags_do_not_depend_on_the_unit_of_time(state, rate):
    """B-083, B-086: slower and faster alike: places stay, flags too."""
    _, V, A = state
    line = np.array([[0, 0, 2, 0, 1, 3]]), np.array([[0, 0, 5, 1, 0, 4]])
    for function, place in ((acc.acceleration_pole, 0), (acc.second_order_axis, 1)):
        slow, fast = function(V, A), function(rate * V, rate**2 * A)
        assert not fast[-1].any()
        size = 1 + np.abs(slow[place])
        close(fast[place] / size, slow[place] / size, 1e-9)
        assert function(rate * line[0], rate**2 * line[1])[-1].all()


# --- moving observers ------------------------------------------------------------------------


def test_inertial_forces_golden_value():
    """G18, B-088."""
    forces = acc.inertial_forces(1.5, [1, 0, 0], [0, 3, 0], [0, 0, 2])
    close(forces.centrifugal, [6, 0, 0])
    close(forces.coriolis, [18, 0, 0])
    close(forces.euler, np.zeros(3))
    close(forces.translation, np.zeros(3))


def test_free_particle_seen_from_a_moving_frame():
    """B-088, (4.37)-(4.40): all four forces, along the straight line it really moves on."""

    def frame(t):
        return se3.exp([0.3 * t, 0.5 * t * t, -0.7 * t, 0.4 * t * t, -0.2 * t**3, 0.1])

    def kinematics(t):
        V = poses.twist(frame(t), derivative(frame, t), 'body')
        omega = V[:3]
        alpha = derivative(lambda s: poses.twist(frame(s), derivative(frame, s), 'body'), t)[:3]
        a = second_derivative(lambda s: frame(s)[:3, 3], t)
        return omega, alpha, frame(t)[:3, :3].T @ a

    def observed(t):
        world = np.array([0.5, -1.0, 2.0]) + t * np.array([1.0, 0.3, -0.6])
        return (np.linalg.inv(frame(t)) @ [*world, 1])[:3]

    for t in (0.2, 0.9):
        forces = acc.inertial_forces(2.0, observed(t), derivative(observed, t), *kinematics(t))
        close(sum(forces), 2.0 * second_derivative(observed, t), 1e-6)


def test_trajectory_in_a_rotating_frame():
    """B-088: integrating the observer's equation gives the straight line, in rotating axes."""
    omega = np.array([0, 0, 2.0])

    def rate(_, x):
        forces = acc.inertial_forces(1.0, x[:3], x[3:], omega)
        return np.concatenate([x[3:], sum(forces)])

    start = [1.0, 0, 0, 0, -2.0, 0]  # at rest in the inertial frame
    end = solve_ivp(rate, (0, pi / 4), start, rtol=1e-11, atol=1e-11).y[:3, -1]
    close(end, [0, -1, 0], 1e-9)


def test_axes_of_the_observed_force():
    """Section 4.11.1: m_f = R_wm^T w_f; printed R_wm w_f turns it the wrong way."""
    R = so3.exp([0, 0, 0.6])
    world = np.array([1.0, 2.0, 3.0])
    close(so3.inverse(R) @ world, np.linalg.solve(R, world))
    assert np.abs(R @ world - np.linalg.solve(R, world)).max() > 1


def test_centrifugal_force_vanishes_on_the_whole_axis():
    """(4.40), text: not 'at the origin of {w}' but on the axis through the origin of {m}."""
    omega = np.array([1.0, 2.0, 2.0])
    for k in (-2.0, 0.0, 3.0):
        close(acc.inertial_forces(1.0, k * omega, np.zeros(3), omega).centrifugal, np.zeros(3))
    off_axis = acc.inertial_forces(1.0, [1, 0, 0], np.zeros(3), omega).centrifugal
    assert np.linalg.norm(off_axis) > 1


# --- stacks, bad input -----------------------------------------------------------------------


def test_stacks_and_nan(state):
    """Leading axes are stacks; NaN stays in its member."""
    _, V, A = (x[:6].copy() for x in state)
    V[2, 1] = np.nan
    for function in (acc.acceleration_pole, acc.second_order_axis):
        whole = function(V.reshape(2, 3, 6), A.reshape(2, 3, 6))
        for a, b in zip(whole, function(V[4], A[4]), strict=True):
            close(a[1, 1], b, 1e-14)
        assert np.isnan(whole[0][0, 2]).all()
    assert np.isnan(acc.point_acceleration(V, A, np.ones(3))[2]).any()
    assert acc.material_acceleration(V, A, np.zeros((4, 1, 3))).shape == (4, 6, 6)


def test_bad_input_is_refused_by_name():
    """Wrong shapes."""
    with pytest.raises(ArgumentError, match=r'accelerations\.acceleration_matrix: A .* got \(3,\)'):
        acc.acceleration_matrix(np.zeros(6), np.zeros(3))
    with pytest.raises(ArgumentError, match=r'accelerations\.inertial_forces: omega .* got \(2,\)'):
        acc.inertial_forces(1.0, np.zeros(3), np.zeros(3), np.zeros(2))
