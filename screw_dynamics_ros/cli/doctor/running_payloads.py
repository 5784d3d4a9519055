# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads of links that running nodes publish on `~/payload_inertia/<link>`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.messages.inertias import read_inertia
from screw_dynamics_ros.ros.topics import qos

from .running_parameters import order_of_preference

TOPIC_PART = '/payload_inertia/'
MESSAGE_TYPE = 'geometry_msgs/msg/InertiaStamped'


def read_payloads(
    node: Node, turns: Callable[[float], Iterator[None]], patience: float
) -> dict[str, tuple[RigidBody, str]]:
    """Return payload and reporting node by link; without a payload the mass is zero.

    For several nodes, the priority is that of their parameters. `turns` and `patience` are as for
    `read_configuration`; without topics the function returns immediately.
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
        except ScrewDynamicsError:  # from another program
            continue
        found.setdefault(message.header.frame_id, (body, owner))
    return found
