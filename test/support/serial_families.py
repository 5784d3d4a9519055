# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random members of the families of serial arms, and how far their branches are off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.family import Family
from screw_dynamics_ros.core.arms.families.prismatic_families import GantryWithWrist, Scara
from screw_dynamics_ros.core.arms.families.spherical_shoulder_elbow_wrist import (
    SphericalShoulderElbowWrist,
)
from screw_dynamics_ros.core.arms.families.three_parallel_axes import ThreeParallelAxes
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.lie import se3

Rng = np.random.Generator


def placed_anywhere(cls: type[Family], n: int, rng: Rng, **lengths: object) -> Family:
    """Return an arm with random signs, offsets, base and tool."""
    base, tool = se3.exp(rng.normal(size=(2, 6)))
    return cls(
        **lengths, sign=rng.choice([-1.0, 1.0], n), offset=rng.normal(size=n), base=base, tool=tool
    )


def lengths(names: str, rng: Rng) -> dict[str, float]:
    return {name: float(rng.uniform(0.1, 1.0)) for name in names.split()}


def offsets(names: str, rng: Rng) -> dict[str, float]:
    """Return some offsets that are zero and some that are not."""
    return {name: float(rng.normal(0.0, 0.2) * rng.integers(0, 2)) for name in names.split()}


def random_321(rng: Rng) -> Family:
    names = 'base_offset shoulder_offset elbow_offset'
    own = lengths('l1 l2 l3 l6', rng) | offsets(names, rng)
    return placed_anywhere(ThreeTwoOne, 6, rng, **own)


def random_parallel(rng: Rng) -> Family:
    own = lengths('l1 l2 l3 l5 l6', rng) | offsets('base_offset shoulder_offset', rng)
    return placed_anywhere(ThreeParallelAxes, 6, rng, **own)


def random_srs(rng: Rng) -> Family:
    own = lengths('l1 upper lower l7', rng) | offsets('upper_offset lower_offset', rng)
    return placed_anywhere(SphericalShoulderElbowWrist, 7, rng, **own)


def random_scara(rng: Rng) -> Family:
    return placed_anywhere(Scara, 4, rng, **lengths('l1 l2', rng), slide=int(rng.integers(4)))


def random_gantry(rng: Rng) -> Family:
    while True:
        directions = rng.normal(size=(3, 3))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        if abs(np.linalg.det(directions)) > 0.1:
            return placed_anywhere(
                GantryWithWrist, 6, rng, **lengths('l6', rng), directions=directions
            )


RANDOM_ARMS: dict[str, Callable[[Rng], Family]] = {
    '321': random_321,
    'three parallel axes': random_parallel,
    'S-R-S': random_srs,
    'SCARA': random_scara,
    'gantry': random_gantry,
}


def branches(arm: Family, C: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the branches for a pose; those of an S-R-S arm at the swivel angle of q."""
    if isinstance(arm, SphericalShoulderElbowWrist):
        return arm.branches(C, arm.swivel_of(q))
    return arm.branches(C)


def difference(chain: SerialChain, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return q - other (..., n), angles within [-pi, pi]."""
    apart = q - other
    turns = np.array(chain.turns)
    return np.where(turns, (apart + np.pi) % (2.0 * np.pi) - np.pi, apart)


def pose_errors(chain: SerialChain, solutions: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return for each solution the largest difference of its pose from C."""
    return np.abs(chain.pose(solutions) - C).max(axis=(-2, -1))
