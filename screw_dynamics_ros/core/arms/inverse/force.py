# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Force kinematics: joint torques for wrenches in static equilibrium, and the inverse problem.

Wrenches W = (moment, force) are those of the environment on a link, at its origin and in its axes,
unless a Jacobian has another representation. Virtual work, tau^T dq + sum W^T J dq =
0 for all dq, gives the torques that hold the robot (gravity apart)::

    tau = - sum J^T W

This inverse problem has a unique solution for any tree and any configuration. In the book's
tau = J^T w, w = -W is the wrench that the robot exerts, contrary to its text (E-54). The forward
problem is the wrench for given torques. It has a unique solution for a link moved by six joints in
a regular configuration, W = -G tau with the partial wrenches J^T G = 1. With more joints, most
torques are not balanced by any wrench; with fewer joints or in a singular configuration, the
structure supports some wrenches without joint torques.

Source: Bruyninckx 2010, sections 5.7.5, 5.7.6 and 7.14 to 7.16, with the errata E-35 and E-54
(C-013, C-106, C-107).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics.inverse_dynamics import newton_euler_torques
from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE
from ...tree.multibody_tree import Tree
from ...types import Array
from .velocity import ROUNDING_TOLERANCE, TASK_TOLERANCE, matrix, rate
from .weighted_inverse import WeightedInverse, length_metric


@dataclass(frozen=True, eq=False)
class ForwardForceResult:
    """The wrenches on one or several links that joint torques balance.

    Attributes
    ----------
    wrench : (6,) or (k, 6) array
        Moment and force of the environment on each link [N m, N].
    success : bool
        Whether these wrenches balance the torques and are unique.
    residual : (n,) array
        tau + sum J^T W: torques that no wrench on these links balances [N m, N].
    undetermined : (6 k, d) array
        Basis of the wrenches without joint torques; any of them may be added.
    rank : int
    singular_values : (min(n, 6 k),) array
        Of the Jacobian with moments divided by the characteristic length.
    message : str
    """

    wrench: Array
    success: bool
    residual: Array
    undetermined: Array
    rank: int
    singular_values: Array
    message: str


def inverse_force(tree: Tree, q: Array, wrenches: Mapping[str, Array] | None = None) -> Array:
    """Return the torques (nv,) that balance wrenches on links, -sum J^T W, without gravity (C-106).

    Each wrench is transformed from link to link toward the root; the torque of each joint on this
    path is the component along its screw. This is the inward pass of the Newton-Euler recursion for
    a robot at rest without gravity.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    wrenches : {link: (6,)}
        Wrench of the environment on each link, at its origin, in its frame [N m, N].
    """
    rest = np.zeros(tree.nv)
    return newton_euler_torques(tree, q, rest, rest, np.zeros(3), wrenches)


def forward_force(
    J: ArrayLike,
    tau: ArrayLike,
    *,
    length: float = 1.0,
    torque_metric: ArrayLike | None = None,
    least_squares: bool = False,
    cutoff: float = TOLERANCE,
) -> ForwardForceResult:
    """Return the wrenches of the environment that torques hold, tau + J^T W = 0 (C-107).

    Parameters
    ----------
    J : (6 k, n) array
        Stacked Jacobians of the k links; the wrenches are in their representations.
    tau : (n,) array
        Torques without those of gravity: measured torques minus `gravity_torques` [N m, N].
    length : float
        Characteristic length that weights moments relative to forces [m]; used if the wrench is not
        unique, for the solution of least norm.
    torque_metric : (n,) or (n, n) array, optional
        Weights of the residual torques; the inverse of their covariance.
    least_squares : bool
        Allow a number of joints other than 6 k, and return the least-squares wrench.
    cutoff : float
        Singular values up to `cutoff` times the largest are treated as zero.

    Raises
    ------
    ArgumentError
        If the problem is not well defined (C-013): the links are not moved by exactly 6 k joints,
        and `least_squares` is not set. Also for wrong shapes, NaN, or a singular metric.

    Examples
    --------
    >>> forward_force(np.eye(6), [1, 0, 0, 0, 0, 2]).wrench + 0.0
    array([-1.,  0.,  0.,  0.,  0., -2.])
    """
    J = matrix('the Jacobian', J)
    rows, n = J.shape
    if rows == 0 or rows % 6:
        raise ArgumentError(f'the Jacobian must have six rows for each link, got {J.shape}')
    torques = rate('tau', n, tau)
    moving = int(np.sum(J.any(axis=0)))
    if moving != rows and not least_squares:
        raise ArgumentError(
            f'forward force kinematics of {rows // 6} link(s) is defined for {rows} joints that '
            f'move them, and {moving} do; set least_squares=True for the wrench that explains the '
            'torques best'
        )
    wrench_metric = 1.0 / length_metric(length, rows // 6)
    inverse = WeightedInverse(J.T, wrench_metric, torque_metric, cutoff, names=('wrench', 'torque'))
    W = -inverse.solve(torques)
    residual = torques + J.T @ W
    left, whole = inverse.range_norm(residual), inverse.range_norm(torques)
    reasons = []
    if left > TASK_TOLERANCE * whole + ROUNDING_TOLERANCE * inverse.range_norm(
        np.abs(J.T) @ np.abs(W)
    ):
        reasons.append(f'no wrench on these links balances {left:.3g} of {whole:.3g}')
    if inverse.rank < rows:
        reasons.append(
            f'no joint supports {rows - inverse.rank} of {rows} directions: the smallest wrench '
            'is returned, any of `undetermined` may be added'
        )
    return ForwardForceResult(
        W if rows == 6 else W.reshape(-1, 6),
        not reasons,
        residual,
        inverse.null_space,
        inverse.rank,
        inverse.singular_values,
        '; '.join(reasons) or 'balanced',
    )


def partial_wrenches(J: ArrayLike, cutoff: float = TOLERANCE) -> Array:
    """Return G (6, 6) with J^T G = 1: the wrench of the robot for unit torque of each joint.

    Column i has no power on the motion of any joint but i (C-107, (7.42)-(7.44) corrected by E-35).

    Raises
    ------
    ArgumentError
        If J is not (6, 6), or singular.

    Examples
    --------
    >>> partial_wrenches(np.diag([2.0, 1, 1, 1, 1, 1]))[:, 0]
    array([0.5, 0. , 0. , 0. , 0. , 0. ])
    """
    J = matrix('the Jacobian', J)
    if J.shape != (6, 6):
        raise ArgumentError(f'partial wrenches need six joints, J has shape {J.shape}')
    s = np.linalg.svd(J, compute_uv=False)
    if s[-1] <= cutoff * s[0]:
        raise ArgumentError(f'the Jacobian is singular: smallest singular value {s[-1]:.3g}')
    G: Array = np.linalg.inv(J.T)
    return G
