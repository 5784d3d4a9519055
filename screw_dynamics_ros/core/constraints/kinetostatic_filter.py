# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Kinetostatic filtering: the allowed twist nearest to a commanded one.

With the wrenches W (6, k) that a contact transmits and Q = W^T, allowed are the twists Q t = 0, and
nearest to t_c among them, in the metric M of twists, is

    t = (1 - M^-1 Q^T (Q M^-1 Q^T)^+ Q) t_c

A contact that only pushes allows Q t >= 0, too: what parts. M has to be chosen, there being no
natural one, and the answer depends on it. For the joints of a robot the contact is the rows
Q J v = 0 or >= 0 of its link.

Source: Bruyninckx 2010 (5.56) to (5.58) (C-046).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arms.inverse.inequalities import Inequalities, least_distance
from ..arms.inverse.velocity import matrix, rate
from ..arms.inverse.weighted_inverse import WeightedInverse, metric
from ..errors import ArgumentError
from ..types import Array
from .contact_models import Constraint


@dataclass(frozen=True, eq=False)
class FilteredTwist:
    """A twist that a contact allows.

    Attributes
    ----------
    twist : (6,) array
        Nearest to the commanded one [rad/s, m/s].
    removed : (6,) array
        commanded - twist.
    pushing : (k,) array of bool
        Which wrenches of the constraint had to act.
    """

    twist: Array
    removed: Array
    pushing: Array


def filter_twist(
    twist: ArrayLike, constraint: Constraint, metric_of_twists: ArrayLike
) -> FilteredTwist:
    """Return the allowed twist nearest to a commanded one.

    Parameters
    ----------
    twist : (6,)
        Commanded, in the frame and at the origin of the wrenches of the constraint.
    constraint : Constraint
        For instance of `contact_wrenches`. A unilateral one lets parting motions pass.
    metric_of_twists : (6,) or (6, 6)
        M, positive definite, or its diagonal; `length_metric(l)` weights 1 rad/s as l m/s.

    Raises
    ------
    ArgumentError
        If the metric is singular, a shape is wrong, or a number not finite.

    Examples
    --------
    A vertex on a table, pushed down and along it.

    >>> from screw_dynamics_ros.core.textbook.constraints.contact_wrenches import vertex_face
    >>> table = vertex_face([0, 0, 0], [0, 0, 1])
    >>> filter_twist([0, 0, 0, 0.2, 0, -0.1], table, np.ones(6)).twist
    array([0. , 0. , 0. , 0.2, 0. , 0. ])
    >>> filter_twist([0, 0, 0, 0.2, 0, 0.1], table, np.ones(6)).twist  # away from it
    array([0. , 0. , 0. , 0.2, 0. , 0.1])
    """
    t = rate('the twist', 6, twist)
    M = metric('metric of twists', 6, metric_of_twists)
    Q = constraint.wrenches.T
    if not constraint.unilateral:
        filtered = filter_matrix(constraint, M) @ t
        return FilteredTwist(filtered, t - filtered, np.ones(len(Q), dtype=bool))
    K_T = np.linalg.cholesky(M).T
    found = least_distance(K_T, K_T @ t, -Q, np.zeros(len(Q)))
    if found is None:  # zero is allowed always
        raise ArgumentError(
            'the wrenches of the constraint are too badly conditioned to be filtered; scale them'
        )
    filtered, forces = found
    return FilteredTwist(filtered + 0.0, t - filtered, forces > 0.0)


def filter_matrix(constraint: Constraint, metric_of_twists: ArrayLike) -> Array:
    """Return 1 - M^-1 Q^T (Q M^-1 Q^T)^+ Q (6, 6): idempotent, its range the allowed twists.

    The filter of a constraint taken as an equation; wrenches may depend on each other. Arguments as
    in `filter_twist`.
    """
    Q = constraint.wrenches.T
    return WeightedInverse(Q, metric_of_twists, names=('twist', 'wrench')).null_projector()


def joint_rows(J: ArrayLike, constraint: Constraint, name: str = 'contact') -> Array | Inequalities:
    """Return the contact as rows of joint rates: Q J (k, n), or inequalities -Q J v <= 0.

    Equations A v = 0 go into a `TaskLevel` or an extended Jacobian; inequalities, of a unilateral
    contact, into `joint_limited_velocity`.

    Parameters
    ----------
    J : (6, n)
        Jacobian of the link, with the frame and origin of the wrenches as representation.
    constraint : Constraint
    name : str
        Of the inequalities, for messages.
    """
    J = matrix('the Jacobian', J)
    if len(J) != 6:
        raise ArgumentError(f'the Jacobian must have shape (6, n), got {J.shape}')
    rows = constraint.wrenches.T @ J
    if not constraint.unilateral:
        return rows
    return Inequalities(-rows, np.zeros(len(rows)), (name,) * len(rows))
