"""Work that can wait: done a piece at a time after joint states, when their outputs are on the way.

Drawings, measures and statuses take as long as an answer or longer. Between two joint states at
500 Hz there is time for one of them, not for all that happens to be due at once.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable

from rclpy.node import Node

from screw_dynamics_ros.ros.timers import every

IDLE = 0.05  # s without a joint state, from which timers need not wait for one
SPARING = 0.01  # s between pieces while states are behind

Piece = Callable[[], None]


class SpareTime:
    """Pieces of work in the order in which they came.

    Parameters
    ----------
    node : rclpy.node.Node
        Has the timers.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: deque[tuple[object, Piece]] = deque()
        self._last_used = -math.inf
        self._last_work = -math.inf

    def add(self, owner: object, pieces: Iterable[Piece]) -> None:
        """Do pieces after the next joint states; `owner` is who may drop them."""
        self._waiting.extend((owner, piece) for piece in pieces)

    def has(self, owner: object) -> bool:
        """Whether pieces of `owner` are left."""
        return any(of is owner for of, _ in self._waiting)

    def drop(self, owners: Iterable[object]) -> None:
        """Forget the pieces of some owners."""
        dropped = {id(owner) for owner in owners}
        self._waiting = deque(item for item in self._waiting if id(item[0]) not in dropped)

    def every(self, period: float, callback: Piece) -> None:
        """Call `callback` each `period` [s] of real time, between joint states if there are any."""
        owner = object()

        def offer() -> None:
            if time.monotonic() - self._last_used > IDLE:
                self._work(math.inf)
                callback()
            elif not self.has(owner):
                self.add(owner, [callback])

        every(self._node, period, offer)

    def use(self, until: float, behind: bool) -> None:
        """Do the next piece, and more while it is not yet `until` on the monotonic clock [s].

        To be called after each joint state; `behind` says that the next one may wait already.
        """
        self._last_used = time.monotonic()
        if not behind or self._last_used - self._last_work > SPARING:
            self._work(until)

    def _work(self, until: float) -> None:
        while self._waiting:
            _, piece = self._waiting.popleft()
            piece()
            self._last_work = time.monotonic()
            if self._last_work > until:
                return
