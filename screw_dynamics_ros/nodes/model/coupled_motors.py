# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measured efforts of motors that turn with several joints, as torques of the joints."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.motor_coupling import motor_coupling
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.completion import Completion

from .scalar_joints import scalar_joints


class CoupledMotors(Completion):
    """Makes torques of joints, C^T tau, of the efforts tau of their motors.

    C is that of `motor_coupling`; positions and velocities stay as they are: drivers report those
    of joints.
    """

    has_efforts = True

    def __init__(self, robot: Robot) -> None:
        self.joints = scalar_joints(robot)
        self._C = motor_coupling(self.joints, robot.drives)

    def complete(self, measured: Array, state: Array) -> str:
        """Write positions, velocities and torques (3, n) of all joints; there is always a way."""
        state[:2] = measured[:2]
        np.matmul(measured[2], self._C, out=state[2])
        return ''

    def restart(self) -> None:
        """There is nothing to forget."""

    def efforts(self, torques: Array) -> Array:
        """Return the efforts of the motors (n,) for torques of the joints (n,)."""
        return np.linalg.solve(self._C.T, torques)
