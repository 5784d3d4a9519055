"""The wrench at one contact from external joint torques: the static relation J^T w = tau_ext."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyev

Array = NDArray[np.float64]


class ContactWrench(NamedTuple):
    """An estimate and how far to trust it.

    Attributes
    ----------
    wrench : (6,) array
        Moment and force (n, f) of the environment on the robot [N m, N], in the frame of the
        Jacobian.
    smallest_singular_value : float
        Of the scaled Jacobian [m]: the joint torque [N m] that the least visible wrench of size 1 N
        causes, where a moment of `characteristic_length` N m has the size of a force of 1 N.
        0 if there are fewer than 6 joints.
    """

    wrench: Array
    smallest_singular_value: float


def external_torques(gravity: Array, coriolis: Array, measured: Array) -> Array:
    """Return J^T w = g(q) + C(q, v) v - tau, (n,) [N m, N]: what contacts add to the torques.

    From M a + C v + g = tau + J^T w with negligible a, w acting on the robot (bruyninckx_2.md C-107
    with the sign of E-54). `gravity`, `coriolis` and `measured` are g(q), C(q, v) v and tau, (n,).
    """
    return gravity + coriolis - measured


def contact_wrench(
    jacobian: Array, torques: Array, *, damping: float = 0.0, characteristic_length: float = 1.0,
) -> ContactWrench:
    r"""Return the wrench that explains external joint torques, by damped least squares.

    The dual of the differential kinematics (bruyninckx_2.md C-107, (7.42)-(7.44)). With the moments
    made comparable to forces by the length L, D = diag(L, L, L, 1, 1, 1), and the singular values S
    of D J from its Gram matrix, D J J^T D = U S^2 U^T::

        w = D U (S^2 + damping^2)^-1 U^T D J tau_ext

    Without damping it is the wrench of least |tau_ext - J^T w|, and among several the one of least
    norm of (n / L, f).

    Parameters
    ----------
    jacobian : (6, n) array
        Angular rows first [rad/rad, m/rad]; the wrench is at its origin, resolved in its axes (take
        the body Jacobian for the contact frame itself).
    torques : (n,) array
        External torques [N m, N].
    damping : float
        [m]; shortens the estimate along a singular value s by s^2 / (s^2 + damping^2).
    characteristic_length : float
        L [m], the lever arm at which a moment counts as much as a force.

    Examples
    --------
    A prismatic axis along x sees the force along x and nothing else:

    >>> J = np.array([[0, 0, 0, 1.0, 0, 0]]).T
    >>> contact_wrench(J, np.array([5.0])).wrench
    array([0., 0., 0., 5., 0., 0.])
    """
    scale = np.array([characteristic_length] * 3 + [1.0] * 3)
    scaled = scale[:, None] * jacobian
    squares, U, _ = dsyev(scaled @ scaled.T)  # np.linalg.eigh takes twice as long
    # Without damping, singular values that are nothing but rounding stand for no information.
    seen = squares > 6 * np.finfo(float).eps * squares[-1]
    gains = seen / np.where(seen, squares + damping**2, 1.0)
    return ContactWrench(
        scale * (U @ (gains * (U.T @ (scaled @ torques)))),
        math.sqrt(max(squares[0], 0.0)) if jacobian.shape[1] >= 6 else 0.0)
