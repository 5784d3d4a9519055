# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives by differences, along velocities: configurations of free bodies are no vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.lie import se3

#: Weights of f(k h) - f(-k h), k = 1 ... 4: central differences of order 8.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def displaced(robot: Robot, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the configuration reached from q in unit time at the constant velocity d (nv,)."""
    places = [robot.joint_coordinates(name) for name in robot.joint_names]
    if robot.nq > sum(place.stop - place.start for place, _ in places):
        places.append((slice(0, 7), slice(0, 6)))  # a floating base
    result = q.copy()
    for place, rates in places:
        size = place.stop - place.start
        if size == rates.stop - rates.start:
            result[place] = q[place] + d[rates]
            continue
        x = np.concatenate([np.zeros(7 - size), q[place]])
        C = se3.pose(Rotation.from_quat(x[3:]).as_matrix(), x[:3])
        C = C @ se3.exp(np.concatenate([d[rates], np.zeros(7 - size)]))
        result[place] = np.append(C[:3, 3], Rotation.from_matrix(C[:3, :3]).as_quat())[-size:]
    return result


def partial(function: Callable[[np.ndarray], np.ndarray], size: int, h: float = 1e-2) -> np.ndarray:
    """Return the derivatives at zero of a function of `size` numbers, one column for each."""
    columns = []
    for step in h * np.eye(size):
        differences = [
            w * (np.asarray(function(k * step)) - function(-k * step))
            for k, w in enumerate(WEIGHTS, start=1)
        ]
        columns.append(sum(differences[1:], differences[0]) / h)
    return np.stack(columns, axis=-1)
