# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Subscriptions whose callbacks receive the sending time or the publisher of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from ..compatibility import hide_from_executors, message_receiver, request_message_info
from ..process.faults import FAULTS
from ..process.timers import every
from .taken_message import HandleInUse, TakenMessage

LOOK_PERIOD_S = 0.002  # between looks for messages with their publishers
MAX_TAKEN = 10  # messages at one look


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


def pass_publishers(
    node: Node,
    subscription: Subscription,
    callback: Callable[[bytes, dict[str, Any]], None],
    max_bytes: int,
) -> None:
    """Call ``callback(data, info)`` with the 'publisher' of each message, see `TakenMessage`.

    Executors, which do not pass it, no longer see the subscription: messages are looked for every
    `LOOK_PERIOD_S`. Of longer messages only `max_bytes` are passed. Raises `ScrewDynamicsError` if
    that is not possible here.
    """
    taken = TakenMessage()
    hide_from_executors(node, subscription)

    def look() -> None:
        handle = HandleInUse(subscription.handle)
        for _ in range(MAX_TAKEN):
            if not taken.take(handle.address):
                break
            callback(taken.data(max_bytes), {'publisher': taken.publisher})

    every(node, LOOK_PERIOD_S, FAULTS.guarded(f'messages of {subscription.topic_name}', look))
