"""Geometric Jacobians and twists of links (muller.md K-21, K-25, K-28, K-31)."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.core.kinematics.poe import relative_pose
from screw_dynamics_ros.core.lie.screws import REPRESENTATIONS
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.model.tree import Array, Tree, zeros


def jacobian(tree: Tree, q: Array, link: str, representation: str = 'hybrid') -> Array:
    """Return the (6, nv) Jacobian of a link, angular rows first: twist = jacobian @ v.

    The columns are built in hybrid form, J^h_ij = Ad_{r_j - r_i} Ad_{R_j} X_j = [e; v_j + e x (r_i
    - r_j)] (K-28), a mimic joint's column is scaled by its multiplier and added to its master's,
    and the result is converted by K-09.
    """
    check_representation(representation)
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
    if representation in ('body', 'mixed'):
        J[:3] = R_i.T @ J[:3]
    if representation == 'body':
        J[3:] = R_i.T @ J[3:]
    return J


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
