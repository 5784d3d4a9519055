# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of motions: a goal of FollowJointTrajectory in YAML, a table in CSV."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core.measurement.identification.dynamics.fourier_motion import FourierMotion
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

KINDS = ('position', 'velocity', 'acceleration')


def sampled(motion: FourierMotion, rate: float, periods: int) -> tuple[Array, Array]:
    """Return times (N,) [s] and q, v, a (N, n, 3); exactly at rest at both ends."""
    count = round(periods * motion.period * rate)
    t = np.linspace(0.0, periods * motion.period, count + 1)
    values = np.stack(motion.at(t), axis=2)
    values[[0, -1], :, 1:] = 0.0
    return t, values


def yaml_text(names: Sequence[str], t: Array, values: Array) -> str:
    """Return a goal of control_msgs/FollowJointTrajectory; its `trajectory` is a JointTrajectory.

    >>> print(yaml_text(['a'], np.array([1.5]), np.array([[[0.1, 0.0, -0.25]]])))
    trajectory:
      joint_names: [a]
      points:
      - positions: [0.1]
        velocities: [0.0]
        accelerations: [-0.25]
        time_from_start: {sec: 1, nanosec: 500000000}
    <BLANKLINE>
    """
    lines = ['trajectory:', f'  joint_names: [{", ".join(names)}]', '  points:']
    for time, point in zip(t.tolist(), values):
        sec, nanosec = divmod(round(time * NANOSECONDS), NANOSECONDS)
        lines += [
            f'  - positions: [{_numbers(point[:, 0])}]',
            f'    velocities: [{_numbers(point[:, 1])}]',
            f'    accelerations: [{_numbers(point[:, 2])}]',
            f'    time_from_start: {{sec: {sec}, nanosec: {nanosec}}}',
        ]
    return '\n'.join(lines) + '\n'


def csv_text(names: Sequence[str], t: Array, values: Array) -> str:
    """Return a table: time [s], then position, velocity and acceleration of each joint."""
    text = io.StringIO()
    header = ','.join(['time', *(f'{name}.{kind}' for name in names for kind in KINDS)])
    np.savetxt(
        text,
        np.column_stack([t, values.reshape(len(t), -1)]),
        fmt='%.9g',
        delimiter=',',
        header=header,
        comments='',
    )
    return text.getvalue()


def _numbers(values: Array) -> str:
    return ', '.join(repr(round(float(x), 9) + 0.0) for x in values)
