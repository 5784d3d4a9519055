# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How large a difference is: light joints beside heavy ones, NaN, missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison.quantities import (
    UNITS,
    Scale,
    Values,
    our_values,
    random_states,
)
from screw_dynamics_ros.comparison.reading import DescriptionReading, inertia_of
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.lie import se3

GRAVITY = np.array([0.0, 0.0, -9.81])
LIMITS = Limits(-1.0, 1.0, 1.0, 1.0)


@pytest.fixture
def arm() -> DescriptionReading:
    """A shoulder that carries 100 kg, and a wrist with 1 g."""
    bodies = [Inertia(100.0, np.array([0.5, 0, 0]), np.eye(3)), gram(0.01)]
    links = [Link('base'), *map(Link, ('upper', 'hand'), bodies)]
    y = np.array([0.0, 1.0, 0.0])
    joints = [
        Joint('shoulder', 'revolute', 'base', 'upper', np.eye(4), y, LIMITS),
        Joint('wrist', 'revolute', 'upper', 'hand', se3.pose(np.eye(3), [1, 0, 0]), y, LIMITS),
    ]
    return DescriptionReading(RobotDescription.from_parts('arm', links, joints))


def gram(com: float) -> Inertia:
    return Inertia(1e-3, np.array([com, 0.0, 0.0]), 1e-9 * np.eye(3))


def test_a_light_wrist_counts_as_much_as_the_shoulder(arm):
    """Its center of mass 1 % off: 1e-6 N m beside 500 N m, and 1 % of what it feels."""
    states = random_states(arm, 5, 0, GRAVITY)
    off = arm.with_link(Link('hand', gram(0.0101)))
    ours, theirs = our_values(arm, states), our_values(off, states)
    scale = Scale.of(ours, ('shoulder', 'wrist'), states)
    for name in ('mass matrix', 'gravity torques', 'forward dynamics'):
        found = scale.difference(name, ours, theirs)
        assert found.where == 'wrist', name
        assert found.relative > 1e-5, name
    unscaled = ours.arrays['gravity torques'] - theirs.arrays['gravity torques']
    assert np.abs(unscaled).max() / np.abs(ours.arrays['gravity torques']).max() < 1e-8


def test_the_same_is_no_difference(arm):
    states = random_states(arm, 2, 0, GRAVITY)
    ours = our_values(arm, states)
    scale = Scale.of(ours, ('shoulder', 'wrist'), states)
    for name in UNITS:
        found = scale.difference(name, ours, ours)
        assert (found.absolute, found.relative) == (0.0, 0.0)


@pytest.mark.parametrize('name', UNITS)
def test_nan_is_an_infinite_difference(arm, name):
    states = random_states(arm, 2, 0, GRAVITY)
    ours = our_values(arm, states)
    array = np.array(ours.arrays[name], dtype=float)
    array[-1] = np.nan
    theirs = replace(ours, arrays={**ours.arrays, name: array})
    found = Scale.of(ours, ('shoulder', 'wrist'), states).difference(name, ours, theirs)
    assert found.relative == np.inf


def test_what_one_does_not_have_is_not_compared(arm):
    states = random_states(arm, 2, 0, GRAVITY)
    ours = our_values(arm, states)
    scale = Scale.of(ours, ('shoulder', 'wrist'), states)
    assert scale.difference('mass', ours, Values({}, ())) is None
    poses = {'link positions': ours.arrays['link positions'][:, 2:] + [0.0, 0.0, 0.5]}
    found = scale.difference('link positions', ours, Values(poses, ('hand',)))
    assert found.absolute == pytest.approx(0.5)
    assert found.where == 'hand'


def test_what_is_fixed_to_the_root_does_not_count(arm):
    """Mass, center of mass and potential energy are those of the links that move."""
    states = random_states(arm, 3, 0, GRAVITY)
    loaded = arm.with_link(Link('base', Inertia(7.0, np.array([3.0, 2.0, 1.0]), np.eye(3))))
    a, b = our_values(arm, states), our_values(loaded, states)
    assert a.arrays['mass'][0] == pytest.approx(100.001)
    for name in UNITS:
        np.testing.assert_allclose(a.arrays[name], b.arrays[name], atol=1e-12, rtol=1e-12)
    assert inertia_of(loaded.link('base')).mass == 7.0


def test_angles_between_orientations(arm):
    states = random_states(arm, 1, 0, GRAVITY)
    ours = our_values(arm, states)
    c, s = np.cos(0.3), np.sin(0.3)
    turned = ours.arrays['link orientations'] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    theirs = replace(ours, arrays={**ours.arrays, 'link orientations': turned})
    found = Scale.of(ours, ('shoulder', 'wrist'), states).difference(
        'link orientations', ours, theirs
    )
    assert found.absolute == pytest.approx(0.3)
