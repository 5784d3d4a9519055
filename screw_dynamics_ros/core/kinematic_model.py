# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The same kinematic operations for serial, parallel and mobile robots.

| | position | velocity | force |
|---|---|---|---|
| forward | `forward_position` | `forward_velocity` | `forward_force` |
| inverse | `inverse_position` | `inverse_velocity` | `inverse_force` |

q and v are positions and rates of the actuated joints, tau their torques. A pose is that of the
moving end: the tool of an arm, the platform of a parallel robot, the body of a mobile one. Serial
and parallel robots are dual: a unique solution for one corresponds to several for the other, and
t = J v, tau = J^T w for an arm are v = G^T t, w = G tau for a platform.

Source: Bruyninckx 2010, sections 5.7 and 8.22 (C-012, C-127); sign of wrenches by E-54.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from .types import Array


@runtime_checkable
class KinematicModel(Protocol):
    """What each kind of robot computes, under the same names.

    * pose: (4, 4), of the moving end in the root frame, m
    * twist: (6,), (omega, v), hybrid: v is the velocity of the origin of the moving end, both parts
      along the axes of the root, rad/s and m/s
    * wrench: (6,), (moment, force), that the robot exerts on its environment, at the origin of the
      moving end and along the axes of the root, N m and N
    * q, v, tau: of the actuated joints, rad or m, rad/s or m/s, N m or N; power is tau . v

    Operations raise `ArgumentError` for wrong shapes and for problems without a solution, as at a
    singular configuration, with the reason.
    """

    def forward_position(self, q: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the pose (4, 4) for joint positions q; of several, that which `seed` leads to.

        `seed` (4, 4) is a pose nearby.
        """

    def inverse_position(self, pose: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return joint positions q for a pose (4, 4); of several, those which `seed` leads to.

        `seed` holds joint positions nearby.
        """

    def forward_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the twist (6,) for joint rates v at q."""

    def inverse_velocity(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return joint rates v for a twist (6,) at q."""

    def forward_force(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the wrench (6,) that joint torques tau exert at q, in static equilibrium."""

    def inverse_force(self, q: ArrayLike, wrench: ArrayLike) -> Array:
        """Return joint torques tau that exert a wrench (6,) at q: tau = J^T wrench."""
