"""No joint state is lost while a process stands still: what came meanwhile is answered after it.

Pauses are made with SIGSTOP and SIGCONT, as a machine, a debugger or a scheduler makes them.
"""

import os
import select
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import TwistStamped, WrenchStamped
from robots import urdf_path
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot

TOOL = 'panda_hand_tcp'
TOPICS = {
    f'kinematics/twist/{TOOL}': TwistStamped,
    f'wrench_estimator/wrench/{TOOL}': WrenchStamped,
    'dynamics/gravity': JointState,
}
DEEP = 1000  # of subscriptions here
STATES = 250  # half a second at 500 Hz

# Says 'connected' when a message has come on each topic, and 'complete' when all have that are
# stamped with the given second.
LISTENER = '''
import sys
import rclpy
from geometry_msgs.msg import TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
count, second, *topics = sys.argv[1:]
connected, complete = {topic: 0 for topic in topics}, {topic: 0 for topic in topics}
def listener(topic):
    def take(message):
        for counts, enough, counted, text in (
                (connected, 1, True, 'connected'),
                (complete, int(count), message.header.stamp.sec == int(second), 'complete')):
            counts[topic] += counted
            if counted and min(counts.values()) == counts[topic] == enough:
                print(text, flush=True)
    return take
rclpy.init()
node = rclpy.create_node('listener', namespace='pauses')
for kind, topic in zip((TwistStamped, WrenchStamped, JointState), topics):
    node.create_subscription(kind, topic, listener(topic), 1000)
rclpy.spin(node)
'''


@contextmanager
def paused(*processes):
    """Let processes stand still."""
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGCONT)


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def bringup(start):
    return start('bringup', arguments=['-r', '__ns:=/pauses']).process


@pytest.fixture(scope='module')
def client(bringup, connect, robot):
    made = connect('pauses')
    made.describe(urdf_path('panda').read_text())
    for topic, kind in TOPICS.items():
        made.subscribe(kind, topic, profile=DEEP)
        made.ask(topic, robot.joint_names, *np.full((3, robot.nv), 0.1))
    return made


def send(client, robot, count):
    """Send states that differ; return their stamps."""
    q = np.random.default_rng(8).uniform(robot.limits.lower, robot.limits.upper)
    return [client.send(robot.joint_names, q + 1e-3 * np.sin(k), np.zeros(robot.nv),
                        np.zeros(robot.nv), step=0.002) for k in range(count)]


def answers(client, stamps):
    """Return the stamps on all topics, from the first of `stamps` to the last, which is awaited."""
    client.wait(lambda: all(client.with_stamp(topic, stamps[-1]) for topic in TOPICS))
    return {topic: [stamp for stamp in client.stamps(topic) if stamp >= stamps[0]]
            for topic in TOPICS}


@pytest.mark.parametrize('count', [STATES, 2 * STATES])
def test_states_of_a_pause_are_answered_in_their_order(client, bringup, robot, count):
    with paused(bringup):
        stamps = send(client, robot, count)
    assert answers(client, stamps) == dict.fromkeys(TOPICS, stamps)


def test_states_that_come_at_once_are_answered_in_their_order(client, robot):
    """What a driver sends that stood still itself."""
    stamps = send(client, robot, STATES)
    assert answers(client, stamps) == dict.fromkeys(TOPICS, stamps)


def test_a_listener_that_stood_still_gets_all_answers(client, bringup, robot):
    """More messages than the shared memory between two processes holds (512 with Fast DDS)."""
    second = client.stamp // 10**9 + 60
    listener = subprocess.Popen(
        [sys.executable, '-c', LISTENER, str(STATES), str(second), *TOPICS], text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, 'ROS_DOMAIN_ID': str(client.context.get_domain_id())})

    def says(text):
        client.wait(lambda: select.select([listener.stdout], [], [], 0)[0] or (
            text == 'connected' and send(client, robot, 1) and False), what=f'the listener: {text}')
        return listener.stdout.readline() == f'{text}\n'

    try:
        assert says('connected')
        client.stamp = second * 10**9
        with paused(listener):
            stamps = send(client, robot, STATES)
            assert answers(client, stamps) == dict.fromkeys(TOPICS, stamps)
        client.stamp = (second + 1) * 10**9
        send(client, robot, STATES)  # has the middleware look for what is missing
        assert says('complete')
    finally:
        listener.kill()
        listener.wait()
