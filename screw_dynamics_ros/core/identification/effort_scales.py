# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scale and offset of reported efforts, and stiffness of servos, from several poses at rest.

At rest a joint holds the gravity torque. If a driver reports currents, other units or another sign,
the relation is linear: torque = scale effort + offset. Several poses separate the scale from an
offset, from static friction and from contacts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ..arguments import float_array
from ..errors import ArgumentError
from ..types import Array

MIN_POSES = 3  # two points are always on a line
PROBABILITY = 0.998  # of confidence intervals


@dataclass(frozen=True)
class EffortScale:
    """Conversion of reported efforts to torques: torque = scale effort + offset.

    Attributes
    ----------
    scale : float
        [N m, N per reported unit].
    offset : float
        [N m, N].
    misfit : float
        Root mean square of the residuals, relative to that of the change of the torque.
    """

    scale: float
    offset: float
    misfit: float


def effort_scale(torque: ArrayLike, effort: ArrayLike, least: float = 0.0) -> EffortScale | None:
    """Return scale and offset of one joint by least squares, None if they are undetermined.

    Parameters
    ----------
    torque, effort : (k,) array-like
        Torque of the joint by the model [N m, N], and reported effort, in k poses at rest.
    least : float
        Smallest sufficient difference between the largest and the smallest torque.

    Returns
    -------
    EffortScale or None
        None also if a number is not finite.

    Raises
    ------
    ArgumentError
        If the lengths differ.

    Examples
    --------
    >>> torque = np.array([-10.0, 0.0, 5.0])
    >>> found = effort_scale(torque, (torque - 1.0) / 8.0)
    >>> round(found.scale, 12), round(found.offset, 12), round(found.misfit, 12)
    (8.0, 1.0, 0.0)
    >>> effort_scale([1.0, 2.0], [0.1, 0.2]) is None  # two points are always on a line
    True
    """
    tau, e = float_array('torque', torque), float_array('effort', effort)
    if tau.ndim != 1 or tau.shape != e.shape:
        raise ArgumentError(
            f'torque and effort must have the same shape (k,), got {tau.shape} and {e.shape}'
        )
    if len(tau) < MIN_POSES or not np.isfinite([tau, e]).all():
        return None
    if np.ptp(tau) < least or not np.ptp(tau) or not np.ptp(e):
        return None
    columns: Array = np.column_stack([e, np.ones_like(e)])
    (scale, offset), *_ = np.linalg.lstsq(columns, tau, rcond=None)
    rest = tau - columns @ [scale, offset]
    return EffortScale(float(scale), float(offset), float(np.std(rest) / np.std(tau)))


def effort_ratio(
    torque: ArrayLike, effort: ArrayLike, least: float = 0.0
) -> tuple[float, float] | None:
    """Return the confidence interval of the slope of efforts over torques of one joint.

    An offset, as of static friction in one direction, does not change it.

    Parameters
    ----------
    torque, effort, least
        As for `effort_scale`.

    Returns
    -------
    (float, float) or None
        Reported units per N m, N; None if it is undetermined, as for `effort_scale`.

    Raises
    ------
    ArgumentError
        If the lengths differ.

    Examples
    --------
    >>> torque = np.array([-1.0, 0.0, 0.5, 2.0])
    >>> low, high = effort_ratio(torque, 0.3 - torque + [0.01, -0.01, 0.01, -0.01])
    >>> -1.3 < low < -1.0 < high < -0.7
    True
    """
    if effort_scale(torque, effort, least) is None:
        return None
    tau, e = float_array('torque', torque), float_array('effort', effort)
    change = tau - tau.mean()
    slope = float(change @ e / (change @ change))
    rest = e - e.mean() - slope * change
    freedom = len(tau) - 2
    deviation = np.sqrt(rest @ rest / freedom / (change @ change))
    half = float(stdtrit(freedom, 0.5 + PROBABILITY / 2.0) * deviation)
    return slope - half, slope + half


def servo_stiffness(
    torque: ArrayLike, commanded: ArrayLike, measured: ArrayLike, least: float = 0.0
) -> tuple[float, float, float]:
    """Return the stiffness of a position servo with its confidence interval.

    In poses at rest commanded - measured = torque / stiffness + a constant offset. Static friction
    scatters it: come to the poses from both directions.

    Parameters
    ----------
    torque : (k,) array-like
        Torque of the joint by the model: the gravity torques, with a payload [N m, N].
    commanded, measured : (k,) array-like
        Positions of the joint [rad, m].
    least : float
        As for `effort_scale`.

    Returns
    -------
    (float, float, float)
        Stiffness and its lowest and highest value [N m/rad, N/m]; the highest may be infinite.

    Raises
    ------
    ArgumentError
        If the poses do not determine it, or the lengths differ.

    Examples
    --------
    >>> torque, play = np.array([-1.0, 0.0, 0.5, 2.0]), np.array([1e-4, -1e-4, 1e-4, -1e-4])
    >>> stiffness, low, high = servo_stiffness(torque, 0.02 + torque / 40.0, play)
    >>> 35.0 < low < stiffness < high < 45.0
    True
    """
    sag = float_array('commanded', commanded) - float_array('measured', measured)
    interval = effort_ratio(torque, sag, least)
    if interval is None or not sum(interval) > 0.0:
        raise ArgumentError(
            'these poses do not determine the stiffness: record 3 poses or more at rest, with '
            'different torques, in which the position differs from the commanded one by the torque'
        )
    low, high = interval
    return 2.0 / (low + high), 1.0 / high, 1.0 / low if low > 0.0 else np.inf
