# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The closed form of an arm, recorded and compiled: from a pose to all its branches, made exact.

One program computes a branch from its signs, refines it on the arm as it is described, and judges
what comes out. It runs for all branches at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compile.calls import compiled_stacks
from ...compile.kernels import KernelSpecification, make_kernel
from ...compile.program.recorded_arrays import both, choice
from ...linear import zeros
from ...types import Array
from ..inverse.position import squared_distance
from .chain import SerialChain
from .chain_solutions import MAX_RESIDUAL, MAX_START_RESIDUAL, NONE_LOST, ChainSolutions, polished
from .classifier import classify
from .pieper import Pieper
from .subproblems import UNDETERMINED_SINE

#: Verdicts on a branch: whether it leads to the pose, and whether outside the limits.
IN_DOUBT, UNREACHED, INSIDE, OUTSIDE = -1.0, 0.0, 1.0, 2.0
#: det(J J^T), lengths in units of the arm's, above which a branch is regular. In a singular
#: configuration damping leaves up to 1e-12.
MIN_BRANCH_DETERMINANT = 1e-11
GEOMETRY_TOLERANCE = 1e-8  # [rad, m], how well an arm must fit a closed form
SAMPLES = 32  # random configurations that a closed form is compared with the arm at
#: Returns q (n,), checks (4,) as `polished` does, the regularity of q, its residual at the start.
Refinement = Callable[[SerialChain, Sequence[int], Array, Array], tuple[Array, Array, Any, Any]]


def exact(
    chain: SerialChain, moving: Sequence[int], q: Array, target: Array
) -> tuple[Array, Array, Any, Any]:
    """Return a branch of the arm itself after one step; det(J J^T), and the residual."""
    q, checks = polished(chain, moving, 1, q, target)
    return q, checks, checks[1], checks[0]


def branch(
    arm: Any,
    chain: SerialChain,
    moving: Sequence[int],
    refinement: Refinement,
    sides: Array,
    *inputs: Array,
) -> tuple[Array, ...]:
    """Return one branch (n,), what it is refined to, (n,), the checks of that, (4,), and a verdict.

    The compiled function. `inputs` are those of `arm.branch` besides the pose, the bounds (4,)
    of `verdict` and the elements (16,) of the pose.
    """
    *further, bounds, target = inputs
    arguments = target.reshape(4, 4), sides, *(x for each in further for x in each)
    q, determinacy = arm.branch(*arguments), arm.determinacy(*arguments)
    if len(moving) < len(chain):  # the others are locked at `further`
        free, q = q, zeros(len(chain), q, *further)
        q[list(moving)] = free
        q[[k for k in range(len(chain)) if k not in moving]] = further[0]
    refined, checks, regularity, away = refinement(chain, moving, q, target)
    return q, refined, checks, verdict(checks, regularity, away, determinacy, bounds)


def verdict(checks: Array, regularity: Any, away: Any, determinacy: Any, bounds: Array) -> Any:
    """Return the verdict on a branch, a number of this module; NaN is in doubt. May be recorded.

    `bounds` are the largest residual of a solution, the regularity above which it is regular, and
    the least residual at the start of a branch that does not lead to the pose, provided that its
    `determinacy` is larger than the last one.
    """
    reached = both(checks[0] <= bounds[0], regularity > bounds[1])
    missed = choice(both(away > bounds[2], determinacy > bounds[3]), UNREACHED, IN_DOUBT)
    return np.array(choice(reached, choice(checks[2] > 0.0, OUTSIDE, INSIDE), missed))


class ClosedForm:
    """All branches of an arm with a closed form.

    Parameters
    ----------
    name : str
        Of the family.
    arm : Family, Pieper or HeldArm
        With `labels`, `sides` and `branch`.
    chain : SerialChain
        The arm as it is described.
    moving : sequence of int
        The joints of the chain that are not held.
    backend : str
    further : tuple of (name, size), optional
        What it takes besides the pose: the swivel angle, or the positions of held joints.
    refinement : callable, optional
        `exact`, or `continued` if the closed form is that of an arm nearby.
    """

    def __init__(
        self,
        name: str,
        arm: Any,
        chain: SerialChain,
        moving: Sequence[int],
        backend: str,
        further: tuple[tuple[str, int], ...] = (),
        refinement: Refinement = exact,
    ) -> None:
        self.name, self.arm, self.labels = name, arm, tuple(arm.labels)
        self.bound, self.sides = len(self.labels), np.array(arm.sides)
        self.chain, self._moving = chain, list(moving)
        limits = chain.lower.tolist(), chain.upper.tolist()
        identity = name, chain.identity, limits, self._moving, refinement.__name__
        self.kernel = make_kernel(
            KernelSpecification(
                f'closed form {name}',
                (('sides', self.sides.shape[1]), *further, ('bounds', 4), ('target', 16)),
                branch,
                repr(('closed form', *identity)),
                frozenset({'held', 'bounds', 'target'}),
                (arm, chain, tuple(moving), refinement),
            ),
            backend,
        )
        #: (sides (m, s), further inputs, bounds (4,), target (16,)) -> what `branch` returns.
        self.run = compiled_stacks(self.kernel)

    @cached_property
    def bounds(self) -> Array:
        """Bounds of `verdict` for `exact`: the further the arm deviates, the larger the doubt.

        A deviation d changes an angle by d / determinacy, and by no more than sqrt(d).
        """
        length, deviation = self.chain.length, self.deviation()
        return np.array(
            [
                MAX_RESIDUAL * max(1.0, length),
                max(MIN_BRANCH_DETERMINANT, deviation) * length**6,
                min(MAX_START_RESIDUAL, max(1e-7, 100.0 * deviation**0.5)),
                max(UNDETERMINED_SINE, deviation**0.5),
            ]
        )

    def candidates(self, C: Array, swivel: Array) -> tuple[Array, Array, Array]:
        """Return branches (m, free joints) for a pose (4, 4), and which branch each one is, (m,).

        And whether the pose does not determine them, (m,). `swivel` holds the angles of a redundant
        arm (k,), none for others.
        """
        count = max(1, len(swivel))
        further = [swivel.repeat(self.bound)[:, None]] if len(swivel) else []
        none_reached = np.array([-1.0, np.inf, -1.0, self.bounds[3]])
        sides = np.tile(self.sides, (count, 1))
        q, _, _, verdicts = self.run(sides, *further, none_reached, C.reshape(16))
        return q[:, self._moving], np.tile(np.arange(self.bound), count), verdicts == IN_DOUBT

    def direct(self, count: int) -> Callable[[Array, Array, Array], ChainSolutions | None]:
        """Return a function that returns all solutions, None if one is in doubt or there is none.

        Its arguments are the pose (4, 4), the positions of held joints and `count` swivel angles.
        """
        run, bounds, per_angle = self.run, self.bounds, self.bound
        m = per_angle * max(1, count)
        sides, places = np.tile(self.sides, (max(1, count), 1)), np.arange(m) % per_angle
        labels, name, beside_held = self.labels, self.name, len(self._moving) < len(self.chain)

        def direct(C: Array, held: Array, swivel: Array) -> ChainSolutions | None:
            target = C.reshape(16)
            if count:
                angles = swivel.repeat(per_angle)[:, None]
                _, q, checks, verdicts = run(sides, angles, bounds, target)
            elif beside_held:
                _, q, checks, verdicts = run(sides, held, bounds, target)
            else:
                _, q, checks, verdicts = run(sides, bounds, target)
            known = selected(tuple(verdicts.tolist()))
            if known is None:
                return None
            rows, lost, inside = known
            if not lost:
                return ChainSolutions(q, checks, places, NONE_LOST, labels, name, m, '', inside)
            missed = q, places, checks, lost
            q, checks, of_rows = q.take(rows, 0), checks.take(rows, 0), places.take(rows)
            return ChainSolutions(q, checks, of_rows, missed, labels, name, m, '', inside)

        return direct

    def deviation(self) -> float:
        """Return the deviation of the closed form from the arm of the description.

        The largest distance of a pose, of the best branch, for random ones; 0 for redundant arms.
        """
        chain, largest = self.chain, 0.0
        if len(self._moving) > 6:
            return 0.0
        others = [k for k in range(len(chain)) if k not in self._moving]
        for q in np.random.default_rng(0).uniform(-3.0, 3.0, (SAMPLES, len(chain))):
            C = chain.pose(q)
            held = [q[others]] if others else []
            branches = self.run(self.sides, *held, np.zeros(4), C.reshape(16))[0]
            nearest = min(float(squared_distance(each, C)) for each in chain.pose(branches))
            largest = max(largest, nearest**0.5)
        return largest


def closed_form_of(chain: SerialChain, backend: str) -> ClosedForm | None:
    """Return the closed form of a chain of which no joint is held, None if it has none."""
    known, joints = classify(chain, GEOMETRY_TOLERANCE), range(len(chain))
    if known.arm is not None:
        further = (('swivel', 1),) if len(chain) == 7 else ()
        return ClosedForm(known.name, known.arm, chain, joints, backend, further)
    return pieper_form_of(chain, backend)


def pieper_form_of(chain: SerialChain, backend: str) -> ClosedForm | None:
    """Return the closed form of an arm with a spherical wrist or shoulder, None if it has none."""
    arm = Pieper.recognized(chain, GEOMETRY_TOLERANCE)
    return None if arm is None else ClosedForm('pieper', arm, chain, range(len(chain)), backend)


@lru_cache(maxsize=1024)
def selected(
    verdicts: tuple[float, ...],
) -> tuple[NDArray[np.intp], list[int], bool] | None:
    """Return which branches are solutions, which miss the pose, and whether all are within limits.

    None if there is a doubt, or no solution.
    """
    solutions = [k for k, each in enumerate(verdicts) if each in (INSIDE, OUTSIDE)]
    if IN_DOUBT in verdicts or not solutions:
        return None
    lost = [k for k, each in enumerate(verdicts) if each == UNREACHED]
    return np.array(solutions), lost, OUTSIDE not in verdicts
