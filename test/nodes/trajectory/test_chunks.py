# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Chunks of trajectories through the proxy, in one process.

The clock of the node stands still unless a test moves it.
"""

import numpy as np
import pytest

pytest.importorskip('control_msgs.action')

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.time import Time
from scipy.interpolate import CubicSpline
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.trajectory import chunk_stream
from screw_dynamics_ros.nodes.trajectory.goal_preparation import PATH_TOLERANCE_VIOLATED
from screw_dynamics_ros.nodes.trajectory.goal_relay import ABORTED
from screw_dynamics_ros.ros.messages.trajectories import duration_stamp, set_duration, stamp_of
from screw_dynamics_ros.ros.process.worker import WorkerError
from screw_dynamics_ros.ros.status import Level
from support.messages import wrench_message
from support.planar_2r import LIMITED
from support.proxy_rig import JOINTS, Rig, goal
from support.ros_harness import LATCHED

S = 10**9
LEAD = 0.5  # s; what a chunk waits for its join here
TIMES = np.arange(0.0, 2.01, 0.1)


def wave(times, phase=0.0):
    return np.stack([0.3 * np.sin(times + phase), 0.2 * np.cos(times + phase)], axis=1)


def chunk(times=TIMES, q=None, names=JOINTS, stamp=0, v=None):
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(stamp * S), S)
    rows = wave(np.asarray(times)) if q is None else q
    for k, (time, values) in enumerate(zip(times, rows)):
        point = JointTrajectoryPoint(positions=[float(each) for each in values])
        if v is not None:
            point.velocities = [float(each) for each in v[k]]
        set_duration(point.time_from_start, float(time))
        message.points.append(point)
    return message


class Motion:
    """A trajectory on the topic of the controller."""

    def __init__(self, message):
        self.joints = list(message.joint_names)
        self.time = stamp_of(message) / S + np.array(
            [duration_stamp(point.time_from_start) / S for point in message.points]
        )
        self.q, self.v, self.a, self.efforts = (
            np.array([getattr(point, field) for point in message.points])
            for field in ('positions', 'velocities', 'accelerations', 'effort')
        )

    def at(self, time):
        """Return q, v, a at one of its samples."""
        k = int(np.argmin(np.abs(self.time - time)))
        assert abs(self.time[k] - time) < 1e-6
        return np.stack([self.q[k], self.v[k], self.a[k]])


class ChunkRig(Rig):
    """A policy, the proxy and the topic of a controller."""

    def __init__(self, **parameters):
        parameters = {
            'controller_timeout': 300.0,
            'join_lead': LEAD,
            'state_timeout': 0.0,
            **parameters,
        }
        super().__init__(None, **parameters)
        self.clock = self.node.get_clock()
        self.clock._set_ros_time_is_active(True)
        self.go_to(1000.0)
        self.got, self.chunks = [], self.proxy._chunks
        self.other.create_subscription(JointTrajectory, 'arm/joint_trajectory', self.got.append, 50)
        self.states = self.publisher(JointState, 'joint_states')
        self.policy = self.publisher(JointTrajectory, 'trajectory_proxy/joint_trajectory')
        if 'chunk_output' not in parameters:
            self.wait(lambda: self.other.count_publishers('arm/joint_trajectory'))
        self.measure(wave(0.0 * TIMES)[0])

    def have_controller(self):
        if self.arm is None:
            self.start_controller()

    def publisher(self, kind, topic, profile=10):
        made = self.other.create_publisher(kind, topic, profile)
        self.wait(made.get_subscription_count)
        return made

    def go_to(self, time):
        self.time = time
        self.clock.set_ros_time_override(Time(nanoseconds=round(time * S)))

    def measure(self, q, v=(0.0, 0.0)):
        before = self.host.mapper.accepted
        message = JointState(name=list(JOINTS), position=list(q), velocity=list(v))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(before + 1, S)
        self.states.publish(message)
        self.wait(lambda: self.host.mapper.accepted > before)

    def follow(self):
        """Let the robot be where it is sent."""
        sent = self.chunks.sent
        q, v, _ = sent.at(round(self.time * S), JOINTS)
        self.measure(q, v)

    def push(self, message=None):
        """Send a chunk that is accepted; return the motion for the controller."""
        before = len(self.got)
        self.policy.publish(chunk() if message is None else message)
        self.wait(lambda: len(self.got) > before)
        return Motion(self.got[-1])

    def refusal(self, message):
        """Send a chunk that is refused; return the reason on /diagnostics."""
        before, sent = self.counts['refused'], len(self.got)
        self.policy.publish(message)
        self.wait(lambda: self.counts['refused'] > before)
        assert len(self.got) == sent
        assert self.proxy.status().level == Level.WARN
        return self.proxy.status().summary

    @property
    def counts(self):
        return self.chunks._counts


@pytest.fixture(scope='module')
def ros(ros_domain):
    rclpy.init(domain_id=ros_domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_stream, 'PUBLISHER_TIMEOUT_S', 0.0)
        yield
    Rig.worker.end()
    rclpy.shutdown()


@pytest.fixture(scope='module')
def shared(ros):
    made = ChunkRig()
    yield made
    made.close()


@pytest.fixture
def rig(ros, request):
    """Return a rig with parameters, or the shared one, which has forgotten everything."""
    if hasattr(request, 'param'):
        made = ChunkRig(**request.param)
        yield made
        made.close()
        return
    made = request.getfixturevalue('shared')
    made.chunks.forget()
    made.chunks._durations.clear()
    made.go_to(made.time + 1000.0)
    made.measure(wave(0.0 * TIMES)[0])
    made.got.clear()
    made.counts.update(sent=0, refused=0, late=0)
    made.set(join_lead=LEAD)
    yield made
    if made.arm is not None and made.arm.running is not None:
        made.arm.end()
    made.wait(lambda: made.proxy.relay.is_idle and len(made.got) == made.counts['sent'])


def parameters(**values):
    return pytest.mark.parametrize('rig', [values], indirect=True)


# --- what is sent ---------------------------------------------------------------------------------


def test_a_first_chunk_begins_at_the_measured_state(rig):
    """It is followed after `join_time`, with rates of SciPy's spline and torques of the model."""
    rig.measure([0.01, 0.195], [0.3, 0.0])
    found = rig.push()
    start = rig.time + LEAD
    assert found.time[0] == pytest.approx(start)
    np.testing.assert_allclose(found.at(start), [[0.01, 0.195], [0.3, 0], [0, 0]], atol=1e-9)
    spline, since = CubicSpline(TIMES, wave(TIMES)), found.time - start
    follows = (since > 0.1 - 1e-6) & (since < 1.9)
    for order, rows in enumerate((found.q, found.v, found.a)):
        np.testing.assert_allclose(rows[follows], spline(since[follows], order), atol=1e-6)
    np.testing.assert_allclose(found.q[-1], wave(TIMES)[-1], atol=1e-9)
    assert not found.v[-1].any()
    robot = Robot.from_urdf(LIMITED, gravity=(0, -9.81, 0), backend='reference')
    efforts = robot.drive_torques(found.q, found.v, found.a)
    np.testing.assert_allclose(found.efforts, efforts, atol=1e-6)


def test_the_next_chunk_continues_the_motion(rig):
    """Until the join it is the motion before, from now on; then nothing steps."""
    first = rig.push()
    rig.go_to(rig.time + 1.0)
    rig.follow()
    second = rig.push(chunk(q=wave(TIMES, 1.1), names=JOINTS))
    assert second.time[0] == rig.time
    sent = rig.chunks.sent.at(round(rig.time * S), JOINTS)  # also at its first instant
    np.testing.assert_allclose(sent, first.at(rig.time), atol=1e-6)
    join = rig.time + LEAD
    for time in (rig.time, rig.time + 0.2, join):
        np.testing.assert_allclose(second.at(time), first.at(time), atol=1e-6)
    steps, mean = np.diff(second.time)[:, None], 0.5 * (second.v[1:] + second.v[:-1])
    np.testing.assert_allclose(np.diff(second.q, axis=0), steps * mean, atol=1e-3)


def test_joints_may_come_in_another_order(rig):
    first = rig.push()
    rig.go_to(rig.time + 1.0)
    rig.follow()
    second = rig.push(chunk(q=wave(TIMES)[:, ::-1], names=JOINTS[::-1]))
    assert second.joints == list(JOINTS[::-1])
    np.testing.assert_allclose(second.q[0, ::-1], first.at(rig.time)[0], atol=1e-6)


def test_a_late_chunk_is_entered_at_the_present_time(rig):
    rig.measure(wave(np.array([1.2]))[0])
    found = rig.push(chunk(stamp=rig.time - 0.7))
    k = int(np.argmin(np.abs(found.time - (rig.time + LEAD + 0.1))))
    since = found.time[k] - rig.time + 0.7
    np.testing.assert_allclose(found.q[k], wave(np.array([since]))[0], atol=1e-4)


def test_a_chunk_that_begins_later_waits(rig):
    first = rig.push()
    rig.go_to(rig.time + 1.0)
    rig.follow()
    second = rig.push(chunk(stamp=rig.time + 0.8))
    for time in (rig.time + 0.2, rig.time + 0.6):
        k = int(np.argmin(np.abs(second.time - time)))
        spline = CubicSpline(first.time, first.q)
        np.testing.assert_allclose(second.q[k], spline(second.time[k]), atol=1e-4)


@parameters(chunk_joints=['joint1'], acceleration_limits=[2.0], jerk_limits=[20.0])
def test_limits_of_acceleration_and_jerk(rig):
    found = rig.push(chunk(0.2 * TIMES, wave(TIMES)))
    assert np.abs(found.a[:, 0]).max() < 2.003
    jerks = np.diff(found.a[:, 0]) / np.diff(found.time)
    assert np.abs(jerks).max() < 20.1
    assert 'slowed down' in rig.proxy.status().values['latest join']


@parameters(on_excess='refuse')
def test_too_fast_chunks_may_be_refused(rig):
    fast = chunk(0.1 * TIMES, 8.0 * wave(TIMES - 0.5, 0.0))
    assert 'velocity of joint' in rig.refusal(fast)
    rig.set(on_excess='pass')
    assert np.abs(rig.push(fast).v).max() > 10.0


def test_the_newest_chunk_is_next_while_one_is_prepared(rig):
    for phase in (0.1, 0.2, 0.3):
        rig.chunks._receive(chunk(q=wave(TIMES, phase)))
    rig.wait(lambda: len(rig.got) == 2)
    ends = [Motion(each).q[-1] for each in rig.got]
    np.testing.assert_allclose(ends, [wave(TIMES, 0.1)[-1], wave(TIMES, 0.3)[-1]], atol=1e-9)
    assert rig.counts['sent'] == 2


def test_a_late_preparation_is_repeated_for_a_later_join(rig):
    rig.chunks._receive(chunk(stamp=rig.time))
    rig.go_to(rig.time + LEAD + 0.1)
    rig.wait(lambda: rig.got)
    found = Motion(rig.got[0])
    assert found.time[0] == pytest.approx(rig.time + LEAD)
    assert rig.counts['late'] == 1


def test_the_time_until_the_join_grows_with_the_preparations(rig):
    rig.set(join_lead=0.0)
    rig.chunks._durations.extend([0.02, 0.1])
    assert rig.chunks.lead == pytest.approx(0.15)
    rig.chunks._durations.append(10.0)
    assert rig.chunks.lead == 0.5


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('make', 'reason'),
    [
        (lambda now: chunk(stamp=now - 1.6), 'ends 0.100 s before it can be followed'),
        (lambda now: chunk(stamp=now + 11.0), 'begins in 11.000 s'),
        (lambda now: chunk(names=('joint1', 'other')), "'other'"),
        (lambda now: chunk(names=('joint1', 'joint1')), 'joint1'),
        (lambda now: chunk(q=np.full((21, 2), np.nan)), 'nan'),
        (lambda now: chunk(TIMES[::-1]), 'must increase'),
        (lambda now: chunk(TIMES - 0.1), 'begins at -0.1 s'),
        (lambda now: chunk(np.arange(2001) * 1e-3), 'has 2001 points'),
        (lambda now: chunk(np.arange(100_000) * 1e-3), 'longer than'),
        (lambda now: chunk([]), 'no points'),
        (lambda now: chunk(q=10.0 + wave(TIMES)), 'position of joint'),
    ],
)
def test_refusals_name_the_reason_and_change_nothing(rig, make, reason):
    assert reason in rig.refusal(make(rig.time))
    rig.push()


def test_other_joints_are_refused_while_those_before_move(rig):
    rig.push()
    rig.go_to(rig.time + 1.0)
    rig.follow()
    message = chunk(q=wave(TIMES)[:, :1], names=JOINTS[:1])
    assert 'name the same joints' in rig.refusal(message)
    rig.go_to(rig.time + 10.0)
    rig.follow()
    assert rig.push(message).joints == ['joint1']


def test_without_a_measured_state(ros):
    rig = ChunkRig(state_timeout=1e-9)
    assert 'no current joint state' in rig.refusal(chunk())
    rig.close()


def test_nothing_is_sent_while_the_motion_of_the_base_is_unknown(rig, monkeypatch):
    kind = type(rig.host)
    rig.chunks._receive(chunk())
    monkeypatch.setattr(kind, 'suspension', 'the base is unknown')
    rig.wait(lambda: rig.counts['refused'] == 1)
    assert 'the base is unknown' in rig.refusal(chunk())
    monkeypatch.undo()
    rig.push()


def test_a_robot_that_does_not_follow_is_joined_where_it_is(rig):
    rig.push()
    rig.go_to(rig.time + 1.0)
    rig.measure([0.5, -0.2])
    found = rig.push()
    assert found.time[0] == pytest.approx(rig.time + LEAD)
    np.testing.assert_allclose(found.q[0], [0.5, -0.2])
    assert 'more than start_tolerance' in rig.proxy.status().values['latest join']


def test_a_clock_that_goes_back_begins_again(rig):
    rig.push()
    rig.go_to(rig.time - 100.0)
    found = rig.push()
    assert found.time[0] == pytest.approx(rig.time + LEAD)


def test_a_new_description_begins_again(rig):
    rig.push()
    rig.set(robot_description=LIMITED.replace('planar_2r', 'other'))
    rig.wait(lambda: rig.host.model.robot.description.name == 'other')
    assert rig.chunks.sent is None
    rig.measure([0.0, 0.0])
    assert rig.push().time[0] == pytest.approx(rig.time + LEAD)
    rig.set(robot_description=LIMITED)
    rig.wait(lambda: rig.host.model.robot.description.name == 'planar_2r')


def test_a_second_publisher_is_ignored_until_the_motion_has_ended(rig):
    rig.push()
    other = rig.publisher(JointTrajectory, 'trajectory_proxy/joint_trajectory')
    other.publish(chunk())
    rig.wait(lambda: 'has several publishers' in rig.proxy.status().summary)
    rig.follow()
    rig.push(chunk(q=wave(TIMES, 0.2)))
    assert rig.counts['sent'] == 2
    rig.go_to(rig.time + 10.0)
    rig.follow()
    other.publish(chunk(q=wave(TIMES, 0.3)))
    rig.wait(lambda: rig.counts['sent'] == 3)


def test_another_publisher_is_followed_when_the_first_has_died(rig):
    rig.push()
    other = rig.publisher(JointTrajectory, 'trajectory_proxy/joint_trajectory')
    rig.other.destroy_publisher(rig.policy)
    rig.policy = other
    rig.follow()

    def is_followed():
        other.publish(chunk(q=wave(TIMES, 0.2)))
        rig.executor.spin_once(0.02)
        return rig.counts['sent'] > 1

    rig.wait(is_followed)
    assert rig.chunks.is_moving
    other.publish(chunk([]))  # when it is refused, all of those before have arrived
    rig.wait(lambda: rig.counts['refused'])


# --- goals ----------------------------------------------------------------------------------------


def test_a_chunk_replaces_a_goal_after_the_controller_has_canceled_it(rig):
    rig.have_controller()
    rig.measure([0.0, 0.0])
    sent = rig.run()
    found = rig.push()
    assert rig.arm.cancels == 1
    status, _, text = sent.result()
    assert (status, text) == (ABORTED, 'replaced by a trajectory on ~/joint_trajectory')
    np.testing.assert_allclose(found.q[0], [0.0, 0.0])


def test_a_goal_replaces_chunks(rig):
    rig.have_controller()
    rig.push()
    rig.measure([0.0, 0.0])
    rig.run()
    assert rig.chunks.sent is None
    rig.arm.end()


# --- contacts -------------------------------------------------------------------------------------

WATCHED = {'contact_topic': '/contact', 'contact_timeout': 300.0}


class Flag:
    """The flag of an estimator."""

    def __init__(self, rig):
        self.rig, self.publisher = rig, rig.publisher(Bool, '/contact', LATCHED)
        self.set(False)

    def set(self, value):
        before = self.rig.proxy._watch._heard['contact_topic']
        self.publisher.publish(Bool(data=value))
        self.rig.wait(lambda: self.rig.proxy._watch._heard['contact_topic'] > before)


@parameters(**WATCHED)
def test_motions_wait_for_the_flag(rig):
    assert 'no message on /contact' in rig.refusal(chunk())
    rig.have_controller()
    assert 'no message on /contact' in rig.send().result()[2]
    Flag(rig)
    rig.push()


@pytest.mark.parametrize(('reaction', 'back'), [('hold', 0.0), ('retreat', 0.4)])
def test_a_contact_stops_chunks(ros, reaction, back):
    """The arm comes to rest where it was before the contact, and other chunks are refused."""
    rig = ChunkRig(**WATCHED, contact_reaction=reaction, retreat_time=back)
    flag = Flag(rig)
    first = rig.push()
    rig.go_to(rig.time + 1.5)
    rig.measure([0.1, 0.2], [0.3, 0.0])  # where the obstacle holds it
    flag.set(True)
    rig.wait(lambda: len(rig.got) == 2)
    found = Motion(rig.got[1])
    wanted = [[0.1, 0.2], [0.3, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(found.at(rig.time + LEAD), wanted, atol=1e-6)
    end = first.at(rig.time - back)[0] if back else [0.1, 0.2]
    np.testing.assert_allclose(found.q[-1], end, atol=1e-4)
    assert not found.v[-1].any()
    robot = Robot.from_urdf(LIMITED, gravity=(0, -9.81, 0), backend='reference')
    assert (np.abs(found.efforts) <= 1.002 * robot.limits.effort).all()
    assert 'chunks are refused: contact: /contact is raised; ~/resume' in rig.refusal(chunk())
    client = rig.other.create_client(Trigger, 'trajectory_proxy/resume')
    rig.wait(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    rig.wait(future.done)
    rig.go_to(rig.time + 10.0)
    rig.follow()
    rig.push()
    rig.close()


@parameters(**WATCHED)
def test_a_chunk_in_preparation_is_not_sent_after_a_contact(rig):
    Flag(rig)
    first = rig.push()
    rig.go_to(rig.time + 1.5)
    rig.follow()
    rig.chunks._receive(chunk(q=wave(TIMES, 0.5)))
    assert rig.chunks._is_busy
    rig.proxy._react('contact', False)
    rig.wait(lambda: len(rig.got) > 1 and not rig.chunks._is_busy)
    assert rig.counts['sent'] == 2
    np.testing.assert_allclose(Motion(rig.got[-1]).q[-1], first.at(rig.time)[0], atol=1e-4)


@parameters(**WATCHED)
def test_a_reaction_that_cannot_be_prepared_is_sent_as_it_is(rig, monkeypatch):
    flag = Flag(rig)
    first = rig.push()
    rig.go_to(rig.time + 1.5)
    rig.follow()

    def dies(*arguments):
        raise WorkerError('it died')

    monkeypatch.setattr(rig.proxy, '_call', dies)
    flag.set(True)
    rig.wait(lambda: len(rig.got) == 2)
    np.testing.assert_allclose(Motion(rig.got[1]).q, [first.at(rig.time)[0]], atol=1e-4)
    assert rig.chunks.sent is None


@parameters(**WATCHED)
def test_a_flag_that_is_lost_stops_chunks(rig):
    Flag(rig)
    first = rig.push()
    rig.go_to(rig.time + 1.5)
    rig.follow()
    rig.set(contact_timeout=0.001)
    rig.wait(lambda: len(rig.got) == 2)
    np.testing.assert_allclose(Motion(rig.got[1]).q[-1], first.at(rig.time)[0], atol=1e-4)
    assert not Motion(rig.got[1]).v[-1].any()
    assert 'no message on /contact' in rig.refusal(chunk())


@parameters(**WATCHED, contact_reaction='none')
def test_without_a_reaction_the_flag_is_ignored(rig):
    Flag(rig)
    rig.push()
    Flag(rig).set(True)
    rig.follow()
    rig.push()


@pytest.mark.parametrize('reaction', ['hold', 'retreat'])
def test_a_contact_ends_a_goal(ros, reaction):
    """With the error code of a path tolerance; a retreat begins where the controller stopped."""
    rig = ChunkRig(**WATCHED, contact_reaction=reaction, retreat_time=0.5)
    rig.have_controller()
    flag = Flag(rig)
    rig.measure([0.0, 0.0])
    message = goal()
    message.trajectory.header.stamp.sec = int(rig.time)
    sent = rig.run(message)
    rig.go_to(rig.time + 1.0)
    rig.measure([0.1, 0.2])
    flag.set(True)
    status, code, text = sent.result()
    assert (status, code) == (ABORTED, PATH_TOLERANCE_VIOLATED)
    assert 'contact: /contact is raised' in text
    assert rig.arm.cancels == 1
    if reaction == 'retreat':
        rig.wait(lambda: rig.got)
        found = Motion(rig.got[0])
        spline = CubicSpline([0, 1, 2], [[0, 0], [0.1, 0.2], [0.2, 0.1]], bc_type='clamped')
        np.testing.assert_allclose(found.q[0], [0.1, 0.2])
        np.testing.assert_allclose(found.q[-1], spline(0.5), atol=1e-3)
    rig.run(goal((0.5, 1.0), ((0.1, 0.2), (0.1, 0.2))))  # also while the flag is raised
    rig.close()


@parameters(guard_topic='/wrench', guard_force=5.0, contact_timeout=300.0)
def test_a_force_beyond_the_guard_stops_a_goal(rig):
    publisher = rig.publisher(WrenchStamped, '/wrench')

    def press(force):
        before = rig.proxy._watch._heard['guard_topic']
        publisher.publish(wrench_message(force=[0.6 * force, 0.8 * force, 0.0]))
        rig.wait(lambda: rig.proxy._watch._heard['guard_topic'] > before)

    rig.have_controller()
    rig.measure([0.0, 0.0])
    for force in (5.01, np.nan):
        press(4.99)
        sent = rig.run()
        press(4.99)
        press(force)
        status, code, text = sent.result()
        assert (status, code) == (ABORTED, PATH_TOLERANCE_VIOLATED)
        assert 'N on /wrench, guard_force 5 N' in text
    rig.set(guard_force=0.0)
    rig.run()
    press(100.0)
    rig.arm.end()


# --- frames ---------------------------------------------------------------------------------------

FRAMES = {
    'chunk_output': 'impedance_command',
    'chunk_joints': list(JOINTS),
    'impedance_stiffness': [70.0, 60.0],
    'impedance_damping': [2.0, 1.0],
}


def frames(rig):
    command = chunk_stream.ImpedanceCommand
    if command is None:
        pytest.skip('screw_dynamics_msgs has no ImpedanceCommand')
    found = []
    rig.other.create_subscription(command, 'trajectory_proxy/impedance_command', found.append, 10)
    rig.wait(lambda: rig.other.count_publishers('trajectory_proxy/impedance_command'))
    return found


@parameters(**FRAMES, **WATCHED, contact_reaction='compliant')
def test_frames_for_drives(rig):
    found = frames(rig)
    flag = Flag(rig)
    rig.policy.publish(chunk())
    rig.wait(lambda: found)
    sent = rig.chunks.sent
    for time in (1000.0 + LEAD, 1001.23, 1010.0):
        rig.go_to(time)
        rig.wait(lambda time=time: stamp_of(found[-1]) == round(time * S))
        frame = found[-1]
        q, v, _ = sent.at(round(time * S), JOINTS)
        np.testing.assert_allclose([frame.position, frame.velocity], [q, v])
        np.testing.assert_allclose(frame.effort, sent.efforts(round(time * S)))
        assert list(frame.stiffness) == [70.0, 60.0]
        assert list(frame.damping) == [2.0, 1.0]
    rig.go_to(1001.5)
    rig.follow()
    flag.set(True)
    rig.wait(lambda: list(found[-1].stiffness) == [7.0, 6.0])
    rig.wait(lambda: rig.chunks.sent is not sent)


@parameters(**FRAMES)
def test_frames_end_with_the_joint_states(rig):
    found = frames(rig)
    rig.policy.publish(chunk())
    rig.wait(lambda: found)
    rig.set(state_timeout=1e-9)
    rig.wait(lambda: rig.chunks.sent is None)
    assert 'no current joint state' in rig.proxy.status().summary


def test_parameters_that_do_not_fit(rig):
    from rclpy.parameter import Parameter

    for name, value, text in (
        ('acceleration_limits', [1.0], '0 chunk_joints'),
        ('impedance_damping', [1.0], '0 chunk_joints'),
        ('contact_reaction', 'compliant', 'needs chunk_output'),
    ):
        result = rig.node.set_parameters_atomically([Parameter(name, value=value)])
        assert not result.successful
        assert text in result.reason
