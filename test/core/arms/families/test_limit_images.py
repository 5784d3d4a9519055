# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Images of solutions within limits, beside a plain enumeration of all multiples of 2 pi."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.arms.families.branches import MAX_IMAGES, LimitImages
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import (
    FULL_TURN,
    LIMIT_TOLERANCE,
    ChainSolutions,
)

MOST = 4  # turns to either side that are tried
JOINTS = 3


def some_chain(rng):
    """Return a chain with limits of every kind: narrow, of several turns, on one side, none."""
    screws = [[0, 0, 1, 0, 0, 0] if rng.random() < 0.8 else [0, 0, 0, 0, 0, 1] for _ in range(3)]
    lower = rng.uniform(-9.0, 1.0, JOINTS)
    upper = lower + rng.choice([0.5, 3.0, FULL_TURN, 7.0, 14.0], JOINTS)
    lower[rng.random(JOINTS) < 0.15] = -np.inf
    upper[rng.random(JOINTS) < 0.15] = np.inf
    return SerialChain(('a', 'b', 'c'), screws, np.eye(4), lower, upper)


def turns_of(chain, k, angle, held, images):
    """Return the multiples of 2 pi to add to one joint; None if none is within the limits."""
    low, high = chain.lower[k] - LIMIT_TOLERANCE, chain.upper[k] + LIMIT_TOLERANCE
    if held or not chain.turns[k] or np.isinf([low, high]).all():
        return [0] if held or low <= angle <= high else None
    fitting = [m for m in range(-MOST, MOST + 1) if low <= angle + FULL_TURN * m <= high]
    if fitting and (not images or np.isinf([low, high]).any()):
        return [min(fitting, key=abs)]
    return fitting or None


def enumerated(chain, q, moving, images):
    """Return configurations within the limits, and of which solution each one is."""
    found, source = [], []
    for i, row in enumerate(q):
        several = [
            turns_of(chain, k, x, k not in moving, images) for k, x in enumerate(row.tolist())
        ]
        if None in several:
            continue
        for turns in itertools.product(*several):
            found.append([x + FULL_TURN * m for x, m in zip(row.tolist(), turns)])
            source.append(i)
    held = [k not in moving for k in range(JOINTS)]
    limits = np.where(held, -np.inf, chain.lower), np.where(held, np.inf, chain.upper)
    return np.clip(np.reshape(found, (-1, JOINTS)), *limits), source


@pytest.mark.parametrize('images', [True, False])
def test_as_enumerated(images):
    rng = np.random.default_rng(0)
    several = missing = 0
    for _ in range(400):
        chain = some_chain(rng)
        moving = [k for k in range(JOINTS) if rng.random() < 0.8]
        q = rng.uniform(-np.pi, np.pi, (rng.integers(1, 5), JOINTS))
        branches = rng.permutation(len(q)) + 5
        solutions = ChainSolutions(q, np.zeros((len(q), 4)), branches)
        found, source, (outside, names) = LimitImages(chain, moving, images).apply(solutions)
        expected, expected_source = enumerated(chain, q, moving, images)
        assert np.array_equal(found, expected)
        assert np.arange(len(q))[source].tolist() == expected_source
        lost = [i for i in range(len(q)) if i not in expected_source]
        assert names.tolist() == branches[lost].tolist()
        away = (outside - q[lost]) / FULL_TURN if lost else np.zeros(1)
        assert np.allclose(away, np.round(away), atol=1e-12)
        several += len(found) > len(q)
        missing += bool(lost)
    assert missing > 50
    assert several > 50 or not images


def test_too_many_images_name_a_joint():
    chain = SerialChain(
        ('a', 'b', 'c'),
        [[0, 0, 1, 0, 0, 0]] * 3,
        np.eye(4),
        np.array([-1.0, -4e3, -4e3]),
        np.array([1.0, 4e3, 4e3]),
    )
    solutions = ChainSolutions(np.zeros((1, 3)), np.zeros((1, 4)), np.zeros(1, dtype=int))
    with pytest.raises(ArgumentError, match=f'more than {MAX_IMAGES} images .* joint .c.'):
        LimitImages(chain, range(3), True).apply(solutions)
    assert len(LimitImages(chain, range(3), False).apply(solutions)[0]) == 1
