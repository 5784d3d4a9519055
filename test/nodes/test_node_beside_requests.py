# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requests and drawings run in processes of their own: joint states, and the node, outlive them."""

import os
import re
import signal
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._annotate_trajectory')

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, TwistStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from screw_dynamics_msgs import srv
from screw_dynamics_msgs.srv import (
    AnnotateTrajectory,
    InverseDynamics,
    InverseKinematics,
    Jacobian,
    MassMatrix,
)
from screw_dynamics_ros.core import Robot
from support.garbage import Garbage
from support.processes import children, is_running, processor_time, resident, wait_for, workers
from support.robots import urdf_path
from support.ros_harness import OK, WARN, stamp_of

URDF = urdf_path('panda').read_text()
TOOL = 'panda_hand_tcp'
JOINTS = [*(f'panda_joint{i}' for i in range(1, 8)), 'panda_finger_joint1']
Q = [0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02]
IK, JACOBIAN = 'kinematics/inverse_kinematics', 'kinematics/jacobian'
TWIST, MARKERS = f'kinematics/twist/{TOOL}', 'kinematics/markers'
SERVICES = {
    'ForwardKinematics': 'kinematics/forward_kinematics',
    'InverseKinematics': IK,
    'Jacobian': JACOBIAN,
    **{
        kind: 'dynamics/' + re.sub('(?<!^)([A-Z])', r'_\1', kind).lower()
        for kind in (
            'InverseDynamics',
            'ForwardDynamics',
            'HybridDynamics',
            'Linearize',
            'MassMatrix',
            'AnnotateTrajectory',
            'PayloadCapacity',
        )
    },
}


@pytest.fixture(scope='module')
def node(start):
    return start(
        'bringup', {'state_timeout': '0.0', 'marker_rate': 1000.0}, ['-r', '__ns:=/beside']
    )


@pytest.fixture(scope='module')
def client(node, connect):
    made = connect('beside')
    made.describe(URDF)
    made.subscribe(TwistStamped, TWIST)
    made.ask(TWIST, JOINTS, Q, np.zeros(8))
    return made


def state(position=Q, names=JOINTS):
    return JointState(name=list(names), position=[float(value) for value in position])


def ignore(message):
    """A callback of what only is to be there."""


def search(seconds):
    """Return a request for a pose out of reach."""
    target = PoseStamped()
    target.pose.position.x = 3.0
    return InverseKinematics.Request(
        frames=[TOOL],
        targets=[target],
        joint_state=state(),
        timeout=Duration(sec=int(seconds), nanosec=round(seconds % 1 * 1e9)),
    )


def searching(client, node, seconds=60.0):
    """Ask for a pose out of reach; return the future when it is being looked for."""
    client.call(InverseKinematics, IK, search(1e-3))  # compiles the solver
    worker = pid_of(node, 'answers requests')
    before = processor_time(worker)
    future = client.service(InverseKinematics, IK).call_async(search(seconds))
    client.wait(lambda: processor_time(worker) > before + 0.05, what='a search')
    assert not future.done()
    return future


def pid_of(node, purpose):
    (pid,) = workers(node.process.pid, purpose)
    return pid


def draw(client):
    """Send a state until markers of it come."""
    before = client.stamp
    client.drive(
        lambda _: any(stamp_of(m.markers[0]) > before for m in client.received[MARKERS]),
        *(JOINTS, Q, np.zeros(8)),
        what='markers',
    )


@contextmanager
def stopped(pid):
    """Let a process stand still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# --- what takes long ------------------------------------------------------------------------------


def test_inverse_kinematics_out_of_reach_leaves_the_node_alone(client, node):
    """Joint states are answered and markers drawn; the search is in another process."""
    client.subscribe(MarkerArray, MARKERS)
    client.call(InverseKinematics, IK, search(1e-3))  # compiles the solver
    with stopped(pid_of(node, 'answers requests')):
        future = client.service(InverseKinematics, IK).call_async(search(0.1))
        for _ in range(10):
            client.ask(TWIST, JOINTS, Q, np.zeros(8))
        draw(client)
        assert not future.done()
    client.wait(future.done, what='the answer')
    answer = future.result()
    assert not answer.success
    assert 'no solution within the joint limits and 0.1 s' in answer.message


def test_drawing_has_left_the_thread_that_makes_torques(client, node):
    """While the process that draws stands still, all other outputs come, and none is late."""
    client.subscribe(MarkerArray, MARKERS)
    draw(client)
    with stopped(pid_of(node, 'draws')):
        before = client.stamp  # what it had drawn may still be on its way
        client.ask(TWIST, JOINTS, Q, np.zeros(8))
        for _ in range(50):
            client.ask(TWIST, JOINTS, Q, np.zeros(8))
        last = client.stamp
        client.expect('beside/bringup: drawing', WARN, 'has not responded for')
    draw(client)
    late = [m for m in client.received[MARKERS] if before < stamp_of(m.markers[0]) <= last]
    assert not late  # neither the one under way nor the one that waited
    client.expect('beside/bringup: drawing', OK)


def test_a_colour_compiles_nothing(client, node):
    """It is seen at once: shapes that were shown are deleted, others come, the model stays."""
    ready = node.output.count('ready:')
    client.subscribe(MarkerArray, MARKERS)
    client.received[MARKERS].clear()
    assert client.set_parameter('kinematics', 'joint_axis_color', [1.0, 0.5, 0.25, 1.0]).successful

    def shown(_):
        return [
            m
            for message in client.received[MARKERS]
            for m in message.markers
            if m.ns == 'joint_axes' and m.color.g == 0.5
        ]

    client.drive(shown, JOINTS, Q, np.zeros(8), what='the color')
    actions = [m.markers[0].action for m in client.received[MARKERS]]
    assert actions.count(Marker.DELETEALL) == 1
    first = actions.index(Marker.DELETEALL)
    assert not [
        m
        for message in client.received[MARKERS][first:]
        for m in message.markers
        if m.ns == 'joint_axes' and m.color.g != 0.5
    ]
    assert client.set_parameter('wrench_estimator', 'force_scale', 0.5).successful
    assert client.set_parameter('kinematics', 'characteristic_length', 0.5).successful
    assert node.output.count('ready:') == ready


# --- processes that die ---------------------------------------------------------------------------


def test_a_process_killed_in_the_middle_of_a_request(client, node):
    """The request is answered with the reason, /diagnostics tell, the next one starts another."""
    future = searching(client, node)
    worker = pid_of(node, 'answers requests')
    os.kill(worker, signal.SIGKILL)
    client.wait(future.done, what='an answer')
    answer = future.result()
    assert not answer.success
    assert 'the process that answers requests was ended by signal 9 (SIGKILL)' in answer.message
    client.expect('beside/bringup: services', WARN, 'SIGKILL', 'the next request starts another')
    answer = client.call(Jacobian, JACOBIAN, Jacobian.Request(joint_state=state(), frame=TOOL))
    assert answer.success, answer.message
    assert pid_of(node, 'answers requests') != worker
    values = client.expect('beside/bringup: services', OK)
    assert int(values['processes that died']) >= 1
    client.ask(TWIST, JOINTS, Q, np.zeros(8))


def test_a_process_killed_while_it_draws(client, node):
    client.subscribe(MarkerArray, MARKERS)
    draw(client)
    os.kill(pid_of(node, 'draws'), signal.SIGKILL)
    client.expect(
        'beside/bringup: drawing',
        WARN,
        'SIGKILL',
        'another one is started',
        meanwhile=lambda: client.send(JOINTS, Q, np.zeros(8)),
    )
    draw(client)
    client.expect(
        'beside/bringup: drawing', OK, meanwhile=lambda: client.send(JOINTS, Q, np.zeros(8))
    )


@pytest.mark.parametrize('how', [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_a_node_while_a_request_runs(start, connect, how):
    """In order, without an answer, and no process is left behind."""
    name = f'end_beside_{how.name.lower()}'
    node = start('kinematics', {'state_timeout': '0.0'}, ['-r', f'__ns:=/{name}'])
    client = connect(name)
    client.describe(URDF)
    client.subscribe(TwistStamped, TWIST)
    client.subscribe(MarkerArray, MARKERS)
    draw(client)
    future = searching(client, node)
    left = children(node.process.pid)
    assert len(workers(node.process.pid, 'answers requests')) == 1
    assert len(workers(node.process.pid, 'draws')) == 1
    if how != signal.SIGKILL:
        os.kill(pid_of(node, 'answers requests'), signal.SIGSTOP)  # it finds no end by itself
    node.process.send_signal(how)
    assert node.wait() == (0 if how != signal.SIGKILL else -how)
    assert not future.done()
    wait_for(lambda: not [pid for pid in left if is_running(pid)])
    assert 'Traceback' not in node.output
    client.close()


# --- what is active -----------------------------------------------------------------------------


def named_mass_matrix(client):
    answer = client.call(MassMatrix, 'dynamics/mass_matrix', MassMatrix.Request())
    return answer, tuple(answer.joint_names)


def test_requests_around_a_change_of_description(start, connect):
    """Each is answered for the robot that is active then, and for its gravity and payload."""
    start('bringup', {'state_timeout': '0.0'}, ['-r', '__ns:=/change'])
    client = connect('change')
    other = urdf_path('planar_2r').read_text()
    joints = re.findall('<joint name="([^"]*)" type="(?:revolute|continuous)"', other)

    def describe(text, robot):
        """Describe a robot; return when it is active."""
        status = 'change/bringup: robot description'
        client.describe(text)
        client.wait(
            lambda: client.diagnostics.get(status, (0, '', {}))[2].get('robot') == robot, what=robot
        )

    def torques(names, position):
        answer = client.call(
            InverseDynamics,
            'dynamics/inverse_dynamics',
            InverseDynamics.Request(joint_state=state(position, names)),
        )
        return np.array(answer.effort) if answer.success else answer.message

    for _ in range(2):
        describe(URDF, 'panda')
        before = torques(JOINTS, Q)
        assert len(before) == len(JOINTS)
        describe(other, 'planar_2r')
        assert 'does not have' in torques(JOINTS, Q)
        assert len(torques(joints, [0.1, 0.2])) == 2
    assert client.set_parameter('bringup', 'gravity', [0.0, 0.0, 0.0]).successful
    np.testing.assert_array_equal(torques(joints, [0.1, 0.2]), [0.0, 0.0])
    describe(URDF, 'panda')
    np.testing.assert_allclose(torques(JOINTS, Q), 0.0, atol=1e-12)
    assert client.set_parameter('bringup', 'gravity', [0.0, 0.0, -9.81]).successful
    np.testing.assert_array_equal(torques(JOINTS, Q), before)

    def effort():
        trajectory = JointTrajectory(
            joint_names=JOINTS,
            points=[
                JointTrajectoryPoint(
                    positions=Q,
                    velocities=[0.0] * 8,
                    accelerations=[0.0] * 8,
                    time_from_start=Duration(sec=k),
                )
                for k in range(2)
            ],
        )
        answer = client.call(
            AnnotateTrajectory,
            'dynamics/annotate_trajectory',
            AnnotateTrajectory.Request(trajectory=trajectory),
        )
        assert answer.success, answer.message
        return np.array(answer.trajectory.points[0].effort)

    unloaded = effort()
    assert client.set_parameter('bringup', 'payload_link', TOOL).successful
    assert client.set_parameter('bringup', 'payload_mass', 2.0).successful
    assert np.abs(effort() - unloaded).max() > 1.0


# --- garbage --------------------------------------------------------------------------------------


@pytest.mark.parametrize('kind', SERVICES)
def test_garbage_in_requests(client, node, kind):
    """Each is answered, nothing dies, the memory stays, and sense is answered afterwards."""
    type_, service = getattr(srv, kind), SERVICES[kind]
    garbage = Garbage(sum(map(ord, kind)), Robot.from_urdf(URDF, backend='reference'))
    count = int(os.environ.get('GARBAGE_REQUESTS', '16'))
    client.call(type_, service, type_.Request())
    pids = [node.process.pid, pid_of(node, 'answers requests')]
    for k in range(count):
        if k == count // 4:
            before = [resident(pid) for pid in pids]
        request = garbage.request(type_.Request)
        if hasattr(request, 'timeout'):
            request.timeout = Duration(nanosec=1000)
        answer = client.call(type_, service, request)
        assert answer.success or answer.message
        assert not (answer.success and re.search(r'\bnan\b', str(answer))), answer
        for name, field in answer.get_fields_and_field_types().items():
            if answer.success and field == 'sequence<double>':
                assert np.isfinite(getattr(answer, name)).all(), (name, answer)
    grown = [resident(pid) - size for pid, size in zip(pids, before)]
    assert max(grown) < 60e6, grown  # the first sensible question compiles a function: some 30 MB
    assert pid_of(node, 'answers requests') == pids[1]
    request = Jacobian.Request(joint_state=state(), frame=TOOL)
    assert client.call(Jacobian, JACOBIAN, request).success


def test_a_storm_of_parameters_requests_and_endpoints_leaves_no_state_unanswered(client, node):
    """Each state is answered while many others wait, and so is sense afterwards."""
    client.subscribe(TwistStamped, TWIST)
    client.ask(TWIST, JOINTS, Q)
    parameters = client.service(SetParameters, 'kinematics/set_parameters')
    jacobian = client.service(Jacobian, JACOBIAN)
    question = Jacobian.Request(joint_state=state(), frame=TOOL)
    values = [
        ('ellipsoid_limit', 0.5),
        ('ellipsoid_limit', -1.0),
        ('ellipsoid_limit', 'x' * 100_000),
        ('no_parameter', 1.0),
    ]
    endpoints = []
    for k in range(50):
        for name, value in values:
            change = Parameter(name, value=value).to_parameter_msg()
            parameters.call_async(SetParameters.Request(parameters=[change]))
            jacobian.call_async(question)
        for topic in (TWIST, f'kinematics/twist/storm{k}'):
            endpoints.append(client.node.create_subscription(TwistStamped, topic, ignore, 1))
        client.ask_once(TWIST, JOINTS, Q)
    for endpoint in endpoints:
        client.node.destroy_subscription(endpoint)
    assert client.call(Jacobian, JACOBIAN, question).success
    assert client.set_parameter('kinematics', 'ellipsoid_limit', 0.5).successful


@pytest.mark.parametrize(
    ('kind', 'fields', 'reason'),
    [
        ('ForwardKinematics', {'frames': ['nose'] * 10_000}, "no link 'nose'"),
        ('ForwardKinematics', {'frames': [TOOL] * 10_000, 'joint_state': state()}, ''),
        (
            'InverseKinematics',
            {'frames': [TOOL] * 10_000, 'targets': [PoseStamped()] * 10_000},
            'contain a link twice',
        ),
        (
            'Jacobian',
            {
                'frame': TOOL,
                'joint_state': state(np.zeros(10_000), [f'joint{i}' for i in range(10_000)]),
            },
            "joint 'joint0', which the",
        ),
        (
            'Jacobian',
            {'frame': TOOL, 'joint_state': state(np.zeros(10_000), JOINTS * 1250)},
            'twice',
        ),
        (
            'InverseKinematics',
            {'frames': [TOOL], 'targets': [PoseStamped()], 'timeout': Duration(sec=2**31 - 1)},
            'between 0 and 60 s',
        ),
        (
            'InverseKinematics',
            {'frames': [TOOL], 'targets': [PoseStamped()], 'timeout': Duration(sec=-(2**31))},
            'between 0 and 60 s',
        ),
    ],
)
def test_ten_thousand_names_and_huge_timeouts(client, kind, fields, reason):
    type_ = getattr(srv, kind)
    answer = client.call(type_, SERVICES[kind], type_.Request(**fields))
    assert (answer.success, reason in answer.message) == (not reason, True), answer.message[:300]
