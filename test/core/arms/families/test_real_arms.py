# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All inverse solutions of real arms: none lost, none twice, none beyond limits.

A sample; benchmarks/all_solutions.py has all arms, many poses, and hard ones.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.all_solutions import SAME, Subject, Verdict, judged
from support.arm_configurations import at_limits, random_configurations, singular
from support.arm_tables import ArmTable
from support.arms import ARMS, arm
from support.arms_of_seven import SEVEN
from support.arms_of_six import SIX
from support.compilation import needs_llvmlite

#: Of each family and kind: three parallel axes, two offsets, spherical wrist or shoulder, general
#: ones, S-R-S; joints with ranges of several turns, and without limits.
SAMPLE = (
    'UR5, joint limited',
    'PUMA 560',
    'CENTAURO',
    'Fanuc CRX-10iA',
    'Manseur-Doty arm',
    'Panda',
    'Kinova Gen3',
)


def test_there_are_enough_arms() -> None:
    """Thirty are required; each has its own name and a source."""
    assert len({arm.name for arm in ARMS}) == len(ARMS) >= 60
    assert all(arm.source for arm in ARMS)


@pytest.mark.parametrize('table', [*SIX, *SEVEN], ids=lambda table: table.name)
def test_tables_are_of_arms(table: ArmTable) -> None:
    """As many limits as joints, in order; the tool is not on the last axis at infinity."""
    judged_arm = arm(table.name)
    e, p, home = judged_arm.axes()
    assert len(e) == 6
    assert np.allclose(np.linalg.norm(e, axis=1), 1.0)
    assert all(bounds is None or bounds[0] < bounds[1] for bounds in table.limits)
    assert bool(table.redundant) == (len(table.limits) == 7)
    assert np.abs(home[:3, 3]).max() < 4.0
    assert np.abs(p).max() < 4.0


@pytest.mark.parametrize(
    'table', [table for table in SEVEN if table.swivel], ids=lambda table: table.name
)
def test_swivel_arms_have_a_shoulder_and_a_wrist(table: ArmTable) -> None:
    """Axes 1 to 3 meet in a point, and axes 5 to 7."""
    screws = table.geometry([f'joint{k + 1}' for k in range(7)]).body_screws()
    J = Subject(arm(table.name), 'reference').robot.jacobian(np.zeros(7), 'tool', 'spatial')
    assert len(screws) == 7
    for triple in (J[:, :3], J[:, 4:]):
        e, moment = triple[:3].T, triple[3:].T
        crossings = np.vstack([-skew(each) for each in e])  # p x e = moment
        point, *_ = np.linalg.lstsq(crossings, moment.reshape(-1), rcond=None)
        assert np.abs(crossings @ point - moment.reshape(-1)).max() < 1e-12


def skew(e: np.ndarray) -> np.ndarray:
    """Return e~ with e~ x = e x x."""
    return np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])


@pytest.mark.parametrize('name', SAMPLE)
def test_no_solution_is_lost(name: str) -> None:
    """C-101, C-103: the configuration a pose was made from is found, each solution once."""
    subject = Subject(arm(name))
    q = np.vstack([random_configurations(subject, 6), at_limits(subject, 3)])
    verdict = judged(subject, q)
    assert verdict.lost == 0, verdict.worst
    assert verdict.duplicates == verdict.outside == 0
    assert verdict.residual < 1e-10
    assert verdict.certified == verdict.poses


def test_verdicts_see_what_is_wrong() -> None:
    """A set without its own configuration, with one twice, one beyond limits and one beside it."""
    subject = Subject(arm('ABB IRB 120'), 'reference')
    (q,) = random_configurations(subject, 1)
    pose, wrong = subject.robot.link_pose(q, 'tool'), Verdict()
    other = q + [0.1, 0, 0, 0, 0, 0]

    class Answer:
        q = np.array([other, other, other + [2 * np.pi, 0, 0, 0, 0, 0]])
        complete, message = False, ''

    wrong.add(subject, q[None], pose[None], [Answer()])
    assert (wrong.poses, wrong.lost, wrong.duplicates, wrong.outside) == (1, 1, 1, 1)
    assert wrong.certified == 0
    assert wrong.residual > 1e-3
    assert wrong.counts == {3: 1}


@needs_llvmlite
def test_branches_that_end_at_a_pose_are_not_left_out_silently() -> None:
    """Two branches meet in a singular q; rounding may take the pose beyond their end."""
    subject = Subject(arm('iCub'))
    q = singular(subject, 10)
    for one, pose in zip(q, subject.robot.link_pose(q, subject.arm.tool)):
        found = subject.solve(pose, one)
        there = (subject.apart(one, np.asarray(found.q)) < SAME).any()
        assert there or not found.complete
        assert len(found.q)
