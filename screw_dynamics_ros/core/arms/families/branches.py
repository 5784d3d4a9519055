# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Images of solutions by multiples of 2 pi: within joint limits, and next to a seed.

One solution of the inverse position kinematics of an arm with a closed form: the nearest branch.

One program computes all branches, moves each as near to the start as multiples of 2 pi and the
limits allow, and measures the distance. If no branch is in doubt, these are all solutions, so
that no other method finds one that is nearer. In doubt, as in singular configurations and at the
boundary of the workspace, and without a solution within the limits, Newton-Raphson steps are taken.

Source: Bruyninckx 2010, section 7.10 (C-101, C-102).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...compile.calls import compiled_stacks
from ...compile.kernels import Kernel, KernelSpecification, in_parallel, make_kernel
from ...compile.program.recorded_arrays import both, choice, plain, recorded
from ...compile.program.tracing import clamp
from ...errors import ArgumentError, DescriptionError
from ...kinematics.poe import link_pose
from ...linear import numbers, zeros
from ...tree.multibody_tree import Tree
from ...types import Array
from ..inverse import position
from ..inverse.position import (
    MAX_DEFECT,
    InverseKinematics,
    InverseKinematicsResult,
    StepOptions,
    displaced,
    rigid_defect,
    squared_distance,
    without_limits,
)
from .chain import SerialChain
from .chain_solutions import FULL_TURN, LIMIT_TOLERANCE, ChainSolutions
from .closed_form import UNREACHED, ClosedForm, branch, closed_form_of, exact

#: Beyond a limit by no more than this is at the limit; distances up to this are equal [rad, m].
LIMIT_SLACK, DISTANCE_RESOLUTION = 1e-9, 1e-9


def nearest_image(q: ArrayLike, seed: ArrayLike, chain: SerialChain) -> Array:
    """Return q (..., n) with each revolute joint by multiples of 2 pi next to a seed.

    Of the images within the limits of the joint; a joint with none of them within is left outside,
    next to the seed. May be recorded.

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
    x, near = recorded(numbers(q)), recorded(numbers(seed))
    n = len(chain)
    if x.shape[-1:] != (n,) or near.shape != (n,):
        raise ArgumentError(f'q and seed must hold {n} joints, got {x.shape} and {near.shape}')
    turns = np.rint((near - x) / FULL_TURN)
    # Multiples of 2 pi that stay within the limits; rounding at a limit is not outside.
    least = -floor((x - chain.lower + LIMIT_SLACK) / FULL_TURN)
    most = floor((chain.upper - x + LIMIT_SLACK) / FULL_TURN)
    within = np.where(least <= most, np.minimum(np.maximum(turns, least), most), turns)
    image: Array = x + FULL_TURN * np.where(np.array(chain.turns), within, 0.0)
    return image


def floor(x: Array) -> Array:
    """Return the largest integers that are not above x; may be recorded."""
    nearest = np.rint(x)
    return np.where(nearest > x, nearest - 1.0, nearest)


def separation(away: ArrayLike) -> Array:
    """Return numbers (...,) in the order of the distances of configurations, (..., n).

    The distance is that of the joint furthest away [rad or m], so that no joint jumps while another
    one could have moved a little; of equal ones, to `DISTANCE_RESOLUTION`, the sum over all joints
    decides. Branches that share a joint often differ in nothing but the others. May be recorded.
    """
    distances = np.abs(recorded(numbers(away)))
    largest, total = np.maximum.reduce(distances, axis=-1), np.add.reduce(distances, axis=-1)
    numbers_in_order: Array = np.rint(largest / DISTANCE_RESOLUTION) + total / (1.0 + total)
    return numbers_in_order


def nearest(solutions: ArrayLike, seed: ArrayLike, chain: SerialChain) -> tuple[int, Array]:
    """Return which of the solutions (k, n) is next to a seed (n,), and its image next to it.

    Solutions within the limits go before those outside; then `separation` decides.

    Raises
    ------
    ArgumentError
        If there is no solution without NaN.
    """
    images = nearest_image(np.atleast_2d(solutions), seed, chain)
    away = separation(images - np.asarray(seed))
    outside = ((images < chain.lower - LIMIT_SLACK) | (images > chain.upper + LIMIT_SLACK)).any(
        axis=1
    )
    if not len(images) or np.isnan(away).all():
        raise ArgumentError('there is no solution to choose from')
    order = np.lexsort((np.nan_to_num(away, nan=np.inf), outside | np.isnan(away)))
    return int(order[0]), images[order[0]]


@dataclass(frozen=True, eq=False)
class DiscardedCandidate:
    """A candidate that is no answer.

    Attributes
    ----------
    q : (n,) array
        Positions of the joints of the chain.
    label : str
    reason : str
    """

    q: Array
    label: str
    reason: str


EVERY = slice(None)
MAX_IMAGES = 1_000_000  # images of all solutions of a pose
NONE_OUTSIDE = (np.empty((0, 0)), np.empty(0, dtype=int))


class LimitImages:
    """Which images of solutions by multiples of 2 pi are within the limits of a chain.

    Parameters
    ----------
    chain : SerialChain
    moving : sequence of int
        The joints that are not held; the others stay where they are.
    images : bool
        Whether to give all images that fit in, or the one next to zero; of a joint with one limit
        only, which has no end of images, that one is given in either case.
    """

    def __init__(self, chain: SerialChain, moving: Sequence[int], images: bool) -> None:
        self.chain, self._images = chain, images
        held = np.ones(len(chain), dtype=bool)
        held[list(moving)] = False
        self._lower = np.where(held, -np.inf, chain.lower)
        self._upper = np.where(held, np.inf, chain.upper)
        self._low, self._high = self._lower - LIMIT_TOLERANCE, self._upper + LIMIT_TOLERANCE
        turning = np.array(chain.turns) & ~held
        endless = np.isinf(self._lower) & np.isinf(self._upper)
        #: Joints with limits that have images at all: others are where they are.
        self._turning = np.flatnonzero(turning & ~endless)
        self._limits = self._low[self._turning], self._high[self._turning]
        ranges = self._limits[1] - self._limits[0]
        #: Those of which one image is given at most, the one next to zero.
        self._single = np.isinf(ranges) | (not images)
        self._has_single = bool(self._single.any())
        #: Whether no joint has limits.
        self.free = bool(endless.all())
        #: Whether angles within half a turn have no other image within the limits.
        simple = (self._lower >= -np.pi) & (self._upper <= np.pi) | ~turning
        self.simple = bool((simple | endless).all())
        #: Whether solutions within the limits stay where they are, without other images.
        self._stay = bool((self._single | (ranges < FULL_TURN - LIMIT_TOLERANCE)).all())

    def apply(self, found: ChainSolutions) -> tuple[Array, Array | slice, tuple[Array, Array]]:
        """Return joint positions (k, n) within, which solution each one is, and the others.

        Those are (q, branches), once each solution of which no image is within.

        Raises
        ------
        ArgumentError
            For more than `MAX_IMAGES` images.
        """
        q = found.q
        if not len(q) or self.free or (self.simple and found.inside):
            return q, EVERY, NONE_OUTSIDE
        if self._stay and self._are_inside(q).all():
            return self._clipped(q), EVERY, NONE_OUTSIDE
        q, source = self._images_of(q)
        inside = self._are_inside(q)
        if inside.all():
            return self._clipped(q), source, NONE_OUTSIDE
        missing = np.ones(len(found), dtype=bool)
        missing[source[inside]] = False
        outside = q[np.searchsorted(source, np.flatnonzero(missing))], found.branches[missing]
        return self._clipped(q[inside]), source[inside], outside

    def _clipped(self, q: Array) -> Array:
        """Return configurations without what the tolerance lets them be outside."""
        clipped: Array = np.minimum(np.maximum(q, self._lower), self._upper)  # faster than clip
        return clipped

    def _are_inside(self, q: Array) -> NDArray[np.bool_]:
        """Return which configurations (k, n) are within the limits."""
        return np.asarray(((q >= self._low) & (q <= self._high)).all(axis=1))

    def _images_of(self, q: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return the images of configurations (k, n), and which one each of them is of.

        Those of the first joint vary slowest. A joint without an image within its limits stays
        where it is; of such configurations one image is given.
        """
        low, high = self._limits
        angles = q[:, self._turning]
        first = np.ceil((low - angles) / FULL_TURN)  # of multiples of 2 pi
        last = np.floor((high - angles) / FULL_TURN)
        count = np.maximum(last - first + 1.0, 0.0)
        if self._has_single:
            count = np.where(self._single, np.minimum(count, 1.0), count)
            first = np.where(self._single, np.clip(0.0, first, last), first)
        fits = count > 0.0
        turns, source = np.where(fits, first, 0.0), np.arange(len(q))
        if (count > 1.0).any():
            count[~fits.all(axis=1)] = 1.0
            source, numbers = self._numbered(count)
            q, turns = q[source], turns[source] + numbers
        else:
            q = q.copy()
        q[:, self._turning] += FULL_TURN * turns
        return q, source

    def _numbered(self, count: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which row each combination is of, and its numbers (m, j), each below its count.

        Parameters
        ----------
        count : (k, j) array
            Number of images of each joint, at least 1.
        """
        totals = np.cumprod(count, axis=1)
        if totals[:, -1].sum() > MAX_IMAGES:
            k = self._turning[np.argmax(totals.sum(axis=0) > MAX_IMAGES)]
            raise ArgumentError(
                f'joint limits of many turns leave room for more than {MAX_IMAGES} images of the '
                f'solutions, for joint {self.chain.joint_names[k]!r} among others; ask for one of '
                'each: images=False'
            )
        counts, total = count.astype(np.int64), totals[:, -1].astype(np.int64)
        source = np.repeat(np.arange(len(count)), total)
        place = np.arange(len(source)) - np.repeat(np.cumsum(total) - total, total)
        step = total[:, None] // totals.astype(np.int64)  # images of the joints behind
        return source, place[:, None] // step[source] % counts[source]

    def named(
        self, q: Array, branches: Array, labels: tuple[str, ...]
    ) -> tuple[DiscardedCandidate, ...]:
        """Return the reason why configurations (k, n) are outside the limits."""
        discarded = []
        for row, number in zip(q, branches):
            k = int(np.flatnonzero((row < self._low) | (row > self._high))[0])
            reason = (
                f'joint {self.chain.joint_names[k]!r} at {row[k]:.4f} is outside its limits '
                f'{self._lower[k]:.4f} to {self._upper[k]:.4f}'
            )
            discarded.append(DiscardedCandidate(row, labels[number], reason))
        return tuple(discarded)


#: Ranks of branches that are in doubt, and of those that lead to no solution within the limits;
#: others have their `separation` from the start.
DOUBTFUL_RANK, UNSOLVED_RANK = -1.0, 1e300
#: An arm of fewer reaches no pose but for rounding, one of more has no nearest branch.
ARM_JOINTS = 6


def candidate(
    arm: Any,
    chain: SerialChain,
    tree: Tree,
    link: str,
    sides: Array,
    bounds: Array,
    q0: Array,
    target: Array,
) -> tuple[Array, Array, Array]:
    """Return what a branch makes of the start (nq,), its rank and its residual, () each.

    The compiled function. The joints that do not carry the link stay at the start `q0` (nq,),
    within their limits; the other inputs are those of `closed_form.branch`.
    """
    C, places = target.reshape(4, 4), list(chain.places)
    start = q0[places]
    _, q, _, verdict = branch(arm, chain, range(ARM_JOINTS), exact, sides, bounds, target)
    image = plain(nearest_image(q, start, chain))
    q = np.array([clamp(*each) for each in zip(image, chain.lower, chain.upper)])
    whole = displaced(tree, q0, zeros(tree.nv, q0))
    whole[places] = q
    residual = np.sqrt(squared_distance(link_pose(tree, whole, link), C))
    excess = (image - q) @ (image - q)
    found = choice(excess > LIMIT_SLACK**2, UNSOLVED_RANK, plain(separation(q - start)))
    rank = choice(
        verdict[()] > UNREACHED,
        found,
        choice(verdict[()] < UNREACHED, DOUBTFUL_RANK, UNSOLVED_RANK),
    )
    valid = [abs(x) < np.inf for x in q0]
    valid.append(rigid_defect(C) < MAX_DEFECT)
    return whole, np.array(choice(reduce(both, valid), rank, DOUBTFUL_RANK)), np.array(residual)


def make_candidates(closed: ClosedForm, tree: Tree, link: str, backend: str) -> Kernel:
    """Return `candidate`, compiled: (sides (m, s), bounds, q0, target) -> (m, nq), (m,), (m,)."""
    chain = closed.chain
    return make_kernel(
        KernelSpecification(
            f'nearest branch {closed.name}',
            (('sides', closed.sides.shape[1]), ('bounds', 4), ('q0', tree.nq), ('target', 16)),
            candidate,
            repr(('nearest branch', closed.name, tree.digest, link)),
            frozenset({'bounds', 'q0', 'target'}),
            (closed.arm, chain, tree, link),
        ),
        backend,
    )


class NearestBranch:
    """A solver for one link of a robot that is carried by an arm with a closed form.

    Parameters
    ----------
    closed : ClosedForm
    candidates : Kernel
        Compiled `candidate`.
    steps : InverseKinematics
        What solves the other poses.
    """

    def __init__(self, closed: ClosedForm, candidates: Kernel, steps: InverseKinematics) -> None:
        self._run, self._steps = compiled_stacks(candidates), steps
        self._sides, self._bounds = closed.sides, closed.bounds
        self.middle = steps.middle

    def solve(self, targets: Array, q: Array, options: StepOptions) -> InverseKinematicsResult:
        """Return the solution nearest to q; see `InverseKinematics.solve` for the other poses."""
        configurations, ranks, residuals = self._run(
            self._sides, self._bounds, q, targets.reshape(16)
        )
        order = ranks.tolist()
        least = min(order)
        if DOUBTFUL_RANK < least < UNSOLVED_RANK:
            k = order.index(least)
            residual = residuals.item(k)
            if residual <= options.tolerance:
                return InverseKinematicsResult(configurations[k], True, residual, 0, 'solved')
        return self._steps.solve(targets, q, options)


def make_solver(
    tree: Tree, links: Sequence[str], respect_limits: bool, backend: str
) -> InverseKinematics | NearestBranch:
    """Return a solver, in closed form if there is one; raises `UnknownNameError` for a link."""
    make_steps = partial(position.make_solver, tree, links, respect_limits, backend)
    if not respect_limits:
        tree = without_limits(tree)
    chain = arm_to(tree, links)
    closed = None if chain is None else closed_form_of(chain, backend)
    if closed is None:
        return make_steps()
    candidates = make_candidates(closed, tree, links[0], backend)
    steps, _, _ = in_parallel(
        make_steps, lambda: closed.bounds, partial(compiled_stacks, candidates)
    )
    return NearestBranch(closed, candidates, steps)


def arm_to(tree: Tree, links: Sequence[str]) -> SerialChain | None:
    """Return the chain of the six joints that carry one link, None for anything else.

    Raises `UnknownNameError` for a link.
    """
    if len(links) != 1:
        return None
    try:
        chain = SerialChain.of(tree, links[0])
    except DescriptionError:  # mimic joints, helical joints or a floating base
        return None
    return chain if len(chain) == ARM_JOINTS else None
