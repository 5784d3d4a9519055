"""Forward dynamics of a robot on a fixed base, integrated in steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import ArgumentError, InertiaError
from screw_dynamics_ros.core.robot import Robot
from screw_dynamics_ros.core.simulation.runge_kutta import runge_kutta_step

Array = NDArray[np.float64]


class SimulatedRobot:
    """The state of a robot that moves by M a + C v + g = tau + sum J^T w: no friction, no stops.

    Parameters
    ----------
    robot : Robot
        All joints must have one coordinate.
    q : (n,) array, optional
        Where it starts, at rest [rad, m]; `middle_of_range` if not given.

    Attributes
    ----------
    q, v : (n,) arrays
        Positions [rad, m] and velocities, in the order of `robot.joint_names`.

    Raises
    ------
    ArgumentError
        If the robot has no joints, or floating or planar ones.
    InertiaError
        If a joint moves no mass, so that its acceleration is not defined.
    """

    def __init__(self, robot: Robot, q: Array | None = None) -> None:
        if not robot.nv or robot.nq != robot.nv or len(robot.joint_names) != robot.nv:
            raise ArgumentError(f'robot {robot.description.name!r} cannot be simulated: it needs '
                                'joints, and none of them floating or planar')
        self.robot = robot
        self.q = middle_of_range(robot) if q is None else np.array(q, dtype=float)
        self.v = np.zeros(robot.nv)
        weightless = [name for name, m in zip(robot.joint_names, np.diag(robot.mass_matrix(self.q)))
                      if not m > 0.0]
        if weightless:
            raise InertiaError(f'joint {weightless[0]!r} moves no mass and cannot be simulated; '
                               'give its link an <inertial>')

    def step(self, tau: Array, dt: float, wrenches: Mapping[str, Array] | None = None) -> None:
        """Move on by `dt` [s].

        Parameters
        ----------
        tau : (n,) array
            Motor torques [N m, N], constant meanwhile.
        dt : float
        wrenches : mapping, optional
            Link name to the wrench (moment, force) of the environment on it, (6,) [N m, N], at the
            origin of its frame and resolved in it; their joint torques are constant meanwhile.
        """
        total = tau
        for link, wrench in (wrenches or {}).items():
            total = total + self.robot.jacobian(self.q, link, 'body').T @ wrench
        self.q, self.v = runge_kutta_step(
            lambda q, v: self.robot.forward_dynamics(q, v, total), self.q, self.v, dt)


def middle_of_range(robot: Robot) -> Array:
    """Return the configuration (n,) in the middle of the joint limits, 0 where there are none."""
    limited = np.isfinite(robot.limits.lower) & np.isfinite(robot.limits.upper)
    middle = np.zeros(robot.nv)
    middle[limited] = (robot.limits.lower[limited] + robot.limits.upper[limited]) / 2
    return middle
