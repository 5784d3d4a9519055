"""Formulas for the joint torques of a robot, term by term, and for the feedforward.

Gravity, Coriolis and friction torques are those of the measured state, the inertial ones are those
of the acceleration of the reference there. Feedforward and payload torques are for the followed
motion: the reference for the joints it names, the measured state for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.dynamics.feedforward import feedforward
from screw_dynamics_ros.core.measurement.estimation.effort_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    INERTIA,
    PAYLOAD,
)
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model import closed_loops
from screw_dynamics_ros.nodes.model.closed_loops import closed_of
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints

Source = Output | Formula

#: Rows of the parameter 'reference': 1 for the joints it names, 0 for others; positions and rates.
GIVEN, Q, V, A = range(4)


@dataclass(frozen=True)
class TorqueTerms:
    """Torques of the joints with one coordinate, (n,) each.

    Attributes
    ----------
    gravity, coriolis, friction, payload, inertia : output or Formula
    weight : Formula
        What carries the robot and its payload in the measured state, at rest, less what the robot
        compensates by itself.
    feedforward : Formula
        Inverse dynamics of the followed motion, with the friction of the reference and the payload,
        less what the robot compensates by itself.
    """

    gravity: Source
    coriolis: Source
    friction: Source
    payload: Source
    inertia: Source
    weight: Formula
    feedforward: Formula


def torque_terms(robot: Robot) -> TorqueTerms:
    """Return the formulas, which read the parameters 'reference', 'shares' and 'payload'.

    'reference' has 4 rows (see `GIVEN`), 'shares' is 1 for each of `TERMS` that the robot does not
    add by itself and 0 for the others, 'payload' is made by `Robot.payload_parameters`.
    """
    if closed_of(robot) is not None:
        return torque_terms_of_motors(robot)
    places_q, places_v = coordinates(robot, scalar_joints(robot))
    asked = Formula(
        'reference acceleration',
        ('reference',),
        reference_acceleration,
        (tuple(places_v.tolist()), robot.nv),
    )
    accelerated = Formula('acceleration counted', (asked, 'shares'), counted_acceleration)
    moved = {
        'q': followed('q', Q, places_q),
        'v': followed('v', V, places_v),
        'a': accelerated,
    }
    inertia = Formula('inertial torques', ('mass_matrix', asked), inertial)
    friction = Formula(
        'friction of the reference',
        (of_joints(robot, robot.substitute('friction_torques', v=moved['v'])), 'reference'),
        given_only,
    )
    gravity, coriolis = (of_joints(robot, f'{name}_torques') for name in ('gravity', 'coriolis'))
    rigid, payload = (
        of_joints(robot, robot.substitute(name, **moved))
        for name in ('inverse_dynamics', 'payload_torques')
    )
    rest = Formula('rest', ('v',), at_rest)
    carried = of_joints(robot, robot.substitute('payload_torques', v=rest, a=rest))
    weight = Formula('weight', (gravity, carried, 'shares'), weighed)
    return TorqueTerms(
        gravity,
        coriolis,
        of_joints(robot, 'friction_torques'),
        payload,
        of_joints(robot, inertia),
        weight,
        Formula('feedforward', (rigid, payload, friction, gravity, coriolis, 'shares'), added),
    )


def torque_terms_of_motors(robot: Robot) -> TorqueTerms:
    """Return the same for a robot with loops: torques of its motors, zero in joints without one.

    All joints follow the motors. Positions and velocities are the measured ones, which close the
    loops; of the reference, accelerations and the velocities for friction are used.
    """
    closed = closed_of(robot)
    assert closed is not None
    everywhere = tuple(range(robot.nv))
    asked = Formula(
        'reference acceleration', ('reference',), reference_acceleration, (everywhere, robot.nv)
    )
    counted = Formula('acceleration counted', (asked, 'shares'), counted_acceleration)
    rest = Formula('rest', ('v',), at_rest)

    def in_motors(name: str, **sources: Source) -> Source:
        torques = robot.substitute(name, **sources) if sources else name
        return closed_loops.in_motors(robot, torques)

    moving = {'a': along_loops(closed, closed_loops.accelerated, counted)}
    gravity = in_motors('gravity_torques')
    coriolis = closed_loops.in_motors(robot, coriolis_of_all(robot))
    rates = followed('v', V, np.array(everywhere))
    friction = Formula(
        'friction of the reference',
        (
            in_motors('friction_torques', v=along_loops(closed, closed_loops.moved_along, rates)),
            'reference',
        ),
        given_only,
    )
    rigid = in_motors('inverse_dynamics', **moving)
    payload = in_motors('payload_torques', **moving)
    carried = in_motors('payload_torques', v=rest, a=rest)
    forced = Formula(
        'inertial torques',
        ('mass_matrix', along_loops(closed, closed_loops.moved_along, asked)),
        inertial,
    )
    return TorqueTerms(
        gravity,
        coriolis,
        in_motors('friction_torques'),
        payload,
        closed_loops.in_motors(robot, forced),
        Formula('weight', (gravity, carried, 'shares'), weighed),
        Formula('feedforward', (rigid, payload, friction, gravity, coriolis, 'shares'), added),
    )


def along_loops(closed: ClosedRobot, function: Callable[..., Array], motors: Source) -> Formula:
    """Return the motion (n,) of all joints for that of the motors, the elements of a vector (n,).

    `function` is `closed_loops.moved_along` or `accelerated`.
    """
    sources = (motors, closed_loops.dependent(closed))
    return Formula('motion of all joints', sources, function, (tuple(closed.places),))


def drift(robot: Robot) -> Formula:
    """Return the accelerations (n,) of all joints while the motors do not accelerate."""
    closed = closed_of(robot)
    assert closed is not None
    return along_loops(closed, closed_loops.accelerated, Formula('rest', ('v',), at_rest))


def coriolis_of_all(robot: Robot) -> Formula:
    """Return M d + C v, (n,), of a robot with loops."""
    forced = Formula('M d', ('mass_matrix', drift(robot)), inertial)
    return Formula('sum', ('coriolis_torques', forced), sum_of_torques)


def sum_of_torques(a: Array, b: Array) -> Array:
    """Return a + b."""
    return a + b


def added(
    rigid: Array, payload: Array, friction: Array, gravity: Array, coriolis: Array, shares: Array
) -> Array:
    """Return feedforward (n,): torques of the followed motion, less what the robot adds."""
    needed = rigid + shares[PAYLOAD] * payload + shares[FRICTION] * friction
    return feedforward(needed, (gravity, coriolis), shares[[GRAVITY, CORIOLIS]])


def at_rest(v: Array) -> Array:
    """Return no velocity, of the same shape."""
    return np.zeros_like(v)


def weighed(gravity: Array, carried: Array, shares: Array) -> Array:
    """Return the torques (n,) that carry robot and payload, less what the robot adds."""
    return shares[GRAVITY] * gravity + shares[PAYLOAD] * carried


def energies() -> Formula:
    """Return kinetic and potential energy of the robot, (2,) [J]; the first one is v M v / 2."""
    sources = ('v', 'mass_matrix', 'potential_energy')
    return Formula('energies', sources, both_energies)


def both_energies(v: Array, M: Array, potential: Array) -> Array:
    """Return kinetic and potential energy, (2,)."""
    return np.stack([0.5 * (v @ (M @ v)), potential])


def followed(name: str, row: int, places: NDArray[np.intp]) -> Formula:
    """Return the vector `name` of the robot with what the reference gives in place of it."""
    return Formula(f'followed {name}', (name, 'reference'), replaced, (row, tuple(places.tolist())))


def replaced(measured: Array, reference: Array, row: int, places: tuple[int, ...]) -> Array:
    """Return a vector with a row of the reference in some places, where that is given."""
    given, where = rows(reference)[GIVEN], list(places)
    result = measured.copy()
    result[where] = given * rows(reference)[row] + (1.0 - given) * measured[where]
    return result


def given_only(torques: Array, reference: Array) -> Array:
    """Return the torques of the joints that the reference names, zero for others."""
    return rows(reference)[GIVEN] * torques


def reference_acceleration(reference: Array, places: tuple[int, ...], size: int) -> Array:
    """Return the acceleration of the reference, (size,), zero where it gives none."""
    result = np.zeros(size, dtype=reference.dtype)
    result[list(places)] = rows(reference)[A]
    return result


def counted_acceleration(a: Array, shares: Array) -> Array:
    """Return an acceleration, or zero where the robot adds inertial torques by itself."""
    return shares[INERTIA] * a


def inertial(M: Array, a: Array) -> Array:
    """Return the torques of an acceleration."""
    return M @ a


def rows(reference: Array) -> Array:
    """Return the parameter 'reference' as an array (4, n)."""
    return reference.reshape(4, len(reference) // 4)
