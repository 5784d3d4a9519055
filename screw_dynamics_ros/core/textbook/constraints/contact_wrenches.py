# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches transmitted by contacts between faces, edges and vertices.

Each function returns the `Constraint` of one contact, without friction unless stated. Columns are
wrenches (moment, force) in the frame of the given points and normals, with moments about its
origin; a force n through p is (p x n; n). Normals point from the environment to the body: a contact
pushes. An edge or a face is equivalent to vertices at its ends or corners: a face transmits any
pressure with its center inside the polygon of the corners.

==================  ================  =======================================================
contact             independent       book
==================  ================  =======================================================
vertex on face      1                 (p x n; n), 5.13
edge on face        2                 two vertices
face on face        3                 three vertices or more
edge on edge        1                 normal to both edges
point with          3                 force in any direction while it does not slide
friction
soft finger         4                 and a moment about the normal
==================  ================  =======================================================

Source: Bruyninckx 2010, sections 4.13.2, 5.9 and 5.13 (C-047).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, vector
from ...constraints.contact_models import Constraint
from ...errors import ArgumentError
from ...types import Array


def vertex_face(point: ArrayLike, normal: ArrayLike) -> Constraint:
    """Return a vertex on a face, or a face on a vertex: one wrench (p x n; n).

    >>> vertex_face([1, 0, 0], [0, 0, 2]).wrenches.ravel()
    array([ 0., -1.,  0.,  0.,  0.,  1.])
    """
    return faces(vector('the point of contact', 3, point)[None], normal)


def edge_face(start: ArrayLike, end: ArrayLike, normal: ArrayLike) -> Constraint:
    """Return an edge on a face, or a face on an edge: forces at both ends.

    >>> edge_face([0, 0, 0], [1, 0, 0], [0, 0, 1]).freedom
    4
    """
    ends = points(np.stack([vector('an end of the edge', 3, p) for p in (start, end)]))
    if np.linalg.norm(ends[1] - ends[0]) <= 1e-12:
        raise ArgumentError('an edge needs two different ends; use vertex_face for a point')
    if abs((ends[1] - ends[0]) @ unit(normal)) > 1e-6 * np.linalg.norm(ends[1] - ends[0]):
        raise ArgumentError('the edge does not lie on the face: it is not normal to the normal')
    return faces(ends, normal)


def face_face(corners: ArrayLike, normal: ArrayLike) -> Constraint:
    """Return a face on a face, given by the corners (k, 3) of the contact area, k >= 3.

    Three wrenches are independent; more corners give more columns, so that nonnegative multipliers
    represent every pressure inside the polygon.

    >>> face_face([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 0, 1]).freedom
    3
    """
    found = points(corners)
    spread = np.linalg.svd(found - found.mean(axis=0), compute_uv=False)
    if len(found) < 3 or spread[1] <= 1e-9 * spread[0]:
        raise ArgumentError('a face needs three corners that are not in line; use edge_face')
    if np.abs((found - found[0]) @ unit(normal)).max() > 1e-6 * spread[0]:
        raise ArgumentError('the corners do not lie in a plane with this normal')
    return faces(found, normal)


def edge_edge(
    point: ArrayLike, direction: ArrayLike, other: ArrayLike, outward: ArrayLike
) -> Constraint:
    """Return two crossing edges: a force normal to both directions, on the side of `outward`.

    >>> edge_edge([0, 0, 1], [1, 0, 0], [0, 1, 0], outward=[0, 0, 1]).wrenches[3:].ravel()
    array([0., 0., 1.])
    """
    across = np.cross(unit(direction), unit(other))
    if np.linalg.norm(across) <= 1e-9:
        raise ArgumentError('the edges are parallel: their contact is that of an edge on a face')
    side = float(across @ vector('outward', 3, outward))
    if not abs(side) > 1e-9:
        raise ArgumentError('outward must have a part normal to both edges')
    return vertex_face(point, np.sign(side) * across)


def point_with_friction(point: ArrayLike) -> Constraint:
    """Return a sticking point contact: forces in all three directions, bilateral.

    The limits of friction (unilateral normal force, friction cone) are not included.

    >>> point_with_friction([0, 0, 1]).freedom
    3
    """
    p = vector('the point of contact', 3, point)
    return Constraint.bearing(np.transpose([wrench(p, n) for n in np.eye(3)]))


def soft_finger(point: ArrayLike, normal: ArrayLike) -> Constraint:
    """Return a sticking soft-finger contact: forces, and a moment about the normal.

    >>> soft_finger([0, 0, 1], [0, 0, 1]).freedom
    2
    """
    moment = np.concatenate([unit(normal), np.zeros(3)])
    forces = point_with_friction(point).wrenches
    return Constraint.bearing(np.column_stack([forces, moment]))


def several(*contacts: Constraint) -> Constraint:
    """Return several simultaneous contacts of one body, all unilateral or all bilateral.

    >>> several(vertex_face([0, 0, 0], [0, 0, 1]), vertex_face([1, 0, 0], [0, 0, 1])).freedom
    4
    """
    if not contacts or len({contact.unilateral for contact in contacts}) > 1:
        raise ArgumentError(
            'several contacts must be at least one, and all unilateral or all bilateral'
        )
    wrenches = np.concatenate([contact.wrenches for contact in contacts], axis=1)
    return Constraint.bearing(
        wrenches, contacts[0].unilateral, all(contact.holonomic for contact in contacts)
    )


def faces(at: ArrayLike, normal: ArrayLike) -> Constraint:
    """Return unilateral forces along a normal through points (k, 3)."""
    n = unit(normal)
    return Constraint.bearing(np.transpose([wrench(p, n) for p in points(at)]), unilateral=True)


def wrench(point: Array, force: Array) -> Array:
    """Return (p x f; f), (6,)."""
    return np.concatenate([np.cross(point, force), force])


def unit(direction: ArrayLike) -> Array:
    """Return a direction (3,) as unit vector; raises `ArgumentError` for zero and NaN."""
    n = vector('a direction of a contact', 3, direction)
    length = float(np.linalg.norm(n))
    if not 1e-12 < length < np.inf:
        raise ArgumentError(f'a direction of a contact must not be zero or NaN, got {direction!r}')
    return n / length


def points(value: ArrayLike) -> Array:
    """Return points (k, 3) of finite numbers; raises `ArgumentError`."""
    found = float_array('points of a contact', value)
    if found.ndim != 2 or found.shape[1] != 3 or not np.isfinite(found).all():
        raise ArgumentError(f'points of a contact must be finite, of shape (k, 3), got {value!r}')
    return found
