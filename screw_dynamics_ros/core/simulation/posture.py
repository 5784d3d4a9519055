# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gravity compensation with joint springs and dampers around a slowly moving posture."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..robot.robot import Robot
from ..types import Array


class ReferenceMotion:
    """Reference positions of joints without commands.

    Joint i is at q_i + A_i (1 - cos(2 pi t / T_i)) / 2, the period a little different for each
    joint; A_i leads away from the nearer limit, and at most half way to the other one.

    Parameters
    ----------
    start : (n,) array
        q [rad, m].
    lower, upper : (n,) arrays
        Limits, some infinite [rad, m].
    amplitude : float
        Excursion [rad, m]; 0 holds still.
    period : float
        T of the first joint [s].

    Examples
    --------
    >>> motion = ReferenceMotion([0.0], [-1.0], [2.0], amplitude=0.5, period=4.0)
    >>> motion.at(2.0)[0]
    array([0.5])
    """

    def __init__(
        self, start: Array, lower: Array, upper: Array, amplitude: float, period: float
    ) -> None:
        self._start = np.array(start)
        joints = np.arange(len(self._start))
        self._rate = 2 * np.pi / (period * (1.0 + 0.1 * (joints % 5)))
        up, down = np.subtract(upper, self._start), np.subtract(self._start, lower)
        self._excursion = np.where(up >= down, 1.0, -1.0) * np.minimum(
            amplitude, np.clip(np.maximum(up, down), 0.0, None) / 2
        )

    def at(self, t: float) -> tuple[Array, Array]:
        """Return where the joints should be at time t [s], and how fast, (n,) each."""
        phase = self._rate * t
        return (
            self._start + self._excursion * (1.0 - np.cos(phase)) / 2,
            self._excursion * self._rate * np.sin(phase) / 2,
        )


class Posture:
    """Torques that hold a robot near a reference motion that starts at rest.

    tau = g(q) + M(q) (w^2 (q_ref - q) + 2 w (v_ref - v)): critically damped springs that are as
    stiff as the inertia behind them.

    The reference is a `ReferenceMotion`.

    Parameters
    ----------
    robot : Robot
    q : (n,) array
        Where the reference starts [rad, m].
    frequency : float
        Natural frequency w of the springs [rad/s].
    amplitude : float
        Excursion of the reference [rad, m]; 0 holds still.
    period : float
        T of the first joint [s].

    Raises
    ------
    ArgumentError
        If the robot has a floating base, or floating, ball or planar joints: no motors move those.
    """

    def __init__(
        self,
        robot: Robot,
        q: Array,
        *,
        frequency: float = 20.0,
        amplitude: float = 0.0,
        period: float = 10.0,
    ) -> None:
        if robot.nq != robot.nv or len(robot.joint_names) != robot.nv:
            raise ArgumentError(
                f'robot {robot.description.name!r} cannot be held in a posture: it '
                'floats, or has floating, ball or planar joints'
            )
        self._robot = robot
        self._frequency = frequency
        limits = robot.limits
        self._motion = ReferenceMotion(q, limits.lower, limits.upper, amplitude, period)

    def reference(self, t: float) -> tuple[Array, Array]:
        """Return where the robot should be at time t [s], and how fast, (n,) each."""
        return self._motion.at(t)

    def torques(self, t: float, q: Array, v: Array) -> Array:
        """Return the motor torques (n,) at time t in the state q, v [N m, N]."""
        wanted_q, wanted_v = self.reference(t)
        w = self._frequency
        return self._robot.gravity_torques(q) + self._robot.mass_matrix(q) @ (
            w**2 * (wanted_q - q) + 2 * w * (wanted_v - v)
        )
