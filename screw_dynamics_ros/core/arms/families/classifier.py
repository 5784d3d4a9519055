# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The family of a chain, by its joint screws; the three axes that make it solvable.

Source: Bruyninckx 2010, sections 1.3 and 7.1 (B-005, C-087, C-088).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inverse.singularities import common_point
from .alignment import are_parallel
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE, Family
from .prismatic_families import GantryWithWrist, Scara
from .spherical_shoulder_elbow_wrist import SphericalShoulderElbowWrist
from .three_parallel_axes import ThreeParallelAxes
from .three_two_one import ThreeTwoOne

#: Families with a closed form, in the order in which a chain is asked for them.
FAMILIES: dict[str, type[Family]] = {
    '321': ThreeTwoOne,
    'three parallel axes': ThreeParallelAxes,
    'S-R-S': SphericalShoulderElbowWrist,
    'SCARA': Scara,
    'gantry': GantryWithWrist,
}


@dataclass(frozen=True)
class AxisTriple:
    """Three consecutive joints that decouple position from orientation (Pieper).

    Attributes
    ----------
    first : int
        Index of the first of them.
    relation : str
        'intersecting' or 'parallel' revolute axes, or 'sliding' for three prismatic joints.
    """

    first: int
    relation: str


@dataclass(frozen=True)
class Classification:
    """What kind of arm a chain is.

    Attributes
    ----------
    name : str
        One of `FAMILIES`; for six joints otherwise 'pieper' or 'generic'; 'redundant' for more;
        'planar', 'spherical', 'cartesian' or 'few joints' for less.
    arm : Family or None
        The chain as a member of a family with a closed form.
    triples : tuple of AxisTriple
        All of them, whatever the name is.
    message : str
        Why.
    """

    name: str
    arm: Family | None
    triples: tuple[AxisTriple, ...]
    message: str


def classify(chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE) -> Classification:
    """Return the family of a chain.

    Parameters
    ----------
    chain : SerialChain
    tolerance : float
        How well axes must meet, be parallel or at right angles [rad, m].

    Examples
    --------
    An upright arm with parallel axes 2 and 3 and a spherical wrist; the same with a tilted axis:

    >>> chain = ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1).chain()
    >>> classify(chain).name
    '321'
    >>> from dataclasses import replace
    >>> tilted = chain.screws.copy()
    >>> tilted[2, :3] = [-np.cos(1e-3), 0.0, np.sin(1e-3)]
    >>> tilted[2, 3:] = np.cross([0, 0, 0.9], tilted[2, :3])
    >>> print(classify(replace(chain, screws=tilted)).message)
    no family with a closed form; axes 4 to 6 intersecting
    """
    triples = axis_triples(chain, tolerance)
    for name, family in FAMILIES.items():
        arm = family.recognized(chain, tolerance)
        if arm is not None:
            lengths = ', '.join(f'{each} {getattr(arm, each):.4g} m' for each in arm.length_names())
            return Classification(name, arm, triples, f'{name}: {lengths}')
    if len(chain) > 6:
        return Classification(
            'redundant', None, triples, _described('more than six joints', triples)
        )
    if len(chain) < 6:
        name = _short_name(chain, tolerance)
        return Classification(name, None, triples, _described('fewer than six joints', triples))
    message = _described('no family with a closed form', triples)
    return Classification('pieper' if triples else 'generic', None, triples, message)


def axis_triples(
    chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
) -> tuple[AxisTriple, ...]:
    """Return the triples of consecutive axes by which Pieper's method solves a chain (C-088)."""
    found = []
    for first in range(len(chain) - 2):
        three = slice(first, first + 3)
        S, turns = chain.screws[three], set(chain.turns[three])
        if turns == {False}:
            if abs(np.linalg.det(S[:, 3:])) > tolerance:
                found.append(AxisTriple(first, 'sliding'))
        elif turns == {True}:
            if are_parallel(*S, tolerance=tolerance):
                found.append(AxisTriple(first, 'parallel'))
            elif common_point(S.T, tolerance) is not None:
                found.append(AxisTriple(first, 'intersecting'))
    return tuple(found)


def _described(start: str, triples: tuple[AxisTriple, ...]) -> str:
    parts = [f'axes {each.first + 1} to {each.first + 3} {each.relation}' for each in triples]
    return '; '.join([start, *(parts or ['no three consecutive axes intersect or are parallel'])])


def _short_name(chain: SerialChain, tolerance: float) -> str:
    """Return what a chain of at most five joints is called."""
    turns = [S for S, does_turn in zip(chain.screws, chain.turns) if does_turn]
    slides = [S[3:] for S, does_turn in zip(chain.screws, chain.turns) if not does_turn]
    if not turns:
        return 'cartesian' if slides else 'few joints'
    normal = turns[0][:3]
    in_plane = all(abs(normal @ each) < tolerance for each in slides)
    if len(chain) > 1 and in_plane and are_parallel(*turns, tolerance=tolerance):
        return 'planar'
    if len(turns) > 1 and not slides and common_point(np.transpose(turns), tolerance) is not None:
        return 'spherical'
    return 'few joints'
