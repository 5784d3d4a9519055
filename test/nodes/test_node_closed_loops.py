# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with loops in the nodes: an excavator of which joint states report cylinders only."""

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, read_loop_closures
from support.linkages import CLOSURES, FOUR_BAR
from support.paths import URDF
from support.ros_harness import DIRECT, ERROR, WARN

EXCAVATOR, LOOPS = URDF / 'loops' / 'excavator.urdf', URDF / 'loops' / 'excavator_closures.yaml'
STATES, COMMANDS = 'loops/bringup: joint states', 'loops/dynamics: commands'
Q, V = np.array([0.4, 0.25, 0.2, 0.3]), np.array([0.2, -0.1, 0.15, 0.05])


@pytest.fixture(scope='module')
def closed():
    robot = Robot.from_urdf(EXCAVATOR, backend='reference')
    return ClosedRobot(robot, read_loop_closures(yaml.safe_load(LOOPS.read_text())))


@pytest.fixture(scope='module')
def client(start, connect, closed):
    start(
        'bringup',
        {
            'robot_description': f"'{EXCAVATOR.read_text()}'",
            'loop_closures': str(LOOPS),
            'frames': '[tooth]',
            'reference_timeout': '0.0',
            **DIRECT,
        },
        ['-r', '__ns:=/loops', '-r', '/tf:=tf'],
    )
    made = connect('loops')
    made.subscribe(TFMessage, 'tf')
    made.subscribe(
        JointState,
        'dynamics/gravity',
        'dynamics/coriolis',
        'dynamics/feedforward',
        'wrench_estimator/external_torque',
    )
    made.subscribe(Float64MultiArray, 'kinematics/jacobian/tooth', 'dynamics/mass_matrix')
    made.until_active(COMMANDS, *state(closed))
    return made


def state(closed, effort=(0.0, 0.0, 0.0, 0.0)):
    return closed.joint_names, Q, V, effort


def pose_of(stamped):
    """Return a transform as a matrix (4, 4)."""
    r, x = stamped.transform.translation, stamped.transform.rotation
    return se3.pose(quaternions.to_matrix([x.x, x.y, x.z, x.w]), [r.x, r.y, r.z])


def of_motors(closed, message):
    """Return the efforts of the motors; the other joints must have none."""
    efforts = dict(zip(message.name, message.effort))
    assert all(efforts[joint] == 0.0 for joint in closed.passive)
    return np.array([efforts[joint] for joint in closed.joint_names])


def test_frames_of_passive_joints(client, closed):
    """/tf has all joints, and the ends of all loops coincide (C-008)."""
    _, message = client.ask('tf', *state(closed))
    poses = {'undercarriage': np.eye(4)}
    for transform in message.transforms:
        poses[transform.child_frame_id] = poses[transform.header.frame_id] @ pose_of(transform)
    assert {'bucket', 'rocker', 'push_link', 'boom_rod'} < set(poses)
    for cut in closed.loops.closures:
        ends = poses[cut.parent] @ cut.parent_frame, poses[cut.child] @ cut.child_frame
        np.testing.assert_allclose(ends[0][:3, 3], ends[1][:3, 3], atol=1e-9)


def test_torques_of_motors(client, closed):
    """Gravity is the slope of the potential energy; all torques are those of the core (C-010)."""
    topics = [f'dynamics/{name}' for name in ('gravity', 'coriolis', 'feedforward')]
    topics.append('wrench_estimator/external_torque')
    client.until_active(COMMANDS, *state(closed))
    _, messages = client.ask_all(topics, *state(closed, np.array([1.0, 2.0, 3.0, 4.0])))
    gravity, coriolis, feedforward, external = (of_motors(closed, each) for each in messages)
    steps = 1e-6 * np.eye(4)
    slope = [
        (closed.potential_energy(Q + dq) - closed.potential_energy(Q - dq)) / 2e-6 for dq in steps
    ]
    np.testing.assert_allclose(gravity, slope, rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(coriolis, closed.coriolis_torques(Q, V), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        feedforward, closed.inverse_dynamics(Q, V, np.zeros(4)), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        external, gravity + coriolis - [1.0, 2.0, 3.0, 4.0], rtol=1e-8, atol=1e-8
    )


def refer(client, joints, q, a):
    point = JointTrajectoryPoint(
        positions=list(q), velocities=[0.0] * len(joints), accelerations=list(a)
    )
    client.publisher(JointTrajectory, 'dynamics/reference').publish(
        JointTrajectory(joint_names=list(joints), points=[point])
    )


def test_reference_of_motors(client, closed):
    """Feedforward accelerates the motors as asked for; passive joints are refused by name."""
    a = np.array([0.3, -0.2, 0.1, 0.4])
    outputs = 'loops/dynamics: outputs'
    refer(client, ['boom_joint'], [0.5], [0.0])
    client.expect(outputs, WARN, "'boom_joint' has no motor")
    assert client.diagnostics[outputs][2]['feedforward follows'] == 'measured state'
    refer(client, closed.joint_names, Q + 0.01, a)

    def follows():
        return client.diagnostics[outputs][2].get('feedforward follows') == 'reference'

    client.wait(follows, what='following the reference')
    client.until_active(COMMANDS, *state(closed))
    _, message = client.ask('dynamics/feedforward', *state(closed))
    assert client.set_parameter('dynamics', 'reference_timeout', 0.05).successful
    client.wait(lambda: not follows(), what='following the measured state')
    assert client.set_parameter('dynamics', 'reference_timeout', 0.0).successful
    expected = closed.inverse_dynamics(Q, V, a)
    np.testing.assert_allclose(of_motors(closed, message), expected, rtol=1e-8, atol=1e-8)


def test_services_answer_for_the_motors(client, closed):
    """Of the measured state and of stated ones; what is known of trees only says so (C-010)."""
    srv = pytest.importorskip('screw_dynamics_msgs.srv')
    client.ask('dynamics/gravity', *state(closed))
    response = client.call(srv.MassMatrix, 'dynamics/mass_matrix', srv.MassMatrix.Request())
    assert response.success, response.message
    assert list(response.joint_names) == list(closed.joint_names)
    M = np.reshape(response.mass_matrix, (4, 4))
    np.testing.assert_allclose(M, closed.mass_matrix(Q), rtol=1e-8, atol=1e-8)
    request = srv.InverseDynamics.Request(
        joint_state=JointState(name=list(closed.joint_names), position=list(Q), velocity=list(V)),
        acceleration=[0.1, 0.2, -0.1, 0.3],
    )
    response = client.call(srv.InverseDynamics, 'dynamics/inverse_dynamics', request)
    assert response.success, response.message
    expected = closed.inverse_dynamics(Q, V, request.acceleration)
    np.testing.assert_allclose(response.effort, expected, rtol=1e-8, atol=1e-8)
    response = client.call(srv.Linearize, 'dynamics/linearize', srv.Linearize.Request())
    assert not response.success
    assert 'not for robots with loops (parameter loop_closures)' in response.message


def test_jacobian_and_mass_matrix_have_a_column_for_each_motor(client, closed):
    for topic in ('kinematics/jacobian/tooth', 'dynamics/mass_matrix'):
        message = client.ask_unstamped(topic, 'dynamics/gravity', *state(closed))
        assert message.layout.dim[1].label == ','.join(closed.joint_names)
        found = np.array(message.data).reshape(-1, 4)
        if topic.startswith('kinematics'):
            expected = np.roll(closed.jacobian(Q, 'tooth'), 3, axis=0)
        else:
            expected = closed.mass_matrix(Q)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_states_that_do_not_close_are_refused(client, closed):
    """Nothing is published for a cylinder that is longer than its linkage; /diagnostics says so."""
    client.ask('dynamics/gravity', *state(closed))
    too_long = closed.joint_names, Q + [0.0, 0.0, 0.0, 0.3], V, np.zeros(4)
    bad = client.send(*too_long)
    good, _ = client.ask('dynamics/gravity', *state(closed))
    assert bad not in client.stamps('dynamics/gravity')
    assert good in client.stamps('dynamics/gravity')
    reasons = 'loops of the mechanism cannot be closed', 'do not close'

    def send_both():
        client.send(*too_long)
        client.send(*state(closed))

    client.expect(STATES, WARN, *reasons, meanwhile=send_both)
    # Nothing but such states is a failure of the driver: after state_timeout it is an error.
    silent = 'no valid joint state for longer than state_timeout'
    client.expect(STATES, ERROR, silent, *reasons, meanwhile=lambda: client.send(*too_long))


def test_a_simulated_linkage_as_driver(start, connect, tmp_path):
    """mechanism_simulator moves a four-bar; `dynamics` follows it by its crank alone."""
    files = tmp_path / 'four_bar.urdf', tmp_path / 'closures.yaml'
    content = f'{CLOSURES}actuated: [a]\npositions: {{a: 1.0, b: -0.5, c: -1.2}}\n'
    for file, text in zip(files, (FOUR_BAR, content)):
        file.write_text(text)
    namespace = ['-r', '__ns:=/bars', '-r', '/tf:=tf']
    start(
        'mechanism_simulator',
        {'urdf': str(files[0]), 'loop_closures': str(files[1]), 'gravity': '[0.0, -9.81, 0.0]'},
        namespace,
    )
    start(
        'dynamics',
        {'loop_closures': str(files[1]), 'gravity': '[0.0, -9.81, 0.0]', **DIRECT},
        namespace,
    )
    client = connect('bars')
    client.subscribe(JointState, 'joint_states', 'dynamics/gravity')
    robot = Robot.from_urdf(FOUR_BAR, gravity=(0, -9.81, 0), backend='reference')
    closed = ClosedRobot(robot, read_loop_closures(yaml.safe_load(content)))

    def pair():
        for message in reversed(client.received['dynamics/gravity']):
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            measured = client.with_stamp('joint_states', stamp)
            if measured is not None:
                return measured, message
        return None

    measured, message = client.wait(pair, what='a state and its torques')
    q = measured.position[list(measured.name).index('a')]
    assert of_motors(closed, message) == pytest.approx(closed.gravity_torques([q]), abs=1e-6)
