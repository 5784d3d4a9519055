# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The operations of `KinematicModel` for wheeled platforms and for links of mobile manipulators.

Wheel rotations do not determine the pose of a platform, because its constraints are nonholonomic.
Position kinematics is therefore that of one arc: q has the wheel rotations, at constant rates and
without slip, since the platform was at a known pose (`seed`, by default the root frame), and the
steering angles during that motion. Use `odometry.Odometry` for longer motions, and
`odometry.turn_drive_turn` for poses that no arc reaches.

Source: Bruyninckx 2010, sections 9.3 to 9.7 (C-012, C-131, C-132).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...arms.inverse.force import forward_force
from ...errors import ArgumentError
from ...mobile import planar
from ...mobile.platforms import steering_for
from ...mobile.wheeled_platform import WheeledPlatform
from ...types import Array
from .mobile_manipulator import MobileManipulator

SLIP_TOLERANCE = 1e-6  # m per m and rad; attributed to rounding


class MobileKinematics:
    """A platform with the interface of every kinematic model (`core.kinematic_model`).

    q and v have the n driven wheels [rad, rad/s], then the k steering angles and their rates; tau
    has the torques of both [N m]. Steering about the point of contact causes no motion. Twists and
    wrenches are hybrid: at the origin of the platform, along the axes of its initial frame.

    Parameters
    ----------
    platform : WheeledPlatform

    Examples
    --------
    >>> from screw_dynamics_ros.core.mobile.platforms import differential_drive
    >>> base = MobileKinematics(differential_drive(0.5, 0.1))
    >>> base.forward_velocity([0.0, 0.0], [8.0, 5.0]).round(9) + 0.0
    array([0.  , 0.  , 0.6 , 0.65, 0.  , 0.  ])
    """

    def __init__(self, platform: WheeledPlatform) -> None:
        self.platform = platform
        self.n, self.k = len(platform.driven), len(platform.steered)

    def forward_position(self, q: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the pose (4, 4) at the end of one arc that starts at `seed` (4, 4)."""
        rotations, steering = self._split('q', q)
        return planar.to_space(self._arc(rotations, steering, seed))

    def inverse_position(self, pose: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the q (n + k,) of the arc from the root frame to a pose (4, 4).

        `seed` (n + k,) has the previous steering angles; each wheel is steered to the nearer side.
        Raises `ArgumentError` if no arc reaches the pose.
        """
        displacement = planar.log(planar.from_space(pose))
        before = np.zeros(self.k) if seed is None else self._split('seed', seed)[1]
        return self._joints(displacement, before, 'one arc', 'use odometry.turn_drive_turn')

    def forward_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the twist (6,) for wheel and steering rates, by least squares if inconsistent."""
        rotations, steering = self._split('q', q)
        rates = self._split('v', v)[0]
        t = self.platform.twist(rates, steering)
        return planar.EMBEDDING @ self._turned(t, self._heading(rotations, steering))

    def inverse_velocity(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return wheel rates, and zero steering rates, for a twist (6,).

        Raises `ArgumentError` if wheels would slip at the steering angles of q.
        """
        rotations, steering = self._split('q', q)
        t = self._turned(planar.plane_twist(twist), -self._heading(rotations, steering))
        self._check(t, steering, 'the twist', 'use twist_filter.admissible_twist, or steer')
        return np.concatenate([self.platform.wheel_rates(t, steering), np.zeros(self.k)])

    def forward_force(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the wrench (6,) that the platform exerts by its wheel torques.

        Lateral forces of the wheels are zero, because the torques do not determine them.
        """
        rotations, steering = self._split('q', q)
        w = self.platform.wrench(self._split('tau', tau)[0], steering=steering)
        return planar.EMBEDDING @ self._turned(w, self._heading(rotations, steering))

    def inverse_force(self, q: ArrayLike, wrench: ArrayLike) -> Array:
        """Return the torques (n + k,) that exert a wrench (6,): B^T w; zero for steering.

        The ground supports components along constraints, and those out of the plane.
        """
        rotations, steering = self._split('q', q)
        W = vector('the wrench', 6, wrench)
        if not np.isfinite(W).all():
            raise ArgumentError(f'the wrench must be finite, got {W.tolist()}')
        w = self._turned(planar.EMBEDDING.T @ W, -self._heading(rotations, steering))
        return np.concatenate([self.platform.twist_map(steering).T @ w, np.zeros(self.k)])

    def _split(self, name: str, value: ArrayLike) -> tuple[Array, Array]:
        x = vector(name, self.n + self.k, value)
        if not np.isfinite(x).all():
            raise ArgumentError(f'{name} must be finite, got {x.tolist()}')
        return x[: self.n], x[self.n :]

    def _arc(self, rotations: Array, steering: Array, seed: ArrayLike | None) -> Array:
        start = np.zeros(3) if seed is None else planar.from_space(seed)
        return planar.compose(start, planar.exp(self.platform.twist(rotations, steering)))

    def _heading(self, rotations: Array, steering: Array) -> float:
        return float(self._arc(rotations, steering, None)[0])

    def _turned(self, t: Array, angle: float) -> Array:
        return np.concatenate([t[:1], planar.rotated(angle, t[1:])])

    def _joints(self, t: Array, before: Array, what: str, remedy: str) -> Array:
        steering = steering_for(self.platform, t, before)
        self._check(t, steering, what, remedy)
        return np.concatenate([self.platform.wheel_rates(t, steering) + 0.0, steering])

    def _check(self, t: Array, steering: Array, what: str, remedy: str) -> None:
        slips = self.platform.slip_matrix(steering) @ t
        if np.abs(slips).max(initial=0.0) > SLIP_TOLERANCE * max(1.0, np.abs(t).max()):
            k = int(np.argmax(np.abs(slips)))
            raise ArgumentError(
                f'{what} is not feasible for the platform: wheel {self.platform.slip_names[k]!r} '
                f'would slip by {slips[k]:.4g} laterally; {remedy}'
            )


class ToolKinematics:
    """A link of a mobile manipulator with the interface of every kinematic model.

    q is the configuration of the whole tree (nq,), v the rates and tau the torques of wheels and
    joints (nu,). Twists and wrenches are hybrid, at the origin of the link.

    Source: Bruyninckx 2010, section 5.7 and chapter 10 (C-012, C-142).

    Parameters
    ----------
    mobile : MobileManipulator
    link : str
        The tool.
    base_weight : float
        Weight of the base relative to a joint, in inverse position and velocity kinematics.
    steering : (k,)
        Angles of steered wheels [rad].
    """

    def __init__(
        self,
        mobile: MobileManipulator,
        link: str,
        base_weight: float = 1.0,
        steering: ArrayLike = (),
    ) -> None:
        self.mobile, self.link = mobile, link
        self._weight, self._steering = base_weight, steering

    def forward_position(self, q: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the pose (4, 4) of the link; it is unique, `seed` is ignored."""
        return self.mobile.robot.link_pose(q, self.link)

    def inverse_position(self, pose: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return a configuration near `seed` (nq,) with the link at a pose (4, 4).

        Raises `ArgumentError` if there is none; see `MobileManipulator.inverse_kinematics`.
        """
        start = self.mobile.robot.neutral() if seed is None else seed
        found = self.mobile.inverse_kinematics(pose, self.link, start, base_weight=self._weight)
        if not found.success:
            raise ArgumentError(f'link {self.link!r}: {found.message}')
        return found.q

    def forward_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the twist (6,) for wheel and joint rates (nu,)."""
        return self._jacobian(q) @ vector('v', self.mobile.nu, v)

    def inverse_velocity(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return the rates (nu,) of least weighted norm; raises `ArgumentError` without any."""
        found = self.mobile.inverse_velocity(
            q, twist, self.link, base_weight=self._weight, steering=self._steering
        )
        if not found.success:
            raise ArgumentError(f'link {self.link!r}: {found.message}')
        return found.v

    def forward_force(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the least-squares wrench (6,) that torques (nu,) exert."""
        return -forward_force(self._jacobian(q), tau, least_squares=True).wrench

    def inverse_force(self, q: ArrayLike, wrench: ArrayLike) -> Array:
        """Return the torques (nu,) that exert a wrench (6,), without gravity: J^T W."""
        return self._jacobian(q).T @ vector('the wrench', 6, wrench)

    def _jacobian(self, q: ArrayLike) -> Array:
        return self.mobile.jacobian(q, self.link, steering=self._steering)
