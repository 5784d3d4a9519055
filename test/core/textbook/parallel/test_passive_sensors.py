# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fusion of motor positions and angles of universal joints: differences, noise, faults."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.recursions import length_errors, rod_vectors
from screw_dynamics_ros.core.mechanisms.parallel.tetrahedra import pose_of_pairs
from screw_dynamics_ros.core.textbook.parallel.passive_sensors import (
    PassiveMeasurements,
    UniversalSensor,
    chi_square_limit,
    fuse,
    moved,
)
from support.parallel_robots import GOLDEN, random_pose, with_seventh_leg

SIGMA, ANGLE = 1e-4, 5e-4
TILTED = so3.exp([0.3, -0.2, 0.5]).T


def made(name='stewart_gough'):
    return ParallelRobot(getattr(example_mechanisms, name)(), 'reference')


def sensors_of(*legs):
    return [UniversalSensor(leg, TILTED, ANGLE) for leg in legs]


def measured(robot, q, T, sensors):
    d = rod_vectors(robot.mechanism, q, T)
    rods = [d[robot.joint_names.index(sensor.leg)] for sensor in sensors]
    return np.array([s.angles(rod) for s, rod in zip(sensors, rods)]).reshape(-1, 2)


def test_angles_of_a_universal_joint():
    """They are those of turns about its two axes, in order, and give the direction back."""
    sensor = UniversalSensor('1', TILTED)
    for alpha, beta in ((0.4, -0.7), (-1.2, 0.3), (2.5, 1.0)):
        rod = 0.8 * so3.exp(alpha * TILTED[0]) @ so3.exp(beta * TILTED[1]) @ TILTED[2]
        assert np.allclose(sensor.angles(rod), [alpha, beta], atol=1e-14)
        assert np.allclose(sensor.direction([alpha, beta]), rod / 0.8, atol=1e-14)


def test_rates_are_differences():
    """Of all measurements by turns and shifts of the platform."""
    robot, h = made(), 1e-6
    q = robot.inverse_position(GOLDEN)
    sensors = sensors_of('leg_1', 'leg_4')
    problem = PassiveMeasurements(robot, q, sensors, measured(robot, q, GOLDEN, sensors), SIGMA)
    _, A = problem.linearized(GOLDEN)
    for k, e in enumerate(np.eye(6)):
        later, earlier = (problem.linearized(moved(GOLDEN, s * h * e))[0] for s in (1, -1))
        assert np.allclose(A[:, k], (earlier - later) / (2 * h), rtol=1e-6, atol=1e-3)


def test_exact_measurements_give_the_pose():
    """C-120: with sliders, too; nothing is left, and the degrees of freedom are counted."""
    for name in ('stewart_gough', 'hexaglide'):
        robot = made(name)
        T = random_pose(robot.mechanism, np.random.default_rng(1))
        q = robot.inverse_position(T)
        sensors = sensors_of('leg_2', 'leg_5')
        found = fuse(robot, q, sensors, measured(robot, q, T, sensors))
        assert np.allclose(found.pose, T, atol=1e-10)
        assert (found.degrees_of_freedom, found.consistent) == (4, True)
        assert found.chi_square < 1e-12


@pytest.mark.parametrize(('rods', 'legs', 'freedom'), [(6, ['leg_1'], 2), (7, [], 1)])
def test_noise_makes_no_bias(rods, legs, freedom):
    """C-120: over 200 draws the mean error is 0, its covariance and chi^2 are those stated."""
    robot, random, n = made(), np.random.default_rng(2), 200
    if rods == 7:
        robot = ParallelRobot(with_seventh_leg(robot.mechanism), 'reference')
    q, sensors = robot.inverse_position(GOLDEN), sensors_of(*legs)
    angles = measured(robot, q, GOLDEN, sensors)
    errors, chi = [], []
    for _ in range(n):
        noisy = (
            q + SIGMA * random.normal(size=rods),
            angles + ANGLE * random.normal(size=angles.shape),
        )
        found = fuse(robot, noisy[0], sensors, noisy[1], GOLDEN, sigma=SIGMA)
        turn = so3.log(found.pose[:3, :3] @ GOLDEN[:3, :3].T)
        errors.append([*turn, *(found.pose[:3, 3] - GOLDEN[:3, 3])])
        chi.append(found.chi_square)
    whitened = np.linalg.solve(np.linalg.cholesky(found.covariance), np.array(errors).T)
    assert np.abs(whitened.mean(axis=1)).max() < 3.5 / np.sqrt(n)
    assert np.allclose(np.cov(whitened), np.eye(6), atol=0.35)
    assert found.degrees_of_freedom == freedom
    assert np.mean(chi) == pytest.approx(freedom, abs=0.5)
    assert np.mean(np.array(chi) > found.limit) < 0.04


def test_a_sensor_makes_the_pose_more_certain():
    """C-120: in no direction of the pose less."""
    robot = made()
    q, sensors = robot.inverse_position(GOLDEN), sensors_of('leg_1')
    angles = measured(robot, q, GOLDEN, sensors)
    fused, alone = (
        PassiveMeasurements(robot, q, s, a, SIGMA).result(GOLDEN).covariance
        for s, a in ((sensors, angles), ([], []))
    )
    gain = np.linalg.eigvalsh(alone - fused)
    assert gain.min() > -1e-18
    assert gain.max() > 1e-3 * np.linalg.eigvalsh(alone).max()


def test_without_sensors_errors_are_those_of_the_motors():
    """The covariance is sigma^2 J J^T, with the levers of sliders and cranks in J."""
    for name in ('hexaglide', 'hexa'):
        robot = made(name)
        q = robot.inverse_position(robot.home)
        J = robot.jacobian(q, robot.home)
        found = fuse(robot, q, [], [], sigma=SIGMA)
        assert np.allclose(found.covariance, SIGMA**2 * J @ J.T, rtol=1e-6, atol=1e-15)


def test_full_turns_of_an_encoder_do_not_matter():
    robot = made()
    q, sensors = robot.inverse_position(GOLDEN), sensors_of('leg_1', 'leg_2')
    turns = 2 * np.pi * np.array([[1.0, 0.0], [-3.0, 1.0]])
    found = fuse(robot, q, sensors, measured(robot, q, GOLDEN, sensors) + turns)
    assert np.allclose(found.pose, GOLDEN, atol=1e-10)
    assert found.consistent


def test_a_sensor_at_fault_is_named():
    """C-120: the consistency residual shows a joint that is off by three degrees."""
    robot = made()
    q, sensors = robot.inverse_position(GOLDEN), sensors_of('leg_1', 'leg_3', 'leg_5')
    angles = measured(robot, q, GOLDEN, sensors)
    angles[1, 0] += 0.05
    found = fuse(robot, q, sensors, angles, GOLDEN, sigma=SIGMA)
    assert not found.consistent
    assert found.chi_square > 100 * found.limit
    assert found.worst == 'leg_3'


def test_a_direction_tells_assembly_modes_apart():
    """C-120: of the eight poses with these lengths only the right one agrees with the sensor."""
    robot, sensors = made(), sensors_of('leg_1')
    q = robot.inverse_position(GOLDEN)
    angles = measured(robot, q, GOLDEN, sensors)
    chi = []
    for pose in robot.all_forward_positions(q, GOLDEN).poses:
        errors, _ = PassiveMeasurements(robot, q, sensors, angles, SIGMA).linearized(pose)
        chi.append(errors @ errors)
    assert chi[0] < 1e-12
    assert min(chi[1:]) > 1e3


def test_the_printed_sum_is_not_least_at_the_pose():
    """E-42: (8.19) without squares and without p falls on from the pose; that with them rises."""
    robot = made()
    m, q = robot.mechanism, robot.inverse_position(GOLDEN)

    def printed(T):
        d = m.platform_pivots @ T[:3, :3].T - m.base_pivots
        return np.sum((d * d).sum(axis=1) - q**2)

    def right(T):
        d = rod_vectors(m, q, T)
        return np.sum(((d * d).sum(axis=1) - q**2) ** 2)

    steps = [moved(GOLDEN, 1e-3 * s * e) for e in np.eye(6) for s in (1, -1)]
    assert right(GOLDEN) < 1e-28
    assert min(map(right, steps)) > 1e-9
    assert min(map(printed, steps)) < printed(GOLDEN) - 1e-6
    assert all(printed(moved(GOLDEN, [0, 0, 0, *e])) == printed(GOLDEN) for e in np.eye(3))


def test_octahedron_by_tetrahedra():
    """C-120: one direction leaves one pose of the octahedron, in closed form; faults show."""
    robot, random = made('octahedron'), np.random.default_rng(3)
    m = robot.mechanism
    for rod in range(6):
        T = random_pose(m, random)
        q = robot.inverse_position(T)
        direction = rod_vectors(m, q, T)[rod] / q[rod]
        pose, disagreement = pose_of_pairs(m, m.base_pivots, q, rod, direction)
        assert np.allclose(pose, T, atol=1e-12)
        assert disagreement < 1e-12
        turned = so3.exp([1e-3, -1e-3, 1e-3]) @ direction
        pose, disagreement = pose_of_pairs(m, m.base_pivots, q, rod, turned)
        assert 1e-5 < disagreement < 1e-2
        assert np.abs(length_errors(m, q, pose)).max() == pytest.approx(disagreement)
    with pytest.raises(ArgumentError, match='three pivots with two rods each'):
        pose_of_pairs(made().mechanism, m.base_pivots, q, 0, direction)


def test_limits_of_chi_square():
    """Table values of the 99 % quantile, to a percent."""
    exact = {2: 9.210, 4: 13.277, 10: 23.209, 30: 50.892}
    for freedom, value in exact.items():
        assert chi_square_limit(freedom) == pytest.approx(value, rel=0.01)


def test_refusals():
    robot = made()
    q, sensors = robot.inverse_position(GOLDEN), sensors_of('leg_1')
    angles = measured(robot, q, GOLDEN, sensors)
    with pytest.raises(ArgumentError, match='two finite numbers for each of 1'):
        fuse(robot, q, sensors, np.full((1, 2), np.nan))
    with pytest.raises(ArgumentError, match='q must be finite'):
        fuse(robot, np.full(6, np.nan), sensors, angles)
    with pytest.raises(UnknownNameError, match="'leg_9'"):
        fuse(robot, q, sensors_of('leg_9'), angles)
    hexa = made('hexa')
    with pytest.raises(ArgumentError, match='moves its universal joint'):
        fuse(hexa, hexa.inverse_position(hexa.home), sensors, angles)
    with pytest.raises(ArgumentError, match='several rods'):
        fuse(made('delta'), np.zeros(3), [], [])
    with pytest.raises(ArgumentError, match='right-handed'):
        UniversalSensor('1', -np.eye(3))
    octahedron = made('octahedron')
    T = moved(octahedron.home, [0.0, 0.0, np.pi / 2, 0, 0, 0])
    with pytest.raises(ArgumentError, match='do not determine the pose'):
        fuse(octahedron, octahedron.inverse_position(T), [], [], T)
