# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""When the pose of a platform is certain: jumps, singularities, limits; and closed poses."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.path_tracking import follow, step_factors, unit
from screw_dynamics_ros.core.mechanisms.parallel.pose_tracking import PoseTracker
from support.parallel_robots import GOLDEN, moved

NOTHING = np.zeros(3)


@pytest.fixture(scope='module')
def robot():
    return ParallelRobot(example_mechanisms.stewart_gough(), 'reference')


@pytest.mark.parametrize(
    ('turn', 'shift', 'reason'),
    [
        ([0, 0, 0.29], NOTHING, ''),
        ([0, 0, 0.31], NOTHING, r'jumped by 0\.31 rad and .* m, more than 0\.3 rad or 0\.1 m'),
        (NOTHING, [0.06, 0.0, 0.075], ''),
        (
            NOTHING,
            [0.06, 0.0, 0.085],
            r'jumped by .* rad and 0\.104 m, more than 0\.3 rad or 0\.1 m',
        ),
    ],
)
def test_jumps(robot, turn, shift, reason):
    """Turns up to 0.3 rad and shifts up to 0.1 m from position to position."""
    tracker = PoseTracker(robot)
    np.testing.assert_allclose(tracker.update(robot.inverse_position(robot.home)), robot.home)
    T = moved(robot.home, turn, shift)
    if not reason:
        np.testing.assert_allclose(tracker.update(robot.inverse_position(T)), T, atol=1e-12)
        assert tracker.lost == ''
        return
    with pytest.raises(ArgumentError, match=f'assembly mode is lost: the pose has {reason}'):
        tracker.update(robot.inverse_position(T))
    assert tracker.lost.startswith('the pose has jumped')
    np.testing.assert_allclose(tracker.pose, robot.home)  # the last one that was certain


def test_the_first_pose_may_be_far_from_home(robot):
    tracker = PoseTracker(robot)
    T = moved(robot.home, [0.0, 0, 0.5], NOTHING)
    np.testing.assert_allclose(tracker.update(robot.inverse_position(T)), T, atol=1e-12)
    assert tracker.singularity.rank == 6
    tracker.reset(T)
    np.testing.assert_array_equal(tracker.pose, T)
    assert tracker.singularity is None
    tracker.reset()
    np.testing.assert_array_equal(tracker.pose, robot.home)


def test_limits_and_lengths_without_a_pose(robot):
    """Both are refused, and the mode is not lost by that."""
    tracker = PoseTracker(robot)
    with pytest.raises(ArgumentError, match="leg 'leg_2' would be too short"):
        tracker.update([0.6, 0.95, 0.6, 0.6, 0.6, 0.6])
    with pytest.raises(ArgumentError, match='no pose near the seed has these motor positions'):
        tracker.update([0.45, 0.9, 0.45, 0.9, 0.45, 0.9])
    assert tracker.lost == ''
    loose = PoseTracker(robot, tolerance=0.1)
    q = robot.inverse_position(robot.home) + [1e-3, 0, 0, 0, 0, 0]
    assert np.abs(loose.update(q) - tracker.update(q)).max() > 1e-4


def test_smallest_singular_value(robot):
    q = robot.inverse_position(robot.home)
    tracker = PoseTracker(robot, smallest_singular_value=0.0)
    tracker.update(q)
    smallest = tracker.singularity.singular_values[-1]
    PoseTracker(robot, smallest_singular_value=0.999 * smallest).update(q)
    strict = PoseTracker(robot, smallest_singular_value=1.001 * smallest)
    with pytest.raises(ArgumentError, match='near singularities assembly modes meet'):
        strict.update(q)
    assert f'is {smallest:.3g}, below {1.001 * smallest:.3g}' in strict.lost


@pytest.mark.parametrize(
    'options', [{'smallest_singular_value': -1.0}, {'largest_turn': 0.0}, {'largest_shift': np.nan}]
)
def test_options(robot, options):
    with pytest.raises(ArgumentError, match=next(iter(options))):
        PoseTracker(robot, **options)


# --- guards of forward and inverse positions ---


def test_limits_of_motors(robot):
    """Inclusive; names the leg and how it would have to be."""
    q = robot.inverse_position(robot.home)
    robot.check_limits(np.where(np.arange(6) == 3, [0.45] * 6, q))
    robot.check_limits(np.where(np.arange(6) == 3, [0.9] * 6, q))
    for bad, what in ((0.4499, 'long'), (0.9001, 'short')):
        with pytest.raises(
            ArgumentError,
            match=rf"'leg_4' would be too {what}: it would stand at {bad}, between 0\.45 and 0\.9",
        ):
            robot.check_limits(np.where(np.arange(6) == 3, bad, q))
    hexa = ParallelRobot(example_mechanisms.hexa(), 'reference')
    with pytest.raises(ArgumentError, match=r"'leg_1' would pass the limits .* 1\.5708 it can"):
        hexa.check_limits([1.6, 0, 0, 0, 0, 0])


def test_motor_positions_and_pose_that_do_not_belong_together(robot):
    q = robot.inverse_position(GOLDEN)
    size = robot.mechanism.size
    robot.check_closed(q + 0.9e-6 * size * np.eye(6)[2], GOLDEN)
    with pytest.raises(ArgumentError, match=r"rod of leg 'leg_3' would be 6e-07 m too long"):
        robot.check_closed(q + 1.2e-6 * size * np.eye(6)[2], GOLDEN)


def test_options_of_newton(robot):
    q = robot.inverse_position(GOLDEN)
    cut = robot.solve_forward_position(q, max_updates=2)
    assert (cut.success, cut.updates) == (False, 2)
    assert f'after 2 Newton steps a rod is still {cut.residual:.3g} m too long' in cut.message
    loose = robot.solve_forward_position(q, tolerance=1e-3)
    assert loose.success
    assert loose.updates < robot.solve_forward_position(q).updates
    assert 1e-12 < loose.residual <= 1e-3
    at_once = robot.solve_forward_position(q, GOLDEN, max_updates=0)
    assert (at_once.success, at_once.updates, at_once.message) == (True, 0, 'solved')
    for options, name in (({'tolerance': 0.0}, 'tolerance'), ({'max_updates': -1}, 'max_updates')):
        with pytest.raises(ArgumentError, match=name):
            robot.solve_forward_position(q, **options)
    with pytest.raises(ArgumentError, match='stewart_gough: no pose near the seed'):
        robot.forward_position(np.full(6, 50.0))


def test_cranks_in_line_with_their_rods():
    """Such a motor moves nothing: no force of it is finite."""
    robot = ParallelRobot(example_mechanisms.hexa(), 'reference')
    leg, T = robot.mechanism.legs[0], robot.home.copy()
    q = robot.inverse_position(T)
    along = leg.elbows(q[0])[0] - leg.base[0]
    end = leg.base[0] + along * (leg.crank + leg.length) / leg.crank
    T[:3, 3] = end - T[:3, :3] @ leg.platform[0]
    with pytest.raises(ArgumentError, match="leg 'leg_1' is singular: its rod has no lever"):
        robot.rod_wrenches(q, T)


# --- paths ---


def test_factors_of_steps():
    """0.7 errors^-0.2, from 0.1 to 3; at most a half after a step that is repeated."""
    errors = np.array([0.0, 1e-12, 1.0, 0.2, 1e6, np.inf, np.nan])
    good = np.ones(7, dtype=bool)
    expected = [3.0, 3.0, 0.7, 0.7 * 0.2**-0.2, 0.1, 0.1, 0.1]
    np.testing.assert_allclose(step_factors(errors, good), expected, rtol=1e-12)
    np.testing.assert_allclose(
        step_factors(errors, ~good), [0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1], rtol=1e-12
    )


def test_lengths_of_steps_along_paths_that_stay():
    """Of two equal systems: 0.02, three times as long in each step, arrive in five."""
    system = np.array([np.diag([-1.0, 1.0, 0.0]), np.diag([-4.0, 0.0, 1.0])], dtype=complex)
    points = unit(np.array([[1, 1, 2], [1, -1, 2]], dtype=complex))
    paths = follow(system, system, points)
    assert paths.steps == 5  # 0.02 (1 + 3 + 9 + 27) < 1 < 0.02 (1 + 3 + 9 + 27 + 81)
    assert paths.arrived.all()
    np.testing.assert_array_equal(paths.left, 0.0)
    np.testing.assert_allclose(paths.ends, points, atol=1e-15)
    np.testing.assert_allclose(paths.before_t, 1 - 0.02 * 40)
