# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measured efforts of motors that turn with several joints, as torques of the joints."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.library import code_of
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.description.motor_coupling import motor_coupling
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.completion import COMPLETED, Completion

from .scalar_joints import scalar_joints


class CoupledMotors(Completion):
    """Makes torques of joints, C^T tau, of the efforts tau of their motors.

    C is that of `motor_coupling`; positions and velocities stay as they are: drivers report those
    of joints.

    Attributes
    ----------
    C : (n n,) array
    """

    C: Floats

    def __init__(self, robot: Robot) -> None:
        joints = scalar_joints(robot)
        super().__init__(code_of(complete_torques), joints, len(joints), True)
        self.C = motor_coupling(joints, robot.drives)

    def efforts(self, torques: Array) -> Array:
        """Return the efforts of the motors (n,) for torques of the joints (n,)."""
        return np.linalg.solve(self.C.reshape(len(torques), len(torques)).T, torques)


@typed
def complete_torques(motors: CoupledMotors) -> int:
    """Set positions, velocities and torques of all joints; there is always a way."""
    n = len(motors.state) // 3
    copy_bytes(motors.state, motors.measured, 8 * 2 * n)
    for joint in range(n):
        total = 0.0
        for motor in range(n):
            total += motors.measured[2 * n + motor] * motors.C[n * motor + joint]
        motors.state[2 * n + joint] = total
    return COMPLETED
