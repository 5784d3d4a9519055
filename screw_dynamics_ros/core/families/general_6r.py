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
    Equations,
    Place,
    determinant,
    eliminate,
    in_the_plane,
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
#: out as complex angles by rounding; and up to which it is one for sure.
NEARLY_REAL, ROUGHLY = 0.15, 1e-3
#: The same for refined zeros, to the rounding of multiple ones; and from where on they are complex.
REAL, COMPLEX = 1e-5, 1e-4
#: Rounding of the elements of M, in units of the largest singular value times that of a number.
ROUNDED = 10.0
#: Third singular value of M from the last, relative to the first, below which it is zero.
DEGENERATE = 1e-7
MORE = 2 * DEGREE + 1  # solutions than there can be: the number is not known
#: Errors of zeros, in units of what the rounding of samples does to first order: the equations are
#: rounded, too, and crowded zeros move by roots of it.
AMPLIFIED, EPSILON = 1e6, float(np.finfo(float).eps)
SAMPLES = 24  # of det M, whole vectors; 17 would do
WAVES = trigonometric_polynomial.waves(SAMPLES)
#: Singular values, relative to the largest, below which an elimination vanishes for an arm, and
#: below which it is next to one that does, and has lost its digits.
VANISHING, NEARLY_VANISHING = 1e-10, 1e-5
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
        S = chain.screws.copy()
        S[:, 3:] /= chain.length
        self.places = tuple(places) or ranked_places(S)
        if not self.places:
            raise ArgumentError(
                f'every elimination vanishes for the joints {", ".join(chain.joint_names)}'
            )
        self._axes = np.ascontiguousarray(S[:, :3]).reshape(-1)
        home_inverse = se3.inverse(chain.home)
        self._eliminations = [
            Elimination(S, place, home_inverse, chain.length) for place in self.places
        ]
        self._lefts = [each.left.reshape(-1) for each in self._eliminations]
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
        angles, away, expected = self.at_all_zeros(C, number, refined)
        return angles[away < NEARLY_REAL].reshape(-1, 6), expected

    def at_all_zeros(self, C: Array, number: int, refined: bool) -> tuple[Array, Array, int]:
        """Return the `candidates` of real and complex zeros alike, (2 n, 2, 6).

        With | |z|^2 - 1 | of each zero, (2 n,), to choose by, and how many solutions there may be.
        """
        run = self._kernels[number]
        (forms, solution, rest, orientation), values = self._sampled(C, number)
        angles, away = np.empty((2 * DEGREE, 2, 6)), np.full(2 * DEGREE, np.inf)
        sizes = list(map(abs, values.tolist()))
        largest = max(sizes)
        if not VANISHED * self._typical[number] < largest < np.inf:
            return angles, away, -1
        zeros, slopes = trigonometric_polynomial.zeros(values, run.aberth_steps, DEGREE)
        if refined:
            zeros, step = refined_zeros(zeros, forms)
        run.joint_angles(
            zeros, forms, solution, rest, self._lefts[number], orientation, self._axes, angles, away
        )
        number_unknown = largest > DIGITS * min(sizes)
        if not refined:
            expected = MORE if number_unknown else possibly_real(away, slopes, largest)
        elif (away < NEARLY_REAL).any():
            expected = certainly_real(zeros, away, step, forms)
        else:
            expected = MORE if number_unknown else 0
        return angles, away, expected

    def _sampled(self, C: Array, number: int) -> tuple[Equations, Array]:
        """Return what is left of the equations, and samples of det M, (SAMPLES,)."""
        run = self._kernels[number]
        left = Equations(np.empty(162), np.empty(112), np.empty(14), np.empty(9))
        run.eliminate(C.reshape(16), *self._eliminations[number].constants, *left)
        values = np.empty((SAMPLES, 1))
        run.determinant(WAVES, left.forms, values)
        return left, values[:, 0]

    def _typical_determinant(self, number: int) -> float:
        """Return how large det M is for random poses, the median of the largest samples."""
        q = np.random.default_rng(0).uniform(-np.pi, np.pi, (8, 6))
        samples = [self._sampled(self._chain.pose(each), number)[-1] for each in q]
        return float(np.median(np.abs(samples).max(axis=1)))


def possibly_real(away: Array, slopes: Array, largest: float) -> int:
    """Return how many zeros are real: as far from the circle as rounding may have taken them.

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
    rounding, count = AMPLIFIED * EPSILON * largest, 0
    for distance, slope in zip(away.tolist(), slopes.tolist()):
        count += distance < ROUGHLY or (distance < NEARLY_REAL and distance * slope < rounding)
    return count


def certainly_real(zeros: Array, away: Array, step: Array, forms: Array) -> int:
    """Return how many refined zeros are real, -1 if that is open.

    It is where a zero is between real and complex, or may be on its way to the circle still, and
    where more than two solutions share an angle.

    Parameters
    ----------
    zeros, away, step : (2 n, 2), (2 n,), (2 n,) arrays
        Zeros, | |z|^2 - 1 |, and how far the last step has moved them.
    forms : (162,) array
    """
    near = away < NEARLY_REAL
    beside = near & (away >= REAL)
    if (away[beside] < COMPLEX).any():
        return -1
    unit = zeros[near] / np.linalg.norm(zeros[near], axis=1, keepdims=True)
    waves = np.hstack([np.ones((len(unit), 1)), unit])
    sigma = np.linalg.svd(matrix(forms.reshape(6, 9, 3), waves), compute_uv=False)
    if (sigma[:, -3] < DEGENERATE * sigma[:, 0]).any():
        return -1
    moving = np.maximum(step[beside], distances_left(zeros[beside], forms)) > 0.01 * away[beside]
    return -1 if moving.any() else int(np.count_nonzero(away < REAL))


def distances_left(zeros: Array, forms: Array) -> Array:
    """Return how far the true zeros may be from refined ones (k, 2), to first order, (k,).

    Steps may become small before a zero is reached, where M has several small singular values.
    """
    M, slope = in_the_plane(zeros.view(complex)[:, 0], forms)
    U, sigma, V = np.linalg.svd(M)
    u, v = U[:, :, -1].conj(), V[:, -1].conj()
    with np.errstate(divide='ignore'):
        left = sigma[:, -1] + ROUNDED * EPSILON * sigma[:, 0]
        return np.asarray(left / np.abs(np.einsum('ki,kij,kj->k', u, slope, v)))


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
        ('zero', 2),
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
            ('home_inverse', 16),
            ('scale', 1),
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
        stacked_into(make_kernel(sampled, backend)),
        stacked_into(make_kernel(solved, backend)),
        trigonometric_polynomial.aberth_steps(2 * DEGREE, backend),
    )


def ranked_places(S: Array, samples: int = 12) -> tuple[Place, ...]:
    """Return where to read an arm, the best place first; those where the elimination vanishes last.

    The quality is the gap, at solutions for random poses, between the two smallest singular values
    of M: large if every solution has a null vector of its own. Places where M is singular for all
    angles, or where the right side of (1) has not its full rank, are left out; those where it is
    nearly so, too, unless there are no others.
    """
    rng = np.random.default_rng(0)
    configurations = rng.uniform(-np.pi, np.pi, (samples, 6))
    quality, regularity = {}, {}
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
        quality[place] = float(np.median(gaps))
        regularity[place] = min(np.median(elsewhere), np.median(ranks))
    ranked = sorted(PLACES, key=lambda place: -quality[place])
    for limit in (NEARLY_VANISHING, VANISHING):
        regular = tuple(place for place in ranked if regularity[place] > limit)
        if regular:
            return regular
    return ()
