# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accuracy and repeatability: deviations of attained poses from the command and from each other.

*Static* values are from poses at rest after the same command. *Dynamic* values are from poses at
the same instants of a repeated motion: one stack for each instant.

For positions these are the values of ISO 9283:1998: `accuracy` is the positional accuracy AP_P, the
distance of the barycenter from the commanded position, `repeatability` the positional repeatability
RP_l, mean plus three standard deviations of the distances from the barycenter. For orientations the
standard uses each angle separately; here it is the angle of rotation.

Source: Bruyninckx 2010, section 5.6 (B-131, C-015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array
from ..errors import ArgumentError
from ..lie import se3, so3
from ..lie._arrays import check_pose
from ..lie.orientations import nearest_rotation
from ..types import Array


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Values in pairs, angle [rad] and distance [m], because there is no common metric of both.

    Attributes
    ----------
    mean : (..., 4, 4) array
        The mean attained pose: the mean position and the rotation nearest to the mean matrix.
    bias : (..., 6) array
        From the modeled to the mean pose, in the axes of the modeled one: the rotation vector
        [rad], the displacement [m].
    accuracy : (..., 2) array
        Absolute accuracy: angle and length of the bias.
    spread : (..., 2) array
        Mean angle and mean distance of the attained poses from their mean.
    repeatability : (..., 2) array
        `spread` plus three standard deviations of these angles and distances (ISO 9283).
    """

    mean: Array
    bias: Array
    accuracy: Array
    spread: Array
    repeatability: Array


def accuracy(modeled: ArrayLike, attained: ArrayLike) -> Accuracy:
    """Return accuracy and repeatability of poses attained for the same command (B-131).

    Parameters
    ----------
    modeled : (..., 4, 4) array
        The pose the model predicts for each command [m].
    attained : (..., N, 4, 4) array
        The measured poses, N >= 2 for each command.

    Raises
    ------
    ArgumentError
        Shapes that do not match, a single pose, NaN, matrices that are not rigid motions.

    Examples
    --------
    >>> attained = [se3.pose(np.eye(3), [x, 0, 0.002]) for x in (-0.0001, 0.0001)]
    >>> result = accuracy(np.eye(4), attained)
    >>> result.accuracy, result.spread
    (array([0.   , 0.002]), array([0.    , 0.0001]))
    """
    model, poses = float_array('modeled', modeled), float_array('attained', attained)
    if model.shape[-2:] != (4, 4):
        raise ArgumentError(f'modeled must have shape (..., 4, 4), got {model.shape}')
    if poses.ndim != model.ndim + 1 or poses.shape != (*model.shape[:-2], poses.shape[-3], 4, 4):
        raise ArgumentError(
            f'attained must have shape {(*model.shape[:-2], "N", 4, 4)}, got {poses.shape}'
        )
    if poses.shape[-3] < 2:
        raise ArgumentError(f'{poses.shape[-3]} attained poses for a command; give at least two')
    for name, C in (('modeled', model), ('attained', poses)):
        if not np.isfinite(C).all():
            raise ArgumentError(f'{name} holds numbers that are not finite; leave those poses out')
        check_pose(name, C)

    mean = se3.pose(
        nearest_rotation(poses[..., :3, :3].mean(axis=-3)), poses[..., :3, 3].mean(axis=-2)
    )
    bias = _difference(model, mean)
    apart = _lengths(_difference(mean[..., None, :, :], poses))
    spread = apart.mean(axis=-2)
    repeatability = spread + 3.0 * apart.std(axis=-2, ddof=1)
    return Accuracy(mean, bias, _lengths(bias), spread, repeatability)


def _difference(C: Array, D: Array) -> Array:
    """Return rotation vector and displacement from C to D, (..., 6), in the axes of C."""
    R_T = np.swapaxes(C[..., :3, :3], -1, -2)
    moved = (R_T @ (D[..., :3, 3] - C[..., :3, 3])[..., None])[..., 0]
    return np.concatenate([so3.log(R_T @ D[..., :3, :3]), moved], axis=-1)


def _lengths(difference: Array) -> Array:
    return np.stack(
        [np.linalg.norm(difference[..., part], axis=-1) for part in (slice(3), slice(3, 6))], -1
    )
