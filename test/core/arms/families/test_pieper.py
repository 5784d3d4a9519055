# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms with a spherical wrist or shoulder, and two more axes in one plane.

Spec IDs: B-005, C-088.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.pieper import Pieper
from screw_dynamics_ros.core.lie import se3

NAMES = ('a', 'b', 'c', 'd', 'e', 'f')


def axis(e, p) -> np.ndarray:
    e = np.asarray(e) / np.linalg.norm(e)
    return np.concatenate([e, np.cross(p, e)])


def arm(rng, backward: bool, inner: bool, parallel: bool) -> SerialChain:
    """An arm of the kind wanted, nothing else special about it."""
    center, meeting = rng.normal(size=(2, 3))
    wrist = [axis(rng.normal(size=3), center) for _ in range(3)]
    e = rng.normal(size=3)
    if parallel:
        pair = [axis(e, rng.normal(size=3)), axis(e, rng.normal(size=3))]
    else:
        pair = [axis(rng.normal(size=3), meeting), axis(rng.normal(size=3), meeting)]
    other = axis(rng.normal(size=3), rng.normal(size=3))
    S = np.array([other, *pair, *wrist] if inner else [*pair, other, *wrist])
    return SerialChain(NAMES, -S[::-1] if backward else S, se3.exp(rng.normal(size=6)))


@pytest.mark.parametrize('backward', [False, True])
@pytest.mark.parametrize('inner', [False, True])
@pytest.mark.parametrize('parallel', [False, True])
def test_all_solutions_of_all_kinds(backward, inner, parallel):
    """The angles the pose was made from are one of eight branches; each that reaches is exact."""
    rng = np.random.default_rng([backward, inner, parallel])
    for _ in range(2):
        chain = arm(rng, backward, inner, parallel)
        solver = Pieper.recognized(chain)
        assert (solver.backward, solver.inner, solver.meeting is None) == (
            backward,
            inner,
            parallel,
        )
        counts = []
        for q in rng.uniform(-np.pi, np.pi, (12, 6)):
            C = chain.pose(q)
            branches = solver.branches(C)
            away = np.abs(chain.pose(branches) - C).max(axis=(1, 2))
            assert not ((away > 1e-8) & (away < 1e-5)).any()
            found = branches[away < 1e-8]
            assert np.abs(np.angle(np.exp(1j * (found - q)))).max(axis=1).min() < 1e-6
            apart = np.abs(np.exp(1j * found[:, None]) - np.exp(1j * found)).max(axis=2)
            assert (apart + 10 * np.eye(len(found))).min() > 1e-6
            counts.append(len(found))
        assert max(counts) > 2
        assert all(count % 2 == 0 for count in counts)


def test_arms_of_other_kinds_are_not_recognized():
    rng = np.random.default_rng(0)
    chain = arm(rng, False, True, True)
    assert Pieper.recognized(chain) is not None
    bent = chain.screws.copy()
    bent[2] = axis(rng.normal(size=3), rng.normal(size=3))
    assert Pieper.recognized(replace(chain, screws=bent)) is None
    spread = chain.screws.copy()
    spread[4] = axis(spread[4, :3], rng.normal(size=3))
    assert Pieper.recognized(replace(chain, screws=spread)) is None
    five = SerialChain(NAMES[:5], chain.screws[:5], chain.home)
    assert Pieper.recognized(five) is None


def test_labels_say_what_was_solved_for():
    rng = np.random.default_rng(1)
    forward = Pieper.recognized(arm(rng, False, True, True))
    assert forward.labels[:3] == ('a +, c +, e +', 'a +, c +, e -', 'a +, c -, e +')
    backward = Pieper.recognized(arm(rng, True, False, False))
    assert backward.labels[-1] == 'd -, e -, b -'
    assert len(set(backward.labels)) == 8
