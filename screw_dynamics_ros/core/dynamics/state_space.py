# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Linear model of the motion near a state.

    d/dt (dq, dv) = [[0, 1], [da/dq, da/dv]] (dq, dv) + [0, M^-1] dtau,

with -ad_V instead of 0 for a free body. Example: the straight arm at rest without gravity, M^-1 =
[[1, -2], [-2, 5]], is a double integrator. After 1 s of a constant torque, dv = M^-1 dtau and
dq = M^-1 dtau / 2.

>>> Minv, zero = np.array([[1.0, -2.0], [-2.0, 5.0]]), np.zeros((2, 2))
>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> model = state_space(planar_arm(), np.zeros(2), zero, zero, Minv)
>>> model.discretized(1.0).B.round(6)
array([[ 0.5, -1. ],
       [-1. ,  2.5],
       [ 1. , -2. ],
       [-2. ,  5. ]])

Source: Müller 2018b section 6.1 (D-40).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arguments import check_number
from ..tree.multibody_tree import Tree
from ..types import Array


@dataclass(frozen=True, eq=False)
class StateSpace:
    """x' = A x + B u, or x_{k+1} = A x_k + B u_k: deviations from a state and from its torques.

    x = (dq, dv), (2 nv,), where dq is a displacement along the velocities v (for a free body, along
    its body-fixed twist), and u = dtau, (nv,).

    Attributes
    ----------
    A : (2 nv, 2 nv) array
    B : (2 nv, nv) array
    """

    A: Array
    B: Array

    def discretized(self, step: float) -> StateSpace:
        """Return the model with u held constant over each `step` [s] (zero-order hold)."""
        check_number('step', step)
        from scipy.linalg import expm  # slow to import and rarely needed

        n, m = self.B.shape
        both = np.zeros((n + m, n + m))
        both[:n] = np.hstack([self.A, self.B])
        both = expm(step * both)
        return StateSpace(both[:n, :n], both[:n, n:])


def state_space(tree: Tree, v: Array, da_dq: Array, da_dv: Array, Minv: Array) -> StateSpace:
    """Return the continuous model from the derivatives of forward dynamics at a state.

    dq' = dv for joints; for a free body, the body-fixed displacement from the reference motion has
    the rate dq' = dv - ad_V dq.
    """
    n = tree.nv
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    A[:n, n:] = np.eye(n)
    for body in tree.free_bodies:
        A[body.v, body.v] = -body.group.bracket(v[body.v])
    A[n:, :n], A[n:, n:], B[n:] = da_dq, da_dv, Minv
    return StateSpace(A, B)
