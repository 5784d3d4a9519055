# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of inertias that move to the predecessor: as 6 x 6 matrices, and limits of rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core import Drive
from screw_dynamics_ros.core.dynamics.massless_joints import (
    has_positive_energy,
    massless_about_joint,
    regrouped,
    split,
)
from screw_dynamics_ros.core.tree.multibody_tree import GROUND, Body, Tree, build_tree
from support.models import random_description, random_inertia

ABOUT_Z, ALONG_Z = np.eye(6)[:, [2]], np.eye(6)[:, [5]]
HELICAL = ABOUT_Z + 0.1 * ALONG_Z


def skew(w: np.ndarray) -> np.ndarray:
    """Return the matrix of the cross product with w."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0.0]])


def matrix(m: float, h: np.ndarray, I: np.ndarray) -> np.ndarray:  # noqa: E741
    """Return the (6, 6) inertia of mass, first moment and inertia about the origin."""
    return np.block([[I, skew(h)], [-skew(h), m * np.eye(3)]])


def transport(C: np.ndarray) -> np.ndarray:
    """Return Ad_C^-1 (6, 6): twists of frame 1 in frame 2 at C."""
    R, r = C[:3, :3], C[:3, 3]
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(r), R.T]])


def moved(M: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return an inertia (6, 6) of frame 2, at C in frame 1, in frame 1."""
    return transport(C).T @ M @ transport(C)


def motion(X: np.ndarray, q: float) -> np.ndarray:
    """Return exp(X q)."""
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = skew(X[:3, 0]), X[3:, 0]
    return expm(q * hat)


def random_body(X: np.ndarray, seed: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the inertia of a random body about the origin."""
    made = random_inertia(np.random.default_rng(seed))
    I = made.matrix - made.mass * skew(made.com) @ skew(made.com)  # noqa: E741
    return made.mass, made.mass * made.com, I


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('X', [ABOUT_Z, ALONG_Z, HELICAL], ids=['revolute', 'prismatic', 'helical'])
def test_what_moves_is_the_same_at_any_position_of_the_joint(X, seed):
    """And what stays has zeros: all parameters of mass on the axis, or of rotation."""
    inertia = random_body(X, seed)
    kept, shared = split(X, inertia)
    np.testing.assert_allclose(matrix(*kept) + matrix(*shared), matrix(*inertia), atol=1e-15)
    for q in (0.7, -2.0):
        turned = moved(matrix(*shared), motion(X, q))
        np.testing.assert_allclose(turned, matrix(*shared), atol=1e-15)
    m, h, I = kept  # noqa: E741
    if X is ABOUT_Z:
        assert m == h[2] == 0.0
        assert I[0, 0] + I[1, 1] - I[2, 2] == 0.0
        assert I[2, 2] == inertia[2][2, 2]
        assert shared[0] == inertia[0]
    elif X is ALONG_Z:
        assert not I.any()
        assert shared[0] == 0.0
        assert not shared[1].any()
    else:
        assert shared[0] == 0.0
        assert not matrix(*shared).any()


def total(tree: Tree, angles: np.ndarray) -> np.ndarray:
    """Return the inertia (6, 6) of all bodies in the root frame, joints at some angles."""
    poses: list[np.ndarray] = []
    whole = matrix(tree.fixed_mass, tree.fixed_moment, np.zeros((3, 3)))
    for body, q in zip(tree.bodies, angles):
        before = np.eye(4) if body.parent == GROUND else poses[body.parent]
        poses.append(before @ body.B.astype(float) @ motion(body.X.astype(float), q))
        parts = (float(body.m), body.h.astype(float), body.I.astype(float))
        whole = whole + moved(matrix(*parts), poses[-1])
    return whole


def test_a_regrouped_tree_has_the_same_inertia_at_any_position():
    """Of all bodies together, but for a constant of the root: its inertia moves nothing."""
    tree = build_tree(random_description(5, 7, ('revolute', 'prismatic', 'helical')))
    lean = regrouped(tree)
    rng = np.random.default_rng(1)
    differences = [
        total(lean, q) - total(tree, q) for q in rng.uniform(-2, 2, (3, len(tree.bodies)))
    ]
    for difference in differences:
        np.testing.assert_allclose(difference, differences[0], atol=1e-14)
        np.testing.assert_allclose(difference[:3, 3:], np.zeros((3, 3)), atol=1e-14)
        np.testing.assert_allclose(difference[3:, 3:], np.zeros((3, 3)), atol=1e-14)
    parameters = [
        [each.m, *each.h, *np.asarray(each.I)[np.triu_indices(3)]] for each in (*lean.bodies,)
    ]
    assert np.sum(np.array(parameters, dtype=float) == 0.0) >= len(tree.bodies) * 2
    assert [each.massless_about_joint for each in lean.bodies] == [False] * len(tree.bodies)


def body(X: np.ndarray, m: float, h: object, I: object, drive: Drive | None = None) -> Body:  # noqa: E741
    made = Body('a', 'j', GROUND, np.eye(4), X, slice(0, 1), slice(0, 1), m=m)
    made = replace(made, h=np.array(h, dtype=float), I=np.array(I, dtype=float))
    return made if drive is None else replace(made, drive=drive)


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        (body(ABOUT_Z, 2.0, [0, 0, 1], np.diag([1.0, 1.0, 0.0])), True),
        (body(ABOUT_Z, 2.0, [0, 0, 1], np.diag([1.0, 1.0, 1.9e-12])), True),
        (body(ABOUT_Z, 2.0, [0, 0, 1], np.diag([1.0, 1.0, 2.1e-12])), False),
        (body(ABOUT_Z, 1.0, [0, 0, 1], np.diag([1.0, 1.5, 2.4e-12])), True),
        (body(ABOUT_Z, 1.0, [0, 0, 1], np.diag([1.0, 1.5, 2.6e-12])), False),
        (body(ABOUT_Z, 0.0, [0, 0, 0], np.zeros((3, 3))), True),
        (body(ABOUT_Z, 0.0, [0, 0, 0], np.zeros((3, 3)), Drive(armature=1e-9)), False),
        (body(ALONG_Z, 0.0, [0, 0, 0], np.eye(3)), True),
        (body(ALONG_Z, 1e-11, [0, 0, 0], np.zeros((3, 3))), False),
        (body(HELICAL, 1.0, [0, 0, 0], np.zeros((3, 3))), False),
        (body(np.eye(6), 0.0, [0, 0, 0], np.zeros((3, 3))), False),
    ],
)
def test_bodies_without_inertia_about_their_joint(given, expected):
    """Relative to mass and inertia by 1e-12; a free body has six directions and is not one."""
    assert massless_about_joint(given) == expected


@pytest.mark.parametrize(
    ('m', 'h', 'moments', 'expected'),
    [
        (1.0, (0, 0, 0), (1, 1, 1), True),
        (-1e-300, (0, 0, 0), (1, 1, 1), False),
        (2.0, (2, 0, 0), (0, 2, 2), True),  # a point
        (2.0, (2, 0, 0), (0, 2 - 4.1e-9, 2), False),
        (2.0, (2, 0, 0), (0, 2 - 3.9e-9, 2), True),
        (0.0, (0, 0, 0), (1, 1, -1.9e-9), True),
        (0.0, (0, 0, 0), (1, 1, -2.1e-9), False),
        (0.0, (0, 0, 0), (0, 0, 0), True),
    ],
)
def test_kinetic_energies_that_can_be_negative(m, h, moments, expected):
    """About the center of mass, but for 1e-9 of the moments."""
    assert has_positive_energy(body(ABOUT_Z, m, h, np.diag(moments))) == expected
