"""Closed loops: the constraints that joints in a ring put on each other.

Joints 1 to m along a loop that starts and ends at the ground, with screws Y_j in the root frame at
q = 0, where the loop is closed:

    position      exp(Y_1 q_1) ... exp(Y_m q_m) = 1
    velocity      sum J_j q_j' = 0,  J_j = Ad_{exp(Y_1 q_1) ... exp(Y_j-1 q_j-1)} Y_j
    acceleration  sum (J_j q_j'' + [V_j, J_j] q_j') = 0,  V_j = sum over k <= j of J_k q_k'

A joint that is traversed against its direction enters with -Y_j. Of the six equations only as many
are independent as the smallest subalgebra that contains the screws has dimensions: three for a
planar linkage. The others hold by themselves and are projected away.

Source: muller.md K-39; bruyninckx_1.md B-109.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screw_systems, screws, se3
from screw_dynamics_ros.core.model.geometry import ConstructionScrews
from screw_dynamics_ros.core.model.joints import generated_algebra
from screw_dynamics_ros.core.model.tree import Array


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

    def _numbers(self, name: str, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (len(self.screws),):
            raise ArgumentError(f'{name} must have shape ({len(self.screws)},), got {x.shape}')
        return x
