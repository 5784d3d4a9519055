# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services that tell payloads from efforts, and that attach tools; the answers by a real worker.

The node runs in this process (`support.host_bench`), on a clock of ours.
"""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._estimate_payload')

import rclpy
from rclpy.parameter import Parameter

from screw_dynamics_msgs import srv
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ErrorCode
from support.host_bench import Bench, serialized
from support.robots import urdf_path

LINK = 'panda_hand_tcp'
PANDA = urdf_path('panda').read_text()
ROBOT = Robot.from_urdf(PANDA, friction=False)
LOAD = RigidBody(1.5, [0.01, -0.02, 0.06], np.diag([0.004, 0.005, 0.003]))
POSE, MOTION, CLEAR = (
    getattr(srv.RecordPayload.Request, each) for each in ('POSE', 'MOTION', 'CLEAR')
)
TOOL = """<robot name="gripper">
  <link name="body">
    <inertial><origin xyz="0 0 0.02"/><mass value="0.5"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="finger">
    <inertial><mass value="0.1"/>
      <inertia ixx="0.0001" iyy="0.0001" izz="0.0001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="slide" type="prismatic"><parent link="body"/><child link="finger"/>
    <origin xyz="0.03 0 0.1"/><axis xyz="1 0 0"/>
    <limit lower="-0.02" upper="0.02" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture(scope='module')
def running(ros_domain):
    """Return a node whose worker serves all tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        rclpy.init(domain_id=ros_domain)
        made = Bench(monkeypatch, max_delay=10.0, state_timeout=1.0, backend='auto')
        yield made
        made.host.services.worker.end()
        made.close()
        rclpy.shutdown()


@pytest.fixture
def bench(running):
    """Return the node with the robot, and nothing recorded or carried."""
    running.describe(PANDA)
    running.host._estimation.recording._latest.clear()
    assert record(running, CLEAR).success
    assert ask(running, 'clear_payload', srv.ClearPayload.Request()).success
    terms = ['gravity', 'coriolis', 'friction', 'inertia', 'payload']
    running.node.set_parameters([Parameter('effort_terms', value=terms)])
    return running


def ask(bench, name, request):
    """Send a request to a service of this process, whichever of its nodes has it."""
    nodes = [bench.node, *bench.host.services.nodes]
    found = [s for node in nodes for s in node.services if s.srv_name.endswith(f'/{name}')]
    return found[0].callback(request, found[0].srv_type.Response())


def record(bench, action, seconds=0.0):
    request = srv.RecordPayload.Request(action=action)
    request.duration.sec, request.duration.nanosec = divmod(round(1e9 * seconds), 10**9)
    return ask(bench, 'record_payload', request)


def show(bench, q, v=None, a=None, seconds=0.004, noise=0.0, rng=None):
    """Let the node receive the state of a robot that carries `LOAD`."""
    v = np.zeros(ROBOT.nv) if v is None else v
    a = np.zeros(ROBOT.nv) if a is None else a
    tau = ROBOT.inverse_dynamics(q, v, a) + ROBOT.payload_torques(q, v, a, {LINK: LOAD})
    tau = tau + (noise * rng.normal(size=ROBOT.nv) if noise else 0.0)
    bench.clock.offset += seconds
    bench.host.states.receive(serialized(ROBOT.joint_names, q, bench.clock.time_ns(), v, tau), {})


def rest(bench, q, count=20, **noise):
    for _ in range(count):
        show(bench, q, **noise)


def in_the_middle():
    return 0.5 * (ROBOT.limits.lower + ROBOT.limits.upper)


def test_estimate_from_poses_and_motion(bench):
    """Poses, a motion, the estimate, and what follows: the node knows the payload."""
    rng = np.random.default_rng(1)
    width = ROBOT.limits.upper - ROBOT.limits.lower
    for k in range(6):
        q = in_the_middle() + 0.3 * width * rng.uniform(-1, 1, ROBOT.nv)
        bench.clock.offset += 2.0  # a pause: only states after it count
        rest(bench, q, noise=0.05, rng=rng)
        response = record(bench, POSE)
        assert response.success, response.message
        assert response.poses == k + 1
    request = srv.EstimatePayload.Request(link=LINK, effort_deviation=0.05)
    response = ask(bench, 'estimate_payload', request)
    assert response.success, response.message
    assert response.header.frame_id == response.inertia.header.frame_id == LINK
    assert abs(response.inertia.inertia.m - LOAD.mass) < 2.0 * response.mass_interval < 0.1
    assert list(response.not_told) == ['Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz']
    assert np.isnan(response.inertia.inertia.ixx)
    assert not response.applied
    assert not bench.host.payloads.bodies()

    assert record(bench, MOTION, 2.0).success
    waiting = ask(bench, 'estimate_payload', request)
    assert waiting.error_code == ErrorCode.NOT_AT_REST
    w = 2.0 * np.pi * np.linspace(0.3, 0.7, ROBOT.nv)
    A = np.minimum(0.5, 0.2 * width)
    start = bench.clock.monotonic()
    while bench.host._estimation.recording.remaining:
        t = bench.clock.monotonic() - start + 0.004
        q = in_the_middle() + A * np.sin(w * t)
        show(bench, q, A * w * np.cos(w * t), -A * w**2 * np.sin(w * t), noise=0.05, rng=rng)
    show(bench, q, seconds=0.01)
    request = srv.EstimatePayload.Request(link=LINK, apply=True, name='found')
    response = ask(bench, 'estimate_payload', request)
    assert response.success, response.message
    assert response.applied
    assert not response.not_told
    assert response.stretches >= 10
    moments = LOAD.matrix[np.triu_indices(3)]
    fields = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    found = np.array([getattr(response.inertia.inertia, field) for field in fields])
    assert (np.abs(found - moments) < 2.5 * np.array(response.inertia_interval)).all()
    assert bench.host.payloads.bodies()[LINK].mass == response.inertia.inertia.m

    # what is carried under other names is known, that of the same name is looked for again
    known = srv.EstimatePayload.Request(link=LINK, name='another')
    assert abs(ask(bench, 'estimate_payload', known).inertia.inertia.m) < 0.05
    again = srv.EstimatePayload.Request(link=LINK, name='found')
    assert abs(ask(bench, 'estimate_payload', again).inertia.inertia.m - LOAD.mass) < 0.05


def test_what_cannot_be_recorded(bench):
    """The reasons to refuse a pose are those of tare."""
    response = record(bench, POSE)
    assert response.error_code == ErrorCode.NO_JOINT_STATE
    q = in_the_middle()
    rest(bench, q, 5)
    response = record(bench, POSE)
    assert (response.error_code, response.success) == (ErrorCode.NO_JOINT_STATE, False)
    assert 'at least 10' in response.message
    rest(bench, q, 20)
    show(bench, q, v=np.full(ROBOT.nv, 0.2))
    response = record(bench, POSE)
    assert response.error_code == ErrorCode.NOT_AT_REST
    assert 'panda_joint1 moved' in response.message
    bench.clock.offset += 5.0
    response = record(bench, POSE)
    assert response.error_code == ErrorCode.NO_JOINT_STATE
    assert 'no joint states for' in response.message
    for seconds in (0.0, 61.0):
        assert record(bench, MOTION, seconds).error_code == ErrorCode.INVALID_ARGUMENT
    assert record(bench, 7).error_code == ErrorCode.INVALID_ARGUMENT
    assert record(bench, MOTION, 10.0).success
    assert record(bench, MOTION, 1.0).error_code == ErrorCode.NOT_AT_REST
    assert record(bench, CLEAR).success
    assert record(bench, MOTION, 1.0).success


def test_what_cannot_be_estimated(bench):
    request = srv.EstimatePayload.Request(link=LINK)
    response = ask(bench, 'estimate_payload', request)
    assert response.error_code == ErrorCode.NOT_ENOUGH_DATA
    rest(bench, in_the_middle())
    assert record(bench, POSE).success
    for link, deviation, code in (
        ('nose', 0.0, ErrorCode.UNKNOWN_NAME),
        (LINK, float('nan'), ErrorCode.INVALID_ARGUMENT),
        (LINK, -1.0, ErrorCode.INVALID_ARGUMENT),
    ):
        request = srv.EstimatePayload.Request(link=link, effort_deviation=deviation)
        assert ask(bench, 'estimate_payload', request).error_code == code
    # one pose does not tell where the mass is, so that nothing is applied
    request = srv.EstimatePayload.Request(link=LINK, effort_deviation=0.1, apply=True)
    response = ask(bench, 'estimate_payload', request)
    assert response.error_code == ErrorCode.INVALID_INERTIA, response.message
    assert not bench.host.payloads.bodies()
    assert bench.node.set_parameters_atomically(
        [Parameter('effort_terms', value=['gravity', 'coriolis'])]
    ).successful
    response = ask(bench, 'estimate_payload', request)
    assert 'do not contain the payload' in response.message


def test_recordings_end_with_their_robot(bench):
    rest(bench, in_the_middle())
    assert record(bench, POSE).poses == 1
    bench.describe(PANDA.replace('name="panda"', 'name="other"'))
    rest(bench, in_the_middle())
    assert record(bench, POSE).poses == 1


def attach(link=LINK, name='', description=TOOL, z=0.0, seconds=0):
    request = srv.AttachTool.Request(name=name, description=description, link=link)
    request.pose.position.z = z
    request.transition_time.sec = seconds
    return request


def test_tools_by_their_description(bench):
    """All links as one body, joints at their neutral positions."""
    response = ask(bench, 'attach_tool', attach(z=0.05))
    assert response.success, response.message
    assert 'slide at neutral positions' in response.message
    body = bench.host.payloads.bodies()[LINK]
    assert body.mass == response.inertia.inertia.m == pytest.approx(0.6)
    np.testing.assert_allclose(body.com, [0.005, 0.0, (0.5 * 0.07 + 0.1 * 0.15) / 0.6])
    expected = Robot.from_urdf(TOOL, floating_base=True)
    com = expected.center_of_mass(expected.neutral())
    np.testing.assert_allclose(body.com, com + [0.0, 0.0, 0.05])
    M = expected.mass_matrix(expected.neutral())[:3, :3]  # about the root link of the tool
    moved = RigidBody(body.mass, body.com - [0.0, 0.0, 0.05], body.matrix)
    np.testing.assert_allclose(moved.inertia, M, atol=1e-12)
    assert bench.host.payload_status().values['tools'] == 'tool'

    assert ask(bench, 'attach_tool', attach(name='second', link='panda_hand')).success
    response = ask(bench, 'detach_tool', srv.DetachTool.Request())
    assert response.error_code == ErrorCode.UNKNOWN_NAME
    assert 'not exactly one tool' in response.message
    assert ask(bench, 'detach_tool', srv.DetachTool.Request(name='second')).success
    assert ask(bench, 'detach_tool', srv.DetachTool.Request()).success
    assert not bench.host.payloads.bodies()
    response = ask(bench, 'detach_tool', srv.DetachTool.Request(name='tool'))
    assert response.error_code == ErrorCode.UNKNOWN_NAME


@pytest.mark.parametrize(
    ('request_', 'code', 'reason'),
    [
        (attach(description='/etc/passwd'), ErrorCode.INVALID_DESCRIPTION, 'give the text'),
        (attach(description=''), ErrorCode.INVALID_DESCRIPTION, 'give the text'),
        (attach(description='<robot'), ErrorCode.INVALID_DESCRIPTION, ''),
        (
            attach(description='<robot name="x"><link name="a"/></robot>'),
            ErrorCode.INVALID_DESCRIPTION,
            'no link has a mass',
        ),
        (
            attach(description=TOOL.replace('izz="0.001"', 'izz="0.1"')),
            ErrorCode.INVALID_INERTIA,
            "link 'body'",
        ),
        (attach(link='nose'), ErrorCode.UNKNOWN_NAME, "no link 'nose'"),
        (attach(z=float('nan')), ErrorCode.NOT_FINITE, 'pose'),
        (attach(seconds=-1), ErrorCode.INVALID_ARGUMENT, 'transition time'),
        (attach(name='parameters'), ErrorCode.INVALID_ARGUMENT, 'another name'),
    ],
)
def test_tools_that_are_refused(bench, request_, code, reason):
    response = ask(bench, 'attach_tool', request_)
    assert response.error_code == code, response.message
    assert reason in response.message
    assert not bench.host.payloads.bodies()
