# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A smooth trajectory of few points from a recorded motion, from rest to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError
from ...tree.joint_limits import coordinate_names, position_limits
from .motion import Motion, sampled_motion

if TYPE_CHECKING:
    from ...robot.robot import Robot

DEGREE = 5  # of the spline: quintic between points, as controllers interpolate
MAX_PAUSE_SPACINGS = 2.0  # between states, in the spacing of points
REST_SPACINGS = DEGREE  # rest before and after the motion, in the spacing of its points
LIMIT_TOLERANCE = 0.02  # rad, m; by which joints that are led by hand may pass their limits


def smooth_motion(robot: Robot, time: ArrayLike, q: ArrayLike, spacing: float = 0.1) -> Motion:
    """Return the quintic spline with knots every `spacing` [s] that is nearest to a recording.

    The points of the motion are its knots, so that a controller which interpolates positions,
    velocities and accelerations moves along the spline. It begins and ends at rest, where the
    recording begins and ends, and takes `2 REST_SPACINGS` spacings longer. It is within the limits
    of position; the recording may exceed them by `LIMIT_TOLERANCE`.

    Parameters
    ----------
    robot : Robot
        Of joints with one coordinate.
    time : (N,)
        Increasing [s].
    q : (N, nq)
    spacing : float
        Motions with more than about 0.4 / spacing Hz are smoothed.

    Raises
    ------
    ArgumentError
        For numbers that do not fit, a pause longer than `MAX_PAUSE_SPACINGS`, a recording shorter
        than the spacing, and positions beyond limits.
    """
    from scipy.interpolate import make_lsq_spline  # slow to import

    still = np.zeros_like(q)
    recorded = sampled_motion(robot, time, q, still, still)
    t, positions = recorded.time - recorded.time[0], recorded.q
    pauses = np.append(np.diff(t), 0.0)
    k = int(np.argmax(pauses))
    longest = MAX_PAUSE_SPACINGS * spacing
    if t[-1] < spacing or pauses[k] > longest:
        raise ArgumentError(
            f'a recording needs states at least every {longest:g} s, and for {spacing:g} s: '
            f'it takes {t[-1]:.3g} s, and has none for {pauses[k]:.3g} s after {t[k]:.3g} s'
        )
    low, high = position_limits(robot)
    beyond = np.maximum(low - positions, positions - high)
    if beyond.max() > LIMIT_TOLERANCE:
        k, i = divmod(int(np.argmax(beyond)), robot.nq)
        raise ArgumentError(
            f'position of joint {coordinate_names(robot)[i]!r} beyond its limits at {t[k]:.3g} s: '
            f'{positions[k, i]:.4g} is not in [{low[i]:g}, {high[i]:g}]'
        )
    rest = REST_SPACINGS * spacing
    points = spacing * np.arange(np.ceil((t[-1] + 2.0 * rest) / spacing) + 1)
    held = np.linspace(0.0, rest, 4 * REST_SPACINGS, endpoint=False)
    times = np.concatenate([held, rest + t, points[-1] - held[::-1]])
    before, after = (np.tile(positions[end], (len(held), 1)) for end in (0, -1))
    knots = np.concatenate([np.zeros(DEGREE), points, np.full(DEGREE, points[-1])])
    rows = np.concatenate([before, positions, after])
    spline = make_lsq_spline(times, rows, knots, DEGREE)
    # A spline is between the least and the largest of its coefficients; equal ones mean rest.
    spline.c[:3], spline.c[-3:] = positions[0], positions[-1]
    spline.c[:] = np.clip(spline.c, low, high)
    smooth, v, a = (np.asarray(spline(points, order)) for order in range(3))
    return sampled_motion(robot, points, smooth, v, a)
