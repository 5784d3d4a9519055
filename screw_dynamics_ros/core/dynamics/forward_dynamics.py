# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics: articulated bodies, or dense reduced equations for robots with mimic joints.

    M(q) a = tau - C(q, v) v - g(q) + sum J^T W.

Example: the arm of unit lengths and masses, elbow at a right angle, has M = [[3, 1], [1, 1]] with
det M = 2. A unit torque at the shoulder gives the accelerations (1, -1) / 2.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v, tau = np.array([0.0, np.pi / 2]), np.zeros(2), np.array([1.0, 0.0])
>>> forward_dynamics(planar_arm(), q, v, tau, np.zeros(3)).round(3)
array([ 0.5, -0.5])

Source: Müller 2018b section 5.1 (D-38).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..tree.multibody_tree import Tree
from ..types import Array
from .hybrid_dynamics import hybrid_dynamics


def forward_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the joint accelerations (nv,) under the generalized forces tau and applied wrenches.

    Arguments as in `inverse_dynamics`; this is hybrid dynamics without prescribed motion. With
    mimic joints, several bodies share one coordinate, and the reduced equations
    G^T M G a = tau - G^T h are solved; otherwise the articulated-body recursion is used (D-38).
    """
    none_given = np.zeros(tree.nv)
    return hybrid_dynamics(tree, q, v, none_given, tau, gravity, '0' * tree.nv, wrenches)[0]
