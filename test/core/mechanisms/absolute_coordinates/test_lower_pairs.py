# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lower pairs: what they admit, how far they gape, and their names (I-30)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    CYLINDRICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    WELD,
    lower_pair,
)
from support.jointed_bodies import ALL_PAIRS, HELICAL

#: Motions that the pairs admit, as twists (omega, v); pitch 0.05 m/rad.
ADMITTED = {
    'weld': [],
    'revolute': [[0, 0, 1, 0, 0, 0]],
    'prismatic': [[0, 0, 0, 0, 0, 1]],
    'helical': [[0, 0, 1, 0, 0, 0.05]],
    'cylindrical': [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]],
    'spherical': [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]],
    'planar': [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]],
}


def exponential(twist) -> np.ndarray:
    """Return the pose (4, 4) by the exponential of SciPy."""
    wx, wy, wz, *v = twist
    return expm([[0, -wz, wy, v[0]], [wz, 0, -wx, v[1]], [-wy, wx, 0, v[2]], [0, 0, 0, 0]])


@pytest.mark.parametrize('pair', ALL_PAIRS, ids=lambda pair: pair.name)
def test_admitted_motions_leave_no_gap(pair):
    """Far along the subgroup, and away from it by the constrained components of the increment."""
    free, rng = np.array(ADMITTED[pair.name]).reshape(-1, 6), np.random.default_rng(1)
    assert len(free) + len(pair.N) == 6
    np.testing.assert_array_equal(pair.N @ free.T, 0.0)
    for _ in range(5):
        h = exponential(rng.uniform(-2.9, 2.9, len(free)) @ free)
        np.testing.assert_allclose(pair.gap(h), 0.0, atol=1e-13)
        np.testing.assert_allclose(pair.nearest(h), h, atol=1e-13)
        x = 1e-5 * rng.normal(size=6)
        np.testing.assert_allclose(pair.gap(h @ exponential(x)), pair.N @ x, atol=1e-9)


def test_stacks_of_poses():
    C = np.array([exponential(x) for x in np.random.default_rng(2).normal(size=(3, 6))])
    for pair in ALL_PAIRS:
        np.testing.assert_array_equal(pair.gap(C), [pair.gap(each) for each in C])


@pytest.mark.parametrize('turns', [-3, 0, 1, 20])
def test_screw_after_whole_turns(turns):
    """The advance says how often a helical joint has turned: 2 mm too far are a gap of 2 mm."""
    C = exponential([0, 0, 0.7, 0, 0, 0])
    C[2, 3] = 0.05 * (0.7 + 2 * np.pi * turns) + 0.002
    np.testing.assert_allclose(HELICAL.gap(C), [0, 0, 0, 0, 0.002], atol=1e-14)


def test_large_rotations_that_are_prevented():
    """2 tan(angle / 2) about their axis, which grows up to half a turn."""
    axis = np.array([2.0, -1.0, 2.0]) / 3
    for angle in (0.5, 2.0, 3.1):
        C = exponential([*(angle * axis), 0, 0, 0])
        C[:3, 3] = [0.1, 0.2, -0.3]
        np.testing.assert_allclose(
            WELD.gap(C), [*(2 * np.tan(angle / 2) * axis), 0.1, 0.2, -0.3], rtol=1e-9
        )
    tilted = exponential([0, 0, 2.5, 0, 0, 0]) @ exponential([0.4, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(REVOLUTE.gap(tilted), [2 * np.tan(0.2), 0, 0, 0, 0], atol=1e-12)


def test_names():
    rotations, shifts = (
        [f'{kind} {axis}' for axis in 'xyz'] for kind in ('rotation about', 'shift along')
    )
    for pair, rows in (
        (WELD, [*rotations, *shifts]),
        (REVOLUTE, [*rotations[:2], *shifts]),
        (PRISMATIC, [*rotations, *shifts[:2]]),
        (CYLINDRICAL, [*rotations[:2], *shifts[:2]]),
        (SPHERICAL, shifts),
        (PLANAR, [*rotations[:2], shifts[2]]),
        (HELICAL, [*rotations[:2], *shifts]),
    ):
        assert pair.rows == tuple(rows)
        assert pair.name == 'helical' or lower_pair(pair.name) is pair
    assert (HELICAL.name, lower_pair('helical', -2).pitch) == ('helical', -2.0)
    centered = [pair.name for pair in ALL_PAIRS if pair.has_center]
    assert centered == ['revolute', 'spherical', 'weld']
    assert [pair.name for pair in ALL_PAIRS if not pair.is_recordable] == ['helical']


@pytest.mark.parametrize('pitch', [None, 0.0, np.nan, np.inf, '0.1'])
def test_pitches_that_are_none(pitch):
    with pytest.raises(ArgumentError, match=r'needs a pitch \[m/rad\] other than 0, got'):
        lower_pair('helical', pitch)


def test_pairs_that_are_none():
    with pytest.raises(UnknownNameError, match=r"'universal'; choose one of weld, .*, helical"):
        lower_pair('universal')
    with pytest.raises(ArgumentError, match='a weld joint has no pitch'):
        lower_pair('weld', 0.0)


def test_inverse_motions_are_admitted_too():
    for pair in ALL_PAIRS:
        h = pair.nearest(exponential(np.random.default_rng(3).normal(size=6)))
        np.testing.assert_allclose(pair.gap(se3.inverse(h)), 0.0, atol=1e-14)
