"""Poses of real arms, and what is wrong with the sets of solutions found for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from oracles import homotopy_6r
from screw_dynamics_ros.core import Robot
from support.arms import Arm

#: Joint angles [rad] this close are one solution. Residuals [m, rad] are those of matrix entries.
SAME, RESIDUAL = 1e-6, 1e-10


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
        return self.robot.all_inverse_kinematics(pose, self.arm.tool, locked=self.locked(q))

    def apart(self, q: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return largest differences (k,) [rad] of q (nq,) and others (k, nq).

        Whole turns count, but not of joints without limits.
        """
        difference = others - q
        turns = np.round(difference / (2 * np.pi)) * self.endless
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
        names = self.robot.joint_names
        turning = [
            not self.endless[i] and name != self.arm.redundant for i, name in enumerate(names)
        ]
        images = [
            np.array(image)
            for each in q
            for image in product(
                *(
                    x + 2 * np.pi * np.arange(-4, 5) if turns else [x]
                    for x, turns in zip(each, turning)
                )
            )
        ]
        inside = [x for x in images if ((x >= lower) & (x <= upper) | self.endless).all()]
        return np.reshape(inside, (-1, len(names)))


def known(ends: homotopy_6r.Ends) -> bool:
    """Return whether continuation can tell all solutions: not if some are singular."""
    return ends.complete and not len(ends.singular)


@dataclass
class Verdict:
    """What has been found about a set of poses.

    Attributes
    ----------
    poses, lost, duplicates, outside, certified : int
        Poses; configurations that poses were made from and that are not among the solutions; pairs
        of equal solutions; solutions beyond limits; poses whose answer is said to be complete.
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

    def add(self, subject: Subject, q: np.ndarray, pose: np.ndarray, found: Solutions) -> None:
        """Judge the solutions for one pose, made from the configuration q."""
        robot, (lower, upper) = subject.robot, subject.ranges
        answer = np.asarray(found.q)
        self.poses += 1
        self.certified += bool(found.complete)
        self.counts[len(answer)] += 1
        if not (subject.apart(q, answer) < SAME).any():
            self.lost += 1
            self.worst.append(q)
        for k, one in enumerate(answer):
            self.duplicates += int((subject.apart(one, answer[k + 1 :]) < SAME).sum())
        beyond = (answer < lower - 1e-9) | (answer > upper + 1e-9)
        self.outside += int((beyond & ~subject.endless).any(axis=1).sum())
        if len(answer):
            error = np.abs(robot.link_pose(answer, subject.arm.tool) - pose).max()
            self.residual = max(self.residual, float(error))


def judged(subject: Subject, q: np.ndarray) -> Verdict:
    """Return the verdict on poses of configurations q (n, nq)."""
    verdict = Verdict()
    for each, pose in zip(q, subject.robot.link_pose(q, subject.arm.tool)):
        verdict.add(subject, each, pose, subject.solve(pose, each))
    return verdict


def agrees(subject: Subject, q: np.ndarray, pose: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether the solver finds exactly the expected solutions (k, nq)."""
    found = np.asarray(subject.solve(pose, q).q)
    return len(found) == len(expected) and all(
        (subject.apart(one, found) < SAME).any() for one in expected
    )


# --- configurations -------------------------------------------------------------------------------


def random_configurations(subject: Subject, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq), uniformly distributed within limits."""
    rng = np.random.default_rng(seed)
    return rng.uniform(*subject.ranges, (count, subject.robot.nq))


def at_limits(subject: Subject, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq) with one joint, or two, at a limit."""
    rng, ranges = np.random.default_rng(seed), np.array(subject.ranges)
    q = random_configurations(subject, count, seed + 1)
    free = [i for i in range(q.shape[1]) if not subject.endless[i]]
    for each in q if free else ():
        chosen = rng.choice(free, min(len(free), int(rng.integers(1, 3))), replace=False)
        each[chosen] = ranges[rng.integers(2, size=len(chosen)), chosen]
    return q


def right_angles(subject: Subject, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq) of multiples of 90 degrees, within limits or near them."""
    lower, upper = subject.ranges
    rng = np.random.default_rng(seed)
    q = np.round(rng.uniform(lower, upper, (count, len(lower))) * 2 / np.pi) * np.pi / 2
    return np.clip(q, lower, upper)


def singular(subject: Subject, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq) with det J = 0, where it changes sign on random segments.

    J is the Jacobian of the joints that are not redundant.
    """
    rng, found = np.random.default_rng(seed), []
    for start, end in segments(subject, rng):
        steps = np.linspace(0.0, 1.0, 33)
        values = determinants(subject, start + steps[:, None] * (end - start))
        for k in np.flatnonzero(values[:-1] * values[1:] < 0.0):

            def value(t: float, start: np.ndarray = start, end: np.ndarray = end) -> float:
                return float(determinants(subject, (start + t * (end - start))[None])[0])

            t = brentq(value, steps[k], steps[k + 1], xtol=1e-15)
            found.append(start + t * (end - start))
        if len(found) >= count:
            break
    return np.array(found[:count])


def segments(subject: Subject, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield ends of at most 1000 random segments within limits; the redundant joint stays."""
    q = rng.uniform(*subject.ranges, (2000, subject.robot.nq))
    if subject.arm.redundant:
        place = subject.robot.joint_names.index(subject.arm.redundant)
        q[1::2, place] = q[0::2, place]
    yield from zip(q[0::2], q[1::2])


def determinants(subject: Subject, q: np.ndarray) -> np.ndarray:
    """Return det J (n,) of the joints that are not redundant at q (n, nq)."""
    moving = [name != subject.arm.redundant for name in subject.robot.joint_names]
    J = subject.robot.jacobian(q, subject.arm.tool)
    return np.linalg.det(J[:, :, moving])


def beside_the_border(
    subject: Subject, q: np.ndarray, distance: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Return poses (n, 4, 4) to both sides of singular configurations q (n, nq).

    The tool is moved by `distance` [m, rad] along the wrench that the joints cannot feel, where two
    solutions meet: on one side there are two, on the other none.
    """
    moving = [name != subject.arm.redundant for name in subject.robot.joint_names]
    poses = subject.robot.link_pose(q, subject.arm.tool)
    twists = np.linalg.svd(subject.robot.jacobian(q, subject.arm.tool)[:, :, moving])[0][:, :, -1]
    return moved(poses, distance * twists), moved(poses, -distance * twists)


def moved(poses: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """Return poses (n, 4, 4) after turning and shifting by twists (n, 6) at the tool, root axes."""
    result = poses.copy()
    result[:, :3, :3] = Rotation.from_rotvec(twists[:, :3]).as_matrix() @ poses[:, :3, :3]
    result[:, :3, 3] += twists[:, 3:]
    return result
