# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A planar arm in the simulator with its command topics, without a node."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.nodes.simulation.command_topics import CommandTopics
from screw_dynamics_ros.nodes.simulation.plant import AppliedWrenches, Plant, Timeouts
from screw_dynamics_ros.nodes.simulation.simulation_time import SimulationTime
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.status import Status
from support.simulated_motors import DT, DrivenArm


class Commanded:
    """The topics of a planar arm, and what comes of a message."""

    def __init__(self, text='<robot name="x"><link name="a"/></robot>', gains=None, rate=1.0):
        self.arm = arm = DrivenArm('planar_2r', gains=gains)
        pushes = AppliedWrenches(arm.robot, at_once=True)
        self.plant = Plant(arm.simulated, arm.joints, arm.motors, pushes, DT)
        self.time = SimulationTime(rate)  # first stamp: its period
        self.answers, self.replaced, self._receive, self.profiles = [], [], {}, {}
        self.topics = CommandTopics(
            SimpleNamespace(create_subscription=self._subscribe),
            self.plant,
            arm.targets,
            self.time,
            text,
            self.answers.append,
            lambda: self.replaced.append(True),
            lambda: Timeouts(command=0.1, wrench=0.1),
        )

    def _subscribe(self, kind, topic, receive, profile):
        self._receive[topic] = kind, receive
        self.profiles[topic] = profile

    def send(self, topic, message):
        kind, receive = self._receive[topic]
        assert isinstance(message, kind)
        receive(message)

    def numbers(self, interface, *numbers):
        self.send(f'~/{interface}_commands', Float64MultiArray(data=list(map(float, numbers))))

    @property
    def targets(self):
        return self.arm.targets.at(self.time.stamp)

    @property
    def status(self):
        status = Status('simulation')
        self.topics.report(status)
        return status


def impedance_command(**fields):
    """Return an ImpedanceCommand; without its type, or an older package of types, skip the test."""
    types = pytest.importorskip('screw_dynamics_msgs.msg')
    if not hasattr(types, 'ImpedanceCommand'):
        pytest.skip('screw_dynamics_msgs is older than ImpedanceCommand; run make setup')
    return types.ImpedanceCommand(**fields)


def path(names, *points, stamp=0):
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp.sec = stamp
    for time, positions, *efforts in points:
        message.points.append(
            JointTrajectoryPoint(positions=positions, effort=efforts[0] if efforts else [])
        )
        set_duration(message.points[-1].time_from_start, time)
    return message
