# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options and tolerances of path optimization, of drift, and of singularities by closure."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.textbook.redundancy.cyclicity import cyclic_velocity, drift
from screw_dynamics_ros.core.textbook.redundancy.implicit_singularities import classify_singularity
from screw_dynamics_ros.core.textbook.redundancy.path_current import PathProblem, least_current_path
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits
from support import planar_3r

PLANE = planar_3r.IN_THE_PLANE
DT = 0.1


@pytest.fixture(scope='module')
def arm():
    return Robot(planar_3r.planar_3r(), backend='python', gravity=(0, -9.81, 0))


@pytest.fixture(scope='module')
def start():
    """A path of seven samples on which the tip goes down and back."""
    q, path = np.array([0.3, 0.9, 0.6]), []
    tip = planar_3r.tip(q)
    for k in range(7):
        target = tip + [-0.2 * np.sin(np.pi * k / 6) ** 2, 0.0]
        for _ in range(8):
            q = q + np.linalg.pinv(planar_3r.jacobian(q)) @ (target - planar_3r.tip(q))
        path.append(q)
    return np.array(path)


class Limited:
    """The arm with other limits."""

    nq = nv = 3

    def __init__(self, arm, **limits):
        free = np.full(3, np.inf)
        self.limits = JointLimits(
            **{'lower': -free, 'upper': free, 'velocity': free, 'effort': free, **limits}
        )
        self.link_pose, self.jacobian = arm.link_pose, arm.jacobian
        self.inverse_dynamics = arm.inverse_dynamics
        self.inverse_dynamics_derivatives = arm.inverse_dynamics_derivatives


def problem(arm, start, **options):
    arguments = {
        'selection': PLANE, 'torque_constants': None, 'knots': 4, 'keep_ends': False, **options,
    }  # fmt: skip
    return PathProblem(arm, start, DT, 'tip', **arguments)


def test_currents_of_a_path(arm, start):
    """Root of the mean square of torque over torque constant, 1 by default."""
    for constants in (None, np.array([2.0, 1.0, 0.5])):
        found = problem(arm, start, torque_constants=constants)
        v, a, currents = found.motion(start)
        tau = np.array([arm.inverse_dynamics(*state) for state in zip(start, v, a)])
        expected = tau / (1.0 if constants is None else constants)
        np.testing.assert_allclose(currents, expected, atol=1e-9)
        assert found.rms == pytest.approx(np.sqrt((expected**2).sum(axis=1).mean()))


def test_paths_have_the_poses_of_the_start(arm, start):
    """Whatever the knots; the null-space coordinates are those of the spline through them."""
    found = problem(arm, start)
    x = np.array([0.1, -0.2, 0.15, 0.05])
    q, slopes = found.path(x)
    for moved, before in zip(q, start):
        np.testing.assert_allclose(planar_3r.tip(moved), planar_3r.tip(before), atol=1e-9)
    free = [np.linalg.svd(planar_3r.jacobian(each))[2][2] for each in start]
    s = np.abs([z @ (a - b) for z, a, b in zip(free, q, start)])
    t = np.linspace(0.0, 3.0, 7)
    cubic = np.polyfit(np.arange(4.0), x, 3)  # four knots: one cubic
    np.testing.assert_allclose(s, np.abs(np.polyval(cubic, t)), atol=1e-9)
    for J, slope in zip(map(planar_3r.jacobian, q), slopes):
        np.testing.assert_allclose(J @ slope, 0.0, atol=1e-9)
    ended = problem(arm, start, knots=5, keep_ends=True)
    ends, _ = ended.path(np.array([0.1, -0.1, 0.2]))
    np.testing.assert_allclose(ends[[0, -1]], start[[0, -1]], atol=1e-12)
    assert np.isnan(found.path(np.full(4, 50.0))[0]).all()
    assert found.mean_square(np.full(4, 50.0))[0] == np.inf


@pytest.mark.parametrize(('over', 'is_broken'), [(0.9e-6, False), (1.1e-6, True)])
def test_limits_that_the_start_breaks(arm, start, over, is_broken):
    """Of position on both sides, and of velocity in both directions."""
    v = problem(arm, start).motion(start)[0]
    for limits in (
        {'upper': start.max(axis=0) - [0.0, over, -1.0]},
        {'lower': start.min(axis=0) + [0.0, over, -1.0]},
        {'velocity': np.array([np.inf, np.abs(v[:, 1]).max() - over, np.inf])},
        {'velocity': np.array([np.abs(v[:, 0]).max() - over, np.inf, np.inf])},
    ):
        robot = Limited(arm, **limits)
        assert problem(robot, start).broken_limit() == pytest.approx(over, rel=1e-6)
        found = least_current_path(
            robot, start, DT, 'tip', selection=PLANE, knots=4, max_iterations=0
        )
        assert found.message.startswith('a limit is violated by 1.1e-06; ') is is_broken
        assert not (is_broken and found.success)
    assert problem(arm, start).broken_limit() < 0.0
    assert problem(Limited(arm), start).broken_limit() == 0.0


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'knots': 3}, 'knots must be at least 4, for a cubic spline, got 3'),
        ({'torque_constants': [1.0, 1.0]}, 'must be 3 positive numbers'),
        ({'torque_constants': [1.0, 1.0, -1.0]}, 'must be 3 positive numbers'),
        ({'max_iterations': -1}, 'max_iterations'),
    ],
)
def test_refused_options(arm, start, options, message):
    with pytest.raises(ArgumentError, match=message):
        least_current_path(arm, start, DT, 'tip', **{'selection': PLANE, **options})
    with pytest.raises(ArgumentError, match='dt'):
        least_current_path(arm, start, 0.0, 'tip', selection=PLANE)
    with pytest.raises(ArgumentError, match=r'shape \(N, 3\) with N >= 6 .* got \(5, 3\)'):
        least_current_path(arm, start[:5], DT, 'tip', selection=PLANE)
    problem(arm, start[:6])


# --- drift ----------------------------------------------------------------------------------------


def turning(q, V):
    return np.array([q[1] + V[0], -q[0]])


def test_drift_is_integrated_to_fourth_order():
    """Against scipy: half the step, a sixteenth of the error; the path is that of its time."""

    def twist(t):
        return [np.sin(3.0 * t)]

    exact = solve_ivp(
        lambda t, q: turning(q, twist(t)), (0.0, 1.5), [0.3, -0.2], rtol=1e-12, atol=1e-12
    ).y[:, -1]
    errors = [
        np.abs(drift(turning, [0.3, -0.2], twist, period=1.5, steps=steps).cycles[-1] - exact).max()
        for steps in (10, 20)
    ]
    assert 12.0 < errors[0] / errors[1] < 20.0
    assert errors[1] < 1e-5


def test_drift_of_several_cycles():
    """A constant rate: each cycle moves by the same distance, and starts its path again."""
    found = drift(
        lambda q, V: np.array([3.0, 4.0]) + V, [1.0, 1.0], lambda t: [np.cos(np.pi * t)] * 2,
        period=2.0, cycles=3, steps=20,
    )  # fmt: skip
    np.testing.assert_allclose(found.after_each, 10.0)
    assert found.total == pytest.approx(30.0)
    assert found.cycles.shape == (4, 2)
    assert not found.cyclic
    for tolerance, is_cyclic in ((10.1, True), (9.9, False)):
        still = drift(
            lambda q, V: np.array([3.0, 4.0]), [1.0, 1.0], lambda t: [0.0], period=2.0,
            tolerance=tolerance,
        )  # fmt: skip
        assert still.cyclic is is_cyclic
        assert len(still.cycles) == 2
    with pytest.raises(ArgumentError, match='steps must be at least 1'):
        drift(turning, [0.0, 0.0], lambda t: [0.0], steps=0)
    with pytest.raises(ArgumentError, match='tolerance'):
        drift(turning, [0.0, 0.0], lambda t: [0.0], tolerance=-1.0)
    with pytest.raises(ArgumentError, match='the twist holds NaN'):
        drift(turning, [0.0, 0.0], lambda t: [np.nan])


def test_rates_that_keep_an_extremum():
    """J v = V and h' = -gain h, h' by differences of h = Z^T grad H with Z of a smooth basis."""
    q, V = np.array([0.3, 0.7, 0.6]), np.array([0.2, -0.1])
    K, center = np.diag([1.0, 2.0, 3.0]), np.array([0.1, -0.4, 0.5])
    Z = np.linalg.svd(planar_3r.jacobian(q))[2][2]

    def h(x):
        free = np.linalg.svd(planar_3r.jacobian(x))[2][2]
        return np.sign(free @ Z) * free @ K @ (x - center)

    for gain in (0.0, 3.0):
        v = cyclic_velocity(
            planar_3r.jacobian(q), planar_3r.partials(q), V, K @ (q - center), K, gain
        )
        np.testing.assert_allclose(planar_3r.jacobian(q) @ v, V, atol=1e-12)
        step = 1e-6
        rate = (h(q + step * v) - h(q - step * v)) / (2 * step)
        assert rate == pytest.approx(-gain * h(q), abs=1e-7)
    with pytest.raises(ArgumentError, match='gain'):
        cyclic_velocity(np.eye(2, 3), np.zeros((2, 3, 3)), V, q, K, -1.0)
    default = cyclic_velocity(planar_3r.jacobian(q), planar_3r.partials(q), V, K @ q, K)
    ten = cyclic_velocity(planar_3r.jacobian(q), planar_3r.partials(q), V, K @ q, K, 10.0)
    np.testing.assert_array_equal(default, ten)


# --- singularities by closure equations -----------------------------------------------------------


@pytest.mark.parametrize(('small', 'kind'), [(0.9e-3, 'inverse'), (1.1e-3, 'regular')])
def test_the_tolerance_is_a_share_of_the_largest_singular_value(small, kind):
    """Of the whole, here 2: what an actuated joint contributes beside it."""
    f_X, f_q = 1.9 * np.eye(1), np.array([[2.0 * small]])
    size = np.hypot(1.9, 2.0 * small) / 2.0
    found = classify_singularity(f_X, f_q, tolerance=1e-3 / size)
    assert found.kind == kind
    assert found.jacobian[0, 0] == pytest.approx(-2.0 * small / 1.9)


def test_motions_and_messages():
    f = classify_singularity(np.diag([1.0, 0.0]), np.eye(2))
    assert (f.kind, f.jacobian) == ('forward', None)
    np.testing.assert_allclose(np.abs(f.free_motions), [[0.0], [1.0]])
    assert f.message == 'forward type: X moves in 1 ways while actuated joints are locked'
    i = classify_singularity(np.eye(2), np.zeros((2, 2)))
    assert i.message == 'inverse type: actuated joints move in 2 ways while X is at rest'
    np.testing.assert_allclose(i.idle_motions.T @ i.idle_motions, np.eye(2))
    lost = classify_singularity(np.eye(2)[:, :1], np.zeros((2, 1)), equations=2)
    assert (lost.rank, lost.equations) == (1, 2)
    assert lost.message.endswith('; 1 closure equations have become dependent')
    free = classify_singularity(np.eye(1), np.eye(1), np.zeros((1, 2)))
    assert free.message == 'passive joints alone can move in 2 ways'
    assert free.passive_motions.shape == (2, 2)
    nothing = classify_singularity(np.zeros((1, 0)), np.zeros((1, 0)))
    assert (nothing.kind, nothing.rank) == ('regular', 0)
    with pytest.raises(ArgumentError, match='got 2, 3 and 2'):
        classify_singularity(np.eye(2), np.eye(3), np.eye(2))
    with pytest.raises(ArgumentError, match='the number of independent equations'):
        classify_singularity(np.eye(2), np.eye(2), equations=-1)


def test_jacobians_with_passive_joints_eliminated():
    """dX/dq of linear equations, against the solution for X' and p' together."""
    rng = np.random.default_rng(4)
    f_X, f_q, f_p = rng.normal(size=(5, 3)), rng.normal(size=(5, 4)), rng.normal(size=(5, 2))
    found = classify_singularity(f_X, f_q, f_p)
    both = -np.linalg.solve(np.hstack([f_X, f_p]), f_q)
    np.testing.assert_allclose(found.jacobian, both[:3], atol=1e-10)
    assert found.kind == 'regular'
