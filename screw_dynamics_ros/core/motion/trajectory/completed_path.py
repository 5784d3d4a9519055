# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The path through points whose velocities or accelerations are not given, and its samples."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.types import Array

from .joint_path import JointPath


def completed_path(
    time: Array, q: Array, v: Array | None, a: Array | None, start_velocity: Array
) -> JointPath:
    """Return the path through some points, which ends at rest where no velocities are given.

    Missing velocities are those of the cubic spline through the positions that has the velocity at
    the start and ends at rest. Without accelerations the path is cubic between its points, as
    joint_trajectory_controller moves; accelerations without velocities do not count there.

    Parameters
    ----------
    time : (N,) array
        Increasing [s].
    q : (N, n) array
        [rad, m].
    v, a : (N, n) arrays or None
    start_velocity : (n,) array

    Examples
    --------
    >>> time, q = np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [0.0]])
    >>> path = completed_path(time, q, None, None, np.zeros(1))
    >>> [round(float(values[0]), 6) for values in path.state(1.0)]
    [1.0, 0.0, -6.0]
    """
    if v is None:
        if len(time) == 1:
            return JointPath(time, q, np.zeros_like(q))
        from scipy.interpolate import CubicSpline  # slow to import

        ends = (1, start_velocity), (1, np.zeros(q.shape[1]))
        v, a = CubicSpline(time, q, bc_type=ends)(time, 1), None
    return JointPath(time, q, v, a)


def refined(time: Array, longest: float, most: int) -> Array:
    """Return times (M,) that contain all of `time` (N,), not further apart than `longest` [s].

    They are further apart if there would be more than `most` of them otherwise.

    Examples
    --------
    >>> refined(np.array([0.0, 1.0, 1.1]), 0.5, 1000).tolist()
    [0.0, 0.5, 1.0, 1.1]
    """
    if len(time) == 1:
        return time
    h = np.diff(time)
    longest = max(longest, float(h.sum()) / most)
    counts = np.maximum(np.ceil(h / longest - 1e-9), 1).astype(int)
    fractions = np.concatenate([np.arange(count) / count for count in counts])
    return np.append(np.repeat(time[:-1], counts) + fractions * np.repeat(h, counts), time[-1])
