# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Partial derivatives of Jacobians by the joint coordinates, of any order, in closed form.

With J_k the column of joint k, indices counting the joints on the path from root to link:

spatial   d^m J_j / dq_k1 ... dq_km = [J_k1, [J_k2, ... [J_km, J_j]]],  k1 <= ... <= km < j
body      d^m J_j / dq_k1 ... dq_km = [[[J_j, J_k1], J_k2] ..., J_km],  j < k1 <= ... <= km
position  d^m r / dq_k1 ... dq_km = xi_k1 x (xi_k2 x ... (eta_km + xi_km x r)),  k1 <= ... <= km

and zero otherwise; the order of differentiation does not matter. The linear part of a hybrid or
mixed column is dr/dq_j, the angular part that of the spatial or body column, which makes one
formula of the cases of (25) in Müller 2018b, of which one is missing there (E-08).

The tip of the arm of unit lengths is at x = cos q_1 + cos(q_1 + q_2); at q = 0 the second
derivatives of x are -2 and -1.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> jacobian_partials(planar_arm(), np.zeros(2), 'tip', 'hybrid')[3] + 0.0
array([[-2., -1.],
       [-1., -1.]])

Source: Müller 2018b (3)-(7), (12)-(19), (23)-(33), corrected (D-04, D-08, D-09, D-10, D-13, D-14,
D-16).
"""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations
from math import prod
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import Tree
from ..types import Array
from .jacobians import check_representation
from .poe import relative_pose
from .twist_recursions import bracket, to_body, to_root


class Column(NamedTuple):
    """One column of the Jacobian of a link, before mimic joints are added to their masters."""

    place: int  # of the joint on the path
    v: int  # of the coordinate
    multiplier: float
    spatial: Array
    body: Array


def jacobian_partials(
    tree: Tree, q: Array, link: str, representation: str = 'hybrid', order: int = 1
) -> Array:
    """Return the partial derivatives of a link's Jacobian, (6, nv, nv, ...).

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    link : str
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
    order : int
        How often to differentiate: element [:, j, k] is dJ_j / dq_k for order 1, [:, j, k, l] the
        second derivative, and so on.

    Returns
    -------
    (6, nv, ..., nv) array
        With `order` + 2 axes, symmetric in the last `order` ones. Of a free body the derivatives
        are those along its body-fixed velocity.

    Raises
    ------
    ArgumentError
        An order below 1, or above 1 with a free body on the path, whose derivatives do not commute.
    UnknownNameError
        There is no such link or representation.
    """
    check_representation(representation)
    if order < 1:
        raise ArgumentError(f'jacobian_partials: order is {order}; use 1 or more')
    columns, r = path_columns(tree, q, link)
    if order > 1 and len({c.place for c in columns}) < len(columns):
        raise ArgumentError(
            f'jacobian_partials: order {order}, but a free body carries link {link!r}, and '
            'derivatives along its velocities do not commute; use order 1'
        )
    result = zeros((*[tree.nv] * (order + 1), 6), r)
    for chosen in combinations_with_replacement(range(len(columns)), order):
        by = tuple(columns[k] for k in chosen)
        for column in columns:
            partial = column_partial(column, by, r, representation)
            partial = prod((c.multiplier for c in by), start=column.multiplier) * partial
            for ordered in set(permutations(chosen)):
                at = (column.v, *(columns[k].v for k in ordered))
                result[at] = result[at] + partial
    return np.moveaxis(result, -1, 0)


def column_partial(column: Column, by: tuple[Column, ...], r: Array, representation: str) -> Array:
    """Return the derivative of one column by the coordinates of others, sorted by place."""
    if representation == 'spatial':
        return spatial_partial(column, by)
    if representation == 'body':
        return body_partial(column, by)
    angular = (body_partial if representation == 'mixed' else spatial_partial)(column, by)[:3]
    if len(by) == 1:  # d/dq_k (eta_j + xi_j x r), for the columns of a free body too
        moved, xi = spatial_partial(column, by), column.spatial[:3]
        linear = moved[3:] + hat(moved[:3]) @ r + hat(xi) @ position_partial(by, r)
    else:
        linear = position_partial(tuple(sorted((column, *by), key=lambda c: c.place)), r)
    return np.concatenate([angular, linear])


def spatial_partial(column: Column, by: tuple[Column, ...]) -> Array:
    """Return [J_k1, [J_k2, ... [J_km, J_j]]] (D-10, D-13)."""
    partial = column.spatial
    if by[-1].place > column.place:
        return np.zeros(6)
    for c in reversed(by):
        partial = bracket(c.spatial, partial)
    return partial


def body_partial(column: Column, by: tuple[Column, ...]) -> Array:
    """Return [[[J_j, J_k1], J_k2] ..., J_km] (D-04, D-09)."""
    partial = column.body
    if by[0].place <= column.place:
        return np.zeros(6)
    for c in by:
        partial = bracket(partial, c.body)
    return partial


def position_partial(by: tuple[Column, ...], r: Array) -> Array:
    """Return xi_k1 x (xi_k2 x ... (eta_km + xi_km x r)), (3,)."""
    *outer, last = by
    partial = last.spatial[3:] + hat(last.spatial[:3]) @ r
    for c in reversed(outer):
        partial = hat(c.spatial[:3]) @ partial
    return partial


def path_columns(tree: Tree, q: Array, link: str) -> tuple[list[Column], Array]:
    """Return the columns from root to link, and the position (3,) of the link."""
    frame, C, found = tree.frame(link), np.eye(4), []
    for place, i in enumerate(tree.path(frame.body)):
        body = tree.bodies[i]
        C = C @ relative_pose(body, q)
        found.append((place, body, to_root(C, body.X)))
    C = C @ frame.S
    columns = [
        Column(place, body.v.start + k, body.multiplier, J[:, k], to_body(C, J[:, k]))
        for place, body, J in found
        for k in range(body.dof)
    ]
    return columns, C[:3, 3]
