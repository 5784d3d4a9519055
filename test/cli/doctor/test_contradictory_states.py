# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings that contradict themselves in `doctor`, `annotate` and `replay`."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.cli.annotate.command import main as annotate
from screw_dynamics_ros.cli.annotate.command import parse, request_of
from screw_dynamics_ros.cli.annotate.folders import annotate_one, tasks
from screw_dynamics_ros.cli.doctor.command import main as doctor
from screw_dynamics_ros.cli.recorded_joints import JointMotions
from screw_dynamics_ros.cli.replay.command import main as replay
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout
from support.robots import urdf_path

T = np.arange(0.0, 12.0, 0.01)


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'), backend='python')


def moving(robot):
    """Return q, v and torques of a motion within the limits; the robot rests at the end."""
    limits = robot.limits
    lower, upper = (np.nan_to_num(x, posinf=2.0, neginf=-2.0) for x in (limits.lower, limits.upper))
    rates = np.minimum(2.0 + 0.3 * np.arange(robot.nv), 4.0)
    phase = rates * np.clip(T, 0.0, 9.0)[:, None]
    half = 0.3 * (upper - lower)
    q = 0.5 * (lower + upper) + half * np.sin(phase)
    v = half * rates * np.cos(phase) * (T < 9.0)[:, None]
    rest = np.zeros_like(v)
    return q, v, robot.inverse_dynamics(q, v, rest)


def table(path, robot, q, v, tau, t=T):
    """Write a recording as CSV."""
    fields = {'position': q, 'velocity': v, 'effort': tau}
    columns = {'t': t} | {
        f'{name}.{field}': values[:, k]
        for field, values in fields.items()
        for k, name in enumerate(robot.joint_names)
    }
    np.savetxt(
        path, np.stack(list(columns.values()), 1), delimiter=',', header=','.join(columns),
        comments='', fmt='%.9g',
    )  # fmt: skip
    return str(path)


def without_velocity(q, v):
    return q, 0.0 * v


def in_turns(q, v):
    """Of one joint only."""
    return q, v * np.where(np.arange(v.shape[1]) == 1, 1.0 / (2.0 * np.pi), 1.0)


def reversed_velocities(q, v):
    return q, -v


def in_degrees(q, v):
    return np.degrees(q), np.degrees(v)


def of_two_publishers(q, v):
    """Every second state is of another one, whose joint 4 is elsewhere."""
    other = q.copy()
    other[1::2, 3] += 0.2
    return other, v


FAULTS = {
    of_two_publishers: 'joint panda_joint4: positions alternate',
    without_velocity: 'the velocities are zero while the positions change',
    in_turns: 'joint panda_joint2: the velocities are in turns/s',
    reversed_velocities: 'the velocities are of the opposite sign',
    in_degrees: 'seem to be in degrees',
}


@pytest.mark.parametrize('with_velocities', [True, False])
def test_stamps_in_milliseconds(panda, with_velocities, tmp_path, capsys):
    q, v, tau = moving(panda)
    velocities = v if with_velocities else np.nan * v
    path = table(tmp_path / 'run.csv', panda, q, velocities, tau, t=1e3 * T)
    doctor([path, '--urdf', str(urdf_path('panda'))])
    text = capsys.readouterr().out
    assert 'stamps: are 10 s apart, but the positions of panda_joint1 change evenly' in text
    assert 'skipped: contradictory states of stamps' in text


def test_poses_that_are_far_apart_in_time_are_healthy(panda):
    motions, n = JointMotions(), len(panda.joint_names)
    q = np.repeat(panda.random_configuration(0, 60), 4, axis=0)  # four samples of each pose
    layout = JointStateLayout(tuple(panda.joint_names), n, n, 0)
    motions.add(layout, 5.0 * np.arange(len(q)), np.hstack([q, 0.0 * q]))
    assert motions.findings(panda.description) == []


def test_publishers_with_other_fields(panda):
    """One sends the joints in another order, without velocities, 3 ms later."""
    q, v, _ = moving(panda)
    names = tuple(panda.joint_names)
    n = len(names)
    for offset, found in ((0.0, ''), (0.2, 'positions alternate (panda_joint1: ')):
        motions = JointMotions()
        motions.add(JointStateLayout(names, n, n, 0), T, np.hstack([q, v]))
        motions.add(
            JointStateLayout(names[::-1], n, 0, 0), T + 3e-3, (q + offset * np.eye(n)[0])[:, ::-1]
        )
        text = '; '.join(map(str, motions.findings(panda.description)))
        assert found in text
        assert bool(text) == bool(found)


@pytest.mark.parametrize('fault', FAULTS)
def test_contradictions_in_doctor_and_annotate(panda, fault, tmp_path, capsys):
    q, v, tau = moving(panda)
    path = table(tmp_path / 'run.csv', panda, *fault(q, v), tau)
    options = [path, '--urdf', str(urdf_path('panda'))]
    doctor(options)
    text = capsys.readouterr().out
    assert FAULTS[fault] in text
    assert 'skipped: contradictory states of joint' in text
    annotate([*options, '-o', str(tmp_path / 'out.mcap'), '--outputs', 'gravity'])
    assert FAULTS[fault] in capsys.readouterr().out


def test_contradictions_in_a_folder(panda, tmp_path):
    """Each recording of a folder, which processes of a cluster annotate."""
    q, v, tau = moving(panda)
    table(tmp_path / 'run.csv', panda, *reversed_velocities(q, v), tau)
    options = parse([str(tmp_path), '--urdf', str(urdf_path('panda')), '--outputs', 'gravity'])
    (task,) = tasks(tmp_path, tmp_path / 'out')
    found = annotate_one(task, request_of(options))
    assert (found.states, found.fault) == (len(T), '')
    assert any(FAULTS[reversed_velocities] in line for line in found.findings)


def test_contradictions_in_replay(panda, tmp_path, capsys):
    pytest.importorskip('rclpy')
    q, v, tau = moving(panda)
    path = table(tmp_path / 'run.csv', panda, *without_velocity(q, v), tau)
    options = [path, '--urdf', str(urdf_path('panda')), '--topics', 'external_torque']
    replay([*options, '-o', str(tmp_path / 'out.mcap')])
    assert FAULTS[without_velocity] in capsys.readouterr().out


def test_wrong_velocities_do_not_decide_when_a_robot_rests(panda, tmp_path, capsys):
    q, v, tau = moving(panda)
    path = table(tmp_path / 'run.csv', panda, *without_velocity(q, v), tau)
    doctor([path, '--urdf', str(urdf_path('panda')), '--suggest', str(tmp_path / 'p.yaml')])
    text = (tmp_path / 'p.yaml').read_text()
    assert 'do not show when the robot rests' in ' '.join(text.replace('#', '').split())
    assert 'effort_terms:' not in text.replace('effort_terms, effort_scale:', '')
    assert 'wrench_estimator]' not in capsys.readouterr().out
