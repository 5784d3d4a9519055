"""Formulas for the joint torques of a robot, term by term, and for the feedforward.

Gravity, Coriolis and friction torques are those of the measured state, the inertial ones are those
of the acceleration of the reference there. Feedforward and payload torques are for the followed
motion: the reference for the joints it names, the measured state for the others.
"""

from __future__ import annotations

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
from screw_dynamics_ros.core.mechanisms.closures.actuated_robot import REST, Source, inertial
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import of_joints
from screw_dynamics_ros.nodes.model.scalar_joints import coordinates, scalar_joints

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
    add by itself and 0 for the others, 'payload' is made by `Robot.payload_parameters`. With loops
    torques are those of the motors, which all joints follow: positions and velocities are the
    measured ones, which close the loops; of the reference, accelerations and the velocities for
    friction are used.
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
    counted = Formula('acceleration counted', (asked, 'shares'), counted_acceleration)
    rates = followed('v', V, places_v)
    moved: dict[str, Source] = {'a': motors.accelerations_along(counted)}
    if not motors.has_loops:
        moved |= {'q': followed('q', Q, places_q), 'v': rates}
    inertia = Formula('inertial torques', ('mass_matrix', motors.rates_along(asked)), inertial)
    friction = Formula(
        'friction of the reference',
        (
            of_motors(robot.substitute('friction_torques', v=motors.rates_along(rates))),
            'reference',
        ),
        given_only,
    )
    gravity = of_motors('gravity_torques')
    coriolis = of_motors(motors.coriolis_torques_of_all())
    rigid, payload = (
        of_motors(robot.substitute(name, **moved))
        for name in ('inverse_dynamics', 'payload_torques')
    )
    carried = of_motors(robot.substitute('payload_torques', v=REST, a=REST))
    return TorqueTerms(
        gravity,
        coriolis,
        of_motors('friction_torques'),
        payload,
        of_motors(inertia),
        Formula('weight', (gravity, carried, 'shares'), weighed),
        Formula('feedforward', (rigid, payload, friction, gravity, coriolis, 'shares'), added),
    )


def added(
    rigid: Array, payload: Array, friction: Array, gravity: Array, coriolis: Array, shares: Array
) -> Array:
    """Return feedforward (n,): torques of the followed motion, less what the robot adds."""
    needed = rigid + shares[PAYLOAD] * payload + shares[FRICTION] * friction
    return feedforward(needed, (gravity, coriolis), shares[[GRAVITY, CORIOLIS]])


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


def rows(reference: Array) -> Array:
    """Return the parameter 'reference' as an array (4, n)."""
    return reference.reshape(4, len(reference) // 4)
