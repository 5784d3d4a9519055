# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tool beyond a force-torque sensor, compensated and identified, against moving particles."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.tool_identification import (
    NoToolError,
    TooFewPosesError,
    identify_tool,
)
from screw_dynamics_ros.core.estimation.wrist_sensor import (
    FilteredAcceleration,
    StampedValues,
    add_values,
    advance_acceleration,
    external_wrench,
    has_settled,
    inertia_matrix,
    relative_pose,
    sensor_motion,
)
from screw_dynamics_ros.core.state_clock import StateClock
from support.robots import urdf_path

FRAME = 'panda_link8'
GRAVITY = np.array([0.3, -0.5, -9.7])
MASSES = np.array([0.4, 0.7, 0.2, 0.5])
PLACES = np.array([[0.02, 0.01, 0.1], [-0.03, 0.0, 0.15], [0.0, 0.05, 0.05], [0.01, -0.02, 0.2]])


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'), gravity=GRAVITY)


def swing(t):
    """Return q, v and a of a fast motion."""
    k = np.arange(1.0, 9.0)
    rates, size = 1.0 + 0.3 * k, 0.4
    return (
        size * np.sin(rates * t + k) + [0, -0.6, 0, -2.0, 0, 1.7, 0.6, 0.0],
        size * rates * np.cos(rates * t + k),
        -size * rates**2 * np.sin(rates * t + k),
    )


def shown(robot, t, step=1e-4):
    """Return what a sensor shows of particles: their accelerations by second differences."""
    poses = [robot.link_pose(swing(t + d)[0], FRAME) for d in (-step, 0.0, step)]
    before, now, after = (PLACES @ C[:3, :3].T + C[:3, 3] for C in poses)
    R, r = poses[1][:3, :3], poses[1][:3, 3]
    forces = MASSES[:, None] * (GRAVITY - (before - 2.0 * now + after) / step**2)
    moment, force = np.cross(now - r, forces).sum(axis=0), forces.sum(axis=0)
    return np.concatenate([R.T @ moment, R.T @ force])


def motion_at(robot, t):
    q, v, a = swing(t)
    return sensor_motion(
        robot.velocity(q, v, FRAME, 'body'),
        robot.acceleration(q, v, a, FRAME, 'body'),
        robot.link_pose(q, FRAME),
        GRAVITY,
    )


def test_a_tool_in_motion_without_contact_shows_nothing(robot):
    M = inertia_matrix(RigidBody.from_particles(MASSES, PLACES))
    for t in np.linspace(0.0, 3.0, 13):
        measured = shown(robot, t)
        left = external_wrench(measured, np.zeros(6), M, motion_at(robot, t))
        np.testing.assert_allclose(left, 0.0, atol=2e-5 * np.abs(measured).max())


def test_contact_and_bias_remain(robot):
    M = inertia_matrix(RigidBody.from_particles(MASSES, PLACES))
    contact, bias = np.array([0.3, -1.0, 0.5, 8.0, -4.0, 12.0]), np.linspace(-1.0, 2.0, 6)
    measured = shown(robot, 0.7) + contact + bias
    found = external_wrench(measured, bias, M, motion_at(robot, 0.7))
    np.testing.assert_allclose(found, contact, atol=1e-3)


def test_relative_pose():
    rng = np.random.default_rng(1)
    robot = Robot.from_urdf(urdf_path('panda'))
    q = rng.uniform(-1, 1, 8)
    A, B = robot.link_pose(q, 'panda_link3'), robot.link_pose(q, FRAME)
    np.testing.assert_allclose(relative_pose(B, A), np.linalg.inv(A) @ B, atol=1e-14)


# --- identification -------------------------------------------------------------------------------


def turned(count, seed=0):
    """Return directions of gravity (count, 3) in frames of random orientation."""
    g = np.random.default_rng(seed).normal(size=(count, 3))
    return 9.81 * g / np.linalg.norm(g, axis=1)[:, None]


MASS, COM = 1.3, np.array([0.01, -0.02, 0.11])
BIAS = np.array([0.2, -0.1, 0.05, 3.0, -2.0, 8.0])


def wrenches(g, noise=0.0, rng=None):
    W = np.hstack([np.cross(MASS * COM, g), MASS * g]) + BIAS
    return W if rng is None else W + noise * rng.normal(size=W.shape)


@pytest.mark.parametrize('count', [3, 4, 12])
def test_poses_tell_tool_and_bias(count):
    g = 9.81 * np.eye(3)[:count] if count == 3 else turned(count)
    tool = identify_tool(g, wrenches(g))
    assert tool.mass == pytest.approx(MASS)
    assert tool.poses == count
    np.testing.assert_allclose(tool.com, COM, atol=1e-12)
    np.testing.assert_allclose(tool.bias, BIAS, atol=1e-11)
    assert max(tool.force_residual, tool.moment_residual) < 1e-12


def test_deviations_are_those_of_the_errors():
    rng, g = np.random.default_rng(2), turned(8)
    tools = [identify_tool(g, wrenches(g, 0.05, rng)) for _ in range(400)]
    for name, true in (('mass', MASS), ('com', COM), ('bias', BIAS)):
        errors = np.array([getattr(tool, name) - true for tool in tools])
        stated = np.array([getattr(tool, f'{name}_deviation') for tool in tools])
        ratio = np.sqrt((errors**2).mean(axis=0) / (stated**2).mean(axis=0))
        np.testing.assert_allclose(ratio, 1.0, atol=0.15)


def test_the_same_orientation_tells_nothing():
    g = np.tile([0.0, 0.0, -9.81], (6, 1))
    with pytest.raises(TooFewPosesError, match='nearly the same orientation'):
        identify_tool(g, wrenches(g))


def test_turns_about_one_axis_are_told_apart():
    """Only up and down: the moments of a center of mass on that line are never seen."""
    g = np.array([[0, 0, -9.81], [0, 0, 9.81], [0, 0, -9.81], [0, 0, 9.81]])
    with pytest.raises(TooFewPosesError, match='in one direction only'):
        identify_tool(g, wrenches(g))
    angles = np.linspace(0.0, 2.0, 5)  # about one horizontal axis: two directions
    g = 9.81 * np.column_stack([np.sin(angles), 0.0 * angles, -np.cos(angles)])
    np.testing.assert_allclose(identify_tool(g, wrenches(g)).com, COM, atol=1e-10)


@pytest.mark.parametrize('count', [0, 1, 2])
def test_too_few_poses(count):
    with pytest.raises(TooFewPosesError, match='at least 3'):
        identify_tool(turned(5)[:count], np.zeros((count, 6)))


def test_no_tool_and_wrong_signs_are_told():
    g, rng = turned(8), np.random.default_rng(3)
    with pytest.raises(NoToolError, match='there is no tool'):
        identify_tool(g, BIAS + 0.05 * rng.normal(size=(8, 6)))
    with pytest.raises(NoToolError, match='sign of the sensor'):
        identify_tool(-g, wrenches(g))


@pytest.mark.parametrize(
    ('g', 'W'),
    [
        (np.zeros((4, 2)), np.zeros((4, 6))),
        (np.zeros((4, 3)), np.zeros((3, 6))),
        (np.full((4, 3), np.nan), np.zeros((4, 6))),
        (np.zeros((4, 3)), np.zeros((4, 6))),
    ],
)
def test_bad_arrays(g, W):
    with pytest.raises(ArgumentError):
        identify_tool(g, W)


# --- in time --------------------------------------------------------------------------------------


def test_filtered_acceleration_follows_and_starts_anew():
    filtered, lengths = FilteredAcceleration(2), StateClock()
    filtered.cutoff, lengths.timeout = 20.0, 10**8
    slope, stamp = np.array([3.0, -1.0]), 10**9
    for k in range(100):
        advance_acceleration(filtered, lengths.advance(stamp + k * 10**6), slope * k * 1e-3)
    assert has_settled(filtered)
    np.testing.assert_allclose(filtered.value, slope, rtol=1e-3)
    for change in ({'stamp': stamp}, {'restarted': True}, {'stamp': stamp + 10**9}):
        elapsed = lengths.advance(**{'stamp': stamp + 10**8, **change})
        advance_acceleration(filtered, elapsed, np.ones(2))
        assert not has_settled(filtered)
        assert not filtered.value.any()
    filtered.cutoff = 0.0
    assert has_settled(filtered)


def test_filtered_acceleration_is_exact_for_steps_of_any_length():
    """a' = (v' - a) / T with linear velocities between stamps, by its solution."""
    rng, filtered, lengths = np.random.default_rng(4), FilteredAcceleration(1), StateClock()
    T = 1.0 / (2.0 * np.pi * filtered.cutoff)
    assert filtered.cutoff == 10.0
    stamps = 10**9 + np.cumsum(rng.integers(10**6, 3 * 10**7, 20))
    v, expected = np.cumsum(rng.normal(size=20)), 0.0
    value = filtered.value
    for k, (stamp, now) in enumerate(zip(stamps.tolist(), v)):
        advance_acceleration(filtered, lengths.advance(stamp), np.array([now]))
        if k:
            h = (stamp - stamps[k - 1]) * 1e-9
            slope = (now - v[k - 1]) / h
            expected = slope + (expected - slope) * np.exp(-h / T)
        assert value[0] == pytest.approx(expected, rel=1e-12)
    filtered.is_running = False
    advance_acceleration(filtered, 10**6, np.ones(1))
    assert value[0] == 0.0


@pytest.mark.parametrize(('factor', 'is_settled'), [(0.999, False), (1.001, True)])
def test_filtered_acceleration_settles_after_five_time_constants(factor, is_settled):
    filtered = FilteredAcceleration(1)
    filtered.cutoff = 2.0
    assert not has_settled(filtered)
    for k in range(3):
        advance_acceleration(
            filtered, round(factor * 2.5e9 / (4.0 * np.pi)) if k else 0, np.zeros(1)
        )
    assert has_settled(filtered) == is_settled
    advance_acceleration(filtered, 10**9, np.ones(1))
    filtered.cutoff = 0.0  # off: zero, and always settled
    advance_acceleration(filtered, 10**9, np.zeros(1))
    assert filtered.value.tolist() == [0.0]
    assert has_settled(filtered)
    filtered.cutoff = 2.0
    assert not has_settled(filtered)


def test_values_by_their_stamps():
    values = StampedValues(3, 1)
    with pytest.raises(ArgumentError, match='no values'):
        values.at(0, 10)
    for stamp in (100, 200, 300, 400):
        add_values(values, stamp, np.array([float(stamp)]))
    for stamp, found in ((200, 200), (250, 250), (399, 399), (400, 400), (410, 400), (195, 200)):
        assert values.at(stamp, 60)[0] == found
    for stamp, where in ((189, 'oldest'), (461, 'newest')):
        with pytest.raises(ArgumentError, match=where):
            values.at(stamp, 10)
    add_values(values, 1000, np.array([1.0]))
    with pytest.raises(ArgumentError, match='nearest'):
        values.at(700, 100)
    for stamp in (1000, 900):  # time did not go on
        add_values(values, stamp, np.array([2.0]))
        assert values.count == 1
        assert values.at(stamp, 0)[0] == 2.0


def test_values_within_the_limit_and_beyond():
    """Of the nearest one; between two, either may be near. Errors have the distance in seconds."""
    values = StampedValues(10, 1)
    for stamp in (1_000_000_000, 5_000_000_000):
        add_values(values, stamp, np.array([stamp * 1e-9]))
    for stamp, limit in ((2, 1), (4, 1), (0, 1), (6, 1), (3, 2)):
        at, limit = stamp * 10**9, limit * 10**9
        assert values.at(at, limit)[0] == pytest.approx(min(max(stamp, 1.0), 5.0))
        with pytest.raises(ArgumentError, match=rf'{limit * 1e-9:g} s away, more than \d'):
            values.at(at, limit - 1)
    with pytest.raises(ArgumentError, match=r'the newest one is 2 s away, more than 0\.5 s'):
        values.at(7_000_000_000, 500_000_000)


def test_sensor_motion_and_inertia_matrix():
    """Order of the elements; kinetic energy of moving particles by the matrix."""
    rng = np.random.default_rng(2)
    V, dV = rng.normal(size=(2, 6))
    C = np.eye(4)
    C[:3, :3] = Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix()
    motion = sensor_motion(V, dV, C, GRAVITY)
    down = Rotation.from_rotvec([-0.3, 0.4, -0.5]).apply(GRAVITY)
    np.testing.assert_allclose(motion, [*V, *dV[:3], *(dV[3:] - down)], atol=1e-12)
    M = inertia_matrix(RigidBody.from_particles(MASSES, PLACES))
    velocities = V[3:] + np.cross(V[:3], PLACES)
    energy = 0.5 * MASSES @ (velocities**2).sum(axis=1)
    np.testing.assert_allclose(0.5 * (V @ M @ V), energy)
    np.testing.assert_allclose(M, M.T)
