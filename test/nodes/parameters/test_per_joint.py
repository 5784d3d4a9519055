# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers for some joints, given by parameters."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.nodes.parameters.per_joint import PerJoint
from screw_dynamics_ros.ros.status import Level, Status

JOINTS = ('hip', 'knee', 'ankle')
FREE = PerJoint('some', ('scales', 'offsets'))
STRICT = PerJoint('some', ('scales', 'offsets'), may_be_empty=False, may_repeat=True)


def values(some, scales=(), offsets=()):
    return {'some': some, 'scales': scales, 'offsets': offsets, 'other': 1.0}


@pytest.mark.parametrize(
    ('lists', 'given', 'error', 'text'),
    [
        (FREE, values(['hip'], [1.0, 2.0]), ArgumentError, 'scales has 2 elements for 1 some'),
        (FREE, values([], [], [1.0]), ArgumentError, 'offsets has 1 elements for 0 some'),
        (STRICT, values(['hip'], [1.0]), ArgumentError, '0 offsets for 1 some'),
        (FREE, values(['hip', 'hip']), ArgumentError, 'some: hip, hip names a joint twice'),
        (
            FREE,
            values(['hip', 'nose']),
            UnknownNameError,
            "some: the robot has no joint 'nose' with one coordinate; it has hip, knee, ankle",
        ),
    ],
)
def test_lists_that_do_not_fit_are_refused(lists, given, error, text):
    with pytest.raises(error) as raised:
        lists.check(given, JOINTS)
    assert str(raised.value) == text


def test_lists_that_fit():
    FREE.check(values(['knee', 'hip'], [2.0, 3.0]), JOINTS)
    FREE.check(values(['nose']))  # without a robot
    STRICT.check(values(['hip', 'hip'], [1.0, 2.0], [3.0, 4.0]), JOINTS)


def test_numbers_by_joint():
    given = values(['knee', 'nose'], [2.0, 3.0])
    assert FREE.of('scales', given) == {'knee': 2.0, 'nose': 3.0}
    assert FREE.of('offsets', given) == {}
    np.testing.assert_array_equal(FREE.array('scales', given, JOINTS, 1.0), [1.0, 2.0, 1.0])
    repeated = values(['hip', 'hip'], [1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(STRICT.array('offsets', repeated, JOINTS, 0.0), [4.0, 0.0, 0.0])


def test_absent_joints_are_reported():
    status = Status('outputs')
    FREE.report(status, values(['knee']), JOINTS)
    assert status.level == Level.OK
    FREE.report(status, values(['knee', 'nose']), JOINTS)
    assert status.level == Level.ERROR
    assert 'some: the robot has no joint nose' in status.summary
