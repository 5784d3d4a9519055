# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Singular poses of a parallel robot: freedoms of the platform with its motors at rest.

Where the wrenches G of the rods are dependent, some twists t have G^T t = 0: the platform moves
(to first order) though all rods keep their lengths, and wrenches reciprocal to none of them cannot
be borne. A leg is singular itself where its rod has no lever about its motor: then the motor moves
nothing. Some designs are singular in all their poses (architecturally), for instance with similar
regular hexagons as base and platform.

A 321 platform decouples: with the rods e1 e2 e3 in t3, e4 e5 in t2 and e6 in t1, moments first and
about t3,

    det G = -det(e1 e2 e3) (r32 . (e4 × e5)) (r32 . (r31 × e6)),   r32 = t2 - t3, r31 = t1 - t3

The factors vanish where t3 lies in the plane of its base pivots ('3'), t2 in the plane of t3 and
its base pivots ('2'), t1 in the plane of t3, t2 and its base pivot ('1').

Source: Bruyninckx 2010, sections 8.9, 8.19 and 8.20, (8.24) (C-117, C-122, C-125).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ArgumentError
from ...lie import se3, so3
from ...lie.screw_systems import TOLERANCE
from ...types import Array
from . import recursions
from .mechanism import Mechanism
from .tetrahedra import rods_of_321

#: Relative size of det G below which sampled poses are singular: far above rounding errors.
NEVER_REGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class PlatformSingularity:
    """How well the rods hold the platform.

    Attributes
    ----------
    singular : bool
        Whether the platform has gained a freedom.
    rank : int
        Of the wrenches of the rods.
    singular_values : (6,) array
        Falling, of unit wrenches with moments made forces by the size of the mechanism.
    determinant : float
        Of these, for six rods (signed); the product of the singular values for more.
    gained_twists : (6, 6 - rank) array
        Hybrid twists that no rod prevents, unit vectors when turning counts by the size.
    weakest_twist : (6,) array
        Unit twist that changes the rods least: what will be gained next, or is.
    unborne_wrenches : (6, 6 - rank) array
        Hybrid wrenches that the rods cannot balance, as unit vectors.
    factors : dict of str to float
        '3', '2' and '1' of a 321 platform [1, m, m^2]; empty for others.
    singular_legs : tuple of str
        Legs whose rods have no lever about their motors.
    message : str
    """

    singular: bool
    rank: int
    singular_values: Array
    determinant: float
    gained_twists: Array
    weakest_twist: Array
    unborne_wrenches: Array
    factors: dict[str, float]
    singular_legs: tuple[str, ...]
    message: str


def platform_singularity(
    mechanism: Mechanism, q: Array, pose: Array, tolerance: float = TOLERANCE
) -> PlatformSingularity:
    """Return the report of a pose (4, 4) with its motor positions (n,) (C-125).

    `tolerance` is relative to the largest singular value.
    """
    G, levers = recursions.wrench_basis(mechanism, q, pose)
    size = mechanism.size
    scale = np.array([size] * 3 + [1.0] * 3)
    unit = G / scale[:, None]
    U, s, _ = np.linalg.svd(unit)
    rank = int(np.sum(s > tolerance * s[0]))
    twists = U / scale[:, None]
    singular_legs = tuple(
        dict.fromkeys(
            mechanism.joint_names[leg]
            for (leg, _), lever in zip(mechanism.rod_legs, levers)
            if abs(lever) <= tolerance * max(1.0, float(np.abs(levers).max()))
        )
    )
    factors = factors_of_321(mechanism, q, pose) if is_321(mechanism) else {}
    message = messages(rank, singular_legs)
    determinant = float(np.linalg.det(unit)) if G.shape[1] == 6 else float(np.prod(s))
    return PlatformSingularity(
        rank < 6,
        rank,
        s,
        determinant,
        twists[:, rank:],
        twists[:, -1],
        (U * scale[:, None])[:, rank:],
        factors,
        singular_legs,
        message,
    )


def messages(rank: int, singular_legs: tuple[str, ...]) -> str:
    """Return the text of a report."""
    parts = []
    if rank < 6:
        parts.append(f'the platform has gained {6 - rank} freedom(s): the motors do not hold it')
    if singular_legs:
        parts.append(f'motors of {", ".join(singular_legs)} do not move their rods')
    return '; '.join(parts) or 'regular'


def is_321(mechanism: Mechanism) -> bool:
    """Return whether rods meet in threes, in twos and alone."""
    try:
        rods_of_321(mechanism)
    except ArgumentError:
        return False
    return True


def factors_of_321(mechanism: Mechanism, q: Array, pose: Array) -> dict[str, float]:
    """Return the factors '3', '2' and '1' of det G, moments about t3, of a 321 platform [1, m, m].

    Their product is the determinant up to its sign, which depends on the order of the rods. Raises
    `ArgumentError` for other designs.
    """
    rods = rods_of_321(mechanism)
    d = recursions.rod_vectors(mechanism, q, pose)
    e = d / np.linalg.norm(d, axis=1)[:, None]
    a = mechanism.platform_pivots @ pose[:3, :3].T
    r32, r31 = a[rods.two[0]] - a[rods.three[0]], a[rods.one] - a[rods.three[0]]
    e4, e5 = e[list(rods.two)]
    return {
        '3': float(np.linalg.det(e[list(rods.three)].T)),
        '2': float(r32 @ np.cross(e4, e5)),
        '1': float(r32 @ np.cross(r31, e[rods.one])),
    }


def wrench_basis_of_321(mechanism: Mechanism, q: Array, pose: Array) -> tuple[Array, Array]:
    """Return G (6, 6), moments about t3, rods in the order 3, 2, 1, and its inverse (8.24) (C-117).

    Moments of the first three rods vanish there, so that G = [[0, B], [A, C]] with moments first,
    and G^-1 = [[-A^-1 C B^-1, A^-1], [B^-1, 0]]. Raises `ArgumentError` for other designs.
    """
    rods = rods_of_321(mechanism)
    order = [*rods.three, *rods.two, rods.one]
    d = recursions.rod_vectors(mechanism, q, pose)[order]
    e = d / np.linalg.norm(d, axis=1)[:, None]
    arms = (mechanism.platform_pivots[order] - mechanism.platform_pivots[order[0]]) @ pose[:3, :3].T
    A, B, C = e[:3].T, np.cross(arms[3:], e[3:]).T, e[3:].T
    if min(abs(np.linalg.det(A)), abs(np.linalg.det(B)) / mechanism.size**3) <= TOLERANCE:
        raise ArgumentError(f'{mechanism.name} is singular in this pose')
    A_inverse, B_inverse = np.linalg.inv(A), np.linalg.inv(B)
    zero = np.zeros((3, 3))
    G = np.block([[zero, B], [A, C]])
    return G, np.block([[-A_inverse @ C @ B_inverse, A_inverse], [B_inverse, zero]])


def is_architecturally_singular(mechanism: Mechanism, *, samples: int = 50, seed: int = 0) -> bool:
    """Return whether the rods are dependent in all poses (C-122, C-125).

    By poses drawn about home, with turns up to 1 rad and shifts up to half the size: det G is an
    analytic function of the pose, and vanishes at all of them only if it vanishes everywhere. For
    legs that slide or turn, their other ends stay where they are at home: what counts is where the
    rods start, and so this is a property of the design with its motors there.
    """
    random = np.random.default_rng(seed)
    q = np.zeros(len(mechanism.legs))
    x, _ = recursions.motor_positions(mechanism, mechanism.home)
    for i, leg in enumerate(mechanism.legs):
        row = x[i, 0 if leg.branch > 0 else 1]
        q[i] = np.arctan2(*row) if leg.turning else row[0]
    scale = np.array([mechanism.size] * 3 + [1.0] * 3)[:, None]
    largest = 0.0
    for _ in range(samples):
        turn, shift = random.uniform(-0.5, 0.5, (2, 3))
        D = se3.pose(so3.exp(turn), mechanism.size * shift)
        G = recursions.unit_wrenches(mechanism, q, mechanism.home @ D)
        s = np.linalg.svd(G / scale, compute_uv=False)
        largest = max(largest, float(np.prod(s / s[0])))
    return largest < NEVER_REGULAR
