# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Twists that contradict differences of poses, and healthy measurements that do not."""

import numpy as np
import pytest

from screw_dynamics_ros.core.kinematics.twist_check import TwistCheck
from screw_dynamics_ros.core.lie import se3

MS = 10**6


def motion(seed, seconds=10.0, step=0.01):
    """Return stamps, poses and body twists of a smooth motion in space."""
    rng = np.random.default_rng(seed)
    amplitude = rng.normal(size=(3, 6)) * [0.3, 0.3, 0.6, 0.5, 0.3, 0.2]
    frequency = rng.uniform(0.1, 1.0, (3, 1))
    C, stamps, poses, twists = se3.exp(rng.normal(size=6)), [], [], []
    for k in range(round(seconds / step)):
        V = (amplitude * np.sin(2 * np.pi * frequency * k * step + np.arange(6))).sum(axis=0)
        if twists:
            C = C @ se3.exp(0.5 * (twists[-1] + V) * step)
        stamps.append(round(k * step * 1e9))
        poses.append(C)
        twists.append(V)
    return stamps, poses, twists


def faults(stamps, poses, twists):
    """Return the faults after each measurement."""
    check, found = TwistCheck(), []
    for each in zip(stamps, poses, twists):
        check.add(*each)
        found.append(check.fault)
    return found


@pytest.mark.parametrize('seed', range(3))
def test_healthy_odometry_causes_no_alarm(seed):
    """Noise of 5 mm and 5 mrad, scale errors of 10 %, delays of twists, rates of 5 to 200 Hz."""
    rng = np.random.default_rng(100 + seed)
    step = (0.005, 0.02, 0.2)[seed % 3]
    stamps, poses, twists = motion(seed, seconds=4.0, step=step)
    noisy = [pose @ se3.exp(rng.normal(size=6) * 5e-3) for pose in poses]
    measured = [rng.uniform(0.9, 1.1) * V + rng.normal(size=6) * 0.02 for V in twists]
    delay = round(0.02 / step)
    measured = [*measured[:1] * delay, *measured[: len(measured) - delay]]
    assert not any(faults(stamps, noisy, measured))


def test_a_robot_at_rest_and_corrections_of_localization_cause_no_alarm():
    """Drift at rest, and jumps of 0.3 m every 2 s."""
    rng = np.random.default_rng(0)
    stamps = [10 * k * MS for k in range(800)]
    poses = [se3.pose(np.eye(3), [1e-4 * k / 10, *rng.normal(size=2) * 5e-3]) for k in range(800)]
    assert not any(faults(stamps, poses, [np.zeros(6)] * 800))
    stamps, poses, twists = motion(1)
    jumped = [
        se3.pose(np.eye(3), [0.3 * (stamp // (2000 * MS)), 0, 0]) @ pose
        for stamp, pose in zip(stamps, poses)
    ]
    assert not any(faults(stamps, jumped, twists))


def test_contradictions_are_found_within_a_path_of_half_a_meter():
    V = np.array([0.0, 0.0, 0.0, 1.3, 0.0, 0.0])
    stamps = [10 * k * MS for k in range(100)]
    poses = [se3.exp(V * 0.01 * k) for k in range(100)]
    found = faults(stamps, poses, [-V] * 100)
    assert 0.3 <= 0.013 * next(k for k, fault in enumerate(found) if fault) <= 0.5
    assert 'the twist has the opposite sign' in found[-1]
    assert 'in 0.08 s these moved by (0.1, 0, 0) m, not (-0.1, 0, 0) m' in found[-1]


def driven(change, noise=0.0, rate=0.1, jump=0.0):
    """Return the faults of a base that drives through curves with a radius of 6 m."""
    rng, C, stamps, poses, twists = np.random.default_rng(3), np.eye(4), [], [], []
    for k in range(1000):
        V = np.array([0.0, 0.0, rate * np.sin(0.005 * k), 0.6, 0.0, 0.0])
        C = C @ se3.exp(0.02 * V)
        if k % 200 == 0:
            C = C @ se3.exp([0.0, 0.0, jump, 0.0, 0.0, 0.0])
        stamps.append(20 * k * MS)
        poses.append(C @ se3.exp(noise * rng.normal(size=6)))
        twists.append(V * change + 4.0 * noise * rng.normal(size=6))
    return faults(stamps, poses, twists)


@pytest.mark.parametrize(('factor', 'cause'), [(-1.0, 'has the opposite sign'), (57.3, 'turned')])
def test_the_angular_velocity_of_a_wide_curve(factor, cause):
    """It moves by 0.1 m many times until it has turned by 0.2 rad."""
    found = driven([1.0, 1.0, factor, 1.0, 1.0, 1.0], noise=5e-3)
    assert 'turned by' in found[-1]
    assert cause in found[-1]


def test_a_base_with_corrections_of_its_heading_causes_no_alarm():
    assert not any(driven(np.full(6, 0.9), noise=5e-3, rate=0.5, jump=0.3))


def test_gaps_and_stamps_that_run_back_begin_a_window():
    """Only what is between two close measurements is integrated."""
    V = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    for stamps in (range(0, 100 * 10**9, 10**9), [0] * 100, range(10**10, 0, -(10**8))):
        poses = [se3.pose(np.eye(3), [k, 0, 0]) for k in range(100)]
        assert not any(faults(stamps, poses, [V] * len(stamps)))


@pytest.mark.parametrize('size', [1e9, 1e150, 1e300])
def test_numbers_of_any_size(size):
    stamps, poses, twists = motion(2, seconds=2.0)
    assert any(faults(stamps, poses, [size * V for V in twists]))
