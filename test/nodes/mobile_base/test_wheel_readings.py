"""From joint states to displacements, commands to twists, without ROS running."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import Odometry
from screw_dynamics_ros.nodes.mobile_base.assembly import make_base
from screw_dynamics_ros.nodes.mobile_base.command_filter import CommandFilter
from screw_dynamics_ros.nodes.mobile_base.followed_path import FollowedPath
from screw_dynamics_ros.nodes.mobile_base.parameters import TABLE
from screw_dynamics_ros.nodes.mobile_base.wheel_readings import PathLostError, WheelReadings

DEFAULTS = {s.name: [x for x in s.default if x] if s.default == [''] else s.default for s in TABLE}
WHEELS = {
    'wheel_radius': 0.1,
    'wheel_separation': 0.5,
    'left_wheel_names': ['l1', 'l2'],
    'right_wheel_names': ['r1', 'r2'],
}
NAMES = ['r1', 'r2', 'l1', 'l2', 'arm']
CAR = {
    'platform': 'bicycle',
    'wheel_radius': 0.3,
    'wheelbase': 1.2,
    'wheel_names': ['rear'],
    'steering_names': ['front'],
}
SECOND = 1_000_000_000


def read(readings, positions, t, names=NAMES, velocities=(), **limits):
    options = {'max_gap': 0.5, 'max_rate': 100.0, **limits}
    return readings.read(names, positions, velocities, round(t * SECOND), **options)


@pytest.fixture
def readings():
    """Readings of a platform with two wheels on each side, after one message."""
    made = WheelReadings(make_base({**DEFAULTS, **WHEELS}), True)
    assert read(made, [1.0, 1.0, 2.0, 2.0, 9.0], 10.0) is None
    return made


def test_wheels_of_one_side_are_averaged(readings):
    step = read(readings, [1.1, 1.3, 2.1, 2.1, 0.0], 10.1)
    np.testing.assert_allclose(step.displacements, [0.2, 0.1], atol=1e-12)
    assert step.dt == pytest.approx(0.1)
    assert step.stamp == round(10.1 * SECOND)


def test_velocities_are_integrated_by_trapezoids_and_steering_by_the_middle():
    made = WheelReadings(make_base({**DEFAULTS, **CAR}), False)
    names = ['front', 'rear']
    assert read(made, [0.2, 5.0], 1.0, names, [0.0, 2.0]) is None
    step = read(made, [0.4, 9.0], 1.1, names, [0.0, 4.0])
    np.testing.assert_allclose(step.displacements, [0.3], atol=1e-12)
    np.testing.assert_allclose(step.steering, [0.3], atol=1e-12)


def test_steering_that_passes_half_a_turn():
    """From 3.1 rad to -3.1 rad an encoder of one turn has moved through pi, not through zero."""
    made = WheelReadings(make_base({**DEFAULTS, **CAR}), False)
    names = ['front', 'rear']
    read(made, [3.1, 0.0], 1.0, names, [0.0, 2.0])
    step = read(made, [-3.1, 0.0], 1.1, names, [0.0, 2.0])
    np.testing.assert_allclose(step.steering, [np.pi], atol=1e-12)


@pytest.mark.parametrize(
    ('positions', 't', 'reason'),
    [
        ([1, 1, 2, 2, 0], 10.6, r'no joint state for 0.600 s, more than max_gap'),
        ([1, 1, 2, 2, 0], 8.0, r'went back by 2.000 s'),
        ([30, 30, 2, 2, 0], 10.1, r"wheel 'r1' jumped by 29 rad in 0.1000 s"),
    ],
)
def test_path_is_lost_and_goes_on_from_there(readings, positions, t, reason):
    with pytest.raises(PathLostError, match=reason):
        read(readings, positions, t)
    assert read(readings, positions, t + 0.1).displacements == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(
    ('positions', 't', 'names', 'reason'),
    [
        ([1, 1, 2, 2, 0], 9.9, NAMES, '0.100 s older'),
        ([1, 1, 2, 2], 10.1, NAMES, '4 values of position for 5 names'),
        ([1, np.nan, 2, 2, 0], 10.1, NAMES, 'not finite'),
        ([], 10.1, NAMES, 'missing'),
        ([1, 1, 2], 10.1, ['r1', 'r2', 'l1'], "no joint 'l2'"),
        ([1, 1, 2, 2, 0], 0.0, NAMES, 'no stamp'),
        ([7, 7, 7, 7, 0], 10.0, NAMES, 'stamp of the one before, but other numbers'),
        ([1, 1, 2, 2, 3], 10.1, ['r1', 'r2', 'l1', 'l2', 'r1'], "names joint 'r1' twice"),
    ],
)
def test_messages_that_cannot_be_used_change_nothing(readings, positions, t, names, reason):
    with pytest.raises(ArgumentError, match=reason):
        read(readings, positions, t, names)
    assert read(readings, [1.1, 1.1, 2, 2, 0], 10.2).displacements == pytest.approx([0.1, 0.0])


def test_other_robots_and_repeated_messages_are_left_aside(readings):
    assert read(readings, [1.0], 10.05, ['arm']) is None
    assert read(readings, [1, 1, 2, 2, 0], 10.0) is None
    assert read(readings, [1, 1, 2.5, 2.5, 0], 10.1).displacements == pytest.approx([0.0, 0.5])


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'wheel_radius': 0.0}, 'wheel_radius must be set to a positive length'),
        ({'wheel_separation': 0.0}, 'wheel_separation must be set'),
        ({'left_wheel_names': []}, 'left_wheel_names must name'),
        ({'left_wheel_names': ['r1']}, 'r1 is named twice'),
        ({'odom_joint_names': ['x', 'y']}, 'odom_joint_names must be three joints'),
        ({'platform': 'bicycle'}, 'wheelbase must be set'),
        ({**CAR, 'wheel_names': []}, 'wheel_names must be 1 joints for a bicycle'),
        ({**CAR, 'steering_names': []}, 'steering_names must be 1 joints'),
        ({'platform': 'swerve', 'wheel_names': ['a', 'b']}, 'wheel_positions must be x and y'),
        ({'platform': 'omnidirectional', 'robot_radius': 0.3}, 'at least 3 wheels'),
    ],
)
def test_parameters_that_do_not_fit(changes, reason):
    with pytest.raises(ArgumentError, match=reason):
        make_base({**DEFAULTS, **WHEELS, **changes})


@pytest.mark.parametrize(
    ('kind', 'wheels', 'steering'),
    [('ackermann', 2, 2), ('mecanum', 4, 0), ('omnidirectional', 3, 0), ('swerve', 2, 2)],
)
def test_other_platforms(kind, wheels, steering):
    base = make_base(
        {
            **DEFAULTS,
            **WHEELS,
            'platform': kind,
            'wheelbase': 0.7,
            'robot_radius': 0.3,
            'wheel_positions': [0.3, 0.0, -0.3, 0.0],
            'wheel_names': [f'w{k}' for k in range(wheels)],
            'steering_names': [f's{k}' for k in range(steering)],
        }
    )
    assert base.joints == (*(f'w{k}' for k in range(wheels)), *(f's{k}' for k in range(steering)))


def test_path_is_lost_where_the_wheels_do_not_tell_it():
    """A front wheel across a driven rear wheel: nothing tells how the car turns (C-135)."""
    base = make_base({**DEFAULTS, **CAR})
    path = FollowedPath(Odometry(base.platform), WheelReadings(base, True))

    def follow(rear, front, t):
        return path.follow(['rear', 'front'], [rear, front], [], round(t * SECOND), 0.5, 100.0)

    follow(0.0, 0.0, 1.0)
    assert follow(0.1, 0.0, 1.1) is not None
    assert path.distance == pytest.approx(0.03)
    across = np.pi / 2
    assert follow(0.2, 2 * across, 1.2) is None  # the angle in the middle is across
    assert 'do not determine the motion' in path.lost
    pose = path.odometry.pose
    assert follow(0.3, 0.0, 1.3) is None
    assert follow(0.4, 0.0, 1.4) is None
    np.testing.assert_array_equal(path.odometry.pose, pose)
    path.odometry.reset()
    path.restart()
    follow(0.4, 0.0, 1.5)
    assert follow(0.5, 0.0, 1.6) is not None
    assert path.lost == ''


def test_slip_of_wheels_that_disagree_is_measured():
    names = ['a', 'b', 'c', 'd']
    mecanum = {'platform': 'mecanum', 'wheel_names': names, 'wheelbase': 0.6}
    base = make_base({**DEFAULTS, **WHEELS, **mecanum})
    path = FollowedPath(Odometry(base.platform), WheelReadings(base, True))
    for k, positions in enumerate(([0, 0, 0, 0], [1, 1, 1, 1.4])):
        path.follow(names, positions, [], (10 + k) * SECOND // 10, 0.5, 100.0)
    assert path.slip == pytest.approx(0.1 * 0.1 / 0.1)  # a quarter of 0.4 rad in 0.1 s


# --- commands ------------------------------------------------------------------------------------


def filter_of(**changes):
    values = {**DEFAULTS, **WHEELS, **changes}
    return CommandFilter(make_base(values).platform, lambda: values)


def test_command_is_filtered_and_ends_with_zero():
    """Sideways is taken out; after the timeout the platform stops, then nothing is sent."""
    commands = filter_of(cmd_vel_timeout=0.1, **{'linear.x.max_acceleration': 10.0})
    assert commands.next(0.0, 0.02) is None
    commands.take([0.5, 1.0, 0.3], 0.0)
    first = commands.next(0.02, 0.02)
    np.testing.assert_allclose(first, [0.5, 0.2, 0.0], atol=1e-12)
    assert 'cannot make' in commands.acting
    assert 'limits' in commands.acting
    sent = [commands.next(t, 0.02) for t in np.arange(2, 20) * 0.02]
    ends = [k for k, twist in enumerate(sent) if twist is None]
    assert not sent[ends[0] - 1].any()
    assert all(twist is None for twist in sent[ends[0] :])
    assert max(twist[1] for twist in sent[: ends[0]]) == pytest.approx(1.0)


def test_curvature_of_commands_is_that_of_the_steering():
    commands = filter_of(**CAR, max_steering_angle=0.35)
    commands.take([2.0, 1.0, 0.0], 0.0)
    omega, v, _ = commands.next(0.01, 0.01)
    assert (omega, v) == pytest.approx((np.tan(0.35) / 1.2, 1.0))


def test_bad_command_leaves_the_one_before_in_force():
    commands = filter_of()
    commands.take([0.0, 1.0, 0.0], 0.0)
    with pytest.raises(ArgumentError, match='not finite'):
        commands.take([np.nan, 0.0, 0.0], 0.1)
    np.testing.assert_allclose(commands.next(0.2, 0.1), [0.0, 1.0, 0.0], atol=1e-12)
