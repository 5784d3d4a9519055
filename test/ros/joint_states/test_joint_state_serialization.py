# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Renamed joint states are those that `rosbags`, an independent writer, makes."""

import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.ros.joint_states.layouts import MAX_NAMES, located
from screw_dynamics_ros.ros.joint_states.serialization import renamed
from support.recordings import joint_state


@pytest.mark.parametrize('frame', ['', 'base', 'a_frame'])
@pytest.mark.parametrize('effort', [(), (5.0, 6.0, 7.0)])
def test_all_lengths_of_names(frame, effort):
    old = ('a', 'joint_two', 'c')
    for name in ('x', 'xy', 'xyz', 'wxyz', 'a_much_longer_name'):
        before, after = (
            joint_state(123_456, names, (1.0, 2.0, 3.0), (), effort, frame)
            for names in (old, ('a', name, 'c'))
        )
        assert renamed(before, {'joint_two': name, 'unknown': 'z'}) == after


@pytest.mark.parametrize(('count', 'is_read'), [(MAX_NAMES, True), (MAX_NAMES + 1, False)])
def test_the_number_of_names_has_a_bound(count, is_read):
    data = joint_state(1, [''] * count)
    if is_read:
        assert len(located(data)[0].names) == count
    else:
        with pytest.raises(ValueError, match=f'{count} names, at most {MAX_NAMES}'):
            located(data)


def test_what_is_no_joint_state_stays():
    data = joint_state(1, ('a',), (1.0,))
    for wrong in (b'', data[:-3], b'\0\0' + data[2:]):
        assert renamed(wrong, {'a': 'b'}) == wrong
