# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a process is started with: names that no node has are refused, legitimate files are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy')

import rclpy
import yaml

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.nodes.known_parameters import is_known
from screw_dynamics_ros.ros.process.start_parameters import (
    check_arguments,
    check_parameters,
    reason,
    undeclared,
)
from support.paths import CONFIG

#: What the nodes of a process declare.
BRINGUP = {
    'bringup': {'nodes': 'x', 'gravity': 0.0, 'state_timeout': 0.5},
    'dynamics': {'joints': '', 'reference_timeout': 0.1},
}


@pytest.fixture
def check(ros_domain: int) -> Iterator[Callable[..., list[str]]]:
    """Start nodes with arguments and check those; return the warnings."""
    contexts = []

    def start(
        arguments: list[str], nodes: dict[str, dict[str, Any]] = BRINGUP, namespace: str = ''
    ) -> list[str]:
        contexts.append(rclpy.Context())
        command = ['--ros-args', *arguments]
        rclpy.init(args=command, context=contexts[-1], domain_id=ros_domain)
        made = []
        for name, parameters in nodes.items():
            made.append(rclpy.create_node(name, namespace=namespace, context=contexts[-1]))
            for parameter, default in parameters.items():
                made[-1].declare_parameter(
                    parameter, default, rclpy.node.ParameterDescriptor(dynamic_typing=True)
                )
        warnings: list[str] = []
        made[0].get_logger().warning = warnings.append
        try:
            check_parameters(made, is_known, command)
        finally:
            for node in made:
                node.destroy_node()
        return warnings

    yield start
    for context in contexts:
        rclpy.shutdown(context=context)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], list[str]]:
    def write(text: str) -> list[str]:
        path = tmp_path / 'my.yaml'
        path.write_text(text)
        return ['--params-file', str(path)]

    return write


@pytest.mark.parametrize(
    ('text', 'reasons'),
    [
        (
            'bringup: {ros__parameters: {state_timout: 0.1}}',
            [
                "'state_timout' (section /bringup of parameter file",
                'node bringup does not have it',
                'did you mean state_timeout?',
            ],
        ),
        ('/**/dynamics: {ros__parameters: {joint: [a]}}', ['did you mean joints?']),
        (
            '/**/dynamics: {ros__parameters: {gravity: 1.0}}',
            ['node dynamics does not have it; bringup has it'],
        ),
        ('/**/dynamics: {ros__parameters: {color: 1.0}}', ['there are joints, reference_timeout']),
        ('/**/dynamics: {ros__parameters: {damping: 1.0}}', ["'damping'", 'does not have it']),
        (
            '/**: {ros__parameters: {gravity: 1.0, state_timout: 0.1}}',
            ['section /** of', 'no node of this process has it; did you mean state_timeout?'],
        ),
        ('/*: {ros__parameters: {refrence_timeout: 0.1}}', ['did you mean reference_timeout?']),
    ],
)
def test_misspelt_parameters_are_refused_with_the_nearest_name(text, reasons, file, check):
    with pytest.raises(ArgumentError) as refusal:
        check(file(text))
    for words in reasons:
        assert words in str(refusal.value)


@pytest.mark.parametrize(
    ('argument', 'words'),
    [
        (
            'state_timout:=1.0',
            "'state_timout' (argument -p state_timout:=1.0): no node of this process "
            'has it; did you mean state_timeout?',
        ),
        ('rate:=5.0', 'there are gravity, joints, nodes, reference_timeout, state_timeout'),
        ('dynamics:joint:=[a]', 'node dynamics does not have it; did you mean joints?'),
        (
            'dynmics:joints:=[a]',
            'it is for /dynmics, and the nodes of this process are /bringup, /dyn',
        ),
    ],
)
def test_misspelt_arguments_are_refused(argument, words, check):
    with pytest.raises(ArgumentError) as refusal:
        check(['-p', argument])
    assert words in str(refusal.value)


def test_an_argument_for_a_node_does_not_reach_into_a_namespace(check):
    """It would be ignored by ROS."""
    assert check(['-p', 'dynamics:joints:=[a]']) == []
    with pytest.raises(ArgumentError, match='use a parameter file'):
        check(['-p', 'dynamics:joints:=[a]'], namespace='left')


@pytest.mark.parametrize(
    'text',
    [
        '/**/bringpu: {ros__parameters: {gravity: 1.0}}',
        'kinematics: {ros__parameters: {frames: [a]}}',
        '/left/bringup: {ros__parameters: {gravity: 1.0}}',
    ],
)
def test_files_of_which_nothing_applies_are_refused(text, file, check):
    with pytest.raises(ArgumentError) as refusal:
        check(file(text))
    assert 'my.yaml: it is for ' in str(refusal.value)
    assert 'name one of them, or /**/bringup' in str(refusal.value)


@pytest.mark.parametrize(
    'text',
    [
        # sections of other nodes, and of shared parameters that only some nodes have
        '/**: {ros__parameters: {gravity: 1.0}}\nkinematics: {ros__parameters: {whatever: 1}}',
        '/**: {ros__parameters: {position_policy: hold, damping: 0.1, rate: 5.0}}',
        '/**: {ros__parameters: {use_sim_time: false, drives: {a: {damping: 1.0}}}}',
        # what rclpy declares, some of it late
        'bringup: {ros__parameters: {qos_overrides: {/joint_states: {subscription: {depth: 3}}}}}',
        'bringup: {ros__parameters: {use_sim_time: false, start_type_description_service: true}}',
    ],
)
def test_legitimate_files_are_accepted(text, file, check):
    assert check(file(text)) == []


def test_parameters_of_strangers_for_any_node_are_told(file, check):
    (warning,) = check(file('/**: {ros__parameters: {controller_gains: 1.0}}'))
    assert "'controller_gains' (section /** of" in warning
    assert 'no effect' in warning


@pytest.mark.parametrize(
    'nodes', [BRINGUP, {'dynamics': {'joints': ''}}, {'wrench_estimator': {'damping': 0.1}}]
)
def test_our_own_file_is_accepted_by_each_process(nodes, check):
    """Its section for any node has parameters that hosted nodes do not declare.

    The others are cut out: these nodes declare a few of theirs only.
    """
    content = yaml.safe_load((CONFIG / 'model.yaml').read_text())
    path = CONFIG / 'model.yaml'
    declared = {
        name: {
            **values,
            **dict.fromkeys(content.get(f'/**/{name}', {}).get('ros__parameters', {}), ''),
        }
        for name, values in nodes.items()
    }
    assert check(['--params-file', str(path)], declared) == []


def test_every_parameter_of_our_files_is_known():
    """Then a section for any node may have each of them."""
    for name in ('model.yaml', 'simulator.yaml'):
        for section in yaml.safe_load((CONFIG / name).read_text()).values():
            assert all(map(is_known, section['ros__parameters']))


def test_undeclared(ros_domain):
    context = rclpy.Context()
    rclpy.init(
        args=['--ros-args', '-p', 'a:=1', '-p', 'b:=2', '-p', 'use_sim_time:=false'],
        context=context,
        domain_id=ros_domain,
    )
    node = rclpy.create_node('n', context=context)
    assert sorted(undeclared(node)) == ['a', 'b']
    node.declare_parameter('a', 0)
    assert undeclared(node) == ['b']
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (
            ['--log-level', 'loud'],
            "--log-level loud: there is no level 'loud'; give one of debug, ",
        ),
        (['--log-level', 'bringup:=loud'], "no level 'loud'"),
        (['--params-file', '/nowhere.yaml'], 'parameter file /nowhere.yaml: there is no such file'),
        (['--params-file'], 'parameter file : this is a folder'),
        (['-p', 'gravity'], '-p gravity: write -p NAME:=VALUE'),
        (['-r', '__ns:=my-arm'], "-r __ns:=my-arm: 'my-arm' cannot be the namespace of a node"),
        (['-r', '__ns:=left'], 'like /left or /cell/left'),
        (['-r', '__ns:=/1left'], 'no digit first'),
        (['-r', '__ns:=/left/'], 'cannot be the namespace'),
        (['--remap', '__node:=a b'], "'a b' cannot be the name of a node"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, words):
    with pytest.raises(ArgumentError) as refusal:
        check_arguments(['node', '--ros-args', *arguments])
    assert words in str(refusal.value)


def test_right_arguments_are_accepted():
    check_arguments(
        [
            'node',
            '--log-level',
            'own',
            '--ros-args',
            '--log-level',
            'WARN',
            '--log-level',
            'rcl:=debug',
            '-r',
            '__ns:=/',
            '-r',
            'bringup:__ns:=/a/b',
            '-r',
            'joint_states:=/j',
            '-p',
            'a:=1',
            '--params-file',
            str(CONFIG / 'model.yaml'),
            '--',
            '--params-file',
            'mine',
        ]
    )


def test_what_else_ros_refuses_comes_without_its_sources():
    error = RuntimeError(
        "failed to initialize rcl: Couldn't parse x. Error: y\n, at /p/a.c:35, at /p/b.c:4"
    )
    assert reason(error) == "ROS refuses the command line: Couldn't parse x. Error: y"
