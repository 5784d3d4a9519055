# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impedances and admittances: symmetric 6 x 6 matrices between twists and wrenches, and norms.

=============  ============================================  =============  ====================
impedance      maps                                          its inverse    quadratic form / 2
=============  ============================================  =============  ====================
stiffness K    infinitesimal displacement -> wrench          compliance     potential energy
damping D      twist -> wrench                               accommodation  dissipated power
inertia M      twist -> momentum, acceleration -> wrench     mobility       kinetic energy
=============  ============================================  =============  ====================

Twists (omega, v) and wrenches (moment, force) have the angular part first, so that no factor Delta
is needed. Their entries have different units: the norm of a twist or wrench, and the determinant or
singular values of a Jacobian, are meaningful only with a weight, an impedance for twists or an
admittance for wrenches. There is no default weight.

Leading axes are stacks; NaN in gives NaN out.

Source: Bruyninckx 2010, sections 4.9 and 4.13.1.
"""

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError
from ...lie import se3
from ...lie._arrays import as_float_stack, as_stack
from ...types import Array

# Asymmetry of a weight, relative to its largest entry, that is attributed to rounding.
SYMMETRY_TOLERANCE = 1e-9


def transform_impedance(C: npt.ArrayLike, K: npt.ArrayLike) -> Array:
    """Return an impedance (...,6,6) of frame 2 in frame 1: Ad_C^-T K Ad_C^-1.

    C (...,4,4) is the pose of frame 2 in frame 1. For stiffness, damping, inertia and weights of
    twists: t^T K t is invariant. Accepts object arrays.

    Source: Bruyninckx 2010 (4.79), (4.90) (B-105, B-095).

    >>> spring = np.diag([0, 0, 0, 100, 0, 0])  # N/m along x
    >>> transform_impedance(se3.pose(np.eye(3), [0, 2, 0]), spring)[2]  # moment about z
    array([   0.,    0.,  400., -200.,    0.,    0.])
    """
    K = as_stack('impedances.transform_impedance', 'K', K, 6, 6)
    Ad = se3.Ad(se3.inverse(C))
    matrix: Array = np.swapaxes(Ad, -1, -2) @ K @ Ad
    return matrix


def transform_admittance(C: npt.ArrayLike, A: npt.ArrayLike) -> Array:
    """Return an admittance (...,6,6) of frame 2 in frame 1: Ad_C A Ad_C^T.

    C (...,4,4) is the pose of frame 2 in frame 1. For compliance, accommodation, mobility and
    weights of wrenches: W^T A W is invariant. Accepts object arrays.

    Source: Bruyninckx 2010, section 4.13.1 (B-106).

    >>> compliance = np.diag([0, 0, 0.01, 0, 0, 0])  # rad/Nm about z
    >>> float(transform_admittance(se3.pose(np.eye(3), [0, 2, 0]), compliance)[3, 3])  # m/N
    0.04
    """
    A = as_stack('impedances.transform_admittance', 'A', A, 6, 6)
    Ad = se3.Ad(C)
    matrix: Array = Ad @ A @ np.swapaxes(Ad, -1, -2)
    return matrix


def weighted_norm(X: npt.ArrayLike, weight: npt.ArrayLike) -> Array:
    """Return sqrt(X^T weight X) (...) of twists or wrenches X (...,6).

    `weight` (...,6,6) is symmetric and positive definite: an inertia, a stiffness, or diag(L^2,
    L^2, L^2, 1, 1, 1) with a length L (m), for twists; an admittance for wrenches. Transformed with
    it, the norm is the same in every frame and in every unit. Raises ArgumentError for other
    weights.

    Source: Bruyninckx 2010 (4.29) corrected (B-078).

    >>> float(weighted_norm([0, 0, 2, 0, 0, 0], weight=np.diag([0.25, 0.25, 0.25, 1, 1, 1])))
    1.0
    """
    X = as_float_stack('impedances.weighted_norm', 'X', X, 6)
    W = as_float_stack('impedances.weighted_norm', 'weight', weight, 6, 6)
    if not np.isnan(W).any():
        skew = np.abs(W - np.swapaxes(W, -1, -2)).max(axis=(-2, -1))
        if (skew > SYMMETRY_TOLERANCE * np.abs(W).max(axis=(-2, -1))).any():
            raise ArgumentError(
                f'impedances.weighted_norm: weight differs from its transpose by {skew.max():.3g}; '
                'take (weight + weight.T) / 2'
            )
        smallest = np.linalg.eigvalsh(W)[..., 0].min()
        if smallest <= 0.0:
            raise ArgumentError(
                f'impedances.weighted_norm: weight has the eigenvalue {smallest:.6g}; it must be '
                'positive definite, otherwise some motions would have zero norm'
            )
    return np.asarray(np.sqrt((X[..., None, :] @ W @ X[..., None])[..., 0, 0]))[()]
