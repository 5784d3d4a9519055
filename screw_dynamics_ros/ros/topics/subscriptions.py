# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Subscriptions with the sending time or the publisher of messages, or read without an executor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

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


MAX_BYTES = 2**18  # of a message that is read


class ReceivedMessage(NamedTuple):
    """A serialized message, and its time of arrival on the clock of this machine [ns]."""

    data: bytes
    received: int


class PolledTopic:
    """The unread messages of a topic.

    Parameters
    ----------
    node : rclpy.node.Node
        Needs no executor.
    kind : type
        Message type.
    topic : str
    profile : QoSProfile
        Its depth is the largest number of waiting messages; older ones are dropped.
    max_bytes : int
        Larger messages are dropped.

    Attributes
    ----------
    too_large : int
        Number of messages dropped because of their size.
    """

    def __init__(
        self, node: Node, kind: type, topic: str, profile: QoSProfile, max_bytes: int = MAX_BYTES
    ) -> None:
        self._node, self._max_bytes, self.too_large = node, max_bytes, 0
        self._depth = profile.depth
        self._subscription: Subscription = node.create_subscription(
            kind, topic, lambda data: None, profile, raw=True
        )

    @property
    def publishers(self) -> int:
        """Number of publishers of the topic."""
        return int(self._node.count_publishers(self._subscription.topic_name))

    def read(self) -> list[ReceivedMessage]:
        """Return the waiting messages, oldest first; at most as many as the depth."""
        messages = []
        handle, kind = self._subscription.handle, self._subscription.msg_type
        with handle:
            for _ in range(self._depth):
                taken = handle.take_message(kind, True)
                if taken is None:
                    break
                data, info = taken
                if len(data) > self._max_bytes:
                    self.too_large += 1
                    continue
                received = info.get('received_timestamp') or time.time_ns()
                messages.append(ReceivedMessage(data, received))
        return messages

    def newest(self) -> ReceivedMessage | None:
        """Return the newest waiting message, None without one."""
        messages = self.read()
        return messages[-1] if messages else None

    def close(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)
