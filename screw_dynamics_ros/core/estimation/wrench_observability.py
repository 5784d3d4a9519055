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
Golub and Van Loan, Matrix Computations, 4th edition, 5.5. `wrench_decomposition` has the functions.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..compile.typed.library import calls
from ..compile.typed.records import Record
from ..types import Array
from . import wrench_decomposition as d
from .contact_wrench import lengths
from .low_pass import LowPassSteps, advance_low_pass


class WrenchObservability(d.Decomposition):
    """The decomposition (1) of a Jacobian, and the estimator (2).

    A change of `characteristic_length`, `threshold` or `damping` requires another `decompose`.

    Parameters
    ----------
    joints : int
        n.
    """

    def __init__(self, joints: int) -> None:
        self.joints, self.moving = joints, np.zeros(joints, dtype=np.int64)
        self.singular_values, self.u = np.zeros(6), np.zeros(36)
        self.v, self.G, self.row = np.zeros(6 * joints), np.zeros(6 * joints), np.zeros(joints)
        (
            self._decompose,
            self._estimate_wrench,
            self._propagate_covariance,
            self._set_axis_shares,
            self._condition_number,
        ) = calls(
            d.decompose,
            d.estimate_wrench,
            d.propagate_covariance,
            d.set_axis_shares,
            d.condition_number,
        )

    def decompose(self, jacobian: Array) -> None:
        """Decompose a Jacobian (6, n).

        If an element is not finite, the singular values are NaN and the rank is 0.
        """
        self._decompose(self, vector(jacobian))

    @property
    def directions(self) -> Array:
        """u_k, moments first, (6, rank)."""
        return self.u.reshape(6, 6)[: self.rank].T

    @property
    def torques(self) -> Array:
        """v_k, (n, rank)."""
        return self.v.reshape(6, -1)[: self.rank].T

    @property
    def scale(self) -> Array:
        """The diagonal of D, (6,)."""
        return lengths(self.characteristic_length)

    @property
    def condition(self) -> float:
        """Largest singular value over the smallest of the six, infinite if that is zero."""
        number: float = self._condition_number(self)
        return number

    @property
    def axis_shares(self) -> Array:
        """Observable share of each axis, 0 to 1, (6,), moments first."""
        shares = np.empty(6)
        self._set_axis_shares(self, d.MOMENTS_FIRST, shares)
        return shares

    def wrench(self, torques: Array) -> Array:
        """Return the reduced wrench (6,), moment first, for external torques (n,)."""
        w = np.empty(6)
        self._estimate_wrench(self, d.MOMENTS_FIRST, vector(torques), w)
        return w

    def covariance(self, torque_covariance: Array) -> Array:
        """Return the covariance (6, 6) of the reduced wrench, moments first: G P G^T.

        It is that of the observable part, and zero along unobservable directions.
        """
        C = np.empty(36)
        self._propagate_covariance(self, d.MOMENTS_FIRST, vector(torque_covariance), C)
        return C.reshape(6, 6)


def vector(array: Array) -> Array:
    """Return the elements of an array as a contiguous vector."""
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1)


def observability(
    jacobian: Array, threshold: float, characteristic_length: float, damping: float = 0.0
) -> WrenchObservability:
    """Return the decomposition of a Jacobian into observable and unobservable wrenches.

    Parameters
    ----------
    jacobian : (6, n) array
        Angular rows first. The wrench is at its origin, resolved in its axes.
    threshold : float
        Directions with larger singular values [m] are observable.
    characteristic_length : float
        L [m].
    damping : float
        [m].
    """
    seen = WrenchObservability(jacobian.shape[1])
    seen.threshold, seen.damping = threshold, damping
    seen.characteristic_length = characteristic_length
    seen.decompose(jacobian)
    return seen


class ReducedWrench(Record):
    """The reduced wrench from sample to sample, low-pass filtered.

    Attributes
    ----------
    filter : LowPassSteps
        It restarts after omitted samples, after values that are not finite, and if the number of
        observable directions changes.
    state : (12,) array
        Of the filter, see `low_pass_step`.
    last, last_rank : int
        Number of the last sample, and its rank.
    """

    filter: LowPassSteps
    state: Floats
    last: int
    last_rank: int

    def __init__(self) -> None:
        self.filter, self.state, self.last = LowPassSteps(), np.zeros(12), -1

    def take(
        self,
        seen: WrenchObservability,
        torques: Array,
        number: int,
        elapsed: int,
    ) -> Array | None:
        """Return the wrench of a sample (6,), moment first, None if nothing is observable.

        Parameters
        ----------
        seen : WrenchObservability
        torques : (n,) array
            External torques [N m, N].
        number, elapsed : int
            Number of the sample, and time since the last one [ns], see `StateClock`.
        """
        wrench = seen.wrench(torques)
        is_observable = filter_reduced(self, wrench, seen.rank, number, elapsed)
        return wrench if is_observable else None


@typed
def filter_reduced(r: ReducedWrench, w: Floats, rank: int, number: int, elapsed: int) -> bool:
    """Filter the wrench of a sample (6,); return False if nothing is observable."""
    follows = r.last == number - 1 and rank == r.last_rank
    r.last = number
    r.last_rank = rank
    if rank == 0 or r.filter.cutoff == 0.0:
        return rank != 0
    advance_low_pass(r.filter, elapsed if follows else 0)
    e = r.filter.weights
    total = 0.0
    for k in range(6):
        y = e[0] * r.state[6 + k] + e[1] * r.state[k] + e[2] * w[k]
        total += w[k] + y
        r.state[k] = w[k]
        r.state[6 + k] = y
        w[k] = y
    if not math.isfinite(total):
        r.last = -1
        for k in range(12):
            r.state[k] = 0.0
    return True
