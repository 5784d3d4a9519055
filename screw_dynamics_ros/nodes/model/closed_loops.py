# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with kinematic loops, and their states.

Joint states contain the joints with sensors; `LoopCompletion` computes all others. The formulas of
`ActuatedRobot` convert outputs of the tree into those of the mechanism.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.description.checks import LOOP
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from screw_dynamics_ros.core.mechanisms.closures.closed_robot import SINGULARITY_TOLERANCE
from screw_dynamics_ros.core.mechanisms.closures.position_closure import (
    MAX_ITERATIONS,
    PositionClosure,
    close_loops,
    set_motion,
)
from screw_dynamics_ros.ros.joint_states.completion import COMPLETED, Completion

from .scalar_joints import scalar_joints

#: Largest gap [m, rad] of a closed loop; with redundant sensors the file sets the tolerance.
GAP_TOLERANCE = 1e-9

OPEN, FREE_OF_SENSORS, FREE_OF_MOTORS = range(1, 4)  # why a state cannot be completed


class RobotWithLoops(Robot):
    """A robot with kinematic loops; as a `Robot` it is the spanning tree.

    Its description has no findings about open loops.

    Attributes
    ----------
    closed : ClosedRobot
    """

    def __init__(self, description: RobotDescription, loops: LoopClosures, **options: Any) -> None:
        kept = (each for each in description.findings if not each.subject.startswith(LOOP))
        super().__init__(replace(description, findings=tuple(kept)), **options)
        self.closed = ClosedRobot(self, loops)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle like a `Robot`, including the loops."""
        make, of_tree = super().__reduce__()
        return make, (*of_tree, self.closed.loops)


class LoopCompletion(Completion):
    """Completes states of the joints with sensors.

    The previous state is the initial guess; at the start and after a pause it is the assembly
    configuration.

    Parameters
    ----------
    robot : RobotWithLoops

    Attributes
    ----------
    seed : (n,) array
        The initial guess.
    tolerance : float
        Of the gap [m, rad].
    sensors, motors : PositionClosure
        From the joints with sensors, and with motors.
    has_motor : (k,) array
        1 for joints with sensors and motors, otherwise 0.
    """

    seed: Floats
    tolerance: float
    sensors: PositionClosure
    motors: PositionClosure
    has_motor: Floats

    def __init__(self, robot: RobotWithLoops) -> None:
        closed = robot.closed
        sensed, k = closed.sensed, len(closed.sensed)
        self.sensors, self.motors = map(closed.closure_from, (sensed, closed.joint_names))
        code, has_efforts = self.sensors.code_of(complete_loops), {*closed.joint_names} <= {*sensed}
        super().__init__(code, scalar_joints(robot), k, has_efforts)
        self.sensors.v, self.motors.q = self.measured[k : 2 * k], self.sensors.q
        self.has_motor = np.array([name in closed.joint_names for name in sensed], dtype=float)
        self.tolerance = closed.loops.tolerance if k > closed.nv else GAP_TOLERANCE
        self._assembly, self.seed = closed.assembly, closed.assembly.copy()

    def restart(self) -> None:
        """Use the assembly configuration as the next initial guess."""
        self.seed[:] = self._assembly

    def reason(self, result: int) -> str:
        """Return why the last state is refused."""
        if result == OPEN:
            return self.sensors.failure(MAX_ITERATIONS)
        kind = 'sensors' if result == FREE_OF_SENSORS else 'motors'
        independence = getattr(self, kind).independence.min()
        return (
            f'singular: the joints with {kind} do not determine the other joints '
            f'(independence {independence:.3g})'
        )


@typed
def complete_loops(c: LoopCompletion) -> int:
    """Set the state of all joints, see `Completion`."""
    if not close_loops(c.sensors, c.measured, c.seed, c.tolerance, MAX_ITERATIONS):
        return OPEN
    if not is_determined(c.sensors):
        return FREE_OF_SENSORS
    if not is_determined(c.motors):
        return FREE_OF_MOTORS
    n = len(c.seed)
    copy_bytes(c.seed, c.sensors.q, 8 * n)
    copy_bytes(c.state, c.sensors.q, 8 * n)
    copy_bytes(c.state[n:], c.sensors.rates, 8 * n)
    for k in range(2 * n, 3 * n):
        c.state[k] = 0.0
    m = len(c.has_motor)
    for k in range(m):
        c.state[2 * n + c.sensors.given[k]] = c.has_motor[k] * c.measured[2 * m + k]
    return COMPLETED


@typed
def is_determined(closure: PositionClosure) -> bool:
    """Set the motion; return whether the given joints determine the others."""
    set_motion(closure)
    for k in range(len(closure.independence)):
        if not closure.independence[k] > SINGULARITY_TOLERANCE:
            return False
    return True
