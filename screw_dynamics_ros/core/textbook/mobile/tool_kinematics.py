# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The operations of `KinematicModel` for a link of a mobile manipulator."""

from __future__ import annotations

from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.arms.inverse.force import forward_force
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from .mobile_manipulator import MobileManipulator


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
