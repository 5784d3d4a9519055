# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Largest speed of a motion within joint limits: uniform time scaling.

Run s times as fast, the same path has the velocities s v and the accelerations s^2 a. The torques
are then a polynomial of s at each sample (Bruyninckx 2010, 6.1.3, C-069)::

    tau(s) = tau_0 + s tau_1 + s^2 tau_2
    tau_0 = g(q) + Coulomb friction,   tau_1 = viscous friction,   tau_2 = M a + C v

Terms of friction that grow with the speed squared are part of tau_2; those with other powers are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...description.friction import FRICTION
from ...description.rigid_body import RigidBody
from ...errors import ArgumentError
from ...tree.joint_limits import of_velocities, velocity_names
from ...tree.multibody_tree import mimic_map
from ...types import Array
from .motion import Motion
from .required_efforts import required_efforts

if TYPE_CHECKING:
    from ...robot.robot import Robot


@dataclass(frozen=True)
class SpeedLimit:
    """Speed limit of a motion by uniform time scaling.

    Attributes
    ----------
    feasible : bool
        Whether it can run at all: if not, the static torque of `joint` is beyond its limit.
    factor : float
        The largest s such that it can run at s times its speed and at every lower one: infinite if
        nothing limits it, NaN if it cannot run.
    joint : str
        The joint at its limit with that factor, or overloaded at rest; '' if there is none.
    quantity : str
        'effort' or 'velocity': which limit it is.
    time : float
        When that is so, in the time of the motion as it was given [s].
    """

    feasible: bool
    factor: float
    joint: str
    quantity: str
    time: float


def largest_speed_factor(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None = None,
    *,
    friction: bool = True,
    velocity_limits: bool = True,
) -> SpeedLimit:
    """Return the factor by which a motion may run faster within effort and velocity limits.

    Exact for the samples: no search. `Motion.faster` gives the faster motion.

    Parameters
    ----------
    robot : Robot
        With `limits`.
    motion : Motion
    payloads : {link: RigidBody}, optional
        What the robot carries.
    friction : bool
        Whether the friction of the drives counts. Dry friction does so with its `coulomb` level and
        the sign of the velocity, without the smoothing and the Stribeck curve of `Drive`.
    velocity_limits : bool
        Whether velocity limits count, or efforts only.
    """
    q, v, rest = motion.q, motion.v, np.zeros(robot.nv)
    static = robot.gravity_torques(q)
    total = required_efforts(robot, motion, payloads, friction=False)
    if payloads:
        static = static + robot.payload_torques(q, rest, rest, payloads)
    dynamic, linear = total - static, np.zeros_like(v)
    if friction:
        dry, linear, quadratic = friction_by_power(robot, v)
        static, dynamic = static + dry, dynamic + quadratic
    names, limit = velocity_names(robot), of_velocities(robot, robot.limits.effort)
    overload = np.abs(static) - limit
    if (overload > 0.0).any():
        sample, k = np.unravel_index(np.argmax(overload), overload.shape)
        return SpeedLimit(False, np.nan, names[k], 'effort', float(motion.time[sample]))
    factors = {
        'effort': np.minimum(
            first_crossing(dynamic, linear, static - limit),
            first_crossing(-dynamic, -linear, -static - limit),
        )
    }
    if velocity_limits:
        with np.errstate(divide='ignore'):
            speed = of_velocities(robot, robot.limits.velocity)
            factors['velocity'] = np.where(v == 0.0, np.inf, speed / np.abs(v))
    quantity = min(factors, key=lambda name: factors[name].min(initial=np.inf))
    factor = float(factors[quantity].min(initial=np.inf))
    if factor == np.inf:
        return SpeedLimit(True, np.inf, '', '', float(motion.time[0]))
    sample, k = np.unravel_index(np.argmin(factors[quantity]), v.shape)
    return SpeedLimit(True, factor, names[k], quantity, float(motion.time[sample]))


def friction_by_power(robot: Robot, v: Array) -> Array:
    """Return the friction (3, N, nv) at velocities (N, nv) that grows with s^0, s^1 and s^2.

    Mimic joints add to their leaders. Raises `ArgumentError` if friction depends on load, or grows
    with another power.
    """
    found = np.zeros((3, *v.shape))
    masters = mimic_map(robot.description)
    for joint, drive in robot.drives.items():
        for name, row in FRICTION.items():
            if getattr(drive, name) and (row.by_load or row.growth not in (None, 0, 1, 2)):
                raise ArgumentError(
                    f'speeds of a motion by efforts are not implemented for {name} of {joint!r}, '
                    'which is not polynomial in the speed; use friction=False with some reserve '
                    f'of efforts, or drives without {name}'
                )
        master, multiplier, _ = masters[joint]
        at = robot.joint_coordinates(master)[1]
        for power, torque in enumerate(found):
            torque[:, at] += multiplier * drive.growing(multiplier * v[:, at], power)
    return found


def first_crossing(a: Array, b: Array, c: Array) -> Array:
    """Return the smallest s >= 0 beyond which a s^2 + b s + c > 0, for c <= 0; infinite if none.

    Of both forms of the root of a quadratic equation the one in which nothing cancels.

    Examples
    --------
    >>> one = np.ones(1)
    >>> first_crossing(one, one, -6 * one), first_crossing(-one, 4 * one, -3 * one)
    (array([2.]), array([1.]))
    """
    with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
        discriminant = b * b - 4.0 * a * c
        root = np.sqrt(np.maximum(discriminant, 0.0))
        crosses = (a > 0.0) | ((b > 0.0) & (discriminant > 0.0))
        s = np.where(b < 0.0, (root - b) / (2.0 * a), -2.0 * c / (b + root))
    s[c == 0.0] = np.where(b < 0.0, s, 0.0)[c == 0.0]
    return np.where(crosses & np.isfinite(c), s, np.inf)
