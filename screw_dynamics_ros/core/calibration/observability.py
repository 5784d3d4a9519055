# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Selection of informative configurations for calibration, before measuring.

With the weighted error Jacobians A_i of N configurations, M = sum A_i^T A_i is the information; the
covariance of the parameters is its inverse. The volume of their confidence ellipsoid is minimal for
the maximum of det M (D-optimal design), which also maximizes the observability index

    O_1 = (s_1 ... s_k)^(1/k) / sqrt(N)

of the singular values s of the stacked A. Another index is the condition number s_1 / s_k.

Source: Borm and Menq 1991, *Determination of optimal measurement configurations for robot
calibration based on observability measure*, Int. Journal of Robotics Research 10(1); the exchange
of Mitchell 1974, *An algorithm for the construction of D-optimal experimental designs*,
Technometrics 16(2).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_count
from ..description.robot_description import RobotDescription
from ..errors import ArgumentError
from ..statistics.least_squares import RANK_TOLERANCE, Fit
from ..types import Array
from .chain_errors import ChainErrors
from .measurements import Measurements

#: Largest number of exchanges per chosen configuration.
MAX_PASSES = 10

#: Initial information relative to that of all candidates, which makes the first choices unique.
PRIOR_INFORMATION = 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """Configurations chosen among candidates.

    Attributes
    ----------
    chosen : tuple of int
        Indices of the candidates, in increasing order.
    index : float
        O_1 of these, with columns of A normalized over all candidates.
    condition : float
        s_1 / s_k of their stacked A, with columns of unit length.
    """

    chosen: tuple[int, ...]
    index: float
    condition: float


def informative_configurations(
    description: RobotDescription,
    link: str,
    candidates: ArrayLike,
    count: int,
    instrument: Callable[[Array], Measurements],
    *,
    estimate: Collection[str] = ('axes', 'base', 'target'),
    base: ArrayLike | None = None,
    target: ArrayLike | None = None,
) -> Design:
    """Return the `count` configurations that determine the errors best.

    Parameters
    ----------
    description, link, estimate, base, target
        As in `calibrate_robot`.
    candidates : (N, nq) array
        Configurations that can be measured: collision-free and visible for the instrument.
    count : int
    instrument : callable
        Returns simulated measurements of targets at poses (n, 4, 4) in its frame, for example
        ``lambda T: MeasuredPoses(T, 1e-4, 1e-4)``.

    Raises
    ------
    ArgumentError
        More configurations wanted than candidates, or too few for the parameters.

    Notes
    -----
    Parameters that all candidates together do not determine are omitted, as in `calibrate_robot`.
    """
    check_count('count', count)
    model = ChainErrors(description, link, estimate, base, target)
    T, _ = model.predicted(candidates, np.zeros(len(model.names)))
    seen = instrument(T)
    model = ChainErrors(description, link, estimate, base, target, seen.of_base, seen.of_target)
    P = np.zeros(len(model.names))
    A = seen.linearized(*model.predicted(candidates, P))[1] / seen.deviations[:, None]
    N, d, k = A.shape
    pivots, _ = Fit(A.reshape(N * d, k), RANK_TOLERANCE).null_basis(model.preference)
    A = np.delete(A, pivots, axis=2)
    if not A.shape[2] <= count * d <= N * d:
        raise ArgumentError(
            f'count = {count} of {N} candidates with {d} equations each, for {A.shape[2]} '
            'parameters: choose at least as many equations as parameters, at most all candidates'
        )
    A = A / np.linalg.norm(A.reshape(N * d, -1), axis=0)  # det M does not depend on units
    chosen = d_optimal(A, count)
    own = Fit(A[chosen].reshape(count * d, -1), RANK_TOLERANCE)
    index = np.exp(np.mean(np.log(own.s))) / np.sqrt(count) if own.s[-1] > 0.0 else 0.0
    condition = own.s[0] / own.s[-1] if own.s[-1] > 0.0 else np.inf
    return Design(tuple(chosen), float(index), float(condition))


def d_optimal(A: Array, count: int) -> list[int]:
    """Return `count` indices of A (N, d, k) that maximize det sum A_i^T A_i, in increasing order.

    Greedy selection, followed by exchanges: the best one is added and the worst removed, until both
    are the same. The determinant increases with each exchange.
    """
    if count == len(A):
        return list(range(count))  # there is nothing to exchange
    k = A.shape[2]
    M = PRIOR_INFORMATION * np.eye(k) * np.trace(np.einsum('ndi,ndj->ij', A, A)) / k
    chosen: list[int] = []
    while len(chosen) < count:
        gain = _gain(A, M, chosen)
        chosen.append(int(np.argmax(gain)))
        M = M + A[chosen[-1]].T @ A[chosen[-1]]
    for _ in range(MAX_PASSES * count):
        added = int(np.argmax(_gain(A, M, chosen)))
        M = M + A[added].T @ A[added]
        chosen.append(added)
        worst = int(np.argmin(_loss(A[chosen], M)))
        dropped = chosen.pop(worst)
        M = M - A[dropped].T @ A[dropped]
        if dropped == added:
            break
    return sorted(chosen)


def _gain(A: Array, M: Array, chosen: list[int]) -> Array:
    """Return log det(M + A_i^T A_i) - log det M for each i that is not chosen."""
    gain: Array = np.linalg.slogdet(np.eye(A.shape[1]) + _seen(A, M))[1]
    gain[chosen] = -np.inf
    return gain


def _loss(A: Array, M: Array) -> Array:
    """Return log det M - log det(M - A_i^T A_i) for each i."""
    return -np.linalg.slogdet(np.eye(A.shape[1]) - _seen(A, M))[1]


def _seen(A: Array, M: Array) -> Array:
    """Return A_i M^-1 A_i^T (N, d, d)."""
    result: Array = A @ np.linalg.solve(M, np.swapaxes(A, 1, 2))
    return result
