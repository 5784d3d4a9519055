# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Launch arguments are refused with name, value and what was expected, before anything starts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip('yaml')

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.ros import launch_arguments as check
from support.paths import ROOT
from support.robots import urdf_path
from support.xacro_files import needs_xacro

LAUNCH_FILE = 'bringup.launch.py'
DECLARED = ['namespace', 'params_file', 'urdf', 'log_level']


@pytest.mark.parametrize(
    ('kind', 'name', 'value', 'words'),
    [
        (
            check.parameter_file,
            'params_file',
            '/nowhere',
            'params_file:=/nowhere: there is no such',
        ),
        (check.parameter_file, 'params_file', str(ROOT), 'this is a folder'),
        (check.parameter_file, 'params_file', str(urdf_path('panda')), 'it is not YAML: line '),
        (check.parameter_file, 'params_file', '', 'expected a YAML file like config/model.yaml'),
        (
            check.description,
            'urdf',
            '/nowhere.urdf',
            'urdf:=/nowhere.urdf: there is no such file; expec',
        ),
        (
            lambda name, value: check.description('urdf', str(urdf_path('panda')), value),
            'urdf_arguments',
            'prefix',
            'expected arguments of a xacro file, name:=value',
        ),
        (check.description, 'model', str(ROOT), 'this is a folder; expected a URDF or xacro file'),
        (check.urdf_file, 'model', str(ROOT / 'config' / 'model.yaml'), 'expected a URDF or xacro'),
        (
            check.namespace,
            'namespace',
            'my-arm',
            'namespace:=my-arm: this is not a valid namespace',
        ),
        (check.namespace, 'namespace', '1left', 'letters, digits and _, no digit first'),
        (check.namespace, 'namespace', 'my arm', 'this is not a valid namespace'),
        (check.namespace, 'namespace', 'left/', 'this is not a valid namespace'),
        (check.namespace, 'namespace', '//left', 'this is not a valid namespace'),
        (
            check.log_level,
            'log_level',
            'loud',
            "there is no level 'loud'; expected one of debug, info",
        ),
        (check.log_level, 'log_level', '', "there is no level ''"),
    ],
)
def test_wrong_arguments_are_refused(kind, name, value, words):
    with pytest.raises(ArgumentError) as refusal:
        kind(name, value)
    assert str(refusal.value).startswith(f'launch argument {name}:={value}: ')
    assert words in str(refusal.value)


def test_a_program_that_is_not_there_is_named():
    check.program('rviz', 'true', '/usr/bin/rviz2', 'rviz2')
    with pytest.raises(ArgumentError, match='rviz:=true: rviz2 is not installed; expected false'):
        check.program('rviz', 'true', None, 'rviz2')


def test_a_ros_package_that_is_not_there_is_named(monkeypatch):
    """With the name of its Debian package."""
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    with pytest.raises(ArgumentError) as refusal:
        check.ros_package('ros2_control', 'true', 'no_such_package')
    assert str(refusal.value) == (
        'launch argument ros2_control:=true: no_such_package is not installed; expected false, or '
        'the package: ros-jazzy-no-such-package'
    )
    monkeypatch.setattr(check, 'get_package_prefix', lambda package: f'/opt/{package}')
    check.ros_package('ros2_control', 'true', 'no_such_package')


@pytest.mark.parametrize('value', ['', '0', '-5', '1001', '5.0', 'many', '1e2', '٣', '9' * 30])
def test_numbers_out_of_bounds_are_refused(value):
    with pytest.raises(ArgumentError) as refusal:
        check.whole_number('update_rate', value, 1, 1000)
    assert str(refusal.value).endswith('; expected a whole number, 1 to 1000')
    assert check.whole_number('update_rate', '1000', 1, 1000) == 1000


def test_right_arguments_are_accepted():
    for value in ('', '/', 'left', '/left', 'cell_1/left', '_a'):
        assert check.namespace('namespace', value) == value
    for value in ('info', 'DEBUG', 'rcl:=warn'):
        assert check.log_level('log_level', value) == value
    for name in ('model', 'simulator'):
        path = str(ROOT / 'config' / f'{name}.yaml')
        assert check.parameter_file('params_file', path) == path
    panda = check.urdf_file('urdf', str(urdf_path('panda')))
    assert panda.text == Path(panda.path).read_text()
    assert not panda.is_temporary


@needs_xacro
def test_a_xacro_file_is_expanded_into_a_temporary_file(tmp_path):
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="link" default="a"/><link name="$(arg link)"/></robot>'
    )
    found = check.urdf_file('urdf', str(path), 'link:=tool')
    assert 'link name="tool"' in found.text
    assert found.is_temporary
    place = Path(found.path)
    assert place.name == 'arm.urdf'
    assert place.read_text() == found.text
    assert place.parent.parent != tmp_path
    shutil.rmtree(place.parent)


class TestUnknownNames:
    def test_they_are_refused_with_the_nearest_name(self):
        with pytest.raises(ArgumentError) as refusal:
            check.unknown(LAUNCH_FILE, ['urfd'], DECLARED, ['urfd:=x'])
        assert str(refusal.value) == (
            'launch argument urfd: bringup.launch.py has no such argument; did you mean urdf? '
            'expected namespace, params_file, urdf, log_level'
        )

    def test_without_a_near_name(self):
        warning = check.unknown(LAUNCH_FILE, ['color'], DECLARED, ['color:=red'])
        assert warning.startswith('launch argument color: bringup.launch.py has no such argument')
        assert 'it has namespace, params_file' in warning

    @pytest.mark.parametrize('given', [[], ['urdf', 'log_level'], ['launch-prefix']])
    def test_right_ones_are_accepted(self, given):
        assert check.unknown(LAUNCH_FILE, given, DECLARED, [f'{name}:=x' for name in given]) == ''

    @pytest.mark.parametrize('command', [['arm:=x'], ['arm:=x', 'urfd:=y'], []])
    def test_those_of_a_file_that_includes_this_one_are_not_refused(self, command):
        """It has set arguments that the command line does not have."""
        assert check.unknown(LAUNCH_FILE, ['arm', 'rviz', 'model'], DECLARED, command) == ''

    def test_a_likely_one_in_an_included_file_is_reported(self):
        warning = check.unknown(LAUNCH_FILE, ['parms_file', 'arm'], DECLARED, ['arm:=x'])
        assert warning == (
            'launch argument parms_file: bringup.launch.py has no such argument '
            'and ignores it; did you mean params_file?'
        )
        mapped = ['parms_file', 'params_file']  # the other file has its own name for it
        assert check.unknown(LAUNCH_FILE, mapped, DECLARED, []) == ''
