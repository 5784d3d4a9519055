# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that wait in the middleware until they are read, without executor or thread.

For programs that display data at their own rate: arriving messages do not wake the process.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

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
