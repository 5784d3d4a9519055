# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One topic of a node: its subscribers, and the message with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.topics.publishers import raw_publish

#: Returns the serialized message with a stamp (from `packed`); None if there is nothing to publish.
Encode = Callable[[bytes], 'bytes | None']


class Channel:
    """One topic, and the fields of a state that its message requires.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    message : Template or callable
        A template with the current numbers, or a function that encodes the message.
    targets : mapping, optional
        Result of the model for each array of the template.
    velocity, effort : bool
        Whether the message requires velocities, efforts.
    is_valid : callable, optional
        Whether there is something to publish; may compute the numbers.
    rank : int
        Channels of a lower rank are published first.
    follows_states : bool
        Whether the messages depend on joint states and parameters only, so that replays repeat
        them.

    Attributes
    ----------
    topic : str
    listeners : int
        Number of subscribers at the last count.
    published : int
        Number of published messages.
    """

    def __init__(
        self,
        publisher: Any,
        message: Template | Encode,
        targets: Mapping[Any, Array] | None = None,
        *,
        velocity: bool = False,
        effort: bool = False,
        is_valid: Callable[[], bool] | None = None,
        rank: int = 0,
        follows_states: bool = True,
    ) -> None:
        self.publisher, self.topic = publisher, publisher.topic_name
        self.send = raw_publish(publisher)
        self.targets: Mapping[Any, Array] = targets or {}
        self.velocity, self.effort = velocity, effort
        self.is_valid, self.rank, self.follows_states = is_valid, rank, follows_states
        self._message = message
        self._encode: Encode = message.encode if isinstance(message, Template) else message
        self.enabled = True
        self.listeners = self.published = 0

    def publish(self, stamp: bytes) -> None:
        """Publish the current message, if there is one, with a stamp from `packed`."""
        data = self._encode(stamp)
        if data is not None:
            self.send(data)
            self.published += 1

    def put(self, numbers: Array, stamp: int) -> None:
        """Publish the template with these numbers and this stamp [ns]."""
        assert isinstance(self._message, Template)
        self.send(self._message.fill(numbers, stamp))
        self.published += 1

    def count_listeners(self) -> None:
        """Count the subscriptions."""
        self.listeners = self.publisher.get_subscription_count()

    @property
    def listened(self) -> bool:
        """Whether the topic is enabled and had subscribers when they were last counted."""
        return self.enabled and self.listeners > 0
