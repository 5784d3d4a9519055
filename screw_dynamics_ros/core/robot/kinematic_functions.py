"""Kinematics of a robot: poses, Jacobians, twists, accelerations."""

from __future__ import annotations

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.robot.compiled_functions import CompiledFunctions
from screw_dynamics_ros.core.types import Array


class KinematicFunctions(CompiledFunctions):
    """Where the links of a `Robot` are and how they move; doc/kinematics.md."""

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the (4, 4) pose of a link frame in the root frame [m] (muller.md K-13)."""
        return self._evaluate('link_pose', (q,), (link,))

    def link_poses(self, q: ArrayLike) -> Array:
        """Return the (n_links, 4, 4) poses of all links, as in `link_names` (muller.md K-13)."""
        return self._evaluate('link_poses', (q,))

    def moved(self, q: ArrayLike, displacement: ArrayLike, increments: str = 'body') -> Array:
        """Return the configuration (nq,) a displacement (nv,) away from q (muller.md D-44).

        Coordinates of joints add; a free body moves by exp of a screw in its own frame, as in
        Pinocchio's `integrate`, or with 'spatial', 'mixed' or 'hybrid' `increments`.
        """
        return self._evaluate('moved', (q, displacement), (increments,))

    def increment_rate(
        self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike, increments: str = 'body'
    ) -> Array:
        """Return the rate (nv,) of the displacement that has led to q, at the velocity v."""
        return self._evaluate('increment_rate', (q, displacement, v), (increments,))

    def jacobian(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        """Return the (6, nv) geometric Jacobian of a link: twist = jacobian @ v.

        `representation` is 'body', 'spatial', 'hybrid' or 'mixed' (muller.md K-09, K-21 to K-31).
        """
        return self._evaluate('jacobian', (q,), (link, representation))

    def velocity(
        self, q: ArrayLike, v: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the twist (omega, v), (6,), of a link [rad/s, m/s], as in `jacobian`."""
        return self._evaluate('velocity', (q, v), (link, representation))

    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        representation: str = 'hybrid',
    ) -> Array:
        """Return the time derivative of a link's twist, (6,) [rad/s^2, m/s^2] (muller.md D-16).

        The linear part of a hybrid or mixed acceleration is that of the link's origin.
        """
        return self._evaluate('acceleration', (q, v, a), (link, representation))

    def jacobian_derivative(
        self, q: ArrayLike, v: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the time derivative of the Jacobian of a link, (6, nv) (muller.md D-14, D-16)."""
        return self._evaluate('jacobian_derivative', (q, v), (link, representation))

    def jacobian_partials(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        """Return the (6, nv, nv) derivatives dJ_j / dq_k of a link's Jacobian (muller.md D-04).

        Along the body-fixed velocity of a free body; higher orders: `kinematics.jacobian_partials`.
        """
        return self._evaluate('jacobian_partials', (q,), (link, representation))

    def analytical_jacobian(self, q: ArrayLike, link: str, orientation: str = 'xyz') -> Array:
        """Return the Jacobian of (orientation coordinates, position) of a link, (6, nv).

        `orientation` is one of 24 sets of Euler angles, 'rotation_vector', or 'quaternion' with
        (7, nv) (bruyninckx_1.md B-125). Where Euler angles lock it is not finite, or refused.
        """
        return self._evaluate('analytical_jacobian', (q,), (link, orientation))
