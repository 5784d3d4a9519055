# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Choose among solutions: images by multiples of 2 pi, the one next to a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.compile.program.recorded_arrays import recorded
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.linear import numbers
from screw_dynamics_ros.core.types import Array

from .chain import SerialChain

FULL_TURN = 2.0 * np.pi
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
    """Return numbers (...,) in the order of how far configurations are away, (..., n).

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
