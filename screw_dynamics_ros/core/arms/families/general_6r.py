# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All solutions of arms of six revolute joints: the eliminations that fit an arm, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ...compile.calls import compiled_into
from ...compile.kernels import Kernel, KernelSpecification, in_parallel, make_kernel
from ...errors import ArgumentError
from ...lie import se3
from ...types import Array
from . import trigonometric_polynomial
from .chain import SerialChain
from .elimination import (
    DEGREE,
    PLACES,
    ArmConstants,
    Elimination,
    EliminationEquations,
    Place,
    determinant,
    eliminate,
    five_joints,
    in_the_plane,
    joint_angles,
    matrix,
    refined_zeros,
    right_side,
)
from .line_coordinates import SIZE

#: |z|^2 - 1 of a zero up to which it may be a real angle: a pair of nearly equal solutions comes
#: out as complex angles by rounding; and up to which it is one for sure.
NEARLY_REAL, CERTAINLY_REAL = 0.15, 1e-3
#: The same for refined zeros, to the rounding of multiple ones; and from where on they are complex.
REFINED_REAL, REFINED_COMPLEX = 1e-5, 1e-4
#: Rounding of the elements of M, in units of the largest singular value times that of a number.
ROUNDING_FACTOR = 10.0
#: Third singular value of M from the last, relative to the first, below which it is zero.
RANK_TOLERANCE = 1e-7
UNKNOWN_COUNT = 2 * DEGREE + 1  # more solutions than there can be
#: Errors of zeros, in units of what the rounding of samples does to first order: the equations are
#: rounded, too, and crowded zeros move by roots of it.
ERROR_AMPLIFICATION, EPSILON = 1e6, float(np.finfo(float).eps)
SAMPLES = 24  # of det M, whole vectors; 17 would do
WAVES = trigonometric_polynomial.waves(SAMPLES)
#: Singular values, relative to the largest, below which an elimination vanishes for an arm, and
#: below which it is next to one that does, and has lost its digits.
VANISHING_ELIMINATION, NEARLY_VANISHING_ELIMINATION = 1e-10, 1e-5
#: det M, relative to what it is elsewhere, below which it vanishes at a pose.
VANISHING_DETERMINANT = 1e-10
#: Largest ratio of samples of det M beside which the smallest have digits left.
MAX_SAMPLE_RATIO = 1e13


class CompiledElimination:
    """The elimination at one place, compiled: the same for all arms, whose constants it takes.

    Parameters
    ----------
    place : Place
    backend : str
    """

    def __init__(self, place: Place, backend: str) -> None:
        before, after = (3 ** len(joints) for joints in place.pair)

        def kernel(
            name: str, inputs: Sequence[tuple[str, int]], build: Any, each: str = '', at: Any = ()
        ) -> Kernel:
            alike = frozenset(name for name, _ in inputs if each and name != each)
            return make_kernel(
                KernelSpecification(
                    f'{name} of 6R arms', tuple(inputs), build, repr((name, '6R', *at)), alike
                ),
                backend,
            )

        arm = (
            ('home_inverse', 16),
            ('scale', 1),
            ('before', before * SIZE * SIZE),
            ('after', after * SIZE),
        )
        products, rest, forms = ('products', 112), ('rest', 14), ('forms', 378)
        sampled = [('waves', 3), ('forms', 162)]
        zero = [('zero', 2), ('forms', 162), ('solution', 112), rest, ('left', 378)]
        five = [('five', 10), ('orientation', 9), ('axes', 18)]
        right, last = partial(right_side, place), partial(joint_angles, place)
        into_stacks = partial(compiled_into, stacks=True)
        (
            self._eliminate,
            self._five_joints,
            self._determinant,
            self._right_side,
            self._joint_angles,
            self._aberth_steps,
        ) = in_parallel(
            partial(compiled_into, kernel('elimination', [products, rest, forms], eliminate)),
            partial(into_stacks, kernel('five joints', zero, five_joints, 'zero')),
            partial(into_stacks, kernel('determinant', sampled, determinant, 'waves')),
            partial(compiled_into, kernel('right side', [('pose', 16), *arm], right, at=place)),
            partial(into_stacks, kernel('joint angles', five, last, 'five', place)),
            partial(trigonometric_polynomial.aberth_steps, 2 * DEGREE, backend),
        )

    def sampled(self, C: Array, arm: ArmConstants) -> tuple[EliminationEquations, Array]:
        """Return the remaining equations, and samples of det M, (SAMPLES,)."""
        products = np.empty(112)
        left = EliminationEquations(np.empty(162), np.empty(112), np.empty(14), np.empty(9))
        self._right_side(C.reshape(16), *arm[:4], products, left.rest, left.orientation)
        self._eliminate(products, left.rest, arm.forms, left.forms, left.solution)
        values = np.empty((SAMPLES, 1))
        self._determinant(WAVES, left.forms, values)
        return left, values[:, 0]

    def at_all_zeros(
        self, C: Array, arm: ArmConstants, typical: float, refined: bool
    ) -> tuple[Array, Array, int]:
        """Return candidates at real and complex zeros alike, (2 n, 2, 6).

        With | |z|^2 - 1 | of each zero, (2 n,), to choose by, and the possible number of solutions;
        see `GeneralSixRevolute.candidates`.

        Parameters
        ----------
        C : (4, 4) array
        arm : ArmConstants
        typical : float
            How large det M is for this arm, as `typical_determinant` returns it.
        refined : bool
        """
        (forms, solution, rest, orientation), values = self.sampled(C, arm)
        angles, away = np.empty((4 * DEGREE, 6)), np.full(2 * DEGREE, np.inf)
        sizes = list(map(abs, values.tolist()))
        largest = max(sizes)
        if not VANISHING_DETERMINANT * typical < largest < np.inf:
            return angles.reshape(-1, 2, 6), away, -1
        zeros, slopes = trigonometric_polynomial.zeros(values, self._aberth_steps, DEGREE)
        if refined:
            zeros, step = refined_zeros(zeros, forms)
        five = np.empty((2 * DEGREE, 2, 5, 2))
        self._five_joints(zeros, forms, solution, rest, arm.left, five, away)
        self._joint_angles(five.reshape(-1, 10), orientation, arm.axes, angles)
        number_unknown = largest > MAX_SAMPLE_RATIO * min(sizes)
        if not refined:
            expected = UNKNOWN_COUNT if number_unknown else possibly_real(away, slopes, largest)
        elif (away < NEARLY_REAL).any():
            expected = certainly_real(zeros, away, step, forms)
        else:
            expected = UNKNOWN_COUNT if number_unknown else 0
        return angles.reshape(-1, 2, 6), away, expected

    def typical_determinant(self, chain: SerialChain, arm: ArmConstants) -> float:
        """Return how large det M is for random poses, the median of the largest samples."""
        q = np.random.default_rng(0).uniform(-np.pi, np.pi, (8, 6))
        samples = [self.sampled(chain.pose(each), arm)[-1] for each in q]
        return float(np.median(np.abs(samples).max(axis=1)))


#: The same object for all arms.
compiled_elimination = cache(CompiledElimination)


class GeneralSixRevolute:
    """All solutions of a chain of six revolute joints.

    Parameters
    ----------
    chain : SerialChain
    backend : str
        Of the compiled parts.
    places : sequence of Place, optional
        Eliminations to take, the best one first; found out for this arm otherwise. Each is
        compiled when it is first taken.

    Raises
    ------
    ArgumentError
        If the chain is not of six revolute joints, or every elimination vanishes for it.
    """

    bound = 2 * DEGREE

    def __init__(self, chain: SerialChain, backend: str, places: Sequence[Place] = ()) -> None:
        if chain.turns != (True,) * 6:
            kinds = ('revolute' if turns else 'prismatic' for turns in chain.turns)
            raise ArgumentError(f'expected six revolute joints, got {", ".join(kinds)}')
        self.places = tuple(places) or ranked_places(chain)
        if not self.places:
            raise ArgumentError(
                f'every elimination vanishes for the joints {", ".join(chain.joint_names)}'
            )
        self._chain, self._backend = chain, backend
        self._taken: dict[int, tuple[CompiledElimination, ArmConstants, float]] = {}

    def candidates(self, C: Array, number: int, refined: bool) -> tuple[Array, int]:
        """Return approximate joint angles (m, 6) for a pose (4, 4), solutions among them.

        And the possible number of solutions: real zeros, refined ones to rounding, others roughly;
        -1 if it is undetermined at this pose, as the elimination vanishes, or as more than two
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
        angles, away, expected = self.at_all_zeros(C, number, refined)
        return angles[away < NEARLY_REAL].reshape(-1, 6), expected

    def at_best_place(self, C: Array, held: Array) -> tuple[Array, Array, int]:
        """Return `at_all_zeros` of the best place, for an arm without held joints."""
        return self.at_all_zeros(C, 0, False)

    def at_all_zeros(self, C: Array, number: int, refined: bool) -> tuple[Array, Array, int]:
        """Return what `CompiledElimination.at_all_zeros` does for one of the places."""
        if number not in self._taken:
            self._taken[number] = self._prepared(self.places[number])
        compiled, arm, typical = self._taken[number]
        return compiled.at_all_zeros(C, arm, typical, refined)

    def _prepared(self, place: Place) -> tuple[CompiledElimination, ArmConstants, float]:
        compiled = compiled_elimination(place, self._backend)
        length = self._chain.length
        S, home_inverse = scaled(self._chain, length), se3.inverse(self._chain.home)
        arm = Elimination(S, place, home_inverse, length).constants
        return compiled, arm, compiled.typical_determinant(self._chain, arm)


def scaled(chain: SerialChain, length: float) -> Array:
    """Return the joint screws of a chain (n, 6), with a unit of length [m]."""
    S = chain.screws.copy()
    S[:, 3:] /= length
    return S


def possibly_real(away: Array, slopes: Array, largest: float) -> int:
    """Return the number of real zeros: those within rounding of the circle.

    To first order that is the rounding of the largest sample over the derivative at the zero.

    Parameters
    ----------
    away : (2 n,) array
        | |z|^2 - 1 |.
    slopes : (2 n,) array
        | df / dz |.
    largest : float
        Of the samples of f, the absolute value.
    """
    rounding, count = ERROR_AMPLIFICATION * EPSILON * largest, 0
    for distance, slope in zip(away.tolist(), slopes.tolist()):
        count += distance < CERTAINLY_REAL or (
            distance < NEARLY_REAL and distance * slope < rounding
        )
    return count


def certainly_real(zeros: Array, away: Array, step: Array, forms: Array) -> int:
    """Return the number of real refined zeros, -1 if it is undetermined.

    Where a zero is between real and complex, or has not converged to the circle yet, and where more
    than two solutions share an angle.

    Parameters
    ----------
    zeros, away, step : (2 n, 2), (2 n,), (2 n,) arrays
        Zeros, | |z|^2 - 1 |, and lengths of their last steps.
    forms : (162,) array
    """
    near = away < NEARLY_REAL
    beside = near & (away >= REFINED_REAL)
    if (away[beside] < REFINED_COMPLEX).any():
        return -1
    unit = zeros[near] / np.linalg.norm(zeros[near], axis=1, keepdims=True)
    waves = np.hstack([np.ones((len(unit), 1)), unit])
    sigma = np.linalg.svd(matrix(forms.reshape(6, 9, 3), waves), compute_uv=False)
    if (sigma[:, -3] < RANK_TOLERANCE * sigma[:, 0]).any():
        return -1
    moving = np.maximum(step[beside], distances_left(zeros[beside], forms)) > 0.01 * away[beside]
    return -1 if moving.any() else int(np.count_nonzero(away < REFINED_REAL))


def distances_left(zeros: Array, forms: Array) -> Array:
    """Return the distances of the true zeros from refined ones (k, 2), to first order, (k,).

    Steps may become small before a zero is reached, where M has several small singular values.
    """
    M, slope = in_the_plane(zeros.view(complex)[:, 0], forms)
    U, sigma, V = np.linalg.svd(M)
    u, v = U[:, :, -1].conj(), V[:, -1].conj()
    with np.errstate(divide='ignore'):
        left = sigma[:, -1] + ROUNDING_FACTOR * EPSILON * sigma[:, 0]
        return np.asarray(left / np.abs(np.einsum('ki,kij,kj->k', u, slope, v)))


def ranked_places(
    chain: SerialChain, places: Sequence[Place] = PLACES, samples: int = 12
) -> tuple[Place, ...]:
    """Return where to read an arm, the best place first; those where the elimination vanishes last.

    The quality is the gap, at solutions for random poses, between the two smallest singular values
    of M: large if every solution has a separate null vector. Places where M is singular for all
    angles, or where the right side of (1) is rank-deficient, are excluded; those where it is nearly
    so, too, unless there are no others.
    """
    S, rng = scaled(chain, chain.length), np.random.default_rng(0)
    configurations = rng.uniform(-np.pi, np.pi, (samples, 6))
    quality, regularity = {}, {}
    for place in places:
        elimination = Elimination(S, place)
        gaps: list[float] = []
        elsewhere: list[float] = []
        ranks: list[float] = []
        for q in configurations:
            C = np.eye(4)
            for X, angle in zip(S, q):
                C = C @ se3.exp_unit_screw(X, angle)
            products, _, _ = right_side(place, C.reshape(16), *elimination.constants[:4])
            sigma = np.linalg.svd(products.reshape(14, 8), compute_uv=False)
            ranks.append(sigma[-1] / sigma[0])
            forms = elimination.equations(C).forms.reshape(6, 9, 3)
            theta = q[place.triple[0]]
            for angle, smallest, kept in ((theta, -2, gaps), (theta + 0.7, -1, elsewhere)):
                M = matrix(forms, np.array([1.0, np.cos(angle), np.sin(angle)]))
                sigma = np.linalg.svd(M, compute_uv=False)
                kept.append(sigma[smallest] / sigma[0])
        quality[place] = float(np.median(gaps))
        regularity[place] = min(np.median(elsewhere), np.median(ranks))
    ranked = sorted(places, key=lambda place: -quality[place])
    for limit in (NEARLY_VANISHING_ELIMINATION, VANISHING_ELIMINATION):
        regular = tuple(place for place in ranked if regularity[place] > limit)
        if regular:
            return regular
    return ()
