# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What measured efforts stand for: their terms, scales, the tare, and numbers of no use."""

import numpy as np
import pytest

pytest.importorskip('pinocchio')

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.outputs.external_wrenches.tare import MIN_SAMPLES
from support.robots import urdf_path
from support.ros_harness import OK, WARN, vector

PLAIN = urdf_path('panda').read_text()
DAMPING = 0.3
URDF = PLAIN.replace('</joint>', f'<dynamics damping="{DAMPING}"/></joint>')
TOOL = 'panda_hand_tcp'
TERMS = ['gravity', 'coriolis', 'friction', 'inertia', 'payload']
NODE = 'wrench_estimator'
EXTERNAL, WRENCH = f'{NODE}/external_torque', f'{NODE}/wrench/{TOOL}'
OUTPUTS, STATES = f'efforts/{NODE}: outputs', f'efforts/{NODE}: joint states'
TOLERANCE = {'rtol': 1e-9, 'atol': 1e-9}
LOAD = {
    'payload_link': TOOL,
    'payload_mass': 1.5,
    'payload_center_of_mass': [0.02, -0.03, 0.08],
    'payload_inertia': [0.02, 0.0, 0.0, 0.03, 0.0, 0.025],
}
#: What tests change, and what is active before each of them.
DEFAULTS = {
    'effort_terms': TERMS,
    'payload_link': '',
    'effort_scale': [],
    'effort_offset': [],
    'effort_joints': [''],
    'velocity_policy': 'differentiate',
    'tare_samples': 100,
    'tare_velocity_limit': 0.05,
    'state_timeout': 1000.0,
    'damping': 0.0,
}


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(PLAIN)


@pytest.fixture(scope='module')
def node(start):
    return start(NODE, {'frames': f"['{TOOL}']", 'max_delay': 0.0}, ['-r', '__ns:=/efforts'])


@pytest.fixture(scope='module')
def shared_client(node, connect):
    made = connect('efforts')
    made.describe(URDF)
    made.subscribe(JointState, EXTERNAL)
    made.subscribe(WrenchStamped, WRENCH)
    return made


@pytest.fixture
def client(shared_client, state, robot):
    """Return the client, with all parameters as they were and without tare."""
    for name, value in DEFAULTS.items():
        result = shared_client.set_parameter(NODE, name, value)
        assert result.successful, result.reason
    q, _ = state
    shared_client.ask(EXTERNAL, robot.joint_names, q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert shared_client.call(Trigger, f'{NODE}/reset', Trigger.Request()).success
    for topic in (EXTERNAL, WRENCH):
        shared_client.received[topic].clear()
    return shared_client


@pytest.fixture
def state():
    """Return a state away from singularities."""
    q = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.8, 0.1, 0.02])
    return q, 0.4 * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 0.1])


def oracle(robot, loaded=False):
    made = Pinocchio(PLAIN, robot, mimic=True)
    if loaded:
        xx, xy, xz, yy, yz, zz = LOAD['payload_inertia']
        made.carry(
            TOOL,
            LOAD['payload_mass'],
            LOAD['payload_center_of_mass'],
            [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
        )
    return made


def terms_of(robot, q, v):
    """Return each of the terms of an unaccelerated robot, with the payload, from Pinocchio."""
    rest = np.zeros(robot.nv)
    rigid, carrying = oracle(robot), oracle(robot, loaded=True)
    gravity, both = (rigid.inverse_dynamics(q, rates, rest) for rates in (rest, v))
    friction = DAMPING * v
    friction[-1] *= 2.0  # the finger moves the other one as well
    return {
        'gravity': gravity,
        'coriolis': both - gravity,
        'friction': friction,
        'inertia': rest,
        'payload': carrying.inverse_dynamics(q, v, rest) - both,
    }


def external(client, robot, q, v, tau):
    return np.array(client.ask(EXTERNAL, robot.joint_names, q, v, tau)[1].effort)


def tare(client):
    return client.call(Trigger, f'{NODE}/tare', Trigger.Request())


# --- which terms there are -----------------------------------------------------------------------


@pytest.mark.parametrize(
    'named',
    [
        TERMS,
        ['gravity', 'coriolis', 'inertia', 'payload'],  # torque sensors behind the gears
        ['coriolis', 'friction', 'inertia'],  # that of its payload as well
        [''],  # nothing but external torque
    ],
    ids=' '.join,
)
def test_gravity_free_efforts_of_an_untouched_arm_show_no_contact(client, robot, state, named):
    """And of a touched one just the contact, whatever the driver has removed before."""
    (q, v), wrench = state, np.array([0.5, -0.4, 0.3, 8.0, -5.0, 12.0])
    for name, value in {**LOAD, 'effort_terms': named}.items():
        assert client.set_parameter(NODE, name, value).successful
    measured = sum(torque for term, torque in terms_of(robot, q, v).items() if term in named)
    measured = measured + np.zeros(robot.nv)
    contact = robot.jacobian(q, TOOL, 'body').T @ wrench
    _, (torques, still) = client.ask_all([EXTERNAL, WRENCH], robot.joint_names, q, v, measured)
    np.testing.assert_allclose(torques.effort, 0.0, **TOLERANCE)
    np.testing.assert_allclose(vector(still.wrench.force), 0.0, atol=1e-6)
    _, (torques, pushed) = client.ask_all(
        [EXTERNAL, WRENCH], robot.joint_names, q, v, measured - contact
    )
    np.testing.assert_allclose(torques.effort, contact, **TOLERANCE)
    np.testing.assert_allclose(vector(pushed.wrench.force), wrench[3:], atol=1e-6)
    np.testing.assert_allclose(vector(pushed.wrench.torque), wrench[:3], atol=1e-6)


def test_effort_terms_that_do_not_exist_are_refused(client):
    refused = client.set_parameter(NODE, 'effort_terms', ['gravity', 'weight'])
    assert not refused.successful
    assert 'gravity, coriolis, friction, inertia, payload' in refused.reason


# --- effort_scale, effort_offset -----------------------------------------------------------------


def test_efforts_are_scaled_on_the_joints_they_name_and_on_no_others(client, robot, state):
    """The names are in another order than the joints."""
    (q, v), chosen = state, {'panda_joint6': (0.5, 3.0), 'panda_joint2': (-1.0, 0.25)}
    scale, offset = zip(*chosen.values())
    for name, value in (
        ('effort_joints', list(chosen)),
        ('effort_scale', list(scale)),
        ('effort_offset', list(offset)),
    ):
        assert client.set_parameter(NODE, name, value).successful
    reported = np.arange(1.0, robot.nv + 1.0)
    torque = reported.copy()
    for joint, (factor, added) in chosen.items():
        i = robot.joint_names.index(joint)
        torque[i] = factor * reported[i] + added
    terms = terms_of(robot, q, v)
    expected = sum(terms[name] for name in ('gravity', 'coriolis', 'friction')) - torque
    np.testing.assert_allclose(external(client, robot, q, v, reported), expected, **TOLERANCE)


# --- tare ----------------------------------------------------------------------------------------


def rest(client, robot, q, tau, count=MIN_SAMPLES, **changes):
    """Send states at rest that are answered."""
    for _ in range(count):
        client.ask_once(EXTERNAL, robot.joint_names, q, changes.get('v', np.zeros(robot.nv)), tau)


def refused(client, robot, q, tau, *texts):
    """Ask for a tare, which is refused for these reasons and changes nothing."""
    answer = tare(client)
    assert not answer.success, answer.message
    for text in texts:
        assert text in answer.message
    gravity = terms_of(robot, q, np.zeros(robot.nv))['gravity']
    found = external(client, robot, q, np.zeros(robot.nv), tau)
    np.testing.assert_allclose(found, gravity - tau, **TOLERANCE)
    # a diagnostic from before may still be on its way
    client.wait(lambda: client.expect(OUTPUTS, OK)['tared'] == 'no', what='no active tare')


def test_taring_twice_gives_the_same_offset(client, robot, state):
    """The second tare does not take the first one off once more."""
    q, tau = state[0], np.arange(robot.nv) - 3.0
    rest(client, robot, q, tau)
    first = tare(client)
    assert first.success, first.message
    np.testing.assert_allclose(external(client, robot, q, np.zeros(robot.nv), tau), 0.0, atol=1e-9)
    second = tare(client)
    assert second.success, second.message
    offset = first.message.partition(': ')[2]
    assert second.message.partition(': ')[2] == offset
    assert 'panda_joint1' in offset
    np.testing.assert_allclose(external(client, robot, q, np.zeros(robot.nv), tau), 0.0, atol=1e-9)
    more = np.ones(robot.nv)
    found = external(client, robot, q, np.zeros(robot.nv), tau - more)
    np.testing.assert_allclose(found, more, atol=1e-9)


def test_tare_of_a_load_that_alternates_is_refused(client, robot, state):
    """As 12 and 50 N at the tool do; steps and noise of a driver are no loads."""
    q = state[0]
    arms = robot.jacobian(q, TOOL)[5]  # of a vertical force

    def come(forces):
        assert client.call(Trigger, f'{NODE}/reset', Trigger.Request()).success
        for force in forces:
            rest(client, robot, q, 1.0 + arms * force, 1)

    come([12.0, 50.0] * MIN_SAMPLES)
    refused(
        client, robot, q, 1.0 + arms * 12.0, 'the external torque of panda_joint', ' N m in some '
    )
    assert 'the load changes, or two sources are mixed' in tare(client).message
    for healthy in ([12.0, 13.0] * MIN_SAMPLES, 20.0 * np.sin(np.arange(2 * MIN_SAMPLES))):
        come(healthy)
        assert tare(client).success


def test_tare_of_numbers_that_overflow_is_refused(client, robot, state):
    """Their mean is infinite: with it no output would be finite until a reset."""
    q, tau = state[0], np.full(robot.nv, 1.7e308)
    rest(client, robot, q, tau)
    answer = tare(client)
    assert not answer.success
    assert 'the mean external torque of panda_joint1 is' in answer.message
    tau = np.ones(robot.nv)
    gravity = terms_of(robot, q, np.zeros(robot.nv))['gravity']
    found = external(client, robot, q, np.zeros(robot.nv), tau)
    np.testing.assert_allclose(found, gravity - tau, **TOLERANCE)


# --- numbers of no use ---------------------------------------------------------------------------


def test_finite_efforts_never_give_wrenches_that_are_not(client, robot, state):
    """1e308 is a finite effort; the wrench of it is not, and /diagnostics name it and the cause."""
    q, v = state
    tau = np.ones(robot.nv)
    tau[1], tau[4] = 1.2e308, -1.7e308
    stamps = []

    def send():
        stamps.append(client.ask(EXTERNAL, robot.joint_names, q, v, tau)[0])

    client.expect(
        OUTPUTS,
        WARN,
        'not published because numbers are not finite',
        f'/{WRENCH}',
        'effort -1.7e+308 at panda_joint5',
        meanwhile=send,
    )
    client.ask(WRENCH, robot.joint_names, q, v, np.ones(robot.nv))
    assert not set(stamps) & set(client.stamps(WRENCH))
    for message in client.received[WRENCH]:
        assert np.isfinite([*vector(message.wrench.force), *vector(message.wrench.torque)]).all()
    assert np.isfinite([message.effort for message in client.received[EXTERNAL]]).all()


def test_efforts_too_large_for_the_estimate_leave_other_outputs_alone(client, robot, state):
    """The states are still good for whatever needs no efforts: none of them is given up."""
    q, v = state
    tau = np.full(robot.nv, -1.7e308)
    for _ in range(2):  # the last one is reported
        client.diagnostics.pop(STATES, None)
        client.ask(EXTERNAL, robot.joint_names, q, v, tau)
        client.wait(lambda: STATES in client.diagnostics, what='diagnostics')
    assert 'results are not finite' not in client.diagnostics[STATES][1]
