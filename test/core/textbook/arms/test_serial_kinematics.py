# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The six operations of arms of all families (C-012, C-013, C-102)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families.prismatic_families import GantryWithWrist, Scara
from screw_dynamics_ros.core.arms.families.spherical_shoulder_elbow_wrist import (
    SphericalShoulderElbowWrist,
)
from screw_dynamics_ros.core.arms.families.three_parallel_axes import ThreeParallelAxes
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.arms.three_two_one_kinematics import SerialKinematics
from support.serial_families import RANDOM_ARMS


@pytest.fixture(params=RANDOM_ARMS, name='case')
def each_family(request):
    rng = np.random.default_rng(12)
    model = SerialKinematics(RANDOM_ARMS[request.param](rng))
    return model, rng.uniform(-1.0, 1.0, len(model.chain)), rng


def test_positions(case):
    """C-012, C-102: back to the joints it came from, from a seed beside them or turns away."""
    model, q, rng = case
    C = model.forward_position(q)
    np.testing.assert_allclose(C, model.chain.pose(q), atol=1e-15)
    found = model.inverse_position(C, q)
    np.testing.assert_allclose(found, q, atol=1e-9)
    turns = np.where(np.array(model.chain.turns), 2 * np.pi, 0.0)
    np.testing.assert_allclose(model.inverse_position(C, q + turns), q + turns, atol=1e-9)
    seed = q + rng.normal(0.0, 1e-3, len(q))
    np.testing.assert_allclose(
        model.forward_position(model.inverse_position(C, seed)), C, atol=1e-9
    )


def test_velocities(case):
    """C-012: twists are those of differences of poses; rates come back, the least of several."""
    model, q, rng = case
    v, h = rng.normal(size=len(q)), 1e-6
    twist = model.forward_velocity(q, v)
    before, after = (model.forward_position(q + sign * h * v) for sign in (-1, 1))
    np.testing.assert_allclose((after - before)[:3, 3] / (2 * h), twist[3:], atol=1e-8)
    spin = (after - before)[:3, :3] @ model.forward_position(q)[:3, :3].T / (2 * h)
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], twist[:3], atol=1e-8)
    found = model.inverse_velocity(q, twist)
    np.testing.assert_allclose(model.forward_velocity(q, found), twist, atol=1e-9)
    assert np.linalg.norm(found) <= np.linalg.norm(v) + 1e-12


def test_forces(case):
    """C-012, E-54: virtual work; six joints give the wrench back, others do not say it (C-013)."""
    model, q, rng = case
    wrench, v = rng.normal(size=(2, 6))
    v = v[: len(q)] if len(q) < 6 else rng.normal(size=len(q))
    tau = model.inverse_force(q, wrench)
    assert tau @ v == pytest.approx(wrench @ model.forward_velocity(q, v))
    if len(q) == 6:
        np.testing.assert_allclose(model.forward_force(q, tau), wrench, atol=1e-8)
    else:
        with pytest.raises(ArgumentError, match='is defined for 6 joints'):
            model.forward_force(q, tau)


def test_through_the_wrist_singularity_of_three_parallel_axes():
    """C-102: at q5 = 0 axis 6 is parallel to 2, 3 and 4; q6 stays, and no joint jumps."""
    model = SerialKinematics(ThreeParallelAxes(0.16, 0.43, 0.39, 0.1, 0.1, shoulder_offset=0.13))
    rest = np.array([0.3, 0.4, 0.7, -0.5, 0.0, 1.1])
    q = rest + [0, 0, 0, 0, 0.2, 0]
    for q5 in np.linspace(0.2, -0.2, 21):
        expected = rest + [0, 0, 0, 0, q5, 0]
        q = model.inverse_position(model.forward_position(expected), q)
        np.testing.assert_allclose(q, expected, atol=1e-6)
    with pytest.raises(ArgumentError, match='no joint rates give this twist'):
        model.inverse_velocity(rest, np.ones(6))
    with pytest.raises(ArgumentError, match='do not determine the wrench'):
        model.forward_force(rest, np.ones(6))


def test_swivel_and_wrists_of_s_r_s_stay():
    """C-094, C-102: the swivel angle is that of the seed, q1 and q5 where nothing else says."""
    model = SerialKinematics(SphericalShoulderElbowWrist(0.36, 0.42, 0.4, 0.126))
    q = np.array([0.3, 0.4, 0.7, 0.5, 0.6, 1.1, -0.2])
    C = model.forward_position(q) @ se3.pose(np.eye(3), [0.0, 0.0, 0.01])
    moved = model.inverse_position(C, q)
    assert model.arm.swivel_of(moved) == pytest.approx(model.arm.swivel_of(q))
    assert np.abs(moved - q).max() < 0.1
    for singular in ([0.3, 0.0, 0.7, 0.5, 0.6, 1.1, -0.2], [0.3, 0.4, 0.7, 0.5, 0.6, 0.0, -0.2]):
        C = model.forward_position(singular)
        np.testing.assert_allclose(model.inverse_position(C, singular), singular, atol=1e-7)


def test_a_stretched_wrist_on_a_gantry():
    """C-102."""
    model = SerialKinematics(GantryWithWrist(0.1))
    q = np.array([0.1, 0.2, 0.3, 0.8, 0.0, -0.3])
    np.testing.assert_allclose(model.inverse_position(model.forward_position(q), q), q, atol=1e-12)


def test_what_a_scara_cannot_do():
    model = SerialKinematics(Scara(0.4, 0.3))
    q = [0.3, 0.8, 0.05, -0.4]
    with pytest.raises(ArgumentError, match='no joint rates give this twist'):
        model.inverse_velocity(q, [1.0, 0, 0, 0, 0, 0])
    tilted = model.forward_position(q) @ se3.exp([0.1, 0, 0, 0, 0, 0])
    with pytest.raises(ArgumentError, match='out of reach'):
        model.inverse_position(tilted)
    with pytest.raises(ArgumentError, match='q must have shape'):
        model.forward_position(np.zeros(6))


@pytest.mark.parametrize(
    ('pose', 'reason'),
    [
        ('pose', 'pose must hold real numbers'),
        (np.eye(3), r'pose must be a finite \(4, 4\) matrix'),
        (se3.pose(np.eye(3), [np.nan, 0.0, 0.0]), r'pose must be a finite \(4, 4\) matrix'),
        (np.diag([2.0, 2.0, 2.0, 1.0]), 'pose: not a rotation matrix'),
        (np.diag([1.0, 1.0, 1.0, 2.0]), 'pose: not a rigid motion'),
    ],
)
def test_what_is_no_pose(pose, reason):
    with pytest.raises(ArgumentError, match=reason):
        SerialKinematics(Scara(0.4, 0.3)).inverse_position(pose)
