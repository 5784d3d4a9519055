# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of the feet of a robot with a floating base.

The environment acts on the velocities of the robot, those of the base included, with the forces

    r = sum_k J_k^T W_k,                                                                       (1)

the forces on the base are what its motion requires, as nothing drives it. With the deviations s of
independent errors of r, the contact wrenches w = (W_1, ..., W_m) are those of least squares,

    min |S^-1 (r - A w)|,      A = (J_1^T, ..., J_m^T),      cov w = (A^T S^-2 A)^-1.           (2)

A point exerts a force only, and J_k has three rows.

Example: a body of 9 N on one foot; its joints are not modeled:

>>> found = support_wrenches(np.eye(6)[None], np.array([0, 0, 0, 0, 0, 9.0]), np.ones(6))
>>> found.wrenches, np.diagonal(found.covariances[0])
(array([[0., 0., 0., 0., 0., 9.]]), array([0., 0., 0., 1., 1., 1.]))

Source: Bruyninckx 2010 (7.42) to (7.44) (C-107) for (1); least squares as in Golub and Van Loan,
Matrix Computations, 4th edition, 6.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.types import Array

#: Singular values below this share of the largest one are zero.
TOLERANCE = 1e-9


class SupportWrenches(NamedTuple):
    """Wrenches of the environment on the robot.

    Attributes
    ----------
    wrenches : (m, 6) array
        Moment [N m] and force [N] at the origin of each link, in its axes.
    covariances : (m, 6, 6) array
    """

    wrenches: Array
    covariances: Array


def support_wrenches(
    jacobians: Array, forces: Array, deviations: Array, *, moments: bool = False
) -> SupportWrenches | None:
    """Return the contact wrenches, None if they are not determined.

    Parameters
    ----------
    jacobians : (m, 6, n) array
        Body Jacobians of the links in contact, angular rows first.
    forces : (n,) array
        External forces on the velocities [N m, N].
    deviations : (n,) array
        Their standard deviations, positive.
    moments : bool
        Whether contacts exert moments, too.

    Raises
    ------
    LinAlgError
        If a number is not finite.
    """
    count, first = len(jacobians), 0 if moments else 3
    size = 6 - first
    wrenches, covariances = np.zeros((count, 6)), np.zeros((count, 6, 6))
    if not count:
        return SupportWrenches(wrenches, covariances)
    A = jacobians[:, first:].reshape(count * size, -1) / deviations
    U, s, Vt = np.linalg.svd(A.T, full_matrices=False)
    if len(s) < count * size or s[-1] <= TOLERANCE * s[0]:
        return None
    inverse = Vt.T / s
    wrenches[:, first:] = (inverse @ (U.T @ (forces / deviations))).reshape(count, size)
    covariance = (inverse @ inverse.T).reshape(count, size, count, size)
    for k in range(count):
        covariances[k, first:, first:] = covariance[k, :, k]
    return SupportWrenches(wrenches, covariances)
