# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of parallel robots: what they say, and what is refused by name."""

import copy

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.mechanism_description import mechanism_of
from screw_dynamics_ros.core.mechanisms.parallel.pose_tracking import PoseTracker
from support.parallel_robots import moved
from support.paths import CONFIG

CONTENT = yaml.safe_load((CONFIG / 'parallel' / 'stewart_gough.yaml').read_text())


def changed(change):
    content = copy.deepcopy(CONTENT)
    change(content)
    return content


def test_units():
    """The same robot in millimeters."""
    content = copy.deepcopy(CONTENT)
    content['units'] = {'length': 'mm'}
    content['home']['position'] = [1000 * x for x in content['home']['position']]
    content['platform']['center_of_mass'] = [0, 0, 20]
    for leg in content['legs']:
        for key in ('base', 'platform'):
            leg[key] = [1000 * x for x in leg[key]]
        leg['lower'], leg['upper'] = 450, 900
    found, wanted = mechanism_of(content), mechanism_of(CONTENT)
    assert np.allclose(found.base_pivots, wanted.base_pivots)
    assert np.allclose(found.home, wanted.home)
    assert np.allclose(found.upper, wanted.upper)
    assert np.allclose(found.inertia.com, [0.0, 0.0, 0.02])


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda c: c.pop('legs'), "lacks 'legs'"),
        (lambda c: c.update(color='red'), "unknown key 'color'"),
        (lambda c: c.update(units={'length': 'inch'}), 'length must be one of m, mm'),
        (lambda c: c['legs'].pop(), 'at least six rods'),
        (lambda c: c['legs'][1].update(type='SPS'), 'leg 2: type must be one of UPS, PUS, RUS'),
        (lambda c: c['legs'][2].update(crank=1.0), "leg 3 has an unknown key 'crank'"),
        (lambda c: c['legs'][2].update(base=[1, 2]), 'leg 3: .*base must be a point'),
        (lambda c: c['legs'][3].update(upper=0.5), "'leg_4' would be too short"),
        (lambda c: c['legs'][4].update(lower=-1.0), 'must not be negative'),
        (lambda c: c['home'].update(position=[0, 0, 0]), 'leg_1'),
        (lambda c: c['home'].update(quaternion=[0, 0, 0, 2]), 'must have length 1'),
        (lambda c: c['platform'].update(mass=-1.0), 'negative'),
        (lambda c: c['platform'].update(mass='heavy'), 'mass must be a finite number'),
    ],
)
def test_what_is_wrong_is_named(change, reason):
    with pytest.raises(DescriptionError, match=reason):
        mechanism_of(changed(change), 'file')


def test_singular_dimensions_are_named():
    """Similar regular hexagons hold no platform."""
    base = example_mechanisms.circle(0.5, range(0, 360, 60))

    def singular(content):
        for leg, b in zip(content['legs'], base):
            leg.update(base=b.tolist(), platform=(0.6 * b).tolist())

    with pytest.raises(DescriptionError, match='home is singular'):
        mechanism_of(changed(singular))


def test_tracking_ends_where_the_mode_is_uncertain():
    """Near a singularity and after a jump: no pose until a reset (C-123)."""
    robot = ParallelRobot(example_mechanisms.octahedron(), 'reference')
    tracker = PoseTracker(robot)
    for angle in np.linspace(0.0, 1.3, 40):
        T = moved(robot.home, [0.0, 0.0, angle], np.zeros(3))
        assert np.allclose(tracker.update(robot.inverse_position(T)), T, atol=1e-10)
    T = moved(robot.home, [0.0, 0.0, 1.565], np.zeros(3))
    with pytest.raises(ArgumentError, match='smallest singular value'):
        tracker.update(robot.inverse_position(T))
    back = moved(robot.home, [0.0, 0.0, 1.3], np.zeros(3))  # where it was certain
    with pytest.raises(ArgumentError, match='assembly mode is lost: the smallest'):
        tracker.update(robot.inverse_position(back))
    tracker.reset()
    tracker.update(robot.inverse_position(robot.home))
    with pytest.raises(ArgumentError, match='has jumped'):
        tracker.update(robot.inverse_position(moved(robot.home, np.zeros(3), [0.0, 0.0, 0.15])))
    assert tracker.lost


def in_file(points, unit):
    """Return points or lengths in a unit of length, as a parser does."""
    return (np.asarray(points) / unit).tolist()


@pytest.mark.parametrize('name', ['hexa', 'delta', 'hexaglide', 'stewart_gough'])
def test_every_number_is_read(name):
    """Mechanisms of the package, in millimeters and degrees, with an offset and six moments."""
    wanted, mm, degree = getattr(example_mechanisms, name)(), 1e-3, np.pi / 180
    legs = []
    for leg in wanted.legs:
        motor = degree if leg.kind == 'RUS' else mm
        entry = {'name': leg.name, 'type': leg.kind}
        for key in ('base', 'platform'):
            points = in_file(getattr(leg, key), mm)
            entry[key] = points if len(points) > 1 else points[0]
        for key in ('length', 'crank'):
            if hasattr(leg, key):
                entry[key] = in_file(getattr(leg, key), mm)
        for key in ('direction', 'axis', 'zero'):
            if hasattr(leg, key):
                entry[key] = getattr(leg, key).tolist()
        for key in ('lower', 'upper'):
            if np.isfinite(getattr(leg, key)):
                entry[key] = getattr(leg, key) / motor
        if leg.kind == 'UPS':
            entry['offset'] = 150.0
        elif leg.branch < 0:
            entry['branch'] = -1
        legs.append(entry)
    turn = np.array([0.0, 0.0, np.sin(0.05), np.cos(0.05)]) * (name != 'delta')
    turn[3] = turn[3] or 1.0
    content = {
        'name': name,
        'units': {'length': 'mm', 'angle': 'deg'},
        'home': {'position': in_file(wanted.home[:3, 3], mm), 'quaternion': turn.tolist()},
        'platform': {
            'mass': 5.0,
            'center_of_mass': [1.0, 2.0, 3.0],
            'inertia': [0.5, 0.6, 0.7, 0.01, 0.02, 0.03],
        },
        'legs': legs,
    }
    if name == 'stewart_gough':
        for entry in legs:  # the motor stands 150 mm lower
            entry['lower'], entry['upper'] = entry['lower'] - 150, entry['upper'] - 150
    found = mechanism_of(content)
    assert (found.name, found.joint_names) == (name, wanted.joint_names)
    for ours, theirs in zip(found.legs, wanted.legs, strict=True):
        assert type(ours) is type(theirs)
        shift = 0.15 if ours.kind == 'UPS' else 0.0
        for key in ('base', 'platform', 'length', 'crank', 'direction', 'axis', 'zero', 'branch'):
            if hasattr(theirs, key):
                np.testing.assert_allclose(getattr(ours, key), getattr(theirs, key), atol=1e-15)
        np.testing.assert_allclose(ours.lower + shift, theirs.lower, atol=1e-15)
        np.testing.assert_allclose(ours.upper + shift, theirs.upper, atol=1e-15)
        assert getattr(ours, 'offset', shift) == pytest.approx(shift)
    np.testing.assert_allclose(found.home[:3, 3], wanted.home[:3, 3], atol=1e-15)
    angle = 0.1 * (name != 'delta')
    np.testing.assert_allclose(
        found.home[:2, :2], [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    )
    assert found.inertia.mass == 5.0
    np.testing.assert_allclose(found.inertia.com, [0.001, 0.002, 0.003])
    np.testing.assert_array_equal(
        found.inertia.matrix, [[0.5, 0.01, 0.02], [0.01, 0.6, 0.03], [0.02, 0.03, 0.7]]
    )


def test_what_a_file_may_leave_out():
    """Units are m and rad, the platform has no mass, home is not turned; quaternions to 1e-3."""
    content = copy.deepcopy(CONTENT)
    for key in ('units', 'platform'):
        content.pop(key, None)
    content['home'].pop('quaternion', None)
    found = mechanism_of(content)
    assert found.inertia.mass == 0.0
    np.testing.assert_array_equal(found.home[:3, :3], np.eye(3))
    np.testing.assert_array_equal(found.base_pivots[0], CONTENT['legs'][0]['base'])
    content['home']['quaternion'] = [0, 0, 0, 1.0009]
    np.testing.assert_array_equal(mechanism_of(content).home[:3, :3], np.eye(3))
    content['home']['quaternion'] = [0, 0, 0, 1.0011]
    with pytest.raises(DescriptionError, match=r'home, quaternion must have length 1, got 1\.0011'):
        mechanism_of(content, 'file')
