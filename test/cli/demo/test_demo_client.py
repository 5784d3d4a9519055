# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The client of the demo, with topics that arrive unequally late."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from screw_dynamics_ros.cli.demo.recording import STAMPED, Push
from screw_dynamics_ros.cli.demo.report import compare_completeness

PUSH = Push((8.0, -5.0, 12.0), start=2.0, end=6.0)
TOPICS = {
    'joint_states': 'joint_states',
    'tf': '/tf',
    'wrench': 'wrench_estimator/wrench/tool',
    **{name: f'dynamics/{name}' for name in ('gravity', 'coriolis', 'feedforward')},
}


def message_of(name: str, stamp: int) -> Any:
    """Return a message of a series, with its stamp [ns]."""
    from geometry_msgs.msg import TransformStamped, WrenchStamped
    from sensor_msgs.msg import JointState
    from tf2_msgs.msg import TFMessage

    if name == 'tf':
        stamped = TransformStamped(child_frame_id='tool')
        stamped.header.frame_id = 'base'
        message = TFMessage(transforms=[stamped])
    elif name == 'wrench':
        message = stamped = WrenchStamped()
    else:
        message = stamped = JointState(name=['a'], position=[0.0], velocity=[0.0], effort=[0.0])
    stamped.header.stamp.nanosec = stamp
    return message


@pytest.mark.parametrize(('lost', 'percent'), [((), 0.0), ((8,), 25.0), ((4,), 0.0)])
def test_joint_states_may_lag_behind_the_outputs(lost: tuple[int, ...], percent: float):
    """Outputs that were received before the recording began are not missing in it."""
    pytest.importorskip('rclpy')
    pytest.importorskip('tf2_msgs.msg')
    from rclpy.serialization import serialize_message

    from screw_dynamics_ros.cli.demo.client import Client

    heard: dict[str, Callable[[bytes], None]] = {}

    def subscribe(kind: type, topic: str, callback: Callable[[bytes], None], *_: Any, **__: Any):
        heard[topic] = callback

    node = SimpleNamespace(create_subscription=subscribe, create_publisher=lambda *_: None)
    client = Client(node, 'tool', 0.005, 10)  # type: ignore[arg-type]

    def receive(name: str, stamp: int) -> None:
        heard[TOPICS[name]](serialize_message(message_of(name, stamp)))

    receive('joint_states', 2)
    for name in STAMPED:
        receive(name, 5 if name != 'wrench' else 6)
    recording = client.begin(PUSH)
    for stamp in range(3, 11):
        receive('joint_states', stamp)
    client.end()
    for name in STAMPED:
        assert name in client.late
        for stamp in range(6 if name != 'wrench' else 7, 11):
            if stamp not in lost:
                receive(name, stamp)
    assert not set(STAMPED) & set(client.late)
    comparison = compare_completeness(recording)
    assert comparison.value == percent
    assert comparison.passed == (not percent)
