# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All topics of the model nodes through DDS, against Pinocchio: names, frames, stamps, numbers."""

import numpy as np
import pytest

pytest.importorskip('pinocchio')

import pinocchio as pin
from geometry_msgs.msg import TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import DIRECT, LATCHED, matrix, vector

URDF = urdf_path('panda').read_text()
TOOL = 'panda_hand_tcp'
FRAMES = f"['{TOOL}', 'panda_link4']"
TOLERANCE = {'rtol': 1e-9, 'atol': 1e-9}
SWAP = [3, 4, 5, 0, 1, 2]


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF)


@pytest.fixture(scope='module')
def oracle(robot):
    return Pinocchio(URDF, robot, mimic=True)


@pytest.fixture(scope='module')
def client(start, connect, robot):
    # Frames of its own: of two nodes with the same frames one would give way.
    names = ['__ns:=/bringup', *(f'/{t}:=/bringup/{t}' for t in ('tf', 'tf_static'))]
    start(
        'bringup', {'frames': FRAMES, **DIRECT}, [word for each in names for word in ('-r', each)]
    )
    made = connect('/bringup')
    made.describe(URDF)
    made.subscribe(JointState, 'dynamics/feedforward')
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    made.until_active(
        diagnostics_name(made, 'dynamics', 'commands'),
        robot.joint_names,
        middle,
        np.zeros(robot.nv),
    )
    return made


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def random_state(rng, robot):
    limits = robot.limits
    return (
        rng.uniform(limits.lower, limits.upper),
        rng.normal(size=robot.nv),
        rng.normal(scale=10.0, size=robot.nv),
    )


def shuffled(rng, robot, *vectors):
    """Return names and vectors in another order, with a joint nobody knows among them."""
    order = rng.permutation(robot.nv)
    names = [robot.joint_names[i] for i in order] + ['torso_lift']
    return names, *([*vector[order], 123.0] for vector in vectors)


def ask(client, robot, rng, kind, topic, state=None):
    """Return a random state and the message it causes."""
    client.subscribe(kind, topic)
    q, v, tau = random_state(rng, robot) if state is None else state
    _stamp, message = client.ask(topic, *shuffled(rng, robot, q, v, tau))
    return q, v, tau, message


def ask_unstamped(client, robot, rng, topic, witness):
    """Return a random state and the Float64MultiArray it causes."""
    client.subscribe(Float64MultiArray, topic)
    client.subscribe(JointState, witness)
    q, v, tau = random_state(rng, robot)
    return q, v, tau, client.ask_unstamped(topic, witness, *shuffled(rng, robot, q, v, tau))


# --- kinematics ----------------------------------------------------------------------------------


def test_tf(client, robot, oracle, rng):
    """Composing /tf and /tf_static gives the poses of all links."""
    static = []
    client.node.create_subscription(TFMessage, 'tf_static', static.append, LATCHED)
    q, _v, _tau, message = ask(client, robot, rng, TFMessage, 'tf')
    client.wait(lambda: static, what='tf_static')
    local = {}
    for transform in [*message.transforms, *static[-1].transforms]:
        r = transform.transform.rotation
        pose = pin.SE3(pin.Quaternion(r.w, r.x, r.y, r.z), vector(transform.transform.translation))
        local[transform.child_frame_id] = (transform.header.frame_id, pose)
    assert len({t.header.stamp.nanosec for t in message.transforms}) == 1
    for link, expected in zip(robot.link_names, oracle.link_poses(q)):
        pose, frame = pin.SE3.Identity(), link
        while frame in local:
            frame, step = local[frame]
            pose = step * pose
        assert frame == robot.link_names[0]
        np.testing.assert_allclose(pose.homogeneous, expected, **TOLERANCE)


def test_jacobian(client, robot, oracle, rng):
    """Rows as in geometry_msgs/Twist; the origin of the frame, in the axes of the root frame."""
    for frame in (TOOL, 'panda_link4'):
        q, _, _, message = ask_unstamped(
            client, robot, rng, f'kinematics/jacobian/{frame}', 'dynamics/gravity'
        )
        rows, columns = message.layout.dim
        assert rows.label == 'vx,vy,vz,wx,wy,wz'
        assert columns.label == ','.join(robot.joint_names)
        expected = oracle.jacobians(q, [frame], 'hybrid')[0][SWAP]
        np.testing.assert_allclose(matrix(message), expected, **TOLERANCE)


def test_twist(client, robot, oracle, rng):
    """B-134: hybrid by default, in root axes, as the header says."""
    q, v, _, message = ask(client, robot, rng, TwistStamped, f'kinematics/twist/{TOOL}')
    assert message.header.frame_id == 'panda_link0'
    expected = oracle.jacobians(q, [TOOL], 'hybrid')[0] @ v
    np.testing.assert_allclose(vector(message.twist.angular), expected[:3], **TOLERANCE)
    np.testing.assert_allclose(vector(message.twist.linear), expected[3:], **TOLERANCE)


# --- dynamics ------------------------------------------------------------------------------------


def gravity(oracle, q):
    return oracle.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q))


def coriolis(oracle, q, v):
    return oracle.inverse_dynamics(q, v, np.zeros_like(q)) - gravity(oracle, q)


def check_efforts(message, robot, expected):
    assert tuple(message.name) == robot.joint_names
    assert len(message.position) == len(message.velocity) == 0
    np.testing.assert_allclose(message.effort, expected, **TOLERANCE)


def test_gravity(client, robot, oracle, rng):
    q, _, _, message = ask(client, robot, rng, JointState, 'dynamics/gravity')
    check_efforts(message, robot, gravity(oracle, q))


def test_coriolis(client, robot, oracle, rng):
    q, v, _, message = ask(client, robot, rng, JointState, 'dynamics/coriolis')
    check_efforts(message, robot, coriolis(oracle, q, v))


def test_mass_matrix(client, robot, oracle, rng):
    q, _, _, message = ask_unstamped(client, robot, rng, 'dynamics/mass_matrix', 'dynamics/gravity')
    M = matrix(message)
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    a, zero = rng.normal(size=robot.nv), np.zeros(robot.nv)
    np.testing.assert_allclose(
        M @ a, oracle.inverse_dynamics(q, zero, a) - gravity(oracle, q), **TOLERANCE
    )


def test_feedforward_and_commands_of_the_measured_state(client, robot, oracle, rng):
    q, v, _, message = ask(client, robot, rng, JointState, 'dynamics/feedforward')
    check_efforts(message, robot, gravity(oracle, q) + coriolis(oracle, q, v))
    q, v, _, commands = ask_unstamped(
        client, robot, rng, 'dynamics/commands', 'dynamics/feedforward'
    )
    np.testing.assert_allclose(
        commands.data, gravity(oracle, q) + coriolis(oracle, q, v), **TOLERANCE
    )
    assert commands.layout.dim[0].label == ','.join(robot.joint_names)


def diagnostics_name(client, node, what='outputs'):
    return f'{client.node.get_namespace().lstrip("/")}/{node}: {what}'


def test_order_of_commands(client, robot, oracle, rng):
    order = [f'panda_joint{i}' for i in (7, 2, 4)]
    topic, witness = 'dynamics/commands', 'dynamics/feedforward'
    assert client.set_parameter('dynamics', 'joints', order).successful
    name = diagnostics_name(client, 'dynamics')

    def is_active(order):
        return client.diagnostics[name][2].get('order of ~/commands') == ', '.join(order)

    client.wait(lambda: is_active(order), what='the order')
    q, v, _, message = ask_unstamped(client, robot, rng, topic, witness)
    torques = gravity(oracle, q) + coriolis(oracle, q, v)
    np.testing.assert_allclose(message.data, torques[[6, 1, 3]], **TOLERANCE)
    refusal = client.set_parameter('dynamics', 'joints', ['panda_joint7', 'elbow'])
    assert not refusal.successful
    assert "'elbow'" in refusal.reason
    assert client.set_parameter('dynamics', 'joints', ['']).successful
    client.wait(lambda: is_active(robot.joint_names), what='the order of the robot')


def test_gravity_vector_changes_at_run_time(client, robot, oracle, rng):
    g = [1.0, -2.0, 3.0]
    assert client.set_parameter('bringup', 'gravity', g).successful
    oracle.model.gravity.linear = np.array(g)
    try:
        q, _, tau, message = ask(client, robot, rng, JointState, 'dynamics/gravity')
        check_efforts(message, robot, gravity(oracle, q))
        q, v, tau, message = ask(client, robot, rng, JointState, 'wrench_estimator/external_torque')
        check_efforts(message, robot, gravity(oracle, q) + coriolis(oracle, q, v) - tau)
    finally:
        oracle.model.gravity.linear = np.array([0.0, 0.0, -9.81])
        assert client.set_parameter('bringup', 'gravity', [0.0, 0.0, -9.81]).successful


# --- wrench estimator ----------------------------------------------------------------------------


def pushed(rng, robot, oracle, wrench, frame=TOOL):
    """Return a state at rest and the torques that hold it while a wrench pushes, from Pinocchio."""
    q, zero = np.array([0.3, -0.5, 0.2, -1.9, 0.4, 1.8, 0.1, 0.02]), np.zeros(robot.nv)
    return q, zero, oracle.inverse_dynamics(q, zero, zero, {frame: wrench})


def test_external_torque(client, robot, oracle, rng):
    q, v, tau, message = ask(client, robot, rng, JointState, 'wrench_estimator/external_torque')
    check_efforts(message, robot, gravity(oracle, q) + coriolis(oracle, q, v) - tau)


def test_wrench(client, robot, oracle, rng):
    """Force and moment of the environment on the robot, at the frame origin, in the frame."""
    wrench = np.array([0.5, -0.4, 0.3, 8.0, -5.0, 12.0])  # moment, force
    state = pushed(rng, robot, oracle, wrench)
    message = ask(client, robot, rng, WrenchStamped, f'wrench_estimator/wrench/{TOOL}', state)[3]
    assert message.header.frame_id == TOOL
    np.testing.assert_allclose(vector(message.wrench.force), wrench[3:], atol=2e-2)
    np.testing.assert_allclose(vector(message.wrench.torque), wrench[:3], atol=2e-2)


def test_nothing_is_published_near_a_singularity(client, robot, rng):
    """Stretched out: external torques yes, wrench no, and diagnostics say why."""
    topic, name = f'wrench_estimator/wrench/{TOOL}', diagnostics_name(client, 'wrench_estimator')
    q = np.zeros(robot.nv)
    client.subscribe(WrenchStamped, topic)
    ask(client, robot, rng, WrenchStamped, topic)
    stamps = []
    values = client.expect(
        name,
        1,
        f'no wrench at {TOOL}',
        'near a singularity',
        meanwhile=lambda: stamps.append(client.send(robot.joint_names, q, q, q)),
    )
    assert float(values[f'{TOOL} smallest singular value [m]']) < 0.02
    ask(client, robot, rng, WrenchStamped, topic)  # back in the open
    assert not set(stamps) & set(client.stamps(topic))


def test_wrench_at_a_frame_few_joints_move(client, robot, rng):
    topic = 'wrench_estimator/wrench/panda_link4'
    client.subscribe(WrenchStamped, topic)
    state = random_state(rng, robot)
    client.expect(
        diagnostics_name(client, 'wrench_estimator'),
        1,
        'no wrench at panda_link4: 4 joints move it',
        meanwhile=lambda: client.send(robot.joint_names, *state),
    )
    assert not client.received[topic]


# --- cost rule -----------------------------------------------------------------------------------


def test_nothing_is_published_that_nobody_hears(client, robot, rng):
    topic = 'dynamics/coriolis'
    ask(client, robot, rng, JointState, topic)
    ask(client, robot, rng, JointState, 'dynamics/gravity')
    client.unsubscribe(topic)
    name = diagnostics_name(client, 'dynamics')
    full = f'{client.node.get_namespace()}/{topic}'

    def count():
        return client.diagnostics.get(name, (0, '', {}))[2].get(full, '')

    client.wait(
        lambda: count().endswith(' 0 subscribers') and not count().startswith('0 '),
        what='no subscribers',
    )
    before = count()
    for _ in range(5):
        ask(client, robot, rng, JointState, 'dynamics/gravity')
    client.wait_for_reports(name, 2)  # the next one may have been made before
    assert count() == before
    ask(client, robot, rng, JointState, topic)  # and back
