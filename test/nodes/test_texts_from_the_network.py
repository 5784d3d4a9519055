# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What others on the network can send as text: which kind it is, and that no file is opened for it.

Every parameter that is text, and every text of a request, is listed with its kind. A file is named
at the start of a node, or by a plain name in its data folder; nothing else is a path.
"""

import os
import re
import resource
import sys

import numpy as np
import pytest
from rclpy.parameter import Parameter

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.nodes.known_parameters import all_parameters
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.nodes.services.estimation_services import describe_tool
from screw_dynamics_ros.nodes.services.kinematics_services import calibrate
from screw_dynamics_ros.ros.services import types_of
from support.host_bench import Bench
from support.paths import ROOT
from support.robots import urdf_path

NAME = 'name of a joint, a link, a frame, or of something that a parameter lists'
CHOICE = 'one of the texts that the parameter or the field takes'
XML = 'text of a description'
TOPIC = 'name of a topic'
START = 'path, taken at start only'
DATA = 'plain name of a file in the data folder'

PARAMETERS = {
    NAME: """
        gravity_frame effort_condition effort_joints drive_joints payload_link frame_prefix frames
        joints constraints limited_joints flag_joints observer_joints sensor_frame world_frame
        initial_joints plane_names
        contact_point_names spring_names faults.nan_joints faults.frozen_joints left_wheel_names
        right_wheel_names wheel_names steering_names odom_frame_id base_frame_id odom_joint_names
        base_frame platform_frame support_frames law_options conflict_policy
        impedance_joints servo_joints chunk_joints leader_joints
    """,
    XML: 'robot_description',
    TOPIC: """
        controller_state_topic controller_action controller_topic contact_topic guard_topic
        leader_topic leader_torque_topic wrench_reference sensor_commands state_interfaces
        state_interface_component
    """,
    START: 'loop_closures law urdf mechanism data_folder',
    DATA: 'residual_map',
}

REQUESTS = {
    NAME: """
        AttachTool.name AttachTool.link Calibrate.frame Calibrate.fixed ClearPayload.name
        CompareModel.tip DetachTool.name EstimatePayload.link EstimatePayload.name
        ForwardKinematics.frames ForwardKinematics.reference_frame HybridDynamics.prescribed
        InverseKinematics.frames Jacobian.frame PayloadCapacity.frame SetLinkInertia.link
        SetPayload.name SetPayload.link
    """,
    CHOICE: """
        Calibrate.estimate CompareModel.programs ForwardKinematics.representation
        Jacobian.representation
    """,
    XML: 'AttachTool.description Calibrate.robot_description',
}


def test_every_text_of_a_parameter_has_a_kind():
    texts = {
        each.name: each
        for each in all_parameters()
        if each.kind in (Parameter.Type.STRING, Parameter.Type.STRING_ARRAY) and not each.choices
    }
    listed = [name for names in PARAMETERS.values() for name in names.split()]
    assert sorted(listed) == sorted(texts)
    for name in PARAMETERS[START].split():
        assert texts[name].read_only, name
        assert 'path' in texts[name].rule, name
    for name, specification in texts.items():
        if 'path' in specification.rule.lower():
            assert name in PARAMETERS[START].split()
        if re.search(r'\bfile\b', specification.rule):
            assert name in PARAMETERS[DATA].split()


def test_every_text_of_a_request_has_a_kind():
    found = []
    for path in sorted((ROOT / 'screw_dynamics_msgs' / 'srv').glob('*.srv')):
        request = path.read_text().split('\n---')[0]
        fields = re.findall(r'^string(?:\[\])? (\w+)\s*$', request, flags=re.M)
        found += [f'{path.stem}.{field}' for field in fields]
    assert sorted(found) == sorted(name for names in REQUESTS.values() for name in names.split())


# --- attacks --------------------------------------------------------------------------------------

OPENED = []
_is_watching = [False]


def _watch(event, arguments):
    if _is_watching[0] and event in ('open', 'os.mkdir', 'os.rename', 'os.remove', 'os.listdir'):
        OPENED.append((event, str(arguments[0])))


sys.addaudithook(_watch)

PATHS = [
    '/etc/passwd', '/dev/zero', '/proc/self/environ', '~/.ssh/id_rsa', '~root/x', '..', '../..',
    '../../../../etc/shadow', './map.yaml', 'map.yaml/..', '.profile', 'file:///etc/passwd',
    'package://screw_dynamics_ros/urdf/panda.urdf', 'http://127.0.0.1/x', 'C:\\x', '\\\\host\\x',
    'a\0b', '\0', '/tmp/\n', ' /etc/passwd', '\ufeff/etc/passwd', '/etc/passwd<', '<../x', '$HOME',
    '$(id)', '`id`', '%s%n', '-', '', ' ', '/' * 5000, 'x' * 2**20, '/dev/stdin', '/dev/fd/0',
    'PIPE', 'PIPE<', 'LINK', 'LINK<',
]  # fmt: skip


def texts(tmp_path, count):
    """Yield names of files of all kinds, and mixtures of them."""
    rng = np.random.default_rng(5)
    pieces = [
        each.replace('PIPE', str(tmp_path / 'pipe')).replace('LINK', str(tmp_path / 'link'))
        for each in PATHS
    ]
    yield from pieces
    short = [each for each in pieces if len(each) < 300]
    for _ in range(count - len(pieces)):
        chosen = [short[k] for k in rng.integers(len(short), size=rng.integers(1, 4))]
        text = rng.choice(['', '/', '<', '\n', '/../']).join(chosen)
        cut = int(rng.integers(0, len(text) + 1))
        yield text[:cut] + chr(int(rng.integers(1, 0x300))) + text[cut:]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A pipe nobody writes, a link, a home, and a data folder."""
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'link').symlink_to('/etc/passwd')
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    return tmp_path


@pytest.fixture
def watched():
    """Return the list of what has been opened since."""
    OPENED.clear()
    _is_watching[0] = True
    yield OPENED
    _is_watching[0] = False


class Queried:
    """A service that has a robot, for requests that bring their own."""

    robot = None

    def check_tree(self, *_):
        raise ScrewDynamicsError('no robot')


def request(name, **fields):
    message = types_of(name).Request()
    for field, value in fields.items():
        setattr(message, field, value)
    return message


def refused(call, *arguments):
    try:
        call(*arguments)
    except ScrewDynamicsError as error:
        return str(error)
    return None


def test_requests_open_nothing(files, watched):
    """Texts where a description is expected: refused, whatever they look like; memory is flat."""
    calibration = types_of('Calibrate')
    tool = types_of('AttachTool')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for text in texts(files, 10_000):
        if '\0' in text or any(0xD800 <= ord(c) < 0xE000 for c in text):
            continue  # no message can have it
        said = refused(describe_tool, request('AttachTool', description=text), tool.Response())
        assert said, text
        if text:
            assert refused(
                calibrate,
                Queried(),
                request('Calibrate', robot_description=text),
                calibration.Response(),
            ), text
    assert watched == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@pytest.fixture
def bench(files, monkeypatch, keep):
    made = keep(Bench(monkeypatch, WrenchEstimator, 'wrench_estimator', backend='python'))
    made.describe(urdf_path('planar_2r').read_text())
    return made


@pytest.mark.parametrize('parameter', ['residual_map', 'robot_description'])
def test_parameters_open_nothing_outside_the_data_folder(bench, files, watched, parameter):
    data = files / 'screw_dynamics_ros'
    node = bench.node
    for text in texts(files, 10_000 if parameter == 'residual_map' else 2000):
        (result,) = node.set_parameters([Parameter(parameter, value=text)])
        if result.successful and parameter == 'residual_map' and text:
            assert re.fullmatch(r'[A-Za-z0-9][\w.-]*', text), text
    background = bench.part._tare.residuals._background
    while background.is_busy:
        pass
    bench.finish()
    outside = [
        (event, path)
        for event, path in watched
        if not path.startswith(str(data)) and not path.endswith(('.py', '.pyc'))
    ]
    assert outside == []
    assert not data.exists()


@pytest.mark.parametrize('name', ['loop_closures', 'data_folder'])
def test_paths_are_taken_at_start_only(bench, files, watched, name):
    if not bench.node.has_parameter(name):
        pytest.skip('not a parameter of this node')
    (result,) = bench.node.set_parameters([Parameter(name, value=str(files / 'pipe'))])
    assert not result.successful
    assert 'read-only' in result.reason
    assert watched == []


def test_a_map_is_never_written_over_a_login_script(bench, files):
    """Names such as `$(command)` are data in a file of the data folder, and quoted there."""
    profile = files / '.profile'
    profile.write_text('export A=1\n')
    for name in ('.profile', '../.profile', str(profile), '~/.profile'):
        (result,) = bench.node.set_parameters([Parameter('residual_map', value=name)])
        assert not result.successful
        assert 'plain name' in result.reason
    data = files / 'screw_dynamics_ros'
    data.mkdir(mode=0o700)
    (data / 'profile').symlink_to(profile)
    (result,) = bench.node.set_parameters([Parameter('residual_map', value='profile')])
    assert result.successful
    while bench.part._tare.residuals._background.is_busy:
        pass
    bench.part._tare.residuals.adopt()
    assert 'profile cannot be read' in bench.part.status().summary
    assert profile.read_text() == 'export A=1\n'
