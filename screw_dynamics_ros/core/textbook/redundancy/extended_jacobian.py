# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""The extended Jacobian: the Jacobian of a redundant robot, completed by constraint rows.

Constraint rows A, as many as the degree of redundancy, with A v = 0 (or a given rate), make [J; A]
square. Its inverse (B, *) has J B = 1 and A B = 0: v = B V follows the twist and satisfies the
constraint. If A is the derivative of a function of q, the motion is cyclic, in contrast to that of
the weighted pseudo-inverse (E-10). A = Z^T M with a null-space basis Z gives the pseudo-inverse of
joint metric M.

Source: Bruyninckx 2010 (5.35) to (5.37) with the erratum E-04: B J is a projector, not the identity
(C-028).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arms.inverse.velocity import matrix
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie.screw_systems import TOLERANCE
from screw_dynamics_ros.core.types import Array


def extended_inverse(J: ArrayLike, A: ArrayLike, cutoff: float = TOLERANCE) -> tuple[Array, Array]:
    """Return (B, E): v = B V + E a is the joint rate with J v = V and A v = a.

    Parameters
    ----------
    J : (m, n) array
    A : (n - m, n) array
        Rows of the constraints.
    cutoff : float
        Singular values up to `cutoff` times the largest are treated as zero.

    Returns
    -------
    (n, m) array, (n, n - m) array

    Raises
    ------
    ArgumentError
        If the matrix [J; A] is not square, or singular: J has lost rank, the rows of A are
        dependent, or a null-space motion of J satisfies them (an algorithmic singularity).

    Examples
    --------
    >>> extended_inverse([[1.0, 1.0]], [[1.0, -1.0]])[0]  # both joints alike
    array([[0.5],
           [0.5]])
    """
    J, A = matrix('the Jacobian', J), matrix('the constraint rows A', A)
    m, n = J.shape
    if A.shape != (n - m, n):
        raise ArgumentError(
            f'the constraint rows A must have shape ({n - m}, {n}) to make J {J.shape} square, '
            f'got {A.shape}'
        )
    for name, X in (('the Jacobian', J), ('the constraint rows A', A)):
        s = np.linalg.svd(X, compute_uv=False)
        if len(s) and s[-1] <= cutoff * s[0]:
            raise ArgumentError(f'{name} has dependent rows: smallest singular value {s[-1]:.3g}')
    extended = np.vstack([J, A])
    s = np.linalg.svd(extended, compute_uv=False)
    if len(s) and s[-1] <= cutoff * s[0]:
        raise ArgumentError(
            'the constraint rows A are not transversal to J (an algorithmic singularity): a motion '
            'in the null space of J satisfies them; choose other constraints here'
        )
    inverse = np.linalg.inv(extended)
    return inverse[:, :m], inverse[:, m:]
