# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Choose among solutions: images by multiples of 2 pi, the one next to a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

FULL_TURN = 2.0 * np.pi


def nearest_image(q: ArrayLike, seed: ArrayLike, chain: SerialChain) -> Array:
    """Return q (..., n) with each revolute joint by multiples of 2 pi next to a seed.

    Of the images within the limits of the joint; a joint with none of them within is left outside,
    next to the seed.

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
    q, seed = np.asarray(q, dtype=float), np.asarray(seed, dtype=float)
    n = len(chain)
    if q.shape[-1:] != (n,) or seed.shape != (n,):
        raise ArgumentError(f'q and seed must hold {n} joints, got {q.shape} and {seed.shape}')
    turns = np.round((seed - q) / FULL_TURN)
    # Multiples of 2 pi that stay within the limits; rounding at a limit is not outside.
    slack = 1e-9
    least = np.ceil((chain.lower - q - slack) / FULL_TURN)
    most = np.floor((chain.upper - q + slack) / FULL_TURN)
    within = np.where(least <= most, np.clip(turns, least, most), turns)
    return q + FULL_TURN * np.where(np.array(chain.turns), within, 0.0)


def nearest(solutions: ArrayLike, seed: ArrayLike, chain: SerialChain) -> tuple[int, Array]:
    """Return which of the solutions (k, n) is next to a seed (n,), and its image next to it.

    Solutions within the limits go before those outside; the distance is that of the joint furthest
    from its seed [rad or m], so that no joint jumps while another one could have moved a little.

    Raises
    ------
    ArgumentError
        If there is no solution without NaN.
    """
    images = nearest_image(np.atleast_2d(solutions), seed, chain)
    away = np.abs(images - np.asarray(seed)).max(axis=1)
    outside = ((images < chain.lower - 1e-9) | (images > chain.upper + 1e-9)).any(axis=1)
    if not len(images) or np.isnan(away).all():
        raise ArgumentError('there is no solution to choose from')
    order = np.lexsort((np.nan_to_num(away, nan=np.inf), outside | np.isnan(away)))
    return int(order[0]), images[order[0]]
