# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Put the axes of a chain on those of a model: signs and offsets of joints, base and tool.

A robot of a family differs from the model of the family by where its base and its tool are, by the
configuration it calls zero, and by the positive directions of its joints. All of this follows from
the joint screws: each joint turns the next axis until it lies on that of the model.

Source: Bruyninckx 2010, section 7.2 (C-090).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...lie import screws, se3
from ...linear import cross
from ...reproducible import arctangent, norm, reproducible
from ...tree.multibody_tree import rotation_of_z_to
from ...types import Array
from .chain import SerialChain

RIGHT_ANGLE = 0.5 * np.pi

#: Differences of angles, directions and lengths that are rounding of what `align` computes with
#: [rad, 1, m].
ALIGNMENT_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Placement:
    """How a robot has the axes of a model: q_model = sign * q_robot + offset.

    Attributes
    ----------
    sign, offset : (n,) arrays
    base : (4, 4) array
        Pose of the frame of the model in that of the robot.
    tool : (4, 4) array
        Pose of the tool of the robot in that of the model.
    residual : float
        Largest difference that is left between components of the screws [rad, m].
    """

    sign: Array
    offset: Array
    base: Array
    tool: Array
    residual: float


def align(
    chain: SerialChain, model: Array, home: Array, base: Array, tolerance: float
) -> Placement | None:
    """Return how a chain has the axes `model` (n, 6), None if it has other ones.

    Parameters
    ----------
    chain : SerialChain
    model : (n, 6) array
        Joint screws of the model at its zero, in its frame.
    home : (4, 4) array
        Pose of the tool of the model there.
    base : (4, 4) array
        Frame of the model, up to a rotation about the first axis, which is aligned already.
    tolerance : float
        Largest difference between components of the screws [rad, m]. Of several ways that fit as
        well, that with small offsets is preferred.
    """
    chain, model, home, base = reproducible((chain, model, home, base))
    ways = list(_aligned(chain.screws, model, se3.inverse(base), tolerance))
    if not ways:
        return None
    residuals = [max(residual for _, _, residual in way) for way in ways]
    chosen = first_of_the_least(residuals)
    sign, angles, _ = (np.array(each) for each in zip(*ways[chosen]))
    at_zero = sign * np.append(angles[1:], 0.0)  # the robot's joints when the model is at its zero
    tool = se3.inverse(home) @ se3.inverse(base) @ chain.pose(at_zero)
    offset = settled(-sign * at_zero, RIGHT_ANGLE)
    return Placement(sign, offset, settled(base, 1.0), settled(tool, 1.0), residuals[chosen])


def settled(x: Array, unit: float) -> Array:
    """Return numbers; those that are multiples of a unit but for rounding are so exactly.

    Zeros and ones among them make programs shorter, and no rounding decides which ones do.
    """
    numbers = x.astype(float)
    multiples = np.round(numbers / unit) * unit
    return np.where(np.abs(numbers - multiples) <= ALIGNMENT_TOLERANCE, multiples + 0.0, numbers)


def first_of_the_least(residuals: Sequence[float]) -> int:
    """Return the index of the first residual that is the least but for rounding."""
    least = min(residuals)
    return next(i for i, each in enumerate(residuals) if each <= 1.1 * least + 1e-9)


def _aligned(
    own: Array, model: Array, G: Array, tolerance: float, i: int = 0
) -> Iterator[list[tuple[float, float, float]]]:
    """Yield (sign of joint, angle of the joint before, residual) from joint i on, nearest first.

    G (4, 4) takes the frame of the robot to that of the model, with the joints before i in place.
    """
    if i == len(own):
        yield []
        return
    seen = screws.transform_twist(G, own[i])
    for angle in _angles(model[i - 1], seen, model[i]) if i else [0.0]:
        turn = se3.exp_unit_screw(model[i - 1], angle)
        turned = screws.transform_twist(turn, seen)
        for sign in (1.0, -1.0):
            residual = float(np.abs(turned - sign * model[i]).max())
            if residual < tolerance:
                for rest in _aligned(own, model, turn @ G, tolerance, i + 1):
                    yield [(sign, angle, residual), *rest]


def _angles(about: Array, screw: Array, target: Array) -> list[float]:
    """Return angles about a revolute axis that may align a screw with another, or its negative."""
    e = about[:3]
    if not e.any():
        return [0.0]  # a sliding joint leaves directions as they are, and is taken as it stands
    part = slice(0, 3) if target[:3].any() else slice(3, 6)
    directions = [x[part] - e * (e @ x[part]) for x in (screw, target)]
    if min(map(norm, directions)) > 1e-2:
        angle = _angle(e, *directions)
        return sorted([angle, angle - np.copysign(np.pi, angle)], key=abs)
    if part.start == 3:
        return [0.0]
    apart = [cross(e, x[3:] * np.sign(e @ x[:3]) - about[3:]) for x in (screw, target)]
    return [_angle(e, *apart)] if min(map(norm, apart)) > 1e-6 else [0.0]


def _angle(e: Array, a: Array, b: Array) -> float:
    """Return the angle about e from a to b, both at right angles to e."""
    return arctangent(float(e @ cross(a, b)), float(a @ b))


# --- what the lengths of families are read off ----------------------------------------------------


def frame_on_axis(screw: Array, ahead: Array) -> Array:
    """Return a frame (4, 4) on a revolute axis, z along it to the side of the point `ahead` (3,).

    Its origin is the point of the axis next to the origin of the base.
    """
    e, p = screw[:3], cross(screw[:3], screw[3:])
    return se3.pose(rotation_of_z_to(-e if e @ (ahead - p) < -1e-9 else e), p)


def point(screw: Array) -> Array:
    """Return the point (3,) of a revolute axis that is next to the origin."""
    return cross(screw[:3], screw[3:])


def are_parallel(*axes: Array, tolerance: float) -> bool:
    """Return whether the directions of revolute axes are parallel, or opposite."""
    first = axes[0][:3]
    return all(norm(cross(first, each[:3])) < tolerance for each in axes[1:])


def are_perpendicular(*axes: Array, tolerance: float) -> bool:
    """Return whether each revolute axis is at right angles to the next one."""
    return all(abs(a[:3] @ b[:3]) < tolerance for a, b in pairwise(axes))


def distance(a: Array, b: Array) -> float:
    """Return the distance between two revolute axes [m]."""
    apart = point(b) - point(a)
    normal = cross(a[:3], b[:3])
    size = norm(normal)
    if size > 1e-2:
        return float(abs(apart @ normal) / size)
    return float(norm(cross(a[:3], apart)))


def unless_zero(x: float, tolerance: float) -> float:
    """Return a measured length, exactly 0 if it is rounding: a tenth of the tolerance."""
    return x if abs(x) > 0.1 * tolerance else 0.0


def either_sign(x: float, tolerance: float) -> tuple[float, ...]:
    """Return x and -x, or 0 alone if that is rounding."""
    return (x, -x) if unless_zero(x, tolerance) else (0.0,)
