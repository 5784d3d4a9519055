"""All solutions of arms of six revolute joints: the eliminations that fit an arm, compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import (
    KernelSpecification,
    compiled_into,
    make_kernel,
    stacked_into,
)
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.families import trigonometric_polynomial
from screw_dynamics_ros.core.families.chain import REVOLUTE, SerialChain
from screw_dynamics_ros.core.families.elimination import (
    DEGREE,
    PLACES,
    Elimination,
    Place,
    determinant,
    eliminate,
    joint_angles,
    matrix,
    refined_zeros,
    right_side,
)
from screw_dynamics_ros.core.families.line_coordinates import (
    SIZE,
)
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.types import Array

#: |z|^2 - 1 of a zero up to which it may be a real angle: a pair of nearly equal solutions comes
#: out as complex angles by rounding.
NEARLY_REAL = 0.15
#: The same for zeros that are real for sure, and for those that may be by rounding.
ROUGHLY, PERHAPS = 1e-3, 0.15
#: The same for refined zeros, to the rounding of multiple ones.
REAL = 1e-5
#: Third singular value of M from the last, relative to the first, below which it is zero.
DEGENERATE = 1e-7
SAMPLES = 24  # of det M, whole vectors; 17 would do
WAVES = trigonometric_polynomial.waves(SAMPLES)
#: Singular values, relative to the largest, below which an elimination vanishes for an arm.
VANISHING = 1e-10
#: det M, relative to what it is elsewhere, below which it vanishes at a pose.
VANISHED = 1e-10
#: Largest ratio of samples of det M beside which the smallest have digits left.
DIGITS = 1e13


class GeneralSixRevolute:
    """All solutions of a chain of six revolute joints.

    Parameters
    ----------
    chain : SerialChain
    backend : str
        Of the compiled parts.
    places : sequence of Place, optional
        Eliminations to take, the best one first; found out for this arm otherwise.

    Raises
    ------
    ArgumentError
        If the chain is not of six revolute joints, or every elimination vanishes for it.
    """

    bound = 2 * DEGREE

    def __init__(self, chain: SerialChain, backend: str, places: Sequence[Place] = ()) -> None:
        if chain.kinds != (REVOLUTE,) * 6:
            raise ArgumentError(f'expected six revolute joints, got {", ".join(chain.kinds)}')
        self.length = max(np.abs(chain.screws[:, 3:]).max(), np.abs(chain.home[:3, 3]).max()) or 1.0
        S = chain.screws.copy()
        S[:, 3:] /= self.length
        self.places = tuple(places) or ranked_places(S)
        if not self.places:
            raise ArgumentError(
                f'every elimination vanishes for the joints {", ".join(chain.joint_names)}'
            )
        self._home_inverse = se3.inverse(chain.home)
        self._axes = np.ascontiguousarray(S[:, :3]).reshape(-1)
        self._eliminations = [Elimination(S, place) for place in self.places]
        self._kernels = [kernels(place, backend) for place in self.places]
        self._chain = chain
        self._typical = [self._typical_determinant(k) for k in range(len(self.places))]

    def candidates(self, C: Array, number: int, refined: bool) -> tuple[Array, int]:
        """Return approximate joint angles (m, 6) for a pose (4, 4), solutions among them.

        And how many solutions there may be: zeros that are real, refined ones to rounding, others
        roughly; -1 if the elimination cannot tell at this pose, as it vanishes, or as more than two
        solutions share the angle theta.

        Parameters
        ----------
        C : (4, 4) array
        number : int
            That of the elimination, in the order of `places`.
        refined : bool
            Whether to compute the zeros by M itself, which takes longer, and which crowded ones
            need.
        """
        elimination, run = self._eliminations[number], self._kernels[number]
        pose = C @ self._home_inverse
        pose[:3, 3] /= self.length
        forms, solution, rest = np.empty(162), np.empty(112), np.empty(14)
        run.eliminate(*elimination.inputs(pose), forms, solution, rest)
        values = np.empty((SAMPLES, 1))
        run.determinant(WAVES, forms, values)
        size = np.abs(values)
        largest = size.max()
        if not largest > VANISHED * self._typical[number]:
            return np.empty((0, 6)), -1
        zeros = trigonometric_polynomial.zeros(values[:, 0], run.aberth_steps, DEGREE)
        z = refined_zeros(zeros, forms) if refined else zeros
        square = z.real * z.real + z.imag * z.imag
        real = np.flatnonzero((square > 1.0 - NEARLY_REAL) & (square < 1.0 + NEARLY_REAL))
        count = len(real)
        if not count:
            return np.empty((0, 6)), 0 if largest < DIGITS * size.min() else 2 * DEGREE + 1
        waves, angles = np.ones((2 * DEGREE, 3)), np.empty((2 * DEGREE, 2, 6))
        z, square = z[real], square[real]
        length = np.sqrt(square)
        waves[:count, 1], waves[:count, 2] = z.real / length, z.imag / length
        orientation, left = pose[:3, :3].reshape(9), elimination.left.reshape(-1)
        run.joint_angles(waves, forms, solution, rest, left, orientation, self._axes, angles)
        found, away = angles[:count].reshape(-1, 6), np.abs(square - 1.0)
        if refined:
            sigma = np.linalg.svd(matrix(forms.reshape(6, 9, 3), waves[:count]), compute_uv=False)
            if (sigma[:, -3] < DEGENERATE * sigma[:, 0]).any():
                return found, -1
            return found, int(np.count_nonzero(away < REAL))
        if largest > DIGITS * size.min():
            return found, 2 * DEGREE + 1  # more than there can be
        uncertain = (away > ROUGHLY) & (away < PERHAPS)
        if not uncertain.any():
            return found, int(np.count_nonzero(away < ROUGHLY))
        # zeros as far from the circle as rounding may have taken them
        error = trigonometric_polynomial.errors(zeros, real, values[:, 0])
        return found, int(np.count_nonzero(away < np.maximum(ROUGHLY, 20.0 * error)))

    def _typical_determinant(self, number: int) -> float:
        """Return how large det M is for random poses, the median of the largest samples."""
        elimination, run = self._eliminations[number], self._kernels[number]
        largest = []
        for q in np.random.default_rng(0).uniform(-np.pi, np.pi, (8, 6)):
            pose = self._chain.pose(q) @ self._home_inverse
            pose[:3, 3] /= self.length
            forms, solution, rest = np.empty(162), np.empty(112), np.empty(14)
            values = np.empty((SAMPLES, 1))
            run.eliminate(*elimination.inputs(pose), forms, solution, rest)
            run.determinant(WAVES, forms, values)
            largest.append(np.abs(values).max())
        return float(np.median(largest))


@dataclass(frozen=True)
class Kernels:
    """The compiled parts of an elimination: functions of arrays, which write into arrays."""

    eliminate: Callable[..., None]
    determinant: Callable[..., None]
    joint_angles: Callable[..., None]
    aberth_steps: Callable[..., None]


@cache
def kernels(place: Place, backend: str) -> Kernels:
    """Return what is compiled for a place, the same for all arms."""
    before, after = (3 ** len(joints) for joints in place.pair)
    angles = (
        ('waves', 3),
        ('forms', 162),
        ('solution', 112),
        ('rest', 14),
        ('left', 378),
        ('orientation', 9),
        ('axes', 18),
    )

    def specification(name: str, inputs: Any, build: Any, identity: Any) -> KernelSpecification:
        uniform = frozenset(each for each, _ in inputs[1:])
        return KernelSpecification(f'{name} of 6R arms', inputs, build, repr(identity), uniform)

    eliminated = KernelSpecification(
        'elimination of 6R arms',
        (
            ('pose', 16),
            ('before', before * SIZE * SIZE),
            ('after', after * SIZE),
            ('forms', 378),
        ),
        partial(eliminate, place),
        repr(('elimination of 6R arms', tuple(place))),
    )
    sampled = specification(
        'determinant', (('waves', 3), ('forms', 162)), determinant, 'determinant of 6R arms'
    )
    solved = specification(
        'joint angles', angles, partial(joint_angles, place), ('angles of 6R arms', tuple(place))
    )
    return Kernels(
        compiled_into(make_kernel(eliminated, backend)),
        stacked_into(make_kernel(sampled, backend), SAMPLES),
        stacked_into(make_kernel(solved, backend), 2 * DEGREE),
        trigonometric_polynomial.aberth_steps(2 * DEGREE, backend),
    )


def ranked_places(S: Array, samples: int = 12) -> tuple[Place, ...]:
    """Return where to read an arm, the best place first; those where the elimination vanishes last.

    The quality is the gap, at solutions for random poses, between the two smallest singular values
    of M: large if every solution has a null vector of its own. Places where M is singular for all
    angles, or where the right side of (1) has not its full rank, are left out.
    """
    rng = np.random.default_rng(0)
    configurations = rng.uniform(-np.pi, np.pi, (samples, 6))
    quality = {}
    for place in PLACES:
        elimination = Elimination(S, place)
        gaps: list[float] = []
        elsewhere: list[float] = []
        ranks: list[float] = []
        for q in configurations:
            C = np.eye(4)
            for X, angle in zip(S, q):
                C = C @ se3.exp_unit_screw(X, angle)
            right = right_side(place, C, elimination.before, elimination.after)
            sigma = np.linalg.svd(right[:, 1:], compute_uv=False)
            ranks.append(sigma[-1] / sigma[0])
            forms = elimination.equations(C).forms.reshape(6, 9, 3)
            theta = q[place.triple[0]]
            for angle, smallest, kept in ((theta, -2, gaps), (theta + 0.7, -1, elsewhere)):
                M = matrix(forms, np.array([1.0, np.cos(angle), np.sin(angle)]))
                sigma = np.linalg.svd(M, compute_uv=False)
                kept.append(sigma[smallest] / sigma[0])
        if np.median(elsewhere) > VANISHING and np.median(ranks) > VANISHING:
            quality[place] = float(np.median(gaps))
    return tuple(sorted(quality, key=lambda place: -quality[place]))
