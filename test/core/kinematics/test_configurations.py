# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Neutral, home and random configurations, and differences beside matrix exponentials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.description import Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.kinematics.configurations import (
    difference,
    home,
    neutral,
    random_configurations,
)
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import random_description

ANY = (-np.inf, np.inf)


def tree_with(*limits: tuple[float, float], floating: bool = True) -> Tree:
    """Return a floating base, and a sliding, a free, a planar, a revolute and a ball joint."""
    description = random_description(29, 4, ('revolute', 'planar', 'floating', 'prismatic'))
    ball = Joint('ball', 'ball', description.links[-1].name, 'head', np.eye(4), np.eye(3)[0])
    description = RobotDescription.from_parts(
        'robot', (*description.links, Link('head')), (*description.joints, ball)
    )
    joints = [
        replace(joint, limits=Limits(*bounds))
        for joint, bounds in zip(description.joints, [*limits, ANY], strict=True)
    ]
    return build_tree(replace(description, joints=tuple(joints)), floating_base=floating)


def test_neutral_and_home():
    """Zeros and unit quaternions; home is the nearest position within limits."""
    free = [0, 0, 0, 0, 0, 0, 1]
    tree = tree_with((0.2, 0.9), ANY, ANY, (-0.9, -0.3))
    ball = free[3:]
    np.testing.assert_array_equal(neutral(tree), [*free, 0, *free, 0, 0, 0, 0, *ball])
    np.testing.assert_array_equal(home(tree), [*free, 0.2, *free, 0, 0, 0, -0.3, *ball])


def test_random_configurations():
    """Uniform within limits, or in [-pi, pi] if one is missing; any orientation of free bodies."""
    tree = tree_with((0.2, 0.9), ANY, ANY, (-1.0, np.inf))
    q = random_configurations(tree, np.random.default_rng(0), (50, 40))
    assert q.shape == (50, 40, tree.nq)
    flat = q.reshape(-1, tree.nq)
    for k, (lower, upper) in {7: (0.2, 0.9), 15: (-np.pi, np.pi), 18: (-np.pi, np.pi)}.items():
        assert lower <= flat[:, k].min() < lower + 0.01 * (upper - lower)
        assert upper - 0.01 * (upper - lower) < flat[:, k].max() <= upper
        assert flat[:, k].mean() == pytest.approx(0.5 * (lower + upper), abs=0.03 * (upper - lower))
    for start in (3, 11, 19):
        quaternions = flat[:, start : start + 4]
        np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0)
        assert np.abs(quaternions.mean(axis=0)).max() < 0.05  # of a sphere in four dimensions
        np.testing.assert_allclose((quaternions**2).mean(axis=0), 0.25, atol=0.02)
    assert random_configurations(tree, np.random.default_rng(0)).shape == (tree.nq,)


def hat(X: np.ndarray) -> np.ndarray:
    """Return the (4, 4) matrix of a twist (angular, linear)."""
    (x, y, z), matrix = X[:3], np.zeros((4, 4))
    matrix[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    matrix[:3, 3] = X[3:]
    return matrix


def pose(q: np.ndarray) -> np.ndarray:
    """Return the pose of a free body or a ball."""
    C = np.eye(4)
    C[:3, :3] = Rotation.from_quat(q[-4:]).as_matrix()
    C[:3, 3] = q[:3] if len(q) == 7 else 0.0
    return C


def moved(C: np.ndarray, X: np.ndarray, increments: str) -> np.ndarray:
    """Return a pose after a displacement: a screw motion, or a rotation and a translation."""
    if increments in ('body', 'spatial'):
        D = expm(hat(X))
        return C @ D if increments == 'body' else D @ C
    D, result = expm(hat(np.array([*X[:3], 0, 0, 0])))[:3, :3], C.copy()
    result[:3, :3] = C[:3, :3] @ D if increments == 'mixed' else D @ C[:3, :3]
    result[:3, 3] = C[:3, 3] + X[3:]
    return result


@pytest.mark.parametrize('increments', ['body', 'spatial', 'mixed', 'hybrid'])
def test_differences_lead_from_one_to_the_other(increments):
    """Of stacks, of one and a stack; free bodies turn by at most pi, joints by any angle."""
    tree = tree_with(ANY, ANY, ANY, ANY)
    rng = np.random.default_rng(2)
    q0, q1 = (random_configurations(tree, rng, (3, 2)) for _ in range(2))
    for start, end in ((q0, q1), (q0[0, 0], q1), (q0, q1[0, 0])):
        X = difference(tree, start, end, increments)
        assert X.shape == (3, 2, tree.nv)
        pairs = zip(*(np.broadcast_to(q, (3, 2, tree.nq)).reshape(6, -1) for q in (start, end)))
        for (a, b), x in zip(pairs, X.reshape(6, -1)):
            for q, v in (
                (slice(0, 7), slice(0, 6)),
                (slice(8, 15), slice(7, 13)),
                (slice(19, 23), slice(17, 20)),
            ):
                X_body = np.append(x[v], np.zeros(3))[:6]
                np.testing.assert_allclose(
                    moved(pose(a[q]), X_body, increments), pose(b[q]), atol=1e-12
                )
                assert np.linalg.norm(x[v][:3]) <= np.pi + 1e-12
            np.testing.assert_allclose(x[[6, 13, 14, 15, 16]], (b - a)[[7, 15, 16, 17, 18]])
    default = difference(tree, q0, q1)
    np.testing.assert_array_equal(default, difference(tree, q0, q1, 'body'))
