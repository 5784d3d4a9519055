# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameter files: their purpose, and reports on those that ROS 2 refuses or ignores."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('yaml')

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.ros.parameter_files import ParameterSection, read_parameter_file
from support.paths import CONFIG


def read(folder: Path, text: str) -> list[ParameterSection]:
    path = folder / 'parameters.yaml'
    path.write_text(text)
    return read_parameter_file(path)


def test_sections_and_names(tmp_path):
    assert read(
        tmp_path,
        """
        arm:
          left:
            bringup: {ros__parameters: {a.b: 1, drives: {j: {damping: 0.1, armature: 1e-3}}}}
          dynamics: {ros__parameters: {}}
        /**: {ros__parameters: {list: [1.0, 2.5], text: [a, '1']}}
        """,
    ) == [
        ParameterSection('/arm/left/bringup', ('a.b', 'drives.j.damping', 'drives.j.armature')),
        ParameterSection('/arm/dynamics', ()),
        ParameterSection('/**', ('list', 'text')),
    ]


@pytest.mark.parametrize('name', ['model.yaml', 'simulator.yaml'])
def test_our_own_files(name):
    sections = read_parameter_file(CONFIG / name)
    assert sections
    assert all(section.names for section in sections)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', 'it is empty; write sections'),
        ('# nothing\n', 'it is empty'),
        (
            'text',
            'it is not a parameter file; write sections like "/**/bringup: {ros__parameters: {',
        ),
        ('- a\n- b\n', 'it is not a parameter file'),
        ('<robot name="x"/>', 'it is not a parameter file'),
        ('a: [1, 2\n', "it is not YAML: line 2: did not find expected ',' or ']'"),
        ('a: {ros__parameters: {x: "\x00"}}', 'it is not YAML'),
        ('bringup:\n  gravity: [0]\n', 'line 2: section /bringup/gravity has no ros__parameters'),
        ('bringup: {}\n', 'line 1: section /bringup has no ros__parameters'),
        ('bringup: {ros__parameters: 5}', 'section /bringup has empty ros__parameters'),
        ('bringup:\n  ros__parameters:\n', 'has empty ros__parameters'),
        ('my-arm: {ros__parameters: {}}', 'section /my-arm: this is not a valid node name'),
        ('a:\n  /b: {ros__parameters: {}}', 'section /a//b: this is not a valid node name'),
        (
            'a: {ros__parameters: {x: &p [1.0], y: *p}}',
            'line 1: ROS 2 does not support aliases; repeat the value',
        ),
        (
            'a:\n  ros__parameters:\n    gravity: [0.0, 0, -9.81]',
            'line 3: parameter gravity: [0.0, 0, -9.81] has numbers with and without a decimal '
            'point',
        ),
    ],
)
def test_broken_files_are_refused_with_the_reason(text, reason, tmp_path):
    with pytest.raises(ArgumentError) as refusal:
        read(tmp_path, text)
    assert reason in str(refusal.value)


def test_what_is_no_file_is_refused(tmp_path):
    for path, reason in (
        (tmp_path / 'none.yaml', 'there is no such file'),
        (tmp_path, 'this is a folder; name a YAML file in it'),
    ):
        with pytest.raises(ArgumentError, match=reason):
            read_parameter_file(path)
    binary = tmp_path / 'binary.yaml'
    binary.write_bytes(b'\xff\xfe\x00')
    with pytest.raises(ArgumentError, match='it is not UTF-8 text'):
        read_parameter_file(binary)


PATTERNS = [
    '/**',
    '/*',
    'bringup',
    '/a/bringup',
    '/**/bringup',
    '/*/bringup',
    '/a/*',
    '/a/**',
    '/a/**/bringup',
    '/**/b/bringup',
    '/a/b/*',
    'b/bringup',
    '**/bringup',
    '*',
]


@pytest.mark.parametrize('namespace', ['', '/a', '/a/b', '/b'])
def test_sections_are_for_the_nodes_that_ros_gives_them_to(namespace, tmp_path):
    rclpy = pytest.importorskip('rclpy')
    path = tmp_path / 'parameters.yaml'
    path.write_text(
        '\n'.join(
            f'"{pattern}": {{ros__parameters: {{p{k}: 1}}}}' for k, pattern in enumerate(PATTERNS)
        )
    )
    context = rclpy.Context()
    rclpy.init(args=['--ros-args', '--params-file', str(path)], context=context)
    try:
        node = rclpy.create_node('bringup', namespace=namespace, context=context)
        ours = {
            name
            for section in read_parameter_file(path)
            for name in section.names
            if section.matches(node.get_fully_qualified_name())
        }
        assert ours == set(node._parameter_overrides)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
