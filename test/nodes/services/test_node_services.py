# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed services of `kinematics` through DDS, against Pinocchio; refusals; without the package."""

import re

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._filter_twist')
pytest.importorskip('pinocchio')

import pinocchio as pin
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_msgs.msg import ErrorCode
from screw_dynamics_msgs.srv import FilterTwist, ForwardKinematics, InverseKinematics, Jacobian
from screw_dynamics_ros.core import Robot
from support.messages import pose_message, wrench_message
from support.processes import processor_time, workers
from support.robots import urdf_path
from support.ros_harness import ERROR, WARN, stamp_of, vector

URDF = urdf_path('panda').read_text()
TOOL, ELBOW = 'panda_hand_tcp', 'panda_link4'
SWAP = [3, 4, 5, 0, 1, 2]
FK, IK, JACOBIAN = (
    f'kinematics/{name}' for name in ('forward_kinematics', 'inverse_kinematics', 'jacobian')
)
FILTER = 'kinematics/filter_twist'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(URDF)


@pytest.fixture(scope='module')
def oracle(robot):
    return Pinocchio(URDF, robot, mimic=True)


@pytest.fixture(scope='module')
def client(start, connect):
    """Return a client of `bringup`, which has a robot and, with frame prefix, no joint states."""
    start('bringup', {'frame_prefix': 'left_', 'state_timeout': '0.0'}, ['-r', '__ns:=/services'])
    made = connect('services')
    made.describe(URDF)
    made.expect('services/bringup: joint states', ERROR, 'no message has arrived')
    return made


@pytest.fixture
def q(robot):
    limits = robot.limits
    return np.random.default_rng(5).uniform(limits.lower, limits.upper)


def joint_state(names, position, **others):
    return JointState(name=list(names), position=[float(value) for value in position], **others)


def transform_matrix(transform):
    r = transform.rotation
    return pin.SE3(pin.Quaternion(r.w, r.x, r.y, r.z), vector(transform.translation)).homogeneous


def target_request(frames, targets, names, position, **options):
    return InverseKinematics.Request(
        frames=frames, targets=targets, joint_state=joint_state(names, position), **options
    )


# --- forward kinematics, Jacobian ----------------------------------------------------------------


def test_forward_kinematics(client, robot, oracle, q):
    """B-134: several links relative to another, joints in any order; mimic joints do not count."""
    order = np.random.default_rng(1).permutation(robot.nv)
    state = joint_state(
        [*(robot.joint_names[i] for i in order), 'panda_finger_joint2'],
        [*q[order], 9.0],
        effort=[np.nan],
    )
    answer = client.call(
        ForwardKinematics,
        FK,
        ForwardKinematics.Request(
            joint_state=state, frames=[TOOL, f'left_{ELBOW}'], reference_frame='panda_hand'
        ),
    )
    assert answer.success, answer.message
    poses = dict(zip(robot.link_names, oracle.link_poses(q)))
    assert [t.child_frame_id for t in answer.transforms] == [f'left_{TOOL}', f'left_{ELBOW}']
    for transform, link in zip(answer.transforms, (TOOL, ELBOW)):
        assert transform.header.frame_id == 'left_panda_hand'
        np.testing.assert_allclose(
            transform_matrix(transform.transform),
            np.linalg.inv(poses['panda_hand']) @ poses[link],
            atol=1e-12,
        )


@pytest.mark.parametrize('representation', ['', 'body', 'spatial', 'mixed'])
def test_twists_come_with_velocities(client, robot, oracle, q, representation):
    """B-134: pose and twist, of a stated kind, in a stated frame; none without velocities."""
    v = np.random.default_rng(2).uniform(-1, 1, robot.nv)
    request = ForwardKinematics.Request(
        joint_state=joint_state(robot.joint_names, q, velocity=v.tolist()),
        frames=[TOOL],
        reference_frame='panda_hand',
        representation=representation,
    )
    answer = client.call(ForwardKinematics, FK, request)
    assert answer.success, answer.message
    (twist,) = answer.twists
    root, link = f'left_{robot.link_names[0]}', f'left_{TOOL}'
    assert twist.header.frame_id == {
        'body': link,
        'mixed': f'{root} (linear), {link} (angular)',
    }.get(representation, root)
    expected = oracle.jacobians(q, [TOOL], representation or 'hybrid')[0] @ v
    linear, angular = twist.twist.linear, twist.twist.angular
    np.testing.assert_allclose(
        [angular.x, angular.y, angular.z, linear.x, linear.y, linear.z], expected, atol=1e-12
    )
    request.joint_state.velocity = []
    assert not client.call(ForwardKinematics, FK, request).twists
    request.representation = 'bodily'
    refused = client.call(ForwardKinematics, FK, request)
    assert not refused.success
    assert 'bodily' in refused.message


def test_all_links_by_default(client, robot, oracle, q):
    answer = client.call(
        ForwardKinematics,
        FK,
        ForwardKinematics.Request(joint_state=joint_state(robot.joint_names, q)),
    )
    assert [t.child_frame_id for t in answer.transforms] == [
        f'left_{link}' for link in robot.link_names
    ]
    for transform, expected in zip(answer.transforms, oracle.link_poses(q)):
        np.testing.assert_allclose(transform_matrix(transform.transform), expected, atol=1e-12)


@pytest.mark.parametrize('representation', ['', 'hybrid', 'body', 'spatial', 'mixed'])
def test_jacobian(client, robot, oracle, q, representation):
    """Rows linear first; hybrid unless asked otherwise."""
    answer = client.call(
        Jacobian,
        JACOBIAN,
        Jacobian.Request(
            joint_state=joint_state(robot.joint_names, q), frame=TOOL, representation=representation
        ),
    )
    assert answer.success, answer.message
    assert tuple(answer.joint_names) == robot.joint_names
    expected = oracle.jacobians(q, [TOOL], representation or 'hybrid')[0][SWAP]
    np.testing.assert_allclose(np.reshape(answer.jacobian, (6, -1)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ('frame', 'position', 'code'),
    [
        (TOOL, 0.1, ErrorCode.SUCCESS),
        ('nose', 0.1, ErrorCode.UNKNOWN_NAME),
        (TOOL, np.nan, ErrorCode.NOT_FINITE),
    ],
)
def test_headers_and_error_codes(client, robot, frame, position, code):
    """Frame and time of an answer, and the class of a refusal, reach a client."""
    before = client.node.get_clock().now().nanoseconds
    request = Jacobian.Request(
        joint_state=joint_state(robot.joint_names, [position] * robot.nq), frame=frame
    )
    answer = client.call(Jacobian, JACOBIAN, request)
    assert answer.error_code == code, answer.message
    assert answer.success == (code == ErrorCode.SUCCESS)
    assert answer.header.frame_id == ('left_panda_link0' if answer.success else '')
    assert before <= stamp_of(answer) <= client.node.get_clock().now().nanoseconds


# --- inverse kinematics --------------------------------------------------------------------------


def test_inverse_kinematics(client, robot, oracle, q):
    """B-135: target in the frame of another link as it is in the start position; limits kept."""
    start_q = 0.5 * (robot.limits.lower + robot.limits.upper)
    poses = dict(zip(robot.link_names, oracle.link_poses(start_q)))
    C = dict(zip(robot.link_names, oracle.link_poses(q)))[TOOL]
    for frame in ('', 'left_panda_link0', f'left_{ELBOW}', ELBOW):
        reference = poses[frame.removeprefix('left_') or 'panda_link0']
        answer = client.call(
            InverseKinematics,
            IK,
            target_request(
                [TOOL],
                [pose_message(np.linalg.inv(reference) @ C, frame)],
                robot.joint_names,
                start_q,
            ),
        )
        assert answer.success, answer.message
        assert answer.residual <= 1e-9
        assert tuple(answer.solution.name) == robot.joint_names
        found = np.array(answer.solution.position)
        assert ((robot.limits.lower <= found) & (found <= robot.limits.upper)).all()
        reached = dict(zip(robot.link_names, oracle.link_poses(found)))[TOOL]
        np.testing.assert_allclose(reached, C, atol=1e-8)


def test_a_target_out_of_reach(client, robot, q):
    """In the time given; nothing that could be mistaken for a solution."""
    far = np.eye(4)
    far[0, 3] = 3.0
    request = target_request([TOOL], [pose_message(far)], robot.joint_names, q)
    request.timeout.nanosec = 200_000_000
    answer = client.call(InverseKinematics, IK, request)
    assert not answer.success
    assert 'no solution within the joint limits and 0.2 s' in answer.message
    assert answer.residual > 1.0
    assert answer.iterations > 0
    assert len(answer.solution.name) == len(answer.solution.position) == 0


def test_solutions_with_a_joint_held(client, robot, oracle, q):
    """C-101: all of an arm with seven joints, the nearest one first; out of reach."""
    C = dict(zip(robot.link_names, oracle.link_poses(q)))[TOOL]
    request = target_request([TOOL], [pose_message(C)], robot.joint_names, q)
    request.method = request.ALL
    refused = client.call(InverseKinematics, IK, request)
    assert not refused.success
    assert 'lock all but six of panda_joint1' in refused.message
    request.locked.name = ['panda_joint7']
    answer = client.call(InverseKinematics, IK, request)
    assert answer.success, answer.message
    assert answer.complete
    assert 'of at most 8 solutions' in answer.message
    np.testing.assert_allclose(answer.solution.position, q, atol=1e-8)
    for solution in answer.solutions:
        assert solution.position[6] == pytest.approx(q[6], abs=1e-15)
        found = np.array(solution.position)
        assert ((robot.limits.lower <= found) & (found <= robot.limits.upper)).all()
        reached = dict(zip(robot.link_names, oracle.link_poses(found)))[TOOL]
        np.testing.assert_allclose(reached, C, atol=1e-11)
    request.method = request.NEAREST
    nearest = client.call(InverseKinematics, IK, request)
    assert nearest.solution == answer.solution
    assert len(nearest.solutions) == 0
    C[0, 3] += 3.0
    request.targets = [pose_message(C)]
    far = client.call(InverseKinematics, IK, request)
    assert not far.success
    assert '0 of at most 8 solutions' in far.message


# --- twists in contact ---------------------------------------------------------------------------


def test_filter_twist(client, robot, q):
    """C-046: a finger on a table lets pass what slides and what parts."""
    push = wrench_message(f'left_{TOOL}', [0.0, 0.0, 1.0])
    command = TwistStamped()
    command.header.frame_id = TOOL
    command.twist.linear.x, command.twist.linear.z = 0.2, -0.1
    request = FilterTwist.Request(
        joint_state=joint_state(robot.joint_names, q),
        twist=command,
        wrenches=[push],
        unilateral=True,
        length=0.3,
    )
    answer = client.call(FilterTwist, FILTER, request)
    assert answer.success, answer.message
    linear = answer.twist.twist.linear
    np.testing.assert_allclose([linear.x, linear.y, linear.z], [0.2, 0.0, 0.0], atol=1e-15)
    assert answer.removed.linear.z == pytest.approx(-0.1)
    assert list(answer.pushing) == [True]
    command.twist.linear.z = 0.1
    assert client.call(FilterTwist, FILTER, request).twist.twist == command.twist
    request.length = 0.0
    refused = client.call(FilterTwist, FILTER, request)
    assert not refused.success
    assert 'length must be between 0.001 and' in refused.message


# --- measured state ------------------------------------------------------------------------------


def test_joints_left_out_are_where_they_were_measured(client, robot, oracle, q):
    """The stamp is that of the measured state then."""
    topic = f'kinematics/twist/{TOOL}'
    client.subscribe(TwistStamped, topic)
    stamp, _ = client.ask(topic, robot.joint_names, q, q)
    answer = client.call(
        ForwardKinematics,
        FK,
        ForwardKinematics.Request(joint_state=joint_state(['panda_joint4'], [-1.0]), frames=[TOOL]),
    )
    assert answer.success, answer.message
    moved = np.where(np.array(robot.joint_names) == 'panda_joint4', -1.0, q)
    np.testing.assert_allclose(
        transform_matrix(answer.transforms[0].transform),
        dict(zip(robot.link_names, oracle.link_poses(moved)))[TOOL],
        atol=1e-12,
    )
    assert stamp <= stamp_of(answer.transforms[0]) in client.sent  # that one, or one sent again


# --- refusals ------------------------------------------------------------------------------------

NOWHERE = PoseStamped()
NOWHERE.header.frame_id = 'map'
ZERO, SKEWED, INFINITE = PoseStamped(), PoseStamped(), PoseStamped()
ZERO.pose.orientation.w = 0.0
SKEWED.pose.orientation.x = 0.5
INFINITE.pose.position.y = float('inf')


@pytest.mark.parametrize(
    ('kind', 'service', 'fields', 'reason'),
    [
        (ForwardKinematics, FK, {'frames': ['nose']}, "frames: robot panda has no link 'nose'"),
        (ForwardKinematics, FK, {'reference_frame': 'nose'}, 'reference_frame: robot panda has no'),
        (Jacobian, JACOBIAN, {'frame': ''}, "frame: robot panda has no link ''"),
        (Jacobian, JACOBIAN, {'frame': TOOL, 'representation': 'world'}, "named 'world'"),
        (InverseKinematics, IK, {}, '0 targets for 0 frames'),
        (
            InverseKinematics,
            IK,
            {'frames': [TOOL, ELBOW], 'targets': [PoseStamped()]},
            '1 targets for 2 frames',
        ),
        (InverseKinematics, IK, {'frames': [TOOL], 'targets': [NOWHERE]}, "no link 'map'"),
        (InverseKinematics, IK, {'frames': [TOOL], 'targets': [ZERO]}, 'norm 0;'),
        (InverseKinematics, IK, {'frames': [TOOL], 'targets': [SKEWED]}, 'unit quaternion'),
        (InverseKinematics, IK, {'frames': [TOOL], 'targets': [INFINITE]}, 'must be finite'),
        (
            InverseKinematics,
            IK,
            {'frames': [TOOL], 'targets': [PoseStamped()], 'tolerance': float('nan')},
            'tolerance must be',
        ),
        (
            InverseKinematics,
            IK,
            {'frames': [TOOL], 'targets': [PoseStamped()], 'timeout': Duration(sec=10**9)},
            'timeout must be between 0 and 60 s',
        ),
    ],
)
def test_requests_that_cannot_be_answered(client, robot, q, kind, service, fields, reason):
    answer = client.call(
        kind, service, kind.Request(joint_state=joint_state(robot.joint_names, q), **fields)
    )
    assert not answer.success
    assert reason in answer.message


def test_without_a_measured_state_or_a_robot(start, connect, q, robot):
    """The reason is reported; and a node that is looking for a solution ends when asked to."""
    node = start('kinematics', {'state_timeout': '0.0'}, ['-r', '__ns:=/bare'])
    client = connect('bare')
    request = Jacobian.Request(frame='panda_link7')
    answer = client.call(Jacobian, JACOBIAN, request)
    assert (answer.success, 'no robot description' in answer.message) == (False, True)
    assert answer.error_code == ErrorCode.NO_ROBOT_DESCRIPTION
    client.describe(URDF)
    description = 'bare/kinematics: robot description'
    client.wait(
        lambda: client.diagnostics.get(description, (0, '', {}))[2].get('robot'), what='a robot'
    )
    answer = client.call(Jacobian, JACOBIAN, request)
    assert not answer.success
    assert 'does not name panda_joint1, panda_joint2' in answer.message
    assert answer.error_code == ErrorCode.NO_JOINT_STATE
    client.subscribe(TwistStamped, f'kinematics/twist/{TOOL}')
    client.ask(f'kinematics/twist/{TOOL}', robot.joint_names, q, q)
    answer = client.call(Jacobian, JACOBIAN, request)
    assert answer.success, answer.message
    assert client.set_parameter('kinematics', 'state_timeout', 1e-3).successful
    client.expect('bare/kinematics: joint states', ERROR, 'no joint state for')
    assert not client.call(Jacobian, JACOBIAN, request).success
    far = np.eye(4)
    far[0, 3] = 3.0
    search = target_request([TOOL], [pose_message(far)], robot.joint_names, q)
    search.timeout.sec = 60
    (worker,) = workers(node.process.pid, 'answers requests')
    before = processor_time(worker)
    future = client.service(InverseKinematics, IK).call_async(search)
    client.wait(lambda: processor_time(worker) > before + 0.05, what='a search')
    assert not future.done()
    client.close()
    assert node.stop() == 0
    assert 'Traceback' not in node.output


#: Which node has which services, wherever they are answered.
OWNED = {
    'bringup': (
        'AttachTool',
        'ClearPayload',
        'DetachTool',
        'EstimatePayload',
        'RecordPayload',
        'SetLinkInertia',
        'SetPayload',
    ),
    'kinematics': (
        'Calibrate',
        'FilterTwist',
        'ForwardKinematics',
        'InverseKinematics',
        'Jacobian',
    ),
    'dynamics': (
        'AnnotateTrajectory',
        'CompareModel',
        'ForwardDynamics',
        'HybridDynamics',
        'InverseDynamics',
        'Linearize',
        'MassMatrix',
        'PayloadCapacity',
    ),
}


def typed_services(client):
    """Return the names of the typed services that there are, with their types."""
    return {
        name: types[0].removeprefix('screw_dynamics_msgs/srv/')
        for name, types in client.node.get_service_names_and_types()
        if types[0].startswith('screw_dynamics_msgs/')
    }


def snake(name):
    return re.sub('(?<!^)(?=[A-Z])', '_', name).lower()


def test_services_belong_to_the_node_whose_subject_they_are(client):
    """In bringup, too, which answers them."""
    expected = {
        f'/services/{node}/{snake(kind)}': kind for node, kinds in OWNED.items() for kind in kinds
    }
    client.wait(lambda: expected.items() <= typed_services(client).items(), what=expected)
    assert {name for name in typed_services(client) if name.startswith('/services/')} == set(
        expected
    )


def test_names_of_services_follow_name_and_remappings_of_their_node(start, connect):
    node = start(
        'kinematics',
        {},
        ['-r', '__ns:=/left', '-r', '__node:=arm', '-r', '~/jacobian:=/jacobian_of_left'],
    )
    client = connect('left')
    expected = {'/left/arm/forward_kinematics', '/left/arm/inverse_kinematics', '/jacobian_of_left'}
    client.wait(lambda: expected <= typed_services(client).keys(), what=expected)
    assert not any(name.endswith('/jacobian') for name in typed_services(client) if 'left' in name)
    client.close()
    assert node.stop() == 0


def test_without_the_package_all_else_works(start, connect, q, robot, tmp_path, monkeypatch):
    """It is reported once what is missing and how to build it."""
    monkeypatch.setenv('PYTHONPATH', str(hidden(tmp_path, 'screw_dynamics_msgs')))
    node = start('kinematics', {}, ['-r', '__ns:=/without'])
    client = connect('without')
    client.describe(URDF)
    client.expect(
        'without/kinematics: services',
        WARN,
        '/without/kinematics/inverse_kinematics',
        '"colcon build --base-paths src src/screw_dynamics_ros/screw_dynamics_msgs"',
    )
    topic = f'kinematics/twist/{TOOL}'
    client.subscribe(TwistStamped, topic)
    client.ask(topic, robot.joint_names, q, q)
    client.wait_for_reports('without/kinematics: services', 3)
    assert node.output.count('colcon build') == 1
    client.close()
    assert node.stop() == 0


def hidden(folder, package):
    """Return a folder that, in PYTHONPATH, makes `import package` fail."""
    (folder / package).mkdir()
    (folder / package / '__init__.py').write_text('raise ImportError("hidden by a test")\n')
    return folder


def test_requests_are_counted(client):
    values = client.expect('services/bringup: services', 0)
    assert ' without success' in values['/services/kinematics/jacobian']
    assert '_bringup_services' in client.node.get_node_names()
