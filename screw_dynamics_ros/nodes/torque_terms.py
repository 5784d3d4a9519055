"""The joint torques of a robot term by term, and what a controller has to add: formulas.

Gravity, Coriolis and friction torques are those of the measured state, the inertial ones are those
of the acceleration of the reference there. Feedforward and payload torques are for the followed
motion: the reference for the joints it names, the measured state for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.dynamics.feedforward import feedforward
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.core.fused import Formula
from screw_dynamics_ros.nodes.model import coordinates, elements, of_joints, scalar_joints

Array = NDArray[np.float64]
Source = Output | Formula

#: In the order of the elements of the parameter 'shares' of the kernel.
TERMS = ('gravity', 'coriolis', 'friction', 'inertia', 'payload')
GRAVITY, CORIOLIS, FRICTION, INERTIA, PAYLOAD = range(len(TERMS))

#: Rows of the parameter 'reference': 1 for the joints it names, 0 for others; positions and rates.
GIVEN, Q, V, A = range(4)


@dataclass(frozen=True)
class TorqueTerms:
    """Torques of the joints with one coordinate, (n,) each.

    Attributes
    ----------
    gravity, coriolis, friction, payload, inertia : output or Formula
    feedforward : Formula
        Inverse dynamics of the followed motion, with the friction of the reference and the payload,
        less what the robot compensates by itself.
    """

    gravity: Source
    coriolis: Source
    friction: Source
    payload: Source
    inertia: Source
    feedforward: Formula


def torque_terms(robot: Robot) -> TorqueTerms:
    """Return the formulas, which read the parameters 'reference', 'shares' and 'payload'.

    'reference' has 4 rows (see `GIVEN`), 'shares' is 1 for each of `TERMS` that the robot does not
    add by itself and 0 for the others, 'payload' is made by `Robot.payload_parameters`.
    """
    places_q, places_v = coordinates(robot, scalar_joints(robot))
    asked = Formula(
        'reference acceleration',
        ('reference',),
        lambda reference: spread(rows(reference)[A], places_v, robot.nv),
    )
    accelerated = Formula(
        'acceleration counted', (asked, 'shares'), lambda a, shares: shares[INERTIA] * a
    )
    moved = {
        'q': followed('q', Q, places_q),
        'v': followed('v', V, places_v),
        'a': accelerated,
    }
    inertia = Formula('inertial torques', ('mass_matrix', asked), lambda M, a: M @ a)
    friction = Formula(
        'friction of the reference',
        (of_joints(robot, robot.elsewhere('friction_torques', v=moved['v'])), 'reference'),
        lambda torques, reference: rows(reference)[GIVEN] * torques,
    )
    gravity, coriolis = (of_joints(robot, f'{name}_torques') for name in ('gravity', 'coriolis'))
    rigid, payload = (
        of_joints(robot, robot.elsewhere(name, **moved))
        for name in ('inverse_dynamics', 'payload_torques')
    )
    return TorqueTerms(
        gravity,
        coriolis,
        of_joints(robot, 'friction_torques'),
        payload,
        of_joints(robot, inertia),
        Formula('feedforward', (rigid, payload, friction, gravity, coriolis, 'shares'), added),
    )


def added(
    rigid: Array, payload: Array, friction: Array, gravity: Array, coriolis: Array, shares: Array
) -> Array:
    """Return feedforward (n,): torques of the followed motion, less what the robot adds."""
    needed = rigid + shares[PAYLOAD] * payload + shares[FRICTION] * friction
    return feedforward(needed, (gravity, coriolis), shares[[GRAVITY, CORIOLIS]])


def energies() -> Formula:
    """Return kinetic and potential energy of the robot, (2,) [J]; the first one is v M v / 2."""
    sources = ('v', 'mass_matrix', 'potential_energy')
    return Formula('energies', sources, lambda v, M, U: np.stack([0.5 * (v @ (M @ v)), U]))


def followed(name: str, row: int, places: NDArray[np.intp]) -> Formula:
    """Return the vector `name` of the robot with what the reference gives in place of it."""

    def choose(measured: Array, reference: Array) -> Array:
        given = rows(reference)[GIVEN]
        result = measured.copy()
        result[places] = given * rows(reference)[row] + (1.0 - given) * measured[places]
        return result

    return Formula(f'followed {name}', (name, 'reference'), choose)


def rows(reference: Array) -> Array:
    """Return the parameter 'reference' as an array (4, n)."""
    return reference.reshape(4, len(reference) // 4)


def spread(values: Array, places: Sequence[int] | NDArray[np.intp], size: int) -> Array:
    """Return a vector (size,) with some values in their places and zeros elsewhere."""
    result = np.zeros(size, dtype=values.dtype)
    result[places] = values
    return result


def commands(terms: TorqueTerms, indices: Sequence[int]) -> Formula:
    """Return feedforward in another order of the joints."""
    return Formula('commands', (elements(terms.feedforward, indices),), np.array)
