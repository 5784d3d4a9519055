# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The global criterion: least RMS current over a path (C-038)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.textbook.redundancy import path_current
from screw_dynamics_ros.core.textbook.redundancy.path_current import PathProblem, least_current_path
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits
from support import planar_3r

DT = 0.075
N = 21
CONSTANTS = np.array([2.0, 1.0, 0.5])


@pytest.fixture(scope='module')
def arm():
    """The planar arm in a vertical plane, with rotors."""
    drives = {f'j{k}': Drive(rotor_inertia=0.02, gear_ratio=2.0) for k in (1, 2, 3)}
    return Robot(planar_3r.planar_3r(), backend='python', gravity=(0, -9.81, 0), drives=drives)


@pytest.fixture(scope='module')
def start(arm):
    """A path by the pseudo-inverse: the tip goes up by 0.8 m and back, smoothly."""
    q, path = np.array([0.3, 0.9, 0.6]), []
    tip = planar_3r.tip(q)
    for k in range(N):
        target = tip + [-0.4 * np.sin(np.pi * k / (N - 1)) ** 2, 0.0]
        for _ in range(8):
            J = planar_3r.jacobian(q)
            q = q + np.linalg.pinv(J) @ (target - planar_3r.tip(q))
        path.append(q)
    return np.array(path)


def test_rms_decreases_and_the_task_is_kept(arm, start):
    """C-038: below the pseudo-inverse, the tip on its path to 1e-9, a minimum."""
    found = least_current_path(
        arm, start, DT, 'tip', selection=planar_3r.IN_THE_PLANE, torque_constants=CONSTANTS, knots=4
    )
    assert found.success
    assert found.rms < 0.95 * found.initial_rms
    for q, before in zip(found.q, start):
        np.testing.assert_allclose(planar_3r.tip(q), planar_3r.tip(before), atol=1e-9)
    tau = np.array([arm.inverse_dynamics(*state) for state in zip(found.q, found.v, found.a)])
    np.testing.assert_allclose(found.currents, tau / CONSTANTS, atol=1e-9)
    assert found.rms == pytest.approx(np.sqrt((found.currents**2).sum(axis=1).mean()))


def test_gradient_and_derivatives(arm, start):
    """C-038: the exact gradient against differences; rates and accelerations of a known motion."""
    problem = PathProblem(
        arm, start, DT, 'tip', planar_3r.IN_THE_PLANE, CONSTANTS, 5, keep_ends=False
    )
    rng = np.random.default_rng(1)
    x, h = rng.uniform(-0.2, 0.2, 5), 1e-6
    _, gradient = problem.mean_square(x)
    differences = [
        (problem.mean_square(x + h * e)[0] - problem.mean_square(x - h * e)[0]) / (2 * h)
        for e in np.eye(5)
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)
    for limit in problem.limits():
        slope = limit['jac'](x)
        column = (limit['fun'](x + h * np.eye(5)[2]) - limit['fun'](x - h * np.eye(5)[2])) / (2 * h)
        np.testing.assert_allclose(slope[:, 2], column, atol=1e-6)
    t = DT * np.arange(N)
    v, a, _ = problem.motion(np.stack([np.sin(t), np.cos(t), t**2], axis=1))
    np.testing.assert_allclose(v[:, 0], np.cos(t), atol=1e-6)
    np.testing.assert_allclose(a[:, 2], 2.0, atol=1e-6)


def test_searches_that_do_not_suffice(arm, start, monkeypatch):
    """The best path so far, and that it is not known to be the best."""
    monkeypatch.setattr(path_current, 'SEARCHES', 1)
    options = {'selection': planar_3r.IN_THE_PLANE, 'torque_constants': CONSTANTS, 'knots': 4}
    found = least_current_path(arm, start, DT, 'tip', **options)
    assert (found.success, found.message) == (False, 'too many searches')
    assert found.rms < found.initial_rms


def test_limits_and_ends_are_kept(arm, start):
    """C-038: a limit that the free optimum breaks is respected, at some cost."""
    options = {'selection': planar_3r.IN_THE_PLANE, 'torque_constants': CONSTANTS, 'knots': 4}
    free = least_current_path(arm, start, DT, 'tip', **options)
    ended = least_current_path(arm, start, DT, 'tip', keep_ends=True, **{**options, 'knots': 6})
    np.testing.assert_allclose(ended.q[[0, -1]], start[[0, -1]], atol=1e-9)
    assert free.rms <= ended.rms <= ended.initial_rms

    class Narrow:
        """The same arm with the third joint kept near where it starts."""

        nq = nv = 3
        link_pose, jacobian = arm.link_pose, arm.jacobian
        inverse_dynamics = arm.inverse_dynamics
        inverse_dynamics_derivatives = arm.inverse_dynamics_derivatives
        lower = np.array([-np.inf, -np.inf, start[:, 2].min() - 0.05])
        limits = JointLimits(lower, np.full(3, np.inf), np.full(3, 1.0), np.full(3, np.inf))

    narrow = least_current_path(Narrow(), start, DT, 'tip', **options)
    assert free.q[:, 2].min() < Narrow.lower[2] or np.abs(free.v).max() > 1.0
    assert narrow.q[:, 2].min() >= Narrow.lower[2] - 1e-6
    assert np.abs(narrow.v).max() <= 1.0 + 1e-6
    assert free.rms < narrow.rms < narrow.initial_rms
    assert narrow.success
    gaps = narrow.q[:, 2].min() - Narrow.lower[2], 1.0 - np.abs(narrow.v).max()
    assert min(gaps) < 1e-4  # it goes as far as it may


def test_a_search_that_cannot_keep_a_limit_finds_nothing(arm, start):
    """Nor one that leaves the paths with these poses; the limit is that of the third joint."""

    class Limited:
        """The same arm with another lower limit."""

        nq = nv = 3
        link_pose, jacobian = arm.link_pose, arm.jacobian
        inverse_dynamics = arm.inverse_dynamics
        inverse_dynamics_derivatives = arm.inverse_dynamics_derivatives

        def __init__(self, raised):
            lower = np.array([-np.inf, -np.inf, start[:, 2].min() + raised])
            self.limits = JointLimits(lower, *np.full((3, 3), np.inf))

    def problem(raised):
        options = planar_3r.IN_THE_PLANE, CONSTANTS, 4, False
        return PathProblem(Limited(raised), start, DT, 'tip', *options)

    assert problem(0.02).broken_limit() == pytest.approx(0.02)
    assert problem(0.02).search(1e-3, 20) is None
    assert problem(-0.02).search(1e-3, 20).path[:, 2].min() > start[:, 2].min() - 0.02
    assert problem(-0.02).broken_limit() == pytest.approx(-0.02)
    far = problem(-9.0)
    assert np.isnan(far.path(np.full(far._size, 1e3))[0]).all()
    assert far.mean_square(np.full(far._size, 1e3))[0] == np.inf


def test_refusals(arm, start):
    plane = planar_3r.IN_THE_PLANE
    for path, options, message in [
        (start[:3], {}, 'N >= 6'),
        (start[:, :2], {}, 'needs shape'),
        (start * np.nan, {}, 'NaN'),
        (start, {'knots': 3}, 'at least 4'),
        (start, {'torque_constants': np.zeros(3)}, 'torque constants'),
        (start, {'selection': np.eye(6)[[2, 3, 4]]}, 'not redundant'),
        (np.concatenate([start, [[0.3, 0.0, 0.0]]]), {}, 'rank of the task changes'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            least_current_path(arm, path, DT, 'tip', **{'selection': plane, **options})
