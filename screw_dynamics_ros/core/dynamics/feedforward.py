# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Feedforward torques of a controller whose robot compensates some terms, and the inverse.

    tau = tau_needed - sum over k of (1 - s_k) tau_k

where the robot itself compensates the terms tau_k with the share s_k = 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Array


def feedforward(needed: Array, measured: tuple[Array, ...], shares: Array) -> Array:
    """Return the needed torques minus those that the robot adds itself, (n,) [N m, N].

    needed - sum (1 - s_k) tau_k: the robot compensates a term with the share s_k = 0, evaluated in
    the measured instead of the desired state; it does not compensate a term with the share 1.

    Parameters
    ----------
    needed : (n,) array
        Torques of the desired motion.
    measured : tuple of k (n,) arrays
        The terms tau_k in the measured state.
    shares : (k,) array

    Examples
    --------
    >>> import numpy as np
    >>> gravity, coriolis = np.array([10.0, 5.0]), np.array([1.0, 2.0])
    >>> feedforward(np.array([12.0, 8.0]), (gravity, coriolis), np.array([0.0, 1.0]))
    array([2., 3.])
    """
    for share, torques in zip(shares, measured):
        needed = needed - (1.0 - share) * torques
    return needed


def completed(torques: Array, terms: Sequence[Array], shares: Sequence[float] | Array) -> Array:
    """Return torques plus the terms that they do not include, (n,) [N m, N].

    torques + sum (1 - s_k) tau_k: the share s_k is 1 for a term tau_k that they include.

    Examples
    --------
    >>> import numpy as np
    >>> completed(np.array([2.0, 3.0]), [np.array([10.0, 5.0])], [0.0])
    array([12.,  8.])
    """
    for share, term in zip(shares, terms):
        torques = torques + (1.0 - share) * term
    return torques
