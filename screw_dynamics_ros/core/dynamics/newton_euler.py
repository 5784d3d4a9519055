# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Newton-Euler equations of one body in any representation or frame.

With the twist V of the body, its inertia M and the momentum Pi = M V in the same representation:

==============  ===========================================  ===============================  ====
representation  wrench W required for the motion             momentum balance                 eq.
==============  ===========================================  ===============================  ====
spatial         M V' - ad_V^T M V                            Pi' = W                          (36)
body            M V' - ad_V^T M V                            Pi' = W + ad_V^T Pi              (41)
hybrid          M V' + ad_omega M (omega, 0)                 Pi' = W + (P x r', 0)            (53)
mixed           M V' + (omega x Theta omega,                 Pi' = W + (L x omega             (58)
                R omega~ omega~ h)                           + R^T (P x r'), 0)
frame           M (V' + ad_U V) - ad_V^T M V                 Pi' = W + ad_U^T Pi              (63)
==============  ===========================================  ===============================  ====

The last column has the numbers of the equations in Müller 2018b. Wrenches are (moment, force),
h = m d is the first moment. The last line is for any moving frame, U = (omega_k, v_j) with the
angular velocity of the axes and the velocity of the reference point: U = 0 gives the spatial form,
U = V the body-fixed one, U = (0, r') the hybrid one. At the center of mass h = 0, and rotation and
translation decouple in the hybrid and mixed forms.

Example: a unit mass on a circle of radius 1, at 3 rad/s, needs a force of 9 towards the center:

>>> M = represented_inertia((1.0, np.array([1.0, 0, 0]), np.zeros((3, 3))), np.eye(4), 'hybrid')
>>> newton_euler(M, np.array([0, 0, 3.0, 0, 0, 0]), np.zeros(6), np.eye(3), 'hybrid') + 0.0
array([ 0.,  0.,  0., -9.,  0.,  0.])

Source: Müller 2018b (34)-(64) (D-17 to D-23), with the errata E-14, E-16, E-17, E-20 to E-22.
"""

from __future__ import annotations

import numpy as np

from ..kinematics.jacobians import check_representation
from ..lie.se3 import ad
from ..lie.se3 import hat as se3_hat
from ..lie.so3 import hat
from ..linear import symmetric, zeros
from ..types import Array
from .spatial_inertia import RigidInertia, rotated, transported


def represented_inertia(inertia: RigidInertia, C: Array, representation: str) -> Array:
    """Return the inertia matrix M (6, 6); V^T M V / 2 is the kinetic energy (D-17).

    Parameters
    ----------
    inertia : (m, h, I)
        Mass [kg], first moment (3,) [kg m] and inertia about the origin (3, 3) [kg m^2], all in the
        frame of the body.
    C : (4, 4) array
        Configuration of that frame in the root frame [m].
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
        Representation of twists; M is constant for 'body' only.

    Raises
    ------
    UnknownNameError
        There is no such representation.

    Examples
    --------
    >>> ball = 2.0, np.zeros(3), np.eye(3)
    >>> lifted = np.eye(4) + np.diag([0, 0, 3.0], 1)  # to z = 3
    >>> represented_inertia(ball, lifted, 'spatial')[:3, :3]
    array([[19.,  0.,  0.],
           [ 0., 19.,  0.],
           [ 0.,  0.,  1.]])
    """
    check_representation(representation)
    m, h, I = inertia  # noqa: E741
    R = C[:3, :3]
    coupling = hat(h)
    if representation == 'spatial':
        m, h, I = transported(C, inertia)  # noqa: E741
        coupling = hat(h)
    elif representation == 'hybrid':
        I, coupling = symmetric(rotated(R, I)), hat(R @ h)  # noqa: E741
    elif representation == 'mixed':
        coupling = hat(h) @ R.T
    return np.block([[I, coupling], [coupling.T, m * np.eye(3)]])


def bias_matrix(M: Array, V: Array, R: Array, representation: str) -> Array:
    """Return B (6, 6) with W = M V' + B V, as in the table; see `skew_bias_matrix`.

    M (6, 6) and V (6,) are in the representation, R (3, 3) is the orientation of the body.
    """
    if representation in ('body', 'spatial'):
        return -ad(V).T @ M
    omega = hat(V[:3])
    B = zeros((6, 6), M, V)
    B[:3, :3] = omega @ M[:3, :3]
    B[3:, :3] = (omega if representation == 'hybrid' else R @ omega @ R.T) @ M[3:, :3]
    return B


def skew_bias_matrix(M: Array, V: Array, R: Array, representation: str) -> Array:
    """Return B (6, 6) with W = M V' + B V and dM/dt = B + B^T: dM/dt - 2 B is skew (D-19, D-37).

    It is M ad_U - ad_V^T M, the form for any frame (D-23). The published forms, `bias_matrix`, have
    this property in the spatial representation only.
    """
    if representation == 'mixed':  # body-fixed form, transformed by T = diag(1, R), - M T' T^-1
        T = zeros((6, 6), R)
        T[:3, :3], T[3:, 3:] = np.eye(3), R
        V_b = T.T @ V
        turning = zeros((6, 6), R, V)
        turning[3:, 3:] = R @ hat(V[:3]) @ R.T
        return T @ skew_bias_matrix(T.T @ M @ T, V_b, R, 'body') @ T.T - M @ turning
    return M @ ad(frame_twist(V, representation)) - ad(V).T @ M


def newton_euler(M: Array, V: Array, dV: Array, R: Array, representation: str) -> Array:
    """Return the wrench W (6,) [N m, N] required for the motion of the body (D-19 to D-22).

    Parameters
    ----------
    M : (6, 6) array
        From `represented_inertia`.
    V, dV : (6,) arrays
        Twist [rad/s, m/s] and the time derivative of its components, in the representation. To
        include weight, subtract free fall from dV: (0, g), or body-fixed (0, R^T g) (D-29).
    R : (3, 3) array
        Orientation of the body; only 'mixed' needs it.
    representation : {'body', 'spatial', 'hybrid', 'mixed'}

    Examples
    --------
    >>> M = represented_inertia((2.0, np.array([1.0, 0, 0]), np.eye(3)), np.eye(4), 'hybrid')
    >>> newton_euler(M, np.array([0, 0, 3.0, 0, 0, 0]), np.zeros(6), np.eye(3), 'hybrid') + 0.0
    array([ 0.,  0.,  0., -9.,  0.,  0.])
    """
    if representation in ('body', 'spatial'):
        return M @ dV - ad(V).T @ (M @ V)
    omega = V[:3]
    y = M[:, :3] @ omega
    turn = hat(omega if representation == 'hybrid' else R @ omega)
    return M @ dV + np.concatenate([hat(omega) @ y[:3], turn @ y[3:]])


def newton_euler_in_frame(M: Array, V: Array, dV: Array, U: Array) -> Array:
    """Return the wrench (6,) in a moving frame: M (V' + ad_U V) - ad_V^T M V (D-23, corrected).

    Parameters
    ----------
    M, V, dV : (6, 6), (6,), (6,)
        Inertia, twist and the derivative of its components, at the reference point j and in the
        axes k of the frame.
    U : (6,) array
        (omega_k, v_j) [rad/s, m/s]: absolute angular velocity of the axes and velocity of the
        reference point, in these axes. E-20: with the twist of F_j this is V_j + (omega_k -
        omega_j, 0).
    """
    return M @ (dV + ad(U) @ V) - ad(V).T @ (M @ V)


def newton_euler_binet(Sigma: Array, V: Array, dV: Array) -> Array:
    """Return the body-fixed wrench (6,) from the pseudo-inertia (4, 4): Binet's form (D-17, D-20).

    With C^-1 C'' = V^' + V^ V^ (V^ the 4 x 4 matrix of a body-fixed twist) and N = C^-1 C'' Sigma,
    the moment is the vector of N - N^T and the force the last column of N.
    """
    hat_V = se3_hat(V)
    N = (se3_hat(dV) + hat_V @ hat_V) @ Sigma
    moment = np.array([N[2, 1] - N[1, 2], N[0, 2] - N[2, 0], N[1, 0] - N[0, 1]])
    return np.concatenate([moment, N[:3, 3]])


def momentum_rate(W: Array, Pi: Array, V: Array, R: Array, representation: str) -> Array:
    """Return the time derivative (6,) of the components of the momentum Pi = M V (D-18, E-17).

    Only the spatial momentum has the rate W, because its components are in an inertial frame.
    """
    if representation == 'mixed':
        omega, dr, L, P = V[:3], V[3:], Pi[:3], Pi[3:]
        moment = hat(L) @ omega + R.T @ (hat(P) @ dr)
        return W + np.concatenate([moment, np.zeros(3)])
    return W + ad(frame_twist(V, representation)).T @ Pi


def frame_twist(V: Array, representation: str) -> Array:
    """Return U = (omega_k, v_j) of the frame of 'body', 'spatial' or 'hybrid' components.

    'mixed' has no such frame: its angular and linear parts are in different axes.
    """
    if representation == 'body':
        return V
    if representation == 'hybrid':
        return np.concatenate([np.zeros(3), V[3:]])
    return np.zeros(6)
