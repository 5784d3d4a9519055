# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a free body, exactly and in steps, and orders of convergence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Link, RobotDescription
from screw_dynamics_ros.core.lie import se3

MASS, COM, INERTIA = 2.0, np.array([0.1, -0.2, 0.15]), np.diag([0.03, 0.05, 0.06])
Q0 = np.array([0.3, -0.2, 0.5, *Rotation.from_rotvec([0.2, 0.3, -0.4]).as_quat()])
V0 = np.array([2.0, 3.0, -1.0, 0.5, -0.3, 0.2])


def free_body(com: np.ndarray = COM, backend: str = 'python') -> Robot:
    link = Link('body', Inertia(MASS, com, INERTIA))
    return Robot(
        RobotDescription.from_parts('free', [link], []),
        floating_base=True,
        gravity=(0, 0, 0),
        backend=backend,
    )


def free_motion(seconds: float) -> np.ndarray:
    """Return the pose of the free body: Euler's equations and a straight line, DOP853."""

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        e, omega = x[:4], x[4:]
        turn = np.append(e[3] * omega + np.cross(e[:3], omega), -e[:3] @ omega) / 2
        return np.append(turn, np.linalg.solve(INERTIA, np.cross(INERTIA @ omega, omega)))

    start = np.concatenate([Q0[3:], V0[:3]])
    solution = solve_ivp(rate, (0, seconds), start, 'DOP853', rtol=1e-13, atol=1e-14)
    R0 = Rotation.from_quat(Q0[3:]).as_matrix()
    R = Rotation.from_quat(solution.y[:4, -1]).as_matrix()
    velocity = R0 @ (V0[3:] + np.cross(V0[:3], COM))
    return se3.pose(R, Q0[:3] + R0 @ COM + seconds * velocity - R @ COM)


def pose(q: np.ndarray) -> np.ndarray:
    return se3.pose(Rotation.from_quat(q[3:]).as_matrix(), q[:3])


def run(
    step: Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]],
    steps: int,
    seconds: float = 1.0,
    q: np.ndarray = Q0,
    v: np.ndarray = V0,
) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(steps):
        q, v = step(q, v, seconds / steps)
    return q, v


def errors(step: Callable, counts: tuple[int, ...] = (25, 50, 100)) -> np.ndarray:
    """Return the largest errors of an entry of the pose after half a second."""
    exact = free_motion(0.5)
    return np.array([np.abs(pose(run(step, count, 0.5)[0]) - exact).max() for count in counts])


def orders(error: np.ndarray) -> np.ndarray:
    return np.log2(error[:-1] / error[1:])
