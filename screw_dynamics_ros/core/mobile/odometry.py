# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Odometry by exact arcs, with the covariance of the pose.

Wheel rates are assumed constant between two readings with the increments dq, so that the platform
moves along an arc: x <- x exp(B dq), with the map B from wheel rates to twists. This is (9.18) as
an exact arc, without a singularity for straight motion.

**Noise.** Longitudinal and lateral slip of each wheel are independent, with zero mean and variances
proportional to the distance that it rolls: `along` and `across` [m^2 per m]. Variances then do not
depend on the sampling rate. Errors of radii and separation are systematic and must be calibrated.

**Covariance.** The error xi is defined in the body frame, true pose = x exp(xi), with the
covariance P in the order (phi, x, y). Per step d = B dq::

    P <- Ad(exp(-d)) P Ad(exp(-d))^T + dexp(d) Q dexp(d)^T

A region xi^T P^-1 xi < c curves with the uncertainty of the heading; the ellipse in the coordinates
x, y approximates it to first order.

Assumptions: zero mean slip, pure rolling, constant radii and positions of the wheels. The error
grows without bound.

Source: Bruyninckx 2010 (9.18), section 9.6 (C-135).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, float_array, vector
from ..errors import ArgumentError
from ..types import Array
from . import planar
from .wheeled_platform import WheeledPlatform

SYMMETRY_TOLERANCE = 1e-9  # relative, of a covariance


@dataclass(frozen=True)
class WheelNoise:
    """Variance of the slip of each wheel per distance that it rolls [m^2/m].

    Attributes
    ----------
    along, across : float
        In the rolling direction, and perpendicular to it. 1e-4 is a standard deviation of 1 cm
        after 1 m.
    """

    along: float = 1e-4
    across: float = 1e-5

    def __post_init__(self) -> None:
        check_number('noise along the wheels [m^2/m]', self.along)
        check_number('noise across the wheels [m^2/m]', self.across)


class Odometry:
    """The pose of a platform in the frame in which it started.

    Parameters
    ----------
    platform : WheeledPlatform
    noise : WheelNoise
    pose : (3,)
        (phi, x, y) at the start [rad, m, m].
    covariance : (3, 3), optional
        Of the start, in the body frame; zero if not given.

    Attributes
    ----------
    platform : WheeledPlatform
    pose : (3,) array
        (phi, x, y); phi is not wrapped.
    covariance : (3, 3) array
        Of the error (phi, x, y) in the body frame.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mobile.platforms import differential_drive
    >>> odometry = Odometry(differential_drive(0.5, 0.1))
    >>> odometry.update([16.0, 10.0])  # right and left wheel turn by these angles
    >>> odometry.pose.round(8)
    array([1.2       , 1.00970901, 0.6907791 ])
    """

    def __init__(
        self,
        platform: WheeledPlatform,
        noise: WheelNoise | None = None,
        pose: ArrayLike = (0.0, 0.0, 0.0),
        covariance: ArrayLike | None = None,
    ) -> None:
        self.platform, self.noise = platform, noise or WheelNoise()
        self.reset(pose, covariance)

    def reset(self, pose: ArrayLike = (0.0, 0.0, 0.0), covariance: ArrayLike | None = None) -> None:
        """Start again at a pose (phi, x, y), whose covariance in the body frame is zero or given.

        Raises `ArgumentError`, and then leaves everything as it was.
        """
        pose = vector('the pose', 3, planar.triple('the pose', pose))
        P = np.zeros((3, 3)) if covariance is None else checked_covariance(covariance)
        self.pose, self.covariance = pose, P

    def update(self, displacements: ArrayLike, steering: ArrayLike = ()) -> None:
        """Move along the arc of wheel displacements.

        Parameters
        ----------
        displacements : (n,)
            Rotations of the driven wheels since the last call [rad].
        steering : (k,)
            Angles of the steered wheels in the middle of the step [rad].

        Raises
        ------
        ArgumentError
            Wrong shapes, numbers that are not finite, wheels that do not determine the motion; the
            pose stays as it was.
        """
        platform = self.platform
        dq = vector('displacements', len(platform.driven), displacements)
        if not np.isfinite(dq).all():
            raise ArgumentError(f'displacements must be finite, got {dq.tolist()}')
        d = platform.twist_map(steering) @ dq
        self._move(d, self._step_covariance(d, platform.radii * dq, steering))

    def move(self, displacement: ArrayLike, covariance: ArrayLike | None = None) -> None:
        """Move along the arc of a displacement (3,), a body-fixed twist times its duration.

        `covariance` (3, 3) is that of the displacement; without it, noise is that of wheels that
        roll accordingly, as steered wheels at angle zero.
        """
        d = vector('the displacement', 3, planar.triple('the displacement', displacement))
        if covariance is None:
            steering = np.zeros(len(self.platform.steered))
            rim = self.platform.drive_matrix(steering) @ d
            Q = self._step_covariance(d, rim, steering)
        else:
            Q = checked_covariance(covariance)
        self._move(d, Q)

    def twist_covariance(self, twist: ArrayLike, dt: float, steering: ArrayLike = ()) -> Array:
        """Return the covariance (3, 3) of a mean twist measured over dt [s], by the wheel noise."""
        check_number('dt [s]', dt, positive=True)
        t = vector('the twist', 3, planar.triple('the twist', twist))
        rim = self.platform.drive_matrix(steering) @ t * dt
        return self._step_covariance(t * dt, rim, steering) / dt**2

    @property
    def reference_covariance(self) -> Array:
        """Covariance (3, 3) of (phi, x, y) in the axes of the reference, to first order.

        That of nav_msgs/Odometry, there in the order (x, y, ..., phi).
        """
        turn = np.eye(3)
        turn[1:, 1:] = planar.rotation(self.pose[0])
        return turn @ self.covariance @ turn.T

    def _step_covariance(self, d: Array, rim: Array, steering: ArrayLike) -> Array:
        """Return Q of a displacement d, for rim displacements (n,) [m]."""
        platform, noise = self.platform, self.noise
        holding = len(platform.slip_names)
        rolled = np.abs(rim)
        variances = np.concatenate(
            [noise.along * rolled, np.full(holding, noise.across * rolled.mean())]
        )
        back = platform.noise_map(steering)
        return (back * variances) @ back.T

    def _move(self, d: Array, Q: Array) -> None:
        back, slope = planar.twist_transform(planar.exp(-d)), planar.dexp(d)
        P = back @ self.covariance @ back.T + slope @ Q @ slope.T
        self.pose, self.covariance = planar.compose(self.pose, planar.exp(d)), 0.5 * (P + P.T)


def checked_covariance(value: ArrayLike) -> Array:
    """Return a covariance (3, 3); raises `ArgumentError` unless it is one."""
    P = float_array('the covariance', value)
    if P.shape != (3, 3) or not np.isfinite(P).all():
        raise ArgumentError(f'the covariance must be a finite (3, 3) matrix, got {P.tolist()}')
    size = np.abs(P).max()
    if (
        np.abs(P - P.T).max() > SYMMETRY_TOLERANCE * size
        or np.linalg.eigvalsh(P)[0] < -SYMMETRY_TOLERANCE * size
    ):
        raise ArgumentError('the covariance must be symmetric and have no negative eigenvalue')
    return 0.5 * (P + P.T)


def turn_drive_turn(pose: ArrayLike) -> Array:
    """Return three twists (3, 3), rows (omega, v_x, v_y) for a second each, that lead to a pose.

    Turn, drive straight ahead, turn. The inverse position kinematics of a platform is not unique;
    this is a simple solution for a platform that turns in place (9.7, C-135).

    >>> turn_drive_turn([0.0, 0.0, 2.0]).round(6)
    array([[ 1.570796,  0.      ,  0.      ],
           [ 0.      ,  2.      ,  0.      ],
           [-1.570796,  0.      ,  0.      ]])
    """
    phi, x, y = vector('the pose', 3, planar.triple('the pose', pose))
    first = np.arctan2(y, x) if x or y else 0.0
    last = float(planar.wrapped(phi - first))
    return np.array([[first, 0.0, 0.0], [0.0, np.hypot(x, y), 0.0], [last, 0.0, 0.0]])
