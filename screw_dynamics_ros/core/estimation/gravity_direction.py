# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The direction of free fall in a frame: from orientations, and from accelerometers at rest.

A frame with the rotation matrix R in a world whose z axis points up has free fall along -R^T e_z.
An accelerometer measures f = a - g. At rest this is -g, and its magnitude is a criterion for rest.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..lie import quaternions
from ..types import Array

#: Largest relative deviation of a specific force at rest from the magnitude of gravity.
REST_FORCE = 0.05

#: Angular velocity up to which a sensor is at rest [rad/s].
REST_RATE = 0.05

#: Largest angle between the directions of an orientation and of an accelerometer at rest [rad].
#: Horizontal accelerations within `REST_FORCE` turn the force by up to 0.31 rad.
MAX_DISAGREEMENT = 0.35

#: Longest time of one filter step [s].
MAX_STEP = 0.1

NORM_TOLERANCE = 1e-2  # deviation of the norm of a quaternion that is attributed to rounding
MIN_LENGTH = 1e-9  # of vectors with a direction [m/s^2]
MIN_SINE = 1e-9  # of the angle between vectors that determine a plane


def down_by_orientation(quaternion: Array) -> Array | None:
    """Return the unit vector of free fall in a frame, None if `quaternion` is not a unit one.

    `quaternion` (x, y, z, w) is the orientation of the frame in a world with the z axis up.

    >>> down_by_orientation(np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])).round(6) + 0.0
    array([ 0., -1.,  0.])
    """
    if not abs(np.linalg.norm(quaternion) - 1.0) <= NORM_TOLERANCE:
        return None
    return -quaternions.to_matrix(quaternion)[2]


def down_by_force(force: Array, rate: Array, magnitude: float) -> Array | None:
    """Return the unit vector of free fall by an accelerometer (3,) [m/s^2], None unless at rest.

    Parameters
    ----------
    force : (3,) array
        Specific force, which points upward at rest.
    rate : (3,) array
        Angular velocity [rad/s].
    magnitude : float
        Magnitude of gravity [m/s^2].

    >>> down_by_force(np.array([0.0, 0.0, 9.8]), np.zeros(3), 9.81)
    array([-0., -0., -1.])
    >>> down_by_force(np.array([0.0, 6.0, 9.8]), np.zeros(3), 9.81) is None  # it accelerates
    True
    """
    size = float(np.linalg.norm(force))
    if not (abs(size - magnitude) <= REST_FORCE * magnitude and np.abs(rate).max() <= REST_RATE):
        return None
    return -force / size if size > MIN_LENGTH else None


class OrientationCheck:
    """Compares the orientations of an IMU with its accelerations at rest.

    After a contradiction the IMU is wrong until both agree at rest: a driver that leaves the
    orientation at its default is also wrong while the sensor moves.

    Attributes
    ----------
    fault : str
        Why orientations cannot be used, empty if they can.

    Examples
    --------
    >>> check, level = OrientationCheck(), np.array([0.0, 0.0, -1.0])
    >>> check.admits(level, np.array([0.0, 0.3, -0.95])), check.admits(level, None)
    (True, True)
    >>> check.admits(level, np.array([0.0, 1.0, 0.0])), check.admits(level, None)
    (False, False)
    """

    def __init__(self) -> None:
        self.fault = ''

    def admits(self, down: Array, down_at_rest: Array | None) -> bool:
        """Return whether the direction of free fall (3,) of an orientation can be used.

        `down_at_rest` (3,) is that of `down_by_force`, None while the sensor moves.
        """
        if down_at_rest is not None:
            sine = np.linalg.norm(np.cross(down, down_at_rest))
            angle = math.atan2(float(sine), float(down @ down_at_rest))
            self.fault = '' if angle <= MAX_DISAGREEMENT else disagreement(angle)
        return not self.fault


def disagreement(angle: float) -> str:
    """Return the text for an orientation and an acceleration that differ by an angle [rad]."""
    if math.pi - angle <= MAX_DISAGREEMENT:
        cause = 'at rest the acceleration must point up (REP 145), the z axis of the world too'
    else:
        cause = (
            'a driver without orientation must set orientation_covariance[0] to -1; otherwise '
            'correct frame_id or the orientation'
        )
    return (
        f'orientation and acceleration at rest of the IMU differ by {math.degrees(angle):.0f} '
        f'degrees: {cause}'
    )


@typed
def turn_gravity(gravity: Floats, target: Floats, cutoff: float, elapsed: float) -> bool:
    """Filter a vector of gravity (3,) in place; return whether it changed.

    A first-order low-pass filter moves angle and magnitude towards a target (3,). `cutoff` is its
    cut-off frequency [Hz], `elapsed` the time since the last step [s], of which `MAX_STEP` counts.
    """
    if largest_difference(gravity, target) == 0.0:
        return False
    step = min(max(0.0, elapsed), MAX_STEP)
    turn_towards(gravity, target, -math.expm1(-2.0 * math.pi * cutoff * step))
    size = max(1.0, abs(target[0]), abs(target[1]), abs(target[2]))
    if largest_difference(gravity, target) <= 1e-9 * size:
        for k in range(3):
            gravity[k] = target[k]
    return True


@typed
def largest_difference(a: Floats, b: Floats) -> float:
    """Return the largest absolute difference of elements of two vectors (3,)."""
    return max(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(a[2] - b[2]))


@typed
def turn_towards(vector: Floats, end: Floats, share: float) -> None:
    """Move a vector (3,) towards another one by a fraction of the angle and magnitude.

    >>> vector = np.array([2.0, 0.0, 0.0])
    >>> turn_towards(vector, np.array([0.0, 1.0, 0.0]), 0.5)
    >>> vector.round(3)
    array([1.061, 1.061, 0.   ])
    """
    x = vector[0]
    y = vector[1]
    z = vector[2]
    before = math.sqrt(x * x + y * y + z * z)
    after = math.sqrt(end[0] * end[0] + end[1] * end[1] + end[2] * end[2])
    if min(before, after) <= MIN_LENGTH:
        for k in range(3):
            vector[k] += share * (end[k] - vector[k])
        return
    a = y * end[2] - z * end[1]  # normal of the plane
    b = z * end[0] - x * end[2]
    c = x * end[1] - y * end[0]
    sine = math.sqrt(a * a + b * b + c * c)
    angle = share * math.atan2(sine, x * end[0] + y * end[1] + z * end[2])
    if sine < MIN_SINE * before * after:  # opposite vectors: any normal is valid
        is_x = abs(x) <= min(abs(y), abs(z))
        is_y = not is_x and abs(y) <= abs(z)
        a = 0.0 if is_x else (-z if is_y else y)
        b = z if is_x else (0.0 if is_y else -x)
        c = -y if is_x else (x if is_y else 0.0)
        sine = math.sqrt(a * a + b * b + c * c)
    size = 1.0 + share * (after / before - 1.0)
    along = size * math.cos(angle)
    across = size * math.sin(angle) / sine
    vector[0] = along * x + across * (b * z - c * y)
    vector[1] = along * y + across * (c * x - a * z)
    vector[2] = along * z + across * (a * y - b * x)
