# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularities: lost twists of a link, wrenches without joint torques, distance measures.

Singular values of a Jacobian depend on units and frame, because twists have no natural norm. They
are meaningful only with metrics, which are part of the report: the characteristic length l weights
1 rad as l meters, |V|^2 = l^2 |omega|^2 + |v|^2, and a joint metric can weight revolute relative to
prismatic joints. The rank and the reciprocal wrenches do not depend on either.

With singular vectors u and w of K^T J L^-T (`weighted_inverse`) a simple singular value of a
Jacobian between two metrics changes by

    d sigma / dq_k = u^T K^T (dJ / dq_k) L^-T w

for metrics that do not depend on q. Where two singular values meet, this is a subgradient.

Source: Bruyninckx 2010, sections 5.8, 5.9.1, 7.7 and 7.19, with the errata E-03, E-31 and E-32
(C-020, C-022, C-033, C-036, C-110).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE
from ...linear import cross, least_squares
from ...reproducible import reproducible
from ...types import Array
from .velocity import matrix
from .weighted_inverse import WeightedInverse, finite, length_metric, metric, structural_rank

#: Sine of the largest angle between axes up to which they are one line, if they meet.
PARALLEL_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Decoupled:
    """Singularities of an arm whose last three axes meet in one point, the wrist center (7.19).

    det J = wrist * elbow * shoulder, up to sign. Names as for a 321 arm: shoulder, upper arm,
    forearm, wrist.

    Attributes
    ----------
    wrist : float
        Volume of the three unit wrist axes; 0 when they lie in a plane.
    elbow : float
        |c_2 x c_3| with c_j the velocity of the wrist center for unit rate of joint j [m^2]; 0 when
        the wrist center lies in the plane of the axes 2 and 3: the arm is stretched or folded.
    shoulder : float
        c_1 . (c_2 x c_3) / |c_2 x c_3| [m]; 0 when joint 1 moves the wrist center in the plane of
        the arm only, for instance above the shoulder. NaN where `elbow` is zero.
    """

    wrist: float
    elbow: float
    shoulder: float


@dataclass(frozen=True, eq=False)
class SingularityReport:
    """Rank, lost and remaining motions of a link.

    Attributes
    ----------
    singular : bool
        Whether the rank is lower than the largest possible one for these joints.
    rank : int
    singular_values : (min(6, n),) array
        In descending order [m], of the Jacobian with angular rows times `length`.
    smallest : float
        The singular value that determines full rank [m]: the sixth, or the last for fewer joints.
    condition : float
        Largest over smallest; infinite in a singular configuration.
    length : float
        The characteristic length [m].
    lost_twists : (6, 6 - rank) array
        Unit twists orthogonal to all feasible twists, in the metric of `length`.
    reciprocal_wrenches : (6, 6 - rank) array
        Unit wrenches on the link without joint torques: J^T W = 0.
    null_motions : (n, n - rank) array
        Joint motions that do not move the link.
    weakest_twist : (6,) array
        Unit twist that requires the largest joint rates.
    manipulability : float
        Product of the singular values, sqrt(det(J M^-1 J^T)) in the metric of `length`,
        proportional to the volume of the twists of unit joint rates.
    decoupled : Decoupled or None
        For six joints whose last three axes intersect in one point.
    kinds : tuple of str
        Which of 'wrist', 'elbow', 'shoulder' are singular, for these arms.
    message : str
    """

    singular: bool
    rank: int
    singular_values: Array
    smallest: float
    condition: float
    length: float
    lost_twists: Array
    reciprocal_wrenches: Array
    null_motions: Array
    weakest_twist: Array
    manipulability: float
    decoupled: Decoupled | None
    kinds: tuple[str, ...]
    message: str


def singularity_report(
    J: ArrayLike,
    *,
    length: float = 1.0,
    joint_metric: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> SingularityReport:
    """Return the singularity report of a link.

    Parameters
    ----------
    J : (6, n) array
        Jacobian; twists and wrenches of the report are in its representation.
    length : float
        Characteristic length [m]: weight of 1 rad relative to 1 m.
    joint_metric : (n,) or (n, n) array, optional
        Weights joints relative to each other; by default the identity.
    tolerance : float
        Singular values up to `tolerance` times the largest are treated as zero; the same tolerance
        applies to the factors of `kinds`.

    Raises
    ------
    ArgumentError
        If J is not (6, n), holds NaN, or a metric is singular.

    Examples
    --------
    An extended planar arm: both joints move the tip in the transverse direction only.

    >>> J = np.zeros((6, 2))
    >>> J[2], J[4] = [1, 1], [2, 1]
    >>> report = singularity_report(J)
    >>> report.singular, report.rank, report.smallest.__round__(3)
    (False, 2, 0.382)
    """
    J = matrix('the Jacobian', J)
    if len(J) != 6:
        raise ArgumentError(f'the Jacobian must have shape (6, n), got {J.shape}')
    inverse = WeightedInverse(J, joint_metric, length_metric(length), tolerance)
    s, rank = inverse.singular_values, inverse.rank
    full, smallest = inverse.full_rank, inverse.smallest
    decoupled = decouple(J)
    kinds = singular_kinds(decoupled, tolerance) if decoupled else ()
    singular = rank < full
    message = (
        f'singular: {rank} of {full} freedoms left' + (f' ({", ".join(kinds)})' if kinds else '')
        if singular
        else f'regular: smallest singular value {smallest:.3g} m with 1 rad as {length:g} m'
    )
    return SingularityReport(
        singular=singular,
        rank=rank,
        singular_values=s,
        smallest=smallest,
        condition=float(s[0] / smallest) if rank == full > 0 else float('inf'),
        length=float(length),
        lost_twists=inverse.lost,
        reciprocal_wrenches=unit_columns(inverse.annihilators, 1.0 / length_metric(length)),
        null_motions=inverse.null_space,
        weakest_twist=inverse.output_direction(full - 1) if full else np.zeros(6),
        manipulability=float(np.prod(s[:full])),
        decoupled=decoupled,
        kinds=kinds,
        message=message,
    )


def manipulability_gradient(
    J: ArrayLike,
    dJ: ArrayLike,
    *,
    length: float = 1.0,
    joint_metric: ArrayLike | None = None,
) -> Array:
    """Return the gradient (n,) of sqrt(det(J M^-1 J^T)) in the metric of `length` (C-033).

    It is manipulability * trace(J^# dJ/dq_k); as `secondary` rates it keeps a redundant robot away
    from singularities. For a constant joint metric and a J of full row rank.

    Parameters
    ----------
    J : (6, n) array
    dJ : (6, n, n) array
        Its partial derivatives, dJ / dq_k at [..., k], as from `Robot.jacobian_partials`.

    Raises
    ------
    ArgumentError
        If the Jacobian has lost rank, a shape is wrong, a number not finite, or a metric singular.
    """
    J = matrix('the Jacobian', J)
    inverse = WeightedInverse(J, joint_metric, length_metric(length))
    if inverse.rank < len(J):
        raise ArgumentError(
            f'the manipulability has no gradient here: the Jacobian has rank {inverse.rank} of '
            f'{len(J)}'
        )
    partials = finite('dJ', dJ)
    if partials.shape != (*J.shape, J.shape[1]):
        raise ArgumentError(f'dJ must have shape {(*J.shape, J.shape[1])}, got {partials.shape}')
    return float(np.prod(inverse.singular_values)) * volume_slopes(inverse, partials)


def volume_slopes(inverse: WeightedInverse, partials: Array) -> Array:
    """Return d log(volume) / dq_k = trace(J^# dJ/dq_k), (n,), of the volume sqrt(det(J M^-1 J^T)).

    `partials` (m, n, n) are those of the map that `inverse` inverts.
    """
    slopes: Array = np.einsum('ji,ijk->k', inverse.inverse(), partials)
    return slopes


def decouple(J: Array, tolerance: float = 1e-9) -> Decoupled | None:
    """Return the factors of det J for six turning joints with a spherical wrist, None for others.

    `tolerance` is the distance from one point [m] at which wrist axes still meet. The frame of J
    does not matter.
    """
    J = J[:, J.any(axis=0)]
    if J.shape != (6, 6) or not np.allclose(np.linalg.norm(J[:3], axis=0), 1.0, atol=1e-9):
        return None
    center = common_point(J[:, 3:], tolerance)
    if center is None:
        return None
    # The velocity of the point of the link that is now at the wrist center.
    c = J[3:, :3] + cross(J[:3, :3].T, center).T
    normal = cross(c[:, 1], c[:, 2])
    elbow = float(np.linalg.norm(normal))
    wrist = float(np.linalg.det(J[:3, 3:]))
    shoulder = float(c[:, 0] @ normal / elbow) if elbow > 1e-12 else float('nan')
    return Decoupled(wrist, elbow, shoulder)


def common_point(screws: Array, tolerance: float) -> Array | None:
    """Return the point (3,) where the axes of unit turning screws (6, k) meet, None if nowhere.

    A screw (e, p x e) passes through x if e x x = -p x e = -v, three equations for each. Of axes in
    one line it is the point next to the origin.
    """
    e, v = reproducible((screws[:3].T, screws[3:].T))
    A, b = np.vstack([cross(each, np.eye(3)).T for each in e]), -v.ravel()  # e~
    spread = np.abs(cross(e[0], e)).max()
    point = np.mean(cross(e, v), axis=0)
    x = least_squares(A, b[:, None])[0][:, 0] if spread > PARALLEL_TOLERANCE else point
    return x if np.abs(A @ x - b).max() <= tolerance else None


def singular_kinds(decoupled: Decoupled, tolerance: float) -> tuple[str, ...]:
    """Return which of the factors are zero, relative to 1, 1 m^2 and 1 m."""
    kinds: Sequence[tuple[str, float]] = (
        ('wrist', decoupled.wrist),
        ('elbow', decoupled.elbow),
        ('shoulder', decoupled.shoulder),
    )
    return tuple(name for name, factor in kinds if abs(factor) <= tolerance)


def unit_columns(X: Array, weights: Array) -> Array:
    """Return the columns of X at length 1 in the metric diag(weights)."""
    return X / np.sqrt(np.einsum('ik,i,ik->k', X, weights, X))


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
