# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The torques with which joints hold payloads, at worst of many poses, beside their limits.

The poses are random ones within the joint limits, the same for each call; free bodies are in their
zero pose. A payload that a joint cannot hold in one of them needs more than the robot has; the
largest torque of all poses may be somewhat larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.tree.joint_limits import of_velocities, velocity_names
from screw_dynamics_ros.core.tree.multibody_tree import GROUND
from screw_dynamics_ros.core.types import Array

POSES = 100
MILLI = 1e-3
MAX_DISTANCE = 1.0  # of a center of mass in m, beyond which mm are likely
MAX_MASS = 100.0  # in kg, beyond which g are likely


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
