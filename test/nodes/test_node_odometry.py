# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node odometry: poses, resets, lost paths, commands.

In the process of the tests, whose clock they turn; as a node of its own through DDS.
"""

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.mobile import Odometry, WheelNoise, differential_drive
from screw_dynamics_ros.nodes.mobile_base.odometry_node import OdometryNode
from support.ros_harness import stamp_of

NAMES = ['right', 'left']
WHEELS = {
    'wheel_radius': 0.1,
    'wheel_separation': 0.5,
    'left_wheel_names': ['left'],
    'right_wheel_names': ['right'],
    'publish_rate': 1000.0,
    'odom_joint_names': ['base1', 'base2', 'base3'],
}


class Base:
    """A platform at rest that turns its wheels as commanded."""

    def __init__(self, bench):
        self.bench, self.wheels, self.stamp = bench, np.zeros(2), bench.clock.time_ns()
        self.poses = bench.sent['odom']
        self.turn([0.0, 0.0])

    def send(self, names, position, step=0.01):
        """Send a joint state `step` seconds after the one before; return its stamp."""
        if step > 0.0:
            self.bench.go_on(step)
            self.stamp = self.bench.clock.time_ns()
        else:
            self.stamp += round(step * 1e9)
        message = JointState(name=names, position=[float(x) for x in position])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp, 10**9)
        self.bench.hear('joint_states', message)
        return self.stamp

    def turn(self, wheels, step=0.1):
        """Turn the wheels by some angles; return the stamp."""
        self.wheels = self.wheels + wheels
        return self.send(NAMES, self.wheels, step)

    def recover(self):
        """Send good states until nothing of before is reported."""
        for _ in range(35):
            self.turn([0.0, 0.0])
        self.check(0)

    def after(self, wheels):
        """Return the pose published for the state after the wheels have turned."""
        stamp = self.turn(wheels)
        assert stamp_of(self.poses[-1]) == stamp
        return self.poses[-1]

    def reset(self):
        assert self.bench.trigger('reset').success
        self.turn([0.0, 0.0])

    def check(self, level, *texts):
        status = self.bench.status()
        assert status.level == level, status.summary
        for text in texts:
            assert text in status.summary


@pytest.fixture
def make(node_bench):
    return lambda **parameters: node_bench(OdometryNode, **{**WHEELS, **parameters})


@pytest.fixture
def base(make):
    return Base(make(**{'linear.x.max_velocity': 0.5}))


@pytest.mark.parametrize(
    ('step', 'expected'), [(0.01, [1, 11, 21, 31]), (0.03, [1, 5, 8, 11]), (0.2, [1, 2, 3, 4])]
)
def test_poses_are_published_at_a_rate(make, step, expected):
    base = Base(make(publish_rate=10.0))
    states = [base.turn([0.0, 0.0], step) for _ in range(31)]
    sent = [states.index(stamp_of(each)) + 1 for each in base.poses if stamp_of(each) in states]
    assert sent[:4] == expected


def planar(message):
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return np.array([2 * np.arctan2(o.z, o.w), p.x, p.y])


def test_poses_are_those_of_the_core(base):
    """Pose, covariance, twist and TF of a drive, with the stamps of the joint states (C-135)."""
    model = Odometry(differential_drive(0.5, 0.1), WheelNoise(1e-4, 1e-5))
    for wheels in ([1.6, 1.0], [1.0, 1.0], [0.2, -0.3]):
        message = base.after(wheels)
        model.update(wheels)
    np.testing.assert_allclose(planar(message), model.pose, atol=1e-12)
    assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')
    P = np.reshape(message.pose.covariance, (6, 6))
    places = np.ix_([5, 0, 1], [5, 0, 1])
    np.testing.assert_allclose(
        P[places], model.reference_covariance + 1e-6 * np.eye(3), rtol=1e-9, atol=1e-15
    )
    assert P[2, 2] == 1e-6
    t = message.twist.twist
    expected = model.platform.twist(np.array([0.2, -0.3]) / 0.1)
    np.testing.assert_allclose([t.angular.z, t.linear.x, t.linear.y], expected, atol=1e-9)
    transform = base.bench.sent['tf'][-1].transforms[0]
    assert stamp_of(transform) == stamp_of(message)
    assert (transform.header.frame_id, transform.child_frame_id) == ('odom', 'base_link')
    assert transform.transform.translation.x == message.pose.pose.position.x
    state = base.bench.sent['joint_states'][-1]
    assert stamp_of(state) == stamp_of(message)
    assert list(state.name) == ['base1', 'base2', 'base3']
    phi, x, y = model.pose
    np.testing.assert_allclose(state.position, [x, y, phi], atol=1e-12)
    forward = expected[1] * np.array([np.cos(phi), np.sin(phi)])
    np.testing.assert_allclose(state.velocity, [*forward, expected[0]], atol=1e-9)
    base.check(0)


@pytest.mark.parametrize(
    ('wheels', 'step', 'reason'),
    [
        ([0.1, 0.1], 2.0, 'no joint state for 2.000 s'),
        ([0.1, 0.1], -5.0, 'clock of joint_states went back by 5.000 s'),
        ([1e4, 0.0], 0.1, "wheel 'right' jumped by 1e+04 rad"),
    ],
)
def test_lost_path_is_not_published_until_a_reset(base, wheels, step, reason):
    base.turn([0.0, 0.0])
    count = len(base.poses)
    base.turn(wheels, step)
    base.check(2, 'the path is lost', reason, '~/reset')
    base.turn([0.0, 0.0])
    assert len(base.poses) == count > 0
    base.reset()
    np.testing.assert_allclose(planar(base.after([1.0, 1.0])), [0.0, 0.1, 0.0], atol=1e-12)
    base.recover()


def test_wheels_of_two_publishers_are_merged(base):
    """Each reports one side; joints of others on the same topic do not matter."""
    left, right = 0.0, 0.0
    for _ in range(10):
        right += 1.0
        base.send(['right', 'arm'], [right, 7.0])
        left += 1.0
        base.send(['left'], [left], 1e-4)
        base.send(['gripper'], [0.1], 1e-4)
    base.check(0)
    np.testing.assert_allclose(planar(base.poses[-1]), [0.0, 1.0, 0.0], atol=1e-12)
    assert len(base.poses) == 10
    for k in range(1, 4):  # the same stamp for both: the second one shows with the next state
        base.send(['right'], [10.0 + 0.1 * k])
        base.send(['left'], [10.0 + 0.1 * k], 0.0)
    np.testing.assert_allclose(planar(base.after([10.3, 10.3])), [0.0, 1.03, 0.0], atol=1e-3)
    base.check(0)


def test_states_in_doubt_are_refused_and_counted(base):
    """By the policies of all nodes: NaN, a stamp that is late, one that is too old."""
    base.turn([0.0, 0.0])
    count = len(base.poses)
    for _ in range(3):
        base.send(NAMES, [float('nan'), 0.0])
    base.check(1, 'a position is missing or not a finite number: right (position_policy: reject)')
    assert base.bench.status().values['position_missing count'] == '3'
    base.send(NAMES, [0.0, 0.0], -0.2)
    base.check(1, 'the stamp is older than that of the previous message: by 0.200000 s')
    assert len(base.poses) == count
    assert base.bench.set(max_stamp_age=1.0).successful
    base.send(NAMES, [0.0, 0.0], -2.0)
    base.check(1, 'the stamp is older than max_stamp_age: 2.2')
    assert len(base.poses) == count
    base.recover()
    assert not base.bench.set(velocity_policy='guess').successful


def test_velocities_that_contradict_the_positions_stop_the_odometry(make):
    """They are in rpm; with `velocity_policy` differentiate there is a path again."""
    bench = make(position_feedback=False)
    base = Base(bench)

    def drive(count):
        """Drive at 2 rad/s for a number of states; return that of poses."""
        before = len(base.poses)
        for _ in range(count):
            bench.go_on(0.02)
            base.wheels = base.wheels + 0.04
            message = JointState(name=NAMES, position=list(base.wheels), velocity=[19.1] * 2)
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(bench.clock.time_ns(), 10**9)
            bench.hear('joint_states', message)
        return len(base.poses) - before

    assert drive(120) > 90  # 2 s, until the next housekeeping
    assert drive(20) == 0
    base.check(2, 'joints right, left: the velocities are in rpm', 'are ignored')
    assert bench.set(velocity_policy='differentiate').successful
    drive(2)
    assert bench.trigger('reset').success  # the path was lost
    assert drive(40) > 30
    base.check(2, 'are ignored (velocity_policy: differentiate)')
    assert base.poses[-1].twist.twist.linear.x == pytest.approx(0.2)


def test_velocities_need_no_positions(make):
    """With position_feedback: false, as in diff_drive_controller; without either it says so."""
    bench = make(position_feedback=False)

    def send(**fields):
        bench.go_on(0.1)
        message = JointState(name=NAMES, **fields)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(
            bench.clock.time_ns(), 10**9
        )
        bench.hear('joint_states', message)

    for _ in range(3):
        send(velocity=[1.0, 1.0])
    np.testing.assert_allclose(planar(bench.sent['odom'][-1]), [0.0, 0.02, 0.0], atol=1e-9)
    send(position=[1.0, 1.0])
    assert len(bench.sent['odom']) == 2
    assert 'a velocity is missing or not a finite number: right, left' in bench.status().summary


def test_joint_states_that_end_are_reported(base):
    """An error without them, gone with the next step."""
    base.bench.set(max_gap=60.0)
    base.turn([0.0, 0.0])
    base.bench.go_on(0.4)
    base.check(0)
    base.bench.go_on(0.2)
    base.check(2, 'no step of right, left in joint_states for 0.6')
    base.recover()


def test_pose_is_set(base):
    """With its covariance, in the axes of odom; a pose in another frame is refused."""
    message = PoseWithCovarianceStamped()
    message.pose.pose.position.x, message.pose.pose.position.y = 3.0, -2.0
    message.pose.pose.orientation.z = message.pose.pose.orientation.w = np.sqrt(0.5)
    covariance = np.zeros((6, 6))
    covariance[0, 0], covariance[1, 1], covariance[5, 5] = 0.04, 0.01, 0.02
    message.pose.covariance = covariance.ravel().tolist()
    message.header.frame_id = 'map'
    base.bench.hear('set_pose', message)
    base.check(1, "'map' instead of 'odom'")
    message.header.frame_id = 'odom'
    base.bench.hear('set_pose', message)
    base.check(0)
    base.turn([0.0, 0.0])
    found = base.after([0.0, 0.0])
    np.testing.assert_allclose(planar(found), [np.pi / 2, 3.0, -2.0], atol=1e-12)
    P = np.reshape(found.pose.covariance, (6, 6))
    np.testing.assert_allclose(np.diag(P)[[0, 1, 5]], [0.04, 0.01, 0.02], atol=2e-6)


def test_commands_are_filtered_and_end(base):
    """Sideways and too fast: taken out, limited; zero at the end of cmd_vel_timeout (C-134)."""
    bench, message = base.bench, TwistStamped()
    bench.set(max_gap=60.0, state_timeout=60.0)
    received = bench.sent['cmd_vel_out']
    message.twist.linear.x, message.twist.linear.y, message.twist.angular.z = 2.0, 0.3, 0.4
    bench.go_on(0.01)
    assert not received
    bench.hear('cmd_vel', message)
    bench.go_on(0.48)
    assert len(received) == pytest.approx(480, abs=1)
    for each in received:
        t = each.twist
        assert (t.linear.x, t.linear.y, t.angular.z) == pytest.approx((0.5, 0.0, 0.4), abs=1e-12)
        assert each.header.frame_id == 'base_link'
    received.clear()
    bench.go_on(1.0)
    assert received[-1].twist == Twist()
    assert len(received) < 25  # then nothing is sent any more
    old = TwistStamped(twist=message.twist)
    old.header.stamp.sec = bench.clock.time_ns() // 10**9 - 100
    bench.hear('cmd_vel', old)
    base.turn([0.0, 0.0])
    base.check(1, 's old')
    message.twist.linear.x = float('nan')
    bench.hear('cmd_vel', message)
    base.check(1, 'not finite')
    message.twist.linear.x = 0.1
    bench.hear('cmd_vel', message)
    base.check(0)
    plain = Twist()
    plain.linear.x = 0.25
    bench.hear('cmd_vel_unstamped', plain)
    bench.go_on(0.01)
    assert received[-1].twist.linear.x == 0.25


def test_rates_of_joint_states_are_reported(base):
    base.bench.status()
    for _ in range(5):
        base.turn([0.0, 0.0], 0.02)
    assert float(base.bench.status().values['rate [Hz]']) == pytest.approx(50.0, abs=0.2)


def test_changed_limits_apply_to_the_command_that_acts(base):
    bench, message = base.bench, Twist()
    message.linear.x = 2.0
    for limit in (0.5, 0.2, 0.7):
        assert bench.set(**{'linear.x.max_velocity': limit}).successful
        bench.hear('cmd_vel_unstamped', message)
        bench.go_on(0.1)
        assert bench.sent['cmd_vel_out'][-1].twist.linear.x == pytest.approx(limit)


def test_late_states_are_skipped(base):
    """By the time of their sender; and a fault while one is used ends nothing."""
    bench, tested = base.bench, base.bench.tested
    heard, delay = bench._heard['joint_states'], [0.0]
    hear = heard.callback
    heard.callback = lambda data: hear(
        data, {'source_timestamp': bench.clock.time_ns() - round(1e9 * delay[0])}
    )
    assert bench.set(max_delay=0.1).successful
    base.turn([0.1, 0.1])
    base.after([0.1, 0.1])
    count, delay[0] = len(base.poses), 0.3
    base.turn([0.1, 0.1])
    assert len(base.poses) == count
    load = tested._states.load
    assert load.late == 1
    assert load.delay == pytest.approx(0.3, abs=0.01)
    assert load.last_late == pytest.approx(bench.clock.monotonic())
    delay[0] = 0.0
    base.after([0.1, 0.1])
    follow = tested._path.follow
    tested._path.follow = lambda *_: 1 / 0
    base.turn([0.1, 0.1])
    assert bench.faults() == ['a joint state']
    tested._path.follow = follow
    base.recover()


def test_commands_end_when_the_clock_is_set_back(base):
    """A simulation that restarts does not leave the platform moving until the old time is reached.

    Commands stamped in the future, by another clock, would do the same.
    """
    bench, message = base.bench, TwistStamped()
    received = bench.sent['cmd_vel_out']
    message.twist.linear.x = 0.25
    bench.hear('cmd_vel', message)
    bench.go_on(0.1)
    assert received[-1].twist.linear.x == 0.25
    bench.set_back(1000.0)
    bench.go_on(0.1)
    assert received[-1].twist == Twist()
    message.header.stamp.sec = bench.clock.time_ns() // 10**9 + 100
    received.clear()
    bench.hear('cmd_vel', message)
    bench.go_on(0.1)
    assert not received
    assert 's in the future, more than cmd_vel_timeout' in bench.status().summary


@pytest.mark.parametrize('open_loop', [False, True])
def test_a_simulated_clock_that_does_not_run_is_reported(make, open_loop):
    """Nothing is published meanwhile, neither poses in open loop nor commands."""
    bench = make(open_loop=open_loop)
    bench.set(use_sim_time=True)
    bench.node.get_clock().set_ros_time_override(Time(nanoseconds=0))
    assert 'no message has arrived on /clock' in bench.tested.status().summary
    bench.go_on(0.1)
    assert '/clock' not in bench.tested.status().summary


HOSTILE = (0.0, 1.0, -1.0, 3.2, 1e3, 1e17, -1e155, 1e200, 1.7e308, -1.7e308, np.nan, np.inf, 1e-320)


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_hostile_commands_in_open_loop(make):
    """Whatever is commanded, what is published is finite and continuous at 1e6 m/s."""
    random, bench, message = np.random.default_rng(0), make(open_loop=True), Twist()
    for _ in range(200):
        t = message.linear, message.angular
        t[0].x, t[0].y, t[1].z = map(float, random.choice(HOSTILE, 3))
        bench.hear('cmd_vel_unstamped', message)
        bench.go_on(0.003)
    for each in bench.sent['cmd_vel_out']:
        assert np.abs([each.twist.linear.x, each.twist.angular.z]).max() <= 1e6
    for each in bench.sent['odom']:
        assert np.isfinite([*planar(each), *each.pose.covariance, *each.twist.covariance]).all()
    assert bench.faults() == []
    message.linear.x, message.linear.y, message.angular.z = 1e7, 0.0, 0.0
    bench.hear('cmd_vel_unstamped', message)
    assert 'not finite, or above 1e+06' in bench.status().summary


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_hostile_states_and_poses(base):
    """Positions of any size, names missing and twice, steps of any length, poses of anyone.

    A pose is published only for a whole state after a whole one, and never one that is not finite.
    """
    random, bench = np.random.default_rng(1), base.bench
    for _ in range(500):
        names = [NAMES, NAMES[:1], [], NAMES * 2][random.choice(4, p=[0.8, 0.1, 0.05, 0.05])]
        wild = random.random(len(names)) < 0.1
        position = np.where(wild, random.choice(HOSTILE, len(names)), base.wheels[0])
        before = len(base.poses)
        base.send(names, position, float(random.choice([0.01, 0.1, 0.6, -0.1, -5.0, 0.0, 1e-9])))
        assert len(base.poses) == before or (names == NAMES and np.isfinite(position).all())
        if random.random() < 0.2:
            message = PoseWithCovarianceStamped()
            message.header.frame_id = str(random.choice(['odom', 'map', 'x' * 10_000, '\n']))
            message.pose.pose.orientation.w = 1.0
            message.pose.pose.position.x = float(random.choice(HOSTILE))
            wild = random.random(36) < 0.02
            message.pose.covariance = np.where(wild, random.choice(HOSTILE, 36), 0.0).tolist()
            bench.hear('set_pose', message)
        if random.random() < 0.2:
            assert bench.trigger('reset').success
        summary = bench.status().summary
        assert summary.isprintable()
        assert len(summary) < 2000
    assert len(base.poses) > 10
    for each in base.poses:
        assert np.isfinite([*planar(each), *each.pose.covariance, *each.twist.covariance]).all()
        assert np.abs(planar(each)).max() < 1e10
    assert bench.faults() == []


def test_several_publishers_of_commands_are_reported(base):
    bench = base.bench
    for topic, kind in (('~/cmd_vel', TwistStamped), ('~/cmd_vel_unstamped', Twist)):
        assert 'publishers of commands' not in bench.status().summary
        bench.node.create_publisher(kind, topic, 1)
    base.check(1, '2 publishers of commands on ~/cmd_vel and ~/cmd_vel_unstamped')


def test_open_loop(make):
    """Without joint states commands are integrated; the platform rests when they end."""
    bench = make(open_loop=True)
    plain = Twist()
    plain.linear.x = 1.0
    for _ in range(3):
        bench.hear('cmd_vel_unstamped', plain)
        bench.go_on(0.1)
    bench.go_on(1.0)
    rest = bench.sent['odom'][-1]
    assert rest.twist.twist == Twist()
    np.testing.assert_allclose(planar(rest), [0.0, 0.7, 0.0], atol=0.005)


def test_it_is_a_node(start, connect):
    """Through DDS: a state gives pose, transform and joints, a command another one."""
    arguments = ['-r', '__ns:=/base', '-r', '/tf:=/base/tf']
    start('odometry', {**WHEELS, 'cmd_vel_timeout': 60.0, 'max_gap': 60.0}, arguments)
    client = connect('base')
    client.subscribe(OdometryMessage, 'odometry/odom')
    client.subscribe(TFMessage, 'tf')
    client.subscribe(TwistStamped, 'odometry/cmd_vel_out')
    client.ask('odometry/odom', NAMES, [0.0, 0.0])
    assert client.call(Trigger, 'odometry/reset', Trigger.Request()).success
    client.ask_all(['odometry/odom', 'tf'], NAMES, [0.0, 0.0])
    _, (pose, transform) = client.ask_all(['odometry/odom', 'tf'], NAMES, [1.0, 1.0], step=0.1)
    np.testing.assert_allclose(planar(pose), [0.0, 0.1, 0.0], atol=1e-12)
    assert transform.transforms[0].transform.translation.x == pose.pose.pose.position.x
    message = TwistStamped()
    message.twist.linear.x = 0.25
    client.publisher(TwistStamped, 'odometry/cmd_vel').publish(message)
    passed = client.received['odometry/cmd_vel_out']
    client.wait(lambda: passed and passed[-1].twist.linear.x == 0.25, what='the command')


def test_it_does_not_start_without_a_radius(start):
    process = start('odometry', {**WHEELS, 'wheel_radius': 0.0}, ['-r', '__ns:=/bad'])
    assert process.wait() != 0
    assert 'wheel_radius must be set to a positive length' in process.output


def test_wheels_that_contradict_each_other_are_reported(make):
    """The steering axis of a car points down, so that its angles have the other sign."""
    car = {
        'platform': 'ackermann',
        'wheel_radius': 0.3,
        'wheelbase': 1.2,
        'wheel_separation': 0.8,
        'wheel_names': ['left', 'right'],
        'steering_names': ['front_left', 'front_right'],
    }
    bench = make(**{'left_wheel_names': [], 'right_wheel_names': [], **car})
    base, radii = Base.__new__(Base), np.array([2.6, 3.4])  # of the paths of the wheels
    base.bench, base.stamp, base.poses = bench, bench.clock.time_ns(), bench.sent['odom']
    names, turned = [*car['wheel_names'], *car['steering_names']], np.zeros(2)
    for sign, level, text in (
        (1.0, 0, ''),
        (-1.0, 1, '% of the path: check names, signs and dimensions of wheels and steering'),
        (1.0, 0, ''),
    ):
        for _ in range(80):
            turned = turned + radii / 30.0
            base.send(names, [*turned, *(sign * np.arctan2(1.2, radii))], 0.1)
        base.check(level, text)
        if text:
            base.check(level, 'it looks as if the steering angles had the opposite sign')
    assert len(base.poses) > 200
