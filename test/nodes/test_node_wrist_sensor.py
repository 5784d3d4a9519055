# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `wrist_sensor` in this process: a tool of particles on a moving arm, and what fails."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.nodes.force_torque import (
    sensor_messages,
    tool_poses,
    wrist_sensor_outputs,
)
from screw_dynamics_ros.nodes.force_torque.wrist_sensor_outputs import WristSensor
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench, serialized
from support.messages import wrench_message
from support.robots import urdf_path
from support.sequences import run_sequences

PANDA = urdf_path('panda').read_text()
FRAME = 'panda_link8'
GRAVITY = np.array([0.0, 0.0, -9.81])
MASSES = np.array([0.4, 0.7, 0.2, 0.5])
PLACES = np.array([[0.02, 0.01, 0.1], [-0.03, 0.0, 0.15], [0.0, 0.05, 0.05], [0.01, -0.02, 0.2]])
BODY = RigidBody.from_particles(MASSES, PLACES)
XX, XY, XZ, _, YY, YZ, _, _, ZZ = BODY.matrix.ravel().tolist()
TOOL = {
    'tool_mass': BODY.mass,
    'tool_center_of_mass': BODY.com.tolist(),
    'tool_inertia': [XX, XY, XZ, YY, YZ, ZZ],
}
BIAS = np.array([3.0, -2.0, 8.0, 0.2, -0.1, 0.05])  # force, moment
MS = 10**6
HOME = np.array([0.0, -0.6, 0.0, -2.0, 0.0, 1.7, 0.6, 0.0])


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(PANDA)


class Rig:
    """A bench with a driver of the robot and one of the sensor."""

    def __init__(self, monkeypatch, robot, **parameters):
        self.robot = robot
        self.bench = Bench(
            monkeypatch, WristSensor, 'wrist_sensor', max_delay=10.0, backend='auto', **parameters
        )
        for module in (tool_poses, sensor_messages, wrist_sensor_outputs):
            monkeypatch.setattr(module, 'time', self.bench.clock)
        self.part = self.bench.part
        self.describe(PANDA)
        self.stamp = self.bench.clock.time_ns() + 10**9
        self.bias = np.zeros(6)

    def describe(self, text):
        self.bench.host.source.receive(String(data=text))
        self.settle()

    def settle(self):
        """Let everything be compiled, and adopted."""
        self.bench.finish()
        self.bench.host.keep_house()

    def set(self, **values):
        results = self.bench.node.set_parameters([Parameter(k, value=v) for k, v in values.items()])
        self.settle()
        return all(each.successful for each in results)

    def ask(self, service):
        """Call a service of the type Trigger."""
        response = Trigger.Response()
        (found,) = (s for s in self.bench.node.services if s.srv_name.endswith(f'/{service}'))
        return found.callback(Trigger.Request(), response)

    def identify(self, apply=False):
        srv = pytest.importorskip('screw_dynamics_msgs.srv')
        (found,) = (s for s in self.bench.node.services if s.srv_name.endswith('identify_tool'))
        request, response = srv.IdentifyTool.Request(apply=apply), srv.IdentifyTool.Response()
        return found.callback(request, response)

    def state(self, stamp, q, v=None):
        self.bench.clock.offset += (stamp - self.bench.clock.time_ns()) * 1e-9
        self.bench.host.states.receive(serialized(list(self.robot.joint_names), q, stamp, v), {})

    def sense(self, stamp, wrench, frame=FRAME):
        """Let a message of the sensor come; return what is published, by topic."""
        message = wrench_message(frame, wrench[:3], wrench[3:], stamp)
        self.bench.sent.clear()
        self.part._on_wrench(message)
        return {
            topic.removeprefix('/life/wrist_sensor/'): deserialize_message(data, WrenchStamped)
            for topic, data in self.bench.sent
        }

    def weight(self, q):
        """Return force and moment that the sensor shows at rest, without bias."""
        g = self.robot.link_pose(q, FRAME)[:3, :3].T @ GRAVITY
        return np.concatenate([BODY.mass * g, np.cross(BODY.mass * BODY.com, g)])

    def stand(self, q, count=20, contact=0.0):
        """Stand still for a while; return what was published last."""
        sent = {}
        for _ in range(count):
            self.stamp += 5 * MS
            self.state(self.stamp, q)
            sent = self.sense(self.stamp + MS, self.weight(q) + self.bias + contact)
        return sent

    def status(self):
        return self.part.status()


@pytest.fixture
def make(monkeypatch, keep, robot):
    return lambda **parameters: keep(Rig(monkeypatch, robot, **parameters))


def numbers(message):
    f, n = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, n.x, n.y, n.z])


def swing(t):
    """Return positions and velocities of a fast motion."""
    k = np.arange(1.0, 9.0)
    rates = 1.0 + 0.3 * k
    return 0.3 * np.sin(rates * t + k) + HOME, 0.3 * rates * np.cos(rates * t + k)


def shown(robot, t, step=1e-4):
    """Return what a sensor shows of the particles, by second differences of their places."""
    poses = [robot.link_pose(swing(t + d)[0], FRAME) for d in (-step, 0.0, step)]
    before, now, after = (PLACES @ C[:3, :3].T + C[:3, 3] for C in poses)
    R, r = poses[1][:3, :3], poses[1][:3, 3]
    forces = MASSES[:, None] * (GRAVITY - (before - 2.0 * now + after) / step**2)
    return np.concatenate([R.T @ forces.sum(axis=0), R.T @ np.cross(now - r, forces).sum(axis=0)])


def test_motion_is_compensated_between_states(make, robot):
    """States every 4 ms, samples at other times; left is what the filter of 50 Hz is late."""
    rig = make(
        sensor_frame=FRAME,
        acceleration_cutoff=50.0,
        frames=['panda_hand_tcp', 'panda_link0'],
        bias=BIAS.tolist(),
        frame_prefix='left_',
        **TOOL,
    )
    contact = np.array([8.0, -4.0, 12.0, 0.3, -1.0, 0.5])
    worst, largest = 0.0, 0.0
    for k in range(120):
        t, stamp = 0.004 * k, rig.stamp + 4 * MS * k
        rig.state(stamp, *swing(t))
        late = t - 0.0013
        sent = rig.sense(stamp - 1_300_000, shown(robot, late) + BIAS + contact)
        if k < 40:
            continue
        message = sent['wrench']
        found_stamp = message.header.stamp
        assert found_stamp.sec * 10**9 + found_stamp.nanosec == stamp - 1_300_000
        assert message.header.frame_id == f'left_{FRAME}'
        worst = max(worst, np.abs(numbers(message) - contact)[:3].max())
        moving = shown(robot, late) - rig.weight(swing(late)[0])
        largest = max(largest, np.abs(moving[:3]).max())
        for frame in ('panda_hand_tcp', 'panda_link0'):
            there = numbers(sent[f'wrench_at/{frame}'])
            assert sent[f'wrench_at/{frame}'].header.frame_id == f'left_{frame}'
            C = np.linalg.inv(robot.link_pose(swing(late)[0], frame)) @ robot.link_pose(
                swing(late)[0], FRAME
            )
            f = C[:3, :3] @ numbers(message)[:3]
            np.testing.assert_allclose(there[:3], f, atol=1e-3)
            moment = C[:3, :3] @ numbers(message)[3:] + np.cross(C[:3, 3], f)
            np.testing.assert_allclose(there[3:], moment, atol=2e-3)
    assert worst < 0.05 * largest
    assert largest > 1.5


def test_frame_of_the_messages_is_used(make):
    rig = make(frame_prefix='left_', **TOOL)
    assert 'sensor_frame is not set' in rig.status().summary
    rig.stamp += 5 * MS
    rig.state(rig.stamp, HOME)
    assert not rig.sense(rig.stamp, np.zeros(6), f'left_{FRAME}')  # it names the frame
    rig.settle()
    for _ in range(20):
        rig.stamp += 5 * MS
        rig.state(rig.stamp, HOME)
        sent = rig.sense(rig.stamp, rig.weight(HOME), f'left_{FRAME}')
    np.testing.assert_allclose(numbers(sent['wrench']), 0.0, atol=1e-9)
    assert sent['wrench'].header.frame_id == f'left_{FRAME}'
    assert not rig.sense(rig.stamp + MS, np.zeros(6), 'left_elsewhere')
    assert 'one topic for each sensor' in rig.status().summary
    assert rig.set(sensor_frame='panda_link7')
    assert rig.stand(HOME, 30)['wrench'].header.frame_id == 'left_panda_link7'


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_tare(make, sign):
    rig = make(sensor_frame=FRAME, sensor_sign=sign, **TOOL)
    rig.bias = BIAS
    weight = rig.weight
    rig.weight = lambda q: sign * (weight(q) + BIAS) - BIAS
    before = numbers(rig.stand(HOME)['wrench'])
    np.testing.assert_allclose(before, BIAS, atol=1e-9)
    answer = rig.ask('tare')
    assert answer.success, answer.message
    np.testing.assert_allclose(rig.bench.node.get_parameter('bias').value, BIAS, atol=1e-9)
    other = HOME + 0.3
    np.testing.assert_allclose(numbers(rig.stand(other, 40)['wrench']), 0.0, atol=1e-9)


def test_tare_is_refused_in_motion_and_without_news(make):
    rig = make(sensor_frame=FRAME, **TOOL)
    assert 'sensor messages' in rig.ask('tare').message  # none so far
    rig.stand(HOME, 5)
    assert '10 are needed' in rig.ask('tare').message
    rig.stand(HOME, 20)
    rig.state(rig.stamp + 2 * MS, HOME, [0.0] * 6 + [0.3, 0.0])
    answer = rig.ask('tare')
    assert not answer.success
    assert answer.message.startswith('panda_joint7 moves')
    rig.stand(HOME, 200)
    assert rig.ask('tare').success
    rig.bench.clock.offset += 0.6
    assert 'no sensor message for' in rig.ask('tare').message
    for k in range(20):  # the sensor goes on, the robot does not
        rig.sense(rig.stamp + (700 + k) * MS, np.zeros(6))
    assert 'joint state' in rig.ask('tare').message


def poses(count):
    return np.random.default_rng(5).uniform(-0.8, 0.8, (count, 8)) + HOME


def test_tool_is_identified_and_applied(make):
    rig = make(sensor_frame=FRAME)
    rig.bias = BIAS
    assert 'at least 3' in rig.identify().message
    for q in poses(6):
        rig.stand(q, 120)
        answer = rig.ask('record_pose')
        assert answer.success, answer.message
    found = rig.identify()
    assert found.success, found.message
    assert (found.header.frame_id, found.poses_used, found.error_code) == (FRAME, 6, 0)
    assert found.tool.inertia.m == pytest.approx(BODY.mass)
    c, b = found.tool.inertia.com, found.bias
    np.testing.assert_allclose([c.x, c.y, c.z], BODY.com, atol=1e-9)
    np.testing.assert_allclose([b.force.x, b.force.y, b.force.z], BIAS[:3], atol=1e-9)
    np.testing.assert_allclose([b.torque.x, b.torque.y, b.torque.z], BIAS[3:], atol=1e-9)
    assert np.abs(numbers(rig.stand(HOME, 2)['wrench'])).max() > 5.0  # asked, not applied
    assert rig.identify(apply=True).success
    np.testing.assert_allclose(numbers(rig.stand(HOME + 0.2, 60)['wrench']), 0.0, atol=1e-8)
    assert rig.ask('forget_poses').message.startswith('6 poses')
    again = rig.identify()
    assert not again.success
    assert again.error_code == 25  # NOT_ENOUGH_DATA


def test_a_reading_that_alternates_is_refused(make):
    """Between 12 and 50 N, or after a step; noise of 3 N and a resolution of 1 N are healthy."""
    rig = make(sensor_frame=FRAME, pose_samples=40, **TOOL)
    rng = np.random.default_rng(0)

    def stand(forces):
        for force in forces:
            rig.stand(HOME, 1, contact=np.array([0.0, 0.0, force, 0.0, 0.0, 0.0]))

    stand(12.0 + 38.0 * (np.arange(40) % 2))
    for service in ('tare', 'record_pose'):
        answer = rig.ask(service)
        assert not answer.success
        assert 'the force along z is ' in answer.message
        assert 'the load changes, or two sources are mixed' in answer.message
    np.testing.assert_array_equal(rig.bench.node.get_parameter('bias').value, np.zeros(6))
    stand([0.0] * 20 + [5.0] * 20)
    assert 'the force along z is ' in rig.ask('tare').message
    for healthy in (
        3.0 * rng.normal(size=40),
        np.arange(40) % 2,
        8.0 * np.sin(np.arange(40)),
        np.zeros(40),
    ):
        stand(healthy)
        assert rig.ask('tare').success


@pytest.mark.parametrize(
    ('axes', 'text'),
    [
        (np.diag([-1.0, 1.0, 1.0]), 'which are left-handed (rows -1.00 0.00 0.00; 0.00 1.00'),
        (np.eye(3)[[1, 0, 2]], 'which are left-handed (rows 0.00 1.00 0.00; 1.00 0.00 0.00'),
        (np.eye(3)[[1, 2, 0]], 'rotated by 120 degrees'),
        (-np.eye(3), 'the sign of the sensor or gravity is wrong'),
    ],
)
def test_a_sensor_with_other_axes_is_refused(make, axes, text):
    """Instead of a tool that does not exist."""
    rig = make(sensor_frame=FRAME, pose_samples=20)
    weight = rig.weight
    rig.weight = lambda q: (weight(q).reshape(2, 3) @ axes.T).ravel()
    for q in poses(9) + np.linspace(-1.2, 1.2, 9)[:, None]:
        rig.stand(q, 60)
        assert rig.ask('record_pose').success
    found = rig.identify(apply=True)
    assert not found.success
    assert text in found.message
    assert rig.bench.node.get_parameter('tool_mass').value == 0.0


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('tool_mass', 1e300, 'tool: m is 1e+300; the largest allowed value is 1e+06'),
        ('tool_mass', 1500.0, 'probably the mass in g: give kg and m'),
        ('tool_center_of_mass', [0.0, 0.0, 100.0], 'probably the center of mass in mm'),
        ('payload_mass', 1e300, 'payload: m is 1e+300; the largest allowed value is 1e+06'),
    ],
)
def test_a_tool_that_no_robot_carries_is_refused(make, name, value, reason):
    rig = make(sensor_frame=FRAME, **TOOL)
    (result,) = rig.bench.node.set_parameters([Parameter(name, value=value)])
    assert not result.successful
    assert reason in result.reason


def test_poses_of_another_sign_or_beyond_their_number(make, monkeypatch):
    monkeypatch.setattr(tool_poses, 'MAX_POSES', 2)
    rig = make(sensor_frame=FRAME)
    rig.stand(HOME, 120)
    assert rig.ask('record_pose').success
    assert rig.ask('record_pose').message == 'pose 2: mean of 100 sensor messages'
    answer = rig.ask('record_pose')
    assert not answer.success
    assert answer.message == 'already 2 poses, the maximum: call ~/forget_poses'
    assert rig.set(sensor_sign=-1.0)
    assert rig.status().values['poses recorded'] == '0'
    assert '0 sensor messages' in rig.ask('record_pose').message  # of this sign


def test_frames_of_another_robot(make):
    """The one that it lacks is reported; the others are served."""
    rig = make(sensor_frame=FRAME, frames=['panda_link6', 'panda_link5'], **TOOL)
    assert 'wrench_at/panda_link6' in rig.stand(HOME, 60)
    rig.describe(PANDA.replace('panda_link6"', 'link_6"'))
    sent = rig.stand(HOME, 60)
    assert set(sent) == {'wrench', 'wrench_at/panda_link5'}
    status = rig.status()
    assert status.level == Level.ERROR
    assert 'the robot has no link panda_link6: correct frames' in status.summary


def test_accelerations_begin_again_after_a_state_without_velocity(make):
    """What is published afterwards is not derived across it."""
    rig = make(sensor_frame=FRAME, velocity_policy='reject', **TOOL)
    assert rig.stand(HOME, 60)
    rig.stamp += 5 * MS
    rig.state(rig.stamp, HOME, [np.nan] * len(HOME))
    rig.stamp += 30 * MS  # beyond the limit of matches
    assert not rig.stand(HOME, 1)
    assert rig.stand(HOME, 60)


UNUSABLE = (
    ({'stamp': 0}, 'no stamp'),
    ({'stamp': -MS}, 'not later'),
    ({'stamp': 300 * MS}, 'no joint state matches its stamp'),
    ({'wrench': [np.nan] * 6}, 'not finite'),
    ({'wrench': [np.inf, 0, 0, 0, 0, 0]}, 'not finite'),
)


def test_unusable_messages_are_refused_with_the_reason(make):
    rig = make(sensor_frame=FRAME, **TOOL)
    assert rig.stand(HOME)
    assert 'has not settled' in rig.status().summary  # recently
    assert rig.stand(HOME, 800)
    assert rig.status().level == Level.OK, rig.status().summary
    for change, reason in UNUSABLE:
        offset = change.get('stamp', 2 * MS)
        stamp = rig.stamp + offset if offset else 0
        assert not rig.sense(stamp, change.get('wrench', np.zeros(6)))
        assert reason in rig.status().summary
        assert rig.status().level == Level.WARN
        rig.stamp += 300 * MS  # after the one of the future
        assert rig.stand(HOME, 60)  # goes on


def test_bad_parameters_are_refused(make):
    rig = make(sensor_frame=FRAME, **TOOL)
    for bad in (
        {'sensor_sign': 0.5},
        {'sensor_frame': 'nowhere'},
        {'frames': ['nowhere']},
        {'tool_mass': -1.0},
        {'tool_inertia': [1.0, 0.0, 0.0, 0.1, 0.0, 0.1]},
        {'bias': [0.0] * 5},
    ):
        assert not rig.set(**bad), bad
    assert rig.stand(HOME)
    assert rig.set(sensor_frame='panda_link7')
    assert rig.stand(HOME)['wrench'].header.frame_id == 'panda_link7'


def test_a_robot_without_the_frame_is_told(make):
    rig = make(sensor_frame='tool0')
    assert not rig.stand(HOME)
    assert 'no link tool0' in rig.status().summary
    for service in ('tare', 'record_pose'):
        answer = rig.ask(service)
        assert not answer.success
        assert 'it does not contain the sensor frame' in answer.message
    found = rig.identify()
    assert not found.success
    assert 'it does not contain the sensor frame' in found.message
    assert rig.set(sensor_frame=FRAME)
    assert rig.stand(HOME, 60)


def test_nothing_is_computed_without_subscribers(make, monkeypatch):
    rig = make(sensor_frame=FRAME, **TOOL)
    for channel in rig.part._channels:
        channel.count_listeners = lambda channel=channel: setattr(channel, 'listeners', 0)
    rig.bench.host.keep_house()
    monkeypatch.setattr(rig.part._adopted.model, 'evaluate', lambda: pytest.fail('computed'))
    assert not rig.stand(HOME)
    assert rig.ask('tare').success  # needs no subscriber


def test_two_sensors_on_one_topic(make):
    """Their messages would be mixed: with `sensor_frame` the frames of messages are ignored."""
    rig = make(sensor_frame=FRAME, **TOOL)
    rig.stand(HOME)
    drivers = [rig.bench.node.create_publisher(WrenchStamped, 'wrench', 1) for _ in range(2)]
    for service in ('tare', 'record_pose'):
        answer = rig.ask(service)
        assert not answer.success
        assert '2 publishers on /life/wrench' in answer.message
    assert '2 publishers on /life/wrench' in rig.status().summary
    assert rig.status().values['poses recorded'] == '0'
    rig.bench.node.destroy_publisher(drivers[0])
    assert rig.ask('tare').success


HOSTILE = (0.0, -1.0, 1e3, 1e17, -1e155, 1e200, 1.7e308, -1.7e308, np.nan, np.inf, 1e-320)


@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_hostile_messages(make):
    """Numbers, frames and stamps of all kinds: refused, or compensated without overflow."""
    rig, random = make(frames=['panda_link6'], **TOOL), np.random.default_rng(4)
    rig.stand(HOME, 60)
    for _ in range(400):
        rig.stamp += 5 * MS
        rig.state(rig.stamp, HOME)
        wild = random.random(6) < 0.2
        wrench = np.where(wild, random.choice(HOSTILE, 6), 0.1)
        frame = str(random.choice([FRAME, FRAME, '', 'f' * 10_000, '\n']))
        offset = random.choice([MS, MS, 0, -MS, 10**6 * MS, -(10**6) * MS, 2 * 10**6 * MS])
        stamp = min(max(rig.stamp + int(offset), -(2**31) * 10**9), (2**31 - 1) * 10**9)
        for message in rig.sense(stamp, wrench, frame).values():
            assert np.isfinite(numbers(message)).all()
        if random.random() < 0.1:
            rig.ask(str(random.choice(['tare', 'record_pose'])))
            assert np.isfinite(rig.bench.node.get_parameter('bias').value).all()
        summary = rig.status().summary
        assert summary.isprintable()
        assert len(summary) < 2000
    rig.ask('forget_poses')
    rig.set(bias=[0.0] * 6)
    rig.stamp += 700 * MS
    np.testing.assert_allclose(numbers(rig.stand(HOME, 60)['wrench']), 0.0, atol=1e-9)


class Anything(RuleBasedStateMachine):
    """Poses, motion, silence, services and parameters in any order, against what must hold."""

    rig = None

    @initialize()
    def start(self):
        rig = self.rig
        rig.set(sensor_frame=FRAME, bias=[0.0] * 6, **TOOL)
        rig.ask('forget_poses')
        rig.bias, self.poses, self.moved, self.taken = BIAS, 0, True, np.zeros(6)

    @rule(count=st.integers(110, 130), at=st.integers(0, 5))
    def stand(self, count, at):
        """Stand still for longer than samples are kept."""
        self.rig.stamp += 700 * MS  # the way there: a pause
        sent = self.rig.stand(poses(6)[at], count)
        np.testing.assert_allclose(numbers(sent['wrench']), BIAS - self.taken, atol=1e-8)
        self.moved = False

    @rule()
    def move(self):
        self.rig.stamp += 5 * MS
        self.rig.state(self.rig.stamp, HOME, np.full(8, 0.5))
        self.moved = True

    @rule()
    def tare(self):
        answer = self.rig.ask('tare')
        assert answer.success == (not self.moved), answer.message
        if answer.success:
            self.taken = BIAS

    @rule()
    def record(self):
        answer = self.rig.ask('record_pose')
        assert answer.success == (not self.moved), answer.message
        self.poses += answer.success

    @rule()
    def forget(self):
        self.rig.ask('forget_poses')
        self.poses = 0

    @rule()
    def silence(self):
        self.rig.bench.clock.offset += 1.0
        self.moved = True

    @rule()
    def identify(self):
        answer = self.rig.identify(apply=True)
        assert answer.success or answer.message
        if answer.success:
            assert self.poses >= 3
            assert answer.tool.inertia.m == pytest.approx(BODY.mass)
            self.taken = BIAS
        assert self.rig.status().values['poses recorded'] == str(self.poses)


def test_any_order(make):
    Anything.rig = make(sensor_frame=FRAME)
    run_sequences(Anything, 12, few=6)
