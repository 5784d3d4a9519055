# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The search for exciting motions: its cost by NumPy, its progress, what it holds."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import EffortModel
from screw_dynamics_ros.core.identification.excitation import (
    MotionLimits,
    _Search,
    excite,
)
from screw_dynamics_ros.core.identification.fourier_motion import (
    FourierMotion,
    FourierSeries,
)
from support.paths import URDF
from support.robots import one_joint

TEXT = (
    (URDF / 'planar_2r.urdf')
    .read_text()
    .replace('continuous', 'revolute')
    .replace('velocity="10"', 'velocity="3" lower="-1.5" upper="2"')
)
DRIVES = {'joint1': Drive(armature=0.3, damping=0.5, coulomb=1.0)}
GRAVITY = (0.0, -9.81, 0.0)


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(TEXT, gravity=GRAVITY, drives=DRIVES, backend='python')


def search(arm, limits=None, model=None):
    return _Search(arm, FourierSeries(10.0, 3), limits or MotionLimits(), model or EffortModel())


def test_series_in_closed_form():
    """q = c + sum (a sin(k w t) - b cos(k w t)) / (k w), by its definition."""
    a, b = np.array([[1.0, -0.4, -0.6]]), np.array([[0.3, 0.6, -0.5]])
    motion, t = FourierMotion(4.0, np.array([0.7]), a, b), np.array([0.0, 0.3, 1.9])
    k = np.arange(1, 4) * np.pi / 2
    sin, cos = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    q, v, acceleration = motion.at(t)
    np.testing.assert_allclose(q[:, 0], 0.7 + (a[0] * sin - b[0] * cos) @ (1.0 / k))
    np.testing.assert_allclose(v[:, 0], cos @ a[0] + sin @ b[0])
    np.testing.assert_allclose(acceleration[:, 0], (b[0] * cos - a[0] * sin) @ k)


@pytest.mark.parametrize('harmonics', [2, 4])
def test_coordinates_of_series(harmonics):
    """All coefficients with sum a = 0 and sum k b = 0, of the same length as the coordinates."""
    series = FourierSeries(5.0, harmonics)
    y = np.random.default_rng(0).normal(size=(3, series.size))
    a, b = series.coefficients(y)
    assert series.size == 2 * harmonics - 2
    np.testing.assert_allclose(a.sum(axis=-1), 0.0, atol=1e-12)
    np.testing.assert_allclose(b @ np.arange(1, harmonics + 1), 0.0, atol=1e-12)
    lengths = np.linalg.norm(np.concatenate([a, b], axis=-1), axis=-1)
    np.testing.assert_allclose(lengths, np.linalg.norm(y, axis=-1))
    for wrong in (1, 2.0, '3'):
        with pytest.raises(ArgumentError, match='harmonics must be a whole number >= 2'):
            FourierSeries(5.0, wrong)


@pytest.mark.parametrize('seed', range(3))
def test_all_coordinates_are_motions_within_limits_that_use_one_of_them(arm, seed):
    """Positions, speeds or accelerations reach 95 % of a limit in each joint."""
    made = search(arm, MotionLimits(acceleration=4.0))
    motion = made.motion(np.random.default_rng(seed).normal(size=made.size))
    q, v, a = motion.at(made.t)
    limits = arm.limits
    used = np.stack([
        np.ptp(q, axis=0) / (0.95 * (limits.upper - limits.lower)),
        np.abs(v).max(axis=0) / (0.95 * limits.velocity),
        np.abs(a).max(axis=0) / 4.0,
    ])  # fmt: skip
    np.testing.assert_allclose(used.max(axis=0), 1.0, rtol=1e-9)
    middle, half = (limits.lower + limits.upper) / 2, 0.95 * (limits.upper - limits.lower) / 2
    assert (np.abs(q - middle) <= half + 1e-9).all()


@pytest.mark.parametrize('model', [EffortModel(), EffortModel(('inertia',)),
                                   EffortModel(payload_link='link2')])  # fmt: skip
def test_the_cost_is_the_information(arm, model):
    """- log det (A^T A + 1), columns scaled by noise and priors, and torques above the limit."""
    made = search(arm, MotionLimits(effort=False), model)
    y = np.random.default_rng(1).normal(size=made.size)
    A, torques = made.evaluated(y)
    q, v, a = made.motion(y).at(made.t)
    expected = arm.inverse_dynamics(q, v, a)
    if model.payload_link:  # the assumed one, of 1 kg
        payload = {'link2': RigidBody(1.0, np.zeros(3), 0.02 * np.eye(3))}
        expected = expected + arm.payload_torques(q, v, a, payload)
    np.testing.assert_allclose(torques, expected, atol=1e-9)
    W = made.unknowns.columns(made.unknowns.motion(q, v, a))[:, :, made.columns]
    likely = np.linalg.norm(made.grouping @ made.L, axis=1)
    expected = (W * likely / made.noise[:, None]).reshape(-1, len(made.columns))
    np.testing.assert_allclose(A, expected)
    logarithm = np.sum(np.log(1.0 + np.linalg.svd(A, compute_uv=False) ** 2))
    assert made.cost(y) == pytest.approx(-logarithm)
    bounded = search(arm, MotionLimits(), model)
    for share, is_above in ((1.001, False), (0.9, True)):
        bounded.effort = np.abs(torques).max(axis=0) / 0.95 * share
        excess = np.maximum(np.abs(torques) / (0.95 * bounded.effort) - 1.0, 0.0)
        assert bool(excess.any()) == is_above
        assert bounded.cost(y) == pytest.approx(-logarithm + 1e3 * np.sum(excess**2))
    unit = A / np.linalg.norm(A, axis=0)
    assert made.condition(y) == pytest.approx(np.linalg.cond(unit), rel=1e-6)


@pytest.mark.parametrize('model', [EffortModel(), EffortModel(payload_link='link2')])
def test_the_gradient_by_differences_of_the_cost(arm, model):
    """Also where torques exceed their limits."""
    made = search(arm, MotionLimits(), model)
    made.effort = np.array([8.0, 2.0])
    y = np.random.default_rng(1).normal(size=made.size)
    assert made.cost(y) > search(arm, MotionLimits(effort=False), model).cost(y) + 10.0
    steps = 1e-6 * np.eye(made.size)
    expected = np.array([(made.cost(y + step) - made.cost(y - step)) / 2e-6 for step in steps])
    largest = np.abs(expected).max()
    np.testing.assert_allclose(made.gradient(y), expected, atol=3e-3 * largest)


def test_samples_and_noise_of_the_search(arm):
    """Ten for each harmonic, 80 at least; efforts have a hundredth of the rms of some motion."""
    assert len(search(arm).t) == 80
    many = _Search(arm, FourierSeries(10.0, 9), MotionLimits(), EffortModel())
    assert len(many.t) == 90
    assert many.t[-1] == pytest.approx(10.0 * 89 / 90)
    made = search(arm)
    motion = made.motion(np.random.default_rng(0).normal(size=made.size))
    bare = Robot.from_urdf(TEXT, gravity=GRAVITY, backend='python')
    torque = bare.inverse_dynamics(*motion.at(made.t))
    np.testing.assert_allclose(made.noise, 1e-2 * np.sqrt(np.mean(torque**2, axis=0)))


def test_progress_rises_to_one_and_better_motions_are_kept(arm):
    shares = []
    options = {'period': 8.0, 'harmonics': 2, 'restarts': 4, 'iterations': 3}
    found = excite(arm, improved=1, progress=shares.append, **options)
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.5 < shares[-1] <= 1.0
    assert found.motion.period == 8.0
    assert found.motion.a.shape == (2, 2)
    assert found.joint_names == ('joint1', 'joint2')
    drawn = excite(arm, improved=0, **options)
    made = _Search(arm, FourierSeries(8.0, 2), MotionLimits(), EffortModel())
    rng = np.random.default_rng(0)
    every = [rng.normal(size=made.size) for _ in range(4)]
    best = min(every, key=made.cost)
    np.testing.assert_array_equal(drawn.motion.a, made.motion(best).a)
    median = np.median([made.condition(y) for y in every])
    assert drawn.random_condition == found.random_condition == pytest.approx(median)
    assert drawn.condition == pytest.approx(made.condition(best))
    other = excite(arm, improved=0, seed=1, **options)
    assert not np.array_equal(other.motion.a, drawn.motion.a)
    q, v, a = drawn.motion.at(np.linspace(0.0, 8.0, 500))
    torque = np.abs(arm.inverse_dynamics(q, v, a)).max(axis=0)
    np.testing.assert_allclose(drawn.effort, torque, rtol=1e-9)
    _, improved = made.improve(best, 3, lambda number: None)
    assert improved < made.cost(best)


def test_what_no_motion_determines(arm):
    """A massless joint has no inertia to identify; combinations that stay unknown are named."""
    massless = Robot.from_urdf(one_joint('<axis xyz="0 0 1"/>', 'continuous'), backend='python')
    with pytest.raises(
        ArgumentError, match=r'nothing to estimate: .* has no parameters of inertia'
    ):
        excite(massless, model=EffortModel(('inertia',)))
    tiny = MotionLimits(range=1e-3, speed=1e-4)
    found = excite(arm, limits=tiny, harmonics=2, restarts=1, improved=0)
    assert found.held
    for each in found.held:
        assert max(abs(x) for x in each.values()) == pytest.approx(1.0)
        assert min(abs(x) for x in each.values()) > 0.1
        assert set(each) <= set(found.parameters)


def test_of_several_improved_motions_that_of_the_least_condition_number_is_chosen(arm):
    problem = search(arm)
    rng = np.random.default_rng(0)
    drawn = sorted((rng.normal(size=problem.size) for _ in range(6)), key=problem.cost)
    improved = [problem.improve(y, 5, lambda number: None)[0] for y in drawn[:3]]
    conditions = [problem.condition(y) for y in improved]
    assert max(conditions) > 1.01 * min(conditions)
    found = excite(arm, harmonics=3, restarts=6, improved=3, iterations=5)
    assert found.condition == pytest.approx(min(conditions), rel=1e-9)
