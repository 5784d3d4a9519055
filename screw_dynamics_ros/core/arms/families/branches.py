# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Images of solutions by multiples of 2 pi: within joint limits, and next to a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.compile.program.recorded_arrays import recorded
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.linear import numbers
from screw_dynamics_ros.core.types import Array

from .chain import SerialChain
from .chain_solutions import FULL_TURN, LIMIT_TOLERANCE, ChainSolutions

#: Beyond a limit by no more than this is at the limit; distances up to this are equal [rad, m].
LIMIT_SLACK, DISTANCE_RESOLUTION = 1e-9, 1e-9


def nearest_image(q: ArrayLike, seed: ArrayLike, chain: SerialChain) -> Array:
    """Return q (..., n) with each revolute joint by multiples of 2 pi next to a seed.

    Of the images within the limits of the joint; a joint with none of them within is left outside,
    next to the seed. May be recorded.

    Parameters
    ----------
    q : (..., n) array
    seed : (n,) array

    Examples
    --------
    >>> chain = SerialChain(('j',), [[0, 0, 1, 0, 0, 0]], np.eye(4), lower=[-4], upper=[4])
    >>> nearest_image([-3.0], [3.0], chain).round(3), nearest_image([-2.0], [3.0], chain)
    (array([3.283]), array([-2.]))
    """
    x, near = recorded(numbers(q)), recorded(numbers(seed))
    n = len(chain)
    if x.shape[-1:] != (n,) or near.shape != (n,):
        raise ArgumentError(f'q and seed must hold {n} joints, got {x.shape} and {near.shape}')
    turns = np.rint((near - x) / FULL_TURN)
    # Multiples of 2 pi that stay within the limits; rounding at a limit is not outside.
    least = -floor((x - chain.lower + LIMIT_SLACK) / FULL_TURN)
    most = floor((chain.upper - x + LIMIT_SLACK) / FULL_TURN)
    within = np.where(least <= most, np.minimum(np.maximum(turns, least), most), turns)
    image: Array = x + FULL_TURN * np.where(np.array(chain.turns), within, 0.0)
    return image


def floor(x: Array) -> Array:
    """Return the largest integers that are not above x; may be recorded."""
    nearest = np.rint(x)
    return np.where(nearest > x, nearest - 1.0, nearest)


def separation(away: ArrayLike) -> Array:
    """Return numbers (...,) in the order of the distances of configurations, (..., n).

    The distance is that of the joint furthest away [rad or m], so that no joint jumps while another
    one could have moved a little; of equal ones, to `DISTANCE_RESOLUTION`, the sum over all joints
    decides. Branches that share a joint often differ in nothing but the others. May be recorded.
    """
    distances = np.abs(recorded(numbers(away)))
    largest, total = np.maximum.reduce(distances, axis=-1), np.add.reduce(distances, axis=-1)
    numbers_in_order: Array = np.rint(largest / DISTANCE_RESOLUTION) + total / (1.0 + total)
    return numbers_in_order


def nearest(solutions: ArrayLike, seed: ArrayLike, chain: SerialChain) -> tuple[int, Array]:
    """Return which of the solutions (k, n) is next to a seed (n,), and its image next to it.

    Solutions within the limits go before those outside; then `separation` decides.

    Raises
    ------
    ArgumentError
        If there is no solution without NaN.
    """
    images = nearest_image(np.atleast_2d(solutions), seed, chain)
    away = separation(images - np.asarray(seed))
    outside = ((images < chain.lower - LIMIT_SLACK) | (images > chain.upper + LIMIT_SLACK)).any(
        axis=1
    )
    if not len(images) or np.isnan(away).all():
        raise ArgumentError('there is no solution to choose from')
    order = np.lexsort((np.nan_to_num(away, nan=np.inf), outside | np.isnan(away)))
    return int(order[0]), images[order[0]]


@dataclass(frozen=True, eq=False)
class DiscardedCandidate:
    """A candidate that is no answer.

    Attributes
    ----------
    q : (n,) array
        Positions of the joints of the chain.
    label : str
    reason : str
    """

    q: Array
    label: str
    reason: str


EVERY = slice(None)
MAX_IMAGES = 1_000_000  # images of all solutions of a pose
NONE_OUTSIDE = (np.empty((0, 0)), np.empty(0, dtype=int))


class LimitImages:
    """Which images of solutions by multiples of 2 pi are within the limits of a chain.

    Parameters
    ----------
    chain : SerialChain
    moving : sequence of int
        The joints that are not held; the others stay where they are.
    images : bool
        Whether to give all images that fit in, or the one next to zero; of a joint with one limit
        only, which has no end of images, that one is given in either case.
    """

    def __init__(self, chain: SerialChain, moving: Sequence[int], images: bool) -> None:
        self.chain, self._images = chain, images
        held = np.ones(len(chain), dtype=bool)
        held[list(moving)] = False
        self._lower = np.where(held, -np.inf, chain.lower)
        self._upper = np.where(held, np.inf, chain.upper)
        self._low, self._high = self._lower - LIMIT_TOLERANCE, self._upper + LIMIT_TOLERANCE
        turning = np.array(chain.turns) & ~held
        endless = np.isinf(self._lower) & np.isinf(self._upper)
        #: Joints with limits that have images at all: others are where they are.
        self._turning = np.flatnonzero(turning & ~endless)
        self._limits = self._low[self._turning], self._high[self._turning]
        ranges = self._limits[1] - self._limits[0]
        #: Those of which one image is given at most, the one next to zero.
        self._single = np.isinf(ranges) | (not images)
        self._has_single = bool(self._single.any())
        #: Whether no joint has limits.
        self.free = bool(endless.all())
        #: Whether angles within half a turn have no other image within the limits.
        simple = (self._lower >= -np.pi) & (self._upper <= np.pi) | ~turning
        self.simple = bool((simple | endless).all())
        #: Whether solutions within the limits stay where they are, without other images.
        self._stay = bool((self._single | (ranges < FULL_TURN - LIMIT_TOLERANCE)).all())

    def apply(self, found: ChainSolutions) -> tuple[Array, Array | slice, tuple[Array, Array]]:
        """Return joint positions (k, n) within, which solution each one is, and the others.

        Those are (q, branches), once each solution of which no image is within.

        Raises
        ------
        ArgumentError
            For more than `MAX_IMAGES` images.
        """
        q = found.q
        if not len(q) or self.free or (self.simple and found.inside):
            return q, EVERY, NONE_OUTSIDE
        if self._stay and self._are_inside(q).all():
            return self._clipped(q), EVERY, NONE_OUTSIDE
        q, source = self._images_of(q)
        inside = self._are_inside(q)
        if inside.all():
            return self._clipped(q), source, NONE_OUTSIDE
        missing = np.ones(len(found), dtype=bool)
        missing[source[inside]] = False
        outside = q[np.searchsorted(source, np.flatnonzero(missing))], found.branches[missing]
        return self._clipped(q[inside]), source[inside], outside

    def _clipped(self, q: Array) -> Array:
        """Return configurations without what the tolerance lets them be outside."""
        clipped: Array = np.minimum(np.maximum(q, self._lower), self._upper)  # faster than clip
        return clipped

    def _are_inside(self, q: Array) -> NDArray[np.bool_]:
        """Return which configurations (k, n) are within the limits."""
        return np.asarray(((q >= self._low) & (q <= self._high)).all(axis=1))

    def _images_of(self, q: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return the images of configurations (k, n), and which one each of them is of.

        Those of the first joint vary slowest. A joint without an image within its limits stays
        where it is; of such configurations one image is given.
        """
        low, high = self._limits
        angles = q[:, self._turning]
        first = np.ceil((low - angles) / FULL_TURN)  # of multiples of 2 pi
        last = np.floor((high - angles) / FULL_TURN)
        count = np.maximum(last - first + 1.0, 0.0)
        if self._has_single:
            count = np.where(self._single, np.minimum(count, 1.0), count)
            first = np.where(self._single, np.clip(0.0, first, last), first)
        fits = count > 0.0
        turns, source = np.where(fits, first, 0.0), np.arange(len(q))
        if (count > 1.0).any():
            count[~fits.all(axis=1)] = 1.0
            source, numbers = self._numbered(count)
            q, turns = q[source], turns[source] + numbers
        else:
            q = q.copy()
        q[:, self._turning] += FULL_TURN * turns
        return q, source

    def _numbered(self, count: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which row each combination is of, and its numbers (m, j), each below its count.

        Parameters
        ----------
        count : (k, j) array
            Number of images of each joint, at least 1.
        """
        totals = np.cumprod(count, axis=1)
        if totals[:, -1].sum() > MAX_IMAGES:
            k = self._turning[np.argmax(totals.sum(axis=0) > MAX_IMAGES)]
            raise ArgumentError(
                f'joint limits of many turns leave room for more than {MAX_IMAGES} images of the '
                f'solutions, for joint {self.chain.joint_names[k]!r} among others; ask for one of '
                'each: images=False'
            )
        counts, total = count.astype(np.int64), totals[:, -1].astype(np.int64)
        source = np.repeat(np.arange(len(count)), total)
        place = np.arange(len(source)) - np.repeat(np.cumsum(total) - total, total)
        step = total[:, None] // totals.astype(np.int64)  # images of the joints behind
        return source, place[:, None] // step[source] % counts[source]

    def named(
        self, q: Array, branches: Array, labels: tuple[str, ...]
    ) -> tuple[DiscardedCandidate, ...]:
        """Return the reason why configurations (k, n) are outside the limits."""
        discarded = []
        for row, branch in zip(q, branches):
            k = int(np.flatnonzero((row < self._low) | (row > self._high))[0])
            reason = (
                f'joint {self.chain.joint_names[k]!r} at {row[k]:.4f} is outside its limits '
                f'{self._lower[k]:.4f} to {self._upper[k]:.4f}'
            )
            discarded.append(DiscardedCandidate(row, labels[branch], reason))
        return tuple(discarded)
