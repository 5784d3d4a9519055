# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The usual platforms by their dimensions, and closed formulas of their steering.

The origin of a platform is where it is best described: the middle of the axle of a differential
drive and of the rear axle of a car, the center of the others. All lengths in m, angles in rad.

Source: Bruyninckx 2010, chapter 9 (C-131, C-132, C-138, C-139).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, float_array, vector
from ..errors import ArgumentError
from ..types import Array
from .wheeled_platform import Wheel, WheeledPlatform


def differential_drive(
    separation: float, radius: float, left_radius: float | None = None
) -> WheeledPlatform:
    """Return two wheels, 'right' and 'left', `separation` apart, with any number of casters.

    >>> differential_drive(0.5, 0.1).wrench_basis() + 0.0  # rows m, f_x, f_y; right, left, across
    array([[ 0.25, -0.25,  0.  ],
           [ 1.  ,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  1.  ]])
    """
    check_number('wheel_separation [m]', separation, positive=True)
    left = radius if left_radius is None else left_radius
    return WheeledPlatform(
        [Wheel('right', [0, -separation / 2], radius), Wheel('left', [0, separation / 2], left)]
    )


def bicycle(wheelbase: float, radius: float) -> WheeledPlatform:
    """Return a car as a bicycle: 'rear' drives, 'front' is steered, `wheelbase` ahead of it.

    >>> bicycle(1.2, 1.0).twist([1.0], [0.35]).round(9) + 0.0  # 1 m/s
    array([0.30419041, 1.        , 0.        ])
    """
    check_number('wheelbase [m]', wheelbase, positive=True)
    return WheeledPlatform(
        [
            Wheel('rear', [0, 0], radius),
            Wheel('front', [wheelbase, 0], radius, steered=True, driven=False),
        ]
    )


def ackermann(wheelbase: float, track: float, radius: float) -> WheeledPlatform:
    """Return a car with driven wheels 'rear_left', 'rear_right', steered 'front_left', ..._right.

    See `ackermann_angles` for the steering angles of its two front wheels.
    """
    check_number('wheelbase [m]', wheelbase, positive=True)
    check_number('track [m]', track, positive=True)
    sides = (('left', track / 2), ('right', -track / 2))
    return WheeledPlatform(
        [
            *(Wheel(f'rear_{side}', [0, y], radius) for side, y in sides),
            *(
                Wheel(f'front_{side}', [wheelbase, y], radius, steered=True, driven=False)
                for side, y in sides
            ),
        ]
    )


def omnidirectional(
    count: int, distance: float, radius: float, first: float = 0.0
) -> WheeledPlatform:
    """Return `count` >= 3 wheels with rollers on a circle, 'wheel1' at the angle `first`.

    They roll along the circle, counterclockwise for positive rates.
    """
    if not isinstance(count, (int, np.integer)) or count < 3:
        raise ArgumentError(f'an omnidirectional platform needs at least 3 wheels, got {count!r}')
    check_number('distance of the wheels [m]', distance, positive=True)
    wheels = []
    for k in range(count):
        angle = first + 2.0 * math.pi * k / count
        position = [distance * math.cos(angle), distance * math.sin(angle)]
        wheels.append(Wheel(f'wheel{k + 1}', position, radius, angle + 0.5 * math.pi, 0.0))
    return WheeledPlatform(wheels)


def mecanum(length: float, width: float, radius: float) -> WheeledPlatform:
    """Return four mecanum wheels 'front_left', 'front_right', 'rear_left', 'rear_right'.

    `length` and `width` are the distances of the points of contact; rollers at the ground point
    inwards at the front left, so that the axes on top form an X.

    >>> mecanum(0.6, 0.4, 0.1).drive_matrix().round(9)  # (-+ (l + w) / 2, 1, -+ 1)
    array([[-0.5,  1. , -1. ],
           [ 0.5,  1. ,  1. ],
           [-0.5,  1. ,  1. ],
           [ 0.5,  1. , -1. ]])
    """
    check_number('length [m]', length, positive=True)
    check_number('width [m]', width, positive=True)
    x, y, angle = length / 2, width / 2, math.pi / 4
    return WheeledPlatform(
        [
            Wheel('front_left', [x, y], radius, roller_angle=-angle),
            Wheel('front_right', [x, -y], radius, roller_angle=angle),
            Wheel('rear_left', [-x, y], radius, roller_angle=angle),
            Wheel('rear_right', [-x, -y], radius, roller_angle=-angle),
        ]
    )


def swerve(
    positions: ArrayLike, radius: float, names: Sequence[str] | None = None
) -> WheeledPlatform:
    """Return driven and steered wheels at positions (n, 2), n >= 2."""
    places = float_array('positions', positions)
    if places.ndim != 2 or places.shape[1] != 2 or len(places) < 2:
        raise ArgumentError(f'positions must have shape (n, 2), n >= 2, got {places.shape}')
    names = names or [f'wheel{k + 1}' for k in range(len(places))]
    if len(names) != len(places):
        raise ArgumentError(f'{len(names)} names for {len(places)} wheels')
    return WheeledPlatform(
        [Wheel(name, place, radius, steered=True) for name, place in zip(names, places)]
    )


# --- steering -------------------------------------------------------------------------------------


def turn_radius(wheelbase: float, steering: float) -> float:
    """Return the radius l / tan(sigma) of the rear axle of a car, (9.8); infinite if straight."""
    check_number('wheelbase [m]', wheelbase, positive=True)
    angle = vector('steering', 1, [steering]).item()
    if not math.isfinite(angle):
        raise ArgumentError(f'steering must be a finite angle [rad], got {angle}')
    return math.inf if angle == 0.0 else wheelbase / math.tan(angle)


def differential_turn_radius(separation: float, right: float, left: float) -> float:
    """Return (d / 2) (v_r + v_l) / (v_r - v_l), (9.8); infinite for equal wheel speeds [m/s]."""
    if right == left:
        return math.inf
    return 0.5 * separation * (right + left) / (right - left)


def ackermann_angles(steering: float, wheelbase: float, track: float) -> Array:
    """Return the angles (left, right) of front wheels that share the center of a bicycle's.

    cot(outer) - cot(inner) = track / wheelbase (C-132). Beyond +-90 degrees there is none.

    >>> ackermann_angles(0.35, 1.2, 0.6).round(6)
    array([0.381958, 0.322803])
    """
    check_number('wheelbase [m]', wheelbase, positive=True)
    check_number('track [m]', track, positive=True)
    angle = vector('steering', 1, [steering]).item()
    if not abs(angle) < 0.5 * math.pi:
        raise ArgumentError(f'the steering angle must be below pi / 2, got {angle!r}')
    t = math.tan(angle)
    half = 0.5 * track * t
    return np.arctan2([t * wheelbase, t * wheelbase], [wheelbase - half, wheelbase + half])


def steering_for(
    platform: WheeledPlatform, twist: ArrayLike, before: ArrayLike | None = None
) -> Array:
    """Return steering angles (k,) with which the steered wheels roll without slip (C-139).

    A wheel may roll ahead or back: each takes the one of the two directions that is nearer to its
    angle `before` (0 if not given), multiples of 2 pi included. A wheel whose point does not move
    keeps its angle. Raises `ArgumentError` for wrong shapes and numbers that are not finite.
    """
    omega, vx, vy = t = vector('twist', 3, twist)
    if not np.isfinite(t).all():
        raise ArgumentError(f'twist must be finite, got {t.tolist()}')
    count = len(platform.steered)
    angles = np.zeros(count) if before is None else vector('before', count, before).copy()
    platform.steering_angles(angles)
    for k, wheel in enumerate(platform.steered):
        x, y = np.asarray(wheel.position)
        forward, left = vx - omega * y, vy + omega * x
        if math.hypot(forward, left) > 0.0:
            turned = math.atan2(left, forward) - wheel.direction - angles[k]
            angles[k] += turned - math.pi * round(turned / math.pi)
    return angles


def center_residual(platform: WheeledPlatform, steering: ArrayLike = ()) -> float:
    """Return the residual of a common center of rotation of wheels; 0 if they share one (C-139).

    The least slip (root of the sum of squares over the lines that hold, [m/s]) of all motions of
    unit size, where 1 rad/s has the size of the root mean square distance of the wheels from the
    origin.
    """
    A = platform.slip_matrix(steering)
    if len(A) < 3:
        return 0.0
    places = np.array([wheel.position for wheel in platform.wheels])
    A[:, 0] /= math.sqrt((places**2).sum() / len(places)) or 1.0
    return float(np.linalg.svd(A, compute_uv=False)[-1])
