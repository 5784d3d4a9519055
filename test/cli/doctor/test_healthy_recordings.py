# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of healthy robots, which cause no alarm."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.cli.doctor.command import main as doctor
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.measurement.identification.dynamics import JointRecording
from screw_dynamics_ros.core.measurement.identification.dynamics.recording import checked, inspected
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
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


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('sensors', SENSORS)
def test_healthy_recordings(name, sensors, tmp_path, capsys):
    """Of each kind of robot with each kind of sensors; motions take turns."""
    motions = list(MOTIONS.values())
    motion = motions[(ROBOTS.index(name) + SENSORS.index(sensors)) % len(motions)]
    run = sensors(recorded(name, **motion), np.random.default_rng(4))
    assert alarms(name, run, tmp_path, capsys) == []
    comparison = DriverComparison()
    messages = [JointStateMessage.of(tuple(run.names), q, [], [], 0) for q in run.q]
    assert {comparison.fault(each, run.names) for each in messages} == {''}


@pytest.mark.parametrize('seed', range(20))
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
@pytest.mark.parametrize('name', ['panda', 'gripper_tree', 'small arm'])
def test_identify_reports_no_fault_of_healthy_velocities(name, sensors):
    run = sensors(recorded(name, speed=2.0), np.random.default_rng(4))
    robot = described(name)[1]
    given = checked(JointRecording(run.t, run.q, run.v, run.tau), robot)
    assert inspected([given], robot, measured_velocities=False)[1] == []
