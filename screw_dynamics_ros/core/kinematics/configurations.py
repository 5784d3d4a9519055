# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Configurations of a tree as points of a manifold: a start, samples, differences.

A configuration q has one number for each coordinate of a joint, (qx, qy, qz, qw) for each ball and
(x, y, z, qx, qy, qz, qw) for each free body. The difference X of two configurations is the
displacement that leads from one to the other, q_1 = q_0 exp X: `reconstruction.integrate` is its
inverse. The functions work on numbers, single configurations (nq,) and stacks (..., nq). Of a free
body, X = (xi, eta) is

    log(C_0^-1 C_1)  for body,    (log(R_1 R_0^T), r_1 - r_0)  for hybrid increments.

>>> from screw_dynamics_ros.core import Robot
>>> from screw_dynamics_ros.core.description import Link, RobotDescription
>>> box = Robot(RobotDescription.from_parts('box', [Link('box')], []), floating_base=True)
>>> q0 = box.neutral()
>>> q1 = np.array([1.0, 2.0, 0.0, 0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4)])
>>> box.difference(q0, q1, 'hybrid').round(4)  # 90 degrees about z, and the displacement
array([0.    , 0.    , 1.5708, 1.    , 2.    , 0.    ])

Source: Müller 2018b (88), (89) (D-44); Müller 2018a remark 17 (K-36).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..tree.joint_limits import position_limits
from ..tree.multibody_tree import Tree
from ..types import Array


def neutral(tree: Tree) -> Array:
    """Return the configuration (nq,) of zeros, with free bodies in the pose of the root frame."""
    q = np.zeros(tree.nq)
    for body in tree.free_bodies:
        q[body.q] = body.group.neutral
    return q


def home(tree: Tree) -> Array:
    """Return the configuration (nq,) within the joint limits that is nearest to `neutral`."""
    q: Array = np.clip(neutral(tree), *position_limits(tree))
    return q


def random_configurations(tree: Tree, rng: np.random.Generator, size: Sequence[int] = ()) -> Array:
    """Return configurations (*size, nq), uniform within the joint limits.

    Coordinates without limits lie in [-pi, pi] [rad, m]; free bodies have any orientation.
    """
    lower, upper = position_limits(tree)
    unlimited = ~(np.isfinite(lower) & np.isfinite(upper))
    lower[unlimited], upper[unlimited] = -np.pi, np.pi
    q = rng.uniform(lower, upper, (*size, tree.nq))
    for body in tree.free_bodies:
        q[..., body.q] = body.group.random(rng, q[..., body.q])
    return q


def difference(tree: Tree, q0: Array, q1: Array, increments: str = 'body') -> Array:
    """Return the displacement X (..., nv) from q0 to q1 [rad, m]; see `reconstruction.integrate`.

    Coordinates of joints subtract, continuous ones as well; a free body turns by at most pi.
    """
    q0, q1 = np.broadcast_arrays(q0, q1)
    X = np.empty((*q0.shape[:-1], tree.nv))
    for body in tree.bodies:
        x0, x1 = q0[..., body.q], q1[..., body.q]
        X[..., body.v] = body.group.difference(x0, x1, increments)
    return X
