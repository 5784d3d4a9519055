# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensitivity of torques and poses to the geometry: placements of joints as parameters.

A joint displaced in its predecessor by exp(pi), pi = (rotation [rad], translation [m]) in the frame
of the joint, is equivalent to a joint behind another joint at rest:

    C_p,i = B_i exp(pi) exp(X_i q_i).

The derivatives with respect to pi, at pi = 0, are therefore those of D-04 and D-40 for a tree with
a massless free body before the joint. Example: if the elbow of the straight arm is moved along x by
dx, the outer mass moves with it, and its weight 10 increases the shoulder torque by 10 dx:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest, gravity = np.zeros(2), np.array([0.0, -10.0, 0.0])
>>> torque_sensitivity(planar_arm(), rest, rest, rest, gravity, 'elbow')[:, 3] + 0.0
array([10.,  0.])

Source: Müller 2018b section 6.2 (D-41).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import UnknownNameError
from ..kinematics.jacobians import jacobian
from ..lie.se3 import pose
from ..tree.multibody_tree import GROUND, Body, Frame, Tree
from ..types import Array
from .partial_derivatives import inverse_dynamics_derivatives

AT_REST = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def torque_sensitivity(
    tree: Tree, q: Array, v: Array, a: Array, gravity: Array, joint: str
) -> Array:
    """Return dQ/dpi, (nv, 6), for the placement of `joint`; arguments as in `inverse_dynamics`.

    `tree` must be that of the description: in a regrouped tree inertias depend on placements.
    """
    n, still = tree.nv, np.zeros(6)
    augmented = with_placement(tree, joint)
    dQ_dq, _, _ = inverse_dynamics_derivatives(
        augmented,
        np.concatenate([q, AT_REST]),
        np.concatenate([v, still]),
        np.concatenate([a, still]),
        gravity,
    )
    return dQ_dq[:n, n:]


def pose_sensitivity(tree: Tree, q: Array, link: str, joint: str) -> Array:
    """Return the derivative C^-1 dC/dpi, (6, 6), of the pose of `link` by pi of `joint` (D-41)."""
    augmented = with_placement(tree, joint)
    return jacobian(augmented, np.concatenate([q, AT_REST]), link, 'body')[:, tree.nv :]


def with_placement(tree: Tree, joint: str) -> Tree:
    """Return the tree with six further coordinates, last in q (as a pose) and v, before `joint`."""
    names = dict.fromkeys(body.joint for body in tree.bodies if body.joint)
    if not isinstance(joint, str) or joint not in names:
        raise UnknownNameError(
            f'no movable joint named {joint!r}; choose one of {", ".join(names)}'
        )
    place = next(i for i, body in enumerate(tree.bodies) if body.joint == joint)

    def shifted(i: int) -> int:
        return i + (i >= place)

    moved = [replace(body, parent=shifted(body.parent)) for body in tree.bodies]
    first = moved[place]
    to_axis = tree.frames[first.name].S[:3, :3].T  # the joint's frame, rotated to its axis
    Q = pose(to_axis, np.zeros(3))
    placement = Body(
        first.name,
        f'placement of {joint}',
        first.parent,
        first.B @ Q.T,
        np.eye(6),
        slice(tree.nq, tree.nq + 7),
        slice(tree.nv, tree.nv + 6),
    )
    moved[place] = replace(first, parent=place, B=Q)
    return replace(
        tree,
        bodies=(*moved[:place], placement, *moved[place:]),
        frames={
            name: Frame(shifted(frame.body) if frame.body != GROUND else GROUND, frame.S)
            for name, frame in tree.frames.items()
        },
        nq=tree.nq + 7,
        nv=tree.nv + 6,
    )
