# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes of links: boxes, capsules, cylinders and spheres of a description."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..arguments import float_array
from ..errors import ArgumentError

ShapeKind = Literal['box', 'capsule', 'cylinder', 'sphere']
Span = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Shape:
    """A primitive fixed to a link.

    Attributes
    ----------
    kind : {'box', 'capsule', 'cylinder', 'sphere'}
    extents : (3,) array
        Along its axes [m]: the edges of a box; diameter, diameter and length of a cylinder or
        capsule, caps included, whose axis is z; three times the diameter of a sphere.
    pose : (4, 4) array
        Of its center and axes in the frame of the link.

    Raises
    ------
    ArgumentError
        An unknown kind, extents that are not positive and finite, or a capsule that is shorter than
        its diameter.
    """

    kind: ShapeKind
    extents: NDArray[np.float64]
    pose: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.kind not in get_args(ShapeKind):
            raise ArgumentError(
                f'no shape is a {self.kind!r}; use {", ".join(get_args(ShapeKind))}'
            )
        for name, size in (('extents', (3,)), ('pose', (4, 4))):
            array = float_array(f'{self.kind}: {name}', getattr(self, name)).copy()
            if array.shape != size or not np.isfinite(array).all():
                raise ArgumentError(
                    f'{self.kind}: {name} must be finite and of shape {size}, got {array.tolist()}'
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not (self.extents > 0.0).all():
            raise ArgumentError(
                f'{self.kind}: extents must be positive, got {self.extents.tolist()} m'
            )
        if self.kind == 'capsule' and self.extents[2] < self.extents[0]:
            raise ArgumentError(
                f'capsule: its length {self.extents[2]:g} m, caps included, must be at least its '
                f'diameter {self.extents[0]:g} m'
            )

    def axis(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the ends (3,) of its axis in the frame of the link, and its mean radius [m].

        The axis of a box is along its longest edge; that of a sphere is its center.

        >>> rod = Shape('box', np.array([0.4, 0.03, 0.03]), np.eye(4))
        >>> rod.axis()
        (array([-0.2,  0. ,  0. ]), array([0.2, 0. , 0. ]), 0.015)
        """
        center, R = self.pose[:3, 3], self.pose[:3, :3]
        if self.kind == 'sphere':
            return center, center, 0.5 * float(self.extents[0])
        along = int(np.argmax(self.extents)) if self.kind == 'box' else 2
        half = 0.5 * self.extents[along] * R[:, along]
        across = np.delete(self.extents, along)
        return center - half, center + half, 0.5 * math.sqrt(across[0] * across[1])

    def entry(
        self, point: NDArray[np.float64], direction: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return where a line enters the shape, (3,), None if it passes by.

        Parameters
        ----------
        point, direction : (3,) arrays
            A point of the line [m] and its direction, in the frame of the link.

        Examples
        --------
        >>> ball = Shape('sphere', np.full(3, 0.2), np.eye(4))
        >>> ball.entry(np.zeros(3), np.array([0.0, 0.0, -3.0]))
        array([0. , 0. , 0.1])
        """
        R = self.pose[:3, :3]
        spans = self._spans(R.T @ (point - self.pose[:3, 3]), R.T @ direction)
        firsts = [first for first, last in spans if math.isfinite(first) and first <= last]
        return point + min(firsts) * direction if firsts else None

    def _spans(self, p: NDArray[np.float64], d: NDArray[np.float64]) -> Iterator[Span]:
        """Yield from which t to which p + t d, in the axes of the shape, is in each convex part."""
        half = (0.5 * self.extents).tolist()
        if self.kind == 'box':
            yield common([flat_span(float(p[k]), float(d[k]), half[k]) for k in range(3)])
        elif self.kind == 'sphere':
            yield round_span(p, d, half[0])
        else:
            radius, height = half[0], half[2]
            if self.kind == 'capsule':
                height -= radius
                for end in (-height, height):
                    yield round_span(p - np.array([0.0, 0.0, end]), d, radius)
            flat = flat_span(float(p[2]), float(d[2]), height)
            yield common([round_span(p[:2], d[:2], radius), flat])


def common(spans: Sequence[Span]) -> Span:
    """Return the intersection of intervals."""
    return max(first for first, _ in spans), min(last for _, last in spans)


def round_span(p: NDArray[np.float64], d: NDArray[np.float64], radius: float) -> Span:
    """Return from which t to which |p + t d| is at most `radius`; (inf, -inf) if it never is."""
    a, b, c = float(d @ d), float(p @ d), float(p @ p) - radius * radius
    if a == 0.0:
        return (-math.inf, math.inf) if c <= 0.0 else (math.inf, -math.inf)
    square = b * b - a * c
    if square < 0.0:
        return math.inf, -math.inf
    root = math.sqrt(square)
    return (-b - root) / a, (-b + root) / a


def flat_span(p: float, d: float, half: float) -> Span:
    """Return from which t to which |p + t d| is at most `half`; (inf, -inf) if it never is."""
    if d == 0.0:
        return (-math.inf, math.inf) if abs(p) <= half else (math.inf, -math.inf)
    first, last = (-half - p) / d, (half - p) / d
    return min(first, last), max(first, last)
