# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parallel robots of the literature, with dimensions of a laboratory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...description.body_inertia import Inertia
from ...lie import se3
from ...reproducible import sine_cosine
from ...types import Array
from .legs import PUS, RUS, UPS
from .mechanism import Mechanism

NAMES = tuple(f'leg_{k}' for k in range(1, 7))
DISK = Inertia(4.0, np.array([0.0, 0.0, 0.02]), np.diag([0.09, 0.09, 0.18]))


def circle(radius: float, degrees: Sequence[float], z: float = 0.0) -> Array:
    """Return points (n, 3) on a circle about the z-axis."""
    points = [sine_cosine(math.radians(each)) for each in degrees]
    return np.array([[radius * cosine, radius * sine, z] for sine, cosine in points])


def about_z(degrees: float) -> Array:
    """Return the rotation (3, 3) about the z-axis."""
    sine, cosine = sine_cosine(math.radians(degrees))
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def home(z: float) -> Array:
    """Return a pose straight above the base."""
    return se3.pose(np.eye(3), [0.0, 0.0, z])


def lengthening(
    base: Array, platform: Array, lower: float = 0.0, upper: float = np.inf
) -> tuple[UPS, ...]:
    """Return UPS legs between two lists of pivots (n, 3), with limits of their lengths [m]."""
    return tuple(
        UPS(name=name, base=b, platform=a, lower=lower, upper=upper)
        for name, b, a in zip(NAMES, base, platform)
    )


def stewart_gough() -> Mechanism:
    """Return the general 6-6 platform of the golden numbers 8.4."""
    base = circle(0.5, [10, 110, 130, 230, 250, 350])
    platform = circle(0.3, [50, 70, 170, 190, 290, 310])
    return Mechanism('stewart_gough', lengthening(base, platform, 0.45, 0.9), home(0.55), DISK)


def octahedron() -> Mechanism:
    """Return a 3-3 platform: rods join in pairs in three pivots on either side."""
    base, platform = (
        circle(0.5, [0, 0, 120, 120, 240, 240]),
        circle(0.3, [-60, 60, 60, 180, 180, 300]),
    )
    return Mechanism('octahedron', lengthening(base, platform), home(0.55), DISK)


def three_two_one() -> Mechanism:
    """Return the 321 platform of the golden numbers 8.5."""
    base = np.array(
        [
            [0.5, 0, 0],
            [-0.25, 0.45, 0],
            [-0.25, -0.45, 0],
            [0.3, 0.6, 0],
            [-0.6, 0.35, 0],
            [0.5, -0.4, 0],
        ]
    )
    t3, t2, t1 = [0.0, 0, 0], [0.25, 0.05, 0], [0.05, 0.3, 0]
    platform = np.array([t3, t3, t3, t2, t2, t1])
    return Mechanism('three_two_one', lengthening(base, platform), home(0.7), DISK)


def hexaglide() -> Mechanism:
    """Return six sliders on three parallel pairs of rails, with rods of constant length."""
    base = np.array([[0, y, 0] for y in (-0.5, -0.4, -0.05, 0.05, 0.4, 0.5)])
    platform = circle(0.25, [270, 210, 90, 30, 150, 330])
    sides = (-1, 1, 1, -1, -1, 1)
    legs = tuple(
        PUS(name=name, base=b, platform=a, direction=np.array([1.0, 0, 0]), length=1.0, branch=s)
        for name, b, a, s in zip(NAMES, base, platform, sides)
    )
    return Mechanism('hexaglide', legs, home(0.45), DISK)


def hexa() -> Mechanism:
    """Return six cranks whose motors lie in pairs on a circle: the HEXA robot."""
    base = circle(0.3, [-8, 8, 112, 128, 232, 248])
    platform = circle(0.12, [-20, 20, 100, 140, 220, 260])
    legs = []
    for k, (name, b, a) in enumerate(zip(NAMES, base, platform)):
        R = about_z(120 * (k // 2))
        legs.append(
            RUS(
                name=name,
                base=b,
                platform=a,
                axis=R[:, 1],
                zero=R[:, 0],
                crank=0.25,
                length=0.6,
                lower=-np.pi / 2,
                upper=np.pi / 2,
            )
        )
    return Mechanism('hexa', tuple(legs), home(-0.55), DISK)


def delta() -> Mechanism:
    """Return Clavel's Delta: three cranks with a parallelogram each; the platform hangs below."""
    legs = []
    for name, degrees in zip(NAMES, (0, 120, 240)):
        R = about_z(degrees)
        half = 0.05 * R[:, 1]
        b, a = 0.2 * R[:, 0], 0.06 * R[:, 0]
        legs.append(
            RUS(
                name=name,
                base=np.array([b - half, b + half]),
                platform=np.array([a - half, a + half]),
                axis=R[:, 1],
                zero=R[:, 0],
                crank=0.25,
                length=0.55,
                lower=-1.5,
                upper=1.5,
            )
        )
    plate = Inertia(0.8, np.array([0.0, 0.0, -0.01]), np.diag([0.001, 0.001, 0.002]))
    return Mechanism('delta', tuple(legs), home(-0.5), plate)
