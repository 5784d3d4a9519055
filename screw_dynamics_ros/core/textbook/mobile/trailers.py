# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Trailers behind a platform: rates, steady circular motion, forces.

The axle of trailer k is a length L behind its hinge, and the hinge is a distance m behind the axle
of its tractor (m = 0: on the axle; negative: ahead of it). With the angle alpha = phi - phi_k from
trailer to tractor and the velocities (omega, v) of the tractor's axle,

    omega_k = (v sin(alpha) - m omega cos(alpha)) / L,
    v_k     =  v cos(alpha) + m omega sin(alpha),

and this trailer is the tractor of the next one. No axle slips.

Source: Bruyninckx 2010, section 9.2.3, completed (C-137).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, is_number, vector
from ...errors import ArgumentError
from ...mobile import planar
from ...types import Array


@dataclass(frozen=True)
class Trailer:
    """One trailer.

    Attributes
    ----------
    length : float
        Distance from hinge to axle [m], positive.
    hinge : float
        Distance of the hinge behind the axle of the tractor [m].
    """

    length: float
    hinge: float = 0.0

    def __post_init__(self) -> None:
        check_number('length of the trailer [m]', self.length, positive=True)
        if not (is_number(self.hinge) and math.isfinite(self.hinge)):
            raise ArgumentError(f'hinge must be a finite number [m], got {self.hinge!r}')

    def transfer(self, angle: float) -> Array:
        """Return the matrix (2, 2) from (omega, v) of the tractor to those of the trailer at alpha.

        Its transpose maps (moment, force) on the trailer to those on the tractor.
        """
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[-self.hinge * c / self.length, s / self.length], [self.hinge * s, c]])

    def steady(self, radius: float) -> tuple[float, float]:
        """Return (angle alpha, turning radius) in steady motion behind a tractor on a circle.

        The radius is that of the center of the axle, positive to the left, infinite if straight.
        Raises `ArgumentError` if the circle is too tight for the trailer to follow.

        >>> angle, own = Trailer(0.6).steady(2.5)
        >>> round(own, 8), round(angle, 6)
        (2.42693222, 0.242366)
        """
        if math.isinf(radius):
            return 0.0, radius
        reach = math.hypot(radius, self.hinge)
        if self.length > reach:
            raise ArgumentError(
                f'a trailer of length {self.length:g} m cannot follow a circle of radius '
                f'{radius:g} m with its hinge {self.hinge:g} m behind the axle: it jackknifes'
            )
        size = abs(radius)
        angle = math.copysign(math.atan2(self.hinge, size) + math.asin(self.length / reach), radius)
        return angle, radius * math.cos(angle) + self.hinge * math.sin(angle)


class TrailerChain:
    """A chain of trailers.

    Parameters
    ----------
    trailers : sequence of Trailer
        In order, starting behind the platform.
    """

    def __init__(self, trailers: Sequence[Trailer]) -> None:
        self.trailers = tuple(trailers)

    def transfers(self, angles: ArrayLike) -> Array:
        """Return the matrices (k, 2, 2) from (omega, v) of the platform to those of each trailer.

        `angles` (k,) are the angles between each trailer and its tractor [rad].
        """
        result, whole = [], np.eye(2)
        for trailer, angle in zip(self.trailers, self._angles(angles)):
            whole = trailer.transfer(angle) @ whole
            result.append(whole)
        return np.array(result).reshape(-1, 2, 2)

    def angle_rates(self, angles: ArrayLike, omega: float, speed: float) -> Array:
        """Return the rates of the angles (k,) [rad/s] for (omega, v) of the platform's axle."""
        turning = (self.transfers(angles) @ [omega, speed])[:, 0]
        return np.concatenate([[omega], turning[:-1]])[: len(turning)] - turning

    def resistance(self, angles: ArrayLike, loads: ArrayLike) -> Array:
        """Return (moment [N m], force [N]) at the platform's axle for loads (k, 2) on the trailers.

        Power balance: its product with (omega, v) is the power of all loads (moment, force).
        """
        loads = np.asarray(loads, dtype=float).reshape(len(self.trailers), 2)
        return np.einsum('kij,ki->j', self.transfers(angles), loads)

    def steady(self, radius: float) -> tuple[Array, Array]:
        """Return angles (k,) and turning radii (k,) in steady motion on a circle."""
        angles, radii = [], []
        for trailer in self.trailers:
            angle, radius = trailer.steady(radius)
            angles.append(angle)
            radii.append(radius)
        return np.array(angles), np.array(radii)

    def poses(self, pose: ArrayLike, angles: ArrayLike) -> Array:
        """Return the poses (k, 3) of the axles, (phi, x, y), for that of the platform's axle."""
        result, x = [], planar.triple('the pose', pose)
        for trailer, angle in zip(self.trailers, self._angles(angles)):
            hinge = planar.compose(x, [-angle, -trailer.hinge, 0.0])
            x = planar.compose(hinge, [0.0, -trailer.length, 0.0])
            result.append(x)
        return np.array(result).reshape(-1, 3)

    def advance(self, angles: ArrayLike, omega: float, speed: float, dt: float) -> Array:
        """Return the angles (k,) after dt [s] of constant twist, by one fourth-order step."""
        check_number('dt [s]', dt)

        def rate(x: Array) -> Array:
            return self.angle_rates(x, omega, speed)

        x = self._angles(angles)
        k1 = rate(x)
        k2 = rate(x + 0.5 * dt * k1)
        k3 = rate(x + 0.5 * dt * k2)
        return x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(x + dt * k3))

    def _angles(self, angles: ArrayLike) -> Array:
        return vector('angles', len(self.trailers), angles)
