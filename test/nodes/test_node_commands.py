# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques that controllers act on: when they come and how they end.

Those of a node in this process, whose time is in our hands; what a process does over DDS is in
`test_node_command_processes.py`.
`test/endurance/command_trials.py` does the same a thousand times against a driver at 500 Hz.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.control import TorqueCommand
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.model.parts import Stage, python_step
from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.messages.templates import joint_command
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import COMMANDS, Bench, serialized
from support.robots import urdf_path
from support.ros_harness import stamp_of

PANDA = urdf_path('panda').read_text()
HEAVY = PANDA.replace('mass value="2', 'mass value="7')  # some of the links
REFUSED = '<robot name="bad"><link name="a"/><link name="b"/></robot>'
MOVED = Robot.from_urdf(PANDA)
JOINTS = MOVED.joint_names
Q = 0.5 * (MOVED.limits.lower + MOVED.limits.upper) + 0.1
STATE = (JOINTS, Q, np.zeros(MOVED.nv))
GRAVITY = MOVED.gravity_torques(Q)
PERIOD = 0.01  # s between joint states, and between looks for those that do not come
ACTIONS = ('hold', 'gravity', 'ramp_to_zero', 'stop')
AGE_LIMIT = 0.1  # s
RULES = {
    'on_loss': 'gravity',
    'on_end': 'ramp_to_zero',
    'on_new_description': 'continue',
    'on_refused_description': 'continue',
    'ramp_time': 0.1,
    'blend_time': 0.1,
    'effort_rate_factor': 1e6,
    'effort_limit_factor': 1.0,
    'effort_limits': [],
    'limited_joints': [''],
    'joints': [''],
    'payload_mass': 0.0,
    'payload_link': '',
    'velocity_policy': 'differentiate',
    'enabled': True,
}


class Controlled:
    """A node in this process, the driver's side and the controller's side of it."""

    def __init__(self, monkeypatch):
        self.bench = Bench(
            monkeypatch,
            backend='auto',
            max_delay=10.0,
            age_limit=AGE_LIMIT,
            command_parameters_locked='none',
        )
        self.clock, self.commands = self.bench.clock, self.bench.part.commands
        #: Of the checks for missing states.
        (self.timer,) = [
            each for each in self.bench.node.timers if each.timer_period_ns == round(1e9 * PERIOD)
        ]
        self.stamps = set()

    def clear(self):
        """Forget what was commanded."""
        self.bench.sent.clear()
        self.stamps.clear()

    def messages(self, topic='feedforward', kind=JointState):
        return [
            deserialize_message(data, kind)
            for name, data in self.bench.sent
            if name == f'/life/dynamics/{topic}'
        ]

    @property
    def torques(self):
        return np.array([m.effort for m in self.messages()]).reshape(-1, len(JOINTS))

    @property
    def made_without_states(self):
        return [m for m in self.messages() if stamp_of(m) not in self.stamps]

    def show(self, velocity=None):
        """Let a joint state come."""
        stamp = self.clock.time_ns()
        self.stamps.add(stamp)
        self.bench.host.states.receive(serialized(JOINTS, Q, stamp, velocity), {})

    def drive(self, seconds):
        """Let joint states come for some time, and the looks for them."""
        for _ in range(round(seconds / PERIOD)):
            self.wait(PERIOD)
            self.show()

    def wait(self, seconds):
        """Let no joint states come for some time."""
        for _ in range(round(seconds / PERIOD)):
            self.clock.offset += PERIOD
            self.timer.callback()

    def describe(self, text):
        self.bench.describe(text)

    def set(self, **values):
        for name, value in values.items():
            (result,) = self.bench.node.set_parameters([Parameter(name, value=value)])
            assert result.successful, result.reason

    def enable(self, wanted):
        (service,) = [s for s in self.bench.node.services if s.srv_name.endswith('/enable')]
        answer = service.callback(SetBool.Request(data=wanted), SetBool.Response())
        assert answer.success, answer.message
        return answer.message

    def status(self, level=Level.OK, *texts):
        status = self.commands.status()
        assert status.level == level, status.summary
        assert all(text in status.summary for text in texts), status.summary
        return status.values


@pytest.fixture(scope='module')
def control(ros_domain):
    with pytest.MonkeyPatch.context() as monkeypatch:
        rclpy.init(domain_id=ros_domain)
        made = Controlled(monkeypatch)
        yield made
        made.bench.close()
        rclpy.shutdown()


@pytest.fixture
def following(control):
    """Return the node when it follows gravity by the rules of `RULES`."""
    control.describe(PANDA)
    control.set(**RULES)
    control.enable(True)
    control.bench.part.reference.forget()
    control.clock.offset += 5.0  # nobody tells of what was before that
    control.drive(0.3)
    control.status()
    control.clear()
    control.drive(PERIOD)
    np.testing.assert_allclose(control.torques, [GRAVITY], atol=1e-6)
    control.clear()
    return control


def test_nothing_before_it_is_enabled_and_a_ramp_then(following):
    control = following
    control.set(enabled=False)
    control.drive(0.2)
    control.clear()
    control.set(ramp_time=1.0)
    control.drive(0.5)
    assert not control.torques.size
    assert control.status()['mode'] == 'disabled'
    assert control.status()['enabled'] == 'no: see ~/enable'
    assert control.enable(True) == 'enabled'
    control.drive(1.1)
    shares = control.torques[:, 1] / GRAVITY[1]
    assert not control.torques[0].any()
    assert (np.diff(shares) >= -1e-9).all()
    assert ((shares > 0.2) & (shares < 0.8)).any()
    np.testing.assert_allclose(control.torques[-1], GRAVITY, atol=1e-6)
    assert control.enable(False) == 'disabled'
    control.drive(1.1)
    assert not control.torques[-1].any()
    control.clear()
    control.drive(0.3)
    assert not control.torques.size
    control.set(enabled=True)  # the parameter does the same
    control.drive(1.1)
    assert not control.torques[0].any()
    np.testing.assert_allclose(control.torques[-1], GRAVITY, atol=1e-6)


def test_subscribers_of_torques_that_are_not_enabled_learn_why(following, monkeypatch):
    """On /diagnostics while it is so, and once in the log; other topics need no explanation."""
    lines = []
    logger = SimpleNamespace(info=lines.append)
    monkeypatch.setattr(statuses, 'get_logger', lambda name: logger)
    control = following
    assert 'not enabled' not in control.bench.part.status().summary
    control.set(enabled=False)
    control.drive(0.3)
    control.clear()
    control.drive(0.05)
    assert control.messages() == []
    for _ in range(3):
        status = control.bench.part.status()
        assert status.level == Level.OK
        assert (
            '/life/dynamics/feedforward, /life/dynamics/commands, /life/dynamics/joint_command, '
            in status.summary
        )
        assert (
            ': subscribed, but not published: torques are not enabled: call ~/enable with true, or '
            'set the parameter enabled' in status.summary
        )
    assert len(lines) == 1
    assert 'not enabled' in lines[0]
    control.set(enabled=True)
    control.drive(0.05)
    assert control.messages()
    assert 'not enabled' not in control.bench.part.status().summary
    control.set(enabled=False)
    control.drive(1.0)
    assert 'not enabled' in control.bench.part.status().summary
    assert len(lines) == 2
    for channel in control.bench.host.states.channels:
        channel.listeners = 0
    assert 'not enabled' not in control.bench.part.status().summary
    control.bench.host.states.look_for_listeners()


def test_the_service_says_why_the_parameter_was_refused(following, monkeypatch):
    refused = SetParametersResult(successful=False, reason='locked')
    node = following.bench.node
    monkeypatch.setattr(node, 'set_parameters_atomically', lambda parameters: refused)
    (service,) = [s for s in node.services if s.srv_name.endswith('/enable')]
    answer = service.callback(SetBool.Request(data=True), SetBool.Response())
    assert (answer.success, answer.message) == (False, 'locked')


@pytest.mark.parametrize('action', ACTIONS)
def test_states_stop(following, action):
    """As if the driver were killed: the rest is done without states, and ends when they return."""
    following.set(on_loss=action)
    following.drive(0.1)
    following.wait(AGE_LIMIT - PERIOD)
    assert not following.made_without_states
    following.wait(0.5)
    made = following.made_without_states
    if action == 'stop':
        assert not made
    elif action == 'ramp_to_zero':
        assert any(made[0].effort)
        assert not any(made[-1].effort)
        assert len(made) < 15  # nothing after zero
    else:
        assert len(made) > 40
        np.testing.assert_allclose([m.effort for m in made], len(made) * [GRAVITY], atol=1e-9)
    stamps = [stamp_of(m) for m in following.messages()]
    assert stamps == sorted(set(stamps))
    following.status(Level.ERROR)
    following.clear()
    following.drive(0.3)
    assert following.torques[0].any() == (action in ('hold', 'gravity'))
    np.testing.assert_allclose(following.torques[-1], GRAVITY, atol=1e-6)
    following.status()


def test_states_without_velocity_are_a_loss(following):
    """At once by its reason; torques go on when velocities are there again."""
    following.set(velocity_policy='reject', on_loss='ramp_to_zero')
    following.drive(0.1)
    following.clear()
    for _ in range(30):
        following.clock.offset += PERIOD
        following.show(velocity=[])
        following.timer.callback()
    assert not following.made_without_states
    assert following.torques[0].any()
    assert not following.torques[-1].any()
    following.status(Level.ERROR, 'joint states contain no velocity (velocity_policy)')
    following.drive(0.3)
    np.testing.assert_allclose(following.torques[-1], GRAVITY, atol=1e-6)


def test_a_refused_description(following):
    following.set(on_refused_description='ramp_to_zero', on_loss='stop')
    following.describe(REFUSED)
    following.drive(0.3)
    assert not following.torques[-1].any()
    following.status(Level.ERROR, 'refused (on_refused_description)')
    following.clear()
    following.describe(PANDA)
    following.drive(0.3)
    assert not following.torques[0].any()
    np.testing.assert_allclose(following.torques[-1], GRAVITY, atol=1e-6)


def test_torques_go_on_when_a_description_is_no_longer_refused(following):
    """The end of a refusal is no loss of joint states, which on_loss is for."""
    following.set(on_refused_description='gravity', on_loss='stop')
    following.describe(REFUSED)
    following.drive(0.5)
    losses = following.status(Level.ERROR, 'refused (on_refused_description)')['losses']
    following.clear()
    following.describe(PANDA)
    following.drive(0.3)
    assert len(following.torques) >= 30
    np.testing.assert_allclose(following.torques, 0 * following.torques + GRAVITY, atol=1e-6)
    assert following.status()['losses'] == losses


def test_a_refused_description_by_default(following):
    following.describe(REFUSED)
    assert following.bench.host.description_status().level == Level.ERROR
    following.drive(0.2)
    assert len(following.torques) == 20
    np.testing.assert_allclose(following.torques, 20 * [GRAVITY], atol=1e-6)


@pytest.mark.parametrize('action', ['continue', 'stop'])
def test_a_new_description(following, action):
    heavy = Robot.from_urdf(HEAVY).gravity_torques(Q)
    following.set(on_new_description=action)
    following.describe(HEAVY)
    following.drive(0.3)
    if action == 'stop':
        following.status(Level.ERROR, "'panda', is active (on_new_description)")
        assert not following.torques.size
        following.enable(True)
        following.drive(0.3)
        assert not following.torques[0].any()
    np.testing.assert_allclose(following.torques[-1], heavy, atol=1e-6)


def test_a_payload_blends(following):
    """In no step the torque changes by more than the blend lets it."""
    following.set(blend_time=1.0, payload_link='panda_hand_tcp', payload_mass=3.0)
    following.drive(1.2)
    torques = following.torques[:, 1]
    change = torques[-1] - GRAVITY[1]
    assert abs(change) > 5.0
    assert np.ptp(torques[-10:]) < 1e-9
    assert np.abs(np.diff(torques)).max() < 1.01 * 15 / 8 * abs(change) * PERIOD


def test_limits_are_read_between_two_joint_states(following):
    """The loop notes them in its thread."""
    before = STATE_LOCK.changes
    following.status()
    assert STATE_LOCK.changes == before + 1


def test_limits_are_named(following):
    """With joint and value, when they act; an effort limit of 0 is reported, too."""
    following.set(effort_limit_factor=0.1)
    limit = 0.1 * MOVED.limits.effort
    following.drive(0.3)
    np.testing.assert_allclose(following.torques[-1], np.clip(GRAVITY, -limit, limit), atol=1e-6)
    following.status(
        Level.WARN, f"torque of joint '{JOINTS[1]}' limited to {limit[1]:g}, {GRAVITY[1]:.2g}"[:-3]
    )
    following.set(effort_limit_factor=1.0, limited_joints=[JOINTS[3]], effort_limits=[3.0])
    following.drive(0.3)
    following.status(Level.WARN, f"torque of joint '{JOINTS[3]}' limited to 3, ")
    following.set(effort_limits=[0.0])
    following.drive(0.3)
    expected = np.where(np.arange(len(JOINTS)) == 3, 0.0, GRAVITY)
    np.testing.assert_allclose(following.torques[-1], expected, atol=1e-6)
    following.status(Level.WARN, f'the effort limit of {JOINTS[3]} is 0: no torque')
    parameter = Parameter('limited_joints', value=['nose'])
    (result,) = following.bench.node.set_parameters([parameter])
    assert not result.successful
    assert "limited_joints: the robot has no joint 'nose'" in result.reason
    other = PANDA.replace(JOINTS[3], 'elbow')  # a robot without the joint takes other parameters
    following.bench.describe(other)
    following.bench.host.keep_house()
    (result,) = following.bench.node.set_parameters([Parameter('blend_time', value=0.2)])
    assert result.successful, result.reason


@pytest.mark.parametrize(
    ('field', 'value', 'text'),
    [
        ('positions', 99.0, f"positions of joint '{JOINTS[1]}' in the reference: 99"),
        ('velocities', 50.0, f"velocities of joint '{JOINTS[1]}' in the reference: 50"),
        ('accelerations', 1e300, f"accelerations of joint '{JOINTS[1]}' in the reference: 1e+300"),
        ('positions', float('nan'), f"positions of joint '{JOINTS[1]}' in the reference: nan"),
    ],
)
def test_a_reference_that_no_joint_can_follow_is_refused_by_name(following, field, value, text):
    point = {'positions': [0.0], 'velocities': [0.0], 'accelerations': [0.0]}
    point[field] = [value]
    message = JointTrajectory(joint_names=[JOINTS[1]], points=[JointTrajectoryPoint(**point)])
    following.bench.part.reference.receive(message)
    following.drive(0.1)
    status = following.bench.part.status()
    assert status.level == Level.WARN
    assert 'reference refused' in status.summary
    assert text in status.summary
    np.testing.assert_allclose(following.torques, 10 * [GRAVITY], atol=1e-6)


def test_commands_by_name_and_in_the_order_of_joints(following):
    """~/commands and ~/joint_command have the joints of the parameter, in that order."""
    kind, _ = joint_command(JOINTS)
    order = [JOINTS[5], JOINTS[1], JOINTS[3]]
    following.set(joints=order)
    following.bench.finish()
    following.drive(0.3)
    wanted = [GRAVITY[5], GRAVITY[1], GRAVITY[3]]
    commands = following.messages('commands', Float64MultiArray)[-1]
    np.testing.assert_allclose(commands.data, wanted, atol=1e-9)
    message = following.messages('joint_command', kind)[-1]
    assert stamp_of(message) in following.stamps
    names, numbers = (
        (message.name, message.effort)
        if kind is JointState
        else (message.joint_names, message.values)
    )
    assert list(names) == order
    np.testing.assert_allclose(numbers, wanted, atol=1e-9)


def test_a_command_is_not_sent_when_the_process_stood_still_after_it_was_made(following):
    """It was made in time and would be too old; the last one, zero, is sent all the same."""
    control, states, pause = following, following.bench.host.states, [0.0]

    def stand_still():
        control.clock.offset += pause[0]

    def show(seconds, **values):
        """Set parameters and let three states come, each command made so long before it is sent."""
        pause[0] = seconds
        control.set(**values)
        control.clear()
        for _ in range(3):
            control.clock.offset += PERIOD
            control.show()
        return control.torques.round(9).tolist()

    stages = states.stages
    states.stages = [*stages, Stage(consume=python_step('a pause', stand_still))]
    gravity, zero = GRAVITY.round(9).tolist(), [0.0] * len(JOINTS)
    try:
        assert show(0.9 * AGE_LIMIT) == 3 * [gravity]
        assert show(1.1 * AGE_LIMIT) == []
        show(0.0, ramp_time=0.0)
        assert show(0.0)[-1] == gravity
        assert show(1.1 * AGE_LIMIT, enabled=False) == [zero]
        assert show(1.1 * AGE_LIMIT, ramp_time=10.0, enabled=True) == []  # a ramp begins with zero
        assert show(0.0)[0] == zero
    finally:
        states.stages = stages


def test_commands_are_published_after_all_other_outputs(following):
    ranks = {True: [], False: []}
    for channel in following.bench.host.states.channels:
        ranks[channel.topic.endswith(COMMANDS)].append(channel.rank)
    assert len(ranks[True]) >= 5
    assert min(ranks[True]) > max(ranks[False])


@pytest.fixture
def ending(following):
    """Return the node, which can go on after its end."""
    yield following
    following.commands._is_ending = False
    following.commands.torque = TorqueCommand(following.commands.torque.settings)
    following.commands._configure()


@pytest.mark.parametrize('action', ACTIONS)
def test_the_end_of_the_process(ending, monkeypatch, action):
    """Its last command has arrived before it is gone, and nothing enables torques any more."""
    acknowledged = []
    for channel, _ in ending.commands._topics:
        publisher = SimpleNamespace(wait_for_all_acked=acknowledged.append)
        monkeypatch.setattr(channel, 'publisher', publisher)
    ending.set(on_end=action)
    ending.drive(0.05)
    ending.clear()
    ending.commands.begin()
    assert [m.effort for m in ending.messages()] != [] or action == 'stop'
    assert not ending.commands.ended or action != 'ramp_to_zero'
    acknowledged.clear()
    ending.set(enabled=True, effort_limit_factor=0.9)
    ending.drive(0.3)
    assert ending.commands.ended
    assert acknowledged == len(ending.commands._topics) * [Duration(seconds=0.2)]
    made = [list(m.effort) for m in ending.messages()]
    if action == 'stop':
        assert made == []
    elif action == 'ramp_to_zero':
        assert made[-1] == [0.0] * len(JOINTS)
        assert len(made) < 20
    else:
        np.testing.assert_allclose(made, len(made) * [GRAVITY], atol=1e-6)
    ending.clear()
    ending.drive(0.1)
    assert not ending.torques.size


def test_nothing_to_wait_for_at_the_end(ending):
    for channel, _ in ending.commands._topics:
        channel.listeners = 0
    try:
        assert ending.commands.ended
        ending.commands.begin()
        ending.clear()
        ending.drive(0.05)
        assert not ending.torques.size
    finally:
        for channel, _ in ending.commands._topics:
            channel.listeners = 1
