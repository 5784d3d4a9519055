# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report on commanded torques: the mode, and the active limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from screw_dynamics_ros.core.types import Array


class Mode(Enum):
    """What is commanded at present."""

    DISABLED = 'disabled'
    SILENT = 'silent'  # enabled; no usable state since the start or since torques were removed
    RAMPING_IN = 'ramping in'
    BLENDING = 'blending'
    ACTIVE = 'active'
    HOLDING = 'holding'
    GRAVITY = 'gravity'
    RAMPING_TO_ZERO = 'ramping to zero'  # states were lost, or the process ends
    RAMPING_OUT = 'ramping out'  # disabled
    ENDED = 'ended'


@dataclass(frozen=True)
class ActedLimit:
    """A limit that changed commands.

    Attributes
    ----------
    joint : str
    quantity : {'torque', 'rate'}
    wanted : float
        What was furthest beyond the limit: a torque [N m, N] or its rate of change [N m/s, N/s],
        infinite for a jump in no time.
    limit : float
        Its limit then.
    count : int
        How often it acted.
    """

    joint: str
    quantity: str
    wanted: float
    limit: float
    count: int

    def __str__(self) -> str:
        return (
            f'{self.quantity} of joint {self.joint!r} limited to {self.limit:g}, '
            f'{self.wanted:g} wanted at most ({self.count} times)'
        )


@dataclass(frozen=True)
class CommandReport:
    """State of a `TorqueCommand`.

    Attributes
    ----------
    mode : Mode
    is_enabled : bool
    since : float
        When the mode began, on the clock of the calls [s]; -inf before the first of them.
    reason : str
        Why states were lost the last time; empty if they never were.
    losses : int
        How often they were lost.
    limited : tuple of ActedLimit
        Limits that acted since the last report, by joint in the order of their first action.
    """

    mode: Mode
    is_enabled: bool
    since: float
    reason: str
    losses: int
    limited: tuple[ActedLimit, ...]


class LimitLog:
    """Limits that acted since they were last asked for."""

    def __init__(self) -> None:
        self._acted: dict[tuple[str, str], ActedLimit] = {}

    def note(
        self,
        joints: Sequence[str],
        quantity: str,
        wanted: Sequence[float],
        given: Sequence[float],
        limits: Sequence[float],
        dt: float = 1.0,
    ) -> None:
        """Note each joint that is not given what is wanted; `wanted` over `dt` is the quantity."""
        for joint, asked, got, limit in zip(joints, wanted, given, limits):
            if asked == got:
                continue
            value = asked / dt if dt > 0.0 else math.copysign(math.inf, asked)
            acted = self._acted.get((joint, quantity))
            if acted is not None and abs(acted.wanted) - acted.limit > abs(value) - limit:
                value, limit = acted.wanted, acted.limit
            count = 1 if acted is None else acted.count + 1
            self._acted[joint, quantity] = ActedLimit(joint, quantity, value, limit, count)

    def take(self) -> tuple[ActedLimit, ...]:
        """Return the recorded limits, and clear them."""
        acted = tuple(self._acted.values())
        self._acted.clear()
        return acted


def impossible(joints: Sequence[str], bound: float, **torques: Array) -> str:
    """Say what is wrong with torques that are not finite or add up to `bound` and more."""
    for what, values in torques.items():
        for joint, value in zip(joints, values.tolist()):
            if not abs(value) < bound:
                return f'the {what} torque of joint {joint!r} is {value:g}'
    return f'the {" and ".join(torques)} torques add up to {bound:g} and more'
