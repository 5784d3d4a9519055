# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What each criterion did, by the formulas of a planar arm with three joints."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, Task
from screw_dynamics_ros.core.arms.inverse.redundancy import BoundedRates, resolve_redundancy
from screw_dynamics_ros.core.textbook.redundancy.joint_springs import PostureSprings
from screw_dynamics_ros.core.textbook.redundancy.metrics import KineticEnergy, MotorPower
from support import planar_3r

Q = np.array([0.3, 0.9, 0.6])
V = np.array([0.2, -0.1])
LOSSES = np.array([1.0, 2.0, 4.0])
POSTURE = np.array([0.1, 0.5, 1.0])
TIP = Task('tip', V, selection=planar_3r.IN_THE_PLANE)
J, M = planar_3r.jacobian(Q), planar_3r.mass_matrix(Q)


@pytest.fixture(scope='module')
def arm():
    return Robot(planar_3r.planar_3r(), backend='reference')


def least(W):
    """Return the rates of the tip of least v^T W v, and the motion that it does not feel."""
    inverse = np.linalg.inv(W)
    z = np.linalg.svd(J)[2][2]
    return inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, V), z / np.sqrt(z @ W @ z)


def test_metrics_add_up_with_their_weights(arm):
    criteria = [KineticEnergy(weight=3.0), MotorPower(LOSSES, weight=0.5)]
    found = resolve_redundancy(arm, Q, TIP, criteria)
    parts = [3.0 * M, 0.5 * np.diag(LOSSES)]
    v, _ = least(sum(parts))
    np.testing.assert_allclose(found.v, v, atol=1e-12)
    np.testing.assert_allclose(found.task_rates, v, atol=1e-12)
    assert (found.success, found.freedom, found.message) == (True, 1, 'reached')
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-12)
    for part, W, name, unit in zip(
        found.contributions, parts, ('kinetic energy', 'motor power'), ('J', 'W')
    ):
        assert (part.name, part.unit, part.message, part.slope) == (name, unit, 'a metric', 0.0)
        assert part.value == pytest.approx(v @ W @ v)
        np.testing.assert_array_equal(part.rates, np.zeros(3))


def test_costs_descend_in_the_metric(arm):
    """-w Z Z^T grad H with Z of unit length in the metric; the slope is that of these rates."""
    springs = [PostureSprings(POSTURE, WEIGHT, weight=w) for w in (2.0, 0.7)]
    found = resolve_redundancy(arm, Q, TIP, [springs[0], KineticEnergy(), springs[1]])
    v, z = least(M)
    gradient = np.array(WEIGHT) * (Q - POSTURE)
    total = v
    for k, w in ((0, 2.0), (2, 0.7)):
        part = found.contributions[k]
        rates = -w * z * (z @ gradient)
        np.testing.assert_allclose(part.rates, rates, atol=1e-12)
        assert part.slope == pytest.approx(gradient @ rates)
        assert part.value == pytest.approx(0.5 * (Q - POSTURE) @ gradient)
        assert (part.name, part.unit, part.message) == ('posture', 'rad^2', 'descends')
        total = total + rates
    np.testing.assert_allclose(found.v, total, atol=1e-12)


WEIGHT = (1.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ('share', 'message'), [(0.9e-9, 'at its optimum in the null space'), (1.1e-9, 'descends')]
)
def test_an_optimum_in_the_null_space(arm, share, message):
    """Up to a thousand millionth of 1 + |grad H|."""
    row = J[0] / np.linalg.norm(J[0])  # in the range of J^T: not felt in the null space
    z = np.linalg.svd(J)[2][2]
    found = resolve_redundancy(arm, Q, TIP, [PostureSprings(Q - row - 2.0 * share * z)])
    assert found.contributions[0].message == message


def test_a_lower_task(arm):
    """Its rates are what it adds to those of the first one, its value what it leaves."""
    spin = Task('rod1', [0.8], selection=np.eye(6)[[2]])
    found = resolve_redundancy(arm, Q, TIP, [spin, PostureSprings(POSTURE)])
    v, z = least(np.eye(3))
    part = found.contributions[0]
    np.testing.assert_allclose(part.rates, z * (0.8 - v[0]) / z[0], atol=1e-12)
    assert (part.name, part.unit, part.slope) == ('task of rod1', 'rad/s, m/s', 0.0)
    assert (part.value, part.message) == (pytest.approx(0.0, abs=1e-12), 'reached')
    assert found.freedom == 0
    assert found.contributions[1].message == 'no freedom is left'
    two = resolve_redundancy(arm, Q, TIP, [spin, Task('rod2', [5.0], selection=np.eye(6)[[2]])])
    left = 5.0 - found.v[:2].sum()
    assert two.contributions[1].value == pytest.approx(abs(left))
    assert two.contributions[1].message != 'reached'


def test_bounds_change_what_they_must(arm):
    """A joint that may only move slowly: its share of the change, and why the task is missed."""
    free = resolve_redundancy(arm, Q, TIP, [PostureSprings(POSTURE, weight=5.0)])
    tight = BoundedRates(0.1, acceleration_limit=0.4, previous=np.zeros(3))
    found = resolve_redundancy(arm, Q, TIP, [PostureSprings(POSTURE, weight=5.0), tight])
    assert np.abs(found.v).max() <= 0.04 + 1e-12
    assert np.abs(free.v).max() > 0.04
    part = found.contributions[1]
    np.testing.assert_allclose(part.rates, found.v - free.v, atol=1e-12)
    assert part.value == pytest.approx(np.linalg.norm(part.rates))
    assert (part.name, part.unit, part.message) == ('bounded rates', 'rad/s', found.message)
    assert not found.success
    np.testing.assert_allclose(found.residual, V - J @ found.v, atol=1e-12)
    moving = BoundedRates(0.1, acceleration_limit=0.4, previous=free.v)
    same = resolve_redundancy(arm, Q, TIP, [PostureSprings(POSTURE, weight=5.0), moving])
    np.testing.assert_allclose(same.v, free.v, atol=1e-6)
    damped = resolve_redundancy(arm, Q, TIP, [BoundedRates(0.1, damping=0.5)])
    plain, _ = least(np.eye(3))
    expected = np.linalg.solve(J.T @ J + 0.25 * np.eye(3), J.T @ V + 0.25 * plain)
    np.testing.assert_allclose(damped.v, expected, atol=1e-9)


def test_refusals(arm):
    with pytest.raises(ArgumentError, match=r"BoundedRates, got 'posture'"):
        resolve_redundancy(arm, Q, TIP, ['posture'])
    with pytest.raises(ArgumentError, match="must be a list of criteria, got 'posture'"):
        resolve_redundancy(arm, Q, TIP, 'posture')
    with pytest.raises(ArgumentError, match='BoundedRates may be given once only'):
        resolve_redundancy(arm, Q, TIP, [BoundedRates(0.1)] * 2)
    with pytest.raises(ArgumentError, match=r'q must have shape \(3,\)'):
        resolve_redundancy(arm, Q[:2], TIP, [])
    assert resolve_redundancy(arm, Q, TIP, []).contributions == ()
