# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A process that is started with something wrong says what, in one line, and ends with status 1."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ('name', 'arguments', 'words'),
    [
        (
            'bringup',
            ['--params-file', '/nowhere.yaml'],
            'parameter file /nowhere.yaml: there is no such file',
        ),
        ('simulator', ['--params-file', '{no_yaml}'], 'no.yaml: it is not YAML: line 2: '),
        (
            'dynamics',
            ['--params-file', '{other}'],
            'it is for /**/dynamcis, and the nodes of this process are /start/dynamics; name one',
        ),
        ('bringup', ['--params-file', '{misspelt}'], 'did you mean state_timeout?'),
        ('simulator', ['-p', 'rat:=100.0'], "parameter 'rat' (argument -p rat:=100.0): no node"),
        ('kinematics', ['--log-level', 'loud'], "no level 'loud'; give one of debug, info, warn,"),
        ('bringup', ['-r', '__ns:=my-arm'], "'my-arm' cannot be the namespace of a node"),
        (
            'bringup',
            ['--', 'left', '/start/left', '--ros-args'],
            'argument /start/left: two robots cannot have the namespace /start/left',
        ),
        (
            'bringup',
            ['--params-file', '{executors}', '--', 'left', 'right', '--ros-args'],
            'parameter executor: the robots of a process share its value, found auto, single; set',
        ),
        ('bringup', ['--', 'my-arm', '--ros-args'], "'/start/my-arm' cannot be the namespace"),
        (
            'bringup',
            ['--nonsense'],
            "ROS refuses the command line: unknown arguments ['--nonsense']",
        ),
        ('simulator', ['-p', 'use_sim_time:=maybe'], "'use_sim_time' to 'maybe'"),
    ],
)
def test_wrong_starts_are_refused_with_one_line(name, arguments, words, start, tmp_path):
    files = {
        'no_yaml': '/**: [1, 2\n',
        'other': '/**/dynamcis: {ros__parameters: {joints: [a]}}',
        'executors': '/start/left/bringup: {ros__parameters: {executor: single}}',
        'misspelt': '/**/bringup: {ros__parameters: {state_timout: 0.1}}',
    }
    paths = {key: tmp_path / f'{key.replace("_", ".")}' for key in files}
    for key, path in paths.items():
        path.write_text(files[key])
    process = start(
        name, None, ['-r', '__ns:=/start', *(argument.format(**paths) for argument in arguments)]
    )
    assert process.wait() == 1
    (line,) = (line for line in process.output.splitlines() if 'DDS' not in line)
    assert line.startswith('[FATAL]'), process.output
    assert words in line
