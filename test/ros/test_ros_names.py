# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topic names made of any frame name are valid and distinct."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.ros.names import (
    MAX_SHOWN_LENGTH,
    check_joint_names,
    shorten,
    shown,
    topic_tokens,
)


def test_ordinary_names_stay():
    assert topic_tokens(['panda_hand_tcp', 'tool0']) == {
        'panda_hand_tcp': 'panda_hand_tcp',
        'tool0': 'tool0',
    }


@pytest.mark.parametrize(
    ('frames', 'tokens'),
    [
        (['left/tool-1.a'], ['left_tool_1_a']),
        (['1st'], ['_1st']),
        (['a b', 'a-b', 'a_b'], ['a_b', 'a_b_2', 'a_b_3']),
        (['a_b_2', 'a_b', 'a-b'], ['a_b_2', 'a_b', 'a_b_3']),
        ([''], ['_']),
    ],
)
def test_other_names_are_made_valid(frames, tokens):
    assert list(topic_tokens(frames).values()) == tokens


@settings(deadline=None, derandomize=True)  # the first one imports rclpy
@given(st.lists(st.text(max_size=6), max_size=6, unique=True))
def test_rclpy_accepts_them(frames):
    validate = pytest.importorskip('rclpy.validate_full_topic_name').validate_full_topic_name
    tokens = topic_tokens(frames)
    assert list(tokens) == frames
    assert len(set(tokens.values())) == len(frames)
    for token in tokens.values():
        validate(f'/kinematics/jacobian/{token}')


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('panda_joint1', 'panda_joint1'),
        ('Gelenk äöü 関節', 'Gelenk äöü 関節'),
        ('a\nb\x1b[31m\0', 'a\\nb\\x1b[31m\\x00'),
        ('\u202egnp', '\\u202egnp'),  # turns the direction of writing round
        ('\ud800', '\\ud800'),
        ('x' * 10_000, 'x' * MAX_SHOWN_LENGTH + '...'),
    ],
)
def test_foreign_names_for_people(name, text):
    assert shown(name) == text


@settings(deadline=None)
@given(st.lists(st.text(max_size=200), max_size=100))
def test_foreign_names_never_make_long_texts(names):
    text = shorten(names)
    assert len(text) <= 8 * (10 * MAX_SHOWN_LENGTH + 5) + 30
    assert text.isprintable()


def test_names_of_requests_are_checked_in_time_in_proportion():
    """30 000 names took minutes."""

    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

    joints = [f'joint{i}' for i in range(2_000)]
    check_joint_names('joint_state', [Counted(name) for name in joints], joints)
    assert Counted.compared < 10 * len(joints)


def test_names_in_refusals_are_cut_short():
    with pytest.raises(UnknownNameError) as refused:
        check_joint_names('joint_state', ['\n' + 'x' * 10_000], ['a'])
    assert str(refused.value).startswith("joint_state names joint '\\nxxx")
    assert len(str(refused.value)) < 300
    long = 'y' * 10_000
    with pytest.raises(ArgumentError) as refused:
        check_joint_names('joint_state', [long, long], [long])
    assert len(str(refused.value)) < 300
