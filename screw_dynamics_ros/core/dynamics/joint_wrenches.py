# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches through all joints of the description, including fixed joints.

In root axes and at the origin of each link, the Newton-Euler equations of the hybrid form give

    W_i = M_i V_i' + B_i V_i - W_i^app + sum of Ad_r^T W_k over the links k that link i carries.

The recursions run on a tree in which rigidly connected links are one body, and compiled programs on
a tree with masses moved across joints (`regrouped_tree`). Wrenches between links need the original
links: the motion comes from the tree, the inertias from the description.

Example: the straight arm of unit lengths and masses is at rest, g = 10. The shoulder supports 2
weights and their moments 10 + 20, the elbow one weight and its moment 10.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest = np.zeros(2)
>>> W = joint_wrenches(planar_arm(), rest, rest, rest, np.array([0.0, -10.0, 0.0]))
>>> W[1:3, [2, 4]]  # upper and lower link: moment about z, force along y
array([[30., 20.],
       [10., 10.]])

Source: Müller 2018b (77) (D-30), (52)-(55), (72)-(76) (D-21, D-27); Bruyninckx 2010 section 6.2.6
for rotors (C-054).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..kinematics.twist_recursions import BodyMotion, body_motions
from ..lie.se3 import Ad_R
from ..lie.so3 import hat
from ..tree.multibody_tree import GROUND, Frame, Tree, inertia_in
from ..types import Array
from .newton_euler import newton_euler, represented_inertia

#: The frame of a link in itself.
LINK = Frame(GROUND, np.eye(4))

ByLink = dict[str, Array]


def joint_wrenches(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the wrench of the predecessor on each link, (n_links, 6) [N m, N] (D-30).

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,), a : (nv,)
        Configuration, velocity and acceleration of the joints.
    gravity : (3,)
        Acceleration of free fall in the root frame [m/s^2].
    wrenches : {link: (6,)}
        Wrench (moment, force) of the environment on a link, at its origin, in its frame.

    Returns
    -------
    (n_links, 6) array
        (moment, force) at the origin and in the axes of each link, in the order of `tree.frames`:
        the sum of reaction and drive. The row of the root link is the wrench of the ground on it.
    """
    motions = body_motions(tree, q, [v, a], 'hybrid', -gravity)
    C, W = hybrid_wrenches(tree, motions, gravity, wrenches)
    return np.stack([Ad_R(C[link][:3, :3]).T @ W[link] for link in W])


def reaction_wrenches(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the part of `joint_wrenches` that does no work, (n_links, 6): X_i^T W_i^c = 0 (D-30).

    The omitted part acts along the joint freedom: a couple about the axis, or a force along it.
    Helical joints are driven by a couple.
    """
    motions = body_motions(tree, q, [v, a], 'hybrid', -gravity)
    C, W = hybrid_wrenches(tree, motions, gravity, wrenches)
    reaction = dict(W)
    for body, motion in zip(tree.bodies, motions):
        if body.is_rotor:
            continue
        for k, X in enumerate(motion.X[0].T):
            turns = body.X[:3, k].any()
            direction = X[:3] if turns else X[3:]
            drive = direction * (X @ W[body.name])
            zero = np.zeros(3)
            reaction[body.name] = reaction[body.name] - np.concatenate(
                [drive, zero] if turns else [zero, drive]
            )
    return np.stack([Ad_R(C[link][:3, :3]).T @ reaction[link] for link in W])


def hybrid_wrenches(
    tree: Tree,
    motions: list[BodyMotion],
    gravity: Array,
    wrenches: Mapping[str, Array] | None,
) -> tuple[ByLink, ByLink]:
    """Return the poses of all links and the wrenches on them, in root axes (D-27).

    The sum of M V' + B V - W^app over a link and all links that it carries.
    """
    C: ByLink = {}
    W: ByLink = {}
    for link, frame in tree.frames.items():
        C[link], V, dV = link_motion(frame, motions, gravity)
        R = C[link][:3, :3]
        W[link] = np.zeros(6)
        if frame.inertia is not None:
            M = represented_inertia(inertia_in(LINK, frame.inertia), C[link], 'hybrid')
            W[link] = newton_euler(M, V, dV, R, 'hybrid')
        if wrenches and link in wrenches:
            W[link] = W[link] - Ad_R(R) @ wrenches[link]

    for body, motion in zip(tree.bodies, motions):
        if body.is_rotor:  # the change of its spin J n q' a loads the link that carries it (C-054)
            axis, (rate,), (acceleration,) = motion.R[:, 2], *motion.own
            turned = hat(motion.V[0][:3]) @ axis
            moment = body.I[2, 2] * (acceleration * axis + rate * turned)
            W[body.name] = W[body.name] + np.concatenate([moment, np.zeros(3)])

    for link in reversed(list(W)):
        parent = tree.frames[link].parent
        if parent is not None:
            lever = C[link][:3, 3] - C[parent][:3, 3]
            moment, force = W[link][:3], W[link][3:]
            handed_down = np.concatenate([moment + hat(lever) @ force, force])
            W[parent] = W[parent] + handed_down
    return C, W


def link_motion(
    frame: Frame, motions: list[BodyMotion], gravity: Array
) -> tuple[Array, Array, Array]:
    """Return pose (4, 4), (omega, 0) and (omega', r'') of a link, r'' relative to free fall.

    Hybrid Newton-Euler equations do not need the velocity of the origin (D-21).
    """
    zero = np.zeros(3)
    if frame.body == GROUND:
        return frame.S, np.zeros(6), np.concatenate([zero, -gravity])
    motion = motions[frame.body]
    omega, domega = (V[:3] for V in motion.V)
    d = motion.R @ frame.S[:3, 3]
    ddr = motion.V[1][3:] + hat(domega) @ d + hat(omega) @ (hat(omega) @ d)
    return motion.C @ frame.S, np.concatenate([omega, zero]), np.concatenate([domega, ddr])
