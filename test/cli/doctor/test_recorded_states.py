# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of healthy robots, which cause no alarm, and of contradictory states, which do."""

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
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.recording import checked, inspected
from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout, JointStateMessage
from screw_dynamics_ros.ros.joint_states.driver_comparison import DriverComparison
from support.healthy_recordings import (
    MOTIONS,
    ROBOTS,
    SENSORS,
    currents,
    described,
    recorded,
    repeated,
    wrapped,
)
from support.robots import urdf_path

LOADED = {
    'panda': {'panda_hand_tcp': RigidBody(1.5, np.array([0.02, 0.0, 0.05]), np.zeros((3, 3)))},
    'ur5_robot': {'tool0': RigidBody(3.0, np.array([0.0, 0.03, 0.1]), np.zeros((3, 3)))},
    'small arm': {'hand': RigidBody(0.1, np.array([0.05, 0.0, 0.0]), np.zeros((3, 3)))},
}


def alarms(name, run, folder, capsys):
    """Return what `doctor` reports of the states of a recording, in order of its lines."""
    urdf = folder / 'robot.urdf'
    urdf.write_text(described(name)[0])
    doctor([*run.save(folder), '--urdf', str(urdf)])
    text = capsys.readouterr().out.partition('joint states\n')[2]
    assert text.endswith('warnings\n')
    return [line for line in text.splitlines() if 'WARNING' in line or 'ERROR' in line]


@pytest.mark.parametrize('sensors', SENSORS)
def test_healthy_recordings(sensors, tmp_path, capsys):
    """Of each kind of sensors, at every second kind of motion; motions and robots take turns."""
    first = SENSORS.index(sensors)
    for k, motion in list(enumerate(MOTIONS.values(), start=first))[first % 2 :: 2]:
        healthy(ROBOTS[k % len(ROBOTS)], motion, sensors, tmp_path, capsys)


def healthy(name, motion, sensors, folder, capsys):
    """Check that neither `doctor` nor a node finds a fault."""
    run = sensors(recorded(name, **motion), np.random.default_rng(4))
    assert alarms(name, run, folder, capsys) == [], (name, motion)
    comparison = DriverComparison()
    messages = [JointStateMessage.of(tuple(run.names), q, [], [], 0) for q in run.q]
    assert {comparison.fault(each, run.names) for each in messages} == {''}


@pytest.mark.parametrize('seed', range(7))
def test_healthy_recordings_with_several_disturbances(seed, tmp_path, capsys):
    rng = np.random.default_rng(seed)
    name = ROBOTS[seed % len(ROBOTS)]
    speed = float(rng.choice([0.01, 0.1, 0.3, 1.0, 3.0]))
    run = recorded(name, seed, speed, moves=float(rng.choice([3.0, 9.0, 12.0])))
    chosen = [each for each in SENSORS if each is not currents]
    chosen = [*rng.permutation(chosen)[:3], *[currents] * int(rng.integers(2))]
    for sensors in chosen:
        run = sensors(run, rng)
    assert alarms(name, run, tmp_path, capsys) == [], [each.__name__ for each in chosen]


@pytest.mark.parametrize('name', LOADED)
def test_a_configured_payload_causes_no_alarm(name, tmp_path, capsys):
    run = currents(recorded(name, payload=LOADED[name]), np.random.default_rng(1))
    assert alarms(name, run, tmp_path, capsys) == []


def test_fast_wheels_between_slow_messages_cause_no_alarm(tmp_path, capsys):
    """Half a turn from one message to the next, of positions between -pi and pi."""
    run = recorded('rover', moves=12.0)
    wheels = np.pi * np.arange(len(run.t))[:, None] * [1.0, -1.01, 0.0] + [0.1, 0.2, 0.0]
    run = wrapped(
        run.but(q=wheels, v=np.pi / 0.1 * np.array([1.0, -1.01, 0.0]) + 0.0 * wheels), None
    )
    assert alarms('rover', run.but(t=10.0 * run.t), tmp_path, capsys) == []


def test_contacts_of_a_free_base_cause_no_alarm(tmp_path, capsys):
    """A robot that stands on its feet: efforts have little to do with the weight of its legs."""
    run = recorded('floating base', moves=0.0)
    standing = run.but(tau=run.tau - [30.0, 20.0, 30.0, 20.0])
    assert alarms('floating base', standing, tmp_path, capsys) == []


@pytest.mark.parametrize('sensors', [each for each in SENSORS if each is not repeated])
def test_identify_reports_no_fault_of_healthy_velocities(sensors):
    name = ('panda', 'gripper_tree', 'small arm')[SENSORS.index(sensors) % 3]
    run = sensors(recorded(name, speed=2.0), np.random.default_rng(4))
    robot = described(name)[1]
    given = checked(JointRecording(run.t, run.q, run.v, run.tau), robot)
    assert inspected([given], robot, measured_velocities=False)[1] == []


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
