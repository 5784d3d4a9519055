# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether several publishers of joint states report different positions of one joint.

The middleware does not pass on who sent a message. Of two publishers that disagree, messages jump
to other positions and back; a robot does not, from one message to the next.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection

from .contents import JointStateMessage

MIN_STEP = 0.05  # rad, m; smaller differences are delays of a publisher while the robot moves
MAX_REST = 0.25  # of the step, between the position before it and the one after it
MIN_RETURNS = 3  # within `WINDOW`
WINDOW = 100  # messages


class DriverComparison:
    """Compares the positions in consecutive messages.

    Examples
    --------
    >>> comparison = DriverComparison()
    >>> for q in (0.5, 0.2) * 3:
    ...     message = JointStateMessage.of(('a',), [q], [], [], 0)
    ...     fault = comparison.fault(message, {'a'})
    >>> fault
    'a is at 0.5 in some messages, at 0.2 in others'
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[float, float]] = {}  # the last two
        self._returns: deque[int] = deque(maxlen=MIN_RETURNS)  # numbers of messages
        self._count, self._text = 0, ''

    def fault(self, message: JointStateMessage, joints: Collection[str]) -> str:
        """Return how publishers disagree on some joints, including this message; empty if not."""
        self._count += 1
        has_returned = False
        for name, value in zip(message.names, message.position.tolist()):
            if name not in joints:
                continue
            first, last = self._values.get(name, (value, value))
            self._values[name] = last, value
            if not has_returned and returns(last - first, value - last):
                has_returned = True
                self._text = f'{name} is at {last:.4g} in some messages, at {value:.4g} in others'
        if has_returned:
            self._returns.append(self._count)
        while self._returns and self._count - self._returns[0] > WINDOW:
            self._returns.popleft()
        return self._text if len(self._returns) == MIN_RETURNS else ''


def returns(step: float, back: float) -> bool:
    """Whether a position steps away and back, up to multiples of 2 pi that drivers add.

    Steps in one direction are no return: a wheel may turn by half a turn from message to message.
    """
    away, home = wrapped(step), wrapped(back)
    least = min(abs(away), abs(home))
    if not (step * back < 0.0 and away * home < 0.0):
        return False
    return least > MIN_STEP and abs(away + home) < MAX_REST * least


def wrapped(difference: float) -> float:
    """Return a difference without multiples of 2 pi, which drivers of revolute joints add."""
    return math.remainder(difference, math.tau) if math.isfinite(difference) else 0.0
