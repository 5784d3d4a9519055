# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts at rest: every threshold from both sides, every printed number read back."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.cli.doctor.efforts import (
    RecordedEfforts,
    best_contents,
    configured,
    currents,
    effort_findings,
    efforts_section,
    joint_findings,
    silent_nodes,
)
from screw_dynamics_ros.cli.doctor.session_data import Configuration
from screw_dynamics_ros.core.description.rigid_body import RigidBody

ZERO = np.zeros(2)


@pytest.mark.parametrize(
    ('ratio', 'remedy'),
    [
        (-1.0, 'opposite sign: set effort_scale'),
        (-0.31, 'opposite sign: set effort_scale'),
        (-0.29, 'possible causes: a current or a gear ratio'),
        (0.69, 'possible causes: a current or a gear ratio'),
        (0.71, None),
        (1.29, None),
        (1.31, 'possible causes: a current or a gear ratio'),
    ],
)
def test_a_joint_whose_efforts_have_another_sign_or_scale(ratio, remedy):
    found = list(joint_findings(['a', 'b'], np.array([10.0, -8.0 * ratio]), np.array([10.0, -8.0])))
    if remedy is None:
        assert found == []
        return
    (finding,) = found
    assert (finding.severity, finding.subject) == ('warning', 'joint b')
    assert finding.message == f'its effort is {ratio:.2f} times that of the model'
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ('model', 'names'),
    [
        ([0.49, 0.51], 'b'),  # N m
        ([9.9, 100.0], 'b'),  # a tenth of the largest
        ([10.1, 100.0], 'ab'),
        ([-0.5, -0.5], 'ab'),
        ([0.1, 0.0], ''),
    ],
)
def test_joints_that_gravity_hardly_loads_are_not_judged(model, names):
    model = np.array(model)
    found = joint_findings(['a', 'b'], -model, model)
    assert ''.join(finding.subject[-1] for finding in found) == names


def section(measured, gravity, v, payload=None, **configured):
    payload = np.zeros_like(gravity) if payload is None else payload
    owners = dict.fromkeys(configured, '/arm')
    arrays = (np.array(each, dtype=float) for each in (v, measured, gravity, payload))
    return efforts_section(RecordedEfforts(['a', 'b'], *arrays, Configuration(configured, owners)))


def test_states_at_rest_are_averaged():
    """A state counts only if no joint moves faster than 0.02; numbers of the table are means."""
    measured = [[10.5, 4.0], [9.5, 5.0], [99.0, 99.0], [99.0, 99.0]]
    gravity = [[10.0, 4.0], [12.0, 5.0], [0.0, 0.0], [0.0, 0.0]]
    v = [[0.0, -0.0199], [0.0199, 0.0], [0.0, 0.0201], [-0.0201, 0.0]]
    found = section(measured, gravity, v, effort_joints=['', 'a'], effort_terms=['gravity'])
    rows = [line.split() for line in found.lines]
    assert ['joint', 'reported', 'model', '[N', 'm,', 'N]'] in rows
    assert ['a', '10.000', '11.000'] in rows
    assert ['b', '4.500', '4.500'] in rows
    assert found.findings == []
    assert 'effort_terms: [gravity] in /arm' in found.lines
    assert 'reported efforts of a corrected as configured in /arm' in found.lines
    assert section(measured, gravity, np.full((4, 2), 0.02)).lines == [
        'skipped: the robot moves; stop it for the comparison'
    ]


@pytest.mark.parametrize(('size', 'is_found'), [(0.0, False), (0.5, True)])
def test_a_robot_whose_positions_do_not_change_rests(size, is_found):
    """With noise of velocities, or a constant one that the driver reports at rest."""
    rng = np.random.default_rng(0)
    gravity, q = np.full((300, 2), 9.0), 1e-3 * rng.normal(size=(300, 2))
    v = 0.1 * rng.normal(size=(300, 2)) + [0.0, size]
    given = v, gravity, gravity, 0.0 * gravity, Configuration()
    found = efforts_section(RecordedEfforts(['a', 'b'], *given, q=q))
    assert ['b', '9.000', '9.000'] in [line.split() for line in found.lines]
    assert [each.subject for each in found.findings] == ['joint b'] * is_found
    moving = RecordedEfforts(['a', 'b'], v + 1.0, *given[1:], q=30.0 * q)
    assert efforts_section(moving).lines == ['skipped: the robot moves; stop it for the comparison']


@pytest.mark.parametrize(('limit', 'is_found'), [(199.0, True), (201.0, False), (np.inf, True)])
def test_static_friction_of_large_joints(limit, is_found):
    """An arm near its upright pose: 10 N m beside a torque of -2 N m, of 330 that it can have."""
    model, measured = np.array([2.0, 2.0]), np.array([-8.0, 2.0])
    found = list(joint_findings(['a', 'b'], measured, model, np.array([limit, 1.0])))
    assert [each.subject for each in found] == ['joint a'] * is_found


@pytest.mark.parametrize(('limit', 'is_conclusive'), [(139.0, True), (141.0, False)])
def test_contents_are_those_of_joints_that_gravity_loads_more_than_friction(limit, is_conclusive):
    """Friction of 5 % of the limit, which efforts less 70 % of the torque are attributed to."""
    weight = {'gravity': np.array([10.0, 0.4]), 'payload': np.zeros(2)}
    limits = np.array([limit, np.inf])
    (finding,) = effort_findings(['a', 'b'], np.array([2.0, 0.0]), weight, ['gravity'], limits)
    assert ('near zero' in finding.message) == is_conclusive
    assert ('too small in this pose' in finding.message) == (not is_conclusive)


def test_poses_are_compared_separately():
    """Torques of symmetric poses have the mean zero; their signs show only in each pose."""
    gravity = np.repeat([[5.0, 10.0], [-5.0, 10.0]], 5, axis=0)
    q = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 5, axis=0)
    given = [np.zeros((10, 2)), gravity * [-1.0, 1.0], gravity, 0.0 * gravity]
    found = efforts_section(RecordedEfforts(['a', 'b'], *given, Configuration(), q=q))
    assert [each.subject for each in found.findings] == ['joint a']
    assert 'its effort is -1.00 times that of the model' in found.findings[0].message
    assert 'means over 2 poses, which are compared separately' in found.lines


def test_payloads_that_are_configured():
    body = RigidBody(1.25, np.zeros(3), np.zeros((3, 3)))
    carried = Configuration(carried={'tip': (body, '/bringup')})
    weight = {'gravity': np.ones(2), 'payload': np.array([0.0, 2.0])}
    assert list(configured(carried, weight))[1:] == [
        'payload: 1.25 kg on tip, configured in /bringup'
    ]
    unloaded = list(configured(carried, {**weight, 'payload': ZERO}))
    assert unloaded[1].endswith('configured in /bringup; it loads no joint in this pose')
    assert list(configured(Configuration(), weight))[1].startswith('no payload is configured')


def test_nodes_that_are_silent():
    assert list(silent_nodes(Configuration())) == []
    (finding,) = silent_nodes(Configuration(silent=('/a', '/b')))
    assert finding.severity == 'warning'
    assert finding.message.startswith('no response from /a, /b: their gravity, payload')


@pytest.mark.parametrize(
    ('gravity', 'payload', 'severity'),
    [
        ([0.49, 0.0], [0.0, 0.0], 'info'),
        ([0.51, 0.0], [0.0, 0.0], None),
        ([0.0, 0.0], [-0.51, 0.0], None),
    ],
)
def test_a_pose_that_shows_nothing(gravity, payload, severity):
    weight = {'gravity': np.array(gravity), 'payload': np.array(payload)}
    measured = weight['gravity'] + weight['payload']
    found = list(effort_findings(['a', 'b'], measured, weight, ('gravity', 'payload')))
    assert [f.severity for f in found if 'too small in this pose' in f.message] == (
        [severity] if severity else []
    )


@pytest.mark.parametrize(
    ('measured', 'is_found'),
    [
        ([0.021, 0.0], False),  # a correlation of 0.71
        ([0.5, 0.95 * 0.5], True),
        ([1.0, 0.45], False),  # a correlation of 0.93
        ([1.0, 0.55], True),  # 0.96
        ([-1.0, -0.55], True),
        ([0.021, 0.021], True),
        ([0.019, 0.019], False),
    ],
)
def test_currents(measured, is_found):
    total = np.array([1.0, 1.0])
    found = list(currents(np.array(measured), total))
    assert len(found) == is_found
    if is_found:
        (ratio,) = re.findall(r'^are (\S+) times the gravity torques', found[0].message)
        assert float(ratio) == pytest.approx(np.mean(measured), rel=0.06)
    assert list(currents(np.array(measured[:1]), total[:1])) == []  # any two are proportional


def test_contents_that_fit_best():
    """Misfits relative to the largest weight: those within a tenth fit equally, 0.3 is friction."""
    gravity, payload = np.array([10.0, 0.0]), np.array([0.0, 10.0])
    weight = {'gravity': gravity, 'payload': payload}
    scale = np.sqrt(200.0)
    both = ('gravity', 'payload')
    assert best_contents(gravity + payload, weight) == ([both], True)
    assert best_contents(gravity + [0.0, 0.29 * scale], weight) == ([('gravity',)], True)
    assert best_contents(gravity + [0.31 * scale, 0.0], weight) == ([('gravity',)], False)
    assert best_contents(ZERO, weight) == ([()], True)
    small = {'gravity': gravity, 'payload': np.array([0.9, 0.0])}
    assert best_contents(gravity + small['payload'], small) == ([both, ('gravity',)], True)
    large = {'gravity': gravity, 'payload': np.array([1.5, 0.0])}
    assert best_contents(gravity + large['payload'], large) == ([both], True)


def test_efforts_that_fit_no_content():
    weight = {'gravity': np.array([20.0, -5.0]), 'payload': ZERO}
    wrong = np.array([-12.5, 3.0])
    found = list(effort_findings(['a', 'b'], wrong, weight, ()))
    assert [f.message for f in found] == [
        'are up to 12.5 N m or N, but according to effort_terms they contain no weight'
    ]
    found = list(effort_findings(['a', 'b'], wrong, weight, ('gravity',)))
    assert [f.subject for f in found] == ['joint a', 'joint b']
