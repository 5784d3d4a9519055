# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One topic of a node: its subscribers, and the message with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core.types import Array

from ..joint_states.policies import NEVER_STAMP
from ..messages.cdr import packed
from ..messages.serialized import Contents, Template
from ..process.python_function import PythonFunction
from ..process.rate_limit import RateLimit
from .channel_record import NOT_VALID, TRUE, ChannelRecord, Gate
from .publishers import raw_publish
from .snapshot import StateSnapshot

#: Returns the serialized message with a stamp (from `packed`); None if there is nothing to publish.
Encode = Callable[[bytes], 'bytes | None']

#: The condition of outputs that are not published for joint states.
NO_OUTPUT = Gate(TRUE, np.full(1, NOT_VALID, dtype=np.int64))


class Channel(ChannelRecord):
    """One topic, and the fields of a state that its message requires.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    message : Template or callable, optional
        A template with the current numbers, or a function that encodes the message; without one,
        messages are published by `send`.
    targets : mapping, optional
        Result of the model for each array of the template.
    velocity, effort : bool
        Whether the message requires velocities, efforts.
    name : str
        Name of the quantity, with its link if there are several; empty for outputs that are no part
        of a model state.
    numbers : (Contents, sequence of arrays), optional
        The numbers of a quantity, if they are not those of a template.
    gates : sequence of Gate
        Conditions for publishing.
    rate : RateLimit, optional
        There are no valid numbers before it is due.
    rank : int
        Channels of a lower rank are published first.
    is_held : bool
        Whether the model state repeats the last valid numbers.
    follows_states : bool
        Whether the messages depend on joint states and parameters only, so that replays repeat
        them.
    snapshot : StateSnapshot, optional
        Of the numbers that a gate leaves to Python.

    Attributes
    ----------
    topic : str
    listeners : int
        Number of subscribers at the last count.
    contents : Contents
    arrays : sequence of arrays
        The current numbers.
    refresh : callable, optional
        Writes numbers that do not depend on joint states, for the compiled loop.
    explain : callable, optional
        Returns why nothing is published, with the remedy, or an empty text.
    readers : list of Channel
        Topics with messages that contain the numbers.
    repeat : callable, optional
        Called with the stamp [ns] of messages of `put`, after their numbers are in the template.
    is_muted : bool
        Whether nothing is published on the topic because the model state has the numbers.
    """

    def __init__(
        self,
        publisher: Any,
        message: Template | Encode | None = None,
        targets: Mapping[Any, Array] | None = None,
        *,
        name: str = '',
        numbers: tuple[Contents, Sequence[Array]] | None = None,
        velocity: bool = False,
        effort: bool = False,
        gates: Sequence[Gate] = (),
        rate: RateLimit | None = None,
        rank: int = 0,
        is_held: bool = False,
        follows_states: bool = True,
        snapshot: StateSnapshot | None = None,
    ) -> None:
        self.publisher, self.topic = publisher, publisher.topic_name
        self.send = raw_publish(publisher)
        self.targets: Mapping[Any, Array] = targets or {}
        self.velocity, self.effort = velocity, effort
        self.is_held = is_held
        self.rank, self.follows_states, self.snapshot = rank, follows_states, snapshot
        if numbers is None and isinstance(message, Template):
            numbers = message.contents, message.arrays
        self.name = name if numbers is not None else ''
        self.contents, self.arrays = numbers or (Contents(), ())
        self.gates = gates
        self.sender = PythonFunction(f'output {self.topic}', self._send)
        self.state, self.is_muted = NOT_VALID, False
        self.readers: list[Channel] = []
        self.repeat: Callable[[int], None] | None = None
        self.valid_stamp = NEVER_STAMP
        self.message = message
        self._encode: Encode | None = message.encode if isinstance(message, Template) else message
        self.enabled = True
        self.refresh: Callable[[], None] | None = None
        self.rate = rate
        self.explain: Callable[[], str] | None = None
        self.explained = ''
        self.listeners = 0

    def _send(self) -> None:
        """Publish the numbers of the current joint state."""
        self.publish(packed(self.valid_stamp))

    def publish(self, stamp: bytes) -> None:
        """Publish the current message, if there is one, with a stamp from `packed`."""
        data = self._encode(stamp) if self._encode is not None else None
        if data is not None:
            self.send(data)
            self.published += 1

    def put(self, numbers: Array, stamp: int) -> None:
        """Publish the template with these numbers and this stamp [ns]."""
        assert isinstance(self.message, Template)
        self.send(self.message.fill(numbers, stamp))
        self.published += 1
        self.valid_stamp = stamp
        if self.repeat is not None:
            self.repeat(stamp)

    def count_listeners(self) -> None:
        """Count the subscriptions."""
        self.listeners = self.publisher.get_subscription_count()

    @property
    def is_sent(self) -> bool:
        """Whether messages are published: the topic had subscribers when they were last counted."""
        return self.enabled and not self.is_muted and self.listeners > 0

    @property
    def listened(self) -> bool:
        """Whether the numbers are needed: by subscribers, or in other messages."""
        return self.is_sent or any(reader.listeners > 0 for reader in self.readers)
