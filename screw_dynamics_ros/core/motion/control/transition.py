# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Changes that take some time.

>>> halfway = Transition(begin=10.0, duration=4.0)
>>> [halfway.share(now) for now in (9.0, 10.0, 11.0, 14.0, 20.0)]
[0.0, 0.0, 0.25, 1.0, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass

from screw_dynamics_ros.core.compile.typed.functions import typed
from screw_dynamics_ros.core.errors import ArgumentError

MAX_DURATION_S = 3600.0  # that a transition may take


@dataclass(frozen=True, eq=False)
class Transition:
    """What something is at `begin` [s] becomes something else over `duration` [s]."""

    begin: float
    duration: float

    def share(self, now: float) -> float:
        """Return s, 0 until the begin and 1 from the end on; at once if the duration is 0."""
        return share_at(self.begin, self.duration, now)


@typed
def share_at(begin: float, duration: float, now: float) -> float:
    """Return `Transition.share`."""
    if now >= begin + duration:
        return 1.0
    return max(0.0, now - begin) / duration if duration != 0.0 else 0.0


def check_duration(duration: float) -> None:
    """Raise `ArgumentError` unless a transition can take so long [s]."""
    if not 0.0 <= duration <= MAX_DURATION_S:
        raise ArgumentError(
            f'the transition time must be in [0, {MAX_DURATION_S:g}] s, got {duration!r}'
        )
