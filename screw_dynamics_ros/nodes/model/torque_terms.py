# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas for the terms of the joint torques of a robot, and for the feedforward.

Gravity, Coriolis and friction torques use the measured state; inertial torques use the measured
positions and the acceleration of the reference. Feedforward and payload torques are for the
followed motion: the reference for the joints it names, the measured state for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.annotation.reference_torques import (
    Q,
    V,
    acceleration_less_compensated,
    feedforward_torques,
    reference_acceleration,
    replaced,
    torques_of_named,
    weight_torques,
)
from screw_dynamics_ros.core.formulas import inertial_torques
from screw_dynamics_ros.core.robot.actuated_robot import REST, Source
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array

from .actuated import actuated
from .running_model import of_joints
from .scalar_joints import coordinates, scalar_joints


@dataclass(frozen=True)
class TorqueTerms:
    """Torques of the joints with one coordinate, (n,) each.

    Attributes
    ----------
    gravity, coriolis, friction, inertia, payload : output or Formula
    weight : Formula
        Torques that hold the robot and its payload at rest in the measured configuration, minus the
        torques that the robot compensates internally.
    feedforward : Formula
        Inverse dynamics of the followed motion, with the friction of the reference and the payload,
        minus the torques that the robot compensates internally.
    """

    gravity: Source
    coriolis: Source
    friction: Source
    inertia: Source
    payload: Source
    weight: Formula
    feedforward: Formula


def torque_terms(robot: Robot) -> TorqueTerms:
    """Return the formulas; they read the parameters 'reference', 'shares' and 'payload'.

    For 'reference' and 'shares' see `core.annotation.reference_torques`; 'payload' comes from
    `Robot.payload_parameters`. With kinematic loops, torques are those of the motors. Positions and
    velocities are then measured, because they close the loops; from the reference only
    accelerations and the velocities for friction are used.
    """
    motors, joints = actuated(robot), scalar_joints(robot)
    places_q, places_v = coordinates(robot, joints)

    def of_motors(output: Source) -> Source:
        return motors.torques_of_motors(of_joints(robot, output))

    asked = Formula(
        'reference acceleration',
        ('reference',),
        reference_acceleration,
        (tuple(places_v.tolist()), robot.nv),
    )
    counted = Formula('acceleration counted', (asked, 'shares'), acceleration_less_compensated)
    rates = followed('v', V, places_v)
    moved: dict[str, Source] = {'a': motors.accelerations_along(counted)}
    if not motors.has_loops:
        moved |= {'q': followed('q', Q, places_q), 'v': rates}
    inertia = inertial_torques(motors.rates_along(asked))
    gravity = of_motors('gravity_torques')
    coriolis = of_motors(motors.coriolis_torques_of_all())
    loads = [robot.substitute(name, **moved) for name in ('inverse_dynamics', 'payload_torques')]
    rigid, payload = map(of_motors, loads)
    of_reference = friction_source(robot, motors.rates_along(rates), loads)
    friction = Formula(
        'friction of the reference', (of_motors(of_reference), 'reference'), torques_of_named
    )
    every = rigid, payload, friction, gravity, coriolis, 'shares'
    at_rest = robot.substitute('payload_torques', v=REST, a=REST)
    carried = of_motors(at_rest)
    measured = friction_source(robot, 'v', ['gravity_torques', 'coriolis_torques', at_rest])
    return TorqueTerms(
        gravity,
        coriolis,
        of_motors(measured),
        of_motors(inertia),
        payload,
        Formula('weight', (gravity, carried, 'shares'), weight_torques),
        Formula('feedforward', every, feedforward_torques),
    )


def base_momentum(robot: Robot) -> Formula:
    """Return the momentum of robot and payload, and its rate without contacts, (12,).

    In the axes of the root link, angular part first: p and C^T v - g of the base, (1) of
    `observers.generalized_momentum`.
    """
    return Formula(
        'momentum of the base',
        ('momenta_and_rates', 'payload_momenta_and_rates'),
        momentum_of_base,
    )


def momentum_of_base(of_robot: tuple[Array, Array], of_payload: tuple[Array, Array]) -> Array:
    """Return the sums of the first six momenta and of their rates, (12,)."""
    return np.concatenate([robot[:6] + payload[:6] for robot, payload in zip(of_robot, of_payload)])


def friction_source(robot: Robot, v: Source, loads: Sequence[Source]) -> Source:
    """Return the friction (nv,) at rates v of drives that transmit the sum of `loads` (nv,)."""
    if not robot.tree.has_load_friction:
        return 'friction_torques' if v == 'v' else robot.substitute('friction_torques', v=v)
    load = Formula('transmitted torques', tuple(loads), sum_of_torques)
    return robot.substitute('friction_under_load', v=v, tau=load)


def sum_of_torques(*torques: Array) -> Array:
    """Return the sum of torques, (nv,) each."""
    return np.sum(torques, axis=0)


def followed(name: str, row: int, places: NDArray[np.intp]) -> Formula:
    """Return the vector `name` of the robot with elements replaced by the reference."""
    return Formula(f'followed {name}', (name, 'reference'), replaced, (row, tuple(places.tolist())))
