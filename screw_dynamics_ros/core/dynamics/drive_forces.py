# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces of drives between their motors and the bodies: springs and friction.

The torques of drives are

    tau = L + f(v) + mu |L| sign(v) + delta L sign(v)^2,    L = Q + s(q),

with the torques Q of the Newton-Euler equations, s = dU/dq that balance springs, and the friction
f(v) and the shares mu and delta of the transmitted torque L: the last two terms are
(mu + delta sign(L v)) |L| sign(v), with the sign of the power. With u = tau - f(v), g = mu sign(v)
and c = 1 + delta sign(v)^2 > |g|, L has the sign of u, so that

    L = (c u - g |u|) / (c^2 - g^2).

A spring along a joint has U = k (q - q_0)^2 / 2. A counterbalance pulls its two pivots together
with the force F = F_0 + k l, where l is their distance. With the vector rho from the pivot on the
body to that on the predecessor, in body axes, and the derivative x = xi x b + eta of the former,

    l l' = rho . x,    s = F l' = k l l' + F_0 (l l') / l.

The cogging of a motor has U = -(c / n) cos(n q + phase), and no other path through the functions.

>>> from dataclasses import replace
>>> from screw_dynamics_ros.core.description.drives import Drive
>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> arm = planar_arm()
>>> sprung = replace(arm.bodies[1], drive=Drive(spring_stiffness=3.0, spring_position=0.5))
>>> spring_torques(replace(arm, bodies=(arm.bodies[0], sprung)), np.array([0.0, 1.0]))
array([0. , 1.5])

Sources: for friction see `description.friction`; for the spring with two pivots Klimchik, Wu,
Dumas, Caro, Furet and Pashkevich, Identification of geometrical and elastostatic parameters of
heavy industrial robots (ICRA 2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ..description.friction import Friction, Jet
from ..errors import ArgumentError
from ..kinematics.poe import joint_coordinate, relative_pose
from ..linear import cross, zeros
from ..tree.joint_limits import of_velocities
from ..tree.multibody_tree import Body, Tree
from ..types import Array


def driving_torques(tree: Tree, q: Array, v: Array, Q: Array) -> Array:
    """Return the torques (nv,) of drives for Newton-Euler torques Q (nv,).

    They include springs, and friction if the tree has it.
    """
    L = Q + spring_torques(tree, q)
    return L + friction_under_load(tree, v, L) if tree.with_friction else L


def moving_torques(tree: Tree, q: Array, v: Array, tau: Array) -> Array:
    """Return the Newton-Euler torques Q (nv,): the inverse of `driving_torques`."""
    L = transmitted_torques(tree, v, tau) if tree.with_friction else tau
    return L - spring_torques(tree, q)


class AvailableTorques:
    """The torques that drives have at the rates of their joints, a function of v.

    These are the effort limits of joints and the limits of their motors
    (`Drive.available_torques`), infinite where there are none.
    """

    def __init__(self, tree: Tree) -> None:
        self._limit = of_velocities(tree, tree.limits.effort)
        limited = [body for body in tree.bodies if body.drive.limits_torque]
        self._motors = [(body.drive.available_torques, body.v.start) for body in limited]

    def __call__(self, v: Array) -> tuple[Array, Array]:
        """Return the lowest and the highest torques at rates v (..., nv) [N m, N], (..., nv) each.

        Can be recorded.
        """
        limit = self._limit
        lower, upper = 0.0 * v - limit, 0.0 * v + limit
        for available, k in self._motors:
            lower[..., k], upper[..., k] = available(v[..., k][()], float(limit[k]))
        return lower, upper


# --- springs --------------------------------------------------------------------------------------


class Lever(NamedTuple):
    """Distance l of the pivots of a counterbalance, and derivatives of l^2 / 2 by its joint."""

    length: Any
    first: Any
    second: Any
    third: Any


def lever(body: Body, q: Array) -> Lever:
    """Return distance and lever of the pivots of a body's counterbalance [m, m^2]."""
    assert body.pivots is not None
    C, (a, b) = relative_pose(body, q), body.pivots
    R, r = C[:3, :3], C[:3, 3]
    xi, eta = body.X[:3, 0], body.X[3:, 0]
    x, rho = cross(xi, b) + eta, b + R.T @ (r - a)
    turned = cross(xi, x)
    return Lever(
        np.sqrt(rho @ rho),
        rho @ x,
        x @ x + rho @ turned,
        3.0 * (x @ turned) + rho @ cross(xi, turned),
    )


def cogging_angle(body: Body, q: Array) -> Array:
    """Return the angle n q + phase of the cogging of a body's motor, (1,) [rad]."""
    return body.drive.cogging_order * joint_coordinate(body, q) + body.drive.cogging_phase


def without_springs(tree: Tree) -> Tree:
    """Return the same tree without springs: what torques of rates alone are derived from."""
    bodies = tuple(
        replace(body, drive=replace(body.drive, spring_stiffness=0.0, cogging=0.0), pivots=None)
        if body.drive.has_spring
        else body
        for body in tree.bodies
    )
    return replace(tree, bodies=bodies)


def spring_energy(tree: Tree, q: Array) -> Any:
    """Return the energy in springs [J], zero for relaxed springs and counterbalances with l = 0."""
    U: Any = 0.0
    for body in tree.bodies:
        drive = body.drive
        if drive.spring_stiffness:
            strain = joint_coordinate(body, q)[0] - drive.spring_position
            U = U + 0.5 * drive.spring_stiffness * (strain * strain)
        if drive.cogging:
            n, angle = drive.cogging_order, cogging_angle(body, q)[0]
            U = U - drive.cogging / n * np.cos(angle)
        if body.pivots is not None:
            length = lever(body, q).length
            U = U + length * (
                drive.counterbalance_preload + 0.5 * drive.counterbalance_stiffness * length
            )
    return U


def spring_torques(tree: Tree, q: Array, order: int = 0) -> Array:
    """Return s(q), the (nv,) torques that balance springs, or their derivatives of an order by q.

    Mimic joints add to their leaders. Of the first and second derivatives, (nv, nv) and
    (nv, nv, nv), only the diagonal is not zero.
    """

    def torque(body: Body) -> Any:
        drive, own = body.drive, Jet(0.0, 0.0, 0.0)
        if drive.spring_stiffness:
            own = drive.spring_stiffness * Jet(
                joint_coordinate(body, q) - drive.spring_position, 1.0, 0.0
            )
        if drive.cogging:
            n, angle = drive.cogging_order, cogging_angle(body, q)
            sine, cosine = np.sin(angle), np.cos(angle)
            own = own + drive.cogging * Jet(sine, n * cosine, -n * n * sine)
        if body.pivots is not None:
            l, first, second, third = lever(body, q)  # noqa: E741
            length = Jet(l, first / l, (second - first * first / (l * l)) / l)
            force = drive.counterbalance_stiffness + drive.counterbalance_preload / length
            own = own + force * Jet(first, second, third)
        return (own.value, own.first, own.second)[order]

    return of_joints(tree, q, order, torque)


def of_joints(tree: Tree, x: Array, order: int, torque: Callable[[Body], Any]) -> Array:
    """Return the derivatives of an order by x of torques that depend on their own element alone."""
    total = zeros((tree.nv,) * (order + 1), x)
    for body in tree.bodies:
        if body.dof < 6:
            at = (np.arange(body.v.start, body.v.stop),) * (order + 1)
            total[at] = total[at] + body.multiplier ** (order + 1) * torque(body)
    return total


# --- friction -------------------------------------------------------------------------------------


def friction_torques(tree: Tree, v: Array, order: int = 0) -> Array:
    """Return f(v), the (nv,) torques that overcome friction, or their derivatives of an order by v.

    Mimic joints add to their leaders. The first and second derivatives, (nv, nv) and (nv, nv, nv),
    are diagonal except for motors coupled to several joints.
    """
    derivatives = Friction.friction, Friction.friction_slope, Friction.friction_curvature
    f = of_joints(
        tree, v, order, lambda body: derivatives[order](body.drive, body.multiplier * v[body.v])
    )
    for motor in tree.motors:
        own = derivatives[order](motor.friction, motor.row @ v)
        f = f + own * reduce(np.multiply.outer, (order + 1) * [motor.row])
    return f


def friction_under_load(tree: Tree, v: Array, tau: Array) -> Array:
    """Return the friction (nv,) of drives that transmit the torques `tau` (nv,) [N m, N]."""
    f = friction_torques(tree, v)
    for body in tree.bodies:
        if body.drive.depends_on_load:
            drive, rate, L = body.drive, v[body.v], tau[body.v]
            f[body.v] = f[body.v] + drive.load_share(rate) * size(L) + drive.power_share(rate) * L
    return f


def transmitted_torques(tree: Tree, v: Array, tau: Array) -> Array:
    """Return the transmitted torques: the torques `tau` (nv,) of drives minus friction."""
    L = tau - friction_torques(tree, v)
    for body in tree.bodies:
        if body.drive.depends_on_load:
            u, g = L[body.v], body.drive.load_share(v[body.v])
            c = 1.0 + body.drive.power_share(v[body.v])
            L[body.v] = (c * u - g * size(u)) / (c * c - g * g)
    return L


def size(x: Array) -> Array:
    """Return |x|, which can be recorded."""
    return np.sqrt(x * x)


def refuse_load_friction(tree: Tree, what: str) -> None:
    """Raise `ArgumentError` if the friction in the equations of motion depends on load."""
    if tree.with_friction and tree.has_load_friction:
        raise ArgumentError(
            f'{what}: not implemented for friction that depends on load; use a robot with '
            'friction=False, or drives without load_friction'
        )
