# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`doctor --suggest`: known parameters are written, unknown ones are left out and named."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

import yaml
from sensor_msgs.msg import JointState

from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.cli.doctor import suggestion, suggestions, topics
from screw_dynamics_ros.cli.doctor.command import written_suggestion
from screw_dynamics_ros.cli.doctor.session import without
from screw_dynamics_ros.cli.doctor.session_data import Configuration, SessionData
from screw_dynamics_ros.cli.doctor.suggestions import suggest_efforts
from screw_dynamics_ros.cli.doctor.topics import joint_states_section
from screw_dynamics_ros.cli.recorded_joints import JointMotions
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.ros.joint_states.reader import from_message
from support.paths import CONFIG
from support.robots import urdf_path

PANDA = urdf_path('panda')
URDF = PANDA.read_text()
CURRENT = (5.0, -8.0, 6.0, 12.0, 3.0, 4.0, 2.0)  # N m/A
CONTROLLER = 'control_msgs/msg/JointTrajectoryControllerState'
MODEL = yaml.safe_load((CONFIG / 'model.yaml').read_text())
ARRAY = 'std_msgs/msg/Float64MultiArray'


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(URDF, backend='python')


def poses(robot, count, seed=3):
    """Return configurations far from the limits."""
    rng, limits = np.random.default_rng(seed), robot.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    return middle + 0.6 * half * rng.uniform(-1.0, 1.0, (count, robot.nv))


def heard(robot, text, effort, *, count=1, velocity=True, gap=0.01, unit=1.0, **others):
    """Return what doctor hears of a robot that rests in some poses; `effort` is of (q, g)."""
    mapper = joint_state_mapper(robot)
    states, stamp, motions = [], 10**18, JointMotions()
    lacking = {'velocity': Counter(), 'effort': Counter()}
    for q in poses(robot, count):
        tau = effort(robot.gravity_torques(q))
        for _ in range(20):
            stamp += round(1e9 * gap)
            message = JointState(name=list(robot.joint_names), position=(q * unit).tolist())
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            message.velocity = [0.0] * robot.nv if velocity else []
            message.effort = [] if tau is None else np.asarray(tau).tolist()
            for field, counter in lacking.items():
                counter.update(without(message.name, getattr(message, field)))
            content = from_message(message)
            motions.add(content.layout, [stamp * 1e-9], content.numbers[None])
            if mapper.update(content) and mapper.has_effort:
                states.append(tuple(mapper.state.copy()))
    arrivals = (gap * np.arange(20 * count)).tolist()
    return SessionData(
        text, robot, mapper, arrivals, states, Configuration(), ['/driver'],
        others.pop('senders', []), lacking, motions=motions, **others,
    )  # fmt: skip


def suggested(panda, effort, **options):
    return suggestions.suggest(heard(panda, URDF, effort, **options))


def parameters(made):
    """Return {section: {name: value}} of the text that is written, as ROS reads it."""
    content = yaml.safe_load(made.text('panda'))
    found = {section: value['ros__parameters'] for section, value in content.items()}
    for section, values in found.items():
        assert set(values) <= set(MODEL[section]['ros__parameters'])
    return found


def left(made):
    return ' '.join(f'{name}: {reason}' for name, reason in made.left)


def test_torques_of_motors(panda):
    made = suggested(panda, lambda g: g)
    found = parameters(made)
    assert found['/**']['effort_terms'] == list(TERMS)
    assert 'effort_scale' not in found['/**']
    assert found['/**/bringup']['nodes'] == ['kinematics', 'dynamics', 'wrench_estimator']
    assert 'compensated_terms' in left(made)
    assert '/**/dynamics' not in found


def test_efforts_without_gravity(panda):
    """The missing terms are reported; whether they are external torques is unknown."""
    made = suggested(panda, lambda g: 0.0 * g)
    found = parameters(made)
    assert found['/**']['effort_terms'] == ['coriolis', 'friction', 'inertia']
    assert 'external torques' in left(made)
    assert 'wrench_estimator' not in found['/**/bringup']['nodes']


def currents(g):
    """Efforts as currents with another constant for each joint, and an offset."""
    return g / np.resize(CURRENT, len(g)) + 0.05


def test_one_pose_does_not_tell_a_scale(panda):
    made = suggested(panda, currents)
    found = parameters(made)
    assert not {'effort_terms', 'effort_scale'} & set(found['/**'])
    assert 'three or more poses' in left(made)
    assert 'wrench_estimator' not in found['/**/bringup']['nodes']


def test_efforts_per_torque_of_one_pose(panda):
    """Of the joints that gravity loads enough, by name."""
    made = suggested(panda, currents)
    (text,) = re.findall(r'efforts per torque: ([^)]*)', left(made))
    found = dict(each.rsplit(' ', 1) for each in text.split(', '))
    (q,) = poses(panda, 1)
    g = panda.gravity_torques(q)
    assert set(found) <= set(panda.joint_names)
    assert 'panda_joint2' in found
    for name, ratio in found.items():
        k = panda.joint_names.index(name)
        assert abs(g[k]) > 0.5
        assert float(ratio) == pytest.approx(currents(g)[k] / g[k], abs=0.006)


def test_poses_that_tell_nothing(panda, monkeypatch):
    """A robot that moves, and one that gravity does not load: no efforts are torques."""
    data = heard(panda, URDF, lambda g: g)
    moving = [(q + 0.01 * k, v + 1.0, tau) for k, (q, v, tau) in enumerate(data.states)]
    level = Robot.from_urdf(URDF, backend='python', gravity=(0.0, 0.0, 0.0))
    for changed, reason in (
        (replace(data, states=moving), 'the robot was never at rest; stop it'),
        (replace(data, robot=level), 'the gravity torques are too small in this pose'),
        (replace(data, states=[]), 'no joint state contains the efforts of all joints'),
    ):
        made = suggestion.Suggestion()
        assert not suggest_efforts(made, changed, None)
        assert reason in left(made)
        assert made.lines == []


def test_the_section_of_suggestions(panda, tmp_path):
    """What is set, and what is not known, each by its name."""
    path = tmp_path / 'p.yaml'
    data = heard(panda, URDF, currents)
    section = written_suggestion(data, [], path)
    made = suggestions.suggest(data)
    assert section.lines[0] == f'written to {path}'
    assert [line.split(': ')[0] for line in section.lines[1:]] == [each.name for each in made.lines]
    assert [(each.severity, each.subject, each.message) for each in section.findings] == [
        ('info', name, f'unknown: {reason}') for name, reason in made.left
    ]
    assert yaml.safe_load(path.read_text())['/**']


def test_a_robot_of_no_known_driver(panda):
    made = suggestion.Suggestion()
    suggestions.suggest_names(made, heard(panda, URDF, lambda g: g), None, '', with_wrenches=True)
    assert left(made) == 'joints, frames: the joints match no driver preset'
    assert made.lines == []


def test_several_poses_tell_currents(panda):
    """Against the constants; joints that gravity does not load are named and left."""
    made = suggested(panda, currents, count=6)
    shared = parameters(made)['/**']
    named = dict(zip(shared['effort_joints'], shared['effort_scale']))
    offsets = dict(zip(shared['effort_joints'], shared['effort_offset']))
    assert {'panda_joint2', 'panda_joint4'} <= set(named)
    for k, joint in enumerate(panda.joint_names):
        if joint in named:
            constant = np.resize(CURRENT, panda.nv)[k]
            assert named[joint] == pytest.approx(constant, rel=1e-3)
            assert offsets[joint] == pytest.approx(-0.05 * constant, abs=2e-3)
    assert 'effort_scale of panda_joint1' in left(made)
    assert 'wrench_estimator' not in parameters(made)['/**/bringup']['nodes']


def test_small_currents_are_not_taken_for_efforts_without_gravity(panda):
    made = suggested(panda, lambda g: 0.1 * g)
    assert 'effort_terms' not in parameters(made)['/**']
    assert 'currents' in left(made)


def test_efforts_that_are_no_line_are_left(panda):
    rng = np.random.default_rng(1)
    made = suggested(panda, lambda g: rng.uniform(-40, 40, len(g)), count=6)
    assert 'effort_scale' not in parameters(made)['/**']
    assert 'not proportional to the torques' in left(made)


@pytest.mark.parametrize('count', [1, 6])
def test_the_other_sign_may_be_gravity(panda, count):
    made = suggested(panda, lambda g: -g, count=count)
    assert 'effort_scale' not in parameters(made)['/**']
    assert ('mounted upside down' if count > 1 else 'another sign') in left(made)


def signed(panda, *joints, friction=0.0):
    """Return efforts with noise and static friction; those of `joints` have the other sign."""
    rng = np.random.default_rng(7)
    signs = np.where(np.isin(panda.joint_names, joints), -1.0, 1.0)

    def effort(g):
        stuck = friction * rng.choice([-1.0, 1.0], len(g)) * (np.abs(g) > 1e-3)
        return signs * (g + stuck) + 0.01 * rng.normal(size=len(g))

    return effort


@pytest.mark.parametrize('friction', [0.0, 0.2])
@pytest.mark.parametrize('reversed_joints', [['5'], ['6'], ['3'], ['4'], ['4', '5']])
def test_each_joint_has_a_sign_of_its_own(panda, reversed_joints, friction):
    """Also joints that gravity loads 20 times less than others: scale -1 makes them torques."""
    names = [f'panda_joint{k}' for k in reversed_joints]
    data = heard(panda, URDF, signed(panda, *names, friction=friction), count=10)
    found = topics.efforts_section(topics.efforts(data)).findings
    assert [each.subject for each in found] == [f'joint {name}' for name in names]
    assert all('opposite sign: set effort_scale to -1' in each.remedy for each in found)
    shared = parameters(suggestions.suggest(data))['/**']
    assert shared['effort_joints'] == names
    assert shared['effort_scale'] == [-1.0] * len(names)
    assert shared['effort_terms'] == list(TERMS)


@pytest.mark.parametrize('friction', [0.0, 0.2, 0.5])
@pytest.mark.parametrize('count', [1, 2, 3, 10])
def test_joints_without_a_fault_keep_their_sign(panda, friction, count):
    data = heard(panda, URDF, signed(panda, friction=friction), count=count)
    assert topics.efforts_section(topics.efforts(data)).findings == []
    assert 'effort_scale' not in parameters(suggestions.suggest(data))['/**']


def test_no_agreement_is_stated_of_other_joints(panda):
    """Of joints that gravity hardly loads it is unknown; of a joint with half its torque not so."""
    scales = np.where(np.array(panda.joint_names) == 'panda_joint5', 0.5, 1.0)
    made = suggested(panda, lambda g: g * scales, count=10)
    reason = next(line.reason for line in made.lines if line.name == 'effort_terms')
    assert 'not those of panda_joint5 0.50 (efforts per torque)' in reason
    assert 'of panda_joint1, panda_joint7, panda_finger_joint1 gravity is too small' in reason


def test_fields_that_never_come(panda):
    made = suggested(panda, lambda g: None, velocity=False)
    found = parameters(made)
    assert found['/**']['velocity_policy'] == 'differentiate'
    reason = next(line.reason for line in made.lines if line.name == 'velocity_policy')
    assert 'none of 20 joint states contains a velocity of' in reason
    assert 'no joint state contains the efforts' in left(made)
    assert found['/**/bringup']['nodes'] == ['kinematics', 'dynamics']


def test_nothing_is_heard(panda):
    made = suggested(panda, lambda g: g, count=0)
    assert parameters(made)['/**/bringup']['nodes'] == ['kinematics', 'dynamics']
    assert 'no joint state arrived' in left(made)


def test_degrees_are_noted(panda):
    for unit, is_noted in ((180.0 / np.pi, True), (1.0, False)):
        data = heard(panda, URDF, lambda g: g, unit=unit)
        made = suggestions.suggest(data, [joint_states_section(data)])
        assert any('they seem to be in degrees' in note for note in made.notes) == is_noted


def test_a_slow_driver(panda):
    made = suggested(panda, lambda g: g, gap=0.4)
    assert parameters(made)['/**']['state_timeout'] == pytest.approx(0.8)
    assert any('too slow to command torques' in note for note in made.notes)


@pytest.mark.parametrize(
    ('graph', 'expected'),
    [
        ({'nodes': ['/arm/robot_state_publisher']}, False),
        ({}, True),
        ({'senders': ['/arm/kinematics']}, True),
        ({'senders': ['/mapper', '/arm/kinematics']}, None),
    ],
)
def test_transforms(panda, graph, expected):
    made = suggested(panda, lambda g: g, **graph)
    assert parameters(made).get('/**/kinematics', {}).get('publish_tf') == expected


def test_controllers(panda):
    """One is followed, of two none is chosen."""
    topics = {
        '/jtc/controller_state': [CONTROLLER],
        '/jtc/state': [CONTROLLER],
        '/forward_effort_controller/commands': [ARRAY],
    }
    made = suggested(panda, lambda g: g, topics=topics)
    assert parameters(made)['/**/dynamics']['controller_state_topic'] == '/jtc/controller_state'
    assert any('/forward_effort_controller/commands may be' in note for note in made.notes)
    topics['/other/controller_state'] = [CONTROLLER]
    made = suggested(panda, lambda g: g, topics=topics)
    assert '/**/dynamics' not in parameters(made)
    assert 'there are /jtc/controller_state, /other/controller_state' in left(made)


def test_a_known_driver():
    """By names and frames; what it compensates is not measured, but documented."""
    text = URDF
    for old, new in (('panda_', 'left_fr3_'),):
        text = text.replace(old, new)
    robot = Robot.from_urdf(text, backend='python')
    made = suggestions.suggest(heard(robot, text, lambda g: g))
    found = parameters(made)
    assert found['/**/dynamics']['compensated_terms'] == ['gravity', 'friction']
    assert found['/**/dynamics']['joints'] == [f'left_fr3_joint{k}' for k in range(1, 8)]
    assert found['/**/kinematics']['frames'] == ['left_fr3_link8']
    assert found['/**']['effort_terms'] == ['gravity', 'coriolis', 'inertia', 'payload']
    assert any('with the prefix left_' in note for note in made.notes)


def suggested_for_ur(value, effort, count=1):
    """Return what is suggested for a robot with the names of UR arms; `value` as described."""
    text = URDF
    for k, name in enumerate(UR_JOINTS):
        text = text.replace(f'"panda_joint{k + 1}"', f'"{name}_joint"')
    text = text.replace('"panda_link0"', '"base_link"').replace('"panda_hand_tcp"', '"tool0"')
    if value:
        text = text.replace(
            '</robot>',
            '<ros2_control name="ur" type="system"><hardware><param '
            f'name="use_currents_as_efforts">{value}</param></hardware></ros2_control></robot>',
        )
    return suggestions.suggest(
        heard(Robot.from_urdf(text, backend='python'), text, effort, count=count)
    )


UR_JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_1', 'wrist_2', 'wrist_3')


@pytest.mark.parametrize(
    ('value', 'friction', 'condition'),
    [('false', 0.05, 'use_currents_as_efforts=false'), (None, 0.01, '')],
)
def test_torques_of_ur_by_description_or_by_poses_at_rest(value, friction, condition):
    """They are not taken for external torques: the driver reports torques without gravity."""
    largest = friction * 30.0  # N m
    made = suggested_for_ur(value, lambda g: largest * np.cos(np.arange(len(g))))
    found = parameters(made)
    assert found['/**']['effort_terms'] == ['coriolis', 'friction', 'inertia']
    assert found['/**']['effort_condition'] == condition
    assert found['/**/bringup']['nodes'] == ['kinematics', 'dynamics', 'wrench_estimator']
    assert 'external torques' not in left(made)


@pytest.mark.parametrize('value', ['true', None])
def test_currents_of_ur_by_poses_at_rest(value):
    """With terms of their own: those of the preset are of torques without gravity."""
    shared = parameters(suggested_for_ur(value, currents, count=6))['/**']
    assert 'shoulder_lift_joint' in shared['effort_joints']
    assert shared['effort_terms'] == list(TERMS)
    assert shared['effort_condition'] == (f'use_currents_as_efforts={value}' if value else '')


def test_one_pose_leaves_the_efforts_of_ur(panda):
    found = parameters(suggested_for_ur('true', currents))
    assert not {'effort_terms', 'effort_scale', 'effort_condition'} & set(found['/**'])


def test_nothing_is_overwritten(panda, tmp_path):
    made, path = suggested(panda, lambda g: g), tmp_path / 'mine.yaml'
    suggestion.write(made, 'panda', path)
    before = path.read_text()
    with pytest.raises(UnusableError, match='already exists'):
        suggestion.write(made, 'panda', path)
    with pytest.raises(UnusableError, match='cannot write'):
        suggestion.write(made, 'panda', tmp_path / 'no' / 'where.yaml')
    assert path.read_text() == before


def test_texts_of_others_stay_comments():
    """Names that a driver sends cannot become lines of the file."""
    made = suggestion.Suggestion()
    made.set('/**', 'frame_prefix', "it's", 'two\nlines: 3')
    made.leave('x', 'a\n/**:\n  b: 1')
    content = yaml.safe_load(made.text('a\nrobot: 1'))
    assert content == {'/**': {'ros__parameters': {'frame_prefix': "it's"}}}


# --- through DDS ----------------------------------------------------------------------------------


def test_a_file_for_the_simulator_starts_the_nodes(start, connect, ros_domain, tmp_path):
    """Currents instead of torques and no velocities: nothing is guessed, and bringup starts."""
    faults = {
        'rate': 100.0,
        'motion_amplitude': 0.0,
        'faults.torque_constants': [5.0],
        'faults.nan_joints': [f'panda_joint{k}' for k in range(1, 8)],
        'faults.nan_quantities': ['velocity'],
    }
    from support.warm_processes import Command

    start('simulator', faults, ['-r', '__ns:=/suggested'])
    file = tmp_path / 'suggested.yaml'
    words = 'doctor', '--suggest', str(file), '--seconds', '1', '--wait', '300'
    _, printed = Command(words, tmp_path, ros_domain, ['-r', '__ns:=/suggested']).end()
    assert f'written to {file}' in printed, printed
    content = yaml.safe_load(file.read_text())
    shared = content['/**']['ros__parameters']
    assert shared['velocity_policy'] == 'differentiate'
    assert 'effort_terms' not in shared
    assert content['/**/bringup']['ros__parameters']['nodes'] == ['kinematics', 'dynamics']
    assert 'a velocity of panda_joint1' in file.read_text().replace('\n    #', '')
    start('bringup', {'max_delay': 0.02}, ['-r', '__ns:=/suggested', '--params-file', str(file)])
    client = connect('suggested')
    client.expect('suggested/bringup: robot description', 0)
    assert client.parameters('bringup')['velocity_policy'] == 'differentiate'
    assert list(client.parameters('bringup')['nodes']) == ['kinematics', 'dynamics']
