# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One solution of the inverse position kinematics of an arm with a closed form: the nearest branch.

One program computes all branches, moves each as near to the start as multiples of 2 pi and the
limits allow, and measures the distance. If no branch is in doubt, these are all solutions, so
that no other method finds one that is nearer. In doubt, as in singular configurations and at the
boundary of the workspace, and without a solution within the limits, Newton-Raphson steps are taken.

Source: Bruyninckx 2010, section 7.10 (C-101, C-102).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import (
    Kernel,
    KernelSpecification,
    compiled_stacks,
    in_parallel,
    make_kernel,
)
from screw_dynamics_ros.core.compile.program.recorded_arrays import both, choice, plain
from screw_dynamics_ros.core.compile.program.tracing import clamp
from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.core.kinematics.poe import link_pose
from screw_dynamics_ros.core.linear import zeros
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

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
from .branches import LIMIT_SLACK, nearest_image, separation
from .chain import SerialChain
from .closed_form import UNREACHED, ClosedForm, branch, closed_form_of, exact

#: Ranks of branches that are in doubt, and of those that lead to no solution within the limits;
#: others have their `separation` from the start.
DOUBTFUL_RANK, UNSOLVED_RANK = -1.0, 1e300
ARM_JOINTS = (
    6  # an arm of fewer reaches no pose but for rounding, one of more has no nearest branch
)


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
