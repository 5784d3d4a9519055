"""The formulas of external torques in the program of the node."""

from __future__ import annotations

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.measurement.estimation.effort_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    PAYLOAD,
)
from screw_dynamics_ros.core.measurement.estimation.observers import quantities
from screw_dynamics_ros.core.measurement.estimation.observers.quantities import Efforts, Observation
from screw_dynamics_ros.core.measurement.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.nodes.model.closed_loops import closed_of, in_motors
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints
from screw_dynamics_ros.nodes.model.torque_terms import at_rest, coriolis_of_all, drift


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


def efforts_of(robot: Robot) -> Efforts:
    """Return the measured efforts, of the joints with one coordinate."""
    places = coordinates(robot, scalar_joints(robot))[1].tolist()
    return Efforts('effort_shares', 'measured', 'offset', tuple(places))


def external_torque(robot: Robot) -> Formula:
    """Return the external torques of the joints with one coordinate, by the static observer."""
    return quantities.static_torque(efforts_of(robot), effort_terms(robot))


def observation(robot: Robot, name: str) -> Observation:
    """Return the formulas of an observer; their parameters are 'effort_shares', 'measured', ...

    Raises `ArgumentError` for robots with loops, unless the observer has no state.
    """
    static, n = external_torque(robot), len(scalar_joints(robot))
    if closed_of(robot) is not None and OBSERVERS[name].state_size(n):
        raise ArgumentError(
            f'observer {name!r} is not for robots with loops: set observer to static'
        )
    given = quantities.quantities(efforts_of(robot), of_joints(robot, 'v'), static, payload=str)
    return quantities.observation(name, n, static, given)
