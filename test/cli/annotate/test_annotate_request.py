# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of `annotate` as values, and its report."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.cli.annotate.annotation import (
    AnnotationReport,
    residual_findings,
    residual_of,
    why_empty,
)
from screw_dynamics_ros.cli.annotate.command import lines, parse, request_of
from screw_dynamics_ros.cli.annotate.request import Request, parameter_values
from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.annotation.settings import DEFAULT
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.estimation.residual_map import ResidualMap
from screw_dynamics_ros.core.estimation.residual_model import ResidualModel
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_recordings import (
    Recordings,
    model_text,
    write,
)
from screw_dynamics_ros.nodes.parameters.robot_parameters import RobotParameters
from screw_dynamics_ros.ros.data_folder import DataFolder
from screw_dynamics_ros.ros.joint_states.policies import Reason
from support.paths import URDF
from support.residual_models import some_model


def values(*texts, **given):
    return parameter_values(texts, RobotParameters(values=given))


def test_values_have_the_types_of_the_parameters():
    found = values('observer= momentum ', 'payload_mass=1.5', 'payload_center_of_mass=1, 2,3',
                   'gravity=0,0,9.81', 'observer_joints=a, b', 'observer_effort_deviation=0.5,1',
                   'velocity_policy=zero')  # fmt: skip
    assert found == {
        'observer': 'momentum', 'payload_mass': 1.5, 'payload_center_of_mass': [1.0, 2.0, 3.0],
        'gravity': [0.0, 0.0, 9.81], 'observer_joints': ('a', 'b'),
        'observer_effort_deviation': (0.5, 1.0), 'velocity_policy': 'zero',
    }  # fmt: skip


def test_residuals_of_a_file(tmp_path):
    """A model, a map of at least five poses; no file for no residuals."""
    robot = Robot.from_urdf(URDF / 'planar_2r.urdf', backend='reference')
    joints = robot.joint_names
    model, poses = some_model(n=2, turning=(1, 1)), Recordings(joints, TERMS)
    (tmp_path / 'model.yaml').write_text(model_text(joints, TERMS, model))
    folder, rng = DataFolder(str(tmp_path)), np.random.default_rng(0)

    def found(name):
        request = Request(values=values(f'residual_map={name}', f'data_folder={tmp_path}'))
        return residual_of(robot, request)

    assert found('') is None
    np.testing.assert_allclose(found('model.yaml').weights, model.weights, rtol=1e-8)
    for count in range(1, 6):
        poses = poses.with_pose(*rng.normal(size=(2, 2)))
        write(folder, 'map.yaml', poses)
        if count < 5:
            with pytest.raises(ArgumentError, match=rf'map\.yaml has {count} poses; .* least 5'):
                found('map.yaml')
    assert not found('map.yaml').has_memory
    with pytest.raises(ArgumentError, match=r'other\.yaml has no poses, or does not exist'):
        found('other.yaml')


def test_variances_for_another_observer_are_found():
    """The file of a model says which observer they are for; maps of poses have none."""
    model = some_model(n=2, turning=(1, 1))
    request = Request(values=values('observer=momentum', 'observer_time_constant=0.05'))

    def found(residual):
        return [*map(str, residual_findings(SimpleNamespace(residual=residual), request))]

    assert found(None) == found(ResidualModel.of_map(ResidualMap.none(2))) == []
    model.observer = 'momentum, observer_time_constant 0.05'
    assert found(model) == []
    model.observer = 'momentum, observer_time_constant 0.1'
    (line,) = found(model)
    assert 'for observer momentum, observer_time_constant 0.1, not for momentum, observer_' in line
    assert 'identify --residual --observer' in line


def test_files_are_overridden():
    """Parameters of other nodes in a file are ignored; whole numbers of files become floats."""
    found = values('payload_mass=2', payload_mass=1, max_stamp_age=3, observer_joints=['', 'a'],
                   observer='kalman', drive_joints=['a'], frames=['x'])  # fmt: skip
    assert found == {
        'payload_mass': 2.0, 'max_stamp_age': 3.0, 'observer_joints': ('a',), 'observer': 'kalman',
    }  # fmt: skip
    assert type(found['max_stamp_age']) is float


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('payload_mass', "'payload_mass' is not NAME=VALUE with one of "),
        ('mass=1', "'mass=1' is not NAME=VALUE with one of "),
        ('payload_mass=x', "--set: payload_mass='x' is not a number"),
        ('gravity=0,0', "--set: gravity='0,0' is not 3 numbers separated by commas"),
        ('payload_inertia=1,2,3,4,5,x', 'is not 6 numbers separated by commas'),
        ('observer_effort_deviation=x', "='x' is not numbers separated by commas"),
        ('observer=x', 'argument --set or --drives: '),
        ('velocity_policy=x', 'argument --set or --drives: '),
        ('effort_condition=x', 'argument --set or --drives: '),
        ('payload_mass=-1', 'argument --set or --drives: '),
    ],
)
def test_values_that_are_refused(text, message):
    more = ['payload_link=tip'] if text.startswith('payload_mass=-') else []
    with pytest.raises(UnusableError, match=message):
        values(text, *more)


def test_policies_and_settings():
    """Each parameter reaches its policy; defaults are those of the nodes."""
    given = {'position_policy': 'hold', 'velocity_policy': 'zero', 'effort_policy': 'hold',
             'state_timeout': 0.25, 'max_stamp_age': 2.0, 'velocity_cutoff': 30.0}  # fmt: skip
    found = Request(values=given).policies
    assert (found.position, found.velocity, found.effort) == ('hold', 'zero', 'hold')
    assert (found.state_timeout, found.max_stamp_age, found.velocity_cutoff) == (0.25, 2.0, 30.0)
    default = Request().policies
    assert (default.position, default.velocity, default.effort) == (
        'reject', 'differentiate', 'reject',
    )  # fmt: skip
    assert (default.max_stamp_age, default.velocity_cutoff) == (0.0, 0.0)
    assert Request().settings.singularity_rate == 50.0
    assert Request(values={'singularity_rate': 5.0}).settings.singularity_rate == 5.0
    assert Request().value('gravity') == [0.0, 0.0, -9.81]
    assert Request().payloads == {}


def test_options_reach_the_request(tmp_path):
    file = tmp_path / 'drives.yaml'
    file.write_text('/**:\n  ros__parameters:\n    drive_joints: [joint1]\n'
                    '    drives: {joint1: {coulomb: 0.5}}\n    payload_mass: 2.0\n')  # fmt: skip
    urdf = URDF / 'planar_2r.urdf'
    words = ['run.mcap', '-o', 'out', '--outputs', 'gravity,wrench', '--frames', 'tip', '--set',
             'observer=kalman', '--topic', '/js', '--description-topic', '/rd', '--urdf', str(urdf),
             '--namespace', 'n', '--compression', 'zstd', '--leave-out', 'a,b', '--rename', 'x:=y',
             '--drives', str(file)]  # fmt: skip
    found = request_of(parse(words))
    assert (found.topic, found.description_topic, found.urdf) == ('/js', '/rd', urdf.read_text())
    assert (found.outputs, found.frames) == (('gravity', 'wrench'), ('tip',))
    assert found.values == {'payload_mass': 2.0, 'observer': 'kalman'}
    assert (found.namespace, found.compression) == ('n', 'zstd')
    assert (found.left_out, found.renamed) == (('a', 'b'), (('x', 'y'),))
    description = read_urdf(urdf.read_text())
    assert found.drives.drives(description)['joint1'].coulomb == 0.5
    bare = request_of(parse(['run.mcap']))
    expected = Request()
    assert bare == expected
    assert bare.outputs == DEFAULT
    assert parse(['r']).workers == 0
    with pytest.raises(UnusableError, match='argument --outputs: x: choose from '):
        request_of(parse(['r', '--outputs', 'gravity,x']))


def test_report():
    records = {Reason.DUPLICATE_STAMP: SimpleNamespace(count=3, detail='1.5 s'),
               Reason.UNSTAMPED: SimpleNamespace(count=2, detail='')}  # fmt: skip
    topics = {'/a': 7, '/b': 0, '/c': 0}
    found = lines(AnnotationReport(10, 7, records, topics, 'no efforts'))
    assert found == [
        '7 states of 10 joint states',
        f'  3 times: {Reason.DUPLICATE_STAMP.value} 1.5 s',
        f'  2 times: {Reason.UNSTAMPED.value}',
        '       7 /a', '       0 /b', '       0 /c',
        'no message on /b, /c: no efforts',
    ]  # fmt: skip
    assert len(lines(AnnotationReport(10, 7, {}, {'/a': 7}, ''))) == 2
    wrench = '/wrench_estimator/wrench/hand'
    assert lines(AnnotationReport(10, 7, {}, {wrench: 5}, ''))[-1].startswith(
        f'{wrench}: none for 2 of 7 states: near a singularity'
    )
    assert len(lines(AnnotationReport(10, 7, {}, {wrench: 7}, ''))) == 2


@pytest.mark.parametrize(
    ('v', 'tau', 'expected'),
    [
        (
            [[0, 0], [0, 0]],
            [[0, np.nan], [np.nan, 0]],
            'no state has all efforts, as effort_policy',
        ),
        ([[0, np.nan], [0, np.nan]], [[0, np.nan], [0, 0]], 'no state has all velocities, as velo'),
        ([[0, np.nan], [0, 0]], [[0, np.nan], [0, 0]], 'the joints do not determine their values'),
    ],
)
def test_why_no_message_is_written(v, tau, expected):
    states = SimpleNamespace(v=np.array(v, dtype=float), tau=np.array(tau, dtype=float))
    mapper = SimpleNamespace(records={})
    assert why_empty(states, mapper).startswith(expected)
