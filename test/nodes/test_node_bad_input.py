# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bad input through the running nodes: it is reported, nothing wrong is published, and all
continues.

What drivers and descriptions can do wrong. That nothing came of a bad message is known when the
outputs of a later good one are there, because outputs carry the stamps of their inputs.
"""

import signal
import time

import numpy as np
import pytest
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import ERROR, OK, WARN, stamp_of

PANDA = urdf_path('panda').read_text()
PLANAR = urdf_path('planar_2r').read_text()
TOPICS = GRAVITY, CORIOLIS, EXTERNAL = (
    'dynamics/gravity',
    'dynamics/coriolis',
    'wrench_estimator/external_torque',
)
STATES, DESCRIPTION = 'bad/bringup: joint states', 'bad/bringup: robot description'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(PANDA)


@pytest.fixture(scope='module')
def node(start):
    return start('bringup', arguments=['-r', '__ns:=/bad'])


@pytest.fixture(scope='module')
def client(node, connect, robot):
    made = connect('bad')
    made.describe(PANDA)
    made.subscribe(JointState, *TOPICS)
    return made


@pytest.fixture(autouse=True)
def alive(client, node, robot):
    """Before and after each test good states give good outputs, from one and the same process."""
    check_good(client, robot)
    yield
    check_good(client, robot)
    assert node.process.poll() is None, node.output


def good(robot, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=(2, robot.nv))


def check_good(client, robot, seed=0):
    """Send a good state until all outputs come; check their numbers."""
    q, (v, tau) = good(robot, seed)
    for topic in TOPICS:
        _, message = client.ask(topic, robot.joint_names, q, v, tau)
        check_numbers(topic, message, robot, q, v, tau)


def check_numbers(topic, message, robot, q, v, tau):
    g, c = robot.gravity_torques(q), robot.coriolis_torques(q, v)
    expected = {GRAVITY: g, CORIOLIS: c, EXTERNAL: g + c - tau}[topic]
    assert tuple(message.name) == robot.joint_names
    np.testing.assert_allclose(message.effort, expected, rtol=1e-9, atol=1e-9)


def silent(client, robot, stamps, topics=TOPICS):
    """After a later good state has been answered, nothing carries one of these stamps."""
    check_good(client, robot, seed=1)
    for topic in topics:
        assert not set(stamps) & set(client.stamps(topic)), topic
        assert all(np.isfinite(message.effort).all() for message in client.received[topic])


def refuse(client, robot, level, texts, names, *fields):
    """Send bad states until diagnostics tell; nothing may come of them."""
    stamps = []
    client.expect(
        STATES, level, *texts, meanwhile=lambda: stamps.append(client.send(names, *fields))
    )
    silent(client, robot, stamps)


# --- joint states --------------------------------------------------------------------------------


def test_bytes_that_are_no_joint_state(client, robot):
    publisher = client.publisher(JointState, 'joint_states')

    def send():
        publisher.publish(b'\x00\x01\x00\x00' + 5 * b'\x01')

    client.expect(STATES, ERROR, 'unreadable message', meanwhile=send)


def test_numbers_too_large_to_compute_with(client, robot):
    q, (v, tau) = good(robot)
    refuse(client, robot, WARN, ['results are not finite'], robot.joint_names, q, v * 1e200, tau)


def test_pause(client, robot):
    q, (v, tau) = good(robot)
    client.ask(GRAVITY, robot.joint_names, q, v, tau)
    client.expect(STATES, ERROR, 'no joint state for', 'outputs have stopped')
    client.stamp += 5 * 10**9
    stamp = client.send(robot.joint_names, q + 0.5, [], tau)  # nothing to differentiate with
    client.ask(CORIOLIS, robot.joint_names, q + 0.5, [], tau)
    assert stamp not in client.stamps(CORIOLIS)
    check_good(client, robot)
    for topic in TOPICS:  # each state once, and nothing meanwhile
        assert len(client.stamps(topic)) == len(set(client.stamps(topic)))
    client.expect(
        STATES,
        WARN,
        'no joint state for longer than state_timeout',
        meanwhile=lambda: client.send(robot.joint_names, q, v, tau),
    )


def test_stamps_far_from_the_clock(client, robot):
    """They are accepted with a warning, or refused if `max_stamp_age` says so."""
    q, (v, tau) = good(robot)
    client.stamp = time.time_ns() - 3600 * 10**9
    check_good(client, robot)
    client.expect(
        STATES,
        WARN,
        'clock of this node disagree',
        meanwhile=lambda: client.send(robot.joint_names, q, v, tau),
    )
    assert client.set_parameter('bringup', 'max_stamp_age', 600.0).successful
    refused = []
    client.expect(
        STATES,
        ERROR,
        'older than max_stamp_age',
        meanwhile=lambda: refused.append(client.send(robot.joint_names, q, v, tau)),
    )
    client.stamp = time.time_ns()
    silent(client, robot, refused)  # those on their way must not meet the parameter's next value
    assert client.set_parameter('bringup', 'max_stamp_age', 0.0).successful


def test_driver_is_killed_and_comes_back(client, robot, start):
    """The simulator plays the driver: killed without a goodbye, then started again."""
    client.drop_publisher('joint_states')
    for _ in range(2):
        driver = start('simulator', {'rate': 100.0}, ['-r', '__ns:=/bad'])
        client.received[EXTERNAL].clear()

        def caused():
            return [m for m in client.received[EXTERNAL] if stamp_of(m) not in client.sent]

        client.wait(lambda: len(caused()) > 20, what='external torques')
        assert (np.diff([stamp_of(message) for message in caused()]) > 0).all()
        # The simulated robot follows a slow motion and nothing touches it.
        assert np.abs([message.effort for message in caused()]).max() < 2.0
        driver.stop(signal.SIGKILL)
        client.expect(STATES, ERROR, 'no joint state for')
    client.stamp = time.time_ns()


# --- description ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        (PANDA.replace('<mass value="4.970684"/>', '<mass value="-4.970684"/>'), 'panda_link1'),
    ],
)
def test_bad_description_by_topic(client, robot, text, reason):
    client.describe(text)
    client.expect(DESCRIPTION, ERROR, 'refused', reason, 'the previous one stays in use')
    check_good(client, robot, seed=2)
    client.describe(PANDA)
    client.expect(DESCRIPTION, OK)


def test_unphysical_inertia_is_reported_or_refused(client, robot, start, connect):
    """By default a warning; with inertia_check the description is refused."""
    text = PANDA.replace('ixx="0.70337"', 'ixx="9.0"')  # more than iyy + izz
    client.describe(text)
    client.expect(DESCRIPTION, WARN, 'panda_link1')
    client.describe(PANDA)
    client.expect(DESCRIPTION, OK)
    start('dynamics', {'inertia_check': 'error'}, ['-r', '__ns:=/strict'])
    strict = connect('strict')
    strict.describe(text)
    strict.expect('strict/dynamics: robot description', ERROR, 'refused', 'panda_link1')


def test_bad_description_by_parameter(client, robot):
    result = client.set_parameter('bringup', 'robot_description', PANDA.replace('</robot>', ''))
    assert not result.successful
    assert 'XML' in result.reason
    check_good(client, robot, seed=2)
    client.expect(DESCRIPTION, OK)


def test_description_changes_while_running(client, robot, node):
    """Another robot is adopted; states of the old one are reported as foreign; and back again."""
    planar = Robot.from_urdf(PLANAR)
    client.subscribe(TwistStamped, 'kinematics/twist/panda_hand_tcp')
    client.describe(PLANAR)
    q, (v, tau) = good(robot)
    client.expect(
        STATES,
        ERROR,
        'no joint of this robot',
        meanwhile=lambda: client.send(robot.joint_names, q, v, tau),
    )
    for topic in TOPICS:
        _, message = client.ask(topic, planar.joint_names, [0.3, 0.4], [1.0, 2.0], [3.0, 4.0])
        check_numbers(
            topic, message, planar, *(np.array(x) for x in ([0.3, 0.4], [1.0, 2.0], [3.0, 4.0]))
        )
    tip = planar.link_names[-1]
    client.subscribe(TwistStamped, f'kinematics/twist/{tip}')
    client.describe(PANDA)
    client.expect(DESCRIPTION, OK)
    check_good(client, robot)


def test_description_by_parameter_shuts_out_the_topic(client, robot):
    assert client.set_parameter('bringup', 'robot_description', PANDA).successful
    client.wait(lambda: client.diagnostics[DESCRIPTION][2].get('source') == 'parameter')
    client.describe(PLANAR)
    client.expect(DESCRIPTION, WARN, 'differs from the parameter')
    check_good(client, robot)
    client.describe(PANDA)
    assert client.set_parameter('bringup', 'robot_description', '').successful
    client.wait(lambda: client.diagnostics[DESCRIPTION][2].get('source') == 'topic')


# --- at start ------------------------------------------------------------------------------------


def test_bad_description_at_start_leaves_the_topic(start, connect, robot):
    start('dynamics', {'robot_description': '"<robot"'}, ['-r', '__ns:=/late'])
    client = connect('late')
    client.expect('late/dynamics: robot description', ERROR, 'refused', 'XML')
    client.describe(PANDA)
    client.subscribe(JointState, 'dynamics/gravity')
    q, (v, tau) = good(robot)
    _, message = client.ask('dynamics/gravity', robot.joint_names, q, v, tau)
    check_numbers(GRAVITY, message, robot, q, v, tau)


@pytest.mark.parametrize(
    ('parameters', 'reason'),
    [({'gravity': '[0.0, 1.0]'}, 'gravity'), ({'executor': 'magic'}, 'executor')],
)
def test_impossible_parameter_at_start(start, parameters, reason):
    node = start('dynamics', parameters, ['-r', '__ns:=/never'])
    assert node.wait() == 1
    assert reason in node.output
    assert 'Traceback' not in node.output
