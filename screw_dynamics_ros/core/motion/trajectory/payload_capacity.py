# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How heavy a mass the robot can carry in a configuration, or along a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.tree.joint_limits import of_velocities, velocity_names
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class PayloadCapacity:
    """How heavy a point mass may be.

    Attributes
    ----------
    feasible : bool
        Whether any mass will do: if not, `joint` cannot bear the robot itself.
    mass : float
        The largest one [kg]: infinite where no effort limit is in the way, NaN if not feasible.
    least : float
        The smallest one [kg]: more than 0 if it has to balance the robot, NaN if not feasible.
    joint : str
        The joint whose effort limit the largest mass meets, or that is overloaded; '' for none.
    sample : int
        Index of the sample in which that is so.
    """

    feasible: bool
    mass: float
    least: float
    joint: str
    sample: int


def payload_capacity(
    robot: Robot,
    q: ArrayLike,
    link: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    *,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
) -> PayloadCapacity:
    """Return the largest point mass on a link that all joints can bear, at rest or moving.

    Torques are linear in the mass, so that |tau_i + m k_i| <= limit_i, with k_i the torque of one
    kilogram, is an interval of masses for every joint and sample; their intersection is exact.

    Parameters
    ----------
    robot : Robot
        With `limits.effort` and gravity.
    q : (nq,) or (N, nq)
        A configuration, or the samples of a motion, all of which must be possible.
    link : str
        What carries the mass.
    point : (3,)
        Where, in the link frame [m].
    v, a : (nv,) or (N, nv), optional
        Velocities and accelerations; rest if not given.

    Raises
    ------
    ArgumentError
        If q, v, a or the point do not fit or are not finite.
    UnknownNameError
        If there is no such link.

    Examples
    --------
    A pendulum with a joint of at most 30 N m that holds 2 kg at 1 m:

    >>> from screw_dynamics_ros.core import Robot
    >>> arm = Robot.from_urdf('''<robot name="arm"><link name="base"/><link name="rod"><inertial>
    ... <origin xyz="1 0 0"/><mass value="2"/>
    ... <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
    ... <joint name="shoulder" type="continuous"><parent link="base"/><child link="rod"/>
    ... <axis xyz="0 1 0"/><limit effort="30" velocity="1"/></joint></robot>''')
    >>> capacity = payload_capacity(arm, [0.0], 'rod', [1.0, 0, 0])
    >>> round(capacity.mass, 6), capacity.joint  # 30 / 9.81 - 2
    (1.058104, 'shoulder')
    """
    position = vector('point', 3, point)
    if not np.isfinite(position).all():
        raise ArgumentError(f'point must be three finite numbers in m, got {point!r}')
    rest = np.zeros(robot.nv)
    v, a = rest if v is None else v, rest if a is None else a
    unit = RigidBody(1.0, position, np.zeros((3, 3)))
    base = np.atleast_2d(robot.inverse_dynamics(q, v, a))
    per_kilogram = np.atleast_2d(robot.payload_torques(q, v, a, {link: unit}))
    if not len(base):
        raise ArgumentError('q must hold at least one configuration')
    if not (np.isfinite(base).all() and np.isfinite(per_kilogram).all()):
        raise ArgumentError(
            f'the torques of this motion of {robot.description.name!r} are not '
            'finite; give finite q, v and a'
        )
    return largest_mass(robot, base, per_kilogram)


def largest_mass(robot: Robot, base: Array, per_kilogram: Array) -> PayloadCapacity:
    """Return the largest m >= 0 with |base + m per_kilogram| <= effort limits, (N, nv) each."""
    names, limit = velocity_names(robot), of_velocities(robot, robot.limits.effort)
    with np.errstate(divide='ignore', invalid='ignore'):
        ends = np.stack([-limit - base, limit - base]) / per_kilogram
    low, high = ends.min(axis=0), ends.max(axis=0)
    holds, idle = np.abs(base) <= limit, (per_kilogram == 0.0) | np.isinf(limit)
    low[idle] = np.where(holds, -np.inf, np.inf)[idle]  # no mass changes whether the joint holds
    high[idle] = np.where(holds, np.inf, -np.inf)[idle]
    least, mass = max(low.max(initial=0.0), 0.0), high.min(initial=np.inf)
    if mass < least:
        with np.errstate(divide='ignore', invalid='ignore'):
            sample, k = np.unravel_index(np.nanargmax(np.abs(base) / limit), base.shape)
        return PayloadCapacity(False, np.nan, np.nan, names[k], int(sample))
    if mass == np.inf:
        return PayloadCapacity(True, np.inf, float(least), '', 0)
    sample, k = np.unravel_index(np.argmin(high), base.shape)
    return PayloadCapacity(True, float(mass), float(least), names[k], int(sample))
