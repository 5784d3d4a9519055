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
from screw_dynamics_ros.core.description.checks import LOOP
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from screw_dynamics_ros.core.mechanisms.closures.closed_robot import SINGULARITY_TOLERANCE
from screw_dynamics_ros.core.types import Array

from .scalar_joints import scalar_joints

#: Largest gap [m, rad] of a closed loop; with redundant sensors the file sets the tolerance.
GAP_TOLERANCE = 1e-9


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


class LoopCompletion:
    """Completes states of the joints with sensors; a `Completion` of the joint state mapper.

    The previous state is the initial guess; at the start and after a pause it is the assembly
    configuration.

    Parameters
    ----------
    robot : RobotWithLoops
    """

    def __init__(self, robot: RobotWithLoops) -> None:
        closed = robot.closed
        sensed = closed.sensed
        self.joints = scalar_joints(robot)
        self.has_efforts = set(closed.joint_names) <= set(sensed)
        self._closed = closed
        self._places = [self.joints.index(name) for name in sensed]
        self._has_motor = np.array([name in closed.joint_names for name in sensed], dtype=float)
        self._closure = closed.closure_from(sensed)
        self._motors = closed.closure_from(closed.joint_names)
        self._no_rates = np.zeros(closed.nv)
        self._tolerance = closed.loops.tolerance if len(sensed) > closed.nv else GAP_TOLERANCE
        self.restart()

    def restart(self) -> None:
        """Use the assembly configuration as the next initial guess."""
        self._seed = self._closed.assembly

    def complete(self, measured: Array, state: Array) -> str:
        """Write the state (3, n) of all joints; see `Completion`."""
        q, v, tau = measured
        closing = self._closure.close(q, self._seed, self._tolerance)
        if not closing.success:
            return closing.message
        _, rates, _, independence = self._closure.motion(closing.q, v)
        held = self._motors.motion(closing.q, self._no_rates)[-1]
        for kind, value in (('sensors', independence), ('motors', held)):
            if not value > SINGULARITY_TOLERANCE:
                return (
                    f'singular: the joints with {kind} do not determine the other joints '
                    f'(independence {value:.3g})'
                )
        self._seed = closing.q
        state[0], state[1], state[2] = closing.q, rates, 0.0
        state[2, self._places] = self._has_motor * tau
        return ''
