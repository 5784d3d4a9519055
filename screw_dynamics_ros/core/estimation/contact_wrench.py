# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench of one contact from external joint torques: the static relation J^T w = tau_ext.

All functions but `smallest_singular_value` can be recorded, see `core.compile.program.tracing`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..linear import solve_positive_definite
from ..types import Array


def external_torques(
    terms: Sequence[Array], shares: Sequence[float] | Array, measured: Array, offset: Array
) -> Array:
    """Return J^T w = sum s_k tau_k - tau, (n,) [N m, N]: the joint torques of contacts.

    From M a + C v + g + f = tau + J^T w with negligible a and w acting on the robot (Bruyninckx
    2010, 7.15, C-107 with the sign of E-54). The measured torques may exclude some terms on the
    left.

    Parameters
    ----------
    terms : sequence of k (n,) arrays
        tau_k: g(q), C(q, v) v, friction f(v), and torques of payloads.
    shares : (k,) array
        s_k: 1 for terms included in the measured torques, 0 for others; all 0 if these are external
        torques only, with the sign of motor torques.
    measured : (n,) array
        tau.
    offset : (n,) array
        The result without contact, which is subtracted.

    Examples
    --------
    >>> gravity, friction = np.array([10.0, 5.0]), np.array([1.0, -1.0])
    >>> external_torques([gravity, friction], [1.0, 0.0], np.array([12.0, 5.0]), np.zeros(2))
    array([-2.,  0.])
    """
    external = -measured - offset
    for share, torques in zip(shares, terms):
        external = external + share * torques
    return external


def contact_wrench(
    jacobian: Array, torques: Array, damping: float = 0.0, characteristic_length: float = 1.0
) -> Array:
    r"""Return the wrench that explains external joint torques, by damped least squares.

    The dual of the differential kinematics (Bruyninckx 2010 (7.42) to (7.44), C-107). With the
    moments made comparable to forces by the length L, D = diag(L, L, L, 1, 1, 1)::

        w = D (D J J^T D + damping^2)^-1 D J tau_ext

    Parameters
    ----------
    jacobian : (6, n) array
        Angular rows first [rad/rad, m/rad]; the wrench is at its origin, resolved in its axes (use
        the body Jacobian of the contact frame for a wrench in that frame).
    torques : (n,) array
        External torques [N m, N].
    damping : float
        [m]; shortens the estimate along a singular value s of D J by s^2 / (s^2 + damping^2).
        Without it the Jacobian must have full rank.
    characteristic_length : float
        L [m], the lever arm that relates moments to forces.

    Returns
    -------
    (6,) array
        Moment and force of the environment on the robot [N m, N].

    Examples
    --------
    >>> contact_wrench(np.diag([2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), np.array([6.0, 0, 0, 0, 0, 5.0]))
    array([3., 0., 0., 0., 0., 5.])
    """
    D = lengths(characteristic_length)
    scaled = D[:, None] * jacobian
    gram = scaled @ scaled.T + np.eye(6) * (damping * damping)
    return D * solve_positive_definite(gram, scaled @ torques)


def observability_pivots(jacobian: Array, threshold: float, characteristic_length: float) -> Array:
    """Return (6,) numbers that are all positive if and only if the wrench is observable.

    The wrench is observable if every singular value of D J is greater than `threshold` [m]. The
    numbers are the pivots of the elimination of D J J^T D - threshold^2, which is positive definite
    if and only if they are positive (Sylvester); a zero pivot gives infinities and NaN in others.
    """
    scaled = lengths(characteristic_length)[:, None] * jacobian
    L = scaled @ scaled.T - np.eye(6) * (threshold * threshold)
    for k in reversed(range(6)):
        for i in reversed(range(k)):
            factor = L[k, i] / L[k, k]
            for j in range(i + 1):
                L[i, j] = L[i, j] - factor * L[k, j]
    return np.array([L[k, k] for k in range(6)])


def smallest_singular_value(jacobian: Array, characteristic_length: float) -> float:
    """Return the joint torque [N m] of the least observable wrench of magnitude 1 N.

    The smallest singular value of D J [m]; a moment of `characteristic_length` N m has the same
    magnitude as a force of 1 N. It is 0 for fewer than six joints.
    """
    if jacobian.shape[1] < 6:
        return 0.0
    scaled = lengths(characteristic_length)[:, None] * jacobian
    return float(np.linalg.svd(scaled, compute_uv=False)[-1])


def lengths(characteristic_length: float) -> Array:
    """Return the diagonal of D, the factors of the rows of a Jacobian, angular rows first."""
    return np.array([characteristic_length] * 3 + [1.0] * 3)
