# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Forces in the rods of a platform: a wrench distributed over them, and internal forces.

Rods with wrenches G (6, n) for unit motor force exert w = G tau. More than six leave the forces
tau with G N = 0 open, which strain the mechanism without any wrench on the platform. Of all tau
with the same wrench

    tau = K G^T (G K G^T)^-1 w

has the least energy of deformation 1/2 tau^T K^-1 tau in motors and rods of stiffness K, and is
K^-1-orthogonal to all internal forces. A preload adds its internal part to it, which takes backlash
out of joints without moving the platform.

Source: Bruyninckx 2010, section 8.21, (8.29) to (8.31), with the erratum E-43 (C-126).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, vector
from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE, null_space
from ...types import Array


def internal_forces(G: ArrayLike) -> Array:
    """Return a basis N (n, n - rank) of the rod forces that exert no wrench, G N = 0 (8.29).

    Parameters
    ----------
    G : (6, n) array
        Wrenches of unit rod forces.

    Examples
    --------
    Two rods on one line push against each other:

    >>> N = internal_forces([[0, 0], [0, 0], [0, 0], [1, -1], [0, 0], [0, 0]])
    >>> np.abs(N[:, 0]).round(4)
    array([0.7071, 0.7071])
    """
    return null_space(float_array('G', G))


def rod_forces(
    G: ArrayLike,
    wrench: ArrayLike,
    *,
    size: float = 1.0,
    stiffness: ArrayLike | None = None,
    preload: ArrayLike | None = None,
) -> Array:
    """Return rod forces tau (n,) that exert a wrench (6,), of least deformation energy (8.31).

    Parameters
    ----------
    G : (6, n) array
        Wrenches of unit rod forces, moment first, n at least 6.
    wrench : (6,)
        That the platform exerts on its environment [N m, N].
    size : float
        Lever arm that converts moments to forces when singularity is judged [m].
    stiffness : (n,), optional
        Of each rod, 1 by default; only ratios matter.
    preload : (n,), optional
        Forces whose internal part is added.

    Raises
    ------
    ArgumentError
        If the rods cannot exert all wrenches (a singular pose), or a stiffness is not positive.
    """
    G, w = float_array('G', G), vector('wrench', 6, wrench)
    check_regular(G, size)
    n = G.shape[1]
    K = np.ones(n) if stiffness is None else vector('stiffness', n, stiffness)
    if not (K > 0.0).all() or not np.isfinite(K).all():
        raise ArgumentError(f'stiffness must hold positive numbers, got {K.tolist()}')
    root = np.sqrt(K)
    scaled = G * root  # least norm of tau / root
    tau: Array = root * np.linalg.lstsq(scaled, w, rcond=None)[0]
    if preload is not None:
        tau0 = vector('preload', n, preload)
        tau = tau + tau0 - root * np.linalg.lstsq(scaled, G @ tau0, rcond=None)[0]
    return tau


def check_regular(G: Array, size: float) -> None:
    """Raise `ArgumentError` unless the columns of G (6, n) span all wrenches."""
    unit = G / np.array([size] * 3 + [1.0] * 3)[:, None]
    s = np.linalg.svd(unit / np.linalg.norm(unit, axis=0), compute_uv=False)
    if len(s) < 6 or not s[5] > TOLERANCE * s[0]:
        raise ArgumentError(
            'the pose is singular: the platform can move with all motors at rest, and there '
            'are wrenches that no motor forces balance '
            f'(smallest singular value {s[-1]:.3g} of {s[0]:.3g}); leave it'
        )
