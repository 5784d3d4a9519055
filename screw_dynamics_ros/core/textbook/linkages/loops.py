# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops: the constraints that joints in a ring put on each other.

Joints 1 to m along a loop that starts and ends at the ground, with screws Y_j in the root frame at
q = 0, where the loop is closed:

    position      exp(Y_1 q_1) ... exp(Y_m q_m) = 1
    velocity      sum J_j q_j' = 0,  J_j = Ad_{exp(Y_1 q_1) ... exp(Y_j-1 q_j-1)} Y_j
    acceleration  sum (J_j q_j'' + [V_j, J_j] q_j') = 0,  V_j = sum over k <= j of J_k q_k'

A joint that is traversed against its direction enters with -Y_j. Of the six equations only as many
are independent as the smallest subalgebra that contains the screws has dimensions: three for a
planar linkage. The others hold by themselves and are projected away.

Some joints have motors (active), the others follow (passive). With the columns of J split so,

    J_p q_p' = -J_a q_a',   q' = G q_a',   G_p = -J_p^+ J_a,  G_a = 1,

and a Jacobian A of anything that moves with the loop becomes A G for the active joints alone.

Sources: Müller 2018a, section 4 (K-39); Bruyninckx 2010 (5.3), (5.4), (5.28) corrected, (5.29),
sections 5.5.4 and 1.4 (B-109, B-127, B-128, B-129, B-136).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.kinematics.product_of_exponentials import ConstructionScrews
from screw_dynamics_ros.core.lie import screw_systems, screws, se3
from screw_dynamics_ros.core.textbook.linkages.joint_pairs import generated_algebra
from screw_dynamics_ros.core.types import Array

#: Singular values of the passive columns, relative to the largest, below which they are dependent.
RANK_TOLERANCE = 1e-9


class LoopClosing(NamedTuple):
    """A configuration that closes a loop.

    Attributes
    ----------
    q : (m,) array
    residual : float
        Norm of `Loop.residual` there.
    iterations : int
        Newton steps taken.
    """

    q: Array
    residual: float
    iterations: int


class Loop:
    """One closed kinematic loop.

    Parameters
    ----------
    Y : (m, 6) array
        Unit screws of the joints along the loop, at q = 0 in the root frame.

    Attributes
    ----------
    screws : ConstructionScrews
    algebra : (d, 6) array
        Orthonormal basis of the subalgebra the screws generate: the directions in which the loop
        can be violated at all.
    """

    def __init__(self, Y: ArrayLike) -> None:
        self.screws = ConstructionScrews(Y)
        self.algebra = generated_algebra(self.screws.Y)

    @property
    def redundant(self) -> int:
        """How many of the six constraints hold by themselves: 3 for a planar linkage."""
        return 6 - len(self.algebra)

    def mobility(self, q: ArrayLike) -> int:
        """Return m - rank J: the freedoms at q, which special dimensions and poses may raise."""
        return len(self.screws) - screw_systems.rank(self.jacobian(q))

    def closure(self, q: ArrayLike) -> Array:
        """Return the pose (4, 4) that is the identity where the loop is closed."""
        return self.screws.poses(self._numbers('q', q))[-1]

    def residual(self, q: ArrayLike) -> Array:
        """Return the logarithm of the closure in the algebra, (d,): zero for a closed loop."""
        residual: Array = self.algebra @ se3.log(self.closure(q))
        return residual

    def jacobian(self, q: ArrayLike) -> Array:
        """Return J, (6, m): J q' = 0."""
        C = self.screws.poses(self._numbers('q', q))
        return screws.transform_twist(C, self.screws.Y).T  # exp(Y_j q_j) leaves Y_j as it is

    def reduced_jacobian(self, q: ArrayLike) -> Array:
        """Return the (d, m) matrix of the constraints that do not hold by themselves."""
        reduced: Array = self.algebra @ self.jacobian(q)
        return reduced

    def acceleration_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return sum [V_j, J_j] q_j', (6,): J q'' = -bias."""
        J, v = self.jacobian(q).T, self._numbers('v', v)
        V = np.cumsum(v[:, None] * J, axis=0)
        bias: Array = v @ screws.motor_product(V, J)
        return bias

    def active_map(self, q: ArrayLike, active: Sequence[int]) -> Array:
        """Return G, (m, k): the rates of all joints for those of the active ones, q' = G q_a'.

        Parameters
        ----------
        q : (m,)
        active : sequence of k int
            Joints with motors, in the order of their rates; the others are passive.

        Raises
        ------
        ArgumentError
            If the passive joints could move while the active ones stand still (their columns are
            dependent), or if the active joints hinder each other.
        """
        passive = self._passive(active)
        J = self.jacobian(q)
        J_a, J_p = J[:, list(active)], J[:, passive]
        rank = screw_systems.rank(J_p, tolerance=RANK_TOLERANCE) if passive else 0
        if rank < len(passive):
            raise ArgumentError(
                f'joints {passive} are not held by the active joints {list(active)}: their columns '
                f'have rank {rank} of {len(passive)} at q = {np.asarray(q).tolist()}; make another '
                'joint active, or leave this singular configuration'
            )
        G = np.zeros((len(self.screws), len(active)))
        G[list(active)] = np.eye(len(active))
        G[passive] = -np.linalg.pinv(J_p) @ J_a
        error = float(np.abs(J @ G).max(initial=0.0))
        if error > RANK_TOLERANCE * max(1.0, float(np.abs(J).max())):
            raise ArgumentError(
                f'the active joints {list(active)} cannot move independently: the loop has '
                f'{self.mobility(q)} freedoms'
            )
        return G

    def closed(
        self,
        q: ArrayLike,
        active: Sequence[int],
        *,
        tolerance: float = 1e-12,
        max_iterations: int = 50,
    ) -> LoopClosing:
        """Return the configuration near q that closes the loop; the active joints stay where q is.

        Newton's method on the passive joints. A loop closes in several ways; which one it is
        depends on where q starts.

        Raises
        ------
        ArgumentError
            If it does not get there: the loop cannot be closed with these active joints, or not
            from here.
        """
        q = self._numbers('q', q).copy()
        passive = self._passive(active)
        for iteration in range(max_iterations + 1):
            residual = self.residual(q)
            size = float(np.linalg.norm(residual))
            if size <= tolerance:
                return LoopClosing(q, size, iteration)
            q[passive] -= np.linalg.pinv(self.reduced_jacobian(q)[:, passive]) @ residual
        raise ArgumentError(
            f'the loop does not close: the residual is still {size:.3g} after {max_iterations} '
            f'Newton steps with joints {list(active)} held; start nearer, or move these joints'
        )

    def _passive(self, active: Sequence[int]) -> list[int]:
        joints = range(len(self.screws))
        if len(set(active)) != len(active) or not set(active) <= set(joints):
            raise ArgumentError(
                f'active joints must be different numbers from 0 to {len(joints) - 1}, '
                f'got {list(active)}'
            )
        return [j for j in joints if j not in active]

    def _numbers(self, name: str, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (len(self.screws),):
            raise ArgumentError(f'{name} must have shape ({len(self.screws)},), got {x.shape}')
        return x
