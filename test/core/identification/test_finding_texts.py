# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Findings of identification: when they appear, their numbers and their remedies."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.identification.effort_check import EffortCheck
from screw_dynamics_ros.core.identification.effort_delay import (
    EffortDelay,
    delay_findings,
)
from screw_dynamics_ros.core.identification.findings import (
    all_findings,
    common_gain_findings,
    mass_findings,
    payload_findings,
    torque_findings,
)
from screw_dynamics_ros.core.identification.result import Torques
from screw_dynamics_ros.core.identification.unknowns import (
    EffortModel,
    Unknowns,
)
from support.effort_equations import effort_equations, effort_fit

JOINTS = ('joint1', 'joint2')
BOTH_WAYS = np.array([[0.5, 0.5], [-0.5, -0.5]])


@pytest.fixture(scope='module')
def unknowns():
    """Return those of a double pendulum; dry friction is constant from 0.06 rad/s."""
    return Unknowns(Robot.from_urdf('urdf/planar_2r.urdf'), EffortModel(smoothing=0.02))


@pytest.fixture
def found(unknowns):
    """Return findings of two joints for changed arguments, as (subject, message, remedy)."""

    def found(
        fit=None,
        checks=(),
        v=BOTH_WAYS,
        offsets=(0.0, 0.0),
        moves=(True, True),
        by_nominal_masses=False,
        absent=(),
    ):
        checks = [EffortCheck(each, 1.0, 0.1, True, 1.0, False) for each in JOINTS] + list(checks)
        checks = tuple({each.joint: each for each in checks}.values())
        fitted = effort_equations([[3.0, 6.0], [-3.0, -6.0]], v=np.asarray(v))
        findings = all_findings(
            unknowns,
            fitted,
            checks,
            fit or effort_fit([1.0, 1.0]),
            np.array(offsets),
            np.array(moves),
            by_nominal_masses,
            absent,
        )
        assert {each.severity for each in findings} <= {'warning'}
        return [(each.subject, each.message, each.remedy) for each in findings]

    return found


def numbers(text):
    """Return the numbers of a text."""
    return [float(x) for x in re.findall(r'-?\d+\.?\d*(?:e-?\d+)?', text)]


def test_nothing_is_found_where_nothing_is_wrong(found):
    assert found() == []


@pytest.mark.parametrize(
    ('silent', 'moves', 'absent', 'expected'),
    [
        ((1,), (1, 1), (), [('joint joint2', 'no efforts')]),
        ((0, 1), (1, 1), (), [('joints joint1, joint2', 'no efforts')]),
        ((), (0, 1), (), [('joint joint1', 'never moved')]),
        ((), (0, 0), (), [('joints joint1, joint2', 'never moved')]),
        ((1,), (0, 0), (), [('joint joint2', 'no efforts'), ('joint joint1', 'never moved')]),
        ((1,), (1, 0), ('joint2',), []),
        ((), (0, 1), ('joint1',), []),
        ((0,), (0, 1), ('joint2',), [('joint joint1', 'no efforts')]),
    ],
)
def test_joints_without_efforts_or_motion(found, silent, moves, absent, expected):
    """Not those that were not recorded at all; a joint without efforts is named for that alone."""
    noise = np.ones(2)
    noise[list(silent)] = np.nan
    fit = effort_fit([1.0, 1.0], noise=noise)
    texts = found(fit, moves=np.array(moves, dtype=bool), absent=absent)
    assert [(subject, message[:11].strip(' w')) for subject, message, _ in texts] == [
        (subject, message[:11].strip(' w')) for subject, message in expected
    ]


def test_efforts_of_the_other_sign(found):
    ((subject, message, remedy),) = found(effort_fit([1.0, -4.0]))
    assert subject == 'joint joint2'
    assert message == 'efforts have the other sign: they fall where torque rises'
    assert remedy == 'effort_scale -0.25'
    assert found(effort_fit([1.0, -4.0], noise=np.array([1.0, np.nan])), absent=JOINTS) == []
    known = effort_fit([-4.0, -4.0], noise=np.array([np.nan, 1.0]))
    assert [each[0] for each in found(known, absent=JOINTS)] == ['joint joint2']


@pytest.mark.parametrize('gain', [4.0, -4.0])
def test_an_estimated_scale_has_its_interval(found, gain):
    """That of gain k with the deviation s is t s / k^2, as the derivative of 1 / k."""
    fit = effort_fit(
        [1.0, gain], x=[7.0], deviations=[3.0, 0.2], free=[1], freedom=np.array([90.0, 5.0])
    )
    subject, message, remedy = found(fit)[-1]
    assert subject == 'joint joint2'
    half = t.ppf(0.975, 5.0) * 0.2 / 16.0
    assert 'efforts are not torques' in message
    assert numbers(message) == [0.25, pytest.approx(half, rel=0.05)]
    assert '+-' in message
    assert remedy == f'effort_scale {1.0 / gain:g}'


def test_an_estimated_scale_that_is_not_identified(found):
    fit = effort_fit([1.0, 4.0], x=[7.0], free=[1], identified=np.array([True, False]))
    ((subject, message, remedy),) = found(fit)
    assert subject == 'joint joint2'
    assert message.startswith('the scale of its efforts cannot be separated')
    assert remedy == 'load the joint by gravity, or --scale'


def test_a_gain_that_is_not_estimated_but_certainly_another(found):
    check = EffortCheck('joint1', 3.254, 0.01, True, 1.0, True)
    ((subject, message, _),) = found(checks=[check])
    assert subject == 'joint joint1'
    assert message.startswith('efforts are 3.25 times the nominal torques')
    assert found(effort_fit([3.0, 1.0], free=[0]), checks=[check])[0][1].startswith(
        'efforts are not torques'
    )


@pytest.mark.parametrize('gain', [1.0, 2.0])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_offsets_beyond_a_tenth_of_the_torques(found, gain, sign):
    """The efforts of joint 2 are 6 units, 6 / gain N m; others are below, or unknown."""
    size = 6.0 / gain
    fit = effort_fit([1.0, gain])
    assert found(fit, offsets=(sign * 0.29, sign * 0.099 * size)) == []
    assert found(fit, offsets=(np.nan, np.nan)) == []
    ((subject, message, remedy),) = found(fit, offsets=(0.0, sign * 0.101 * size))
    assert subject == 'joint joint2'
    assert numbers(message) == [pytest.approx(-sign * 0.101 * size, rel=1e-2), size]
    assert numbers(remedy) == [pytest.approx(sign * 0.101 * size, rel=1e-3)]
    assert remedy.startswith('effort_offset ')


def test_scales_by_nominal_masses_alone(found):
    ((subject, message, remedy),) = found(by_nominal_masses=True)
    assert subject == 'efforts'
    assert 'the scale of no joint is known' in message
    assert 'known payload' in remedy


@pytest.mark.parametrize(
    ('low', 'high', 'reversed_'),
    [(-0.061, 0.061, True), (-0.059, 0.5, False), (-0.5, 0.059, False), (0.061, 0.5, False)],
)
def test_joints_that_do_not_reverse(found, low, high, reversed_):
    v = BOTH_WAYS.copy()
    v[:, 1] = low, high
    texts = found(v=v)
    assert [subject for subject, *_ in texts] == ([] if reversed_ else ['joint joint2'])
    assert all(message.startswith('never reversed') for _, message, _ in texts)
    without = effort_fit([1.0, 1.0], noise=np.array([1.0, np.nan]))
    assert found(without, v=v, absent=('joint2',)) == []
    assert found(v=v, moves=(True, False), absent=('joint2',)) == []


# --- how well the model explains efforts ----------------------------------------------------------


def torques(residual, held_out=False):
    """Return torques of one joint, +-1, of which the model misses a share."""
    x = np.resize([1.0, -1.0], (40, 1))
    missed, zero = x * np.asarray(residual).reshape(-1, 1), np.zeros(40)
    held = np.zeros(40, dtype=bool)
    held[:20] = held_out
    return Torques(zero, zero.astype(int), held, x, x - missed, x, x, zero.astype(int))


@pytest.mark.parametrize(
    ('residual', 'text'),
    [
        (0.44, None),  # R2 = 1 - 0.44^2
        (0.45, 'the model explains only a part of its efforts: R2 0.80 on fitted data'),
        (0.99, 'the model explains only a part of its efforts: R2 0.02 on fitted data'),
        (1.01, 'a constant explains its efforts better than the model: R2 -0.02 on fitted data'),
        (np.nan, None),
    ],
)
def test_a_model_that_does_not_explain_the_efforts(residual, text):
    given = torques(np.full(40, residual))
    found = list(torque_findings(('j',), given, np.array([True])))
    assert [(each.subject, each.message) for each in found] == ([('joint j', text)] if text else [])
    assert list(torque_findings(('j',), given, np.array([False]))) == []


def test_held_out_instants_decide_if_there_are_any():
    good, poor = np.full(20, 0.1), np.full(20, 0.6)
    every = np.array([True])
    (found,) = torque_findings(('j',), torques([*poor, *good], held_out=True), every)
    assert 'R2 0.64 on held-out data' in found.message
    assert list(torque_findings(('j',), torques([*good, *poor], held_out=True), every)) == []
    (found,) = torque_findings(('j',), torques([*poor, *poor]), every, 'recorded')
    assert 'on recorded data' in found.message


def test_a_constant_is_that_of_the_other_instants():
    """A model that predicts another level of held-out efforts is not worse than a constant."""
    given = torques(np.full(40, 1.2), held_out=True)
    level = 5.0 * given.held_out[:, None]
    moved = replace(given, measured=given.measured + level, identified=given.identified + level)
    assert list(torque_findings(('j',), moved, np.array([True]))) == []
    (found,) = torque_findings(('j',), given, np.array([True]))
    assert 'R2 -0.44 on held-out data' in found.message


# --- payloads, gains, masses, delays --------------------------------------------------------------

QUANTILE = t.ppf(0.975, 8.0)


@pytest.mark.parametrize(
    ('names', 'x', 'identified', 'is_there'),
    [
        (('payload/m',), [1.01 * QUANTILE], [True], True),
        (('payload/m',), [0.99 * QUANTILE], [True], False),
        (('payload/m',), [1.01 * QUANTILE], [False], False),
        (('payload/m',), [-1.01 * QUANTILE], [True], False),
        # other parameters are included only if torques do not depend on the mass alone
        (('payload/m', 'payload/mx'), [0.5, 9.0], [True, True], False),
        (('payload/mx', 'payload/my'), [0.5, -9.0], [True, True], True),
        (('payload/mx', 'payload/my'), [0.5, 9.0], [True, False], False),
        (('j/damping', 'payload/mx'), [9.0, 0.5], [True, True], False),
        (('j/damping', 'payload/m'), [0.1, 9.0], [True, True], True),
    ],
)
def test_payloads_smaller_than_their_uncertainty(names, x, identified, is_there):
    fit = effort_fit([1.0], x, np.ones(len(x)), identified=np.array(identified))
    found = payload_findings(names, fit)
    assert (found == ()) == is_there
    if not is_there:
        (finding,) = found
        assert finding.subject == 'payload'
        masses = [m for name, m in zip(names, x) if name == 'payload/m']
        assert numbers(finding.message) == pytest.approx(
            [number for m in masses for number in (m, QUANTILE)], rel=0.05
        )


@pytest.mark.parametrize(
    ('gain', 'is_found'),
    [(1.0, False), (1.39, False), (1.41, True), (1 / 1.39, False), (1 / 1.41, True)],
)
def test_similar_gains_of_all_joints(gain, is_found):
    found = list(common_gain_findings(gain))
    assert len(found) == is_found
    for each in found:
        assert each.subject == 'efforts'
        assert f'{gain:.3g} times the torques of the described masses' in each.message


@pytest.mark.parametrize(
    ('factor', 'is_found'), [(1.0, False), (1.24, False), (1.26, True), (0.76, False), (0.74, True)]
)
def test_total_mass(unknowns, factor, is_found):
    """Of moving links: the base, which has a mass here, is not included."""
    description = unknowns.robot.description
    moving = [link.inertia.mass for link in description.links if link.inertia is not None]

    def scaled(link):
        if link.name != 'base' and link.inertia is None:
            return link
        mass = 50.0 if link.name == 'base' else factor * link.inertia.mass
        return replace(link, inertia=RigidBody(mass, np.zeros(3), np.eye(3)))

    links = [scaled(link) for link in description.links]
    other = RobotDescription.from_parts('other', links, description.joints)
    found = list(mass_findings(unknowns, other, np.eye(len(unknowns.names))))
    assert len(found) == is_found
    for each in found:
        assert each.subject == 'total mass'
        masses = [factor * sum(moving), sum(moving)]
        assert numbers(each.message) == pytest.approx(masses, rel=1e-3)


def test_masses_that_offsets_hide(unknowns):
    """A base parameter of a mass and the offset of joint 2: they are one force."""
    grouping = np.zeros((2, len(unknowns.names)))
    grouping[0, unknowns.names.index('link2/m')] = 1.0
    grouping[0, unknowns.names.index('joint2/offset')] = -1e-3
    grouping[1, unknowns.names.index('joint1/offset')] = 1.0
    (found,) = mass_findings(unknowns, unknowns.robot.description, grouping)
    assert found.subject == 'joint joint2'
    assert 'cannot be separated' in found.message
    rounded = np.where(grouping == -1e-3, -1e-9, grouping)  # angles of nine digits
    assert list(mass_findings(unknowns, unknowns.robot.description, rounded)) == []
    alone = np.delete(grouping, 0, axis=0)
    assert list(mass_findings(unknowns, unknowns.robot.description, alone)) == []


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('value', 'deviation', 'is_certain'),
    [(4.9e-3, 1e-4, False), (5.1e-3, 1e-4, True), (29e-3, 1e-2, False), (31e-3, 1e-2, True)],
)
def test_delays(value, deviation, is_certain, sign):
    """From 5 ms, and three deviations; the interval is that of Student's t."""
    delay = EffortDelay(sign * value, deviation, 6)
    assert delay.is_certain == is_certain
    assert delay.half_width() == pytest.approx(t.ppf(0.975, 6) * deviation)
    assert delay.half_width(0.5) == pytest.approx(t.ppf(0.75, 6) * deviation)
    found = list(delay_findings(delay))
    assert len(found) == is_certain
    for each in found:
        assert each.subject == 'efforts'
        half = 1e3 * t.ppf(0.975, 6) * deviation
        assert numbers(each.message)[:2] == pytest.approx([1e3 * value, half], rel=0.05)
        assert f'ms {"later" if sign > 0 else "earlier"} than' in each.message
        assert (each.remedy == f'effort_delay {value:.4g}') == (sign > 0)
    assert not EffortDelay().is_certain
    assert EffortDelay().value == 0.0
