"""The node odometry through DDS: poses, resets, lost paths, commands."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseWithCovarianceStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.mobile import Odometry, WheelNoise, differential_drive
from support.ros_harness import stamp_of

NAMES = ['right', 'left']
STATUS = 'base/odometry: odometry'
ODOM, TF = 'odometry/odom', 'tf'
WHEELS = {
    'wheel_radius': 0.1,
    'wheel_separation': 0.5,
    'left_wheel_names': ['left'],
    'right_wheel_names': ['right'],
    'publish_rate': 1000.0,
    'diagnostic_updater.period': 0.2,
    'odom_joint_names': ['base1', 'base2', 'base3'],
}


@pytest.fixture(scope='module')
def client(start, connect):
    arguments = ['-r', '__ns:=/base', '-r', '/tf:=/base/tf']
    start('odometry', {**WHEELS, 'linear.x.max_velocity': 0.5, 'state_timeout': 3600.0}, arguments)
    made = connect('base')
    made.subscribe(OdometryMessage, ODOM)
    made.subscribe(TFMessage, TF)
    made.subscribe(JointState, 'joint_states', profile=qos_profile_sensor_data)
    made.wheels = np.zeros(2)
    until_published(made)
    return made


def until_published(client):
    """Send states at rest until a pose comes, from a reset on."""
    reset(client)
    client.received[ODOM].clear()

    def sent():
        client.send(NAMES, client.wheels)
        return client.wait(lambda: client.received[ODOM], 0.1, fail=False)

    client.wait(sent, what='a pose')


def reset(client):
    response = client.call(Trigger, 'odometry/reset', Trigger.Request())
    assert response.success
    return response


def after(client, wheels):
    """Turn the wheels by some angles; return the pose published for that state."""
    client.wheels = client.wheels + wheels
    stamp = client.send(NAMES, client.wheels, step=0.1)
    return client.wait(lambda: client.with_stamp(ODOM, stamp), what='a pose')


def planar(message):
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return np.array([2 * np.arctan2(o.z, o.w), p.x, p.y])


def test_poses_are_those_of_the_core(client):
    """Pose, covariance, twist and TF of a drive, with the stamps of the joint states (C-135)."""
    until_published(client)
    model = Odometry(differential_drive(0.5, 0.1), WheelNoise(1e-4, 1e-5))
    for wheels in ([1.6, 1.0], [1.0, 1.0], [0.2, -0.3]):
        message = after(client, wheels)
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
    (transform,) = client.wait(
        lambda: [
            m.transforms[0]
            for m in client.received[TF]
            if stamp_of(m.transforms[0]) == stamp_of(message)
        ],
        what='the transform',
    )
    assert (transform.header.frame_id, transform.child_frame_id) == ('odom', 'base_link')
    assert transform.transform.translation.x == message.pose.pose.position.x
    (state,) = client.wait(
        lambda: [
            m
            for m in client.received['joint_states']
            if stamp_of(m) == stamp_of(message) and 'base1' in m.name
        ],
        what='the joints of the base',
    )
    assert list(state.name) == ['base1', 'base2', 'base3']
    phi, x, y = model.pose
    np.testing.assert_allclose(state.position, [x, y, phi], atol=1e-12)
    forward = expected[1] * np.array([np.cos(phi), np.sin(phi)])
    np.testing.assert_allclose(state.velocity, [*forward, expected[0]], atol=1e-9)
    client.expect(STATUS, 0)


@pytest.mark.parametrize(
    ('wheels', 'step', 'reason'),
    [
        ([0.1, 0.1], 2.0, 'no joint state for 2.000 s'),
        ([0.1, 0.1], -5.0, 'clock of joint_states went back by 5.000 s'),
        ([1e4, 0.0], 0.1, "wheel 'right' jumped by 1e+04 rad"),
    ],
)
def test_lost_path_is_not_published_until_a_reset(client, wheels, step, reason):
    until_published(client)
    client.wheels = client.wheels + wheels
    count = len(client.received[ODOM])
    client.send(NAMES, client.wheels, step=step)
    client.expect(STATUS, 2, 'the path is lost', reason, '~/reset')
    stamp = client.send(NAMES, client.wheels)
    until_published(client)
    assert not client.with_stamp(ODOM, stamp)
    assert count > 0
    np.testing.assert_allclose(planar(after(client, [1.0, 1.0])), [0.0, 0.1, 0.0], atol=1e-12)
    client.expect(STATUS, 0)


def test_messages_that_cannot_be_used_are_reported(client):
    until_published(client)
    client.expect(
        STATUS, 1, "no joint 'left'", meanwhile=lambda: client.send(['right'], [0.0], step=1e-4)
    )
    until_published(client)
    client.expect(STATUS, 0)


def test_joint_states_that_end_are_reported(client):
    """An error without them, gone with the next step."""
    until_published(client)
    assert client.set_parameter('odometry', 'state_timeout', 0.1).successful
    client.expect(STATUS, 2, 'no step of right, left in joint_states for')
    assert client.set_parameter('odometry', 'state_timeout', 3600.0).successful
    until_published(client)
    client.expect(STATUS, 0)


def test_pose_is_set(client):
    """With its covariance, in the axes of odom; a pose in another frame is refused."""
    until_published(client)
    message = PoseWithCovarianceStamped()
    message.pose.pose.position.x, message.pose.pose.position.y = 3.0, -2.0
    message.pose.pose.orientation.z = message.pose.pose.orientation.w = np.sqrt(0.5)
    covariance = np.zeros((6, 6))
    covariance[0, 0], covariance[1, 1], covariance[5, 5] = 0.04, 0.01, 0.02
    message.pose.covariance = covariance.ravel().tolist()
    publisher = client.publisher(PoseWithCovarianceStamped, 'odometry/set_pose')
    message.header.frame_id = 'map'
    client.expect(
        STATUS, 1, "'map' instead of 'odom'", meanwhile=lambda: publisher.publish(message)
    )
    message.header.frame_id = 'odom'
    publisher.publish(message)
    client.expect(STATUS, 0)
    client.send(NAMES, client.wheels)
    found = after(client, [0.0, 0.0])
    np.testing.assert_allclose(planar(found), [np.pi / 2, 3.0, -2.0], atol=1e-12)
    P = np.reshape(found.pose.covariance, (6, 6))
    np.testing.assert_allclose(np.diag(P)[[0, 1, 5]], [0.04, 0.01, 0.02], atol=2e-6)


def test_commands_are_filtered_and_end(client):
    """Sideways and too fast: taken out, limited; zero at the end of cmd_vel_timeout (C-134)."""
    client.subscribe(TwistStamped, 'odometry/cmd_vel_out')
    publisher = client.publisher(TwistStamped, 'odometry/cmd_vel')
    received, message = client.received['odometry/cmd_vel_out'], TwistStamped()
    message.twist.linear.x, message.twist.linear.y, message.twist.angular.z = 2.0, 0.3, 0.4

    def passed():
        publisher.publish(message)
        return client.wait(lambda: received, 0.1, fail=False)

    client.wait(passed, what='a command')
    t = received[-1].twist
    assert (t.linear.x, t.linear.y, t.angular.z) == pytest.approx((0.5, 0.0, 0.4), abs=1e-12)
    assert received[-1].header.frame_id == 'base_link'
    client.wait(lambda: received[-1].twist == Twist(), what='the end')
    old = TwistStamped(twist=message.twist)
    old.header.stamp.sec = int(time.time()) - 100
    client.expect(STATUS, 1, 's old', meanwhile=lambda: publisher.publish(old))
    message.twist.linear.x = float('nan')
    client.expect(STATUS, 1, 'not finite', meanwhile=lambda: publisher.publish(message))
    message.twist.linear.x = 0.1
    client.expect(STATUS, 0, meanwhile=lambda: publisher.publish(message))
    unstamped = client.publisher(Twist, 'odometry/cmd_vel_unstamped')
    plain = Twist()
    plain.linear.x = 0.25
    received.clear()

    def obeyed():
        unstamped.publish(plain)
        client.wait(lambda: received, 0.1, fail=False)
        return any(m.twist.linear.x == 0.25 for m in received)

    client.wait(obeyed, what='the other topic')


def test_open_loop(start, connect):
    """Without joint states commands are integrated; the platform rests when they end."""
    start('odometry', {**WHEELS, 'open_loop': True, 'publish_rate': 50.0}, ['-r', '__ns:=/open'])
    client = connect('open')
    client.subscribe(OdometryMessage, ODOM)
    publisher, plain = client.publisher(Twist, 'odometry/cmd_vel_unstamped'), Twist()
    plain.linear.x = 1.0

    def moved():
        publisher.publish(plain)
        client.spin(0.02)
        return client.received[ODOM] and planar(client.received[ODOM][-1])[1] > 0.2

    client.wait(moved, what='motion')
    client.wait(lambda: client.received[ODOM][-1].twist.twist == Twist(), what='rest')
    np.testing.assert_allclose(planar(client.received[ODOM][-1])[[0, 2]], 0.0, atol=1e-12)


def test_it_does_not_start_without_a_radius(start):
    process = start('odometry', {**WHEELS, 'wheel_radius': 0.0}, ['-r', '__ns:=/bad'])
    assert process.wait() != 0
    assert 'wheel_radius must be set to a positive length' in process.output
