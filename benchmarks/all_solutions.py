# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether all inverse solutions of real arms are found: random poses, and hard ones.

Poses are made from configurations, so that one solution of each is known. Counted are poses whose
own configuration is not among the solutions (lost), poses without any (no answer), pairs of equal
solutions, solutions beyond limits, and the largest residual. On a sample the sets of solutions are
compared with those that path tracking in complex angles finds (`test/oracles/homotopy_6r.py`),
which shares no code with the package. Redundant joints stand as in the configuration.

Only `python benchmarks/run.py --only all_solutions` runs it: all arms take hours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
from figures import NAN, Figure

from support.all_solutions import RESIDUAL, Subject, Verdict, agrees, judged
from support.arm_configurations import (
    at_limits,
    beside_the_border,
    random_configurations,
    right_angles,
    singular,
)
from support.arms import ARMS, Arm

#: Random poses, poses of each hard kind, and poses that are compared with path tracking.
FULL, QUICK = (100_000, 50, 5), (50, 10, 1)

RANDOM = 'All solutions, random poses'
HARD = 'All solutions, hard poses'
COMPARED = 'All solutions, compared with path tracking'

KINDS = {'at limits': at_limits, 'singular': singular, 'right angles': right_angles}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure, an arm in each process."""
    measure = partial(figures_of, counts=QUICK if quick else FULL)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context('spawn')) as pool:
        for found in pool.map(measure, range(len(ARMS))):
            yield from found


def figures_of(number: int, counts: tuple[int, int, int]) -> list[Figure]:
    """Return the figures of one arm."""
    arm, (random, hard, compared) = ARMS[number], counts
    subject = Subject(arm)
    turned = Subject(arm, images=False)
    verdict = judged(turned, random_configurations(turned, random))
    found = [*figures_of_verdict(RANDOM, arm, 'random', verdict, unavoidable=False)]
    for kind, configurations in KINDS.items():
        q = configurations(subject, hard)
        found += figures_of_verdict(
            HARD, arm, kind, judged(subject, q), unavoidable=kind != 'at limits'
        )
    return [*found, *comparison(subject, compared)]


def figures_of_verdict(
    group: str, arm: Arm, kind: str, verdict: Verdict, unavoidable: bool
) -> Iterator[Figure]:
    """Yield the figures of one kind of poses.

    `unavoidable` says whether configurations may be missing: a singular one can be one of a
    continuum, of which the answer has some.
    """
    limits = {'fails': not unavoidable, 'meaning': 'ours at most', 'unit': ''}
    note = f'{kind}: {verdict.poses} poses'
    most = NAN if unavoidable else 0.0
    yield Figure(group, arm.name, 'lost', verdict.lost, required=most, note=note, **limits)
    empty = verdict.counts[0]
    yield Figure(group, arm.name, 'no answer', empty, required=0, note=note, **limits)
    yield Figure(
        group, arm.name, 'equal pairs', verdict.duplicates, required=0, note=note, **limits
    )
    yield Figure(group, arm.name, 'beyond limits', verdict.outside, required=0, note=note, **limits)
    limits['unit'] = 'm, 1'
    yield Figure(
        group, arm.name, 'residual', verdict.residual, required=RESIDUAL, note=note, **limits
    )
    share = 100.0 * verdict.certified / max(verdict.poses, 1)
    yield Figure(group, arm.name, 'certified', share, unit='%', more=True, note=note)
    total = sum(k * poses for k, poses in verdict.counts.items())
    histogram = ', '.join(f'{k}: {poses}' for k, poses in sorted(verdict.counts.items()))
    yield Figure(
        group,
        arm.name,
        'solutions',
        total / max(verdict.poses, 1),
        unit='',
        note=f'{kind}: {histogram}',
    )


def comparison(subject: Subject, count: int) -> Iterator[Figure]:
    """Yield how many sets of solutions are those of path tracking.

    Of random poses, and of poses to both sides of the border of a branch, where two solutions meet.
    """
    q = random_configurations(subject, count, seed=1)
    yield agreement(subject, 'random', q, subject.robot.link_pose(q, subject.arm.tool))
    q = singular(subject, count, seed=1)
    for side, poses in zip(('inside', 'outside'), beside_the_border(subject, q)):
        yield agreement(subject, f'border, {side}', q, poses)


def agreement(subject: Subject, kind: str, q: np.ndarray, poses: np.ndarray) -> Figure:
    """Return the share of poses (n, 4, 4) with the expected set of solutions."""
    known = [
        (each, pose, expected)
        for each, pose, expected in zip(q, poses, subject.expected(poses, q))
        if expected is not None
    ]
    same = sum(agrees(subject, *case) for case in known)
    return Figure(
        COMPARED,
        subject.arm.name,
        'sets that agree',
        100.0 * same / max(len(known), 1),
        unit='%',
        more=True,
        required=100.0 if known else NAN,
        meaning='ours at least',
        note=f'{kind}: {same} of {len(known)}, {len(q) - len(known)} undecided',
    )
