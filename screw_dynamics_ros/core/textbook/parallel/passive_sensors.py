# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Poses from motor positions and from sensors in passive joints together (C-120).

Six rods determine a pose up to assembly modes. The two angles of the universal joint at the lower
end of a rod determine its direction and, with its length, the position of its pivot on the
platform. All measurements are fused by least squares, weighted with their standard deviations:

    minimize  sum ((|t_i - c_i| - rho_i) / sigma_i)^2 + sum ((alpha_k - alpha_k(t)) / sigma_k)^2

by Gauss-Newton steps from a seed. The number of degrees of freedom of the remaining chi^2 is that
of the measurements minus six; it tests their consistency. With d = t - c in the axes u1 u2 u3 of
the joint, where the rod is along u3 at zero angles,

    alpha = atan2(-d2, d3) about u1,    beta = atan2(d1, sqrt(d2^2 + d3^2)) about the rotated u2

Source: Bruyninckx 2010, sections 8.13 and 8.15, (8.19) with the erratum E-42: lengths are compared,
not summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, float_array, vector
from ...errors import ArgumentError, UnknownNameError
from ...lie import points, se3, so3
from ...lie.screw_systems import TOLERANCE
from ...mechanisms.parallel import recursions
from ...mechanisms.parallel.parallel_robot import ParallelRobot
from ...types import Array

MAX_STEPS = 30
#: Change of the pose below which the iteration ends [rad, size of the mechanism].
CONVERGENCE_TOLERANCE = 1e-11
#: Standard normal quantile at 99 %, for the limit of chi^2.
ONE_PERCENT = 2.3263


@dataclass(frozen=True, eq=False)
class UniversalSensor:
    """Encoders of the universal joint at the lower end of the rod of a leg.

    Attributes
    ----------
    leg : str
        Name of a UPS or PUS leg with one rod.
    axes : (3, 3) array
        Unit vectors u1, u2, u3, one in each row, in the base frame: the axis fixed to the base or
        slider, and at zero angles the other axis and the direction of the rod. Right-handed and
        orthogonal.
    sigma : float
        Standard deviation of the angles [rad].
    """

    leg: str
    axes: Array
    sigma: float = 1e-3

    def __post_init__(self) -> None:
        axes = points.unit('UniversalSensor', 'axes', float_array('axes', self.axes))
        if axes.shape != (3, 3) or not np.allclose(np.cross(axes[0], axes[1]), axes[2], atol=1e-6):
            raise ArgumentError(
                f'leg {self.leg!r}: axes must be three orthogonal directions, right-handed, got '
                f'{axes.tolist()}'
            )
        object.__setattr__(self, 'axes', axes)
        check_number(f'sigma of the angles of leg {self.leg!r}', self.sigma, positive=True)

    def angles(self, rod: Array) -> Array:
        """Return the angles (2,) of a rod d = t - c, (3,) [rad].

        >>> UniversalSensor('1', np.eye(3)).angles(np.array([0.0, -1.0, 1.0])).round(6) + 0.0
        array([0.785398, 0.      ])
        """
        x, y, z = self.axes @ rod
        return np.array([np.arctan2(-y, z), np.arctan2(x, np.hypot(y, z))])

    def angle_rates(self, rod: Array) -> Array:
        """Return the derivative (2, 3) of the angles by the upper end of the rod [rad/m]."""
        x, y, z = self.axes @ rod
        square = y * y + z * z
        s = np.sqrt(square)
        rows = np.array([[0.0, -z, y], [square, -x * y, -x * z]])
        scaled = rows / np.array([[square], [s * (x * x + square)]])
        rates: Array = scaled @ self.axes
        return rates

    def direction(self, angles: ArrayLike) -> Array:
        """Return the unit vector (3,) along the rod for angles (2,) [rad].

        >>> UniversalSensor('1', np.eye(3)).direction([0.0, np.pi / 2]).round(6) + 0.0
        array([1., 0., 0.])
        """
        alpha, beta = float_array('angles', angles)
        u1, u2, u3 = self.axes
        along = np.cos(alpha) * u3 - np.sin(alpha) * u2
        e: Array = np.sin(beta) * u1 + np.cos(beta) * along
        return e


@dataclass(frozen=True, eq=False)
class FusedPose:
    """The pose that best fits all measurements.

    Attributes
    ----------
    pose : (4, 4) array
    covariance : (6, 6) array
        Covariance of its error: rotation about its origin and translation, along the axes of the
        base, for measurements with the given deviations [rad^2, rad m, m^2].
    chi_square : float
        Sum of the squared errors, each divided by its standard deviation.
    degrees_of_freedom : int
        Number of measurements minus six: the expected value of `chi_square`.
    limit : float
        99 % quantile of `chi_square`.
    consistent : bool
        Whether `chi_square` is within `limit`.
    worst : str
        Leg with the largest error relative to its deviation.
    """

    pose: Array
    covariance: Array
    chi_square: float
    degrees_of_freedom: int
    limit: float
    consistent: bool
    worst: str


def fuse(
    robot: ParallelRobot,
    q: ArrayLike,
    sensors: Sequence[UniversalSensor],
    angles: ArrayLike,
    seed: ArrayLike | None = None,
    *,
    sigma: float = 1e-4,
) -> FusedPose:
    """Return the pose that best fits motor positions and angles of universal joints (C-120).

    Parameters
    ----------
    robot : ParallelRobot
        With one rod in each leg.
    q : (n,)
        Measured motor positions [m or rad].
    sensors : sequence of UniversalSensor
    angles : (k, 2)
        Their measurements [rad].
    seed : (4, 4), optional
        A nearby pose, home by default.
    sigma : float
        Standard deviation of the motor positions [m or rad].

    Raises
    ------
    ArgumentError
        Wrong shapes, legs without a suitable joint for a sensor, measurements that do not determine
        the pose, and an iteration that does not converge.
    UnknownNameError
        An unknown leg.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import stewart_gough
    >>> robot = ParallelRobot(stewart_gough(), backend='reference')
    >>> sensor = UniversalSensor('leg_1', np.eye(3))
    >>> q = robot.inverse_position(robot.home)
    >>> rod = recursions.rod_vectors(robot.mechanism, q, robot.home)[0]
    >>> found = fuse(robot, q, [sensor], [sensor.angles(rod)])
    >>> bool(np.allclose(found.pose, robot.home)), found.degrees_of_freedom, found.consistent
    (True, 2, True)
    """
    check_number('sigma', sigma, positive=True)
    motors = vector('q', robot.nv, q)
    if not np.isfinite(motors).all():
        raise ArgumentError(f'q must be finite numbers, got {motors.tolist()}')
    T = robot.checked_pose('seed', robot.home if seed is None else seed)
    problem = PassiveMeasurements(robot, motors, sensors, angles, sigma)
    for _ in range(MAX_STEPS):
        errors, A = problem.linearized(T)
        step = problem.step(errors, A)
        T = moved(T, step)
        if np.abs(step / problem.scale).max() < CONVERGENCE_TOLERANCE:
            return problem.result(T)
    raise ArgumentError(
        f'no pose near the seed fits the measurements: after {MAX_STEPS} steps the pose still '
        'moves; give a seed nearby, or look for a sensor at fault'
    )


def moved(T: Array, X: Array) -> Array:
    """Return a pose rotated about its origin and translated by X (6,), along the base axes."""
    return se3.pose(so3.exp(X[:3]) @ T[:3, :3], T[:3, 3] + X[3:])


class PassiveMeasurements:
    """Errors of all measurements for a pose, divided by their standard deviations.

    Parameters
    ----------
    robot, q, sensors, angles, sigma
        As of `fuse`.
    """

    def __init__(
        self,
        robot: ParallelRobot,
        q: Array,
        sensors: Sequence[UniversalSensor],
        angles: ArrayLike,
        sigma: float,
    ) -> None:
        self._mechanism = mechanism = robot.mechanism
        self._q, self._sigma, self._sensors = q, sigma, tuple(sensors)
        if len(mechanism.rod_legs) != robot.nv:
            raise ArgumentError(f'{mechanism.name}: legs with several rods cannot be fused')
        measured = float_array('angles', angles).reshape(-1, 2) if self._sensors else np.empty(0)
        self._angles = measured.reshape(-1, 2)
        if len(self._angles) != len(self._sensors) or not np.isfinite(self._angles).all():
            raise ArgumentError(
                f'angles must be two finite numbers for each of {len(self._sensors)} sensors, got '
                f'{measured.tolist()}'
            )
        self._rods = [self._rod_of(sensor) for sensor in self._sensors]
        #: 1 rad, and the size of the mechanism, of a change of the pose (6,).
        self.scale = np.array([1.0] * 3 + [mechanism.size] * 3)

    def _rod_of(self, sensor: UniversalSensor) -> int:
        names = self._mechanism.joint_names
        if sensor.leg not in names:
            raise UnknownNameError(f'there is no leg {sensor.leg!r}; there are {", ".join(names)}')
        k = names.index(sensor.leg)
        if self._mechanism.legs[k].turning:
            raise ArgumentError(f'leg {sensor.leg!r} moves its universal joint: not supported')
        return k

    def linearized(self, T: Array) -> tuple[Array, Array]:
        """Return the errors (m,) at a pose, measured minus predicted, and their Jacobian (m, 6)."""
        d = recursions.rod_vectors(self._mechanism, self._q, T)
        G, levers = recursions.wrench_basis(self._mechanism, self._q, T)
        deviations = self._sigma * np.maximum(np.abs(levers), TOLERANCE)
        errors = [recursions.length_errors(self._mechanism, self._q, T) / deviations]
        rows = [G.T / deviations[:, None]]
        for sensor, k, measured in zip(self._sensors, self._rods, self._angles):
            arm = T[:3, :3] @ self._mechanism.platform_pivots[k]
            turned = measured - sensor.angles(d[k])
            errors.append((turned - 2 * np.pi * np.round(turned / (2 * np.pi))) / sensor.sigma)
            motion = np.hstack([-so3.hat(arm), np.eye(3)])
            rows.append(sensor.angle_rates(d[k]) @ motion / sensor.sigma)
        return np.concatenate(errors), np.concatenate(rows)

    def step(self, errors: Array, A: Array) -> Array:
        """Return the change of the pose (6,) of one Gauss-Newton step, limited in length."""
        x, _, rank, s = np.linalg.lstsq(A * self.scale, errors, rcond=TOLERANCE)
        if rank < 6:
            raise ArgumentError(
                f'the measurements do not determine the pose: singular values {s[0]:.3g} to '
                f'{s[-1]:.3g}; leave this singular pose, or measure other joints, too'
            )
        X = x * self.scale
        step: Array = X * recursions.limit(X, self._mechanism.size)
        return step

    def result(self, T: Array) -> FusedPose:
        """Return the pose with its covariance and test of consistency."""
        errors, A = self.linearized(T)
        freedom, chi = len(errors) - 6, float(errors @ errors)
        legs = [*range(len(self._mechanism.legs)), *np.repeat(self._rods, 2)]
        worst = self._mechanism.joint_names[legs[int(np.abs(errors).argmax())]]
        limit = chi_square_limit(freedom)
        covariance = np.linalg.inv(A.T @ A)
        return FusedPose(T, covariance, chi, freedom, limit, chi <= limit, worst)


def chi_square_limit(freedom: int) -> float:
    """Return the 99 % quantile of chi^2, by the Wilson-Hilferty approximation.

    Without degrees of freedom, only rounding errors are accepted.

    >>> round(chi_square_limit(10), 1)
    23.2
    """
    if freedom == 0:
        return float(np.sqrt(TOLERANCE))
    spread = 2.0 / (9.0 * freedom)
    return float(freedom * (1.0 - spread + ONE_PERCENT * np.sqrt(spread)) ** 3)
