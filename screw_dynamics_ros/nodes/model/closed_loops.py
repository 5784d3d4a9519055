"""Robots with loops in the nodes: their states, and what of their outputs is published.

Joint states report the joints with sensors, and all others follow (`LoopCompletion`). Outputs of
the tree become those of the mechanism by the map G from the rates of the motors to those of all
joints, which is part of the kernel: Jacobians J G and mass matrices G^T M G have a column for each
motor, torques are G^T tau in the joints with motors and zero in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from screw_dynamics_ros.core.mechanisms.closures.closed_robot import SINGULAR
from screw_dynamics_ros.core.mechanisms.closures.dependent_motion import Partition, motion
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints

Source = Output | Formula

#: Largest gap of loops that joint states close; redundant sensors have that of the file instead.
TOLERANCE = 1e-9


class RobotWithLoops(Robot):
    """A robot whose loops are closed in the nodes; by itself it is the tree.

    Attributes
    ----------
    closed : ClosedRobot
    """

    def __init__(self, description: RobotDescription, loops: LoopClosures, **options: Any) -> None:
        super().__init__(description, **options)
        self.closed = ClosedRobot(self, loops)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle like a `Robot`, with the loops."""
        make, of_tree = super().__reduce__()
        return make, (*of_tree, self.closed.loops)


def closed_of(robot: Robot) -> ClosedRobot | None:
    """Return the mechanism that a robot is the tree of, None without loops."""
    return robot.closed if isinstance(robot, RobotWithLoops) else None


def measured_joints(robot: Robot) -> tuple[str, ...]:
    """Return the joints that joint states have to report: those with sensors, in order."""
    closed = closed_of(robot)
    joints = scalar_joints(robot)
    if closed is None:
        return joints
    return tuple(name for name in joints if name in closed.loops.sensed)


def motor_joints(robot: Robot) -> tuple[str, ...]:
    """Return the joints with one coordinate that have motors."""
    closed = closed_of(robot)
    return scalar_joints(robot) if closed is None else closed.joint_names


class LoopCompletion:
    """Completes states of the joints with sensors; a `Completion` of the joint state mapper.

    Loops are closed from the state before, and from the assembly at first and after a pause.

    Parameters
    ----------
    robot : RobotWithLoops
    """

    def __init__(self, robot: RobotWithLoops) -> None:
        closed = robot.closed
        sensed = measured_joints(robot)
        self.joints = scalar_joints(robot)
        self.has_efforts = set(closed.joint_names) <= set(sensed)
        self._closed = closed
        self._places = [self.joints.index(name) for name in sensed]
        self._has_motor = np.array([name in closed.joint_names for name in sensed], dtype=float)
        self._closure = closed.closure_from(sensed)
        self._motors = closed.closure_from(closed.joint_names)
        self._no_rates = np.zeros(closed.nv)
        self._tolerance = closed.loops.tolerance if len(sensed) > closed.nv else TOLERANCE
        self.restart()

    def restart(self) -> None:
        """Begin from the assembly."""
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
            if not value > SINGULAR:
                return (
                    f'singular: the joints with {kind} do not decide about the others '
                    f'(independence {value:.3g})'
                )
        self._seed = closing.q
        state[0], state[1], state[2] = closing.q, rates, 0.0
        state[2, self._places] = self._has_motor * tau
        return ''


# --- formulas -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DependentMotion:
    """The function of a formula: G (n, k) and d (n,) in one matrix (n, k + 1), of q and v (n,)."""

    tree: Tree = field(compare=False)
    partition: Partition = field(compare=False)
    identity: str

    def __call__(self, q: Array, v: Array) -> Array:
        """Return G and, in the last column, d."""
        G, _, d, _ = motion(self.tree, self.partition, q, v[list(self.partition.given)])
        return np.column_stack([G, d])


def dependent(closed: ClosedRobot) -> Formula:
    """Return G and d, (n, k + 1), in the present state; where that moves, d needs velocities."""
    partition, tree = closed.partition, closed.robot.regrouped_tree
    function = DependentMotion(tree, partition, repr((tree.digest, partition.identity)))
    return Formula('dependent motion', ('q', 'v'), function)


def of_motors(robot: Robot, jacobian: Source) -> Source:
    """Return the columns (..., k) of a Jacobian (..., nv) that belong to the motors."""
    closed = closed_of(robot)
    return jacobian if closed is None else Formula('J G', (jacobian, dependent(closed)), columns)


def mass_matrix_of_motors(robot: Robot) -> Source:
    """Return the mass matrix, of the motors (k, k) if there are loops."""
    closed = closed_of(robot)
    if closed is None:
        return 'mass_matrix'
    return Formula('G^T M G', ('mass_matrix', dependent(closed)), reduced)


def in_motors(robot: Robot, torques: Source) -> Source:
    """Return torques (n,) of all joints as those of the motors, zero in joints without one."""
    closed = closed_of(robot)
    if closed is None:
        return torques
    sources = (torques, dependent(closed))
    return Formula('G^T tau', sources, projected, (tuple(closed.places),))


def columns(J: Array, motion_of_loops: Array) -> Array:
    """Return J G."""
    return J @ motion_of_loops[:, :-1]


def reduced(M: Array, motion_of_loops: Array) -> Array:
    """Return G^T M G."""
    G = motion_of_loops[:, :-1]
    return G.T @ M @ G


def projected(torques: Array, motion_of_loops: Array, places: Sequence[int]) -> Array:
    """Return G^T torques in some places of a vector (n,) of zeros."""
    of_motors = motion_of_loops[:, :-1].T @ torques
    result = np.zeros(len(torques), dtype=of_motors.dtype)
    result[list(places)] = of_motors
    return result


def moved_along(motors: Array, motion_of_loops: Array, places: Sequence[int]) -> Array:
    """Return G x for the elements x of a vector (n,) that belong to the motors."""
    return motion_of_loops[:, :-1] @ motors[list(places)]


def accelerated(motors: Array, motion_of_loops: Array, places: Sequence[int]) -> Array:
    """Return G x + d likewise."""
    return moved_along(motors, motion_of_loops, places) + motion_of_loops[:, -1]
