# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Headers and error codes of all typed services: every type has them, every fault its own code."""

import importlib
import math
import os
import pkgutil
import signal
import threading
import time

import pytest

pytest.importorskip('screw_dynamics_msgs.srv._compare_model')

import rclpy
from geometry_msgs.msg import Pose, PoseStamped
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)
from sensor_msgs.msg import JointState

import screw_dynamics_msgs.srv
import screw_dynamics_ros
from screw_dynamics_msgs import srv
from screw_dynamics_msgs.msg import ErrorCode as Message
from screw_dynamics_ros.core.errors import ErrorCode, ScrewDynamicsError, error_code
from screw_dynamics_ros.nodes.hosting import host as hosting
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.joint_states import requested_state
from screw_dynamics_ros.ros.process import worker as workers
from screw_dynamics_ros.ros.process.worker import FunctionError, WorkerError
from screw_dynamics_ros.ros.services import refusal
from support.host_bench import Bench, serialized
from support.robots import urdf_path
from support.sequences import run_sequences

ROBOT = urdf_path('planar_2r').read_text()
JOINTS, TIP = ['joint1', 'joint2'], 'tip'
FLOATING = ROBOT.replace('type="continuous"', 'type="floating"', 1)
PREFIX, NAN = 'left_', math.nan

KINDS = sorted(
    kind
    for kind in vars(screw_dynamics_msgs.srv)
    if not kind.startswith('_') and hasattr(getattr(screw_dynamics_msgs.srv, kind), 'Response')
)


def errors():
    """Return all classes of errors of the package."""
    for module in pkgutil.walk_packages(screw_dynamics_ros.__path__, 'screw_dynamics_ros.'):
        if module.name.endswith('errors'):
            importlib.import_module(module.name)
    found, new = set(), {ScrewDynamicsError}
    while new:
        found |= new
        new = {sub for each in new for sub in each.__subclasses__()} - found
    return found


@pytest.mark.parametrize('kind', KINDS)
def test_every_response_has_a_header_and_an_error_code(kind):
    fields = getattr(srv, kind).Response.get_fields_and_field_types()
    expected = {
        'header': 'std_msgs/Header',
        'success': 'boolean',
        'error_code': 'int32',
        'message': 'string',
    }
    assert {name: fields.get(name) for name in expected} == expected


def test_codes_are_those_of_the_message():
    constants = {name: getattr(Message, name) for name in ErrorCode.__members__}
    assert constants == {code.name: code.value for code in ErrorCode}
    metaclass = type(Message)
    declared = {name for name in dir(metaclass) if name.isupper() and not name.startswith('_')}
    assert declared == set(constants)


def test_every_error_has_a_code_that_is_no_success():
    assert {'WorkerError', 'ArgumentError'} <= {each.__name__ for each in errors()}
    for each in errors():
        assert isinstance(each.code, ErrorCode), each
        assert each.code is not ErrorCode.SUCCESS, each
    assert error_code(KeyError('x')) is ErrorCode.INTERNAL
    assert WorkerError.code is ErrorCode.PROCESS_DIED
    assert FunctionError.code is ErrorCode.INTERNAL


@pytest.mark.parametrize('error', sorted(errors(), key=lambda each: each.__name__))
def test_a_refusal_has_the_code_of_its_error(error):
    refused = refusal(srv.Jacobian.Response(success=True), error('some reason'))
    assert not refused.success
    assert refused.error_code == error.code
    assert refused.message == 'some reason'


# --- in the process of a node ---------------------------------------------------------------------


@pytest.fixture(scope='module')
def bench(ros_domain):
    """A node `kinematics` with a robot, without joint states; its services are called directly."""
    with pytest.MonkeyPatch.context() as patch:
        rclpy.init(domain_id=ros_domain)
        made = Bench(patch, Kinematics, 'kinematics', frame_prefix=PREFIX)
        made.call = lambda name, request: call(made, name, request)
        patch.setattr(requested_state, 'time', made.clock)
        made.fresh = made.call('jacobian', jacobian())
        made.host.services.serve('Jacobian', '~/broken', task=lambda: (math.sin, ()))
        made.describe(ROBOT)
        yield made
        made.host.services.worker.end()
        made.close()
        rclpy.shutdown()


def call(bench, name, request):
    """Return what a service answers."""
    (service,) = [
        each
        for node in bench.host.services.nodes
        for each in node.services
        if each.srv_name == f'/life/kinematics/{name}'
    ]
    return service.callback(request, service.srv_type.Response())


def joints(names=JOINTS, position=(0.3, 0.4), **fields):
    return JointState(name=list(names), position=list(position), **fields)


def jacobian(frame=TIP, joint_state=None, **fields):
    state = joints() if joint_state is None else joint_state
    return srv.Jacobian.Request(joint_state=state, frame=frame, **fields)


def pose_request(x, **fields):
    target = PoseStamped(pose=Pose())
    target.pose.position.x, target.pose.orientation.w = x, 1.0
    request = srv.InverseKinematics.Request(
        frames=[TIP], targets=[target], joint_state=joints(), **fields
    )
    request.timeout.nanosec = 20_000_000
    return request


def calibration(text):
    pose = Pose()
    pose.orientation.w = 1.0
    return srv.Calibrate.Request(
        joint_states=[joints()], frame=TIP, poses=[pose], target=pose, robot_description=text
    )


@pytest.mark.parametrize(
    ('name', 'request_', 'code', 'named'),
    [
        ('jacobian', jacobian(), ErrorCode.SUCCESS, ''),
        ('jacobian', jacobian(frame='nose'), ErrorCode.UNKNOWN_NAME, 'nose'),
        ('jacobian', jacobian(representation='x'), ErrorCode.UNKNOWN_NAME, 'x'),
        (
            'jacobian',
            jacobian(joint_state=joints(position=[1.0])),
            ErrorCode.INVALID_ARGUMENT,
            '1 of position for 2 names',
        ),
        (
            'jacobian',
            jacobian(joint_state=joints(position=[math.nan, 0.0])),
            ErrorCode.NOT_FINITE,
            "'joint1' is nan",
        ),
        (
            'jacobian',
            jacobian(joint_state=joints(['joint1'], [0.1])),
            ErrorCode.NO_JOINT_STATE,
            'joint2',
        ),
        ('inverse_kinematics', pose_request(9.0), ErrorCode.TIMEOUT, 'out of reach'),
        ('calibrate', calibration('<robot'), ErrorCode.INVALID_DESCRIPTION, ''),
        (
            'calibrate',
            calibration(ROBOT.replace('<mass value="', '<mass value="-', 1)),
            ErrorCode.INVALID_INERTIA,
            'mass',
        ),
        ('broken', jacobian(), ErrorCode.INTERNAL, 'TypeError'),
    ],
)
def test_faults_of_requests(bench, name, request_, code, named):
    answer = bench.call(name, request_)
    assert ErrorCode(answer.error_code) is code, answer.message
    assert answer.success == (code is ErrorCode.SUCCESS)
    assert named in answer.message
    assert answer.header.stamp.sec > 0
    assert bool(answer.header.frame_id) == (code in (ErrorCode.SUCCESS, ErrorCode.TIMEOUT))


def test_without_a_description(bench):
    assert bench.fresh.error_code == ErrorCode.NO_ROBOT_DESCRIPTION
    assert 'no robot description yet' in bench.fresh.message
    assert bench.fresh.header.stamp.sec > 0


def test_a_fault_of_the_node_itself(bench, monkeypatch):
    def broken(mapper):
        raise KeyError('mapper')

    monkeypatch.setattr(hosting, 'latest', broken)
    answer = bench.call('jacobian', jacobian())
    assert answer.error_code == ErrorCode.INTERNAL
    assert 'KeyError' in answer.message


def test_the_process_dies_while_it_answers(bench, monkeypatch):
    """The next request is answered by another one."""
    worker, answers, is_sent = bench.host.services.worker, [], threading.Event()
    request = pose_request(9.0)
    request.timeout.sec = 50
    bench.call('jacobian', jacobian())
    send = workers.send
    monkeypatch.setattr(workers, 'send', lambda *task: (send(*task), is_sent.set()))
    thread = threading.Thread(
        target=lambda: answers.append(bench.call('inverse_kinematics', request))
    )
    thread.start()
    is_sent.wait()
    os.kill(worker.pid, signal.SIGKILL)
    thread.join()
    (answer,) = answers
    assert answer.error_code == ErrorCode.PROCESS_DIED, answer.message
    assert 'SIGKILL' in answer.message
    assert bench.call('jacobian', jacobian()).error_code == ErrorCode.SUCCESS


def test_a_robot_for_which_a_service_is_not_made(bench):
    bench.describe(FLOATING)
    request = pose_request(0.1)
    request.joint_state = joints(['joint2'], [0.4])
    answer = bench.call('inverse_kinematics', request)
    bench.describe(ROBOT)
    assert answer.error_code == ErrorCode.NOT_SUPPORTED, answer.message


# --- in any order ---------------------------------------------------------------------------------


class Requests(RuleBasedStateMachine):
    """The code of a request follows from robot, state and request, whatever came before."""

    bench = None

    @initialize()
    def begin(self):
        self.robot, self.fresh = None, False
        self.wait()
        self.describe(ROBOT)

    @rule(text=st.sampled_from([ROBOT, FLOATING]))
    def describe(self, text):
        bench = self.bench
        bench.describe(text)
        if self.robot not in (None, text):
            self.fresh = False  # another robot has not been measured yet
        self.robot = text

    @precondition(lambda self: self.robot == ROBOT)
    @rule()
    def measure(self):
        bench = self.bench
        bench.clock.offset += 0.01
        bench.host.states.receive(serialized(JOINTS, [0.1, 0.2], bench.clock.time_ns()), {})
        self.fresh = True

    @rule()
    def wait(self):
        self.bench.clock.offset += 10.0
        self.fresh = False

    @rule()
    def kill(self):
        """While nothing is asked: the next request starts another process."""
        process = self.bench.host.services.worker.process
        if process is not None:
            process.kill()
            process.wait()

    @rule(
        whole=st.booleans(),
        frame=st.sampled_from([TIP, 'nose']),
        number=st.sampled_from([0.3, NAN]),
    )
    def ask(self, whole, frame, number):
        names = JOINTS if self.robot == ROBOT else ['joint2']
        names = names if whole else []
        request = jacobian(frame, joints(names, [number] * len(names)))
        answer = self.bench.call('jacobian', request)
        if frame != TIP:
            expected = ErrorCode.UNKNOWN_NAME
        elif whole and math.isnan(number):
            expected = ErrorCode.NOT_FINITE
        elif not whole and not self.fresh:
            expected = ErrorCode.NO_JOINT_STATE
        else:
            expected = ErrorCode.SUCCESS
        assert ErrorCode(answer.error_code) is expected, answer.message
        assert answer.success == (expected is ErrorCode.SUCCESS)
        assert answer.header.frame_id == ('left_base' if answer.success else '')


def test_codes_in_any_order(bench):
    Requests.bench = bench
    run_sequences(Requests, 12, few=5)
    bench.clock.offset += 10.0  # no state for other tests
    bench.describe(ROBOT)


# --- headers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('representation', 'frame'),
    [
        ('', 'left_base'),
        ('spatial', 'left_base'),
        ('body', f'left_{TIP}'),
        ('mixed', f'left_base (linear), left_{TIP} (angular)'),
    ],
)
def test_a_jacobian_names_its_frame(bench, representation, frame):
    answer = bench.call('jacobian', jacobian(representation=representation))
    assert answer.header.frame_id == frame


def test_poses_have_the_frame_of_the_reference(bench):
    request = srv.ForwardKinematics.Request(joint_state=joints(), reference_frame=TIP)
    answer = bench.call('forward_kinematics', request)
    assert answer.header.frame_id == f'left_{TIP}'
    assert {each.header.frame_id for each in answer.transforms} == {answer.header.frame_id}


def test_the_stamp_of_the_state_that_was_used(bench):
    """An answer that needs the measured state has its stamp; one that does not has its own."""
    real, stamp = time.time_ns(), bench.clock.time_ns() - 10**7
    bench.host.states.receive(serialized(JOINTS, [0.1, 0.2], stamp), {})
    used = bench.call('jacobian', jacobian(joint_state=joints(['joint1'], [0.1])))
    complete = bench.call('jacobian', jacobian())
    bench.clock.offset += 100.0  # too late for the state
    late = bench.call('jacobian', jacobian(joint_state=joints(['joint1'], [0.1])))
    assert nanoseconds(used) == stamp
    assert nanoseconds(complete) >= real
    assert late.error_code == ErrorCode.NO_JOINT_STATE


def nanoseconds(response):
    stamp = response.header.stamp
    return stamp.sec * 10**9 + stamp.nanosec
