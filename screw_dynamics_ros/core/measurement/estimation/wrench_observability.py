# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Observability of a contact wrench from joint torques, and the reduced wrench.

A wrench w at a link gives the torques J^T w. With the moments made comparable to forces by the
length L, D = diag(L, L, L, 1, 1, 1), and

    D J = U diag(s) V^T,        w = D sum_k u_k x_k,        tau = sum_k v_k s_k x_k,        (1)

the torques depend on the component x_k of the unit wrench D u_k (1 N) with the gain s_k [m].
Directions with s_k above a threshold are observable. In these directions, the least-squares
solution is

    w = G tau,        G = D sum_k u_k s_k / (s_k^2 + damping^2) v_k^T,                      (2)

which has minimum norm: zero along unobservable directions. If all six directions are observable, it
is that of `contact_wrench.contact_wrench`. The observable share of each axis is the squared length
of its projection, the diagonal of sum u_k u_k^T: 1 if the component can be estimated, 0 if not, and
in between if it can be estimated only in combination with others.

Example: one joint about z is loaded by moments about it and by forces along y, 0.5 m away:

>>> J = np.array([[0, 0, 1.0, 0, 0.5, 0]]).T
>>> seen = observability(J, threshold=0.02, characteristic_length=0.5)
>>> seen.rank, seen.singular_values.round(3), seen.axis_shares.round(3)
(1, array([0.707, 0.   , 0.   , 0.   , 0.   , 0.   ]), array([0. , 0. , 0.5, 0. , 0.5, 0. ]))
>>> seen.wrench(np.array([3.0]))  # moment and force contribute equally: 1.5 N m each
array([0. , 0. , 1.5, 0. , 3. , 0. ])

Source: Bruyninckx 2010 (7.42) to (7.44) (C-107), 4.9 on metrics (B-079); singular values as in
Golub and Van Loan, Matrix Computations, 4th edition, 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from screw_dynamics_ros.core.measurement.estimation.contact_wrench import lengths
from screw_dynamics_ros.core.measurement.estimation.low_pass import LowPassSteps, low_pass_step
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True, eq=False)
class WrenchObservability:
    """The decomposition (1) of a Jacobian.

    Attributes
    ----------
    singular_values : (6,) array
        s [m], in descending order; zeros beyond the number of joints.
    rank : int
        Number of singular values above the threshold.
    directions : (6, rank) array
        u_k, moments first.
    torques : (n, rank) array
        v_k.
    scale : (6,) array
        Diagonal of D.
    """

    singular_values: Array
    rank: int
    directions: Array
    torques: Array
    scale: Array
    _estimators: dict[float, Array] = field(default_factory=dict, repr=False)

    @property
    def condition(self) -> float:
        """Largest singular value over the smallest of the six, infinite if that is zero."""
        first, last = self.singular_values[[0, -1]].tolist()
        return first / last if last > 0.0 else float('inf')

    @property
    def axis_shares(self) -> Array:
        """Observable share of each axis, 0 to 1, (6,), moments first."""
        shares: Array = np.square(self.directions).sum(axis=1)
        return shares

    def estimator(self, damping: float = 0.0) -> Array:
        """Return G of (2), (6, n), moments first [1/m and 1]; damping [m]. Computed once."""
        if damping not in self._estimators:
            s = self.singular_values[: self.rank]
            gains = s / (s * s + damping * damping)
            G = self.scale[:, None] * (self.directions * gains) @ self.torques.T
            self._estimators[damping] = G
        return self._estimators[damping]

    def wrench(self, torques: Array, damping: float = 0.0) -> Array:
        """Return the reduced wrench (6,), moment first, for external torques (n,)."""
        w: Array = self.estimator(damping) @ torques
        return w

    def covariance(self, torque_covariance: Array, damping: float = 0.0) -> Array:
        """Return the covariance (6, 6) of the reduced wrench, moments first: G P G^T.

        It is that of the observable part, and zero along unobservable directions.
        """
        G = self.estimator(damping)
        C: Array = G @ torque_covariance @ G.T
        return 0.5 * (C + C.T)


def observability(
    jacobian: Array, threshold: float, characteristic_length: float
) -> WrenchObservability:
    """Return the decomposition of a Jacobian into observable and unobservable wrenches.

    Parameters
    ----------
    jacobian : (6, n) array
        Finite; angular rows first. The wrench is at its origin, resolved in its axes.
    threshold : float
        Directions with larger singular values [m] are observable.
    characteristic_length : float
        L [m].
    """
    scale = lengths(characteristic_length)
    U, found, Vt = np.linalg.svd(scale[:, None] * jacobian, full_matrices=False)
    s = np.zeros(6)
    s[: len(found)] = found
    rank = int((found > threshold).sum())
    return WrenchObservability(s, rank, U[:, :rank], Vt[:rank].T, scale)


class ReducedWrench:
    """The reduced wrench from sample to sample, low-pass filtered.

    Attributes
    ----------
    filter : LowPassSteps
        It restarts after omitted samples, after values that are not finite, and if the number of
        observable directions changes.
    """

    def __init__(self) -> None:
        self.filter = LowPassSteps()
        self._state = np.zeros(12)
        self._last, self._last_rank = -1, 0  # number of the last sample, and its rank

    def take(
        self,
        seen: WrenchObservability,
        torques: Array,
        damping: float,
        number: int,
        stamp: int,
        restarted: bool,
    ) -> Array | None:
        """Return the wrench of a sample (6,), moment first, None if nothing is observable.

        Parameters
        ----------
        seen : WrenchObservability
        torques : (n,) array
            External torques [N m, N].
        damping : float
            [m].
        number, stamp : int
            Number and stamp [ns] of the sample.
        restarted : bool
            Whether the sample is the first after a pause.
        """
        follows = self._last == number - 1 and seen.rank == self._last_rank
        self._last, self._last_rank = number, seen.rank
        if not seen.rank:
            return None
        wrench = seen.wrench(torques, damping)
        if not self.filter.cutoff:
            return wrench
        self.filter.advance(stamp, restarted or not follows)
        state = low_pass_step(self._state, wrench, self.filter.weights)
        if np.isfinite(state.sum()):
            self._state = state
        else:
            self._state, self._last = np.zeros(12), -1
        return state[6:]
