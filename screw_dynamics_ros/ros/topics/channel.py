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
from .channel_record import FOR_PYTHON, NOT_VALID, TRUE, VALID, ChannelRecord, Gate
from .publishers import raw_publish

#: Returns the serialized message with a stamp (from `packed`); None if there is nothing to publish.
Encode = Callable[[bytes], 'bytes | None']

#: The condition of outputs whose validity Python decides.
IN_PYTHON = Gate(TRUE, np.full(1, FOR_PYTHON, dtype=np.int64))
#: The condition of outputs that are not published for joint states.
NO_OUTPUT = Gate(TRUE, np.full(1, NOT_VALID, dtype=np.int64))


class Channel(ChannelRecord):
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
    name : str
        Name of the quantity, with its link if there are several; empty for outputs that are no part
        of a model state.
    numbers : (Contents, sequence of arrays), optional
        The numbers of a quantity, if they are not those of a template.
    gates : sequence of Gate, optional
        Conditions for publishing; None: `is_valid` is the only one.
    is_valid : callable, optional
        Whether there is something to publish, where the gates leave it to Python; may compute the
        numbers.
    rate : RateLimit, optional
        There are no valid numbers before it is due.
    rank : int
        Channels of a lower rank are published first.
    is_held : bool
        Whether the model state repeats the last valid numbers.
    follows_states : bool
        Whether the messages depend on joint states and parameters only, so that replays repeat
        them.

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
    is_read : bool
        Whether the model state reads the numbers.
    is_muted : bool
        Whether nothing is published on the topic because the model state has the numbers.
    """

    def __init__(
        self,
        publisher: Any,
        message: Template | Encode,
        targets: Mapping[Any, Array] | None = None,
        *,
        name: str = '',
        numbers: tuple[Contents, Sequence[Array]] | None = None,
        velocity: bool = False,
        effort: bool = False,
        is_valid: Callable[[], bool] | None = None,
        gates: Sequence[Gate] | None = None,
        rate: RateLimit | None = None,
        rank: int = 0,
        is_held: bool = False,
        follows_states: bool = True,
    ) -> None:
        self.publisher, self.topic = publisher, publisher.topic_name
        self.send = raw_publish(publisher)
        self.targets: Mapping[Any, Array] = targets or {}
        self.velocity, self.effort = velocity, effort
        self.is_valid, self.is_held = is_valid, is_held
        self.rank, self.follows_states = rank, follows_states
        if numbers is None and isinstance(message, Template):
            numbers = message.contents, message.arrays
        self.name = name if numbers is not None else ''
        self.contents, self.arrays = numbers or (Contents(), ())
        self.gates = gates if gates is not None else () if is_valid is None else (IN_PYTHON,)
        self.check = PythonFunction(f'output {self.topic}', self._check)
        self.sender = PythonFunction(f'output {self.topic}', self._send)
        self.state, self.is_read, self.is_muted = NOT_VALID, False, False
        self.valid_stamp = NEVER_STAMP
        self.message = message
        self._encode: Encode = message.encode if isinstance(message, Template) else message
        self.enabled = True
        self.refresh: Callable[[], None] | None = None
        self.rate = rate
        self.explain: Callable[[], str] | None = None
        self.explained = ''
        self.listeners = 0

    def _check(self) -> int:
        return VALID if self.is_valid is not None and self.is_valid() else NOT_VALID

    def _send(self) -> None:
        """Publish the numbers of the current joint state."""
        self.publish(packed(self.valid_stamp))

    def publish(self, stamp: bytes) -> None:
        """Publish the current message, if there is one, with a stamp from `packed`."""
        data = self._encode(stamp)
        if data is not None:
            self.send(data)
            self.published += 1

    def put(self, numbers: Array, stamp: int) -> None:
        """Publish the template with these numbers and this stamp [ns]."""
        assert isinstance(self.message, Template)
        self.send(self.message.fill(numbers, stamp))
        self.published += 1

    def count_listeners(self) -> None:
        """Count the subscriptions."""
        self.listeners = self.publisher.get_subscription_count()

    @property
    def is_sent(self) -> bool:
        """Whether messages are published: the topic had subscribers when they were last counted."""
        return self.enabled and not self.is_muted and self.listeners > 0

    @property
    def listened(self) -> bool:
        """Whether the numbers are needed: by subscribers, or by the model state."""
        return self.is_read or self.is_sent
