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

import math

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from ..lie import quaternions, se3
from ..types import Array
from ..units import NANOSECONDS
from .joint_poses import free_coordinates

LENGTH = 100  # measurements that are kept


class PoseHistory(Record):
    """The latest measurements of a body, and its motion at the time of the last `find_motion`.

    Attributes
    ----------
    written : int
        Number of measurements so far; the last ones are in rows of the other arrays.
    stamps : (N,) array of int
        [ns].
    poses : (7 N,) array
        Position (x, y, z) and unit quaternion (x, y, z, w).
    screws, twists : (6 N,) arrays
        Motion from the measurement before, and body twist.
    pose, twist : (7,), (6,) arrays
        At the time, angular part of the twist first, in the axes of the body [rad/s, m/s].
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
    poses: Floats
    screws: Floats
    twists: Floats
    pose: Floats
    twist: Floats
    age: float

    def __init__(self) -> None:
        self.stamps = np.zeros(LENGTH, dtype=np.int64)
        self.poses, self.pose = np.zeros(7 * LENGTH), np.zeros(7)
        self.screws, self.twists = np.zeros((2, 6 * LENGTH))
        self.twist = np.zeros(6)
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
        if newest is not None and stamp <= newest:
            return False
        poses, screws = self.poses.reshape(-1, 7), self.screws.reshape(-1, 6)
        coordinates, screw = free_coordinates(pose), np.zeros(6)
        if newest is not None:
            before = se3.pose(quaternions.to_matrix(poses[row - 1, 3:]), poses[row - 1, :3])
            screw = se3.log(se3.inverse(before) @ pose)
            if twist is None:
                twist = screw / ((stamp - newest) / NANOSECONDS)
        self.stamps[row], poses[row], screws[row] = stamp, coordinates, screw
        self.twists.reshape(-1, 6)[row] = 0.0 if twist is None else twist
        self.written += 1
        return True


@typed
def find_motion(history: PoseHistory, stamp: int) -> None:
    """Set pose, twist and age at a time [ns]; without any measurement only the age."""
    history.age = math.inf
    if history.written == 0:
        return
    size = len(history.stamps)
    last = history.written - 1
    first = max(0, history.written - size)
    k = last
    while k > first and history.stamps[k % size] > stamp:
        k -= 1
    row = k % size
    following = (k + 1) % size
    elapsed = stamp - history.stamps[row]
    twist = history.twists[6 * row :]
    if k == last or elapsed < 0:
        seconds = float(elapsed) / 1e9
        history.age = abs(seconds)
        move(history.poses[7 * row :], twist, seconds, history.pose)
        for i in range(6):
            history.twist[i] = twist[i]
        return
    whole = history.stamps[following] - history.stamps[row]
    share = float(elapsed) / float(whole)
    history.age = float(min(elapsed, whole - elapsed)) / 1e9
    move(history.poses[7 * row :], history.screws[6 * following :], share, history.pose)
    after = history.twists[6 * following :]
    for i in range(6):
        history.twist[i] = (1.0 - share) * twist[i] + share * after[i]


@typed
def rest(history: PoseHistory) -> None:
    """Set the last measured pose, at rest."""
    pose = history.poses[7 * ((history.written - 1) % len(history.stamps)) :]
    for i in range(7):
        history.pose[i] = pose[i]
    for i in range(6):
        history.twist[i] = 0.0


@typed
def move(pose: Floats, screw: Floats, share: float, moved: Floats) -> None:
    """Set `moved` (7,) to C exp(s X): a pose (7,) moved by a share of a screw (6,), [rad, m].

    The unit quaternion of the result has w >= 0.

    >>> moved = np.zeros(7)
    >>> move(np.array([1.0, 0, 0, 0, 0, 0, 1]), np.array([0, 0, np.pi, 2.0, 0, 0]), 0.5, moved)
    >>> moved.round(6)
    array([1.63662 , 0.63662 , 0.      , 0.      , 0.      , 0.707107,
           0.707107])
    """
    x = share * screw[0]
    y = share * screw[1]
    z = share * screw[2]
    a = share * screw[3]
    b = share * screw[4]
    c = share * screw[5]
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    sinc = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    w = math.cos(0.5 * angle)
    # r = eta + f xi x eta + g xi x (xi x eta), see `so3.dexp`.
    f = 2.0 * sinc * sinc
    g = (angle - math.sin(angle)) / (angle * square) if angle > 1.0 else series_of_dexp(square)
    d = y * c - z * b
    e = z * a - x * c
    h = x * b - y * a
    a += f * d + g * (y * h - z * e)
    b += f * e + g * (z * d - x * h)
    c += f * h + g * (x * e - y * d)
    x *= sinc
    y *= sinc
    z *= sinc
    i = pose[3]
    j = pose[4]
    k = pose[5]
    s = pose[6]
    # Position p + R r with R r = r + 2 v x (w r + v x r).
    d = s * a + j * c - k * b
    e = s * b + k * a - i * c
    h = s * c + i * b - j * a
    moved[0] = pose[0] + a + 2.0 * (j * h - k * e)
    moved[1] = pose[1] + b + 2.0 * (k * d - i * h)
    moved[2] = pose[2] + c + 2.0 * (i * e - j * d)
    scalar = s * w - i * x - j * y - k * z
    sign = -1.0 if scalar < 0.0 else 1.0
    moved[3] = sign * (s * x + i * w + j * z - k * y)
    moved[4] = sign * (s * y + j * w + k * x - i * z)
    moved[5] = sign * (s * z + k * w + i * y - j * x)
    moved[6] = sign * scalar


@typed
def series_of_dexp(square: float) -> float:
    """Return (t - sin t) / t^3 for angles t up to 1 rad, from t^2."""
    total = 0.0
    term = 1.0 / 6.0
    for k in range(2, 11):
        total += term
        term *= -square / float(2 * k * (2 * k + 1))
    return total
