"""Topic names made of any frame name are valid and distinct."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screw_dynamics_ros.ros.names import topic_tokens


def test_ordinary_names_stay():
    assert topic_tokens(['panda_hand_tcp', 'tool0']) == {
        'panda_hand_tcp': 'panda_hand_tcp', 'tool0': 'tool0'}


@pytest.mark.parametrize(('frames', 'tokens'), [
    (['left/tool-1.a'], ['left_tool_1_a']),
    (['1st'], ['_1st']),
    (['a b', 'a-b', 'a_b'], ['a_b', 'a_b_2', 'a_b_3']),
    (['a_b_2', 'a_b', 'a-b'], ['a_b_2', 'a_b', 'a_b_3']),
    ([''], ['_']),
])
def test_other_names_are_made_valid(frames, tokens):
    assert list(topic_tokens(frames).values()) == tokens


@given(st.lists(st.text(max_size=6), max_size=6, unique=True))
def test_rclpy_accepts_them(frames):
    validate = pytest.importorskip('rclpy.validate_full_topic_name').validate_full_topic_name
    tokens = topic_tokens(frames)
    assert list(tokens) == frames
    assert len(set(tokens.values())) == len(frames)
    for token in tokens.values():
        validate(f'/kinematics/jacobian/{token}')
