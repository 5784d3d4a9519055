# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lower pairs: joints whose relative motions are a subgroup H of SE(3), and their closure errors.

The joint frame S_i on the predecessor and S_j on the successor coincide but for a motion of H:
C = S_i^-1 C_i^-1 C_j S_j in H, with the 3-axis as the axis of the joint. H is identified by its
rotations and translations:

============  ==========  =========  ====================================  ================
pair          turns       slides     H                                     constraints
============  ==========  =========  ====================================  ================
weld          none        nothing    the identity                          6
revolute      about z     nothing    rotations about z                     5
prismatic     none        along z    translations along z                  5
helical       about z     pitch      screws about z, pitch h [m/rad]       5
cylindrical   about z     along z    rotations and translations about z    4
spherical     about all   nothing    SO(3)                                 3
planar        about z     in x, y    SE(2)                                 3
============  ==========  =========  ====================================  ================

A velocity is admissible if N V = 0 for the relative twist V in the frame S_j: the rows of N are
the components that neither turn nor slide, and v_z - h omega_z of a helical pair. The gap
g(C) = N x(h^-1 C), with h the element of H that is nearest to C and x the increment to it, is zero
if C is in H, and its differential there is N (spec 5.5, I-30).

Source: Müller and Terze, sections 5 and 6, where lower pairs are named; the equations are derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arguments import is_number
from ...errors import ArgumentError, UnknownNameError
from ...lie import so3
from ...linear import zeros
from ...types import Array

#: The components of a twist (omega, v), as messages name them.
COMPONENTS = tuple(f'{kind} {axis}' for kind in ('rotation about', 'shift along') for axis in 'xyz')


@dataclass(frozen=True)
class LowerPair:
    """A kind of joint.

    Attributes
    ----------
    name : str
    turns : str
        The axes about which it turns: '', 'z' or 'xyz'.
    slides : str
        The axes along which it slides: '', 'z' or 'xy'.
    pitch : float
        Advance per angle of a helical pair [m/rad].
    """

    name: str
    turns: str = ''
    slides: str = ''
    pitch: float = 0.0

    @cached_property
    def N(self) -> Array:
        """The constrained directions, (c, 6): N V = 0 for relative twists V."""
        free = [*(axis in self.turns for axis in 'xyz'), *(axis in self.slides for axis in 'xyz')]
        N = np.eye(6)[[k for k in range(6) if not free[k]]]
        if self.pitch:
            N[-1, 2] = -self.pitch
        return N

    @property
    def rows(self) -> tuple[str, ...]:
        """What each constraint prevents."""
        return tuple(COMPONENTS[int(np.argmax(row == 1.0))] for row in self.N)

    @cached_property
    def free_components(self) -> tuple[int, ...]:
        """The components of a relative twist that are its rates; of a helical pair the turn."""
        return (
            *('xyz'.index(axis) for axis in self.turns),
            *(3 + 'xyz'.index(axis) for axis in self.slides),
        )

    @property
    def has_center(self) -> bool:
        """Whether a point of each body stays at a point of the other: nothing slides."""
        return not self.slides and not self.pitch

    @property
    def is_recordable(self) -> bool:
        """Whether `gap` takes recorded scalars: the angle of a helical pair has branches."""
        return not self.pitch

    def nearest(self, C: Array) -> Array:
        """Return the element h of H, (..., 4, 4), near the relative pose C (..., 4, 4)."""
        h = zeros(C.shape, C)
        h[...] = np.eye(4)
        R, p = C[..., :3, :3], C[..., :3, 3]
        if self.turns == 'xyz':
            h[..., :3, :3] = R
        elif self.turns:
            cos, sin = R[..., 0, 0], R[..., 1, 0]
            length = np.sqrt(cos * cos + sin * sin)
            h[..., 0, 0] = h[..., 1, 1] = cos / length
            h[..., 1, 0], h[..., 0, 1] = sin / length, -sin / length
            if self.pitch:  # the turn whose advance is nearest
                angle = np.arctan2(sin, cos)
                turns = np.round((p[..., 2] / self.pitch - angle) / (2 * np.pi))
                h[..., 2, 3] = self.pitch * (angle + 2 * np.pi * turns)
        for axis in self.slides:
            k = 'xyz'.index(axis)
            h[..., k, 3] = p[..., k]
        return h

    def gap(self, C: Array) -> Array:
        """Return g, (..., c) [rad, m], of relative poses C (..., 4, 4).

        Rotations as 2 tan(angle / 2) times their axis: the angle where it is small, and infinite
        at 180 degrees, which no other measure without branches distinguishes from no rotation.

        >>> C = np.eye(4)
        >>> C[:3, :3], C[0, 3] = so3.exp([0, 0, 2.0]), 0.1  # turned, and 0.1 m off
        >>> np.linalg.norm(REVOLUTE.gap(C)).round(6)
        np.float64(0.1)
        """
        h = self.nearest(C)
        back = np.swapaxes(h[..., :3, :3], -1, -2)
        D = back @ C[..., :3, :3]
        trace = D[..., 0, 0] + D[..., 1, 1] + D[..., 2, 2]
        rotation = so3.vee(D) * (4.0 / (1.0 + trace))[..., None]
        shift = (back @ (C[..., :3, 3] - h[..., :3, 3])[..., None])[..., 0]
        gap: Array = np.concatenate([rotation, shift], axis=-1) @ self.N.T
        return gap


WELD = LowerPair('weld')
REVOLUTE = LowerPair('revolute', turns='z')
PRISMATIC = LowerPair('prismatic', slides='z')
CYLINDRICAL = LowerPair('cylindrical', turns='z', slides='z')
SPHERICAL = LowerPair('spherical', turns='xyz')
PLANAR = LowerPair('planar', turns='z', slides='xy')
PAIRS = {pair.name: pair for pair in (WELD, REVOLUTE, PRISMATIC, CYLINDRICAL, SPHERICAL, PLANAR)}
NAMES = (*PAIRS, 'helical')


def lower_pair(name: str, pitch: float | None = None) -> LowerPair:
    """Return the pair of that name; `pitch` [m/rad] belongs to 'helical' alone.

    Raises `UnknownNameError`, and `ArgumentError` if a pitch is missing, zero or out of place.
    """
    if name == 'helical':
        if is_number(pitch) and np.isfinite(pitch) and pitch != 0.0:
            return LowerPair('helical', turns='z', pitch=float(pitch))
        raise ArgumentError(
            f'a helical joint needs a pitch [m/rad] other than 0, got {pitch!r}; without one it is '
            'revolute'
        )
    if name not in PAIRS:
        raise UnknownNameError(f'no joint type {name!r}; choose one of {", ".join(NAMES)}')
    if pitch is not None:
        raise ArgumentError(f'a {name} joint has no pitch; only a helical one has')
    return PAIRS[name]
