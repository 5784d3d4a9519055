# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematic reconstruction: configurations from velocities, in local coordinates on the group.

The configurations of a robot are a Lie group, R for each coordinate of a joint and rigid motions
for each free body. Near a configuration q they are q exp X (or exp X q) with X in the Lie algebra,
(nv,) in the order of v, and the rate X' follows from the velocity. Coordinates of joints add. A
free body has, by the twist that is its velocity in the group,

==========  ==============  ============  ============================
increments  group           moved by      rate of X = (xi, eta)
==========  ==============  ============  ============================
`body`      SE(3)           C exp X       X' = dexp^-1_{-X} V^b
`spatial`   SE(3)           exp X C       X' = dexp^-1_X V^s
`mixed`     SO(3) x R^3     C exp X       xi' = dexp^-1_{-xi} omega^b, eta' = r'
`hybrid`    SO(3) x R^3     exp X C       xi' = dexp^-1_xi omega^s, eta' = r'
==========  ==============  ============  ============================

On the same group both sides give the same motion. A constant twist is a straight line X = t V in
`body` and `spatial`: finite screw motions, which keep a body in any motion subgroup it moves in. In
the other two the reference point moves on a straight line, as the center of mass of a free body
does.

A free body turns by theta = 90 degrees about z and moves along its own x meanwhile, by theta in
all: on a circle of radius 1 to (1, 1), or straight ahead.

>>> import numpy as np
>>> from screw_dynamics_ros.core.tree.examples import floating_planar_arm
>>> q = np.array([0, 0, 0, 0, 0, 0, 1.0, 0, 0])
>>> X = np.pi / 2 * np.array([0, 0, 1.0, 1.0, 0, 0, 0, 0])
>>> integrate(floating_planar_arm(), q, X, 'body')[:3].round(3)
array([1., 1., 0.])
>>> integrate(floating_planar_arm(), q, X, 'mixed')[:3].round(3)
array([1.571, 0.   , 0.   ])

Source: Müller 2018b (88), (89) (D-44); Müller 2018a remark 17 (K-36); Müller and Terze (4),
(8)-(11) (I-01, I-05 to I-09).
"""

from __future__ import annotations

from ..linear import zeros
from ..tree.multibody_tree import Tree
from ..types import Array


def integrate(tree: Tree, q: Array, displacement: Array, increments: str = 'body') -> Array:
    """Return q exp X, the configuration (nq,) a finite displacement X (nv,) away from q.

    Parameters
    ----------
    tree : Tree
    q : (nq,)
        Quaternions keep their length.
    displacement : (nv,)
        [rad, m]; of a free body (xi, eta), angular part first, as `increments` defines.
    increments : {'body', 'spatial', 'mixed', 'hybrid'}
    """
    result = zeros(tree.nq, q, displacement)
    for body in tree.bodies:
        x, X = q[body.q], displacement[body.v]
        result[body.q] = body.group.displaced(x, X, increments)
    return result


def increment_rate(
    tree: Tree, q: Array, displacement: Array, v: Array, increments: str = 'body'
) -> Array:
    """Return the rate X' (nv,) [rad/s, m/s] of the displacement X by which q moves away with v.

    Parameters
    ----------
    tree : Tree
    q : (nq,)
        Where the robot is: already displaced by X.
    displacement, increments
        As in `integrate`; singular where a free body turns by 2 pi.
    v : (nv,)
        Velocity; of a free body, its body-fixed twist.
    """
    rate = zeros(tree.nv, q, displacement, v)
    for body in tree.bodies:
        x, X = q[body.q], displacement[body.v]
        rate[body.v] = body.group.increment_rate(x, X, v[body.v], increments)
    return rate
