# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Configurations of real arms to make poses from: random ones, and hard ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from support.all_solutions import Subject


def random_configurations(subject: Subject, count: int, seed: int = 0) -> np.ndarray:
    """Return configurations (count, nq), uniformly distributed within limits."""
    rng = np.random.default_rng(seed)
    return rng.uniform(*subject.ranges, (count, subject.robot.nq))


def at_limits(subject: Subject, count: int, seed: int = 0) -> np.ndarray:
    """Return regular configurations (count, nq) with one joint, or two, at a limit.

    Some limits are singular themselves, a stretched elbow for instance: those are left out.
    """
    rng, ranges = np.random.default_rng(seed), np.array(subject.ranges)
    q = random_configurations(subject, 4 * count, seed + 1)
    usual = np.median(np.abs(determinants(subject, q)))
    free = [i for i in range(q.shape[1]) if not subject.endless[i]]
    for each in q if free else ():
        chosen = rng.choice(free, min(len(free), int(rng.integers(1, 3))), replace=False)
        each[chosen] = ranges[rng.integers(2, size=len(chosen)), chosen]
    return q[np.abs(determinants(subject, q)) > 1e-4 * usual][:count]


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
