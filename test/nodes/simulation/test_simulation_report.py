# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Diagnostics of a simulation, by what has happened since the last ones."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.simulation import outputs
from screw_dynamics_ros.nodes.simulation.joint_targets import EFFORT
from screw_dynamics_ros.nodes.simulation.outputs import SimulationReport
from screw_dynamics_ros.nodes.simulation.parameters import check
from screw_dynamics_ros.nodes.simulation.plant import AppliedWrenches, Plant, Timeouts
from screw_dynamics_ros.nodes.simulation.simulation_time import RunState, SimulationTime
from screw_dynamics_ros.ros.status import Level
from support.robots import urdf_path
from support.simulated_motors import DT, DrivenArm

TIMEOUTS = Timeouts(command=2e3, wrench=1.0)


class Reported:
    """A simulated arm, and its status when we ask."""

    def __init__(self, monkeypatch):
        self.now = 50.0
        monkeypatch.setattr(outputs, 'time', SimpleNamespace(monotonic=lambda: self.now))
        self.arm = arm = DrivenArm('panda')
        self.plant = Plant(
            arm.simulated, arm.joints, arm.motors, AppliedWrenches(arm.robot, at_once=True), DT
        )
        self.state, self.clock = RunState(), SimulationTime(100.0)
        self.report = SimulationReport(self.plant, arm.targets, self.state, self.clock, DT)

    def after(self, seconds):
        self.now += seconds
        return self.report.status(TIMEOUTS)


@pytest.fixture
def reported(monkeypatch):
    return Reported(monkeypatch)


def test_nothing_special(reported):
    reported.report.ticks = 50
    reported.clock.tick = 149
    status = reported.after(0.5)
    assert status.summary == 'ok'
    assert status.values == {
        'time [s]': '1.500',
        'rate [Hz]': '100.0',
        'step [s]': '0.002',
        'state': 'running',
        'driven by': 'gravity compensation',
        'pushed at': 'nothing',
        'at stops': 'none',
        'time skipped [s]': '0.000',
        'unanswered': '0',
    }
    reported.report.ticks = 80
    assert reported.after(2.0).values['rate [Hz]'] == '15.0'


def test_states_in_words(reported):
    assert reported.after(1.0).values['state'] == 'running'
    reported.state.wait_for_answer(1, 0.0)
    assert reported.after(1.0).values['state'] == 'waiting for a command'
    reported.state.pause()
    assert reported.after(1.0).values['state'] == 'paused'
    reported.state.stop('too fast')
    status = reported.after(1.0)
    assert status.values['state'] == 'stopped'
    assert status.level == Level.ERROR
    assert status.summary == 'the simulation has stopped, too fast; ~/reset it, or set a state'


def test_lost_time_and_answers_are_warnings_once(reported):
    reported.report.lost = 0.25
    status = reported.after(1.0)
    assert status.level == Level.WARN
    assert 'slower than real time and skipped 0.250 s' in status.summary
    reported.report.lost += 0.5
    status = reported.after(1.0)
    assert 'skipped 0.500 s' in status.summary
    assert status.values['time skipped [s]'] == '0.750'
    assert reported.after(1.0).summary == 'ok'
    for instant in ('at 1 s', 'at 2 s'):
        reported.report.was_not_answered(instant)
    status = reported.after(1.0)
    assert status.level == Level.WARN
    assert status.summary.endswith('2 times; at 2 s')
    assert status.values['unanswered'] == '2; the last at 2 s'
    assert reported.after(1.0).summary == 'ok'
    reported.report.was_not_answered('at 3 s')
    assert reported.after(1.0).summary.endswith('1 times; at 3 s')


def test_what_drives_and_pushes_and_stops_at_which_joints(reported):
    arm, limit = reported.arm, reported.arm.robot.limits
    arm.command(EFFORT, np.where(np.arange(arm.robot.nv) == 5, limit.effort, 0.0))
    reported.plant.pushes.push('panda_hand', np.zeros(6), reported.clock.stamp)
    status = reported.after(1.0)
    assert status.values['driven by'] == 'test'
    assert status.values['pushed at'] == 'panda_hand'
    assert status.values['at stops'] == 'none'
    reported.clock.tick += 101
    assert reported.after(1.0).values['pushed at'] == 'nothing'
    q = arm.simulated.q.copy()
    q[5] = limit.upper[5]
    arm.simulated.set_state(q, np.zeros(arm.robot.nv))
    arm.command(EFFORT, np.where(np.arange(arm.robot.nv) == 5, limit.effort, 0.0))
    reported.plant.advance(0, TIMEOUTS, 5)
    assert 'panda_joint6' in reported.after(1.0).values['at stops'].split(', ')


def test_motors_without_power_are_named(monkeypatch):
    text = urdf_path('planar_2r').read_text().replace('effort="50"', 'effort="0"')
    robot = Robot.from_urdf(text, backend='reference')
    arm = DrivenArm('planar_2r')
    joints = SimpleNamespace(robot=robot, joints=arm.joints.joints, of_joints=arm.joints.of_joints)
    plant = SimpleNamespace(
        joints=joints,
        simulated=arm.simulated,
        motors=arm.motors,
        pushes=AppliedWrenches(robot, at_once=True),
    )
    report = SimulationReport(plant, arm.targets, RunState(), SimulationTime(1.0), DT)
    status = report.status(replace(TIMEOUTS, wrench=0.0))
    assert status.level == Level.WARN
    assert status.summary.startswith('the effort limit of joint2 is 0 in the description')


@pytest.mark.parametrize(
    ('values', 'fault'),
    [
        ({}, ''),
        ({'world_frame': 'map', 'real_time_factor': 0.1}, ''),
        ({'real_time_factor': 0.0}, ''),
        ({'real_time_factor': 100.0}, ''),
        ({'world_frame': ''}, 'world_frame is empty'),
        ({'real_time_factor': 0.09}, r'must be 0, for as fast as possible, or in \[0.1, 100\]'),
    ],
)
def test_parameters_within_their_ranges_that_are_invalid(values, fault):
    if not fault:
        check(values)
        return
    with pytest.raises(Exception, match=fault):
        check(values)
