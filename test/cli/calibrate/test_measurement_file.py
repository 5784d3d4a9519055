# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of measurements: numbers by name, kinds, targets, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.cli.calibrate.measurement_file import MeasurementFile, read_measurements
from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.core import ArgumentError, UnknownNameError

JOINTS = ('a', 'b')
POSE = ','.join(f'measured.{name}' for name in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'))


def read(tmp_path, text, name='m.csv'):
    path = tmp_path / name
    path.write_text(text)
    return read_measurements(path, JOINTS)


def test_poses_points_and_distances(tmp_path):
    """Columns in any order; a quaternion with an error of rounding is a rotation."""
    turn = Rotation.from_euler('xyz', [0.4, -0.2, 1.0])
    x, y, z, w = 1.009 * turn.as_quat()
    numbers = ','.join(map(repr, map(float, (1, 2, 3, x, y, z, w))))
    found = read(tmp_path, f'b,{POSE},a\n0.5,{numbers},0.25\n')
    assert (found.kind, found.labels) == ('poses', {})
    assert {name: each.tolist() for name, each in found.positions.items()} == {
        'a': [0.25],
        'b': [0.5],
    }
    np.testing.assert_allclose(found.values[0, :3, :3], turn.as_matrix(), atol=1e-12)
    assert found.values[0, :, 3].tolist() == [1.0, 2.0, 3.0, 1.0]
    points = read(tmp_path, 'measured.z,measured.x,measured.y,a\n3,1,2,0\n6,4,5,0\n')
    assert (points.kind, points.values.tolist()) == ('points', [[1, 2, 3], [4, 5, 6]])
    distances = read(tmp_path, 'measured.distance,a\n3,0\n4,0\n')
    assert (distances.kind, distances.values.tolist()) == ('distances', [3, 4])


def test_yaml_has_labels_beside_positions(tmp_path):
    text = """measurements:
- {positions: {a: 1}, measured: {distance: 2}, target: 7, link: " tip "}
- {positions: {a: 1.5}, measured: {distance: 3}, target: 8, link: tip, note: ignored}
"""
    for name in ('m.yaml', 'm.YML'):
        found = read(tmp_path, text, name)
        assert found.positions['a'].tolist() == [1.0, 1.5]
        assert found.values.tolist() == [2.0, 3.0]
        assert found.labels == {'target': ['7', '8'], 'link': ['tip', 'tip']}


@pytest.mark.parametrize(
    ('text', 'name', 'kind', 'message'),
    [
        (f'a,{POSE}\n0,0,0,0,0,0,0,1\n0,0,0,0,0,0,0,1.011\n', 'm.csv', ArgumentError,
         r'measurement 2: .* = \[0.0, 0.0, 0.0, 1.011\] has norm 1.011; it must be 1'),
        (f'a,{POSE}\n0,0,0,0,0,0,0,0.989\n', 'm.csv', ArgumentError,
         'measurement 1: .* norm 0.989'),
        ('a,measured.distance\n0,1\n0,inf\n', 'm.csv', ArgumentError,
         "measurement 2, measured.distance: 'inf' is not a finite number"),
        ('c,measured.distance\n0,1\n', 'm.csv', UnknownNameError,
         "c: neither a joint of the robot nor a measurement; the joints are a, b, .* 'measured.', "
         'names are in target and link'),
        ('a,b\n0,1\n', 'm.csv', ArgumentError, 'measured nothing: give the columns of one kind, '
         'poses: measured.x, .*; points: measured.x, measured.y, measured.z; distances: '),
        ('a,measured.x,measured.y\n0,1,1\n', 'm.csv', ArgumentError, 'measured x, y: give the'),
        ('measurements: [{positions: {a: true}, measured: {distance: 1}}]', 'm.yaml',
         ArgumentError, "measurement 1, a: 'True' is not"),
        ('measurements: [{positions: {a: [1]}, measured: {distance: 1}}]', 'm.yaml',
         ArgumentError, r"measurement 1, a: '\[1\]' is not"),
        ('measurements: [{positions: {a: 1}, measured: {distance: 1}}, '
         '{positions: {b: 1}, measured: {distance: 1}}]', 'm.yaml', ArgumentError,
         'measurement 2 has other names than the first one: a, b'),
        ('measurements: [{positions: {a: 1}, measured: 3}]', 'm.yaml', ArgumentError,
         'measurement 1: expected positions and measured'),
        ('measurements: []', 'm.yaml', ArgumentError, 'm.yaml has no measurements'),
        ('[1]', 'm.yaml', ArgumentError, 'm.yaml has no list "measurements"'),
        ('{a: ', 'm.yaml', UnusableError, 'argument MEASUREMENTS: .*m.yaml: .*is not YAML'),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, text, name, kind, message):
    with pytest.raises(kind, match=message):
        read(tmp_path, text, name)


def test_a_file_that_is_missing_or_huge(tmp_path):
    with pytest.raises(UnusableError, match=r'argument MEASUREMENTS: .*x.csv: .*; name a CSV or'):
        read_measurements(tmp_path / 'x.csv', JOINTS)
    text = 'a,measured.distance\n0,1\n'
    comment = '#' * (16_000_000 - len(text) - 1) + '\n'
    assert read(tmp_path, text + comment).values.tolist() == [1.0]
    with pytest.raises(UnusableError, match='argument MEASUREMENTS'):
        read(tmp_path, text + '#' + comment)


def file(**labels):
    positions = {'a': np.array([1.0, 2.0, 3.0])}
    return MeasurementFile(positions, 'distances', np.ones(3), labels)


def test_targets_and_links():
    """Of a file without names, with links, with targets, and with both."""
    assert file().links('tip') == ({'target': 'tip'}, ['target'] * 3)
    by_link = file(link=['one', 'two', 'one']).links(None)
    assert by_link == ({'one': 'one', 'two': 'two'}, ['one', 'two', 'one'])
    by_target = file(target=['x', 'y', 'x']).links('tip')
    assert by_target == ({'x': 'tip', 'y': 'tip'}, ['x', 'y', 'x'])
    both = file(target=['x', 'y', 'x'], link=['one', 'two', 'one'])
    assert both.links('other') == ({'x': 'one', 'y': 'two'}, ['x', 'y', 'x'])
    for wrong, message in (
        (file(), 'measurement 1 does not name its link'),
        (file(target=['x', 'y', 'z']), 'measurement 1 does not name its link'),
        (file(target=['x', '', 'x'], link=['one'] * 3), 'measurement 2 does not name its target'),
        (file(target=['x'] * 3, link=['one', 'one', '']), 'measurement 3 does not name its link'),
        (
            file(target=['x', 'y', 'x'], link=['one', 'two', 'two']),
            "target 'x' is on link 'one' and, in measurement 3, on 'two'; give the two",
        ),
    ):
        with pytest.raises(ArgumentError, match=message):
            wrong.links(None)


def test_configurations():
    """In the order of the robot; joints that need not be known are at zero."""
    assert file().configurations(('b', 'a'), ['a']).tolist() == [[0, 1], [0, 2], [0, 3]]
    with pytest.raises(UnknownNameError, match='no positions of b, c; add a column'):
        file().configurations(('a', 'b', 'c'), ['b', 'a', 'c'])
