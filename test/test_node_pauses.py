"""No joint state is lost while a process stands still: what came meanwhile is answered after it.

Pauses are made with SIGSTOP and SIGCONT, as a machine, a debugger or a scheduler makes them.
"""

import os
import signal
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


def published(client):
    """Return how many messages have been published on each topic, by the next /diagnostics."""
    names = {topic: f'pauses/{topic.partition("/")[0]}: outputs' for topic in TOPICS}
    client.diagnostics.clear()
    client.wait(lambda: client.diagnostics.keys() >= set(names.values()), what='/diagnostics')
    return {topic: int(client.diagnostics[name][2][f'/pauses/{topic}'].split()[0])
            for topic, name in names.items()}


def check_answers(client, before, stamps):
    """Every state is answered on every topic, in the order in which they came."""
    client.wait(lambda: published(client) == {
        topic: count + len(stamps) for topic, count in before.items()}, what='answers')
    for topic in TOPICS:
        client.wait(lambda topic=topic: client.with_stamp(topic, stamps[-1]), what=topic)
        got = [stamp for stamp in client.stamps(topic) if stamp >= stamps[0]]
        assert got == sorted(got)


@pytest.fixture
def before(client):
    """Return what has been published before the test."""
    published(client)  # counted before it was sent
    return published(client)


@pytest.mark.parametrize('count', [250, 500])
def test_states_of_a_pause_are_answered(client, bringup, robot, before, count):
    """Half a second and a second at 500 Hz."""
    with paused(bringup):
        stamps = send(client, robot, count)
    check_answers(client, before, stamps)


def test_states_that_come_at_once_are_answered(client, robot, before):
    """What a driver sends that stood still itself."""
    check_answers(client, before, send(client, robot, 250))
