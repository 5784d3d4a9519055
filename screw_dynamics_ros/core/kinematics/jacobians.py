# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Geometric and analytical Jacobians of links, V = J q' and (phi', r') = J_a q'.

Column j of the Jacobian of a link, with the joint screw X_j in the frame of body j, is

==============  ====================================  ====
representation  J_j
==============  ====================================  ====
body            Ad_{C_link^-1 C_j} X_j                K-21
spatial         Ad_{C_j} X_j                          K-25
hybrid          Ad_{r_j - r_link} Ad_{R_j} X_j        K-28
mixed           diag(R_link^T, 1) times hybrid        K-31
==============  ====================================  ====

for the joints j on the path to the link, zero for the others. The straight arm of unit lengths: the
tip is at x = 2, the elbow at x = 1, and each joint turns the tip and moves it by its distance:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> J = jacobian(planar_arm(), np.zeros(2), 'tip', 'hybrid')
>>> J[2], J[4]  # omega_z and v_y
(array([1., 1.]), array([2., 1.]))

Analytical Jacobians map to the rates of coordinates (phi, r) of a link's pose: phi are Euler angles
of any set, a unit quaternion or a rotation vector, r is the position of the link's origin; J_a =
diag(E^-1, 1) J^h with the map omega = E phi' of `euler`, `quaternions`, `so3`.

The inverse of Euler's map needs no angles. Its columns are the current axes of the three rotations:
the first fixed axis e_i, the last axis R e_k, and the middle one m, perpendicular to both. For
moving axes i, j, k, with s = +1 for a right-handed triple and -1 otherwise,

    m = s (R e_k x e_i) / |R e_k x e_i|  if i != k,    m = (e_i x R e_i) / |e_i x R e_i|  if i = k,

where the signs put the middle angle into the range of `euler`. So no angle has to be computed.

The straight arm of unit lengths rotates about z only: yaw' = q_1' + q_2', and y' = 2 q_1' + q_2'.

>>> J = analytical_jacobian(planar_arm(), np.zeros(2), 'tip', 'xyz')  # roll, pitch, yaw, x, y, z
>>> J[2], J[4]
(array([1., 1.]), array([2., 1.]))

Source: Müller 2018a (16)-(19), (28)-(30), (52)-(56), (62)-(66) (K-21, K-25, K-28, K-31); Bruyninckx
2010 (5.24) (B-125), (3.40), (3.41), (3.68) (B-047, B-048, B-057).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import ArgumentError, UnknownNameError
from ..lie import euler, quaternions, so3
from ..lie.screws import REPRESENTATIONS
from ..lie.so3 import hat
from ..linear import is_within, unit_vector, zeros
from ..tree.multibody_tree import Body, Tree
from ..types import Array
from .poe import link_pose, relative_pose

#: Names of the orientation coordinates: 12 sets of Euler angles about moving axes, 12 about fixed
#: ones (roll, pitch, yaw are 'xyz'), quaternions (x, y, z, w) and rotation vectors.
ORIENTATIONS = (*euler.MOVING, *euler.FIXED, 'quaternion', 'rotation_vector')

#: Those whose rates branch on numbers and cannot be recorded.
BRANCHING = frozenset({'quaternion', 'rotation_vector'})


def jacobian(tree: Tree, q: Array, link: str, representation: str = 'hybrid') -> Array:
    """Return the (6, nv) Jacobian of a link, angular rows first: twist = jacobian @ v.

    Body-fixed columns come from tip to root, see `body_columns`. The others are built in hybrid
    form, J^h_ij = Ad_{r_j - r_i} Ad_{R_j} X_j = [e; v_j + e x (r_i - r_j)] (K-28), or spatial with
    0 for r_i (K-25); in mixed form the angular rows are resolved in the link (K-31). A mimic
    joint's column is scaled by its multiplier and added to its master's.
    """
    check_representation(representation)
    if representation == 'body':
        J = zeros((6, tree.nv), q)
        for body, columns in body_columns(tree, q, link):
            J[:, body.v] = J[:, body.v] + body.multiplier * columns
        return J
    frame = tree.frame(link)
    path = [tree.bodies[i] for i in tree.path(frame.body)]
    poses, C = [], np.eye(4)
    for body in path:
        C = C @ relative_pose(body, q)
        poses.append(C)
    C_i = C @ frame.S
    R_i, r_i = C_i[:3, :3], C_i[:3, 3]
    # the reference point: the link's origin, or the origin of the root frame for spatial twists
    point = np.zeros(3) if representation == 'spatial' else r_i

    J = zeros((6, tree.nv), C_i)
    for body, C in zip(path, poses):
        R, r = C[:3, :3], C[:3, 3]
        xi, eta = R @ body.X[:3], R @ body.X[3:]
        columns = np.concatenate([xi, eta + hat(r - point) @ xi])
        J[:, body.v] = J[:, body.v] + body.multiplier * columns
    if representation == 'mixed':
        J[:3] = R_i.T @ J[:3]
    return J


def body_columns(tree: Tree, q: Array, link: str) -> Iterator[tuple[Body, Array]]:
    """Yield (body j, J_ij = Ad_{C_j,i}^-1 X_j), the body-fixed columns (6, k), from tip to root.

    The pose of the link in the root frame and the position of the first joint are not needed
    (K-21).
    """
    frame = tree.frame(link)
    C = frame.S  # of the link, seen from body j
    for i in reversed(tree.path(frame.body)):
        body = tree.bodies[i]
        R, r, xi, eta = C[:3, :3], C[:3, 3], body.X[:3], body.X[3:]
        yield body, np.concatenate([R.T @ xi, R.T @ (eta - hat(r) @ xi)])
        C = relative_pose(body, q) @ C


def check_representation(representation: str) -> None:
    """Raise `UnknownNameError` unless `representation` is one of `REPRESENTATIONS`."""
    if representation not in REPRESENTATIONS:
        raise UnknownNameError(
            f'no representation named {representation!r}; '
            f'choose one of {", ".join(REPRESENTATIONS)}'
        )


def velocity(tree: Tree, q: Array, v: Array, link: str, representation: str = 'hybrid') -> Array:
    """Return the (6,) twist (omega, v) of a link [rad/s, m/s]."""
    return jacobian(tree, q, link, representation) @ v


def analytical_jacobian(tree: Tree, q: Array, link: str, orientation: str = euler.RPY) -> Array:
    """Return J_a with (phi', r') = J_a q', (6, nv), or (7, nv) for a quaternion.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
        May hold recorded scalars for Euler angles; quaternions and rotation vectors branch.
    link : str
    orientation : str
        One of `ORIENTATIONS`. The rates are those of the coordinates `euler.from_matrix`,
        `quaternions.from_matrix` and `so3.log` return.

    Raises
    ------
    ArgumentError
        The Euler angles are singular (gimbal lock): their rates may be infinite.
    UnknownNameError
        There is no such link or set of coordinates.
    """
    R = link_pose(tree, q, link)[:3, :3]
    J = jacobian(tree, q, link, 'hybrid')
    try:
        return np.concatenate([orientation_rate_matrix(R, orientation) @ J[:3], J[3:]])
    except ArgumentError as error:
        raise ArgumentError(f'link {link!r}: {error}') from None


def orientation_rate_matrix(R: Array, orientation: str) -> Array:
    """Return the matrix (3, 3), or (4, 3), that maps omega in reference axes to phi'.

    Raises as `analytical_jacobian`.
    """
    if orientation == 'rotation_vector':
        return so3.dexp_inv(so3.log(R))
    if orientation == 'quaternion':  # p' = (omega, 0) p / 2
        p = quaternions.from_matrix(R)
        return 0.5 * quaternions.right_matrix(p)[:, :3]
    first, middle, last, determinant = euler_axes(R, orientation)
    if is_within(determinant, euler.MARGIN):
        raise ArgumentError(
            f'Euler angles {orientation} are singular here (determinant {determinant:.3g}); use '
            'another set, a quaternion, or the geometric Jacobian'
        )
    rows = [hat(middle) @ last, hat(last) @ first, hat(first) @ middle]
    inverse = np.stack(rows) / determinant
    return inverse[::-1] if orientation in euler.FIXED else inverse


def euler_axes(R: Array, sequence: str) -> tuple[Array, Array, Array, Array]:
    """Return the current axes of the rotations of an Euler set, (3,) each, and their determinant.

    In the order of moving axes, which is the reverse for fixed ones. The determinant is the sine or
    cosine of the middle angle up to sign: zero means gimbal lock.
    """
    check_orientation(sequence)
    letters = sequence.upper()
    i, j, k = ('XYZ'.index(x) for x in (letters[::-1] if sequence in euler.FIXED else letters))
    first, last = np.eye(3)[i], R[:, k]
    right_handed = (j - i) % 3 == 1
    normal = hat(last) @ first if (i != k and right_handed) else hat(first) @ last
    middle = unit_vector(normal, otherwise=np.eye(3)[j])
    return first, middle, last, first @ (hat(middle) @ last)


def check_orientation(orientation: str) -> None:
    """Raise `UnknownNameError` unless `orientation` is one of `ORIENTATIONS`."""
    if orientation not in ORIENTATIONS:
        raise UnknownNameError(
            f'no orientation coordinates named {orientation!r}; choose one of '
            + ', '.join(ORIENTATIONS)
        )
