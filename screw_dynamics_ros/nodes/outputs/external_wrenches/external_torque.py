# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas for external torques."""

from __future__ import annotations

from dataclasses import replace

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.observers import quantities
from screw_dynamics_ros.core.estimation.observers.quantities import Efforts, Observation
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.robot.actuated_robot import REST
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints


def effort_terms(robot: Robot) -> dict[int, Output | Formula]:
    """Return `quantities.effort_terms` of the joints with one coordinate."""
    motors = actuated(robot)
    payload = robot.substitute('payload_torques', a=motors.accelerations_along(REST))
    friction = quantities.friction_of(robot, efforts_of(robot))
    terms = quantities.effort_terms(payload, friction, motors.coriolis_torques_of_all())
    return {
        term: motors.torques_of_motors(of_joints(robot, output)) for term, output in terms.items()
    }


def efforts_of(robot: Robot) -> Efforts:
    """Return the measured efforts, of the joints with one coordinate."""
    places = coordinates(robot, scalar_joints(robot))[1].tolist()
    return Efforts('effort_shares', 'measured', 'offset', tuple(places))


def external_torque(robot: Robot) -> Formula:
    """Return the external torques of the joints with one coordinate, by the static observer."""
    return quantities.static_torque(efforts_of(robot), effort_terms(robot))


def observation(robot: Robot, name: str) -> Observation:
    """Return the formulas of an observer, for efforts with a delay.

    Their parameters are 'effort_shares', 'measured', 'offset', 'effort_delay' and those of
    `quantities.observation`.

    Raises `ArgumentError` for robots with loops, unless the observer has no state.
    """
    efforts, n = efforts_of(robot), len(scalar_joints(robot))
    if actuated(robot).has_loops and OBSERVERS[name].state_size(n):
        raise ArgumentError(
            f'observer {name!r} is not for robots with loops: set observer to static'
        )
    friction = quantities.friction_of(robot, efforts)
    static = quantities.static_torque(efforts.none, effort_terms(robot))
    rates = of_joints(robot, 'v')
    given = quantities.quantities(efforts.none, rates, static, str, friction)
    model, late = quantities.of_late_efforts(given, efforts, name)
    return replace(quantities.observation(name, n, late), model=model)
