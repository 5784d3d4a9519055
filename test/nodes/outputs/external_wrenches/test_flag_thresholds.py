# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thresholds of ~/contact and ~/collision: of each joint, and those that contradict each other."""

import math
import re

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from std_msgs.msg import Bool

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.estimation.contact_flag import ContactFlag, set_thresholds_of_state
from screw_dynamics_ros.core.estimation.residual_model import advance_model, set_doubts
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.nodes.outputs.external_wrenches import flag_parameters
from screw_dynamics_ros.nodes.outputs.external_wrenches.contact_flags import encoded
from support.residual_models import some_model
from support.robots import joint, robot

JOINTS = ('hip', 'knee', 'ankle', 'toe')
EFFORTS = (100.0, 50.0, 0.0, math.inf)  # the last joint has no limits in the description
VALUES = {row.name: row.default for row in flag_parameters.TABLE} | {'flag_joints': []}


@pytest.fixture(scope='module')
def leg():
    links = ['<link name="base"/>', *(f'<link name="{name}_link"/>' for name in JOINTS)]
    parents = ('base', *(f'{name}_link' for name in JOINTS))
    joints = [
        joint(
            name,
            parent,
            f'{name}_link',
            '<axis xyz="0 0 1"/>'
            + (f'<limit effort="{effort}" velocity="1"/>' if effort < math.inf else ''),
            'continuous',
        )
        for name, parent, effort in zip(JOINTS, parents, EFFORTS)
    ]
    return Robot.from_urdf(robot(*links, *joints), backend='reference')


def thresholds(level, leg, **changed):
    return flag_parameters.thresholds(level, {**VALUES, **changed}, leg).tolist()


def test_thresholds_are_shares_of_effort_limits_or_given(leg):
    assert thresholds('contact', leg) == [10.0, 5.0, math.inf, math.inf]
    np.testing.assert_allclose(thresholds('collision', leg), [30.0, 15.0, math.inf, math.inf])
    given = {
        'flag_joints': ['toe', 'hip'],
        'contact_thresholds': [1.0, 2.0],
        'collision_thresholds': [3.0, 4.0],
    }
    assert thresholds('contact', leg, **given) == [2.0, 5.0, math.inf, 1.0]
    assert thresholds('collision', leg, **given) == [4.0, 15.0, math.inf, 3.0]
    assert thresholds('contact', leg, contact_share=0.0) == [math.inf] * 4
    assert thresholds('contact', leg, contact_share=0.0, **given) == [2.0, *[math.inf] * 2, 1.0]


@pytest.mark.parametrize(
    ('changed', 'fault'),
    [
        ({}, ''),
        ({'release_ratio': 0.99}, ''),
        ({'release_ratio': 1.0}, 'release_ratio must be less than 1, got 1'),
        ({'contact_share': 0.29}, ''),
        ({'contact_share': 0.3}, 'contact_share 0.3 must be less than collision_share 0.3'),
        ({'contact_share': 0.0}, ''),
        ({'collision_share': 0.0}, ''),
        ({'flag_joints': ['hip'], 'contact_thresholds': [1.0, 2.0]}, '2 elements for 1'),
        ({'flag_joints': ['hip'], 'contact_thresholds': [29.0]}, ''),
        (
            {'flag_joints': ['hip'], 'contact_thresholds': [30.5]},
            'the contact threshold 30.5 of hip must be less than its collision threshold 30',
        ),
        (
            {'flag_joints': ['knee'], 'collision_thresholds': [5.0]},
            'the contact threshold 5 of knee must be less than its collision threshold 5',
        ),
        (
            {
                'flag_joints': ['hip', 'toe'],
                'contact_thresholds': [1.0, 4.0],
                'collision_thresholds': [2.0, 4.0],
            },
            'the contact threshold 4 of toe must be less than its collision threshold 4',
        ),
    ],
)
def test_values_that_contradict_each_other(leg, changed, fault):
    if not fault:
        flag_parameters.check({**VALUES, **changed}, leg)
        return
    with pytest.raises(ArgumentError, match=re.escape(fault)):
        flag_parameters.check({**VALUES, **changed}, leg)


def test_without_a_robot_only_what_needs_none_is_checked(leg):
    values = {**VALUES, 'flag_joints': ['nose'], 'contact_thresholds': [2.0]}
    flag_parameters.check(values, None)
    with pytest.raises(UnknownNameError, match="flag_joints: the robot has no joint 'nose'"):
        flag_parameters.check(values, leg)
    with pytest.raises(ArgumentError, match='of nose must be less'):
        flag_parameters.check({**values, 'collision_thresholds': [1.0]}, None)


@pytest.mark.parametrize('value', [False, True])
def test_messages_have_no_undefined_bytes(value):
    data = encoded(value)
    assert data == bytes([0, 1, 0, 0, value, 0, 0, 0])
    assert deserialize_message(data, Bool).data == value


@pytest.mark.parametrize(
    ('alarms', 'reason'),
    [
        ((1.0, 1.0), 'collision_false_alarms 1 must be less than contact_false_alarms 1'),
        ((1.0, 5.0), 'collision_false_alarms 5 must be less'),
        ((0.0, 5.0), ''),
        ((5.0, 0.0), ''),
    ],
)
def test_collisions_are_rarer_than_contacts(alarms, reason):
    values = dict(zip(('contact_false_alarms', 'collision_false_alarms'), alarms))
    if not reason:
        flag_parameters.check({**VALUES, **values}, None)
        return
    with pytest.raises(ArgumentError, match=reason):
        flag_parameters.check({**VALUES, **values}, None)


def test_thresholds_follow_the_model_of_residuals(leg):
    """Of joints with a tail, by their share of the alarms; 0 alarms for constant thresholds."""
    model, offset, state = some_model(n=4, turning=(1,) * 4), ResidualOffset(), np.zeros(12)
    model.tails[:] = np.tile([1.0, 0.5, 5.0], 4)
    model.tails[3:6] = 0.0  # the knee reports no efforts
    offset.model = model
    flag = ContactFlag(4)
    flag.offset = offset
    values = {**VALUES, 'contact_false_alarms': 2.0}
    flag_parameters.configure_flag(flag, 'contact', values, leg)
    level = 1.0 + 0.5 * math.log(5.0 / (2.0 / 3600.0 / 3.0))
    np.testing.assert_allclose(flag.factors, [level, 0.0, level, level])
    for k in range(50):
        state[:4] += 0.01
        advance_model(model, state, k)
        set_thresholds_of_state(flag, offset)
        set_doubts(model)
        expected = level * np.sqrt(model.deviations**2 + model.noise**2 + model.doubts)
        expected[1] = 5.0
        np.testing.assert_allclose(flag.upper, expected)
        np.testing.assert_allclose(flag.lower, 0.7 * expected)
    assert flag.is_monitored
    flag_parameters.configure_flag(flag, 'contact', {**values, 'contact_false_alarms': 0.0}, leg)
    set_thresholds_of_state(flag, offset)
    assert flag.upper.tolist() == [10.0, 5.0, math.inf, math.inf]
    offset.model = None
    flag_parameters.configure_flag(flag, 'contact', values, leg)
    set_thresholds_of_state(flag, offset)
    assert flag.upper.tolist() == [10.0, 5.0, math.inf, math.inf]
