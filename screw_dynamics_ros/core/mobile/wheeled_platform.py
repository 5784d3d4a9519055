# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Platforms on wheels: velocities, constraints and forces of any set of wheels.

Wheels are lines of drive forces and of constraint forces in the plane. A wheel at p that rolls
along the unit vector u transmits forces along lines through p, unit wrenches (p x e, e) in the
order of `planar`. These are the legs of the equivalent instantaneous parallel robot, whose base
moves with the platform (9.2.1): a driven leg for the rolling direction, a leg of constant length
for the direction across.

* An ordinary wheel drives along u and holds across u.
* A wheel with rollers whose axis, at the ground, is the unit vector a drives the line
  (p x a, a) / (a . u) and holds nothing: omnidirectional wheels have a = u, mecanum wheels a at 45
  degrees (C-138).

With t the twist (omega, v_x, v_y) of the platform in its own frame, rim speeds r q' and slips s::

    r q' = D t,     s = A t,     w = D^T (tau / r) + A^T c

The rows of D and A are these lines; without slip A t = 0. D^T and A^T together are the
wrench basis G of the equivalent parallel robot, which makes the velocity kinematics of parallel
robots those of platforms (C-141). For a differential drive and a car they are the closed forms
(9.10) to (9.17) as corrected (E-46 to E-48).

Source: Bruyninckx 2010, sections 9.2 to 9.5 and 9.9 (C-131 to C-133, C-138, C-139, C-141).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, is_number, vector
from ..arms.inverse.weighted_inverse import WeightedInverse
from ..errors import ArgumentError
from ..types import Array
from .planar import triple

#: The largest angle between rolling direction and roller axis; at a right angle nothing is driven.
MAX_ROLLER_ANGLE = math.radians(85.0)
SAME_LINE = 1e-12  # m, rad


@dataclass(frozen=True, eq=False)
class Wheel:
    """One wheel, in the frame of the platform (x forward, y to the left).

    Attributes
    ----------
    name : str
        Of its joint.
    position : (2,) array
        Where it touches the ground [m].
    radius : float
        [m].
    direction : float
        Angle of the rolling direction when it is not steered [rad].
    roller_angle : float, optional
        From the rolling direction to the axis of the roller at the ground [rad]: 0 for
        omnidirectional wheels, 45 degrees up or down for mecanum wheels. None: no rollers.
    steered, driven : bool
        Whether it rotates about the vertical axis through its point of contact, and whether it has
        a motor or an encoder; without, it only constrains.

    Raises
    ------
    ArgumentError
        A radius that is no positive number, numbers that are not finite, a wheel that neither
        drives nor holds.
    """

    name: str
    position: ArrayLike
    radius: float
    direction: float = 0.0
    roller_angle: float | None = None
    steered: bool = False
    driven: bool = True

    def __post_init__(self) -> None:
        who = f'wheel {self.name!r}'
        position = vector(f'{who}: position', 2, self.position)
        if not np.isfinite(position).all():
            raise ArgumentError(f'{who}: position must be finite, got {position.tolist()}')
        position.setflags(write=False)
        object.__setattr__(self, 'position', position)
        check_number(f'{who}: radius [m]', self.radius, positive=True)
        for what, angle in (('direction', self.direction), ('roller_angle', self.roller_angle)):
            if angle is not None and not (is_number(angle) and math.isfinite(angle)):
                raise ArgumentError(f'{who}: {what} must be a finite number, got {angle!r}')
        if self.roller_angle is None:
            return
        if abs(self.roller_angle) > MAX_ROLLER_ANGLE:
            raise ArgumentError(
                f'{who}: roller_angle is {self.roller_angle:.4g} rad; rollers at a right angle to '
                'the rolling direction pass nothing on'
            )
        if not self.driven:
            raise ArgumentError(
                f'{who} has rollers and is not driven: leave it out, it does nothing'
            )

    def drive_line(self, steering: float = 0.0) -> Array:
        """Return the wrench (3,) of a unit of traction; its power is that of the rim speed."""
        u = self.direction + steering
        if self.roller_angle is None:
            return line(self.position, _unit(u))
        return line(self.position, _unit(u + self.roller_angle)) / math.cos(self.roller_angle)

    def slip_line(self, steering: float = 0.0) -> Array:
        """Return the wrench (3,) of a unit force across the wheel, to its left."""
        c, s = _unit(self.direction + steering)
        return line(self.position, (-s, c))


def line(point: ArrayLike, direction: ArrayLike) -> Array:
    """Return the wrench (m, f_x, f_y) of a force `direction` (2,) at a point (2,).

    >>> line([0.0, -0.25], [1.0, 0.0])  # the right wheel, pushing ahead
    array([0.25, 1.  , 0.  ])
    """
    (x, y), (c, s) = np.asarray(point), np.asarray(direction)
    return np.array([x * s - y * c, c, s])


def _unit(angle: float) -> tuple[float, float]:
    return math.cos(angle), math.sin(angle)


@dataclass(frozen=True, eq=False)
class Slips:
    """Slips of the wheels on the ground.

    Attributes
    ----------
    along : (n,) array
        Of the driven wheels: rim speed minus speed over ground along the rolling direction [m/s].
    across : (m,) array
        Of the constraint lines: speed over ground to the left of the wheel [m/s].
    """

    along: Array
    across: Array


class WheeledPlatform:
    """A rigid platform on ordinary, steered, omnidirectional or mecanum wheels.

    Parameters
    ----------
    wheels : sequence of Wheel
        All wheels except casters and balls, which exert no constraint force.

    Attributes
    ----------
    wheels : tuple of Wheel
    driven, steered : tuple of Wheel
        Those with a rate, and those with a steering angle: the order of all vectors.
    radii : (n,) array
        Of the driven wheels [m].
    slip_names : tuple of str
        Wheels to which the rows of `slip_matrix` belong. Fixed wheels on one axle have the same
        constraint line, which has one row.

    Raises
    ------
    ArgumentError
        No driven wheel, or two of the same name.

    Examples
    --------
    >>> base = WheeledPlatform([Wheel('right', [0, -0.25], 0.1), Wheel('left', [0, 0.25], 0.1)])
    >>> base.twist([8.0, 5.0]).round(9) + 0.0  # 0.8 m/s and 0.5 m/s
    array([0.6 , 0.65, 0.  ])
    """

    def __init__(self, wheels: Sequence[Wheel]) -> None:
        self.wheels = tuple(wheels)
        names = [wheel.name for wheel in self.wheels]
        if len(set(names)) < len(names):
            raise ArgumentError(f'wheels must have different names, got {", ".join(names)}')
        self.driven = tuple(wheel for wheel in self.wheels if wheel.driven)
        self.steered = tuple(wheel for wheel in self.wheels if wheel.steered)
        if not self.driven:
            raise ArgumentError('a platform needs at least one driven wheel')
        self.radii = np.array([wheel.radius for wheel in self.driven])
        self._holding = tuple(self._distinct_lines())
        self.slip_names = tuple(wheel.name for wheel in self._holding)
        self._fixed = None if self.steered else self._maps(np.zeros(0))

    def _distinct_lines(self) -> list[Wheel]:
        """Return the wheels that hold a line, those on one fixed axle once."""
        kept: list[Wheel] = []
        for wheel in self.wheels:
            if wheel.roller_angle is None and not any(
                not (wheel.steered or other.steered)
                and np.abs(wheel.slip_line() - other.slip_line()).max() < SAME_LINE
                for other in kept
            ):
                kept.append(wheel)
        return kept

    # --- the lines of the wheels ----------------------------------------------------------------

    def steering_angles(self, steering: ArrayLike) -> dict[str, float]:
        """Return the angle of each steered wheel by name; raises `ArgumentError`."""
        array = vector('steering', len(self.steered), steering)
        if not np.isfinite(array).all():
            raise ArgumentError(f'steering must be finite angles, got {array.tolist()}')
        return dict(zip((wheel.name for wheel in self.steered), array.tolist()))

    def drive_matrix(self, steering: ArrayLike = ()) -> Array:
        """Return D, (n, 3): rim speeds [m/s] of a twist."""
        angles = self.steering_angles(steering)
        return np.array([w.drive_line(angles.get(w.name, 0.0)) for w in self.driven])

    def slip_matrix(self, steering: ArrayLike = ()) -> Array:
        """Return A, (m, 3): slips [m/s] of a twist, A t = 0 without slip."""
        angles = self.steering_angles(steering)
        rows = [w.slip_line(angles.get(w.name, 0.0)) for w in self._holding]
        return np.array(rows).reshape(-1, 3)

    def fixed_slip_matrix(self) -> Array:
        """Return the rows of A, (m, 3), of wheels that are not steered."""
        rows = [wheel.slip_line() for wheel in self._holding if not wheel.steered]
        return np.array(rows).reshape(-1, 3)

    def wrench_basis(self, steering: ArrayLike = ()) -> Array:
        """Return G = [D^T A^T], (3, n + m): wrenches (m, f_x, f_y) of unit forces of the wheels."""
        return np.concatenate([self.drive_matrix(steering), self.slip_matrix(steering)]).T

    def internal_forces(self, steering: ArrayLike = ()) -> Array:
        """Return a basis (n + m, k) of wheel forces that do not move the platform, G f = 0."""
        return WeightedInverse(self.wrench_basis(steering)).null_space

    # --- velocities -----------------------------------------------------------------------------

    def wheel_rates(self, twist: ArrayLike, steering: ArrayLike = ()) -> Array:
        """Return the rates q' (n,) [rad/s] of the driven wheels for a twist, slips left aside."""
        return self.drive_matrix(steering) @ _twist(twist) / self.radii

    def twist(self, rates: ArrayLike, steering: ArrayLike = ()) -> Array:
        """Return the twist (3,) for wheel rates (n,) [rad/s], by least squares of all slips.

        Raises
        ------
        ArgumentError
            If the wheels leave a motion undetermined, for instance one driven omnidirectional wheel
            or two steered wheels turned into one line.
        """
        return self.twist_map(steering) @ vector('rates', len(self.driven), rates)

    def twist_map(self, steering: ArrayLike = ()) -> Array:
        """Return B, (3, n): t = B q' (see `twist`)."""
        return self._both(steering)[0]

    def rolling_map(self, steering: ArrayLike = ()) -> Array:
        """Return (3, n): the twist without slip across that comes nearest to wheel rates.

        Its columns are admissible twists; for wheel rates without slip it is `twist_map`, and the
        rates D (it) / r that belong to it are the consistent part of the rates.
        """
        A = self.slip_matrix(steering)
        free = WeightedInverse(A).null_space if len(A) else np.eye(3)
        if not free.shape[1]:
            return np.zeros((3, len(self.driven)))
        rates = (self.drive_matrix(steering) / self.radii[:, None]) @ free
        return free @ WeightedInverse(rates).inverse()

    def noise_map(self, steering: ArrayLike = ()) -> Array:
        """Return (3, n + m): the twist for slips along and across the wheels, by least squares."""
        return self._both(steering)[1]

    def _both(self, steering: ArrayLike) -> tuple[Array, Array]:
        if self._fixed is not None:
            self.steering_angles(steering)
            return self._fixed
        return self._maps(steering)

    def _maps(self, steering: ArrayLike) -> tuple[Array, Array]:
        solver = WeightedInverse(self.wrench_basis(steering).T)
        if solver.rank < 3:
            free = solver.null_space[:, 0]
            raise ArgumentError(
                'the wheels do not determine the motion of the platform: a motion with (omega, '
                f'v_x, v_y) along {free.round(4).tolist()} turns no wheel and slips nowhere; add a '
                'wheel, or change the steering angles'
            )
        back = solver.inverse()
        return back[:, : len(self.driven)] * self.radii, back

    def residual(self, rates: ArrayLike, steering: ArrayLike = ()) -> Slips:
        """Return the slips that remain for wheel rates: not zero for wheels that disagree."""
        return self.slips(self.twist(rates, steering), rates, steering)

    def slips(self, twist: ArrayLike, rates: ArrayLike, steering: ArrayLike = ()) -> Slips:
        """Return the slips of a twist that was measured otherwise, for instance by an IMU (C-133).

        Parameters
        ----------
        twist : (3,)
            Measured, of and in the frame of the platform.
        rates : (n,)
            Of the driven wheels [rad/s].
        steering : (k,)
            [rad].
        """
        t = _twist(twist)
        rim = self.radii * vector('rates', len(self.driven), rates)
        return Slips(rim - self.drive_matrix(steering) @ t, self.slip_matrix(steering) @ t)

    # --- forces ---------------------------------------------------------------------------------

    def wrench(
        self, torques: ArrayLike, across: ArrayLike | None = None, steering: ArrayLike = ()
    ) -> Array:
        """Return the wrench (m, f_x, f_y) of wheel torques (n,) [N m] on the platform, (9.9).

        `across` (m,) are the forces [N] of the lines that hold; none if not given.
        """
        w = self.drive_matrix(steering).T @ (
            vector('torques', len(self.driven), torques) / self.radii
        )
        if across is not None:
            w = w + self.slip_matrix(steering).T @ vector('across', len(self._holding), across)
        return w

    def wheel_forces(self, wrench: ArrayLike, steering: ArrayLike = ()) -> tuple[Array, Array]:
        """Return (torques (n,) [N m], forces across (m,) [N]) that exert a wrench (3,).

        Of all that do, those of least squares of the forces: without internal forces.
        """
        forces = self._both(steering)[1].T @ triple('the wrench', wrench)
        n = len(self.driven)
        return forces[:n] * self.radii, forces[n:]


def _twist(value: ArrayLike) -> Array:
    return vector('the twist', 3, triple('the twist', value))
