# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constrained dynamics by dense equations and differences: nothing of the package but M, h and J.

The equations [[M, -J^T], [J, 0]] (a, lambda) = (tau - h, b - J' v) in minimal norm; J v is A^T V
for the twist V of one link relative to another, made of the body-fixed Jacobians of both, and J'
comes from central differences of order 8 along v.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oracles.lagrange import CENTRAL
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.constraints.motion_constraint import MotionConstraint
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.lie.se3 import Ad
from support.tangents import displaced

STEP = 0.02


def jacobian(robot: Robot, q: np.ndarray, c: MotionConstraint) -> np.ndarray:
    """Return J (m, nv) of one constraint: J v = A^T V."""
    at_point = se3.pose(np.eye(3), c.point)
    frame = np.eye(4)
    if c.expressed_in is not None:
        frame, at_point = robot.link_pose(q, c.expressed_in) @ at_point, np.eye(4)
    C, C_o = robot.link_pose(q, c.link) @ at_point, np.eye(4)
    J = np.linalg.inv(Ad(at_point)) @ robot.jacobian(q, c.link, 'body')
    if c.other is not None:
        C_o = robot.link_pose(q, c.other)
        J = J - np.linalg.inv(Ad(np.linalg.inv(C_o) @ C)) @ robot.jacobian(q, c.other, 'body')
    if c.expressed_in is not None:
        return c.wrenches.T @ Ad(np.linalg.inv(frame) @ C) @ J
    relative = np.linalg.inv(C_o) @ C
    return c.wrenches.T @ screws.conversion_matrix(relative, 'body', c.representation) @ J


def jacobian_and_bias(
    robot: Robot, q: np.ndarray, v: np.ndarray, constraints: Sequence[MotionConstraint]
) -> tuple[np.ndarray, np.ndarray]:
    """Return J (m, nv) and J' v (m,) of all constraints."""

    def J(t: float) -> np.ndarray:
        return np.concatenate([jacobian(robot, displaced(robot, q, t * v), c) for c in constraints])

    dJ = sum(w * (J(k * STEP) - J(-k * STEP)) for k, w in CENTRAL.items()) / STEP
    return J(0.0), dJ @ v


def solve_kkt(
    M: np.ndarray, h: np.ndarray, tau: np.ndarray, J: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a and lambda of M a + h = tau + J^T lambda, J a = wanted."""
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    solution = np.linalg.lstsq(K, np.concatenate([tau - h, wanted]), rcond=None)[0]
    return solution[: len(M)], solution[len(M) :]


def dense_kkt(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    constraints: Sequence[MotionConstraint],
) -> tuple[np.ndarray, np.ndarray]:
    """Return (a, multipliers) for prescribed accelerations, without stabilization."""
    J, bias = jacobian_and_bias(robot, q, v, constraints)
    M, h = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros_like(v))
    b = np.concatenate([c.acceleration for c in constraints])
    return solve_kkt(M, h, tau, J, b - bias)


def as_external(
    robot: Robot, q: np.ndarray, constraints: Sequence[MotionConstraint], wrenches: np.ndarray
) -> dict[str, np.ndarray]:
    """Return constraint wrenches as external wrenches, opposite ones on the other links."""
    total: dict[str, np.ndarray] = {}
    for c, W in zip(constraints, wrenches):
        total[c.link] = total.get(c.link, 0) + W
        if c.other is not None:
            relative = np.linalg.inv(robot.link_pose(q, c.other)) @ robot.link_pose(q, c.link)
            back = screws.transform_wrench(relative, W)
            total[c.other] = total.get(c.other, 0) - back
    return total
