"""Torques that controllers act on, of a real node over DDS: when they come and how they end.

`benchmarks/command_trials.py` does the same a thousand times against a driver at 500 Hz.
"""

import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.outputs.dynamics.command_channel import joint_command
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from support.robots import urdf_path
from support.ros_harness import ERROR, WARN, stamp_of

PANDA = urdf_path('panda').read_text()
HEAVY = PANDA.replace('mass value="2', 'mass value="7')  # some of the links
REFUSED = '<robot name="bad"><link name="a"/><link name="b"/></robot>'
MOVED = Robot.from_urdf(PANDA)
JOINTS = MOVED.joint_names
Q = 0.5 * (MOVED.limits.lower + MOVED.limits.upper) + 0.1
STATE = (JOINTS, Q, np.zeros(MOVED.nv))
GRAVITY = MOVED.gravity_torques(Q)
STATUS = 'dynamics: commands'
FEEDFORWARD, ENABLE = 'dynamics/feedforward', 'dynamics/enable'
PERIOD = 0.005  # s between joint states
ACTIONS = ('hold', 'gravity', 'ramp_to_zero', 'stop')

#: How slow this machine may be: a state counts for 0.3 s, and is answered however late it comes.
RULES = {
    'nodes': "['dynamics']",
    'enabled': True,
    'age_limit': 0.3,
    'max_delay': 0.0,
    'ramp_time': 0.1,
    'blend_time': 0.1,
    'effort_rate_factor': 1e6,
}


class Controlled:
    """A node, the driver's side and the controller's side of it, in a namespace of their own."""

    def __init__(self, start, connect, name, description=PANDA, **rules):
        self.node = start('bringup', {**RULES, **rules}, ['-r', f'__ns:=/{name}'])
        self.name, self.client = name, connect(name)
        self.client.describe(description)
        self.client.subscribe(JointState, FEEDFORWARD, profile=2000)
        self.received = self.client.received[FEEDFORWARD]
        self.stamps = set()

    @property
    def torques(self):
        return np.array([message.effort for message in self.received]).reshape(-1, len(JOINTS))

    def send(self, *state):
        self.stamps.add(self.client.send(*(state or STATE), stamp=time.time_ns()))

    def drive(self, condition, what='', deadline=30.0):
        """Send joint states until something holds; return it."""

        def sent():
            self.send()
            self.client.spin(PERIOD)
            return condition()

        return self.client.wait(sent, deadline, what or condition)

    def drive_for(self, seconds):
        end = time.monotonic() + seconds
        self.drive(lambda: time.monotonic() > end)

    def until(self, torques):
        """Drive until these torques are commanded."""
        return self.drive(
            lambda: (
                len(self.received) and np.allclose(self.received[-1].effort, torques, atol=1e-6)
            ),
            f'torques {torques}',
        )

    def until_quiet(self, seconds=0.7):
        """Wait, without states, until nothing has come for some time."""

        def count():
            before = len(self.received)
            self.client.spin(seconds)
            return len(self.received) == before

        self.client.wait(count, what='silence')

    def status(self, level, *texts):
        return self.client.expect(f'{self.name}/{STATUS}', level, *texts, meanwhile=self.send)

    @property
    def values(self):
        """The latest ones of the status."""
        return self.client.diagnostics.get(f'{self.name}/{STATUS}', (0, '', {}))[2]

    def set(self, node='dynamics', **values):
        for name, value in values.items():
            result = self.client.set_parameter(node, name, value)
            assert result.successful, result.reason

    def enable(self, wanted):
        answer = self.client.call(SetBool, ENABLE, SetBool.Request(data=wanted))
        assert answer.success, answer.message
        return answer.message


@pytest.fixture(scope='module')
def control(start, connect):
    """Return one that is enabled and follows gravity."""
    made = Controlled(start, connect, 'control')
    made.until(GRAVITY)
    return made


@pytest.fixture
def following(control):
    """The same at the beginning of each test, with the rules of `RULES`."""
    control.set(
        on_loss='gravity',
        on_end='ramp_to_zero',
        on_new_description='continue',
        on_refused_description='continue',
        ramp_time=0.1,
        blend_time=0.1,
        effort_limit_factor=1.0,
        effort_limits=[],
        limited_joints=[''],
    )
    control.set('bringup', payload_mass=0.0)
    control.set('bringup', payload_link='')
    control.enable(True)
    control.until(GRAVITY)
    control.received.clear()
    return control


def test_nothing_before_it_is_enabled_and_a_ramp_then(start, connect):
    control = Controlled(start, connect, 'off', enabled=False, ramp_time=1.0)
    control.drive(lambda: control.values.get('mode') == 'disabled', 'disabled')
    assert control.values['enabled'] == 'no: see ~/enable'
    control.drive_for(0.5)
    assert not control.received
    assert control.enable(True) == 'enabled'
    control.until(GRAVITY)
    torques = control.torques
    assert not torques[0].any()
    shares = torques[:, 1] / GRAVITY[1]
    assert (np.diff(shares) >= -1e-9).all()
    assert ((shares > 0.2) & (shares < 0.8)).any()
    assert control.enable(False) == 'disabled'
    control.drive(lambda: not control.torques[-1].any(), 'zero')
    control.received.clear()
    control.drive_for(0.3)
    assert not control.received
    control.set(enabled=True)  # the parameter does the same
    control.until(GRAVITY)
    assert not control.torques[0].any()


def test_disabling_by_the_parameter_ramps_out(following):
    following.set(enabled=False)
    following.drive(lambda: following.received and not following.torques[-1].any(), 'zero')
    following.drive_for(0.3)
    assert not following.torques[-1].any()
    assert (np.diff(np.abs(following.torques[:, 1])) <= 1e-9).all()
    assert following.status(0)['mode'] == 'disabled'


@pytest.mark.parametrize('action', ACTIONS)
def test_states_stop(following, action):
    """As if the driver were killed: the rest is done without states, and ends when they return."""
    following.set(on_loss=action)
    begin = time.time_ns()

    def answered():
        return [
            stamp_of(m)
            for m in following.received
            if stamp_of(m) > begin and stamp_of(m) in following.stamps
        ]

    first = following.drive(answered, 'a state that comes after the parameter')[0]
    following.drive_for(0.1)

    def made_without_states():
        return [
            m
            for m in following.received
            if stamp_of(m) > first and stamp_of(m) not in following.stamps
        ]

    if action == 'stop':
        following.until_quiet()
        assert following.received
        assert not made_without_states()
    elif action == 'ramp_to_zero':
        following.client.wait(lambda: not following.torques[-1].any(), what='zero')
        following.until_quiet()
        assert not following.torques[-1].any()
        assert any(made_without_states()[0].effort)
    else:
        later = following.client.wait(
            lambda: len(made_without_states()) > 10 and made_without_states(), what='commands'
        )
        assert np.allclose([message.effort for message in later], GRAVITY, atol=1e-9)
        stamps = [stamp_of(message) for message in later]
        assert stamps == sorted(set(stamps))
    following.received.clear()
    following.until(GRAVITY)
    begins_with_zero = not following.torques[0].any()
    assert begins_with_zero == (action in ('stop', 'ramp_to_zero'))


@pytest.mark.parametrize(
    ('action', 'number'),
    [*((action, signal.SIGINT) for action in ACTIONS), ('ramp_to_zero', signal.SIGTERM)],
)
def test_the_node_ends(start, connect, action, number):
    """What on_end says has been carried out and has arrived when the process is gone."""
    control = Controlled(start, connect, f'end_{action}_{number.name}', on_end=action)
    control.until(GRAVITY)
    control.received.clear()
    control.drive_for(0.1)
    control.node.process.send_signal(number)
    control.drive(lambda: control.node.process.poll() is not None, 'the end')
    assert control.node.wait() == 0, control.node.output
    control.client.spin(0.2)
    made_at_the_end = [stamp_of(message) not in control.stamps for message in control.received]
    last = control.torques[-1]
    if action == 'ramp_to_zero':
        assert not last.any()
    else:
        assert np.allclose(last, GRAVITY, atol=1e-6)
    assert any(made_at_the_end) == (action != 'stop')


def test_a_killed_node_is_missed_by_its_listeners(start, connect):
    from rclpy.duration import Duration
    from rclpy.event_handler import SubscriptionEventCallbacks
    from rclpy.qos import QoSProfile

    control, missed, commands = Controlled(start, connect, 'killed'), [], []
    control.client.node.create_subscription(
        Float64MultiArray,
        'dynamics/commands',
        commands.append,
        QoSProfile(depth=1, deadline=Duration(seconds=1.0)),
        event_callbacks=SubscriptionEventCallbacks(deadline=missed.append),
        raw=True,
    )
    control.drive(lambda: commands, 'commands')
    control.node.process.send_signal(signal.SIGKILL)
    assert control.node.wait() == -signal.SIGKILL
    missed.clear()
    control.client.wait(lambda: missed, what='a missed deadline')


def test_a_refused_description(following):
    following.set(on_refused_description='ramp_to_zero', on_loss='stop')
    following.client.describe(REFUSED)
    following.drive(lambda: following.received and not following.torques[-1].any(), 'zero')
    following.status(ERROR, 'refused (on_refused_description)')
    following.received.clear()
    following.client.describe(PANDA)
    following.until(GRAVITY)
    assert not following.torques[0].any()


def test_torques_go_on_when_a_description_is_no_longer_refused(following):
    """The end of a refusal is no loss of joint states, which on_loss is for."""
    following.set(on_refused_description='gravity', on_loss='stop')
    following.client.describe(REFUSED)
    following.status(ERROR, 'refused (on_refused_description)')
    following.drive_for(0.5)
    following.received.clear()
    following.client.describe(PANDA)
    losses = following.status(0)['losses']
    following.drive_for(0.3)
    assert np.allclose(following.torques, GRAVITY, atol=1e-6)
    assert following.status(0)['losses'] == losses


def test_a_refused_description_by_default(following):
    following.client.describe(REFUSED)
    following.client.expect('control/bringup: robot description', ERROR, meanwhile=following.send)
    following.drive_for(0.2)
    assert np.allclose(following.torques, GRAVITY, atol=1e-6)
    following.client.describe(PANDA)
    following.client.expect('control/bringup: robot description', 0, meanwhile=following.send)


@pytest.mark.parametrize('action', ['continue', 'stop'])
def test_a_new_description(following, action):
    heavy = Robot.from_urdf(HEAVY).gravity_torques(Q)
    following.set(on_new_description=action)
    following.client.describe(HEAVY)
    if action == 'continue':
        following.until(heavy)
    else:
        following.status(ERROR, "'panda', is in force (on_new_description)")
        off = time.time_ns()
        following.drive_for(0.2)
        following.until_quiet()
        assert max(map(stamp_of, following.received)) < off
        following.received.clear()
        following.enable(True)
        following.until(heavy)
        assert not following.torques[0].any()
    following.set(on_new_description='continue')
    following.client.describe(PANDA)
    following.until(GRAVITY)


def test_a_payload_blends(following):
    """In no step the torque changes by more than the blend lets it."""
    following.set(blend_time=1.0)
    following.set('bringup', payload_link='panda_hand_tcp')
    following.set('bringup', payload_mass=3.0)
    following.drive(
        lambda: (
            len(following.received) > 20
            and abs(following.torques[-1, 1] - GRAVITY[1]) > 5.0
            and np.ptp(following.torques[-20:, 1]) < 1e-9
        ),
        'the end of the blend',
    )
    torques, change = following.torques[:, 1], following.torques[-1, 1] - GRAVITY[1]
    times = np.array([stamp_of(message) for message in following.received]) * 1e-9
    # Commands are made some time after their stamps: a slope over a longer time tells.
    later = np.searchsorted(times, times + 0.2)
    pairs = np.flatnonzero(later < len(times))
    assert len(pairs)
    slope = (torques[later[pairs]] - torques[pairs]) / (times[later[pairs]] - times[pairs])
    assert np.abs(slope).max() < 1.5 * 15 / 8 * abs(change)


def test_limits_are_named(following):
    """With joint and value, when they act; an effort limit of 0 is told, too."""
    following.set(effort_limit_factor=0.1)
    limit = 0.1 * MOVED.limits.effort
    following.until(np.clip(GRAVITY, -limit, limit))
    following.status(
        WARN, f"torque of joint '{JOINTS[1]}' limited to {limit[1]:g}, {GRAVITY[1]:.2g}"[:-3]
    )
    following.set(effort_limit_factor=1.0, limited_joints=[JOINTS[3]])
    following.set(effort_limits=[3.0])
    following.status(WARN, f"torque of joint '{JOINTS[3]}' limited to 3, ")
    following.set(effort_limits=[0.0])
    following.until(np.where(np.arange(len(JOINTS)) == 3, 0.0, GRAVITY))
    following.status(WARN, f'the effort limit of {JOINTS[3]} is 0: no torque')
    result = following.client.set_parameter('dynamics', 'limited_joints', ['nose'])
    assert not result.successful
    assert "limited_joints: the robot has no joint 'nose'" in result.reason
    following.set(effort_limits=[])
    following.set(limited_joints=[''])


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
    references = following.client.publisher(JointTrajectory, 'dynamics/reference')
    message = JointTrajectory(joint_names=[JOINTS[1]], points=[JointTrajectoryPoint(**point)])

    def send():  # again and again: the node may hear of this publisher later than it of the node
        references.publish(message)
        following.send()

    following.client.expect(
        'control/dynamics: outputs', WARN, 'reference refused', text, meanwhile=send
    )
    assert np.allclose(following.torques, GRAVITY, atol=1e-6)


def test_commands_by_name_and_in_the_order_of_joints(following):
    """~/commands and ~/joint_command have the joints of the parameter, in that order."""
    kind, _ = joint_command(JOINTS)
    client, order = following.client, [JOINTS[5], JOINTS[1], JOINTS[3]]
    following.set(joints=order)
    client.subscribe(Float64MultiArray, 'dynamics/commands')
    client.subscribe(kind, 'dynamics/joint_command')
    wanted = [GRAVITY[5], GRAVITY[1], GRAVITY[3]]

    def ordered():
        messages = client.received['dynamics/commands']
        return (
            messages
            and len(messages[-1].data) == 3
            and np.allclose(list(messages[-1].data), wanted, atol=1e-9)
        )

    following.drive(ordered, 'commands in this order')
    message = following.drive(
        lambda: next(
            (
                m
                for m in reversed(client.received['dynamics/joint_command'])
                if stamp_of(m) in following.stamps
            ),
            None,
        ),
        'joint_command',
    )
    names, numbers = (
        (message.name, message.effort)
        if kind is JointState
        else (message.joint_names, message.values)
    )
    assert list(names) == order
    assert np.allclose(numbers, wanted, atol=1e-9)
    following.set(joints=[''])
    client.unsubscribe('dynamics/commands', 'dynamics/joint_command')


@pytest.fixture
def in_process(ros_domain, connect):
    """Return a node in this process, a client, and a function that lets both work."""
    rclpy.init(domain_id=ros_domain)
    node = Node(
        'dynamics',
        namespace='/inside',
        parameter_overrides=[
            Parameter(name, value=value) for name, value in RULES.items() if name != 'nodes'
        ],
    )
    host = ModelHost(node)
    host.add(Dynamics(node, host), node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    client = connect('inside')
    yield host, client, lambda: executor.spin_once(timeout_sec=0.001)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


def test_a_command_is_not_sent_when_the_process_stood_still_after_it_was_made(in_process):
    """It was made in time and would be too old; the last one, zero, is sent all the same."""
    host, client, work = in_process
    pause, made = [0.0], []
    host.states.consume(lambda mapper, sent: (made.append(mapper.stamp), time.sleep(pause[0])))
    host.start()
    client.describe(PANDA)
    client.wait(lambda: work() or host.model, what='the model')
    client.subscribe(JointState, FEEDFORWARD)
    received = client.received[FEEDFORWARD]

    def drive(condition):
        def sent():
            stamp = client.send(*STATE, stamp=time.time_ns())
            client.wait(lambda: work() or stamp in made, 0.2, fail=False)
            client.spin(0.005)
            return condition()

        client.wait(sent, what='commands')

    drive(lambda: received and np.allclose(received[-1].effort, GRAVITY, atol=1e-6))
    pause[0] = 1.5 * RULES['age_limit']
    made.clear()
    drive(lambda: len(made) == 3)
    client.spin(0.2)
    assert not {stamp_of(message) for message in received} & set(made)
    for _ in range(5):  # where this machine stands still, the watch is first to send zero
        pause[0] = 0.0
        host.node.set_parameters(
            [Parameter('ramp_time', value=0.0), Parameter('enabled', value=True)]
        )
        drive(lambda: np.allclose(received[-1].effort, GRAVITY, atol=1e-6))
        made.clear()
        pause[0] = 1.5 * RULES['age_limit']
        host.node.set_parameters([Parameter('enabled', value=False)])
        drive(lambda: not any(received[-1].effort))
        if stamp_of(received[-1]) in made:
            break
    else:
        pytest.fail('the last command was not sent')
    made.clear()
    host.node.set_parameters([Parameter('ramp_time', value=10.0), Parameter('enabled', value=True)])
    drive(lambda: len(made) == 3)
    client.spin(0.2)
    assert not {stamp_of(message) for message in received} & set(made)  # a ramp begins with zero
