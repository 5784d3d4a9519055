# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations of a frame in another one, by the transforms of others."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip('rclpy')

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import MissingStateError
from screw_dynamics_ros.ros.topics import frame_chain
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

RNG = np.random.default_rng(2)
TURNS = Rotation.random(4, rng=RNG)


class Node:
    """Keeps what is subscribed."""

    def __init__(self):
        self.topics = {}

    def create_subscription(self, kind, topic, callback, profile, raw):
        assert (kind, raw) == (TFMessage, True)
        self.topics[topic] = callback, profile


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that tests turn."""
    now = SimpleNamespace(value=100.0)
    monkeypatch.setattr(frame_chain, 'time', SimpleNamespace(monotonic=lambda: now.value))
    return now


def transform(parent, child, turn, scale=1.0):
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    values = (scale * turn.as_quat()).tolist()
    r = message.transform.rotation
    r.x, r.y, r.z, r.w = values
    return message


def sent(*transforms):
    return serialize_message(TFMessage(transforms=list(transforms)))


def made(frame='tool'):
    node = Node()
    chain = FrameChain(node, TFMessage, frame, lambda: None)
    moving, fixed = (node.topics[topic][0] for topic in ('/tf', '/tf_static'))
    return chain, moving, fixed


def test_static_transforms_are_received_late():
    node = Node()
    FrameChain(node, TFMessage, 'tool', lambda: None)
    kept = {topic: profile.durability for topic, (_, profile) in node.topics.items()}
    assert kept == {
        '/tf': DurabilityPolicy.VOLATILE,
        '/tf_static': DurabilityPolicy.TRANSIENT_LOCAL,
    }
    assert all(profile.depth >= 100 for _, profile in node.topics.values())


def test_rotations_are_multiplied_along_the_chain(clock):
    """From the frame up to its ancestor; the arrival is that of the oldest link that moves."""
    chain, moving, fixed = made()
    fixed(sent(transform('/arm', '/tool', TURNS[0]), transform('map', 'odom', TURNS[3])))
    moving(sent(transform('base', 'arm', TURNS[1])))
    clock.value += 2.0
    moving(sent(transform('odom', 'base', TURNS[2])))
    clock.value += 0.5
    for world, turns, arrival in (
        ('tool', Rotation.identity(), np.inf),
        ('arm', TURNS[0], np.inf),
        ('base', TURNS[1] * TURNS[0], 100.0),
        ('odom', TURNS[2] * TURNS[1] * TURNS[0], 100.0),
        ('map', TURNS[3] * TURNS[2] * TURNS[1] * TURNS[0], 100.0),
    ):
        R, found = chain.rotation(world)
        np.testing.assert_allclose(R, turns.as_matrix(), atol=1e-12)
        assert found == arrival
    moving(sent(transform('base', 'arm', TURNS[3])))
    R, arrival = chain.rotation('odom')
    np.testing.assert_allclose(R, (TURNS[2] * TURNS[3] * TURNS[0]).as_matrix(), atol=1e-12)
    assert arrival == 102.0
    with pytest.raises(MissingStateError, match=r"'tool' to a frame 'world' .* ends at 'map'"):
        chain.rotation('world')


def test_only_the_frame_and_its_ancestors_are_followed(clock):
    """Of /tf; another frame may be chosen."""
    chain, moving, _ = made()
    moving(sent(transform('base', 'arm', TURNS[0])))  # not known to be an ancestor yet
    moving(sent(transform('arm', 'tool', TURNS[1]), transform('x', 'camera', TURNS[2])))
    with pytest.raises(MissingStateError, match="ends at 'arm'"):
        chain.rotation('base')
    moving(sent(transform('base', 'arm', TURNS[0])))
    np.testing.assert_allclose(
        chain.rotation('base')[0], (TURNS[0] * TURNS[1]).as_matrix(), atol=1e-12
    )
    chain.frame = 'camera'
    with pytest.raises(MissingStateError, match="ends at 'camera'"):
        chain.rotation('x')
    moving(sent(transform('x', 'camera', TURNS[2])))
    np.testing.assert_allclose(chain.rotation('x')[0], TURNS[2].as_matrix(), atol=1e-12)


@pytest.mark.parametrize(
    ('scale', 'is_taken'),
    [(0.0, False), (0.989, False), (0.991, True), (1.009, True), (1.011, False), (np.nan, False)],
)
def test_invalid_rotations_are_ignored(clock, scale, is_taken):
    chain, moving, _ = made()
    moving(sent(transform('arm', 'tool', TURNS[0], scale)))
    if is_taken:
        np.testing.assert_allclose(chain.rotation('arm')[0], TURNS[0].as_matrix(), atol=0.03)
    else:
        with pytest.raises(MissingStateError):
            chain.rotation('arm')


@pytest.mark.parametrize(
    ('scale', 'reason'),
    [
        (0.0, 'the orientation is not a unit quaternion: (0, 0, 0, 0)'),
        (np.nan, 'a number is not finite: orientation (nan, nan, nan, nan), position (0, 0, 0)'),
    ],
)
@pytest.mark.parametrize('is_known', [False, True])
def test_an_invalid_transform_of_the_chain_is_named_until_a_valid_one_comes(
    clock, scale, reason, is_known
):
    """Poses with an earlier transform would be those of another time."""
    chain, moving, fixed = made()
    fixed(sent(transform('map', 'base', TURNS[2]), transform('x', 'y', TURNS[0], scale)))
    if is_known:
        moving(sent(transform('base', 'tool', TURNS[0])))
    moving(sent(transform('base', 'tool', TURNS[0], scale)))
    for ask in (chain.rotation, chain.pose):
        with pytest.raises(MissingStateError) as error:
            ask('map')
        assert str(error.value) == f"the transform of 'tool' in 'base' is invalid: {reason}"
    moving(sent(transform('base', 'tool', TURNS[1])))
    expected = (TURNS[2] * TURNS[1]).as_matrix()
    np.testing.assert_allclose(chain.rotation('map')[0], expected, atol=1e-12)


def test_long_chains_and_loops_end(clock):
    chain, _, fixed = made('f0')
    fixed(sent(*(transform(f'f{k + 1}', f'f{k}', Rotation.identity()) for k in range(200))))
    assert chain.rotation('f99')[1] == np.inf
    with pytest.raises(MissingStateError, match="ends at 'f100'"):
        chain.rotation('f100')
    fixed(sent(transform('f0', 'f1', Rotation.identity())))
    with pytest.raises(MissingStateError):
        chain.rotation('f2')


def test_changes_are_told(clock):
    """After each message with transforms of the chain, also an invalid one."""
    node, found = Node(), []
    chain = FrameChain(
        node, TFMessage, 'tool', lambda: found.append((len(chain._links), len(chain._faults)))
    )
    moving, fixed = (node.topics[topic][0] for topic in ('/tf', '/tf_static'))
    moving(sent(transform('arm', 'camera', TURNS[0])))
    assert found == []
    moving(sent(transform('arm', 'tool', TURNS[0])))
    fixed(sent(transform('base', 'arm', TURNS[0])))
    moving(sent(transform('arm', 'tool', TURNS[0], 0.0)))
    assert found == [(1, 0), (2, 0), (2, 1)]


def test_other_bytes_are_not_read(clock):
    """A message that does not name the frame is not deserialized."""
    _, moving, _ = made()
    moving(b'no message')
