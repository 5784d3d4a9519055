# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""The smallest singular value of a Jacobian between two metrics, and its gradient.

With singular vectors u and w of K^T J L^-T (`weighted_inverse`) a simple singular value changes by

    d sigma / dq_k = u^T K^T (dJ / dq_k) L^-T w

for metrics that do not depend on q. Where two singular values meet, this is a subgradient.

Source: Bruyninckx 2010, sections 5.8.2 and 5.9.1 item 8 (C-020, C-036).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from .velocity import matrix
from .weighted_inverse import finite, metric, structural_rank


def smallest_singular_value(
    J: ArrayLike,
    dJ: ArrayLike | None = None,
    *,
    task_metric: ArrayLike | None = None,
    joint_metric: ArrayLike | None = None,
) -> tuple[float, Array]:
    """Return sigma, the singular value that decides about full rank, and its gradient (n,).

    Parameters
    ----------
    J : (m, n) array
    dJ : (m, n, n) array, optional
        Partial derivatives dJ / dq_k at [..., k]; without them the gradient is zero.
    task_metric, joint_metric : (m,) or (m, m), (n,) or (n, n), optional

    Raises
    ------
    ArgumentError
        If a shape is wrong, a number not finite, a metric singular, or J zero altogether.

    Examples
    --------
    A stretched planar arm of unit links, q_2 = pi / 2, seen in its plane.

    >>> J = np.array([[-1.0, -1.0], [1.0, 0.0]])
    >>> dJ = np.array([[[-1.0, 0.0], [0.0, 0.0]], [[-1.0, -1.0], [-1.0, -1.0]]])
    >>> smallest_singular_value(J, dJ)[0].__round__(3)
    0.618
    """
    J = matrix('the Jacobian', J)
    m, n = J.shape
    K = np.linalg.cholesky(metric('task metric', m, task_metric))
    L = np.linalg.cholesky(metric('joint metric', n, joint_metric))
    U, s, W_T = np.linalg.svd(K.T @ np.linalg.solve(L, J.T).T)
    full = structural_rank(J)
    if not full:
        raise ArgumentError('the Jacobian is zero: no joint moves the link')
    sigma, gradient = float(s[full - 1]), np.zeros(n)
    if dJ is not None:
        partials = finite('dJ', dJ)
        if partials.shape != (m, n, n):
            raise ArgumentError(f'dJ must have shape {(m, n, n)}, got {partials.shape}')
        left, right = K @ U[:, full - 1], np.linalg.solve(L.T, W_T[full - 1])
        gradient = np.einsum('i,ijk,j->k', left, partials, right)
    return sigma, gradient
