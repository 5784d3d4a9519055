# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads over time: linear in their inertial parameters, possible at any time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.control.payload_transitions import (
    LoadedParameters,
    PayloadTransitions,
    load_parameters,
    mixture,
)
from support.models import random_inertia
from support.robots import urdf_path

NAMES, LINKS = ('a', 'b'), ('link1', 'link2', 'nowhere')
ROBOT = Robot.from_urdf(
    urdf_path('planar_2r').read_text(), gravity=(1.0, -9.0, 2.0), backend='reference'
)


def body(seed):
    inertia = random_inertia(np.random.default_rng(seed))
    return RigidBody(inertia.mass, inertia.com, inertia.matrix)


EVENTS = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from((*LINKS, None)),  # None: removed
    st.integers(0, 20),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.floats(0.0, 1.5),  # s until the next one
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(EVENTS, max_size=8))
def test_parameters_are_those_of_a_recomputation(events):
    """Vectors of parameters, moved along straight lines event by event."""
    carried, now = PayloadTransitions(), 3.0
    lines = {}  # (name, link): start, end, begin, duration

    def at(key, now):
        start, end, begin, duration = lines[key]
        s = 1.0 if duration == 0.0 else min(1.0, (now - begin) / duration)
        return (1.0 - s) * start + s * end

    for name, link, seed, duration, pause in events:
        keys = [key for key in lines if key[0] == name]
        new = {key: (at(key, now), np.zeros(10), now, duration) for key in keys}
        if link is None:
            if any(at(key, now).any() or lines[key][1].any() for key in keys):
                carried.remove(name, now, duration)
                lines.update(new)
        else:
            carried.put(name, link, body(seed), now, duration)
            start = at((name, link), now) if (name, link) in lines else np.zeros(10)
            lines.update(new)
            lines[name, link] = start, body(seed).parameters, now, duration
        now += pause
        expected = {}
        for key in lines:
            expected[key[1]] = expected.get(key[1], 0.0) + at(key, now)
        found = carried.bodies(now)
        assert set(found) == {link for link, phi in expected.items() if phi[0] > 0.0}
        for link, each in found.items():
            np.testing.assert_allclose(each.parameters, expected[link], rtol=1e-9, atol=1e-12)
        record, loaded = LoadedParameters(), ROBOT.payload_parameters({})
        record.follow(loaded, carried.lines(ROBOT.payload_parameters, ROBOT.link_names))
        load_parameters(record, now)
        known = {link: each for link, each in found.items() if link != 'nowhere'}
        np.testing.assert_allclose(loaded, ROBOT.payload_parameters(known), rtol=1e-9, atol=1e-12)
        moving = [at(key, now + 1e-3) - at(key, now) for key in lines if key[1] != 'nowhere']
        fastest = max((np.abs(each).max() for each in moving), default=0.0)
        assert not record.is_steady or fastest < 1e-9


def test_torques_at_rest_follow_a_straight_line():
    carried, q = PayloadTransitions(), [0.3, -0.4]
    carried.put('a', 'link2', body(1), now=0.0)
    carried.put('a', 'link2', body(2), now=1.0, duration=2.0)
    rest = np.zeros(2)
    torques = [
        ROBOT.payload_torques(q, rest, rest, carried.bodies(t)) for t in np.linspace(1.0, 3.0, 5)
    ]
    np.testing.assert_allclose(np.diff(torques, 2, axis=0), 0.0, atol=1e-12)
    assert np.abs(np.diff(torques, axis=0)).max() > 0.0


def test_another_link_takes_over_gradually():
    carried = PayloadTransitions()
    carried.put('a', 'link1', body(1), now=0.0)
    carried.put('a', 'link2', body(1), now=0.0, duration=2.0)
    masses = {link: each.mass for link, each in carried.bodies(0.5).items()}
    assert masses == pytest.approx({'link1': 0.75 * body(1).mass, 'link2': 0.25 * body(1).mass})
    assert carried.carried() == {'a': ('link2', pytest.approx(carried.carried()['a'][1]))}
    assert set(carried.bodies(2.0)) == {'link2'}


def test_mixtures_of_far_points_are_possible():
    """Sums of inertias about an origin far away lose the digits that make a body possible."""
    points = [RigidBody(1e-3, [900.0, 1e-4 * k, 0.0], np.zeros((3, 3))) for k in range(3)]
    both = mixture([(0.3, points[0]), (0.7, points[1]), (1.0, points[2])])
    least, _, largest = np.linalg.eigvalsh(both.matrix)
    assert abs(least) <= 1e-14 * largest  # the points are on a line: 0 but for rounding
    assert both.mass == pytest.approx(2e-3)


@pytest.mark.parametrize('duration', [-1.0, np.nan, np.inf, 4000.0])
def test_impossible_transition_times(duration):
    carried = PayloadTransitions()
    carried.put('a', 'link1', body(1), now=0.0)
    with pytest.raises(ArgumentError, match='transition time'):
        carried.put('a', 'link2', body(2), now=0.0, duration=duration)
    with pytest.raises(ArgumentError, match='transition time'):
        carried.remove('a', now=0.0, duration=duration)
    assert set(carried.bodies(0.0)) == {'link1'}


def test_nothing_to_remove():
    carried = PayloadTransitions()
    carried.put('a', 'link1', body(1), now=0.0)
    with pytest.raises(UnknownNameError, match="no payload 'b'; there is: a"):
        carried.remove('b', now=0.0)
    carried.remove('a', now=0.0, duration=5.0)
    carried.remove('a', now=1.0, duration=1.0)  # sooner than it would have been
    assert carried.bodies(2.0) == {}
    with pytest.raises(UnknownNameError, match='there is: none'):
        carried.remove('a', now=2.0)
