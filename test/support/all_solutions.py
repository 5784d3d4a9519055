# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is wrong with the sets of inverse solutions found for poses of real arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from oracles import homotopy_6r
from screw_dynamics_ros.core import Robot
from support.arms import Arm

#: Joint angles [rad] this close are one solution. Residuals [m, rad] are those of matrix entries.
SAME, RESIDUAL = 1e-6, 1e-10
#: The same, of solutions that rounding alone tells apart.
ROUNDING = 1e-11


class Solutions(Protocol):
    """What the solver returns."""

    q: np.ndarray
    complete: bool
    message: str


@dataclass
class Subject:
    """An arm with its robot and the ranges its poses are made from."""

    arm: Arm
    backend: str = 'auto'
    #: Whether solutions that differ by multiples of 2 pi are different.
    images: bool = True

    @cached_property
    def robot(self) -> Robot:
        """The robot."""
        return self.arm.robot(self.backend)

    @property
    def endless(self) -> np.ndarray:
        """Which joints have no limits, (nq,)."""
        return np.isinf(self.robot.limits.upper)

    @property
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits (nq,) [rad], +-pi where there are none."""
        limits = self.robot.limits
        return (
            np.where(self.endless, -np.pi, limits.lower),
            np.where(self.endless, np.pi, limits.upper),
        )

    def locked(self, q: np.ndarray) -> dict[str, float] | None:
        """Return the angle of the redundant joint in q (nq,), if there is one."""
        name = self.arm.redundant
        return {name: float(q[self.robot.joint_names.index(name)])} if name else None

    def solve(self, pose: np.ndarray, q: np.ndarray) -> Solutions:
        """Return the solver's answer for a pose; the redundant joint stands as in q."""
        return self.robot.all_inverse_kinematics(
            pose, self.arm.tool, locked=self.locked(q), images=self.images
        )

    def apart(self, q: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return largest differences (k,) [rad] of q (nq,) and others (k, nq).

        Multiples of 2 pi are distinguished, but not for joints without limits.
        """
        difference = others - q
        turns = np.round(difference / (2 * np.pi)) * (self.endless | (not self.images))
        return np.abs(difference - 2 * np.pi * turns).max(axis=1, initial=0.0)

    def expected(self, poses: np.ndarray, q: np.ndarray) -> list[np.ndarray | None]:
        """Return all solutions (k, nq) within limits by continuation; None if it cannot tell.

        The redundant joint stands as in q (n, nq).
        """
        if not self.arm.redundant:
            ends = homotopy_6r.all_solutions(*self.arm.axes(), poses)
            return [self.within_limits(each.q) if known(each) else None for each in ends]
        place, answers = self.robot.joint_names.index(self.arm.redundant), []
        for pose, angle in zip(poses, q[:, place]):
            (one,) = homotopy_6r.all_solutions(*self.arm.axes(angle), pose[None])
            found = np.insert(one.q, place, angle, axis=1)
            answers.append(self.within_limits(found) if known(one) else None)
        return answers

    def within_limits(self, q: np.ndarray) -> np.ndarray:
        """Return all images (m, nq) within limits of q (k, nq); the redundant joint stays."""
        lower, upper = self.ranges
        fixed = self.endless | np.equal(self.robot.joint_names, self.arm.redundant)
        inside = []
        for each in q:
            images = []
            for x, low, high, stays in zip(each, lower, upper, fixed):
                turned = x + 2 * np.pi * np.arange(-4 * (not stays), 4 * (not stays) + 1)
                images.append(turned[stays | ((turned >= low) & (turned <= high))])
            inside += product(*images)
        return np.reshape(inside, (-1, len(lower)))


def known(ends: homotopy_6r.Ends) -> bool:
    """Return whether continuation can tell all solutions: not if some are singular."""
    return ends.complete and not len(ends.singular)


@dataclass
class Verdict:
    """What has been found about a set of poses.

    Attributes
    ----------
    poses, lost, duplicates, outside, certified : int
        Poses; configurations that poses were made from and that are not among the solutions, nor
        `joined` with one; pairs of equal solutions; solutions beyond limits; poses whose answer is
        said to be complete.
    residual : float
        Largest difference of an entry of the pose of a solution from the target [m, 1].
    counts : Counter
        How many poses have so many solutions.
    worst : list
        Configurations that were lost.
    """

    poses: int = 0
    lost: int = 0
    duplicates: int = 0
    outside: int = 0
    certified: int = 0
    residual: float = 0.0
    counts: Counter[int] = field(default_factory=Counter)
    worst: list[np.ndarray] = field(default_factory=list)

    def add(
        self, subject: Subject, q: np.ndarray, poses: np.ndarray, found: Sequence[Solutions]
    ) -> None:
        """Judge the solutions for some poses (n, 4, 4), made from the configurations q (n, nq)."""
        lower, upper = subject.ranges
        sizes = [len(each.q) for each in found]
        owner = np.repeat(np.arange(len(found)), sizes)
        answers = np.concatenate([each.q for each in found])
        self.poses += len(found)
        self.certified += sum(bool(each.complete) for each in found)
        self.counts.update(sizes)
        if not len(answers):
            self.lost += len(found)
            self.worst += [*q]
            return
        lost = np.ones(len(found), dtype=bool)
        lost[owner[subject.apart(q[owner], answers) < SAME]] = False
        for one in np.flatnonzero(lost):
            lost[one] = not joined(subject, q[one], answers[owner == one], poses[one])
        self.lost += int(lost.sum())
        self.worst += [*q[lost]]
        for one in owners_of_equal(subject, owner, answers):
            those = answers[owner == one]
            for k, each in enumerate(those):
                self.duplicates += int((subject.apart(each, those[k + 1 :]) < SAME).sum())
        beyond = (answers < lower - 1e-9) | (answers > upper + 1e-9)
        self.outside += int((beyond & ~subject.endless).any(axis=1).sum())
        error = np.abs(subject.robot.link_pose(answers, subject.arm.tool) - poses[owner]).max()
        self.residual = max(self.residual, float(error))


def joined(subject: Subject, q: np.ndarray, others: np.ndarray, pose: np.ndarray) -> bool:
    """Return whether rounding alone tells q (nq,) from one of others (k, nq).

    So it is where two solutions meet: what is halfway between them is one, too.
    """
    apart = subject.apart(q, others)
    if not len(others) or apart.min() > 1e3 * SAME:
        return False
    away = others[apart.argmin()] - q
    halfway = q + 0.5 * (away - 2 * np.pi * np.round(away / (2 * np.pi)))
    error = np.abs(subject.robot.link_pose(halfway, subject.arm.tool) - pose).max()
    return bool(error < ROUNDING)


def owners_of_equal(subject: Subject, owner: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the poses of which some configurations (k, nq) may be equal.

    By one number of each configuration; multiples of 2 pi change it, but not for joints without
    limits.
    """
    weights = np.cos(np.arange(3.0 * q.shape[1])).reshape(3, -1)
    weights[2, subject.endless | (not subject.images)] = 0.0
    number = np.sin(q) @ weights[0] + np.cos(q) @ weights[1] + q @ weights[2]
    order = np.lexsort([number, owner])
    close = np.diff(number[order]) < 10.0 * q.shape[1] * SAME
    return np.unique(owner[order][1:][close & (np.diff(owner[order]) == 0)])


def judged(subject: Subject, q: np.ndarray, batch: int = 1000) -> Verdict:
    """Return the verdict on poses of configurations q (n, nq)."""
    verdict = Verdict()
    for first in range(0, len(q), batch):
        those = q[first : first + batch]
        poses = subject.robot.link_pose(those, subject.arm.tool)
        found = [subject.solve(pose, each) for pose, each in zip(poses, those)]
        verdict.add(subject, those, poses, found)
    return verdict


def agrees(subject: Subject, q: np.ndarray, pose: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether the solver finds exactly the expected solutions (k, nq)."""
    found = np.asarray(subject.solve(pose, q).q)
    return len(found) == len(expected) and all(
        (subject.apart(one, found) < SAME).any() for one in expected
    )
