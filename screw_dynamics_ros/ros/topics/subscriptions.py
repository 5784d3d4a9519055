# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Subscriptions whose callbacks receive the sending time of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from screw_dynamics_ros.ros.compatibility import message_receiver, request_message_info


def subscribe(
    node: Node,
    kind: type,
    topic: str,
    callback: Callable[[Any, dict[str, Any]], None],
    profile: QoSProfile,
    **options: Any,
) -> Subscription:
    """Call ``callback(message, info)``; options as for `Node.create_subscription`.

    `info` has the metadata of the middleware, such as 'source_timestamp' [ns]; it is empty if rclpy
    does not pass it.
    """
    receive = message_receiver(callback)
    subscription = node.create_subscription(kind, topic, receive, profile, **options)
    request_message_info(subscription)
    return subscription
