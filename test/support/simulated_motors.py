# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated arm with the motors of the simulator, without a node."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.simulation.joint_servo import JointServo
from screw_dynamics_ros.core.simulation.posture import ReferenceMotion
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.nodes.simulation.joint_targets import JointTargets, command_of
from screw_dynamics_ros.nodes.simulation.plant import Motors
from support.robots import urdf_path

DT = 0.002


class DrivenArm:
    """A simulated arm, its motors and the time."""

    def __init__(self, name, frequency=60.0, amplitude=0.0, gains=None, drives=None):
        self.robot = robot = Robot.from_urdf(urdf_path(name), drives=drives)
        self.simulated = SimulatedRobot(robot, middle_of_range(robot))
        limits, self.joints = robot.limits, ScalarJoints(robot)
        joints = self.joints
        self.targets = JointTargets(
            joints.joints, limits.lower, limits.upper, limits.velocity, gains
        )
        self.motors = Motors(
            joints,
            self.targets,
            JointServo(robot, frequency),
            JointServo(robot, 20.0),
            lambda q: ReferenceMotion(q, limits.lower, limits.upper, amplitude, 10.0),
        )
        self.motors.hold(self.simulated.q)
        self.now, self.fastest = 0, np.zeros(robot.nv)

    def command(self, interface, values):
        command = command_of(np.arange(len(values)), **{interface: values})
        self.targets.command(command, 'test', self.now)

    def run(self, seconds, wrenches=None):
        for _ in range(round(seconds / DT)):
            q, v = self.simulated.q, self.simulated.v
            self.simulated.step(self.motors.torques(self.now, 1e3, q, v), DT, wrenches)
            self.now += round(DT * 1e9)
            self.motors.advance(self.now, DT, self.simulated.q, self.simulated.v)
            self.fastest = np.maximum(self.fastest, np.abs(self.simulated.v))
        return self.simulated.q
