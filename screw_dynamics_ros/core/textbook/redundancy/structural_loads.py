# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Which part of a load the structure carries without joint torques, and which the motors carry.

The wrenches with J^T W = 0 need no torque: a stretched arm pushes along itself against any force.
Bracing makes use of it. Every other wrench is the sum of its nearest such part, in a metric, and of
a rest that needs all of its torques.

Source: Bruyninckx 2010, section 5.8.1 (C-025), signs as in E-54.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arms.inverse.velocity import matrix, rate
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import WeightedInverse, length_metric
from screw_dynamics_ros.core.lie.screw_systems import TOLERANCE
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class StructuralLoad:
    """A load, divided.

    Attributes
    ----------
    supported : (6,) array
        The part that needs no joint torque [N m, N].
    carried : (6,) array
        The rest; both add up to the load.
    torques : (n,) array
        What the joints exert to hold the load, -J^T W [N m, N].
    share : float
        |supported|^2 / |load|^2 in the metric: 1 if the motors carry nothing.
    basis : (6, k) array
        All wrenches that need no torque: the columns span them, orthonormal in the metric.
    """

    supported: Array
    carried: Array
    torques: Array
    share: float
    basis: Array


def structural_load(
    J: ArrayLike, wrench: ArrayLike, *, length: float = 1.0, tolerance: float = TOLERANCE
) -> StructuralLoad:
    """Return which part of a wrench on a link the structure carries.

    Parameters
    ----------
    J : (6, n) array
        Jacobian; the wrench is in its representation.
    wrench : (6,) array
        (moment, force) of the environment on the link [N m, N].
    length : float
        Characteristic length [m]: a moment of `length` N m counts as much as 1 N.
    tolerance : float
        Singular values of J up to `tolerance` times the largest count as zero. A larger one counts
        loads that need little torque, near a singularity, as supported: look at `torques`.

    Raises
    ------
    ArgumentError
        If a shape is wrong, or a number not finite.

    Examples
    --------
    A planar arm, stretched along x, pushed at its tip along itself and across.

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
