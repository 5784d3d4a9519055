"""Forward dynamics: articulated bodies, or dense reduced equations where joints mimic others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from screw_dynamics_ros.core.dynamics.hybrid_dynamics import hybrid_dynamics
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array


def forward_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the joint accelerations (nv,) under the generalised forces tau and applied wrenches.

    Arguments as in `inverse_dynamics`: hybrid dynamics with no motion prescribed. With mimic joints
    several bodies share one coordinate, and the reduced equations G^T M G a = tau - G^T h are
    solved; otherwise the articulated-body recursion runs (muller.md D-38).
    """
    none_given = np.zeros(tree.nv)
    return hybrid_dynamics(tree, q, v, none_given, tau, gravity, '0' * tree.nv, wrenches)[0]
