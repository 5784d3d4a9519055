# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The torques of `dynamics` term by term: friction, payload, reference, against Pinocchio."""

import re

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import pinocchio as pin
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import DIRECT, ERROR, OK, WARN

DAMPING, COULOMB, SMOOTHING = 0.3, 0.8, 0.01  # the last one is the default of a drive
URDF = re.sub(
    '(<axis [^>]*/>)',
    rf'\1<dynamics damping="{DAMPING}" friction="{COULOMB}"/>',
    urdf_path('panda').read_text(),
)
TOOL = 'panda_hand_tcp'
TERMS = ('gravity', 'coriolis', 'friction', 'inertia', 'payload')
TOLERANCE = {'rtol': 1e-9, 'atol': 1e-9}
OUTPUTS, COMMANDS = 'terms/dynamics: outputs', 'terms/dynamics: commands'
DESCRIPTION = 'terms/dynamics: robot description'
LOAD = {
    'payload_link': TOOL,
    'payload_mass': 2.5,
    'payload_center_of_mass': [0.02, -0.03, 0.08],
    'payload_inertia': [0.02, 0.001, -0.002, 0.03, 0.003, 0.025],
}


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF)


@pytest.fixture(scope='module')
def oracle(robot):
    return Pinocchio(URDF, robot)


@pytest.fixture(scope='module')
def loaded(robot):
    """Return Pinocchio's model with the payload."""
    oracle = Pinocchio(URDF, robot)
    xx, xy, xz, yy, yz, zz = LOAD['payload_inertia']
    inertia = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    oracle.carry(TOOL, LOAD['payload_mass'], LOAD['payload_center_of_mass'], inertia)
    return oracle


@pytest.fixture(scope='module')
def node(start):
    return start('dynamics', {'reference_timeout': '0.0', **DIRECT}, ['-r', '__ns:=/terms'])


@pytest.fixture(scope='module')
def client(node, connect, robot):
    made = connect('terms')
    made.describe(URDF)
    made.subscribe(JointState, *(f'dynamics/{name}' for name in (*TERMS, 'feedforward')))
    made.subscribe(Float64MultiArray, 'dynamics/energy', 'dynamics/momentum', 'dynamics/commands')
    made.until_active(COMMANDS, robot.joint_names, *in_the_middle(robot))
    return made


def in_the_middle(robot):
    """Return a state in which the robot rests far from its limits."""
    return 0.5 * (robot.limits.lower + robot.limits.upper), np.zeros(robot.nv)


@pytest.fixture
def state(robot):
    rng = np.random.default_rng(11)
    return rng.uniform(robot.limits.lower, robot.limits.upper), velocities(robot, rng)


def velocities(robot, rng):
    """Return some that a reference may have."""
    return rng.uniform(-0.9, 0.9, robot.nv) * robot.limits.velocity


@pytest.fixture
def carried(client):
    """Let the robot carry something for one test."""
    for name, value in LOAD.items():
        assert client.set_parameter('dynamics', name, value).successful
    yield
    assert client.set_parameter('dynamics', 'payload_link', '').successful


def efforts(client, robot, state):
    """Return the efforts on all topics for one state."""
    names = (*TERMS, 'feedforward')
    _, outputs = client.ask_all([f'dynamics/{name}' for name in names], robot.joint_names, *state)
    messages = dict(zip(names, outputs))
    assert all(tuple(m.name) == robot.joint_names for m in messages.values())
    return {name: np.array(message.effort) for name, message in messages.items()}


def friction(v):
    """Return Coulomb and viscous friction; the first finger moves the second one as well."""
    torques = DAMPING * v + COULOMB * v / np.hypot(v, SMOOTHING)
    torques[-1] *= 2
    return torques


@pytest.fixture
def follow(client, robot):
    """Make references count; the one of a test does not outlive it."""

    def until_following(what):
        def follows():
            return client.diagnostics.get(OUTPUTS, (0, '', {}))[2].get('feedforward follows')

        client.wait(lambda: follows() == what, what=f'following the {what}')

    def follow(q, v, a):
        client.publisher(JointTrajectory, 'dynamics/reference').publish(
            JointTrajectory(
                joint_names=robot.joint_names,
                points=[
                    JointTrajectoryPoint(
                        positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist()
                    )
                ],
            )
        )
        until_following('reference')

    yield follow
    assert client.set_parameter('dynamics', 'reference_timeout', 0.05).successful
    until_following('measured state')
    assert client.set_parameter('dynamics', 'reference_timeout', 0.0).successful


def test_terms_of_the_measured_state(client, robot, oracle, state):
    """Nothing accelerates; no friction is fed back from a measured velocity."""
    found, (q, v), rest = efforts(client, robot, state), state, np.zeros(robot.nv)
    gravity = oracle.inverse_dynamics(q, rest, rest)
    both = oracle.inverse_dynamics(q, v, rest)
    np.testing.assert_allclose(found['gravity'], gravity, **TOLERANCE)
    np.testing.assert_allclose(found['coriolis'], both - gravity, **TOLERANCE)
    np.testing.assert_allclose(found['friction'], friction(v), **TOLERANCE)
    np.testing.assert_allclose(found['feedforward'], both, **TOLERANCE)
    np.testing.assert_array_equal(found['inertia'], 0.0)
    np.testing.assert_array_equal(found['payload'], 0.0)


def test_energy(client, robot, oracle, state):
    """Kinetic and potential energy; the messages carry no stamp, so all are of the same state."""
    q, v = state
    message = client.ask_unstamped(
        'dynamics/energy', 'dynamics/feedforward', robot.joint_names, q, v
    )
    assert message.layout.dim[0].label == 'kinetic,potential'
    kinetic = oracle.kinetic_energy(q, v)
    potential = -robot.gravity @ oracle.mass_and_moment(q)[1]
    np.testing.assert_allclose(message.data, [kinetic, potential], rtol=1e-9)


def test_momentum(client, robot, oracle, state):
    """Linear, then angular about the center of mass, in root axes."""
    q, v = state
    message = client.ask_unstamped(
        'dynamics/momentum', 'dynamics/feedforward', robot.joint_names, q, v
    )
    assert message.layout.dim[0].label == 'px,py,pz,lx,ly,lz'
    momentum = pin.computeCentroidalMomentum(
        oracle.model, oracle.data, oracle.q(q), oracle.G(q) @ v
    )
    mass, moment = oracle.mass_and_moment(q)
    # Pinocchio's center of mass is without the root link, which has no momentum.
    shift = oracle.data.com[0] - moment / mass
    np.testing.assert_allclose(message.data[:3], momentum.linear, **TOLERANCE)
    np.testing.assert_allclose(
        message.data[3:], momentum.angular + np.cross(shift, momentum.linear), **TOLERANCE
    )


@pytest.fixture
def compilations(client, node, robot, state):
    """Return a function that counts them, once the robot is there, and what it counts so far."""
    efforts(client, robot, state)

    def count():
        return node.output.count('ready:')

    return count, count()


def test_payload_changes_without_compiling(
    client, compilations, robot, oracle, loaded, state, carried
):
    """Mass, center of mass, inertia and link are inputs of the kernel."""
    (count, before), (q, v) = compilations, state
    found, rest = efforts(client, robot, state), np.zeros(robot.nv)
    expected = loaded.inverse_dynamics(q, v, rest)
    np.testing.assert_allclose(
        found['payload'], expected - oracle.inverse_dynamics(q, v, rest), **TOLERANCE
    )
    np.testing.assert_allclose(found['feedforward'], expected, **TOLERANCE)
    assert client.set_parameter('dynamics', 'payload_link', 'panda_link4').successful
    elsewhere = efforts(client, robot, state)['payload']
    np.testing.assert_allclose(elsewhere[4:], 0.0, atol=1e-12)
    assert np.abs(elsewhere[1]) > 1.0
    assert count() == before > 0
    client.wait(
        lambda: (
            client.diagnostics.get(OUTPUTS, (0, '', {}))[2].get('payload')
            == '2.5 kg on panda_link4'
        ),
        what='the payload on /diagnostics',
    )


def test_following_a_reference(client, robot, oracle, loaded, state, carried, follow):
    """Feedforward is that of the reference, with its accelerations, its friction and the payload.

    Where the robot is as it should be, the terms add up to it.
    """
    (q, v), a = state, np.random.default_rng(12).normal(size=robot.nv)
    follow(q, v, a)
    found, rest = efforts(client, robot, state), np.zeros(robot.nv)
    expected = loaded.inverse_dynamics(q, v, a) + friction(v)
    np.testing.assert_allclose(found['feedforward'], expected, **TOLERANCE)
    np.testing.assert_allclose(
        found['inertia'],
        oracle.inverse_dynamics(q, rest, a) - oracle.inverse_dynamics(q, rest, rest),
        **TOLERANCE,
    )
    np.testing.assert_allclose(sum(found[term] for term in TERMS), expected, **TOLERANCE)
    message = client.ask_unstamped(
        'dynamics/commands', 'dynamics/feedforward', robot.joint_names, q, v
    )
    np.testing.assert_allclose(message.data, expected, **TOLERANCE)


@pytest.mark.parametrize('compensated', [['gravity', 'friction'], ['coriolis', 'payload'], TERMS])
def test_what_the_robot_adds_is_left_out(
    client, robot, oracle, loaded, state, carried, follow, compensated
):
    """Gravity and Coriolis torques where the robot is, the others of the reference."""
    rng, rest = np.random.default_rng(13), np.zeros(robot.nv)
    (q, v), a = state, rng.normal(size=robot.nv)
    wanted_q = np.clip(q + rng.uniform(-0.1, 0.1, robot.nv), robot.limits.lower, robot.limits.upper)
    wanted_v = velocities(robot, rng)
    follow(wanted_q, wanted_v, a)
    assert client.set_parameter('dynamics', 'compensated_terms', list(compensated)).successful
    try:
        found = efforts(client, robot, state)['feedforward']
    finally:
        assert client.set_parameter('dynamics', 'compensated_terms', ['']).successful
    counted = rest if 'inertia' in compensated else a
    gravity = oracle.inverse_dynamics(q, rest, rest)
    measured = {'gravity': gravity, 'coriolis': oracle.inverse_dynamics(q, v, rest) - gravity}
    carries = oracle if 'payload' in compensated else loaded
    expected = carries.inverse_dynamics(wanted_q, wanted_v, counted)
    expected = expected - sum(measured[term] for term in compensated if term in measured)
    if 'friction' not in compensated:
        expected = expected + friction(wanted_v)
    np.testing.assert_allclose(found, expected, **TOLERANCE)


def test_an_old_reference_does_not_count(client, robot, oracle, state, follow):
    follow(in_the_middle(robot)[0], state[1], np.ones(robot.nv))
    assert client.set_parameter('dynamics', 'reference_timeout', 0.05).successful
    client.expect(OUTPUTS, WARN, 'older than reference_timeout')
    found = efforts(client, robot, state)
    np.testing.assert_allclose(
        found['feedforward'], oracle.inverse_dynamics(*state, np.zeros(robot.nv)), **TOLERANCE
    )
    np.testing.assert_array_equal(found['inertia'], 0.0)


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('payload_inertia', [1.0, 0.0, 0.0, 1.0, 0.0, 3.0], 'triangle inequality'),
        ('payload_link', 'nose', "no link 'nose'"),
        ('compensated_terms', ['wind'], 'gravity, coriolis, friction, inertia, payload'),
    ],
)
def test_impossible_payloads_are_refused(client, robot, state, carried, name, value, reason):
    client.ask('dynamics/feedforward', robot.joint_names, *state)  # there is a robot
    result = client.set_parameter('dynamics', name, value)
    assert not result.successful
    assert reason in result.reason


@pytest.fixture
def describe(client, robot):
    """Describe another robot for one test."""
    yield client.describe
    client.describe(URDF)
    client.wait(lambda: client.expect(DESCRIPTION, OK)['robot'].startswith('panda'), what='panda')
    client.until_active(COMMANDS, robot.joint_names, *in_the_middle(robot))


def test_payload_of_another_robot(client, carried, describe):
    """A link that the robot does not have is reported; everything else works."""
    describe(urdf_path('planar_2r').read_text())
    client.expect(OUTPUTS, ERROR, f"no link '{TOOL}'")
    state = [0.0, 1.0], [1.0, 0.0]
    _, message = client.ask('dynamics/feedforward', ['joint1', 'joint2'], *state)
    np.testing.assert_allclose(message.effort, [0.0, 0.5 * np.sin(1.0)], atol=1e-12)
    assert client.set_parameter('dynamics', 'payload_link', '').successful
    client.expect(OUTPUTS, WARN, 'payload_link is empty')
    assert client.set_parameter('dynamics', 'payload_link', 'tip').successful
    client.expect(OUTPUTS, OK)
    assert client.set_parameter('dynamics', 'payload_link', '').successful
