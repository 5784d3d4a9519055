# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sections of `doctor` on joint states and transforms, their data, and its exit status."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.cli.doctor import description_report, suggestion
from screw_dynamics_ros.cli.doctor.command import parse, verdict
from screw_dynamics_ros.cli.doctor.session_data import Configuration, SessionData, with_efforts
from screw_dynamics_ros.cli.doctor.suggestion import BRINGUP, KINEMATICS, SHARED, Suggestion
from screw_dynamics_ros.cli.doctor.suggestions import (
    suggest_controllers,
    suggest_timeout,
    suggest_transforms,
    suggest_velocities,
)
from screw_dynamics_ros.cli.doctor.topics import (
    efforts,
    joint_states_section,
    topic_sections,
    transforms_section,
)
from screw_dynamics_ros.cli.report import Section
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile import kernels
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.entry import DONE, NEGATIVE
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason
from support.paths import URDF
from support.robots import urdf_path

PLANAR = (URDF / 'planar_2r.urdf').read_text()


def heard(arrivals=(), states=(), text=PLANAR, **more):
    robot = Robot.from_urdf(text, backend='reference')
    mapper = joint_state_mapper(robot, policies=Policies())
    known = {'configuration': Configuration(), 'joint_state_senders': ['/driver']}
    known |= {'transform_senders': [], **more}
    return SessionData(text, robot, mapper, list(arrivals), list(states), **known)


def test_times_of_the_first_and_of_further_calls(monkeypatch):
    """By a clock that stands still between readings; other backends than native are reported."""
    readings = iter([10.0, 12.5, 20.0, 20.0 + 3e-6 * description_report.REPEATS])
    clock = SimpleNamespace(perf_counter=lambda: next(readings))
    monkeypatch.setattr(description_report, 'time', clock)
    section = description_report.speed_section(Robot.from_urdf(PLANAR, backend='reference'))
    assert section.lines == [
        'inverse dynamics on the reference backend: first 2.50 s, then 3.00 us'
    ]
    (finding,) = section.findings
    assert finding.severity == 'warning'
    monkeypatch.undo()
    native = description_report.speed_section(Robot.from_urdf(PLANAR, backend='native'))
    assert native.findings == []
    monkeypatch.setattr(kernels, 'LARGE', 1)
    monkeypatch.setattr(kernels, 'LONGEST_OF_LARGE', 10)
    large = description_report.speed_section(Robot.from_urdf(PLANAR, backend='native'))
    assert 'on the reference backend' in large.lines[0]
    assert large.lines[1].startswith('not compiled: more than')
    assert large.findings == []


@pytest.mark.parametrize(
    ('version', 'readers'),
    [
        ('', 'version 1.0 of URDF is read by every ROS distribution'),
        ('1.1', 'version 1.1 of URDF is read by ROS Lyrical and newer (urdfdom 5.1)'),
    ],
)
def test_who_reads_the_version(version, readers):
    """Once: later versions are a finding of the reader."""
    text = PLANAR.replace('<robot ', f'<robot version="{version}" ', 1) if version else PLANAR
    section, *_ = description_report.description_sections(Robot.from_urdf(text), text)
    (line,) = (line for line in section.text() if 'of URDF is read by' in line)
    assert readers in line


def test_rate_and_gaps():
    """Mean rate and longest gap; more than one irregular message in a hundred is reported."""
    data = heard(np.cumsum([0.0, 0.1, 0.1, 0.3, 0.1]))
    data.mapper.accepted = 4
    reason = next(iter(Reason))
    section = joint_states_section(data)
    assert section.lines == [
        'from /driver',
        f'{4 / 0.6:.1f} Hz, longest gap 300.0 ms',
        '4 states of 2 joints out of 5 messages',
    ]
    assert section.findings == []
    for count, total, is_told in ((2, 200, False), (3, 200, True)):
        data = heard(np.arange(total))
        data.mapper.accepted = 1
        data.mapper.records[reason] = SimpleNamespace(count=count, detail='why')
        messages = [finding.message for finding in joint_states_section(data).findings]
        expected = f'{reason.value}: why ({count} of {total} messages)'
        assert messages == ([expected] if is_told else [])


def test_messages_that_do_not_come():
    (finding,) = joint_states_section(heard()).findings
    assert (finding.severity, finding.message) == (
        'error',
        'no message arrived; publishers: /driver',
    )
    (finding,) = joint_states_section(heard(joint_state_senders=[])).findings
    assert finding.message.endswith('publishers: no node')
    one = joint_states_section(heard([1.0]))
    assert not any('Hz' in line for line in one.lines)
    assert [f.message for f in one.findings] == ['do not give a complete state']


@pytest.mark.parametrize('kind', ['floating', 'ball'])
def test_efforts_of_robots_whose_orientations_are_unknown_are_skipped(kind):
    text = PLANAR.replace('type="continuous"', f'type="{kind}"').replace(
        'type="revolute"', f'type="{kind}"'
    )
    _, section, _ = topic_sections(heard(text=text))
    assert section.lines == [
        'skipped: pose and contacts of a free base, or poses of ball joints, are unknown'
    ]


def test_publishers_of_transforms():
    found = transforms_section(['/a/robot_state_publisher', '/bringup', '/x'])
    assert found.lines == ['/tf is published by /a/robot_state_publisher, /bringup, /x']
    (finding,) = found.findings
    assert 'both /a/robot_state_publisher and /bringup can publish it' in finding.message
    for alone in (['/robot_state_publisher', '/x'], ['/a/kinematics'], []):
        assert transforms_section(alone).findings == []
    titles = [section.title for section in topic_sections(heard(transform_senders=None))]
    assert titles == ['joint states']
    assert [section.title for section in topic_sections(heard())] == ['joint states', 'transforms']


def test_torques_of_the_configured_model():
    """Of a double pendulum in closed form: gravity, payload and calibration of the parameters."""
    values = {
        'gravity': [0.0, -9.81, 0.0],
        'payload_mass': 2.0,
        'payload_link': 'link2',
        'payload_center_of_mass': [0.25, 0.0, 0.0],
        'effort_joints': ['joint2'],
        'effort_scale': [3.0],
        'effort_offset': [0.5],
    }
    configuration = Configuration(values, dict.fromkeys(values, '/arm'))
    q, v, tau = np.array([0.4, -0.9]), np.array([0.1, 0.2]), np.array([7.0, 5.0])
    data = heard(states=[(q, v, tau)], configuration=configuration)
    found = efforts(data)
    c1, c12 = np.cos(0.4), np.cos(-0.5)
    np.testing.assert_allclose(found.gravity, [9.81 * np.array([3 * c1 + 0.5 * c12, 0.5 * c12])])
    lever = 0.25 * c12
    np.testing.assert_allclose(found.payload, [2.0 * 9.81 * np.array([c1 + lever, lever])])
    assert (found.joints, found.v.tolist()) == (['joint1', 'joint2'], [[0.1, 0.2]])
    assert found.measured.tolist() == [[7.0, 15.5]]
    assert efforts(data, calibrated=False).measured.tolist() == [[7.0, 5.0]]
    other = Configuration({**values, 'payload_link': 'none'}, configuration.owners)
    assert not efforts(heard(states=[(q, v, tau)], configuration=other)).payload.any()


def test_configuration():
    assert Configuration().gravity is None
    assert Configuration({'gravity': [1.0, 2.0]}).gravity is None
    assert Configuration({'gravity': [1.0, 2.0, 3.0]}).gravity == (1.0, 2.0, 3.0)
    assert Configuration({'effort_terms': ['', 'gravity']}).terms == ('gravity',)
    assert Configuration().terms == ('gravity', 'coriolis', 'friction', 'inertia', 'payload')
    owners = {'payload_mass': '/arm'}
    values = {'payload_mass': 1.0, 'payload_link': 'x'}
    for none in ({'payload_mass': 1.0}, {'payload_link': 'x'}, {**values, 'payload_mass': 0.0}):
        assert Configuration(none, owners).payloads == {}
    body, owner = Configuration(values, owners).payloads['x']
    assert (body.mass, body.com.tolist(), owner) == (1.0, [0.0, 0.0, 0.0], '/arm')
    two, none = (RigidBody(mass, np.zeros(3), np.zeros((3, 3))) for mass in (2.0, 0.0))
    carried = {'y': (two, '/b'), 'z': (none, '/b')}
    assert list(Configuration(values, owners, carried=carried).payloads) == ['y']


def test_states_with_efforts():
    """Missing velocities are zero; of many states evenly spaced ones are kept."""
    q = np.arange(6.0).reshape(3, 2)
    v = np.array([[1.0, np.nan], [1.0, 1.0], [2.0, 2.0]])
    tau = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
    found = with_efforts([SimpleNamespace(q=q, v=v, tau=tau)])
    assert [[x.tolist() for x in row] for row in found] == [
        [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]],
        [[4.0, 5.0], [2.0, 2.0], [4.0, 5.0]],
    ]
    for count, kept in ((20_000, range(20_000)), (20_001, range(0, 20_001, 2))):
        column = np.arange(float(count))[:, None]
        every = with_efforts([SimpleNamespace(q=column, v=column, tau=column)])
        assert [int(row[0][0]) for row in every] == list(kept)


# --- suggestions ----------------------------------------------------------------------------------


def suggested(of, *data):
    made = Suggestion()
    of(made, *data)
    return made


@pytest.mark.parametrize(
    ('gap', 'timeout', 'is_slow'),
    [(0.09, None, False), (0.11, None, True), (0.249, None, True), (0.252, 0.5, True),
     (0.4, 0.8, True)],
)  # fmt: skip
def test_gaps_of_a_slow_driver(gap, timeout, is_slow):
    made = suggested(suggest_timeout, heard(np.cumsum([0.0, 0.01, 0.01, 0.01, 0.01, gap])))
    lines = [(line.section, line.name, line.value) for line in made.lines]
    assert lines == ([] if timeout is None else [(SHARED, 'state_timeout', timeout)])
    assert [f'up to {gap:.3g} s: too slow' in note for note in made.notes] == [True] * is_slow
    for line in made.lines:
        assert f'at {5 / (0.04 + gap):.3g} Hz with gaps of up to {gap:.3g} s' in line.reason
    few = suggested(suggest_timeout, heard([0.0, 0.1, 0.2, 0.3, 0.4]))
    assert few.left == [('state_timeout', '5 joint states do not determine a rate')]


def test_velocities_that_are_missing():
    data = heard(np.arange(10), lacking={'velocity': Counter({'b': 10, 'a': 10, 'c': 3})})
    (line,) = suggested(suggest_velocities, data).lines
    assert (line.name, line.value) == ('velocity_policy', 'differentiate')
    assert line.reason.startswith('none of 10 joint states contains a velocity of a, b')
    data = heard(np.arange(10), lacking={'velocity': Counter({'b': 2, 'c': 3})})
    (line,) = suggested(suggest_velocities, data).lines
    assert line.reason.startswith('7 of 10 joint states contain all velocities')
    made = suggested(suggest_velocities, heard())
    assert made.left == [('velocity_policy', 'no joint state arrived')]


def test_transforms_of_others():
    def value(nodes, senders):
        made = suggested(suggest_transforms, heard(nodes=nodes, transform_senders=senders))
        return [(line.section, line.name, line.value) for line in made.lines]

    assert value(['/x/robot_state_publisher'], []) == [(KINEMATICS, 'publish_tf', False)]
    assert value([], ['/robot_state_publisher', '/y']) == [(KINEMATICS, 'publish_tf', False)]
    assert value(['/x'], []) == [(KINEMATICS, 'publish_tf', True)]
    assert value(['/x'], ['/a/bringup', '/kinematics']) == [(KINEMATICS, 'publish_tf', True)]
    assert value(['/x'], ['/a/bringup', '/slam']) == value(None, []) == value([], None) == []


def test_trajectory_controllers():
    kind, commands = ('control_msgs/msg/JointTrajectoryControllerState',
                      'std_msgs/msg/Float64MultiArray')  # fmt: skip

    def found(**topics):
        data = heard(topics={f'/{k.replace("__", "/")}': [v] for k, v in topics.items()})
        made = suggested(suggest_controllers, data)
        return [line.value for line in made.lines], made.left, made.notes

    assert found(c__controller_state=kind, c__state=kind)[0] == ['/c/controller_state']
    assert found(c__state=kind, d=commands)[0] == ['/c/state']
    assert found(d=commands)[:2] == ([], [])
    lines, left, _ = found(b__controller_state=kind, a__controller_state=kind)
    assert (lines, left) == (
        [],
        [('controller_state_topic', 'there are /a/controller_state, /b/controller_state')],
    )
    notes = found(effort__commands=commands, velocity__commands=commands, effort__x=commands)[2]
    assert len(notes) == 1
    assert notes[0].startswith('/effort/commands may belong to an effort controller')


@pytest.mark.parametrize(('unit', 'words'), [(1.0, None), (180.0 / np.pi, 'seem to be in degrees')])
def test_positions_in_degrees(unit, words):
    text = PLANAR.replace('continuous', 'revolute').replace(
        '<limit ', '<limit lower="-1" upper="1" '
    )
    data = heard(arrivals=[0.0, 1.0], text=text)
    assert not any('limits' in str(each) for each in joint_states_section(data).findings)
    positions = np.array([[0.9, -0.9], [-0.9, 0.9]]) * unit
    data.motions.add(JointStateLayout(('joint1', 'joint2'), 2, 0, 0), [0.0, 1.0], positions)
    found = [each for each in joint_states_section(data).findings if 'limits' in each.message]
    assert [each.severity for each in found] == ([] if words is None else ['error'])
    assert all(words in each.message for each in found)


def sections(*severities):
    """Return two sections with findings of these severities."""
    findings = [Finding(each, 'x', 'y') for each in severities]
    return [Section('a', [], findings[:1]), Section('b', [], findings[1:])]


@pytest.mark.parametrize(
    ('severities', 'status', 'strict', 'line'),
    [
        ([], DONE, DONE, '0 errors, 0 warnings'),
        (['info'], DONE, DONE, '0 errors, 0 warnings'),
        (['info', 'warning', 'warning'], DONE, NEGATIVE, '0 errors, 2 warnings'),
        (['warning', 'error'], NEGATIVE, NEGATIVE, '1 errors, 1 warnings'),
    ],
)
def test_exit_status(severities, status, strict, line, capsys):
    assert verdict(sections(*severities), False) == status
    assert verdict(sections(*severities), True) == strict
    assert capsys.readouterr().out == f'{line}\n{line}\n'


def test_options(tmp_path, capsys):
    """Those of recordings are refused for a description, and for a running robot."""
    bare = parse([])
    assert (bare.description, bare.seconds, bare.wait) == (None, 3.0, 5.0)
    assert (bare.strict, bare.suggest) == (False, None)
    assert parse(['--suggest']).suggest == Path('suggested.yaml')
    recording = tmp_path / 'run.csv'
    recording.touch()
    of_recording = [
        ['--urdf', 'r.urdf'], ['--drives', 'd.yaml'], ['--leave-out', 'a'], ['--rename', 'a:=b'],
    ]  # fmt: skip
    for words in of_recording:
        assert parse([str(recording), '--suggest', 'x.yaml', *words]).suggest == Path('x.yaml')
        for description in ([], ['robot.urdf']):
            with pytest.raises(SystemExit):
                parse([*description, *words])
            assert f'{words[0]} requires a recording' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(['robot.urdf', '--suggest'])
    assert '--suggest requires a running robot or a recording' in capsys.readouterr().err


def test_parameter_file(tmp_path):
    """Values as ROS 2 reads them; reasons and what is unknown are comments of 100 columns."""
    made = Suggestion()
    made.set(BRINGUP, 'nodes', ['a', "it's"], 'a reason of many words ' * 9)
    made.set(SHARED, 'gravity', (0, 0, -9.81), 'measured')
    made.set(SHARED, 'publish_tf', False, 'text\n  with: lines')
    made.set(SHARED, 'effort_joints', [], 'none')
    made.leave('state_timeout', 'too few messages ' * 9)
    made.notes.append('a note')
    path = tmp_path / 'p.yaml'
    suggestion.write(made, 'ro\nbot', path)
    text = path.read_text()
    content = yaml.safe_load(text)
    assert list(content) == ['/**', '/**/bringup']
    assert content['/**/bringup']['ros__parameters'] == {'nodes': ['a', "it's"]}
    assert content['/**']['ros__parameters'] == {
        'gravity': [0.0, 0.0, -9.81], 'publish_tf': False, 'effort_joints': [''],
    }  # fmt: skip
    assert {type(x) for x in content['/**']['ros__parameters']['gravity']} == {float}
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert sum('too few messages' in line for line in lines) == 2
    assert '# * state_timeout: too few messages' in text
    assert '# * a note' in text
    place = next(k for k, line in enumerate(lines) if line.startswith('    nodes: '))
    assert lines[place - 1].startswith('    # ')
    assert text.endswith('\n')
    with pytest.raises(UnusableError, match='already exists and is not overwritten'):
        suggestion.write(made, 'r', path)
    with pytest.raises(UnusableError, match=r'--suggest: cannot write .*none'):
        suggestion.write(made, 'r', tmp_path / 'none' / 'p.yaml')
    assert suggestion.written(2) == '2.0'


def test_numbers_that_are_missing_in_a_message():
    session = pytest.importorskip('screw_dynamics_ros.cli.doctor.session')
    names = ['a', 'b', 'c', 'd']
    assert list(session.without(names, [1.0, math.nan, np.inf])) == ['b', 'c', 'd']
    assert list(session.without(names, [0.0] * 4)) == []
    assert list(session.without([], [])) == []


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('baxter_description/urdf/baxter', ['left_s1', 'right_s1']),
        ('talos_data/robots/talos_left_arm', ['arm_left_2_joint']),
        ('ur_description/urdf/ur5_robot', []),
    ],
)
def test_joints_that_gravity_loads_beyond_their_limits(name, expected):
    """As by Pinocchio in random poses within the position limits."""
    pinocchio = pytest.importorskip('pinocchio')
    path = urdf_path(name)
    model = pinocchio.buildModelFromUrdf(str(path))
    data, rng, largest = model.createData(), np.random.default_rng(0), np.zeros(model.nv)
    bounded = np.isfinite(model.upperPositionLimit) & (model.upperPositionLimit < 1e3)
    low, high = (
        np.where(bounded, limit, sign * np.pi)
        for limit, sign in ((model.lowerPositionLimit, -1.0), (model.upperPositionLimit, 1.0))
    )
    for _ in range(2000):
        q = pinocchio.neutral(model)
        for joint in model.joints[1:]:
            if joint.nq == 1:
                q[joint.idx_q] = rng.uniform(low[joint.idx_q], high[joint.idx_q])
        torque = np.abs(pinocchio.computeGeneralizedGravity(model, data, q))
        largest = np.maximum(largest, torque)
    beyond = (largest > model.effortLimit) & (model.effortLimit > 0.0)
    heavy = [name for k, name in enumerate(model.names) if k and beyond[model.joints[k].idx_v]]
    found = description_report.exceeded_limits(Robot.from_urdf(path))
    assert sorted(each.subject.removeprefix('joint ') for each in found) == heavy == expected
