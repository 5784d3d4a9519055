# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How large a difference is: light joints beside heavy ones, NaN, missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison.quantities import (
    UNITS,
    Difference,
    SampledStates,
    Scale,
    Values,
    our_values,
    random_states,
)
from screw_dynamics_ros.comparison.reading import MASSLESS, DescriptionReading, inertia_of
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.lie import se3

GRAVITY = np.array([0.0, 0.0, -9.81])
LIMITS = Limits(-1.0, 1.0, 1.0, 1.0)


@pytest.fixture
def arm() -> DescriptionReading:
    """A shoulder that carries 100 kg, and a wrist with 1 g."""
    return with_bodies(Inertia(100.0, np.array([0.5, 0, 0]), np.eye(3)), gram(0.01))


def with_bodies(*bodies: Inertia) -> DescriptionReading:
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
    states = random_states(arm, 3, 0, np.array([1.0, -2.0, -9.0]))
    body = Inertia(7.0, np.array([3.0, 2.0, 1.0]), np.eye(3))
    loaded = arm.with_link(Link('base', body))
    description = loaded.description
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    stand = Joint(
        'stand', 'fixed', 'base', 'box', se3.pose(turn, [0.5, -0.3, 0.2]), np.array([1.0, 0.0, 0.0])
    )
    loaded = DescriptionReading(
        RobotDescription.from_parts(
            'arm', [*description.links, Link('box', body)], [*description.joints, stand]
        )
    )
    a, b = our_values(arm, states), our_values(loaded, states)
    moved = [b.links.index(name) for name in a.links]
    for name in ('link positions', 'link orientations'):
        b.arrays[name] = b.arrays[name][:, moved]
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


#: Relative differences of an entry that is off by 1, where ours are zero: (1 / natural size).
SPEED = 5.0**0.5  # of M = diag(4, 0.25) at velocities of (1, 2)
OFF_BY_ONE = {
    'mass': 1 / 4,
    'center of mass': 1 / 2,
    'link positions': 1 / 2,
    'link orientations': 2 * np.arcsin(1 / (2 * 2**0.5)),
    'mass matrix': 1 / 4,
    'gravity torques': (1 / 2) / (1e-3 * 10 * 2),
    'Coriolis torques': (1 / 2) / (1e-3 * SPEED),
    'forward dynamics': 2 / (1e-3 * SPEED),
    'kinetic energy': 1 / (1e-3 * 0.5 * SPEED**2),
    'potential energy': 1 / (1e-3 * 4 * 10 * 2),
}
#: And where the largest of ours is 3.
BESIDE_THREE = OFF_BY_ONE | {
    'mass': 1 / 4,
    'gravity torques': (1 / 2) / (3 / 2),
    'Coriolis torques': (1 / 2) / (3 / 2),
    'forward dynamics': 2 / (3 * 2),
    'kinetic energy': 1 / 3,
    'potential energy': 1 / 3,
}


@pytest.mark.parametrize('largest', [0.0, 3.0])
@pytest.mark.parametrize('name', UNITS)
def test_natural_sizes(name, largest):
    """Two joints with M = diag(4, 0.25), 4 kg, links within 2 m, 10 m/s^2, velocities (1, 2)."""
    states = SampledStates(
        np.zeros((2, 2)), np.array([[1.0, -1.5], [0.5, -2.0]]), np.zeros((2, 2)), GRAVITY / 0.981
    )
    pair = np.array([[largest, 0.0], [0.0, 0.0]])
    arrays = {
        'mass': np.array([4.0, 4.0]),
        'center of mass': np.full((2, 3), largest),
        'link positions': np.array([[[0.0, 0, 0], [0, -2, 1]]] * 2),
        'link orientations': np.array([[np.eye(3)] * 2] * 2),
        'mass matrix': np.array([np.diag([4.0, 0.2]), np.diag([3.0, 0.25])]),
        'gravity torques': pair,
        'Coriolis torques': pair,
        'forward dynamics': pair,
        'kinetic energy': pair[0],
        'potential energy': pair[0],
    }
    ours = Values(arrays, ('base', 'hand'))
    off = np.array(arrays[name], dtype=float)
    off[(1, *[0] * (off.ndim - 1))] -= 1.0
    theirs = Values({**arrays, name: off}, ('base', 'hand'))
    found = Scale.of(ours, ('first', 'second'), states).difference(name, ours, theirs)
    expected = (BESIDE_THREE if largest else OFF_BY_ONE)[name]
    assert found.relative == pytest.approx(expected)
    assert found.absolute == pytest.approx(expected if name == 'link orientations' else 1.0)
    where = {'link positions': 'base', 'link orientations': 'base'}
    where |= dict.fromkeys(
        ('mass matrix', 'gravity torques', 'Coriolis torques', 'forward dynamics'), 'first'
    )
    assert found.where == where.get(name, '')


def test_nothing_is_divided_by_zero():
    """A robot without mass, in a state at rest without gravity."""
    massless = with_bodies(MASSLESS, MASSLESS)
    zero = np.zeros((1, 2))
    states = SampledStates(zero, zero, zero, np.zeros(3))
    ours = our_values(massless, states)
    scale = Scale.of(ours, ('shoulder', 'wrist'), states)
    np.testing.assert_array_equal(ours.arrays['center of mass'], np.zeros((1, 3)))
    assert 'forward dynamics' not in ours.arrays
    np.testing.assert_array_equal(scale.joints, [1.0, 1.0])
    for name in ours.arrays:
        found = scale.difference(name, ours, ours)
        assert (found.absolute, found.relative) == (0.0, 0.0)
    empty = Values({'link positions': np.zeros((1, 0, 3))}, ())
    assert scale.difference('link positions', ours, empty) == Difference(0.0, 0.0)


def test_random_states():
    """Within the limits, +-pi where there are none; velocities and accelerations up to 1."""
    arm = with_bodies(
        Inertia(100.0, np.array([0.5, 0, 0]), np.eye(3)),
        Inertia(1.0, np.array([0.1, 0, 0]), 0.1 * np.eye(3)),
    )
    wrist = replace(arm.joint('wrist'), type='continuous', limits=Limits())
    arm = arm.with_joint(wrist)
    states = random_states(arm, 300, 4, GRAVITY)
    bounds = np.array([1.0, np.pi])
    for values, bound in ((states.q, bounds), (states.v, 1.0)):
        assert (np.abs(values) <= bound).all()
        for extreme in (values.min(axis=0), values.max(axis=0)):
            np.testing.assert_allclose(np.abs(extreme), np.broadcast_to(bound, 2), rtol=0.03)
    robot = Robot(arm.description, gravity=GRAVITY, backend='reference')
    a = np.array(
        [
            np.linalg.solve(
                robot.mass_matrix(q), tau - robot.gravity_torques(q) - robot.coriolis_torques(q, v)
            )
            for q, v, tau in zip(states.q, states.v, states.tau)
        ]
    )
    assert 0.97 < np.abs(a).max() <= 1.0 + 1e-9
    np.testing.assert_array_equal(random_states(arm, 300, 4, GRAVITY).tau, states.tau)
    few = states.first(2)
    for field in ('q', 'v', 'tau'):
        np.testing.assert_array_equal(getattr(few, field), getattr(states, field)[:2])
    np.testing.assert_array_equal(few.gravity, GRAVITY)
