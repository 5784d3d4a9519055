# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Generalized inverses of a linear map between spaces with metrics, by one decomposition.

Joint rates v and twists V = J v have no natural norm, because rates of revolute and prismatic
joints, and angular and linear velocities, have different units. The metrics are therefore explicit:
|v|^2 = v^T M v with a joint metric M and |V|^2 = V^T C V with a task metric C, both symmetric and
positive definite. With M = L L^T and C = K K^T (Cholesky) the map is, in coordinates in which both
metrics are the identity::

    K^T J L^-T = U diag(s) W^T

This decomposition gives the weighted pseudo-inverse, damped least squares, the null space and the
directions lost at a singularity. By default both metrics are the identity: 1 rad is weighted as 1
m.

Source: Bruyninckx 2010 (5.33), (5.45), (5.51), (5.52), (5.54), sections 5.8.2 and 5.9.4, with the
errata E-03 to E-08 (C-020, C-021, C-026, C-027, C-041, C-042, C-045).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, float_array
from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE
from ...types import Array


@dataclass(frozen=True)
class AdaptiveDamping:
    """Damping near a singularity only: lambda^2 = largest^2 (1 - (s / threshold)^2).

    There is no damping if the smallest singular value s is at least `threshold`; both are in the
    unit of the scaled singular values (C-043).
    """

    largest: float
    threshold: float

    def __post_init__(self) -> None:
        for name in ('largest', 'threshold'):
            check_number(f'{name} of the adaptive damping', getattr(self, name), positive=True)

    def at(self, smallest: float) -> float:
        """Return the damping for the smallest singular value.

        >>> AdaptiveDamping(0.2, 0.1).at(0.06).__round__(3), AdaptiveDamping(0.2, 0.1).at(0.3)
        (0.16, 0.0)
        """
        ratio = min(smallest / self.threshold, 1.0)
        return self.largest * float(np.sqrt(1.0 - ratio * ratio))


class WeightedInverse:
    """The generalized inverses of A for a metric on its domain and one on its range.

    Parameters
    ----------
    A : (m, n) array
        For instance a Jacobian: rows are components of twists, columns joints.
    domain_metric, range_metric : (n,) or (n, n), (m,) or (m, m), optional
        Symmetric positive definite, or the diagonal; the identity by default.
    cutoff : float
        Singular values up to `cutoff` times the largest are treated as zero.

    Attributes
    ----------
    singular_values : (min(m, n),) array
        Of the map between the metrics, in descending order.
    full_rank : int
        The largest possible rank: columns of zeros, of joints that do not move the link, do not
        contribute. A row of zeros is a lost direction.
    rank : int
    null_space : (n, n - rank) array
        Basis Z of the solutions of A Z = 0, orthonormal in the domain metric: Z^T M Z = 1.
    lost : (m, m - rank) array
        Basis of the orthogonal complement of the range of A, in the range metric.
    annihilators : (m, m - rank) array
        Basis of the solutions of y^T A = 0; for a Jacobian, the reciprocal wrenches. They are C
        times `lost` and span the same space for any metric.

    Raises
    ------
    ArgumentError
        If A or a metric holds NaN or infinity, or a metric is not symmetric positive definite.

    Examples
    --------
    Two joints move the same coordinate; the one with the larger weight moves less.

    >>> WeightedInverse(np.array([[1.0, 1.0]]), domain_metric=[1.0, 3.0]).inverse()
    array([[0.75],
           [0.25]])
    """

    def __init__(
        self,
        A: ArrayLike,
        domain_metric: ArrayLike | None = None,
        range_metric: ArrayLike | None = None,
        cutoff: float = TOLERANCE,
        *,
        names: tuple[str, str] = ('joint', 'task'),
    ) -> None:
        check_number('cutoff', cutoff)
        self.A = finite('the Jacobian', A)
        m, n = self.A.shape
        self._M = metric(f'{names[0]} metric', n, domain_metric)
        self._C = metric(f'{names[1]} metric', m, range_metric)
        L, K = np.linalg.cholesky(self._M), np.linalg.cholesky(self._C)
        U, s, W_T = np.linalg.svd(K.T @ np.linalg.solve(L, self.A.T).T)
        self.singular_values: Array = s
        self.full_rank = structural_rank(self.A)
        self.rank = r = int(np.sum(s > cutoff * s.max(initial=0.0)))
        self._directions = np.linalg.solve(K.T, U)
        self._to_singular = U[:, :r].T @ K.T  # the coordinates of the range that A reaches
        self._from_singular = np.linalg.solve(L.T, W_T.T)
        self.null_space: Array = self._from_singular[:, r:]
        self.lost: Array = self._directions[:, r:]
        self.annihilators: Array = K @ U[:, r:]

    @property
    def smallest(self) -> float:
        """The singular value that determines full rank; 0 if all are zero."""
        return float(self.singular_values[self.full_rank - 1]) if self.full_rank else 0.0

    def output_direction(self, k: int) -> Array:
        """Return the unit vector of the range (m,) that belongs to singular value k."""
        return self._directions[:, k]

    def damping(self, damping: float | AdaptiveDamping) -> float:
        """Return lambda for this map; raises `ArgumentError` for a negative one or NaN."""
        if isinstance(damping, AdaptiveDamping):
            return damping.at(self.smallest)
        check_number('the damping', damping)
        return float(damping)

    def inverse(self, damping: float | AdaptiveDamping = 0.0) -> Array:
        """Return the pseudo-inverse A^# (n, m), or that of damped least squares.

        A^# b is the least-norm minimizer x of |A x - b|^2 + damping^2 |x|^2 in the two metrics:
        (A^T C A + lambda^2 M)^-1 A^T C = L^-T W diag(s / (s^2 + lambda^2)) U^T K^T. Its gain along
        a singular vector is at most 1 / (2 lambda), at s = lambda.
        """
        square = self.damping(damping) ** 2
        s = self.singular_values[: self.rank]
        return self._from_singular[:, : self.rank] @ (
            (s / (s * s + square))[:, None] * self._to_singular
        )

    def solve(self, b: Array, damping: float | AdaptiveDamping = 0.0) -> Array:
        """Return `inverse(damping)` @ b."""
        square = self.damping(damping) ** 2
        s = self.singular_values[: self.rank]
        return self._from_singular[:, : self.rank] @ (
            s / (s * s + square) * (self._to_singular @ b)
        )

    def null_projector(self) -> Array:
        """Return N = 1 - A^# A = Z Z^T M (n, n), the projector on the null space (5.47)."""
        return self.null_space @ self.null_space.T @ self._M

    def range_projector(self) -> Array:
        """Return P = A A^# (m, m), the projector on what A reaches (5.55)."""
        return self.A @ self.inverse()

    def range_norm(self, b: Array) -> float:
        """Return |b| in the range metric."""
        return float(np.sqrt(b @ self._C @ b))


def structural_rank(A: Array) -> int:
    """Return the rank that a Jacobian with these columns of zeros can have at most.

    >>> structural_rank(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    1
    """
    return min(len(A), int(np.sum(A.any(axis=0))))


def metric(name: str, size: int, value: ArrayLike | None) -> Array:
    """Return a metric as an (n, n) matrix; a vector is its diagonal, None the identity.

    Raises
    ------
    ArgumentError
        If it has another shape, contains NaN, or is not symmetric positive definite: with a
        singular weight the solution is not unique.
    """
    if value is None:
        return np.eye(size)
    matrix = finite(name, value)
    if matrix.shape == (size,):
        if not (matrix > 0.0).all():
            k = int(np.argmin(matrix))
            raise ArgumentError(
                f'the {name} is singular or indefinite: weight {k} is {matrix[k]:.6g}; weights '
                'must be positive (select rows of the task instead of giving them weight 0)'
            )
        return np.diag(matrix)
    if matrix.shape != (size, size):
        raise ArgumentError(
            f'the {name} must have shape ({size},) or ({size}, {size}), got {matrix.shape}'
        )
    largest = np.abs(matrix).max(initial=0.0)
    if (np.abs(matrix - matrix.T) > 1e-9 * largest).any():
        raise ArgumentError(f'the {name} must be symmetric')
    matrix = 0.5 * (matrix + matrix.T)
    values = np.linalg.eigvalsh(matrix)
    if not values.min(initial=np.inf) > 1e-14 * largest:
        raise ArgumentError(
            f'the {name} is singular or indefinite: its smallest eigenvalue is '
            f'{values.min():.6g}; it must be positive definite'
        )
    return matrix


def length_metric(length: float, links: int = 1) -> Array:
    """Return the diagonal (6 links,) of the twist metric |V|^2 = length^2 |omega|^2 + |v|^2.

    1 rad/s is weighted as `length` m/s: the characteristic length in meters. The metric of wrenches
    (moment, force) is the inverse of this metric.

    >>> length_metric(0.5)
    array([0.25, 0.25, 0.25, 1.  , 1.  , 1.  ])
    """
    check_number('the characteristic length', length, positive=True)
    return np.tile([length**2] * 3 + [1.0] * 3, links)


def marquardt_metric(J: ArrayLike, task_metric: ArrayLike | None = None) -> Array:
    """Return the diagonal (n,) of J^T C J: the joint metric of Levenberg and Marquardt (C-043).

    With it damping is in proportion to what each joint does for the task. A joint that does nothing
    has weight 1 and stays at rest.

    >>> marquardt_metric([[2.0, 0.0, 1.0]])
    array([4., 1., 1.])
    """
    J = finite('the Jacobian', J)
    diagonal = np.einsum('in,ij,jn->n', J, metric('task metric', len(J), task_metric), J)
    return np.where(diagonal > 0.0, diagonal, 1.0)


def finite(name: str, value: ArrayLike) -> Array:
    """Return a float64 array without NaN or infinity; raises `ArgumentError`."""
    array = float_array(name, value)
    if not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise ArgumentError(f'{name} holds NaN or infinity: {array[place]} at index {place}')
    return array
