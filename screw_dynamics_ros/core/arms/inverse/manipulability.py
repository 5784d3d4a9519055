# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Manipulability, and the ellipsoids of velocities and forces, in stated metrics.

The distance of a link from a singularity depends on metrics, as twists and joint rates have no
natural one (Bruyninckx 2010, 4.9, 5.5.1, B-079, B-130). Here both are arguments: a length l
weights an angular velocity of 1 rad/s as a velocity of l, |V|^2 = l^2 |omega|^2 + |v|^2, and
a joint metric M measures joint rates by q'^T M q' and joint torques by tau^T M^-1 tau. All follows
from the singular values of one matrix::

    A = diag(l, l, l, 1, 1, 1) J M^(-1/2)

`M` is the identity by default (1 rad/s weighs as 1 m/s); with the mass matrix joint rates are
measured by the kinetic energy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...lie.screw_systems import TOLERANCE, rank
from ...types import Array

#: The numbers of a `Dexterity` in its order.
MEASURES = ('smallest_singular_value', 'condition_number', 'rank', 'manipulability')


@dataclass(frozen=True)
class Dexterity:
    """How well joints move a link that has k freedoms where it is not singular.

    Attributes
    ----------
    smallest : float
        The k-th singular value of A [m]: the least twist that joint rates of size 1 give, over all
        directions. Zero in a singular configuration.
    condition : float
        Largest singular value over `smallest`, infinite in a singular configuration.
    rank : int
        Number of nonzero singular values: k, less in a singular configuration.
    manipulability : float
        Product of the first k, sqrt(det(A A^T)) for k = 6 (B-130): the volume, without the factor
        of the unit ball, of the twists that joint rates of size 1 give.
    """

    smallest: float
    condition: float
    rank: int
    manipulability: float


def dexterity(
    J: Array, freedoms: int, length: float, joint_metric: Array | None = None
) -> Dexterity:
    """Return the singularity measures of a link.

    Parameters
    ----------
    J : (6, n) array
        Jacobian with the link's origin as reference point, angular rows first; its axes do not
        matter.
    freedoms : int
        Its rank where it is largest, see `freedoms`.
    length : float
        Characteristic length [m].
    joint_metric : (n, n) array, optional
        Symmetric and positive definite.

    Examples
    --------
    A slider and a turntable one above the other move a point 0.5 m off the axis.

    >>> J = np.zeros((6, 2))
    >>> J[5, 0], J[2, 1], J[4, 1] = 1.0, 1.0, 0.5
    >>> dexterity(J, freedoms(J[None]), length=1.2)
    Dexterity(smallest=1.0, condition=1.3, rank=2, manipulability=1.3)
    """
    A = in_joint_metric(J * np.array([[length]] * 3 + [[1.0]] * 3), joint_metric)
    s = np.linalg.svd(A, compute_uv=False)[:freedoms]
    if not freedoms:
        return Dexterity(0.0, math.inf, 0, 0.0)
    regular = int(np.sum(s > TOLERANCE * s[0]))
    with np.errstate(over='ignore'):
        condition = float(s[0] / s[-1]) if regular == freedoms else math.inf
        return Dexterity(float(s[-1]), condition, regular, float(np.prod(s)))


def freedoms(jacobians: Array) -> int:
    """Return the largest rank of Jacobians (N, 6, n) in some, preferably random, configurations."""
    return max(rank(J) for J in jacobians)


def velocity_ellipsoid(J: Array, joint_metric: Array | None = None) -> tuple[Array, Array]:
    """Return axes and semi-axes of the velocities of a link's origin for joint rates of size 1.

    The velocities J_v q' with q'^T M q' <= 1. The forces whose joint torques have size 1 or less,
    tau^T M^-1 tau <= 1, fill an ellipsoid with the same axes and the inverse semi-axes: where the
    link moves fast it pushes weakly.

    Parameters
    ----------
    J : (6, n) array
        As above; the axes of its linear rows are those of the result.
    joint_metric : (n, n) array, optional

    Returns
    -------
    (3, 3) array
        Columns: directions of the axes, right-handed.
    (3,) array
        Semi-axes, falling [m/s per unit of joint rate].

    Examples
    --------
    >>> J = np.zeros((6, 2))
    >>> J[5, 0], J[4, 1] = 3.0, 2.0
    >>> velocity_ellipsoid(J)[1]
    array([3., 2., 0.])
    """
    A = in_joint_metric(J[3:], joint_metric)
    U, s, _ = np.linalg.svd(A, full_matrices=A.shape[1] < 3)
    U[:, 2] *= np.sign(np.linalg.det(U))
    return U, np.concatenate([s, np.zeros(3 - len(s))])


def in_joint_metric(J: Array, joint_metric: Array | None) -> Array:
    """Return J M^(-1/2) up to a rotation from the right, J without a joint metric.

    Where M is singular within rounding errors, the result is very large, but finite.
    """
    if joint_metric is None:
        return J
    w, V = np.linalg.eigh(joint_metric)
    scaled: Array = (J @ V) / np.sqrt(np.maximum(w, np.finfo(float).eps * w[-1]))
    return scaled
