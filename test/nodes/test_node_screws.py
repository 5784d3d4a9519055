# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What `kinematics` says about screws, through DDS: representations, singularities, markers."""

import numpy as np
import pytest

pytest.importorskip('pinocchio')

from geometry_msgs.msg import TwistStamped, WrenchStamped
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import Marker, MarkerArray

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import ERROR, OK, WARN, matrix, stamp_of, vector

URDF = urdf_path('panda').read_text()
TOOL, ELBOW = 'panda_hand_tcp', 'panda_link4'
SWAP = [3, 4, 5, 0, 1, 2]
TWIST, JACOBIAN, SINGULARITY = (
    f'kinematics/{what}/{TOOL}' for what in ('twist', 'jacobian', 'singularity')
)
MARKERS = 'kinematics/markers'
MARKED = ['joint_axes', 'twists', 'velocity_ellipsoids', 'force_ellipsoids']
STATUS = 'screws/kinematics: singularities'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF)


@pytest.fixture(scope='module')
def oracle(robot):
    return Pinocchio(URDF, robot, mimic=True)


@pytest.fixture(scope='module')
def client(start, connect):
    start(
        'bringup',
        {
            'frames': f"['{TOOL}', '{ELBOW}']",
            'frame_prefix': 'left_',
            'marker_rate': 1000.0,
            'singularity_rate': 1000.0,
        },
        ['-r', '__ns:=/screws'],
    )
    made = connect('screws')
    made.describe(URDF)
    made.subscribe(TwistStamped, TWIST)
    return made


@pytest.fixture
def state(robot):
    rng, limits = np.random.default_rng(8), robot.limits
    return rng.uniform(limits.lower, limits.upper), rng.normal(size=robot.nv)


def jacobian_of(oracle, q, representation, link=TOOL):
    """Return the Jacobian of Pinocchio, angular rows first."""
    return oracle.jacobians(q, [link], representation)[0]


def configure(client, **values):
    """Set parameters; what is published from now on follows them."""
    for name, value in values.items():
        result = client.set_parameter('kinematics', name, value)
        assert result.successful, result.reason


def ask_until(client, robot, state, kind, topic, condition):
    """Send a state until a message it causes is as expected; return the message.

    Other parameters take effect when the model is made again, and Float64MultiArray has no stamp.
    """
    client.subscribe(kind, topic)
    client.received[topic].clear()
    return client.drive(
        lambda _: next(filter(condition, client.received[topic]), None),
        *(robot.joint_names, *state),
        what=topic,
    )


# --- representations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('representation', 'frame'),
    [
        ('body', f'left_{TOOL}'),
        ('spatial', 'left_panda_link0'),
        ('mixed', f'left_panda_link0 (linear), left_{TOOL} (angular)'),
    ],
)
def test_representations(client, robot, oracle, state, representation, frame):
    """The frame_id names the axes; no frame is called like that of a mixed twist."""
    configure(client, twist_representation=representation, jacobian_representation=representation)
    J = jacobian_of(oracle, state[0], representation)[SWAP]
    message = ask_until(
        client,
        robot,
        state,
        Float64MultiArray,
        JACOBIAN,
        lambda m: np.allclose(matrix(m), J, rtol=1e-10, atol=1e-10),
    )
    assert message.layout.dim[0].label == 'vx,vy,vz,wx,wy,wz'
    _, message = client.ask(TWIST, robot.joint_names, *state)
    assert message.header.frame_id == frame
    np.testing.assert_allclose(
        [*vector(message.twist.linear), *vector(message.twist.angular)], J @ state[1], atol=1e-10
    )


# --- singularities -------------------------------------------------------------------------------


def singular_values(oracle, q, length, joint_metric, link=TOOL):
    """Return the singular values by way of the eigenvalues of D J M^-1 J^T D."""
    J = np.diag([length] * 3 + [1.0] * 3) @ jacobian_of(oracle, q, 'hybrid', link)
    M = np.eye(len(q)) if joint_metric == 'identity' else mass_matrix(oracle, q)
    return np.sqrt(np.abs(np.linalg.eigvalsh(J @ np.linalg.solve(M, J.T))[::-1]))


def mass_matrix(oracle, q):
    """Return the mass matrix column by column, by inverse dynamics."""
    zero = np.zeros_like(q)
    still = oracle.inverse_dynamics(q, zero, zero)
    return np.array([oracle.inverse_dynamics(q, zero, a) - still for a in np.eye(len(q))])


@pytest.mark.parametrize(('length', 'joint_metric'), [(1.0, 'identity'), (0.3, 'inertia')])
def test_singularity_measures(client, robot, oracle, state, length, joint_metric):
    """Measures in stated metrics (B-130, B-079), six freedoms of the tool of seven joints."""
    configure(client, characteristic_length=length, joint_metric=joint_metric)
    s = singular_values(oracle, state[0], length, joint_metric)
    expected = [s[-1], s[0] / s[-1], 6, np.prod(s)]
    message = ask_until(
        client,
        robot,
        state,
        Float64MultiArray,
        SINGULARITY,
        lambda m: np.allclose(m.data, expected, rtol=1e-6),
    )
    assert message.layout.dim[0].label == (
        'smallest_singular_value,condition_number,rank,manipulability'
    )
    configure(client, characteristic_length=0.2, joint_metric='identity')


def test_singularity_of_a_link_that_few_joints_move(client, robot, oracle, state):
    """Four joints: the fourth singular value, and the product of four."""
    s = singular_values(oracle, state[0], 0.2, 'identity', ELBOW)
    expected = [s[3], s[0] / s[3], 4, np.prod(s[:4])]
    ask_until(
        client,
        robot,
        state,
        Float64MultiArray,
        f'kinematics/singularity/{ELBOW}',
        lambda m: np.allclose(m.data, expected, rtol=1e-6),
    )


def test_near_singular_states_show_in_diagnostics(client, robot, state):
    """Whether anybody listens to the measures or not; at zero the Panda is singular."""
    zero = np.zeros(robot.nv)
    values = client.expect(
        STATUS,
        WARN,
        f'{TOOL} is singular: rank 5 of 6',
        meanwhile=lambda: client.send(robot.joint_names, zero, zero),
    )
    assert values['characteristic length [m]'] == '0.2'
    assert float(values[f'{TOOL} smallest singular value']) < 1e-6
    client.expect(STATUS, OK, meanwhile=lambda: client.send(robot.joint_names, *state))
    configure(client, singularity_threshold=10.0)
    client.expect(
        STATUS,
        WARN,
        f'{TOOL} is near a singularity: rank 6 of 6',
        meanwhile=lambda: client.send(robot.joint_names, *state),
    )
    configure(client, singularity_threshold=0.02)


def test_a_joint_metric_that_is_none_is_told(start, connect):
    """Links without mass: no measures by inertia, everything else."""
    start('kinematics', {'joint_metric': 'inertia'}, ['-r', '__ns:=/massless'])
    other = connect('massless')
    other.describe(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" '
        'type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    other.expect('massless/kinematics: singularities', ERROR, 'set joint_metric to identity')
    other.subscribe(TwistStamped, 'kinematics/twist/b')
    _, message = other.ask('kinematics/twist/b', ['j'], [0.0], [2.0])
    assert message.twist.angular.x == 2.0
    assert set(other.set_parameter('kinematics', 'joint_metric', 'identity').reason) == set()
    other.subscribe(Float64MultiArray, 'kinematics/singularity/b')
    other.drive(
        lambda _: other.received['kinematics/singularity/b'],
        *(['j'], [0.0], [2.0]),
        what='singularity measures',
    )
    np.testing.assert_allclose(
        other.received['kinematics/singularity/b'][-1].data, [0.2, 1.0, 1.0, 0.2]
    )
    other.close()


# --- markers -------------------------------------------------------------------------------------


def points(marker):
    return np.array([vector(point) for point in marker.points])


def ask_markers(client, robot, state, topic=MARKERS, witness=(TwistStamped, TWIST)):
    """Return the markers of a state by (namespace, frame)."""
    client.subscribe(MarkerArray, topic)
    client.subscribe(*witness)
    client.ask(witness[1], robot.joint_names, *state)
    before = client.stamp

    def answer(_):
        found = [m.markers for m in client.received[topic] if stamp_of(m.markers[0]) > before]
        return found and found[-1]

    shown = client.drive(answer, robot.joint_names, *state, what=topic)
    return {(m.ns, m.header.frame_id.removeprefix('left_')): m for m in shown}


def test_joint_axes(client, robot, oracle, state):
    """In the root frame: through the place of the joint, along its axis (B-122)."""
    shown = ask_markers(client, robot, state)
    poses = dict(zip(robot.link_names, oracle.link_poses(state[0])))
    J = jacobian_of(oracle, state[0], 'spatial')
    turning = [f'panda_link{i}' for i in range(1, 8)]
    assert {frame for ns, frame in shown if ns == 'joint_axes'} == {
        *turning,
        'panda_leftfinger',
        'panda_rightfinger',
    }
    for i, link in enumerate(turning):
        marker = shown['joint_axes', link]
        ends = points(marker) @ poses[link][:3, :3].T + poses[link][:3, 3]
        direction = (ends[1] - ends[0]) / 0.3
        np.testing.assert_allclose(direction, J[:3, i], atol=1e-9)
        np.testing.assert_allclose(np.cross(ends[0], direction), J[3:, i], atol=1e-9)
        assert marker.type == Marker.ARROW
        np.testing.assert_allclose(
            [marker.color.r, marker.color.g, marker.color.b, marker.color.a],
            [0.2, 0.6, 1.0, 0.8],
            rtol=1e-6,
        )


def test_centers_of_mass(client, robot, oracle, state):
    """That of the robot in its root frame, those of the links in theirs."""
    configure(client, markers=['centers_of_mass', 'inertias'])
    shown = {}

    def answer():
        shown.update(ask_markers(client, robot, state))
        return ('center_of_mass', 'panda_link0') in shown

    client.wait(answer)
    whole = shown['center_of_mass', 'panda_link0'].pose.position
    mass, moment = oracle.mass_and_moment(state[0])
    np.testing.assert_allclose(vector(whole), moment / mass, atol=1e-9)
    links = {link.name: link.inertia for link in robot.description.links if link.inertia}
    assert links.keys() == {frame for ns, frame in shown if ns == 'inertias'}
    for name, body in links.items():
        for kind in ('centers_of_mass', 'inertias'):
            np.testing.assert_allclose(vector(shown[kind, name].pose.position), body.com)
    configure(client, markers=MARKED)


def test_other_frames_delete_what_was_shown(client, robot, state):
    ask_markers(client, robot, state)
    client.received[MARKERS].clear()
    configure(client, frames=[TOOL])
    client.wait(
        lambda: [m for m in client.received[MARKERS] if m.markers[0].action == Marker.DELETEALL],
        what='deletion',
    )
    client.received[MARKERS].clear()
    assert not [
        frame
        for _, frame in ask_markers(client, robot, state)
        if frame == ELBOW and _ != 'joint_axes'
    ]
    configure(client, markers=['velocity_ellipsoids'])
    client.wait(lambda: set(ask_markers(client, robot, state)) == {('velocity_ellipsoids', TOOL)})
    configure(
        client,
        frames=[TOOL, ELBOW],
        markers=MARKED,
    )
    client.wait(lambda: ('force_ellipsoids', ELBOW) in ask_markers(client, robot, state))


def test_wrench_markers(client, robot, oracle, state):
    """Force, moment and Poinsot's axis of the estimated wrench, in link axes (B-071)."""
    topic = f'wrench_estimator/wrench/{TOOL}'
    full = (*state, oracle.inverse_dynamics(*state, np.zeros(robot.nv)) + 3.0)
    client.subscribe(WrenchStamped, topic)
    shown = ask_markers(client, robot, full, 'wrench_estimator/markers', (WrenchStamped, topic))
    wrench = client.received[topic][-1].wrench
    force, moment = vector(wrench.force), vector(wrench.torque)
    np.testing.assert_allclose(points(shown['forces', TOOL])[1], 0.02 * force, atol=1e-9)
    np.testing.assert_allclose(points(shown['moments', TOOL])[1], 0.1 * moment, atol=1e-9)
    for point in points(shown['wrench_axes', TOOL]):
        np.testing.assert_allclose(np.cross(moment - np.cross(point, force), force), 0.0, atol=1e-6)
    # Too few joints to tell: nothing is shown that could be mistaken for a wrench.
    assert not points(shown['forces', ELBOW]).any()
