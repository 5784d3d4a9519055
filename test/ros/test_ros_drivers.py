# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Driver presets: those of the package are whole and fit the nodes; others are refused by name."""

import re

import pytest

pytest.importorskip('rclpy')

import yaml

from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.ros.drivers import (
    EFFORTS,
    FACTS,
    NODES,
    find_driver,
    presets,
    read_driver,
    recognized,
)
from support.paths import CONFIG, DOC

FOLDER = CONFIG / 'drivers'
NAMES = [
    'franka',
    'generic',
    'iiwa',
    'kinova_gen3',
    'open_manipulator_x',
    'openarm',
    'piper',
    'so_arm',
    'ur',
    'xarm',
    'yam',
]
MODEL = yaml.safe_load((CONFIG / 'model.yaml').read_text())


def driver(name):
    return find_driver(name, FOLDER)


def test_presets_of_the_package():
    assert list(presets(FOLDER)) == NAMES


@pytest.mark.parametrize('name', NAMES)
def test_every_preset_fits_the_nodes(name):
    """Parameters are those of the nodes, in the sections of config/model.yaml, with their types."""
    found = driver(name)
    assert found.name == name
    assert found.facts.effort in EFFORTS
    for place in (('/**', 'effort_terms'), ('/**/dynamics', 'compensated_terms')):
        assert set(found.terms(*place)) <= set(TERMS)
    for section, parameters in found.parameters.items():
        defaults = MODEL[section]['ros__parameters']
        for key, value in parameters.items():
            assert type(value) is type(defaults[key]), (section, key)


@pytest.mark.parametrize('name', NAMES)
def test_efforts_that_are_no_torques_make_no_wrenches(name):
    found = driver(name)
    nodes = found.parameters.get('/**/bringup', {}).get('nodes', ['wrench_estimator'])
    if name != 'generic':
        assert ('wrench_estimator' in nodes) == (found.facts.effort == 'torque')


@pytest.mark.parametrize('name', NAMES)
def test_the_page_has_every_fact(name):
    """Names of joints, controllers, topics, frames and terms stand in doc/start/drivers.md."""
    page = (DOC / 'start' / 'drivers.md').read_text()
    (part,) = re.findall(rf'^## {name}$(.*?)(?=^## |\Z)', page, re.M | re.S)
    facts = driver(name).facts
    for value in (
        *facts.trajectory_controllers,
        *facts.effort_controllers,
        facts.root_frame,
        facts.tool_frame,
        facts.wrench_topic,
        facts.wrench_frame,
        facts.effort if facts.effort != 'torque' else '',
        *driver(name).terms('/**/dynamics', 'compensated_terms'),
    ):
        assert value in part, value
    if name != 'generic':
        assert 'not documented' in part.lower()


def test_names_and_paths():
    assert find_driver(str(FOLDER / 'ur.yaml'), FOLDER).name == 'ur'
    with pytest.raises(UnknownNameError, match=r"no driver preset 'frnka'; did you mean franka\?"):
        driver('frnka')
    with pytest.raises(ArgumentError, match='there is no such file'):
        driver('/nowhere/ur.yaml')


def changed(tmp_path, *changes):
    """Return the path of the preset of UR with changes."""
    text = (FOLDER / 'ur.yaml').read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / 'mine.yaml'
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ("effort: 'torque'", "effort: 'amperes'", "effort is 'amperes'; it must be one of"),
        ("root_frame: 'base_link'", 'root_frame: 3', 'root_frame must be text, found 3'),
        ("    root_frame: 'base_link'\n", '', 'root_frame must be text, found None'),
        ("['forward_effort_controller']", "'forward'", 'effort_controllers must be a list'),
        ("'elbow_joint'", "'wrist_1_joint'", 'joints names a joint twice'),
        ("terms: ['gravity']", 'terms: 1e300', 'compensated_terms must be a list of names'),
        ('tool_frame:', 'tool:', 'there is no tool; there are joints'),
        ('efforts=false', 'efforts', "'use_currents_as_efforts' is not a condition NAME=VALUE"),
        ('/**/dynamics', '/**/simulator', 'section /\\*\\*/simulator is for no node'),
        ('/**/driver:', '/**/wrench_estimator:', 'no section /\\*\\*/driver'),
        ('/**/driver:', '/**/driver: [', 'it is not YAML'),
    ],
)
def test_a_file_with_a_fault_is_refused_by_name(old, new, reason, tmp_path):
    with pytest.raises(ArgumentError, match=reason):
        read_driver(changed(tmp_path, (old, new)))


@pytest.mark.parametrize(
    ('value', 'effort', 'condition'),
    [
        ('false', 'torque', 'use_currents_as_efforts=false'),
        ('False', 'torque', 'use_currents_as_efforts=false'),
        ('true', 'unknown', 'use_currents_as_efforts=true'),
        (None, 'unknown', ''),
    ],
)
def test_efforts_of_ur_are_those_of_the_description(value, effort, condition):
    ur, urdf = driver('ur'), described(value)
    assert (ur.effort(urdf), ur.condition_of(urdf)) == (effort, condition)
    assert (driver('franka').effort(urdf), driver('franka').condition_of(urdf)) == ('torque', '')


def test_efforts_of_a_description_that_cannot_be_read():
    """It meets no condition."""
    ur = driver('ur')
    for text in ('<robot', '<robot name="r"><link name="base"/></robot>'):
        assert (ur.effort(text), ur.condition_of(text)) == ('unknown', '')


def described(value):
    """Return a description that has the parameter of the UR driver, or not."""
    given = '' if value is None else f'<param name="use_currents_as_efforts">{value}</param>'
    return (
        '<robot name="r"><link name="base"/><ros2_control name="ur" type="system"><hardware>'
        f'<plugin>ur_robot_driver/URPositionHardwareInterface</plugin>{given}</hardware>'
        '</ros2_control></robot>'
    )


def test_sections_are_those_of_nodes():
    assert set(NODES) <= set(MODEL)
    assert FACTS not in MODEL


UR_JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_1', 'wrist_2', 'wrist_3')


@pytest.mark.parametrize(
    ('joints', 'links', 'expected'),
    [
        ([f'{name}_joint' for name in UR_JOINTS], ['base_link', 'tool0'], ('ur', '')),
        ([f'fr3_joint{k}' for k in range(1, 8)], ['fr3_link0', 'fr3_link8'], ('franka', '')),
        (
            [f'left_fr3_joint{k}' for k in range(1, 8)],
            ['left_fr3_link0', 'left_fr3_link8'],
            ('franka', 'left_'),
        ),
        (
            [f'joint_{k}' for k in range(1, 7)],  # six joints
            ['base_link', 'end_effector_link'],
            ('kinova_gen3', ''),
        ),
        ([f'joint_{k}' for k in range(1, 7)], ['base_link', 'tool0'], None),
        ([f'joint{k}' for k in range(1, 8)], ['link_base', 'link_eef'], ('xarm', '')),
        ([f'joint{k}' for k in range(1, 8)], ['base_link', 'link_eef'], None),
        ([f'joint{k}' for k in range(1, 5)], ['link_base', 'link_eef'], None),
        ([], [], None),
    ],
)
def test_recognized_by_joints_and_frames(joints, links, expected):
    found = recognized(joints, links, [driver(name) for name in NAMES])
    assert (found and (found[0].name, found[1])) == expected
