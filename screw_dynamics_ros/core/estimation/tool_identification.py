# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Mass and center of mass of the tool at a force-torque sensor, and the bias of the sensor.

At rest, with g_k = R_k^T g in the frame of the sensor, the measurement in pose k is

    f_k = b_f + m g_k + e,      n_k = b_n + h x g_k + e',      h = m c,                   (1)

two linear problems: four unknowns in the forces, six in the moments. At least three poses are
needed. If all g_k are equal, the tool cannot be separated from the bias; if they differ along one
line only, the component of h along that line is not identified.

Source: Kubus, Kroeger and Wahl, On-line rigid object recognition and pose estimation based on
inertial parameters (2007), model at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array
from ..errors import ArgumentError, ErrorCode, ScrewDynamicsError
from ..lie.so3 import hat
from ..statistics.least_squares import Fit
from ..types import Array
from .inertial_estimate import RANK_TOLERANCE, rms

MIN_POSES = 3
MIN_SPREAD = 0.1  # spread of the directions of gravity along their second principal direction
MIN_AXES_SPREAD = 0.2  # of the directions of gravity along the third one, to compare the axes
MAX_AXES_SHARE = 0.3  # of the residual that other axes leave, beyond which the axes are right
MAX_ROTATION = 15.0  # of the axes of the sensor that are used [degrees]
MAX_STRETCH = 0.25  # relative differences of the singular values of a rotation or reflection
MIN_MASS_SIGMAS = 3.0  # standard deviations that a mass must be above zero


class TooFewPosesError(ArgumentError):
    """The poses do not determine the tool: there are too few, or they are too similar."""

    code = ErrorCode.NOT_ENOUGH_DATA


class NoToolError(ScrewDynamicsError):
    """The best fit has no positive mass, or the axes of the sensor are wrong."""

    code = ErrorCode.NO_SOLUTION


@dataclass(frozen=True, eq=False)
class ToolEstimate:
    """Estimated tool and bias; vectors are in the frame of the sensor.

    Attributes
    ----------
    mass, mass_deviation : float
        [kg].
    com, com_deviation : (3,) arrays
        [m].
    bias, bias_deviation : (6,) arrays
        Moment and force [N m, N].
    moment_residual, force_residual : float
        Root mean square of the residuals [N m, N].
    poses : int
    """

    mass: float
    mass_deviation: float
    com: Array
    com_deviation: Array
    bias: Array
    bias_deviation: Array
    moment_residual: float
    force_residual: float
    poses: int


def identify_tool(gravity: ArrayLike, wrenches: ArrayLike) -> ToolEstimate:
    """Return mass, center of mass and bias by least squares of (1).

    Parameters
    ----------
    gravity : (K, 3) array
        g_k: acceleration of free fall in the frame of the sensor [m/s^2], in each pose.
    wrenches : (K, 6) array
        Measured moment and force of the tool on the robot [N m, N].

    Raises
    ------
    TooFewPosesError
        Fewer than three poses, or orientations that do not determine the tool.
    NoToolError
        The mass is not clearly positive, or the forces are those of a tool in other axes.
    ArgumentError
        Arrays of other shapes, or numbers that are not finite.

    Examples
    --------
    >>> g = 9.81 * np.array([[0, 0, -1.0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> moments = np.cross([0, 0.02, 0.2], g) + [0.1, 0, 0]
    >>> tool = identify_tool(g, np.hstack([moments, 2.0 * g]))
    >>> round(tool.mass, 6), tool.com.round(6) + 0.0, tool.bias.round(6) + 0.0
    (2.0, array([0.  , 0.01, 0.1 ]), array([0.1, 0. , 0. , 0. , 0. , 0. ]))
    """
    g, W = float_array('gravity', gravity), float_array('wrenches', wrenches)
    count = len(g)
    if g.shape != (count, 3) or W.shape != (count, 6):
        raise ArgumentError(
            f'gravity and wrenches must have shapes (K, 3) and (K, 6), got {g.shape} and {W.shape}'
        )
    if not (np.isfinite(g).all() and np.isfinite(W).all()):
        raise ArgumentError('gravity and wrenches must be finite')
    check_orientations(g)
    units = np.tile(np.eye(3), (count, 1))
    forces = np.column_stack([g.ravel(), units])
    moments = np.hstack([-np.concatenate([hat(each) for each in g]), units])
    x, P, force_residual = fit(forces, W[:, 3:].ravel())
    fault = fault_of_axes(g, W[:, 3:], force_residual)
    if fault:
        raise NoToolError(fault)
    y, Q, moment_residual = fit(moments, W[:, :3].ravel())
    m, deviation = float(x[0]), float(P[0, 0]) ** 0.5
    if not m > MIN_MASS_SIGMAS * deviation or not m > 0.0:
        raise NoToolError(
            f'the mass that fits the poses is {m:.4g} kg, with a standard deviation of '
            f'{deviation:.2g} kg: '
            + (
                'the sign of the sensor or gravity is wrong'
                if m < -MIN_MASS_SIGMAS * deviation
                else 'there is no tool'
            )
        )
    c = y[:3] / m
    com_deviation = np.sqrt(Q.diagonal()[:3] + (c * deviation) ** 2) / m
    return ToolEstimate(
        m,
        deviation,
        c,
        com_deviation,
        np.concatenate([y[3:], x[1:]]),
        np.sqrt(np.concatenate([Q.diagonal()[3:], P.diagonal()[1:]])),
        moment_residual,
        force_residual,
        count,
    )


def fault_of_axes(gravity: Array, forces: Array, residual: float) -> str:
    """Return in which axes the forces (K, 3) are the weight of a tool, empty if not in others.

    They are, if f = b + m Q g with a rotation or reflection Q fits much better than Q = 1, which
    leaves the RMS `residual` [N]. Two axes of gravity do not determine Q.
    """
    g, f = gravity - gravity.mean(axis=0), forces - forces.mean(axis=0)
    size = np.linalg.norm(gravity, axis=1).mean()
    if len(g) <= MIN_POSES + 1 or np.linalg.svd(g)[1][2] / len(g) ** 0.5 < MIN_AXES_SPREAD * size:
        return ''
    A = np.linalg.lstsq(g, f, rcond=None)[0].T
    if not np.sqrt(np.mean((f - g @ A.T) ** 2)) < MAX_AXES_SHARE * residual:
        return ''
    U, sizes, Vt = np.linalg.svd(A)
    if sizes[0] - sizes[2] > MAX_STRETCH * sizes[0]:
        return ''
    Q, mass = U @ Vt, float(sizes.mean())
    angle = np.degrees(np.arccos(np.clip((np.trace(Q * np.linalg.det(Q)) - 1.0) / 2.0, -1.0, 1.0)))
    rows = '; '.join(' '.join(f'{x:.2f}' for x in (row.round(2) + 0.0).tolist()) for row in Q)
    weight = f'the forces are the weight of {mass:.3g} kg in other axes'
    if angle < MAX_ROTATION:
        return ''  # small errors of mounting, or the opposite sign
    if np.linalg.det(Q) > 0.0:
        return (
            f'{weight}, rotated by {angle:.0f} degrees (rows {rows}): correct sensor_frame or the '
            'mounting in the description'
        )
    return (
        f'{weight}, which are left-handed (rows {rows}): the driver of the sensor has the wrong '
        'sign of an axis, or swaps two of them'
    )


def check_orientations(gravity: Array) -> None:
    """Raise `TooFewPosesError` if poses with these directions (K, 3) do not determine the tool."""
    count = len(gravity)
    if count < MIN_POSES:
        raise TooFewPosesError(
            f'{count} poses recorded, and at least {MIN_POSES} of different orientations are '
            'needed: move the robot and record more'
        )
    sizes = np.linalg.norm(gravity, axis=1)
    if not sizes.min() > 0.0:
        raise TooFewPosesError('without gravity a tool at rest cannot be identified')
    u = gravity / sizes[:, None]
    spread = np.linalg.svd(u - u.mean(axis=0), compute_uv=False) / count**0.5
    if spread[1] >= MIN_SPREAD:
        return
    raise TooFewPosesError(
        f'all {count} poses have nearly the same orientation to gravity: its weight cannot be '
        'separated from the bias; rotate the sensor by 30 degrees or more about different '
        'horizontal axes'
        if spread[0] < MIN_SPREAD
        else f'the orientations of all {count} poses to gravity differ in one direction only: the '
        'center of mass along it cannot be separated from the bias; turn the sensor about another '
        'horizontal axis too'
    )


def fit(A: Array, b: Array) -> tuple[Array, Array, float]:
    """Return the x that minimizes |A x - b|, its covariance, and the RMS of the residuals.

    The noise is estimated from the residuals.
    """
    found = Fit(A, RANK_TOLERANCE)
    x = found.solve(b)
    residual = rms(b - A @ x)
    return x, found.covariance * residual**2 * len(b) / (len(b) - len(x)), residual
