"""What the external torques are computed from, and how they enter the program of the node."""

from __future__ import annotations

from typing import Any

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation import external_torques
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.closed_loops import closed_of, in_motors
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.nodes.model.torque_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    PAYLOAD,
    at_rest,
    coriolis_of_all,
    drift,
)


def effort_terms(robot: Robot) -> dict[int, Output | Formula]:
    """Return the torques that may be part of measured efforts, by their places in `TERMS`.

    Of the joints with one coordinate, in the measured state and unaccelerated: the estimate is
    static, so that there are no inertial torques among them.
    """
    unaccelerated = Formula('rest', ('v',), at_rest)
    coriolis: Output | Formula = 'coriolis_torques'
    if closed_of(robot) is not None:
        unaccelerated, coriolis = drift(robot), coriolis_of_all(robot)
    payload = robot.substitute('payload_torques', a=unaccelerated)
    return {
        term: in_motors(robot, of_joints(robot, output))
        for term, output in (
            (GRAVITY, 'gravity_torques'),
            (CORIOLIS, coriolis),
            (FRICTION, 'friction_torques'),
            (PAYLOAD, payload),
        )
    }


def external_torque(robot: Robot) -> Formula:
    """Return the external torques of the joints with one coordinate."""
    terms = effort_terms(robot)
    return Formula(
        'external torques',
        ('effort_shares', 'measured', 'offset', *terms.values()),
        external_torque_of_terms,
        (tuple(terms),),
    )


def external_torque_of_terms(
    shares: Array,
    measured: Array,
    offset: Array,
    *torques_and_places: Any,
) -> Array:
    """Return external torques; last come the torques of each term, and their places in `TERMS`."""
    *torques, places = torques_and_places
    return external_torques(torques, shares[list(places)], measured, offset)
