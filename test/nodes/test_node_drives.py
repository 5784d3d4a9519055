# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives as parameters of the nodes (C-054, B-008), through DDS, against Pinocchio and the laws."""

import re

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import yaml
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Drive, Robot
from support.paths import CONFIG
from support.robots import urdf_path
from support.ros_harness import DIRECT, ERROR, OK, matrix, vector

CONFIG = CONFIG / 'model.yaml'
DAMPING, COULOMB = 0.3, 0.8  # of all joints, in the description
URDF = re.sub(
    '(<axis [^>]*/>)',
    rf'\1<dynamics damping="{DAMPING}" friction="{COULOMB}"/>',
    urdf_path('panda').read_text(),
)
SHOULDER, WRIST, FINGER = 'panda_joint2', 'panda_joint6', 'panda_finger_joint1'
#: The shoulder has everything, the wrist only an armature, the finger only friction.
DRIVES = {
    SHOULDER: {
        'rotor_inertia': 3e-5,
        'gear_ratio': 120,
        'armature': 0.05,
        'damping': 1.5,
        'coulomb': 4.0,
        'breakaway': 6.0,
        'stribeck_speed': 0.2,
        'smoothing': 0.05,
    },
    WRIST: {'armature': 0.25},
    FINGER: {'coulomb': 3.0},
}
PIVOTS = ('counterbalance_on_parent', 'counterbalance_on_child')
TOLERANCE = {'rtol': 1e-9, 'atol': 1e-9}
FRICTION, FEEDFORWARD = 'dynamics/friction', 'dynamics/feedforward'
MASS_MATRIX = 'dynamics/mass_matrix'
TOOL = 'panda_hand_tcp'
EXTERNAL, WRENCH = 'wrench_estimator/external_torque', f'wrench_estimator/wrench/{TOOL}'


def parameters(drives):
    """Return ROS parameters of drives."""
    joints = ', '.join(f"'{joint}'" for joint in drives)
    return {
        'drive_joints': f'[{joints}]',
        **{
            f'drives.{joint}.{field}': value
            for joint, fields in drives.items()
            for field, value in fields.items()
        },
    }


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF)


@pytest.fixture(scope='module')
def oracle(robot):
    return Pinocchio(URDF, robot)


@pytest.fixture(scope='module')
def client(start, connect, robot):
    hosted = {'nodes': "['dynamics', 'wrench_estimator']", **DIRECT}
    start('bringup', {**hosted, **parameters(DRIVES)}, ['-r', '__ns:=/driven'])
    made = connect('driven')
    assert made.set_parameter('wrench_estimator', 'damping', 0.0).successful
    made.describe(URDF)
    made.subscribe(JointState, FRICTION, FEEDFORWARD, 'dynamics/inertia', 'dynamics/coriolis')
    made.subscribe(Float64MultiArray, MASS_MATRIX)
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    made.until_active('driven/dynamics: commands', robot.joint_names, middle, np.zeros(robot.nv))
    return made


@pytest.fixture
def state(robot):
    rng = np.random.default_rng(31)
    q = rng.uniform(robot.limits.lower, robot.limits.upper)
    return q, rng.normal(size=robot.nv) * 0.1


@pytest.fixture
def changed(client, robot, state):
    """Change parameters of a drive for one test; they are active again when it ends."""
    before = []

    def change(joint, **fields):
        for field, value in fields.items():
            before.append((joint, field, DRIVES[joint].get(field, default(field))))
            result = client.set_parameter('bringup', f'drives.{joint}.{field}', value)
            assert result.successful, result.reason

    yield change
    for joint, field, value in reversed(before):
        assert client.set_parameter('bringup', f'drives.{joint}.{field}', value).successful
    rigid = robot.inverse_dynamics(*state, np.zeros(robot.nv))
    expected = friction(robot, state[1]), robot.coriolis_torques(*state), rigid

    def is_as_before():
        found = efforts(client, robot, state, FRICTION, 'dynamics/coriolis', FEEDFORWARD)
        return np.allclose(found, expected, **TOLERANCE)

    client.wait(is_as_before, what='the drives as before')


def default(field):
    zeros = {pivot: [0.0, 0.0, 0.0] for pivot in PIVOTS}
    return {'gear_ratio': 1.0, 'rotor_axis': [0.0] * 3, 'carrier': '', **zeros}.get(field, 0.0)


def friction(robot, v):
    """Return the torques of the laws; the first finger moves the second one, which has no drive."""
    torques = DAMPING * v + COULOMB * v / np.hypot(v, 0.01)
    i, k = robot.joint_names.index(SHOULDER), robot.joint_names.index(FINGER)
    level = 4.0 + 2.0 / (1.0 + (v[i] / 0.2) ** 2)
    torques[i] = 1.5 * v[i] + level * v[i] / np.hypot(v[i], 0.05)
    torques[k] += DAMPING * v[k] + 3.0 * v[k] / np.hypot(v[k], 0.01)
    return torques


def felt(robot):
    """Return G^2 J and armatures of the joints."""
    inertias = dict.fromkeys(robot.joint_names, 0.0)
    inertias.update({SHOULDER: 120**2 * 3e-5 + 0.05, WRIST: 0.25})
    return np.array(list(inertias.values()))


def efforts(client, robot, state, *topics):
    """Return the efforts on some topics for one state."""
    _, messages = client.ask_all(topics, robot.joint_names, *state)
    return [np.array(message.effort) for message in messages]


def columns(oracle, q):
    """Return the mass matrix without drives, column by column."""
    rest, unit = np.zeros(len(q)), np.eye(len(q))
    gravity = oracle.inverse_dynamics(q, rest, rest)
    return np.array([oracle.inverse_dynamics(q, rest, e) - gravity for e in unit]).T


def test_friction(client, robot, state):
    """Friction a drive does not give is that of the description; no friction is fed back."""
    found, feedforward = efforts(client, robot, state, FRICTION, FEEDFORWARD)
    np.testing.assert_allclose(found, friction(robot, state[1]), **TOLERANCE)
    rigid = robot.inverse_dynamics(*state, np.zeros(robot.nv))
    np.testing.assert_allclose(feedforward, rigid, **TOLERANCE)


def test_mass_matrix(client, robot, oracle, state):
    """Rotors and armatures are felt on the diagonal."""
    message = client.ask_unstamped(MASS_MATRIX, FRICTION, robot.joint_names, *state)
    expected = columns(oracle, state[0]) + np.diag(felt(robot))
    np.testing.assert_allclose(matrix(message), expected, **TOLERANCE)


def test_feedforward_of_a_reference(client, robot, oracle, state):
    """Inverse dynamics, what the drives are felt with, and the friction of the reference."""
    (q, v), a = state, np.random.default_rng(32).normal(size=robot.nv)
    assert client.set_parameter('dynamics', 'reference_timeout', 0.0).successful
    point = JointTrajectoryPoint(
        positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist()
    )
    client.publisher(JointTrajectory, 'dynamics/reference').publish(
        JointTrajectory(joint_names=robot.joint_names, points=[point])
    )
    rigid = oracle.inverse_dynamics(q, v, a)
    expected = rigid + felt(robot) * a + friction(robot, v)

    def follows():
        return np.abs(efforts(client, robot, state, 'dynamics/inertia')[0]).max() > 0.0

    client.wait(follows, what='the reference')
    inertia, feedforward = efforts(client, robot, state, 'dynamics/inertia', FEEDFORWARD)
    np.testing.assert_allclose(feedforward, expected, **TOLERANCE)
    M = columns(oracle, q) + np.diag(felt(robot))
    np.testing.assert_allclose(inertia, M @ a, **TOLERANCE)
    assert client.set_parameter('dynamics', 'reference_timeout', 0.05).successful
    client.expect('driven/dynamics: outputs', 1, 'older than reference_timeout')


def test_changes_while_running(client, robot, state, changed):
    """Friction of the wrist from now on; what is not a number of friction stays."""
    changed(WRIST, damping=40.0)
    i = robot.joint_names.index(WRIST)
    expected = friction(robot, state[1])
    expected[i] += (40.0 - DAMPING) * state[1][i]

    def agrees():
        found = efforts(client, robot, state, FRICTION)[0]
        return np.allclose(found, expected, **TOLERANCE)

    client.wait(agrees, what='other friction')


def test_spin_of_a_rotor(client, robot, state, changed):
    """With its axis a rotor is a body that turns: Coriolis torques as in the core (C-054)."""
    spin = {'rotor_axis': [0.0, 1.0, 0.0], 'carrier': 'panda_link4'}
    changed(SHOULDER, **spin)
    given = dict(DRIVES[SHOULDER], rotor_axis=(0.0, 1.0, 0.0), carrier='panda_link4')
    spinning = Robot.from_urdf(URDF, drives={SHOULDER: Drive(**given)})
    expected = spinning.coriolis_torques(*state)
    assert np.abs(expected - robot.coriolis_torques(*state)).max() > 1e-5

    def agrees():
        found = efforts(client, robot, state, 'dynamics/coriolis')[0]
        return np.allclose(found, expected, **TOLERANCE)

    client.wait(agrees, what='the spin of the rotor')


def test_springs_are_part_of_gravity(client, robot, state, changed):
    """Two links of a straight line between the pivots: the law of cosines, by hand."""
    q, v = state
    i = robot.joint_names.index(SHOULDER)
    client.subscribe(JointState, 'dynamics/gravity', EXTERNAL)
    before, held = efforts(client, robot, state, 'dynamics/gravity', FEEDFORWARD)
    # the joint's frame is turned by -90 degrees about x in that of its parent, its axis is z there
    a, b, preload, stiffness = 0.5, 0.2, -100.0, 4e2
    pivots = {PIVOTS[0]: [a, 0.0, 0.0], PIVOTS[1]: [b, 0.0, 0.0]}
    changed(SHOULDER, **pivots)
    changed(SHOULDER, counterbalance_preload=preload, counterbalance_stiffness=stiffness)
    changed(SHOULDER, spring_stiffness=10.0, spring_position=0.1)
    length = np.sqrt(a * a + b * b - 2.0 * a * b * np.cos(q[i]))
    torque = (preload + stiffness * length) * a * b * np.sin(q[i]) / length
    added = np.zeros(robot.nv)
    added[i] = torque + 10.0 * (q[i] - 0.1)

    def agrees():
        found = efforts(client, robot, state, 'dynamics/gravity', FEEDFORWARD)
        return np.allclose(found, [before + added, held + added], **TOLERANCE)

    client.wait(agrees, what='springs')
    tau = robot.inverse_dynamics(q, v, np.zeros(robot.nv)) + friction(robot, v) + added
    _, message = client.ask(EXTERNAL, robot.joint_names, q, v, tau)
    np.testing.assert_allclose(message.effort, 0.0, atol=1e-8)


def test_services_have_the_inertias_and_no_friction(client, robot, oracle, state):
    messages = pytest.importorskip('screw_dynamics_msgs.srv')
    (q, v), a = state, np.random.default_rng(34).normal(size=robot.nv)
    client.ask(FRICTION, robot.joint_names, *state)  # there is a robot
    joints = JointState(name=robot.joint_names, position=q.tolist(), velocity=v.tolist())
    request = messages.InverseDynamics.Request(joint_state=joints, acceleration=a.tolist())
    answer = client.call(messages.InverseDynamics, 'dynamics/inverse_dynamics', request)
    assert answer.success, answer.message
    expected = oracle.inverse_dynamics(q, v, a) + felt(robot) * a
    np.testing.assert_allclose(answer.effort, expected, **TOLERANCE)


# --- friction in measured efforts ----------------------------------------------------------------


@pytest.fixture
def pushed(robot):
    """Return the torques of the motors (n,), a state, and the torques of a wrench on the tool.

    Nothing accelerates; the motors hold the robot against the wrench and against friction.
    """
    rng, limits = np.random.default_rng(33), robot.limits
    q = rng.uniform(limits.lower, limits.upper)
    wrench = np.array([1.0, -2.0, 0.5, 10.0, -20.0, 15.0])

    def at(v):
        contact = robot.jacobian(q, TOOL, 'body').T @ wrench
        rigid = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
        return rigid + friction(robot, v) - contact, (q, v), contact

    return at, wrench


ALL_BUT_FRICTION = ['gravity', 'coriolis', 'inertia', 'payload']
SPEEDS = [1.0, 1e-3, 0.0]


@pytest.mark.parametrize('speed', SPEEDS)
def test_friction_is_no_contact(client, robot, pushed, speed):
    """C-107: the wrench alone is seen, by drives as given and as described, at any speed."""
    at, wrench = pushed
    tau, state, contact = at(speed * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0]))
    client.subscribe(WrenchStamped, WRENCH)
    client.subscribe(JointState, EXTERNAL)
    _, (message, external) = client.ask_all([WRENCH, EXTERNAL], robot.joint_names, *state, tau)
    found, force = vector(message.wrench.torque), vector(message.wrench.force)
    np.testing.assert_allclose([*found, *force], wrench, rtol=0, atol=1e-6)
    np.testing.assert_allclose(external.effort, contact, **TOLERANCE)


def test_efforts_of_torque_sensors_have_no_friction_in_them(client, robot, pushed):
    at, _ = pushed
    tau, state, contact = at(np.full(robot.nv, 0.3))
    client.subscribe(JointState, EXTERNAL)
    assert client.set_parameter('bringup', 'effort_terms', ALL_BUT_FRICTION).successful
    _, message = client.ask(EXTERNAL, robot.joint_names, *state, tau - friction(robot, state[1]))
    everything = [*ALL_BUT_FRICTION, 'friction']
    assert client.set_parameter('bringup', 'effort_terms', everything).successful
    np.testing.assert_allclose(message.effort, contact, **TOLERANCE)
    _, message = client.ask(EXTERNAL, robot.joint_names, *state, tau)
    np.testing.assert_allclose(message.effort, contact, **TOLERANCE)


def test_tare_in_motion_counts_friction(client, robot, pushed):
    """What is left as zero is the contact, so that standing still afterwards changes nothing."""
    at, _ = pushed
    assert client.set_parameter('wrench_estimator', 'tare_velocity_limit', 0.0).successful
    assert client.set_parameter('wrench_estimator', 'tare_samples', 1).successful
    client.subscribe(JointState, EXTERNAL)
    assert client.call(Trigger, 'wrench_estimator/reset', Trigger.Request()).success
    tau, state, _ = at(np.full(robot.nv, 0.3))
    client.ask(EXTERNAL, robot.joint_names, *state, tau)
    assert client.call(Trigger, 'wrench_estimator/tare', Trigger.Request()).success
    tau, state, _ = at(np.zeros(robot.nv))
    _, message = client.ask(EXTERNAL, robot.joint_names, *state, tau)
    np.testing.assert_allclose(message.effort, 0.0, atol=1e-9)
    assert client.call(Trigger, 'wrench_estimator/reset', Trigger.Request()).success
    assert client.set_parameter('wrench_estimator', 'tare_samples', 100).successful
    assert client.set_parameter('wrench_estimator', 'tare_velocity_limit', 0.05).successful


def test_coupled_motors_and_friction_by_load(start, connect):
    """Motor 2 pulls joint 1, too, by half of its torque; gear 1 loses a fifth of what it moves."""
    planar = urdf_path('planar_2r').read_text()
    robot = Robot.from_urdf(planar)
    given = parameters(
        {
            'joint1': {'load_friction': 0.2, 'coulomb': 0.3},
            'joint2': {'coupled_joints': "['joint1']", 'coupling_ratios': '[0.5]'},
        }
    )
    direct = {'nodes': "['dynamics', 'wrench_estimator']", **DIRECT, 'max_delay': 0.0}
    start('bringup', {**given, **direct}, ['-r', '__ns:=/coupled'])
    client = connect('coupled')
    assert client.set_parameter('wrench_estimator', 'damping', 0.0).successful
    client.describe(planar)
    client.subscribe(JointState, EXTERNAL, FEEDFORWARD)
    q, push = np.array([0.4, -0.3]), np.array([3.0, -1.0])

    def driven(v, moved):
        """Return the torques of joints that move them by some torques."""
        lost = (0.3 + 0.2 * abs(moved[0])) * v[0] / np.hypot(v[0], 0.01)
        return np.array([moved[0] + lost, moved[1]])

    for sign in (1.0, -1.0):
        v = sign * np.array([0.5, 0.2])
        needed = driven(v, robot.gravity_torques(q) + robot.coriolis_torques(q, v) - push)
        motors = [needed[0] - 0.5 * needed[1], needed[1]]
        _, message = client.ask(EXTERNAL, robot.joint_names, q, v, motors)
        np.testing.assert_allclose(message.effort, push, atol=1e-9)

    v, a = np.array([-0.5, 0.2]), np.array([1.0, -2.0])
    assert client.set_parameter('dynamics', 'reference_timeout', 0.0).successful
    point = JointTrajectoryPoint(positions=[*q], velocities=[*v], accelerations=[*a])
    client.publisher(JointTrajectory, 'dynamics/reference').publish(
        JointTrajectory(joint_names=robot.joint_names, points=[point])
    )
    expected = driven(v, robot.inverse_dynamics(q, v, a))

    def follows():
        found = efforts(client, robot, (q, v), FEEDFORWARD)[0]
        return np.allclose(found, expected, **TOLERANCE)

    client.wait(follows, what='the reference')


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('joint', 'field', 'value', 'reason'),
    [
        (SHOULDER, 'breakaway', 2.0, f'drives.{SHOULDER}: breakaway is 2.0; it must be .* 4.0'),
        (WRIST, 'counterbalance_stiffness', 1.0, f"counterbalance of '{WRIST}' is on the axis"),
        (WRIST, 'breakaway', 0.5, f'drives.{WRIST}: breakaway is 0.5; it must be .* 0.8'),
    ],
)
def test_impossible_drives_are_refused(client, robot, state, joint, field, value, reason):
    """Also where it is the friction of the description that does not fit."""
    client.ask(FRICTION, robot.joint_names, *state)  # there is a robot
    result = client.set_parameter('bringup', f'drives.{joint}.{field}', value)
    assert not result.successful
    assert re.search(reason, result.reason), result.reason


def test_carrier_that_does_not_exist_is_refused(client, changed):
    changed(WRIST, rotor_axis=[0.0, 0.0, 1.0])
    result = client.set_parameter('bringup', f'drives.{WRIST}.carrier', 'nose')
    assert not result.successful
    assert "no link named 'nose'" in result.reason


def test_file_lists_the_fields_with_their_defaults(client):
    """The section of drives in config/model.yaml is a comment; what it says is what there is."""
    text = CONFIG.read_text()
    block = re.search(r'(?:^    #.*\n)*^    # drives:\n(?:^    #.*\n)+', text, re.M).group()
    section = block[block.index('    # drives:') :]
    documented = yaml.safe_load(re.sub('^    # ', '', section, flags=re.M))['drives']['name']
    names = [f'drives.{WRIST}.{field}' for field in documented]
    declared = {name for name in client.parameters('bringup') if f'.{WRIST}.' in name}
    assert declared == set(names)
    values = {**client.parameters('bringup'), f'drives.{WRIST}.armature': 0.0}
    for name, (field, value) in zip(names, documented.items()):
        found = values[name]
        assert (list(found) if isinstance(value, list) else found) == value, field
    for descriptor in client.descriptors('bringup', names):
        comment = re.search(
            rf'((?: +# +#[^\n]*\n)+) +# +{descriptor.name.split(".")[-1]}:', section
        )
        words = ' '.join(re.findall(r'# +# (.*)', comment.group(1)))
        assert words.startswith(descriptor.description)  # then the bounds


def test_diagnostics_name_the_drives(client, robot, state):
    client.ask(FRICTION, robot.joint_names, *state)  # there is a robot
    values = client.expect('driven/bringup: robot description', OK)
    assert values['drives'] == f'{SHOULDER}, {WRIST}, {FINGER}'


def test_robot_without_the_joint_is_refused(client):
    description = 'driven/bringup: robot description'
    client.describe(urdf_path('planar_2r').read_text())
    try:
        client.expect(description, ERROR, f"no joint named '{SHOULDER}'", 'stays in use')
    finally:
        client.describe(URDF)
    client.expect(description, OK)


@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        ({'drives.knee.coulomb': 1.0}, "'knee' is not in drive_joints"),
    ],
)
def test_bad_values_at_start_stop_it(start, given, reason):
    """What would be ignored is refused as well."""
    node = start('dynamics', given, ['-r', '__ns:=/bad'])
    assert node.wait() != 0
    assert reason in node.output
