# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the links carry, as the running nodes tell on `~/payload_inertia/<link>`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from screw_dynamics_ros.cli.doctor.running_parameters import order_of_preference
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.messages.inertias import read_inertia
from screw_dynamics_ros.ros.topics import qos

TOPIC_PART = '/payload_inertia/'
MESSAGE_TYPE = 'geometry_msgs/msg/InertiaStamped'


def read_payloads(
    node: Node, turns: Callable[[float], Iterator[None]], patience: float
) -> dict[str, tuple[RigidBody, str]]:
    """Return by link what it carries, and the node that says so; mass zero where that is nothing.

    Of several nodes that tell of a link the one counts whose parameters would. `turns` and
    `patience` are as for `read_configuration`; nothing is waited for where there are no topics.
    """
    space = node.get_namespace().rstrip('/') + '/'
    topics = [
        topic
        for topic, kinds in node.get_topic_names_and_types()
        if topic.startswith(space) and TOPIC_PART in topic and MESSAGE_TYPE in kinds
    ]
    heard: dict[str, Any] = {}
    subscriptions = [
        node.create_subscription(
            InertiaStamped, topic, partial(heard.__setitem__, topic), qos.LATCHED
        )
        for topic in topics
    ]
    end = time.monotonic() + patience
    for _ in turns(patience):
        if len(heard) == len(topics) or time.monotonic() > end:
            break
    for subscription in subscriptions:
        node.destroy_subscription(subscription)
    found: dict[str, tuple[RigidBody, str]] = {}
    for topic in sorted(
        heard, key=lambda topic: order_of_preference(topic.partition(TOPIC_PART)[0])
    ):
        message, owner = heard[topic], topic.partition(TOPIC_PART)[0]
        try:
            body = read_inertia(message.inertia, topic)
        except ScrewDynamicsError:  # of another program
            continue
        found.setdefault(message.header.frame_id, (body, owner))
    return found
