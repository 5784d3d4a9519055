# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measured poses of a free body, at the times of other measurements.

Between two measurements the body moves along the screw from one pose to the next, and the
components of its twist in its axes change at a constant rate; outside of them it continues with
the nearest twist, C(t) = C(t_k) exp((t - t_k) V_k).

A body that turns by an angle 2 h about the unit vector e, while its origin moves by u in its axes,
has turned by 2 s h at a share s of the way, and its origin has moved by

    s (e . u) e + sin(s h) / sin(h) (cos(g) b + sin(g) e x b),  b = u - (e . u) e,  g = (s - 1) h.

Source: Bruyninckx 2010, 3.6 (finite displacement twist); interpolation along a screw as in Müller
2018, section 2.1.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.memory import copy_bytes
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
        Number of measurements so far; the last N are in rows of the arrays.
    stamps : (N,) array of int
        [ns].
    poses, twists : (7 N,), (6 N,) arrays
        Position and unit quaternion (x, y, z, w); body twist, angular part first.
    pose, twist : (7,), (6,) arrays
        At the time.
    age : float
        From the time to the nearest measurement [s], infinite without any.
    axis, offset, step : (3,), (3,), (4,) arrays
        Intermediate results: e, u, and the step in the axes of the body.

    Examples
    --------
    A body rotates about z with 1 rad/s; only the poses are known:

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
    twists: Floats
    pose: Floats
    twist: Floats
    age: float
    axis: Floats
    offset: Floats
    step: Floats

    def __init__(self) -> None:
        self.stamps = np.zeros(LENGTH, dtype=np.int64)
        self.poses, self.twists = np.zeros(7 * LENGTH), np.zeros(6 * LENGTH)
        self.pose, self.twist, self.step = np.zeros(7), np.zeros(6), np.zeros(4)
        self.axis, self.offset = np.zeros((2, 3))
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
        newest, row, poses = self.newest, self.written % len(self.stamps), self.poses.reshape(-1, 7)
        if newest is not None and stamp <= newest:
            return False
        if twist is None:
            twist = np.zeros(6)
            if newest is not None:
                p, q = np.split(poses[row - 1], [3])
                last = se3.pose(quaternions.to_matrix(q), p)
                twist = se3.log(se3.inverse(last) @ pose) / ((stamp - newest) / NANOSECONDS)
        self.stamps[row], poses[row] = stamp, free_coordinates(pose)
        self.twists[6 * row :][:6] = twist
        self.written += 1
        return True


@typed
def multiply(p: Floats, sign: float, q: Floats, product: Floats) -> None:
    """Set the product p q of quaternions (4,), of the conjugate of p if `sign` is -1."""
    product[0] = p[3] * q[0] + sign * (p[0] * q[3] + p[1] * q[2] - p[2] * q[1])
    product[1] = p[3] * q[1] + sign * (p[1] * q[3] + p[2] * q[0] - p[0] * q[2])
    product[2] = p[3] * q[2] + sign * (p[2] * q[3] + p[0] * q[1] - p[1] * q[0])
    product[3] = p[3] * q[3] - sign * (p[0] * q[0] + p[1] * q[1] + p[2] * q[2])


@typed
def rotate(q: Floats, sign: float, u: Floats) -> None:
    """Rotate a vector (3,) by a unit quaternion (4,), backwards if `sign` is -1."""
    w = sign * q[3]
    a = w * u[0] + q[1] * u[2] - q[2] * u[1]
    b = w * u[1] + q[2] * u[0] - q[0] * u[2]
    c = w * u[2] + q[0] * u[1] - q[1] * u[0]
    u[0] += 2.0 * (q[1] * c - q[2] * b)
    u[1] += 2.0 * (q[2] * a - q[0] * c)
    u[2] += 2.0 * (q[0] * b - q[1] * a)


@typed
def displace(
    history: PoseHistory, start: Floats, half: float, along: float, across: float, angle: float
) -> None:
    """Set the pose that is reached from `start` (7,) by a turn of 2 `half` about e.

    The origin moves by `along` (e . u) e + `across` (cos(`angle`) b + sin(`angle`) e x b).
    """
    e = history.axis
    u = history.offset
    step = history.step
    product = e[0] * u[0] + e[1] * u[1] + e[2] * u[2]
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        b = u[k] - product * e[k]
        turned = math.cos(angle) * b + math.sin(angle) * (e[i] * u[j] - e[j] * u[i])
        step[k] = along * product * e[k] + across * turned
    rotate(start[3:], 1.0, step)
    for k in range(3):
        history.pose[k] = start[k] + step[k]
        step[k] = math.sin(half) * e[k]
    step[3] = math.cos(half)
    multiply(start[3:], 1.0, step, history.pose[3:])
    sign = -1.0 if history.pose[6] < 0.0 else 1.0
    for k in range(3, 7):
        history.pose[k] *= sign


@typed
def interpolate(history: PoseHistory, start: Floats, end: Floats, share: float) -> None:
    """Set the pose at a share of the way between two poses (7,)."""
    step = history.step
    multiply(start[3:], -1.0, end[3:], step)
    sine = math.sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2])
    half = math.atan2(sine, abs(step[3]))
    scale = math.copysign(1.0, step[3]) / sine if sine > 0.0 else 0.0
    for k in range(3):
        history.axis[k] = scale * step[k]
        history.offset[k] = end[k] - start[k]
    rotate(start[3:], -1.0, history.offset)
    across = math.sin(share * half) / math.sin(half) if sine > 0.0 else share
    displace(history, start, share * half, share, across, (share - 1.0) * half)


@typed
def extrapolate(history: PoseHistory, start: Floats, twist: Floats, seconds: float) -> None:
    """Set the pose that is reached from one (7,) by a body twist (6,)."""
    rate = math.sqrt(twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2])
    half = 0.5 * rate * seconds
    for k in range(3):
        history.axis[k] = twist[k] / rate if rate > 0.0 else 0.0
        history.offset[k] = twist[3 + k]
    across = 2.0 * math.sin(half) / rate if rate > 0.0 else seconds
    displace(history, start, half, seconds, across, half)


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
    start = history.poses[7 * row :]
    elapsed = stamp - history.stamps[row]
    nearest = abs(elapsed)
    weight = 0.0
    if elapsed >= 0 and k < last:
        following = (k + 1) % size
        whole = history.stamps[following] - history.stamps[row]
        nearest = min(elapsed, whole - elapsed)
        weight = float(elapsed) / float(whole)
        interpolate(history, start, history.poses[7 * following :], weight)
    else:
        extrapolate(history, start, history.twists[6 * row :], float(elapsed) / 1e9)
    history.age = float(nearest) / 1e9
    for i in range(6):
        change = history.twists[6 * following + i] - history.twists[6 * row + i]
        history.twist[i] = history.twists[6 * row + i] + weight * change


@typed
def rest(history: PoseHistory) -> None:
    """Set the last measured pose, at rest."""
    copy_bytes(history.pose, history.poses[7 * ((history.written - 1) % len(history.stamps)) :], 56)
    for i in range(6):
        history.twist[i] = 0.0
