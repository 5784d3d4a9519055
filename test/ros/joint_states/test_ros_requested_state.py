# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The state a request asks about, without middleware: which field comes from where."""

from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.ros.joint_states import mapper as mappers
from screw_dynamics_ros.ros.joint_states import requested_state
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.joint_states.requested_state import (
    JointState,
    latest,
    read_requested_state,
)

JOINTS = ('a', 'b', 'c')
ALL = ('position', 'velocity', 'effort')
MEASURED = JointState(
    np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.zeros(3), np.array([7.0, 8.0, 9.0]), 99
)


def message(name, position=(), velocity=(), effort=()):
    return SimpleNamespace(name=name, position=position, velocity=velocity, effort=effort)


def test_named_joints_are_given_the_others_measured():
    """Torques and accelerations are never measured ones: nobody asked for them."""
    state = read_requested_state(
        message(['c', 'wheel', 'a'], [30.0, np.nan, 10.0], [60.0, 0.0, 40.0], [90.0, 0.0, 70.0]),
        JOINTS,
        known=['wheel'],
        measured=MEASURED,
        fields=ALL,
        acceleration=[1.0, 2.0, 3.0],
    )
    np.testing.assert_array_equal(state.q, [10.0, 2.0, 30.0])
    np.testing.assert_array_equal(state.v, [40.0, 5.0, 60.0])
    np.testing.assert_array_equal(state.a, [3.0, 0.0, 1.0])
    np.testing.assert_array_equal(state.tau, [70.0, 0.0, 90.0])
    assert state.stamp == 99


def test_empty_fields_are_zero_and_fields_that_are_not_used_not_read():
    state = read_requested_state(message(JOINTS, [1, 2, 3]), JOINTS, measured=MEASURED, fields=ALL)
    assert not state.v.any()
    assert not state.tau.any()
    assert state.stamp == 0  # nothing measured in it
    unused = message(JOINTS, [1, 2, 3], [np.nan], [1.0])
    np.testing.assert_array_equal(read_requested_state(unused, JOINTS).q, [1, 2, 3])


@pytest.mark.parametrize(
    ('given', 'options', 'error', 'reason'),
    [
        (message(['x'], [0.0]), {}, UnknownNameError, "joint 'x'"),
        (message(['a', 'a'], [0.0, 0.0]), {}, ArgumentError, "'a' twice"),
        (message(['a'], [0.0], [1.0, 2.0]), {'fields': ALL}, ArgumentError, '2 of velocity for 1'),
        (
            message(['a'], [0.0], [np.inf]),
            {'fields': ALL},
            ArgumentError,
            "velocity of joint 'a' is",
        ),
        (message(['a'], [0.0]), {'acceleration': [1.0, 2.0]}, ArgumentError, '2 of acceleration'),
        (message(['a'], [0.0]), {'measured': None}, ArgumentError, 'does not name b, c, and there'),
        (
            message(['b'], [0.0]),
            {'measured': JointState(*np.zeros((4, 3)), has_velocity=False), 'fields': ALL},
            ArgumentError,
            'a, c, and their velocity is not',
        ),
    ],
)
def test_refused(given, options, error, reason):
    with pytest.raises(error, match=reason):
        read_requested_state(given, JOINTS, **{'measured': MEASURED, **options})


def test_latest_state_is_a_copy_and_gets_out_of_date():
    mapper = JointStateMapper(JOINTS, policies=Policies(state_timeout=1000.0))
    assert latest(mapper) is None
    numbers = np.array([1.0, 2.0, 3.0])
    sent = JointStateMessage.of(JOINTS, numbers, numbers, np.zeros(0), 10**9)
    assert mapper.update(sent)
    state = latest(mapper)
    mapper.q[:] = 0.0
    np.testing.assert_array_equal(state.q, numbers)
    assert (state.stamp, state.has_velocity) == (10**9, True)
    mapper.last_accepted -= 1001.0
    assert latest(mapper) is None


def test_no_state_is_the_latest_after_time_went_back_with_a_message_of_no_use(monkeypatch):
    """The history is dropped, and zeros are not where the robot is."""
    for module in (mappers, requested_state):
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: 100.0))
    mapper, numbers = JointStateMapper(JOINTS), np.array([1.0, 2.0, 3.0])
    assert mapper.update(JointStateMessage.of(JOINTS, numbers, numbers, numbers, 100 * 10**9))
    assert latest(mapper) is not None
    bad = JointStateMessage.of(JOINTS, np.full(3, np.nan), numbers, numbers, 10 * 10**9)
    assert not mapper.update(bad)
    assert latest(mapper) is None
    assert mapper.update(JointStateMessage.of(JOINTS, numbers, numbers, numbers, 11 * 10**9))
    assert latest(mapper).stamp == 11 * 10**9


@pytest.mark.parametrize('count', [1, 3000])
def test_request_of_many_names_is_read_in_time_in_proportion(count):
    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

    joints = [f'joint{i}' for i in range(count)]
    sent = message([Counted(name) for name in joints], [0.0] * count)
    read_requested_state(sent, joints)
    assert Counted.compared < 20 * count
