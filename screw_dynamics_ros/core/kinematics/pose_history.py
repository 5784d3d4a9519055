# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measured poses of a free body, at the times of other measurements.

Between two measurements the body moves along the screw from one pose to the next, and the
components of its twist in its own axes change at a constant rate; outside of them it goes on with
the nearest twist, C(t) = C(t_k) exp((t - t_k) V_k).

With C = (R, p), X = (xi, eta), t = |xi|, e = xi / t, eta = a + b where a is parallel to e, and
h = s t / 2,

    C exp(s X) = (R exp(s xi), p + s R a + (2 / t) sin(h) R (cos(h) b + sin(h) e x b)).

Source: Bruyninckx 2010, 3.6 (finite displacement twist); interpolation along a screw as in Müller
2018, section 2.1.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from ..lie import quaternions, se3
from ..types import Array
from ..units import NANOSECONDS
from .joint_poses import free_coordinates

LENGTH = 100  # measurements that are kept
SIZE = 21  # numbers of `screw_path`


class PoseHistory(Record):
    """The latest measurements of a body, and its motion at the time of the last `find_motion`.

    Attributes
    ----------
    written : int
        Number of measurements so far; the last N are in rows of the arrays.
    stamps : (N,) array of int
        [ns].
    twists, before, after : (6 N,), (21 N,), (21 N,) arrays
        Body twists; `screw_path` from the measurement before, and with the twist.
    pose, twist : (7,), (6,) arrays
        At the time: position and unit quaternion (x, y, z, w); body twist, angular part first.
    age : float
        From the time to the nearest measurement [s], infinite without any.

    Examples
    --------
    A body turns about z with 1 rad/s; only the poses are known:

    >>> history = PoseHistory()
    >>> for stamp in (0, 10**9):
    ...     _ = history.add(stamp, se3.exp([0, 0, stamp * 1e-9, 0, 0, 0]))
    >>> find_motion(history, 1_250_000_000)
    >>> (2.0 * np.arctan2(*history.pose[5:])).round(6).item(), history.twist[2].round(6).item()
    (1.25, 1.0)
    >>> history.age
    0.25
    """

    written: int
    stamps: Ints
    twists: Floats
    before: Floats
    after: Floats
    pose: Floats
    twist: Floats
    age: float

    def __init__(self) -> None:
        self.stamps, self.twists = np.zeros(LENGTH, dtype=np.int64), np.zeros(6 * LENGTH)
        self.before, self.after = np.zeros((2, SIZE * LENGTH))
        self.pose, self.twist = np.zeros(7), np.zeros(6)
        self.clear()

    def clear(self) -> None:
        """Forget all measurements."""
        self.written, self.age = 0, math.inf

    @property
    def newest(self) -> int | None:
        """Stamp of the last measurement [ns]."""
        return int(self.stamps[(self.written - 1) % len(self.stamps)]) if self.written else None

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
        newest, row = self.newest, self.written % len(self.stamps)
        before, screw = np.eye(4), np.zeros(6)
        if newest is not None:
            if stamp <= newest:
                return False
            last = self.after.reshape(-1, SIZE)[row - 1]
            before = se3.pose(quaternions.to_matrix(last[13:17]), last[1:4])
            screw = se3.log(se3.inverse(before) @ pose)
        if twist is None:
            twist = screw if newest is None else screw / ((stamp - newest) / NANOSECONDS)
        self.before[SIZE * row :][:SIZE] = screw_path(before, screw)
        self.after[SIZE * row :][:SIZE] = screw_path(pose, twist)
        self.stamps[row], self.twists[6 * row :][:6] = stamp, twist
        self.written += 1
        return True


def screw_path(pose: Array, screw: Array) -> Array:
    """Return the numbers (21,) of C exp(s X) for `move`: a pose (4, 4) and a screw (6,), [rad, m].

    They are the angle, p, R a, R b, R (e x b), the unit quaternion of R, and its product with e.
    """
    R, xi, eta = pose[:3, :3], screw[:3], screw[3:]
    angle = math.hypot(*xi)
    e = xi / angle if angle else xi
    a = (e @ eta) * e if angle else eta
    C = free_coordinates(pose)
    vectors = R @ np.column_stack([a, eta - a, np.cross(e, eta)])
    return np.hstack([angle, C[:3], *vectors.T, C[3:], quaternions.product(C[3:], [*e, 0.0])])


@typed
def move(path: Floats, share: float, pose: Floats) -> None:
    """Set a pose (7,), with a quaternion of w >= 0, to that at a share of a `screw_path`.

    >>> pose, path = np.zeros(7), screw_path(np.eye(4), np.array([0, 0, np.pi, 2.0, 0, 0]))
    >>> move(path, 0.5, pose)
    >>> pose.round(6) + 0.0
    array([0.63662 , 0.63662 , 0.      , 0.      , 0.      , 0.707107,
           0.707107])
    """
    s = math.sin(0.5 * share * path[0])
    c = math.cos(0.5 * share * path[0])
    chord = 2.0 * s / path[0] if path[0] > 0.0 else share
    for k in range(3):
        along = path[1 + k] + share * path[4 + k]
        pose[k] = along + chord * (c * path[7 + k] + s * path[10 + k])
    sign = -1.0 if c * path[16] + s * path[20] < 0.0 else 1.0
    for k in range(4):
        pose[3 + k] = sign * (c * path[13 + k] + s * path[17 + k])


@typed
def find_motion(history: PoseHistory, stamp: int) -> None:
    """Set pose, twist and age at a time [ns]; without any measurement only the age."""
    history.age = math.inf
    size = len(history.stamps)
    last = history.written - 1
    k = last
    while k > max(0, last + 1 - size) and history.stamps[k % size] > stamp:
        k -= 1
    if k < 0:
        return
    row = k % size
    following = row
    elapsed = stamp - history.stamps[row]
    nearest = abs(elapsed)
    weight = 0.0
    if elapsed >= 0 and k < last:
        following = (k + 1) % size
        whole = history.stamps[following] - history.stamps[row]
        nearest = min(elapsed, whole - elapsed)
        weight = float(elapsed) / float(whole)
        move(history.before[SIZE * following :], weight, history.pose)
    else:
        move(history.after[SIZE * row :], float(elapsed) / 1e9, history.pose)
    history.age = float(nearest) / 1e9
    for i in range(6):
        change = history.twists[6 * following + i] - history.twists[6 * row + i]
        history.twist[i] = history.twists[6 * row + i] + weight * change


@typed
def rest(history: PoseHistory) -> None:
    """Set the last measured pose, at rest."""
    move(history.after[SIZE * ((history.written - 1) % len(history.stamps)) :], 0.0, history.pose)
    for i in range(6):
        history.twist[i] = 0.0
