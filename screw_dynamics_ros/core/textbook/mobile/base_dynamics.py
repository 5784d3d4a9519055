# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Dynamics of a platform: a planar rigid body with wheels that have inertia.

With the inertia M about the origin of the platform, the center of mass at c and the twist t,

    M t' + b(t) = D^T (tau - J q'') / r + A^T c_f,      A t = 0,

with the inertia J of the wheels about their axles and the lateral forces c_f. b(t) = -ad(t)^T M t
are the centrifugal terms in the moving frame. For a differential drive with its center of mass a
distance a ahead of the axle these are m (v' - a omega^2) = f_r + f_l and
(I + m a^2) omega' + m a v omega = (d / 2) (f_r - f_l).

Source: Bruyninckx 2010, section 9.10, completed with (6.60) (C-140).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, float_array, vector
from ...arms.inverse.weighted_inverse import WeightedInverse
from ...errors import ArgumentError
from ...mobile import planar
from ...mobile.wheeled_platform import WheeledPlatform
from ...types import Array


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """The result of forward dynamics.

    Attributes
    ----------
    acceleration : (3,) array
        t': rates of the components of the body-fixed twist [rad/s^2, m/s^2].
    across : (m,) array
        Lateral constraint forces of the wheels [N]; the caller must check the friction limits.
    """

    acceleration: Array
    across: Array


class BaseDynamics:
    """Equations of motion of a platform that does not slip.

    Parameters
    ----------
    platform : WheeledPlatform
    mass : float
        Total mass [kg].
    inertia : float
        Inertia about the vertical axis through the center of mass [kg m^2].
    center_of_mass : (2,)
        In the frame of the platform [m].
    wheel_inertia : float or (n,)
        Inertia of each driven wheel with its rotor, about its axle [kg m^2].
    """

    def __init__(
        self,
        platform: WheeledPlatform,
        mass: float,
        inertia: float,
        center_of_mass: ArrayLike = (0.0, 0.0),
        wheel_inertia: ArrayLike = 0.0,
    ) -> None:
        check_number('mass [kg]', mass, positive=True)
        check_number('inertia [kg m^2]', inertia, positive=True)
        x, y = vector('center_of_mass', 2, center_of_mass)
        J = np.broadcast_to(float_array('wheel_inertia', wheel_inertia), (len(platform.driven),))
        if not (np.isfinite([x, y]).all() and (J >= 0.0).all() and np.isfinite(J).all()):
            raise ArgumentError('center_of_mass must be finite and wheel_inertia finite and >= 0')
        self.platform, self.wheel_inertia = platform, J
        self.inertia = np.array(
            [
                [inertia + mass * (x * x + y * y), -mass * y, mass * x],
                [-mass * y, mass, 0.0],
                [mass * x, 0.0, mass],
            ]
        )

    def bias(self, twist: ArrayLike) -> Array:
        """Return b(t) (3,) [N m, N]; it does no work."""
        t = planar.triple('the twist', twist)
        return -planar.ad(t).T @ self.inertia @ t

    def kinetic_energy(self, twist: ArrayLike, steering: ArrayLike = ()) -> float:
        """Return the energy of platform and driven wheels [J]."""
        t = planar.triple('the twist', twist)
        return float(0.5 * t @ self._whole_inertia(steering) @ t)

    def forward_dynamics(
        self,
        twist: ArrayLike,
        torques: ArrayLike,
        steering: ArrayLike = (),
        wrench: ArrayLike = (0.0, 0.0, 0.0),
    ) -> BaseMotion:
        """Return accelerations and lateral forces for wheel torques (n,) [N m].

        Steering angles are constant. `wrench` (3,) is that of the environment on the platform.
        """
        A, M = self.platform.slip_matrix(steering), self._whole_inertia(steering)
        driving = self.platform.wrench(torques, steering=steering)
        load = driving + planar.triple('the wrench', wrench) - self.bias(twist)
        free = np.linalg.solve(M, load)
        if not len(A):
            return BaseMotion(free, np.zeros(0))
        back = np.linalg.solve(M, A.T)
        across = -WeightedInverse(A @ back).inverse() @ (A @ free)
        return BaseMotion(free + back @ across, across)

    def inverse_dynamics(
        self, twist: ArrayLike, acceleration: ArrayLike, steering: ArrayLike = ()
    ) -> tuple[Array, Array]:
        """Return (wheel torques (n,), lateral forces (m,)) for an acceleration t' (3,).

        If the solution is not unique, wheel forces have least squares. Lateral forces are those of
        the constraints, even for accelerations that would cause slip.
        """
        a = planar.triple('the acceleration', acceleration)
        wrench = self._whole_inertia(steering) @ a + self.bias(twist)
        return self.platform.wheel_forces(wrench, steering)

    def _whole_inertia(self, steering: ArrayLike) -> Array:
        """Return M + D^T J / r^2 D, the inertia of platform and wheels."""
        D = self.platform.drive_matrix(steering)
        return self.inertia + (D.T * (self.wheel_inertia / self.platform.radii**2)) @ D
