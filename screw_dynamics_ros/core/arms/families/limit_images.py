# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Images of solutions by multiples of 2 pi, within the limits of the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import ChainSolutions
from screw_dynamics_ros.core.arms.families.polishing import FULL_TURN, LIMIT_TOLERANCE
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
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
        turning = np.array(chain.turns) & ~held
        endless = np.isinf(self._lower) & np.isinf(self._upper)
        #: Joints with limits that have images at all: others are where they are.
        self._turning = np.flatnonzero(turning & ~endless)
        #: Whether no joint has limits.
        self.free = bool(endless.all())
        #: Whether angles within half a turn have no other image within the limits.
        simple = (self._lower >= -np.pi) & (self._upper <= np.pi) | ~turning
        self.simple = bool((simple | endless).all())

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
        source = np.arange(len(q))
        lower, upper = self._lower - LIMIT_TOLERANCE, self._upper + LIMIT_TOLERANCE
        for k in self._turning.tolist():
            first, count = self._images_of(k, q[:, k])
            if (count == 1).all() and not first.any():
                continue
            if count.sum() > MAX_IMAGES:
                raise ArgumentError(
                    f'joint limits of many turns leave room for more than {MAX_IMAGES} images of '
                    f'the solutions, for joint {self.chain.joint_names[k]!r} among others; ask for '
                    'one of each: images=False'
                )
            first, count = first.astype(int), count.astype(int)
            offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            turns = np.repeat(first, count) + offset
            # without an image within, the joint stays where it is, outside
            none = np.flatnonzero(count == 0)
            rows = np.concatenate([np.repeat(np.arange(len(q)), count), none])
            order = np.argsort(rows, kind='stable')
            turns = np.concatenate([turns, np.zeros(len(none), dtype=int)])[order]
            q, source = q[rows[order]], source[rows[order]]
            q[:, k] += FULL_TURN * turns
        inside = ((q >= lower) & (q <= upper)).all(axis=1)
        _, first = np.unique(source[~inside], return_index=True)
        without = first[~np.isin(source[~inside][first], source[inside])]
        outside = q[~inside][without], found.branches[source[~inside][without]]
        return np.clip(q[inside], self._lower, self._upper), source[inside], outside

    def _images_of(self, k: int, angles: Array) -> tuple[Array, Array]:
        """Return by how many turns the first image of angles (m,) of joint k is off; how many."""
        first = np.ceil((self._lower[k] - LIMIT_TOLERANCE - angles) / FULL_TURN)
        last = np.floor((self._upper[k] + LIMIT_TOLERANCE - angles) / FULL_TURN)
        if not self._images or np.isinf(first[0]) or np.isinf(last[0]):
            return np.clip(0.0, first, last), (first <= last).astype(float)
        return first, np.maximum(last - first + 1.0, 0.0)

    def named(
        self, q: Array, branches: Array, labels: tuple[str, ...]
    ) -> tuple[DiscardedCandidate, ...]:
        """Return the reason why configurations (k, n) are outside the limits."""
        discarded = []
        for row, branch in zip(q, branches):
            k = int(
                np.flatnonzero(
                    (row < self._lower - LIMIT_TOLERANCE) | (row > self._upper + LIMIT_TOLERANCE)
                )[0]
            )
            reason = (
                f'joint {self.chain.joint_names[k]!r} at {row[k]:.4f} is outside its limits '
                f'{self._lower[k]:.4f} to {self._upper[k]:.4f}'
            )
            discarded.append(DiscardedCandidate(row, labels[branch], reason))
        return tuple(discarded)
