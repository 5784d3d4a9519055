# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measured poses of a free body, at the times of other measurements.

Between two measurements the body moves along the screw from one pose to the next, and the
components of its twist in its own axes change at a constant rate; outside of them it goes on with
the nearest twist, C(t) = C(t_k) exp((t - t_k) V_k).

Source: Bruyninckx 2010, 3.6 (finite displacement twist); interpolation along a screw as in Müller
2018, section 2.1.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from ..lie import se3
from ..types import Array
from ..units import NANOSECONDS

LENGTH = 100  # measurements that are kept


class MeasuredMotion(NamedTuple):
    """Motion of a body at a time.

    Attributes
    ----------
    pose : (4, 4) array
        In the frame of the measurements.
    twist : (6,) array
        Body twist: angular part first, in the axes of the body [rad/s, m/s].
    age : float
        Time to the nearest measurement [s].
    """

    pose: Array
    twist: Array
    age: float


class PoseHistory:
    """The latest measurements of a body.

    Examples
    --------
    A body turns about z with 1 rad/s; only the poses are known:

    >>> history = PoseHistory()
    >>> for stamp in (0, 10**9):
    ...     _ = history.add(stamp, se3.exp([0, 0, stamp * 1e-9, 0, 0, 0]))
    >>> pose, twist, age = history.at(1_250_000_000)
    >>> np.arctan2(pose[1, 0], pose[0, 0]).round(6).item(), twist[2].round(6).item(), age
    (1.25, 1.0, 0.25)
    """

    def __init__(self) -> None:
        self._stamps: list[int] = []
        self._poses: list[Array] = []
        self._twists: list[Array] = []

    def clear(self) -> None:
        """Forget all measurements."""
        self._stamps.clear()
        self._poses.clear()
        self._twists.clear()

    @property
    def newest(self) -> int | None:
        """Stamp of the last measurement [ns]."""
        return self._stamps[-1] if self._stamps else None

    @property
    def last_pose(self) -> Array:
        """The last measured pose, the identity without one."""
        return self._poses[-1] if self._poses else np.eye(4)

    def add(self, stamp: int, pose: Array, twist: Array | None = None) -> bool:
        """Add a measurement; return whether it is newer than the last one, and used.

        Parameters
        ----------
        stamp : int
            [ns].
        pose : (4, 4) array
        twist : (6,) array, optional
            Body twist [rad/s, m/s]. By default that of the motion since the last measurement.
        """
        if self._stamps and stamp <= self._stamps[-1]:
            return False
        if twist is None:
            twist = np.zeros(6)
            if self._stamps:
                seconds = (stamp - self._stamps[-1]) / NANOSECONDS
                twist = se3.log(se3.inverse(self._poses[-1]) @ pose) / seconds
        self._stamps.append(stamp)
        self._poses.append(pose)
        self._twists.append(twist)
        if len(self._stamps) > LENGTH:
            for values in (self._stamps, self._poses, self._twists):
                del values[0]
        return True

    def at(self, stamp: int) -> MeasuredMotion | None:
        """Return the motion at a time [ns], None without any measurement."""
        if not self._stamps:
            return None
        after = bisect_right(self._stamps, stamp)
        if 0 < after < len(self._stamps):
            return self._between(after - 1, stamp)
        k = min(after, len(self._stamps) - 1)
        seconds = (stamp - self._stamps[k]) / NANOSECONDS
        twist = self._twists[k]
        return MeasuredMotion(self._poses[k] @ se3.exp(seconds * twist), twist, abs(seconds))

    def _between(self, k: int, stamp: int) -> MeasuredMotion:
        """Return the motion between measurements k and k + 1."""
        before, whole = stamp - self._stamps[k], self._stamps[k + 1] - self._stamps[k]
        s = before / whole
        motion = se3.log(se3.inverse(self._poses[k]) @ self._poses[k + 1])
        return MeasuredMotion(
            self._poses[k] @ se3.exp(s * motion),
            (1.0 - s) * self._twists[k] + s * self._twists[k + 1],
            min(before, whole - before) / NANOSECONDS,
        )
