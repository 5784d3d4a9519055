# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How heavy a mass the robot can carry in a configuration, along a motion, or in any posture.

`payload_load` compares the torques with which joints hold payloads with their limits, at worst of
many poses. These are random ones within the joint limits, the same for each call; free bodies are
in their zero pose. A payload that a joint cannot hold in one of them needs more than the robot has;
the largest torque of all poses may be somewhat larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...description.body_inertia import Inertia
from ...description.rigid_body import RigidBody
from ...errors import ArgumentError
from ...lie import se3
from ...robot.robot import Robot
from ...tree.joint_limits import of_velocities, velocity_names
from ...tree.multibody_tree import GROUND
from ...types import Array

POSES = 100
MILLI = 1e-3
MAX_DISTANCE = 1.0  # of a center of mass in m, beyond which mm are likely
MAX_MASS = 100.0  # in kg, beyond which g are likely


@dataclass(frozen=True)
class PayloadCapacity:
    """How heavy a point mass may be.

    Attributes
    ----------
    feasible : bool
        Whether any mass is possible: if not, `joint` cannot hold the robot without payload.
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
    """Return the largest point mass on a link that all joints can carry, at rest or moving.

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


class PayloadLoad(NamedTuple):
    """The joint that payloads load most, by its effort limit.

    Attributes
    ----------
    joint : str
        Empty if no joint with a limit holds them.
    torque : float
        The largest one in all poses [N m, N].
    limit : float
        The effort limit of the joint [N m, N].
    unit : str
        Of both.
    """

    joint: str
    torque: float
    limit: float
    unit: str

    @property
    def share(self) -> float:
        """The torque by the limit."""
        return self.torque / self.limit

    def __str__(self) -> str:
        unit = self.unit
        return f'{self.torque:.4g} {unit} of {self.joint}, effort limit {self.limit:.4g} {unit}'


def payload_load(robot: Robot, payloads: Mapping[str, Inertia]) -> PayloadLoad:
    """Return the joint that payloads {link: body} load most, by its effort limit.

    Limits of zero, and those with which joints cannot hold the robot itself, are no limits of
    real joints and are ignored.

    Examples
    --------
    A joint of at most 30 N m holds 2 kg at 1 m in a horizontal plane:

    >>> arm = Robot.from_urdf('''<robot name="arm"><link name="base"/><link name="rod"/>
    ... <joint name="shoulder" type="continuous"><parent link="base"/><child link="rod"/>
    ... <axis xyz="0 1 0"/><limit effort="30" velocity="1"/></joint></robot>''')
    >>> print(payload_load(arm, {'rod': Inertia(2.0, np.array([1.0, 0, 0]), np.zeros((3, 3)))}))
    19.62 N m of shoulder, effort limit 30 N m
    """
    limits = of_velocities(robot, robot.limits.effort)
    torques = holding_torques(robot, payloads)
    known = (limits > 0.0) & np.isfinite(limits)
    shares = np.where(known, torques / np.where(known, limits, 1.0), 0.0)
    if shares.max(initial=0.0) > 1.0:
        shares[holding_torques(robot, own_bodies(robot)) > limits] = 0.0
    if not shares.max(initial=0.0):
        return PayloadLoad('', 0.0, np.inf, 'N m')
    k = int(np.argmax(shares))
    joint = velocity_names(robot)[k]
    units = {each.name: each.kind.effort_unit for each in robot.description.joints}
    unit = units.get(joint, 'N m')
    return PayloadLoad(joint, float(torques[k]), float(limits[k]), unit)


def likely_units(robot: Robot, link: str, body: Inertia) -> str:
    """Return the units in which a payload that is too heavy was probably given, or empty."""
    scales = {
        'the center of mass in mm': (1.0, MILLI),
        'the mass in g': (MILLI, 1.0),
        'mass and center of mass in g and mm': (MILLI, MILLI),
    }
    for units, (mass, length) in scales.items():
        is_far = bool(np.abs(body.com).max() > MAX_DISTANCE)
        if (length == MILLI) != is_far or (mass == MILLI and body.mass <= MAX_MASS):
            continue
        scaled = Inertia(mass * body.mass, length * body.com, np.zeros((3, 3)))
        if payload_load(robot, {link: scaled}).share <= 1.0:
            return units
    return ''


def check_payload(robot: Robot, link: str, body: Inertia) -> None:
    """Raise `ArgumentError` if a joint cannot hold a body on a link in all poses."""
    load = payload_load(robot, {link: body})
    if load.share > 1.0:
        units = likely_units(robot, link, body)
        raise ArgumentError(
            f'in some poses the payload of {body.mass:g} kg at '
            f'({", ".join(f"{x:g}" for x in body.com)}) m on {link} needs {load}'
            + (f'; probably {units}: give kg and m' if units else '; correct it, or the limit')
        )


def own_bodies(robot: Robot) -> dict[str, Inertia]:
    """Return the inertias of the links of a robot that have one."""
    frames = robot.tree.frames.items()
    return {link: frame.inertia for link, frame in frames if frame.inertia is not None}


def holding_torques(robot: Robot, payloads: Mapping[str, Inertia]) -> Array:
    """Return the largest torque with which each joint holds bodies in all poses, (nv,).

    Power is invariant: tau_j = (Ad_C_j X_j) . (p x f, f), with the weight f = -m g at the center of
    mass p in the frame of the root.
    """
    tree, q = robot.tree, robot.random_configuration(0, POSES)
    total = np.zeros((POSES, robot.nv))
    for link, payload in payloads.items():
        frame, C, screws = tree.frame(link), np.broadcast_to(np.eye(4), (POSES, 4, 4)), []
        for i in () if frame.body == GROUND else tree.path(frame.body):
            body = tree.bodies[i]
            C = C @ body.B
            if body.dof == 1:
                screw = body.X.reshape(6)
                screws.append((body, np.einsum('nij,j->ni', se3.Ad(C), screw)))
                coordinate = body.multiplier * q[:, body.q] + body.offset
                C = C @ se3.exp(coordinate * screw)
        center = C @ frame.S @ np.append(payload.com, 1.0)
        force = -payload.mass * robot.gravity
        wrench = np.concatenate(
            [np.cross(center[:, :3], force), np.broadcast_to(force, (POSES, 3))], axis=1
        )
        for body, screw in screws:
            total[:, body.v.start] += body.multiplier * np.einsum('ni,ni->n', screw, wrench)
    return np.abs(total).max(axis=0, initial=0.0)
