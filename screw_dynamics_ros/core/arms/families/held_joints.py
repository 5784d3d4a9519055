# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms of six joints beside others that are held: the positions of those are an input.

A held joint displaces the axes behind it, and what kind of arm the others are does not depend on
where it stands, but for special positions. So one closed form, or one set of constants of the
elimination, serves all of them.

Source: Bruyninckx 2010, sections 7.1 and 7.8 (C-088, C-100).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from ...lie import se3
from ...linear import cross
from ...reproducible import norm, sine_cosine
from ...types import Array
from .chain import SerialChain
from .elimination import ArmConstants, Elimination, Place
from .general_6r import compiled_elimination, scaled
from .pieper import Pieper
from .spherical_wrist import SphericalWrist

#: Positions [rad or m] of the first held joint where no arm is special, and what the next ones have
#: more.
GENERIC_POSITIONS, POSITION_INCREMENT = (0.7, -1.3), 0.45
#: Held joints whose positions may be an input of the elimination: five samples of each.
MAX_HELD_JOINTS, SAMPLES = 2, 5


def generic(held: Sequence[int]) -> Iterator[dict[int, float]]:
    """Yield positions of held joints where no arm is special, twice."""
    for first in GENERIC_POSITIONS:
        yield {k: first + POSITION_INCREMENT * i for i, k in enumerate(held)}


@dataclass(frozen=True, eq=False)
class HeldArm:
    """A chain with held joints that is an arm of one kind at whatever positions of these.

    Attributes
    ----------
    chain : SerialChain
        With the held joints.
    held : tuple of int
        In the order of the chain.
    arm : Family, SphericalWrist or Pieper
        The arm at some positions; with all held joints at zero if these are at the ends.
    """

    chain: SerialChain
    held: tuple[int, ...]
    arm: Any

    @classmethod
    def recognized(
        cls, kind: type[SphericalWrist], chain: SerialChain, held: tuple[int, ...], tolerance: float
    ) -> HeldArm | None:
        """Return a chain as such an arm, None if it is not one."""
        arms = [kind.recognized(chain.with_held(at), tolerance) for at in generic(held)]
        if arms[0] is None or arms[1] is None or arms[0].reading != arms[1].reading:
            return None
        return cls(chain, held, arms[0])

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the arm."""
        return tuple(self.arm.labels)

    @property
    def sides(self) -> tuple[tuple[float, ...], ...]:
        """Those of the arm."""
        return tuple(self.arm.sides)

    def branch(self, C: Array, sides: Sequence[Any], *positions: Any) -> Array:
        """Return one branch of the arm for positions of the held joints; may be recorded."""
        arm, target = self._reduced(C, positions)
        return np.asarray(arm.branch(target, sides))

    def determinacy(self, C: Array, sides: Sequence[Any], *positions: Any) -> Any:
        """Return that of the arm; see `Family.determinacy`."""
        arm, target = self._reduced(C, positions)
        return arm.determinacy(target, sides)

    def _reduced(self, C: Array, positions: Sequence[Any]) -> tuple[Any, Array]:
        """Return the arm of the free joints, and the pose (4, 4) for it.

        Joints held at the ends do not change its geometry, only where its base and tool are.
        """
        free = [k for k in range(len(self.chain)) if k not in self.held]
        if any(free[0] < k < free[-1] for k in self.held):
            return self.at(*positions), C
        before, after = between_ends(self.chain, dict(zip(self.held, positions)))
        return self.arm, before @ C @ after

    def at(self, *positions: Any) -> SphericalWrist:
        """Return an arm with a spherical wrist for positions of held joints; may be recorded."""
        pattern = self.arm
        S, displacements = self.chain.displaced(dict(zip(self.held, positions)))
        if pattern.backward:
            S = -S[::-1]
        # two axes of the wrist, those that are furthest from parallel
        k, m = max(combinations((3, 4, 5), 2), key=lambda pair: sine_between(pattern.S, *pair))
        home = displacements[-1] @ self.chain.home
        arm: SphericalWrist = replace(pattern, S=S, home=home, center=meeting_point(S[k], S[m]))
        if isinstance(arm, Pieper) and arm.meeting is not None:
            first = 1 if arm.inner else 0
            arm = replace(arm, meeting=meeting_point(S[first], S[first + 1]))
        return arm


def between_ends(chain: SerialChain, positions: Mapping[int, Any]) -> tuple[Array, Array]:
    """Return what a pose is multiplied by, (4, 4) each, for the chain between joints at its ends.

    `positions` [rad or m] are those of the joints at the ends; with all of them at zero these are
    identities. May be recorded.
    """
    first = next(k for k in range(len(chain)) if k not in positions)
    before = after = np.eye(4)
    for k, X in enumerate(chain.screws):
        if k in positions:
            motion = se3.exp_unit_screw(X, positions[k])
            before, after = (before @ motion, after) if k < first else (before, after @ motion)
    return se3.inverse(before), se3.inverse(chain.home) @ se3.inverse(after) @ chain.home


def sine_between(S: Array, k: int, m: int) -> float:
    """Return the sine of the angle between two revolute axes of S (n, 6)."""
    return norm(cross(S[k, :3], S[m, :3]))


def meeting_point(S: Array, T: Array) -> Array:
    """Return the point (3,) of a revolute axis that is next to another one; may be recorded."""
    e, f = S[:3], T[:3]
    p, apart = cross(e, S[3:]), cross(f, T[3:]) - cross(e, S[3:])
    normal = cross(e, f)
    return p + (cross(apart, f) @ normal / (normal @ normal)) * e


class HeldSixRevolute:
    """The elimination of six revolute joints beside one or two that are held, revolute too.

    In the constants of the arm (`ArmConstants`), the matrix D of a held joint stands before and
    behind others, linear in 1, cos, sin of its angle: they are trigonometric polynomials of degree
    2, interpolated from five angles.

    Parameters
    ----------
    chain : SerialChain
        With the held joints.
    held : tuple of int
    place : Place
    backend : str
    """

    def __init__(
        self, chain: SerialChain, held: tuple[int, ...], place: Place, backend: str
    ) -> None:
        self._compiled = compiled_elimination(place, backend)
        self._chain, self._held, self._place = chain, held, place
        example, (at, _) = self._constants_at([0.0] * len(held)), generic(held)
        self._ends = np.cumsum([each.size for each in example]).tolist()
        self._typical = self._compiled.typical_determinant(
            chain.with_held(at), self._constants_at(list(at.values()))
        )
        angles = 2.0 * np.pi / SAMPLES * np.arange(SAMPLES)
        samples = [
            np.concatenate(self._constants_at(each)) for each in product(angles, repeat=len(held))
        ]
        coefficients = np.reshape(samples, (*[SAMPLES] * len(held), self._ends[-1]))
        transform = np.array([waves(angle) for angle in angles]).T * (2.0 / SAMPLES)
        transform[0] /= 2.0
        for axis in range(len(held)):
            coefficients = np.moveaxis(
                np.tensordot(transform, coefficients, axes=(1, axis)), 0, axis
            )
        self._coefficients = np.ascontiguousarray(coefficients)

    @staticmethod
    def fits(chain: SerialChain, held: Sequence[int]) -> bool:
        """Return whether these joints may be held."""
        return len(held) <= MAX_HELD_JOINTS and all(chain.turns[k] for k in held)

    def _constants_at(self, positions: Sequence[float]) -> ArmConstants:
        chain, length, at = self._chain, self._chain.length, dict(zip(self._held, positions))
        arm, (_, displacements) = chain.with_held(at), chain.displaced(at)
        joint = [k for k in range(len(chain)) if k not in at][self._place.axis]
        T = displacements[sum(k < joint for k in at)]
        e, v = np.split(chain.screws[joint], 2)
        point = (T[:3, :3] @ np.cross(e, v) + T[:3, 3]) / length  # moves as the axis does
        S, home_inverse = scaled(arm, length), se3.inverse(arm.home)
        return Elimination(S, self._place, home_inverse, length, point).constants

    def constants(self, positions: Array) -> ArmConstants:
        """Return the constants of the arm for angles (h,) of the held joints [rad]."""
        c = self._coefficients
        for angle in positions.tolist():
            first, *others = waves(angle)
            total = first * c[0]
            for wave, each in zip(others, c[1:]):
                total += wave * each
            c = total
        return ArmConstants(*(c[a:b] for a, b in zip([0, *self._ends], self._ends)))

    def at_all_zeros(self, C: Array, positions: Array) -> tuple[Array, Array, int]:
        """Return what `CompiledElimination.at_all_zeros` does for angles (h,) of held joints."""
        return self._compiled.at_all_zeros(C, self.constants(positions), self._typical, False)


def waves(angle: float) -> tuple[float, ...]:
    """Return 1, cos, sin of an angle, and cos, sin of twice the angle."""
    s, c = sine_cosine(angle)
    return 1.0, c, s, c * c - s * s, 2.0 * c * s
