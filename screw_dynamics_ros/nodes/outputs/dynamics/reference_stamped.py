# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reference from the latest message of a source, extrapolated to each joint state."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.names import printable

from .reference_joints import ReferenceJoints


class StampedReference(Record):
    """Numbers of some joints at one time, and their derivatives.

    Attributes
    ----------
    is_given, is_refused : bool
        Whether there are any, and whether the last message was refused.
    sent : int
        Their time, on a clock of the source [ns].
    age, timeout : float
        Of the latest at its last use, and the largest age and lead [s].
    gap, tolerance : float
        Largest distance of a joint from where it was before, and the one up to which the source is
        followed [rad, m].
    widest : int
        The joint with this distance.
    rows : (4 n,) array
        See `reference_torques.GIVEN`.
    lower, upper : (n,) arrays
        Bounds, at which the numbers stay [rad, m].
    """

    is_given: bool
    is_refused: bool
    sent: int
    age: float
    timeout: float
    gap: float
    tolerance: float
    widest: int
    rows: Floats
    lower: Floats
    upper: Floats

    name = ''  # of the source, in reports

    def __init__(self) -> None:
        self.tolerance, self.refused = np.inf, ''
        self.joints: ReferenceJoints | None = None

    def bind(self, joints: ReferenceJoints) -> None:
        """Adopt a new robot."""
        self.joints = joints
        self.upper = np.full(len(joints.names), np.inf)
        self.lower = -self.upper
        forget_stamped(self)

    def receive(self, message: Any) -> None:
        """Adopt a message, or refuse it and keep the previous one."""
        if self.joints is None:
            return
        try:
            self.rows, self.sent = self.read(message, self.joints)
        except ScrewDynamicsError as error:
            self.refuse(str(error))
        else:
            self.is_given, self.is_refused = True, False

    def read(self, message: Any, joints: ReferenceJoints) -> tuple[Array, int]:
        """Return the rows and their time [ns]; raises `ScrewDynamicsError`."""
        raise NotImplementedError

    def refuse(self, reason: str) -> None:
        """Report why the last message is refused."""
        self.refused, self.is_refused = printable(reason), True

    def report_source(self, status: Status, parameter: str, topic: str, late: str) -> None:
        """Report why the source is not used; `late` is added to its age."""
        name, far = self.name, ''
        if self.is_refused:
            far = f'{name} refused: {self.refused}'
        elif not self.is_given:
            far = f'no {name} on {topic} ({parameter})'
        elif not is_recent(self):
            far = f'the {name} on {topic} is {self.age:.3g} s {late}'
        elif self.gap > self.tolerance:
            assert self.joints is not None
            far = (
                f'the {name} on {topic} is not followed: it is {self.gap:.3g} from joint '
                f'{self.joints.names[self.widest]!r}, more than leader_tolerance; move both '
                'robots to the same posture'
            )
        if far:
            status.warn(far)


@typed
def forget_stamped(state: StampedReference) -> None:
    """Forget the latest message."""
    state.is_given = False
    state.is_refused = False


@typed
def is_recent(state: StampedReference) -> bool:
    """Whether the latest message was recent at its last use."""
    return abs(state.age) <= state.timeout


@typed
def write_stamped(
    state: StampedReference, moment: int, before: Floats, n: int, rows: Floats
) -> bool:
    """Write the reference at a time of the source [ns]; return whether it is followed.

    `rows` (4 n,) receive it as it is after its age with constant accelerations, at rest at its
    bounds. It is not followed if a joint is further than the tolerance from `before` (n,).
    """
    if not state.is_given:
        return False
    t = float(moment - state.sent) / 1e9
    state.age = t
    if not is_recent(state):
        return False
    state.gap = 0.0
    for k in range(n):
        v = state.rows[2 * n + k]
        a = state.rows[3 * n + k]
        q = state.rows[n + k] + v * t + a * (0.5 * t * t)
        inside = min(max(q, state.lower[k]), state.upper[k])
        moves = 1.0 if inside == q else 0.0
        rows[k] = state.rows[k]
        rows[n + k] = inside
        rows[2 * n + k] = moves * (v + a * t)
        rows[3 * n + k] = moves * a
        gap = state.rows[k] * abs(inside - before[k])
        if gap > state.gap:
            state.gap = gap
            state.widest = k
    if state.gap <= state.tolerance:
        return True
    for k in range(4 * n):
        rows[k] = 0.0
    return False
