# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Contact wrench of the tool from a force-torque sensor, compensated for weight and inertia.

The sensor measures the wrench of the tool on the robot. With the twist V of the sensor frame, its
time derivative V', both body-fixed, gravity g, and the inertia matrix M of the tool about that
frame,

    W_measured = b + W_ext - (M (V' - (0, R^T g)) - ad_V^T M V),                         (1)

with the wrench W_ext of the environment on the tool and the bias b of the sensor. Accelerations are
differentiated and filtered joint velocities. At rest (1) is linear in the bias, the mass and the
first moment: see `tool_identification`.

Source: Müller 2018b (D-19, D-29) for the Newton-Euler wrench; the sign is that of ROS
(force_torque_sensor_broadcaster): of the environment on the robot.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.memory import copy_bytes
from ..compile.typed.records import Record
from ..description.body_inertia import Inertia
from ..dynamics.newton_euler import newton_euler, represented_inertia
from ..errors import ArgumentError
from ..linear import zeros
from ..types import Array
from .observers.steps import SETTLING_TIME_CONSTANTS


def sensor_motion(V: Array, dV: Array, C: Array, gravity: Array) -> Array:
    """Return V and V' - (0, R^T g), (12,), of a frame with the pose C (4, 4). May be recorded.

    >>> at_rest = sensor_motion(np.zeros(6), np.zeros(6), np.eye(4), np.array([0.0, 0.0, -9.81]))
    >>> at_rest[9:]
    array([0.  , 0.  , 9.81])
    """
    return np.concatenate([V, dV[:3], dV[3:] - C[:3, :3].T @ gravity])


def relative_pose(C: Array, frame: Array) -> Array:
    """Return the pose C relative to another frame, (4, 4); both are in the root frame.

    Can be recorded.
    """
    R = frame[:3, :3].T
    relative = zeros((4, 4), C, frame)
    relative[:3, :3], relative[:3, 3] = R @ C[:3, :3], R @ (C[:3, 3] - frame[:3, 3])
    relative[3, 3] = 1.0
    return relative


def inertia_matrix(tool: Inertia) -> Array:
    """Return M (6, 6) of a body about the origin of its frame."""
    h = tool.mass * tool.com
    about_origin = tool.matrix + np.eye(3) * (h @ tool.com) - np.outer(h, tool.com)
    matrix: Array = represented_inertia((tool.mass, h, about_origin), np.eye(4), 'body')
    return matrix


def external_wrench(measured: Array, bias: Array, M: Array, motion: Array) -> Array:
    """Return W_ext of (1), moment and force (6,) at the sensor frame [N m, N].

    Parameters
    ----------
    measured, bias : (6,) arrays
        Moment and force.
    M : (6, 6) array
        From `inertia_matrix`.
    motion : (12,) array
        From `sensor_motion`.

    Examples
    --------
    A tool of 2 kg, 0.1 m above an upright sensor, without contact:

    >>> M = inertia_matrix(Inertia(2.0, np.array([0, 0, 0.1]), np.zeros((3, 3))))
    >>> at_rest = np.array([0.0] * 11 + [9.81])
    >>> external_wrench(np.array([0, 0, 0, 0, 0, -19.62]), np.zeros(6), M, at_rest) + 0.0
    array([0., 0., 0., 0., 0., 0.])
    """
    wrench: Array = measured - bias + newton_euler(M, motion[:6], motion[6:12], np.eye(3), 'body')
    return wrench


class FilteredAcceleration(Record):
    """Joint accelerations from velocities, differentiated and filtered in one step.

    Over a step h with constant acceleration the first-order filter is exact,
    a+ = e^(-h / T) a + (1 - e^(-h / T)) (v+ - v) / h with T = 1 / (2 pi cutoff). Changes faster
    than T are attenuated, slow changes are delayed by T.

    Parameters
    ----------
    n : int
        Number of joints.

    Attributes
    ----------
    value : (n,) array
        [rad/s^2, m/s^2]; always the same array.
    cutoff : float
        [Hz]. 0: accelerations are zero. Can be changed at any time.
    before : (n,) array
        The last velocities.
    is_running : bool
        Whether there are any.
    age : int
        Time since the start [ns].

    Examples
    --------
    >>> filtered = FilteredAcceleration(1)
    >>> filtered.cutoff = math.log(2.0) / (2.0 * math.pi * 0.001)
    >>> for k in range(3):
    ...     advance_acceleration(filtered, 10**6 if k else 0, np.array([0.001 * k]))
    >>> filtered.value.round(12), has_settled(filtered)
    (array([0.75]), False)
    """

    value: Floats
    cutoff: float
    before: Floats
    is_running: bool
    age: int

    def __init__(self, n: int) -> None:
        self.value, self.before, self.cutoff = np.zeros(n), np.zeros(n), 10.0


@typed
def advance_acceleration(f: FilteredAcceleration, elapsed: int, v: Floats) -> None:
    """Process velocities (n,), `elapsed` after the last ones [ns]; 0 for the first ones."""
    is_start = elapsed == 0 or not f.is_running or f.cutoff <= 0.0
    h = float(elapsed) * 1e-9
    decay = math.exp(-2.0 * math.pi * f.cutoff * h)
    for k in range(len(f.value)):
        f.value[k] = (
            0.0 if is_start else decay * f.value[k] + (1.0 - decay) * (v[k] - f.before[k]) / h
        )
        f.before[k] = v[k]
    f.age = 0 if is_start else f.age + elapsed
    f.is_running = True


@typed
def has_settled(f: FilteredAcceleration) -> bool:
    """Return whether the initial error has decayed: after five T."""
    return f.cutoff <= 0.0 or float(f.age) * 1e-9 >= SETTLING_TIME_CONSTANTS / (
        2.0 * math.pi * f.cutoff
    )


class StampedValues(Record):
    """The latest arrays (n,) with their stamps, interpolated at other stamps.

    Parameters
    ----------
    most : int
        Largest number of stored arrays.
    n : int

    Attributes
    ----------
    stamps, values : (most,) and (most n,) arrays
        In a ring [ns].
    first, count : int
        Index of the oldest array, and number of arrays.

    Examples
    --------
    >>> values = StampedValues(10, 1)
    >>> add_values(values, 1000, np.array([0.0]))
    >>> add_values(values, 2000, np.array([1.0]))
    >>> values.at(1250, limit=500), values.at(2300, limit=500)
    (array([0.25]), array([1.]))
    """

    stamps: Ints
    values: Floats
    first: int
    count: int

    def __init__(self, most: int, n: int) -> None:
        self.stamps, self.values = np.zeros(most, dtype=np.int64), np.zeros(most * n)

    def at(self, stamp: int, limit: int) -> Array:
        """Return the values at a stamp [ns].

        Interpolated between values before and after it; beyond the ends, the last or first values.

        Raises
        ------
        ArgumentError
            The nearest values are further away than `limit` [ns], or there are none.
        """
        if not self.count:
            raise ArgumentError('there are no values yet')
        rows = (self.first + np.arange(self.count)) % len(self.stamps)
        stamps, values = self.stamps[rows].tolist(), self.values.reshape(len(self.stamps), -1)[rows]
        after = bisect_left(stamps, stamp)
        before = max(after - 1, 0)
        after = min(after, len(stamps) - 1)
        gap = min(abs(stamp - stamps[before]), abs(stamp - stamps[after]))
        if gap > limit:
            where = 'newest' if stamp > stamps[-1] else 'oldest' if stamp < stamps[0] else 'nearest'
            raise ArgumentError(
                f'the {where} one is {gap * 1e-9:.3g} s away, more than {limit * 1e-9:.3g} s'
            )
        if stamps[after] <= stamp or stamp <= stamps[before]:
            return np.array(values[after if stamps[after] <= stamp else before])
        share = (stamp - stamps[before]) / (stamps[after] - stamps[before])
        result: Array = (1.0 - share) * values[before] + share * values[after]
        return result


@typed
def add_values(s: StampedValues, stamp: int, values: Floats) -> None:
    """Store values; earlier ones are discarded if the stamp [ns] does not increase."""
    most = len(s.stamps)
    n = len(s.values) // most
    if s.count > 0 and stamp <= s.stamps[(s.first + s.count - 1) % most]:
        s.count = 0
    if s.count == most:
        s.first = (s.first + 1) % most
        s.count -= 1
    place = (s.first + s.count) % most
    s.stamps[place] = stamp
    copy_bytes(s.values[n * place :], values, 8 * n)
    s.count += 1
