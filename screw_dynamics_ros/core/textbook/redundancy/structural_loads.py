# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Decomposition of a load into parts supported by the structure and by the motors.

The wrenches with J^T W = 0 need no torque: a stretched arm supports any force along itself. Every
wrench is the sum of its nearest such part, in a metric, and of a remainder that needs all joint
torques.

Source: Bruyninckx 2010, section 5.8.1 (C-025), signs as in E-54.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arms.inverse.velocity import matrix, rate
from ...arms.inverse.weighted_inverse import WeightedInverse, length_metric
from ...lie.screw_systems import TOLERANCE
from ...types import Array


@dataclass(frozen=True, eq=False)
class StructuralLoad:
    """A decomposed load.

    Attributes
    ----------
    supported : (6,) array
        The part that needs no joint torque [N m, N].
    carried : (6,) array
        The remainder: the sum of both is the load.
    torques : (n,) array
        Joint torques that hold the load, -J^T W [N m, N].
    share : float
        |supported|^2 / |load|^2 in the metric: 1 if no torques are needed.
    basis : (6, k) array
        Basis of the wrenches that need no torque, orthonormal in the metric.
    """

    supported: Array
    carried: Array
    torques: Array
    share: float
    basis: Array


def structural_load(
    J: ArrayLike, wrench: ArrayLike, *, length: float = 1.0, tolerance: float = TOLERANCE
) -> StructuralLoad:
    """Return the decomposition of a wrench on a link.

    Parameters
    ----------
    J : (6, n) array
        Jacobian; the wrench is in its representation.
    wrench : (6,) array
        (moment, force) of the environment on the link [N m, N].
    length : float
        Characteristic length [m]: a moment of `length` N m corresponds to 1 N.
    tolerance : float
        Singular values of J up to `tolerance` times the largest are treated as zero. With a larger
        tolerance, loads near a singularity that need small `torques` are also supported.

    Raises
    ------
    ArgumentError
        If a shape is wrong, or a number not finite.

    Examples
    --------
    A planar arm, stretched along x, with forces at its tip along and across the arm.

    >>> J = np.zeros((6, 2))
    >>> J[2], J[4] = [1, 1], [2, 1]
    >>> load = structural_load(J, [0, 0, 0, -50.0, 1.0, 0])
    >>> load.supported.round(12) + 0.0, load.torques
    (array([  0.,   0.,   0., -50.,   0.,   0.]), array([-2., -1.]))
    """
    J, W = matrix('the Jacobian', J), rate('the wrench', 6, wrench)
    weights = length_metric(length)  # of twists; wrenches have the inverse
    annihilators = WeightedInverse(J, None, weights, tolerance).annihilators
    basis = np.linalg.qr(annihilators / np.sqrt(weights)[:, None])[0] * np.sqrt(weights)[:, None]
    supported = basis @ (basis.T @ (W / weights))
    whole = float(W @ (W / weights))
    share = float(supported @ (supported / weights)) / whole if whole else 1.0
    return StructuralLoad(supported, W - supported, -J.T @ W, share, basis)
