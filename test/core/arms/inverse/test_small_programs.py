# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Quadratic programs against all sets of acting rows, and policies of one or two joints by hand."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse.inequalities import (
    Inequalities,
    TwistLimit,
    kkt_residual,
    least_distance,
    least_squares_within,
    multipliers_of,
)
from screw_dynamics_ros.core.arms.inverse.singularity_policies import (
    Deviate,
    ScaleSpeed,
    SingularityStatus,
    Stop,
    check_policy,
)
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import Bounds
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import AdaptiveDamping
from support.planar_2r import planar_2r

# --- least squares with inequalities --------------------------------------------------------------


def by_enumeration(A, b, G, h):
    """Return the x of least |A x - b| with G x <= h: the best of all sets of rows as equations."""
    n, best = A.shape[1], (np.inf, None)
    for size in range(min(n, len(G)) + 1):
        for rows in map(list, combinations(range(len(G)), size)):
            B = G[rows]
            if size and np.linalg.matrix_rank(B) < size:
                continue
            kkt = np.block([[A.T @ A, B.T], [B, np.zeros((size, size))]])
            x = np.linalg.solve(kkt, np.concatenate([A.T @ b, h[rows]]))[:n]
            if (G @ x <= h + 1e-9).all():
                best = min(best, (np.linalg.norm(A @ x - b), tuple(x)))
    return None if best[1] is None else np.array(best[1])


@pytest.mark.parametrize('seed', range(12))
def test_least_squares_with_rows(seed):
    """Rows of very different lengths, one of zeros, one twice; their multipliers."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(4, 3)), 3.0 * rng.normal(size=4)
    G, h = rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, 6)
    size = 10.0 ** rng.integers(-3, 4, 6)
    G, h = G * size[:, None], h * size
    G = np.vstack([G, np.zeros(3), G[0]])
    h = np.concatenate([h, [1.0, h[0]]])
    x, multipliers = least_distance(A, b, G, h)
    np.testing.assert_allclose(x, by_enumeration(A, b, G, h), atol=1e-8)
    assert (multipliers >= 0.0).all()
    np.testing.assert_allclose(A.T @ (b - A @ x), G.T @ multipliers, atol=1e-8)
    assert kkt_residual(A, b, G, h, x, multipliers) < 1e-10
    assert kkt_residual(A, b, G, h, x + [1e-3, 0, 0], multipliers) > 1e-5


@pytest.mark.parametrize('size', [1.0, 2.0**-10, 2.0**10])
def test_residuals_of_optimality(size):
    """Each condition alone: the gradient, a row that is passed, a multiplier of an idle row."""
    A, b, G, h = size * np.eye(1), size * np.array([2.0]), np.array([[1.0]]), np.array([1.0])

    def residual(x, multiplier):
        return kkt_residual(A, b, G, h, np.array([x]), size**2 * np.array([multiplier]))

    assert residual(1.0, 1.0) == 0.0
    assert residual(1.0, 0.7) == pytest.approx(0.3 / 3.0)
    assert residual(1.5, 0.5) == pytest.approx(0.5 / (1.0 + 1.5 + 2.0))
    assert residual(0.5, 1.5) == pytest.approx(1.5 / 2.5 * 0.5 / (1.0 + 0.5 + 2.0))


def test_rows_that_exclude_each_other_have_no_answer():
    G = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert least_distance(np.eye(2), np.zeros(2), G, np.array([-1.0, 0.9])) is None
    x, _ = least_distance(np.eye(2), np.zeros(2), G, np.array([-1.0, 1.0]))
    np.testing.assert_allclose(x, [-1.0, 0.0], atol=1e-12)


def test_multipliers_of_dependent_rows_are_not_negative():
    B = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    force = np.array([1.0, 1.5])
    u = multipliers_of(B, force)
    assert (u >= 0.0).all()
    np.testing.assert_allclose(B.T @ u, force, atol=1e-12)
    np.testing.assert_allclose(multipliers_of(B[:2], np.array([-1.0, 2.0])), [-1.0, 2.0])


def within(*sizes):
    size = np.array(sizes, dtype=float)
    return Bounds(-size, size, ('a', 'b', 'c')[: len(sizes)])


def test_names_of_what_acts_and_of_what_cannot_be_kept():
    A, b = np.eye(2), np.array([5.0, 1.0])
    row = Inequalities(np.array([[1.0, 1.0]]), np.array([2.0]), ('wall',))
    found = least_squares_within(A, b, within(9.0, 9.0), row)
    np.testing.assert_allclose(found.x, [3.0, -1.0], atol=1e-12)
    assert (found.active, found.conflicts) == (('wall',), ())
    both = least_squares_within(A, b, within(2.5, 9.0), row)
    np.testing.assert_allclose(both.x, [2.5, -0.5], atol=1e-12)
    assert both.active == ('a', 'wall')
    pushed = Inequalities(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([-3.0, 0.5]), ('w', 'x'))
    missed = least_squares_within(A, b, within(2.5, 9.0), pushed)
    np.testing.assert_allclose(missed.x, [-2.5, 0.5], atol=1e-6)
    assert missed.conflicts == ("the limit 'w' cannot be respected: it is missed by 0.5",)
    assert missed.optimality < 1e-8


def test_rows_that_contradict_each_other_share_what_is_missing():
    """In least squares: x <= -1 and x >= 1 are both missed by 1."""
    rows = Inequalities(np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]), ('low', 'high'))
    found = least_squares_within(np.eye(1), np.array([3.0]), within(9.0), rows)
    np.testing.assert_allclose(found.x, [0.0], atol=1e-6)
    assert [each.split("'")[1] for each in found.conflicts] == ['low', 'high']
    assert all(each.endswith('missed by 1') for each in found.conflicts)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('fixed', [0, 1])
def test_joints_that_do_not_move_do_not_resolve_a_contradiction(fixed, side):
    """y <= -3 + x and y >= 3 with x fixed at 1, or y <= -1 - x: the best y misses both by 2.5."""
    free = 1 - fixed
    rows = np.zeros((2, 2))
    rows[:, free], rows[0, fixed] = [1.0, -1.0], -side
    lower, upper = np.full(2, -9.0), np.full(2, 9.0)
    lower[fixed] = upper[fixed] = 1.0
    found = least_squares_within(
        np.eye(2),
        np.array([5.0, 5.0]),
        Bounds(lower, upper, ('a', 'b')),
        Inequalities(rows, np.array([-2.0 - side, -3.0]), ('near', 'far')),
    )
    np.testing.assert_allclose(found.x[[fixed, free]], [1.0, 0.5], atol=1e-6)
    assert [each.endswith('missed by 2.5') for each in found.conflicts] == [True, True]


def test_limits_of_a_twist():
    """Rows S J v <= upper and -S J v <= -lower for the finite ones, with their name."""
    robot = Robot(planar_2r(), backend='reference')
    q = np.array([0.3, 0.8])
    S = np.eye(6)[[3, 4]]
    J = S @ robot.jacobian(q, 'tip')
    limit = TwistLimit('tip', S, upper=[0.5, np.inf], lower=-0.2)
    rows = limit.rows(robot, q)
    np.testing.assert_allclose(rows.A, [J[0], -J[0], -J[1]])
    np.testing.assert_allclose(rows.b, [0.5, 0.2, 0.2])
    assert rows.names == ('twist of tip',) * 3
    body = replace(limit, representation='body', name='n').rows(robot, q)
    np.testing.assert_allclose(body.A[0], S[0] @ robot.jacobian(q, 'tip', 'body'))
    assert set(body.names) == {'n'}
    assert TwistLimit('tip', S).rows(robot, q).A.shape == (0, 2)
    several = Inequalities.of(robot, q, [limit, replace(limit, name='n')])
    assert several.names == rows.names + ('n',) * 3
    np.testing.assert_allclose(several.A, np.vstack([rows.A, rows.A]))
    assert Inequalities.of(robot, q, []).A.shape == (0, 2)
    exact = replace(limit, lower=0.5, upper=0.5).rows(robot, q)
    np.testing.assert_allclose(exact.b, [0.5, 0.5, -0.5, -0.5])
    for wrong, reason in (
        ({'selection': np.eye(5)}, r"selection of the limit 'twist of tip' must .* \(5, 5\)"),
        ({'lower': 1.0}, "the limit 'twist of tip' has lower > upper; exchange them"),
        ({'upper': [1.0, 2.0, 3.0]}, "the upper limit 'twist of tip' must be one number or 2"),
        ({'lower': np.nan}, "the lower limit 'twist of tip' must be one number or 2, got nan"),
    ):
        with pytest.raises(ArgumentError, match=reason):
            replace(limit, **wrong).rows(robot, q)
    for wrong in (limit, [limit, 'slow']):
        with pytest.raises(ArgumentError, match='limits must be a sequence of TwistLimit objects'):
            Inequalities.of(robot, q, wrong)
    for A, names in ((np.ones((1, 3)), ('x',)), (np.ones((1, 2)), ())):
        with pytest.raises(ArgumentError, match=r'need rows \(k, 2\) and k names, got'):
            Inequalities(A, np.ones(1), names).checked(2)
    with pytest.raises(ArgumentError, match='the limits of the inequalities'):
        Inequalities(np.ones((1, 2)), np.ones(2), ('x',)).checked(2)


# --- policies -------------------------------------------------------------------------------------


def situation(J, twist, *sizes, **options):
    return SingularityStatus(np.array(J), np.array(twist), within(*sizes), **options)


@pytest.mark.parametrize(
    ('slowest', 'scale', 'state'),
    [(0.0, 0.25, 'slowed'), (0.24, 0.25, 'slowed'), (0.25, 0.0, 'stopped')],
)
def test_speed_is_scaled_until_the_slowest(slowest, scale, state):
    found = ScaleSpeed(slowest).follow(situation([[0.5, 0.0], [0.0, 1.0]], [2.0, 1.0], 1.0, 9.0))
    assert (found.scale, found.state, found.limiting) == (scale, state, ('a',))
    np.testing.assert_allclose(found.v, [4 * scale, scale])
    np.testing.assert_allclose(found.executed, [2 * scale, scale])
    np.testing.assert_allclose(found.deviation, 0.0, atol=1e-15)
    np.testing.assert_array_equal(found.commanded, [2.0, 1.0])
    assert found.message == 'at the bounds of a'
    assert found.smallest == pytest.approx(0.5)
    assert ScaleSpeed().slowest == 1e-3


def test_bounds_of_both_signs_and_what_is_within_them():
    found = ScaleSpeed().follow(situation(np.eye(3), [-2.0, 4.0, 0.0], 1.0, 2.0, 0.0))
    assert (found.scale, found.limiting) == (0.5, ('a', 'b'))
    free = ScaleSpeed().follow(situation(np.eye(2), [1.0, -2.0], 1.0, 2.0))
    assert (free.scale, free.limiting, free.state, free.message) == (
        1.0,
        (),
        'followed',
        'followed',
    )
    rest = ScaleSpeed(0.5).follow(situation(np.eye(2), [0.0, 0.0], 1.0, 2.0))
    assert (rest.state, rest.scale) == ('followed', 1.0)


def test_twists_in_a_lost_direction_are_not_followed():
    found = ScaleSpeed().follow(situation([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.5], 9.0, 9.0))
    assert (found.state, found.scale) == ('stopped', 0.0)
    assert found.message == '0.5 of the twist is in a direction that is lost here'
    np.testing.assert_array_equal(found.v, [0.0, 0.0])


@pytest.mark.parametrize(
    ('sigma', 'scale', 'state'),
    [(0.2, 0.0, 'stopped'), (0.3, 0.25, 'slowed'), (0.6, 1.0, 'followed'), (0.8, 1.0, 'followed')],
)
def test_speed_is_linear_before_a_stop(sigma, scale, state):
    found = Stop(0.2, 0.6).follow(situation(np.diag([sigma, 1.0]), [0.1, 0.1], 9.0, 9.0))
    assert found.state == state
    assert found.scale == pytest.approx(scale, abs=1e-12)
    if scale < 1.0:
        assert found.message == f'the smallest singular value {sigma} is below 0.6'
        assert found.limiting == ()


@pytest.mark.parametrize(('sign', 'scale'), [(1.0, 1.0), (-1.0, 0.25)])
def test_motion_away_from_a_singularity_is_not_slowed(sign, scale):
    """sigma = 0.3 of the first joint grows with the rate of the second one."""
    slopes = np.zeros((2, 2, 2))
    slopes[0, 0, 1] = 1.0
    status = situation(np.diag([0.3, 1.0]), [0.0, sign], 9.0, 9.0, partials=lambda: slopes)
    assert Stop(0.2, 0.6).follow(status).scale == pytest.approx(scale)
    np.testing.assert_allclose(status.smallest_singular_value(slopes=True)[1], [0.0, 1.0])
    np.testing.assert_array_equal(status.smallest_singular_value()[1], [0.0, 0.0])
    tight = replace(status, bounds=within(9.0, 0.1))
    found = Stop(0.2, 0.6).follow(tight)
    assert (found.scale, found.limiting) == (pytest.approx(0.1), ('b',))


def test_deviations_are_those_of_damped_least_squares():
    damped = Deviate(0.5).follow(situation([[2.0]], [1.0], 9.0))
    assert damped.v == pytest.approx(2.0 / 4.25)
    assert (damped.state, damped.scale) == ('deviated', 1.0)
    np.testing.assert_allclose(damped.deviation, 4.0 / 4.25 - 1.0)
    regular = Deviate(AdaptiveDamping(0.5, 1.0)).follow(situation([[2.0]], [1.0], 9.0))
    assert regular.state == 'followed'
    drift = Deviate(1e-6).follow(situation([[1.0, 0.0]], [1.0], 9.0, 9.0, secondary=[0.0, 3.0]))
    np.testing.assert_allclose(drift.v, [1.0, 3.0], atol=1e-6)


@pytest.mark.parametrize('policy', [ScaleSpeed(), Stop(0.01, 0.1), Deviate(1e-9)])
def test_metrics_and_secondary_rates_of_policies(policy):
    """v = J^# V + (1 - J^# J) v_0 with the weighted inverse, against its closed form."""
    rng = np.random.default_rng(7)
    J, V, v_0 = rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=3)
    M, C = np.diag([1.0, 4.0, 0.5]), np.diag([1.0, 9.0])
    options = {'joint_metric': M, 'task_metric': C, 'secondary': v_0}
    found = policy.follow(situation(J, V, 99.0, 99.0, 99.0, **options))
    inverse = np.linalg.inv(M) @ J.T @ np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    np.testing.assert_allclose(found.v, inverse @ V + v_0 - inverse @ J @ v_0, atol=1e-8)
    values = np.linalg.svd(np.diag([1.0, 3.0]) @ J @ np.diag([1.0, 0.5, 2**0.5]), compute_uv=False)
    assert found.smallest == pytest.approx(values[-1])
    low = J[:, :1] @ [[1.0, 1.0, 1.0]]  # rank 1: the task metric chooses what of V is reached
    nearest = policy.follow(situation(low, V, 99.0, 99.0, 99.0, **options))
    if isinstance(policy, Deviate):
        assert J[:, 0] @ C @ (nearest.executed - V) == pytest.approx(0.0, abs=1e-7)
    else:
        left = np.linalg.norm(V - J[:, 0] * (J[:, 0] @ C @ V) / (J[:, 0] @ C @ J[:, 0]))
        assert nearest.message.startswith(f'{left:.3g} of the twist')


def test_conflicts_of_the_bounds_are_reported_once():
    bounds = replace(within(9.0), conflicts=('a is outside',))
    status = SingularityStatus(np.eye(1), np.ones(1), bounds)
    assert ScaleSpeed().follow(status).message == 'a is outside; followed'
    assert Deviate(1e-6).follow(status).message == 'a is outside; reached'


@pytest.mark.parametrize(
    ('make', 'reason'),
    [
        (lambda: Stop(0.6, 0.6), 'needs stop < slow, got stop = 0.6 and slow = 0.6'),
        (lambda: Stop(0.0, 0.6), 'the singular value of rest'),
        (lambda: Stop(0.1, np.inf), 'the singular value of full speed'),
        (lambda: ScaleSpeed(-1e-9), 'the slowest scale'),
        (lambda: Deviate(0.0), 'the damping'),
        (lambda: situation(np.eye(2), [1.0, 2.0], 1.0), 'bounds are for 1 joint rates, J has 2'),
        (lambda: situation(np.eye(2), [1.0], 1.0, 1.0), r'the twist must have shape \(2,\)'),
        (lambda: situation([1.0], [1.0], 1.0), r'the Jacobian must have shape \(m, n\)'),
        (lambda: check_policy(ScaleSpeed), r'policy must be ScaleSpeed\(\), Stop'),
        (lambda: check_policy('stop'), "or Deviate.*, got 'stop'"),
    ],
)
def test_refusals(make, reason):
    with pytest.raises(ArgumentError, match=reason):
        make()
    check_policy(ScaleSpeed())
