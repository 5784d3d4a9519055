# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report on commanded torques: the mode, and the active limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ...compile.typed.functions import Floats, Ints, typed
from ...compile.typed.records import Record
from ...types import Array

#: Quantities that have limits.
QUANTITIES = 'torque', 'rate'


class Mode(Enum):
    """The source of the current command."""

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
        The value furthest beyond the limit: a torque [N m, N] or its rate of change [N m/s, N/s],
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
        wanted = 'a step' if math.isinf(self.wanted) else f'{self.wanted:g}'
        return (
            f'{self.quantity} of joint {self.joint!r} limited to {self.limit:g}, '
            f'{wanted} wanted at most ({self.count} times)'
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


class LimitLog(Record):
    """Limits that acted since they were last asked for.

    The index of a limit is 2 k for the torque and 2 k + 1 for the rate of joint k.

    Parameters
    ----------
    joints : sequence of str
    acted : sequence of ActedLimit, optional
        Those that acted before, also of other joints.

    Attributes
    ----------
    size : int
        Number of limits that acted.
    order : array of int
        Their indices in the order of their first action.
    counts, wanted, limits : arrays
        See `ActedLimit`.
    """

    size: int
    order: Ints
    counts: Ints
    wanted: Floats
    limits: Floats

    def __init__(self, joints: Sequence[str], acted: Sequence[ActedLimit] = ()) -> None:
        self._joints = list(dict.fromkeys([*joints, *(each.joint for each in acted)]))
        n = 2 * len(self._joints)
        self.order, self.counts = np.zeros((2, n), dtype=np.int64)
        self.wanted, self.limits = np.zeros((2, n))
        for each in acted:
            k = 2 * self._joints.index(each.joint) + QUANTITIES.index(each.quantity)
            note(self, k, each.wanted, each.limit)
            self.counts[k] = each.count

    def take(self) -> tuple[ActedLimit, ...]:
        """Return the recorded limits, and clear them."""
        acted = []
        for k in self.order[: self.size].tolist():
            numbers = (each[k].item() for each in (self.wanted, self.limits, self.counts))
            acted.append(ActedLimit(self._joints[k // 2], QUANTITIES[k % 2], *numbers))
        self.counts[:] = self.size = 0
        return tuple(acted)


@typed
def note(log: LimitLog, index: int, wanted: float, limit: float) -> None:
    """Note that a limit has acted."""
    is_first = log.counts[index] == 0
    if is_first:
        log.order[log.size] = index
        log.size += 1
    if is_first or abs(log.wanted[index]) - log.limits[index] <= abs(wanted) - limit:
        log.wanted[index] = wanted
        log.limits[index] = limit
    log.counts[index] += 1


def impossible(joints: Sequence[str], bound: float, **torques: Array) -> str:
    """Return the fault of torques that are not finite or add up to `bound` and more."""
    for what, values in torques.items():
        for joint, value in zip(joints, values.tolist()):
            if not abs(value) < bound:
                return f'the {what} torque of joint {joint!r} is {value:g}'
    return f'the {" and ".join(torques)} torques add up to {bound:g} and more'
