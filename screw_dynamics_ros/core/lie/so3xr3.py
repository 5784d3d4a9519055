# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The direct product SO(3) x R^3: rotation and translation are independent.

The arrays are those of `se3`, a pose [[R, r], [0, 1]] (..., 4, 4) and X = (xi, eta) (..., 6),
angular part first, with another product: (R1, r1)(R2, r2) = (R1 R2, r1 + r2). This is not the group
of frame transformations, its one-parameter subgroups are not screw motions, and the matrix product
of two poses is not its product: use `compose`. Right trivialization of a motion gives the hybrid
twist (vee(Rdot R^T), rdot), left trivialization the mixed twist (vee(R^T Rdot), rdot).

NaN in gives NaN out, without an exception. `compose`, `inverse`, `Ad` and `ad` accept object
arrays, `exp`, `dexp` and `dexp_inv` recorded scalars.

Sources: Müller and Terze, section 2.2; Müller 2018a, remark 17 (doc/spec/README.md).
"""

import numpy as np
import numpy.typing as npt

from ..types import Array
from . import se3, so3
from ._arrays import as_float_stack, as_recordable_stack, as_stack, check_pose


def compose(C1: npt.ArrayLike, C2: npt.ArrayLike) -> Array:
    """Return the group product (R1 R2, r1 + r2) (...,4,4).

    Source: Müller 2018a, remark 17 (K-36); Müller and Terze (16) (I-11).

    >>> C = se3.pose(so3.exp([0, 0, np.pi / 2]), [1, 0, 0])
    >>> compose(C, C)[:3, 3]
    array([2., 0., 0.])
    """
    C1 = as_stack('so3xr3.compose', 'C1', C1, 4, 4)
    C2 = as_stack('so3xr3.compose', 'C2', C2, 4, 4)
    return se3.pose(C1[..., :3, :3] @ C2[..., :3, :3], C1[..., :3, 3] + C2[..., :3, 3])


def inverse(C: npt.ArrayLike) -> Array:
    """Return the inverse (R^T, -r) (...,4,4).

    Source: Müller 2018a, remark 17 (K-36).

    >>> inverse(se3.pose(so3.exp([0, 0, np.pi / 2]), [1, 2, 3]))[:3, 3]
    array([-1., -2., -3.])
    """
    C = as_stack('so3xr3.inverse', 'C', C, 4, 4)
    return se3.pose(np.swapaxes(C[..., :3, :3], -1, -2), -C[..., :3, 3])


def exp(X: npt.ArrayLike) -> Array:
    """Return the pose (exp xi~, eta) (...,4,4) of X = (xi, eta) (...,6), (rad, m).

    Source: Müller 2018a, remark 17 (K-36); Müller and Terze (18) (I-11).

    >>> exp([0, 0, np.pi / 2, 1, 2, 3])[:3, 3]
    array([1., 2., 3.])
    """
    X = as_recordable_stack('so3xr3.exp', 'X', X, 6)
    return se3.pose(so3.exp(X[..., :3]), X[..., 3:])


def log(C: npt.ArrayLike) -> Array:
    """Return the canonical coordinates (log R, r) (...,6), (rad, m), of a pose (...,4,4).

    Raises ArgumentError if C is not a rigid motion.

    Source: Müller 2018a, remark 17 (K-36).

    >>> log(exp([0.1, -0.2, 0.3, 1, 2, 3])).round(6) + 0.0
    array([ 0.1, -0.2,  0.3,  1. ,  2. ,  3. ])
    """
    C = as_float_stack('so3xr3.log', 'C', C, 4, 4)
    check_pose('so3xr3.log', C)
    return np.concatenate([so3.log(C[..., :3, :3]), C[..., :3, 3]], axis=-1)


def dexp(X: npt.ArrayLike) -> Array:
    """Return the differential diag(dexp_xi, I) (...,6,6) of exp: hybrid twist = dexp_X Xdot.

    Source: Müller and Terze (19) (I-11).

    >>> (dexp([0, 0, np.pi, 1, 0, 0]) @ [1, 0, 0, 4, 5, 6]).round(6) + 0.0
    array([0.     , 0.63662, 0.     , 4.     , 5.     , 6.     ])
    """
    X = as_recordable_stack('so3xr3.dexp', 'X', X, 6)
    return _block_diagonal(so3.dexp(X[..., :3]), np.eye(3))


def dexp_inv(X: npt.ArrayLike) -> Array:
    """Return the inverse of `dexp` (...,6,6).

    Raises ArgumentError at its singularities, |xi| = 2 pi, 4 pi, and so on.

    Source: Müller 2018a, remark 17 (K-36).

    >>> (dexp_inv([0, 0, np.pi, 1, 0, 0]) @ [0, 2, 0, 4, 5, 6]).round(6) + 0.0
    array([3.141593, 0.      , 0.      , 4.      , 5.      , 6.      ])
    """
    X = as_recordable_stack('so3xr3.dexp_inv', 'X', X, 6)
    return _block_diagonal(so3.dexp_inv(X[..., :3]), np.eye(3))


def Ad(C: npt.ArrayLike) -> Array:
    """Return the adjoint matrix diag(R, I) (...,6,6): mixed to hybrid twist.

    Source: Müller 2018a, remark 17 (K-36).

    >>> Ad(exp([0, 0, np.pi / 2, 1, 2, 3])).round(6) @ [1, 0, 0, 4, 5, 6]
    array([0., 1., 0., 4., 5., 6.])
    """
    C = as_stack('so3xr3.Ad', 'C', C, 4, 4)
    return _block_diagonal(C[..., :3, :3], np.eye(3))


def ad(X: npt.ArrayLike) -> Array:
    """Return the matrix diag(xi~, 0) (...,6,6) of the Lie bracket (xi1 × xi2, 0).

    Source: Müller 2018a, remark 17 (K-36); Müller and Terze (17) (I-11).

    >>> ad([0, 0, 1, 1, 2, 3]) @ [1, 0, 0, 4, 5, 6]
    array([0., 1., 0., 0., 0., 0.])
    """
    X = as_stack('so3xr3.ad', 'X', X, 6)
    return _block_diagonal(so3.hat(X[..., :3]), np.zeros((3, 3)))


def _block_diagonal(upper: Array, lower: Array) -> Array:
    matrix = np.zeros((*upper.shape[:-2], 6, 6), dtype=upper.dtype)
    matrix[..., :3, :3], matrix[..., 3:, 3:] = upper, lower
    return matrix
