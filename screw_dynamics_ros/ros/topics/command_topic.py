# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that command a robot: the newest message of one publisher, read between joint states.

Messages wait in the middleware, so that many of them, and large ones, cost little. Each look takes
at most `DEPTH` of them and converts one. Looks are frequent while short messages come.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from screw_dynamics_ros.core.errors import ScrewDynamicsError

from ..compatibility import hide_from_executors
from ..names import printable, shorten
from ..process.faults import FAULTS
from ..process.state_lock import STATE_LOCK
from ..process.timers import every
from ..status import Status
from .taken_message import HandleInUse, TakenMessage, publisher_names

DEPTH = 10  # messages
MAX_BYTES = 2**19  # of a message that is read
LOOK_PERIOD_S = 0.02  # between looks
STREAM_PERIOD_S = 0.001  # between looks while short messages come
STREAM_TIMEOUT_S = 0.1  # after the last of them
STREAM_BYTES = 4096  # of a short message
GRAPH_PERIOD_S = 0.1  # between looks whether the followed publisher still exists
MAX_OTHERS = 16  # publishers that are remembered
NAMED_TIME_S = 3.0  # for which others are reported after their last message


class CommandTopic:
    """A subscription that follows one publisher until it is silent or no longer exists.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Message type.
    topic : str
    receive : callable
        Called with a message; the lock of states is held.
    refuse : callable
        Called with the reason for which a message is not read.
    timeout : callable
        Returns the time [s] after which a publisher is silent.
    is_busy : callable
        Whether the last message is still being followed.
    forgotten : callable
        Returns how often messages have been forgotten; after that, the publisher that sends next is
        followed.
    profile : rclpy.qos.QoSProfile
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        receive: Callable[[Any], None],
        refuse: Callable[[str], None],
        timeout: Callable[[], float],
        is_busy: Callable[[], bool] = lambda: False,
        forgotten: Callable[[], int] = lambda: 0,
        profile: QoSProfile = QoSProfile(depth=DEPTH),  # noqa: B008
    ) -> None:
        self._node, self._kind, self.topic, self._receive = node, kind, topic, receive
        self._refuse, self._timeout, self._is_busy = refuse, timeout, is_busy
        self._forgotten, self._released = forgotten, 0
        self._followed, self._heard = b'', -math.inf
        self._others: dict[bytes, float] = {}  # publishers, and when they were heard
        self._looked = self._stream_end = -math.inf
        deliver = FAULTS.guarded(f'a message on {topic}', self._use)
        self._subscription = node.create_subscription(kind, topic, deliver, profile, raw=True)
        self._taken: TakenMessage | None = None
        try:
            self._taken = TakenMessage()
            hide_from_executors(node, self._subscription)
        except ScrewDynamicsError:  # the executor delivers messages, without their publishers
            self._taken = None
        else:
            self._timer = every(node, LOOK_PERIOD_S, self.look)

    # --- messages -------------------------------------------------------------------------------

    def look(self) -> None:
        """Use the newest message, if one waits."""
        data, now = self._newest(), time.monotonic()
        if data is not None:
            self._stream_end = now + STREAM_TIMEOUT_S if len(data) <= STREAM_BYTES else -math.inf
            self._use(data)
        period = round(1e9 * (STREAM_PERIOD_S if now < self._stream_end else LOOK_PERIOD_S))
        if self._timer.timer_period_ns != period:
            self._timer.timer_period_ns = period

    def _use(self, data: bytes) -> None:
        is_long = len(data) > MAX_BYTES
        message = None if is_long else deserialize_message(data, self._kind)
        with STATE_LOCK:
            if is_long:
                self._refuse(f'a message is longer than {MAX_BYTES} bytes')
            else:
                self._receive(message)

    def _newest(self) -> bytes | None:
        """Return the newest waiting message of the publisher that is followed.

        Of one that is too long only as much as shows it.
        """
        taken, newest = self._taken, None
        if taken is None:
            return None
        if self._forgotten() != self._released:
            self._released = self._forgotten()
            self._followed, self._heard = b'', -math.inf
            self._others.clear()
        subscription = HandleInUse(self._subscription.handle)
        for _ in range(DEPTH):
            if not taken.take(subscription.address):
                break
            if self._follows(taken.publisher):
                newest = taken.data(MAX_BYTES + 1)
        return newest

    # --- publishers -----------------------------------------------------------------------------

    def _follows(self, publisher: bytes) -> bool:
        """Return whether a message of a publisher is used."""
        now = time.monotonic()
        if publisher != self._followed:
            if not self._is_free(now, publisher):
                if publisher in self._others or len(self._others) < MAX_OTHERS:
                    self._others[publisher] = now
                return False
            self._others.pop(publisher, None)
            self._followed = publisher
        self._heard = now
        return True

    def _is_free(self, now: float, publisher: bytes) -> bool:
        """Return whether another publisher may be followed."""
        if not self._followed or (now - self._heard > self._timeout() and not self._is_busy()):
            return True
        if now - self._looked < GRAPH_PERIOD_S:
            return False
        self._looked = now
        names = self._names()  # by other identifiers than those of messages in some middleware
        return publisher in names and self._followed not in names

    def _names(self) -> dict[bytes, str]:
        """Return the names of the nodes that publish, by publisher."""
        return publisher_names(self._node, self._subscription.topic_name)

    def report(self, status: Status) -> None:
        """Name all publishers, if there are several."""
        now = time.monotonic()
        others = [each for each, heard in self._others.items() if now - heard < NAMED_TIME_S]
        if not others and self._taken is not None:
            return
        names = self._names()
        if self._taken is None:
            if len(names) > 1:
                listed = shorten(sorted(names.values()))
                status.warn(printable(f'{self.topic}: all of {listed} are followed'))
            return
        followed, *ignored = (
            names.get(each, 'an unknown publisher') for each in (self._followed, *others)
        )
        status.warn(
            printable(
                f'{self.topic} has several publishers: {followed} is followed, messages of '
                f'{shorten(sorted(set(ignored)))} are ignored until it is silent'
            )
        )
