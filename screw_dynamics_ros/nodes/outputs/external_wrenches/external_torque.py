"""What the external torques are computed from, and how they enter the program of the node."""

from __future__ import annotations

from dataclasses import dataclass

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.effort_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    PAYLOAD,
    external_torque_of_terms,
    momenta_and_known_torques,
    moved_mass,
)
from screw_dynamics_ros.core.estimation.observers.filtered_dynamics import filtered_step
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import momentum_step
from screw_dynamics_ros.core.estimation.observers.kalman import Noise, kalman_size, kalman_step
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.closed_loops import closed_of, in_motors
from screw_dynamics_ros.nodes.model.running_model import elements, of_joints
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


def external_torque(robot: Robot) -> Formula:
    """Return the external torques of the joints with one coordinate."""
    terms = effort_terms(robot)
    return Formula(
        'external torques',
        ('effort_shares', 'measured', 'offset', *terms.values()),
        external_torque_of_terms,
        (tuple(terms),),
    )


#: How external torques are told from motion and efforts.
OBSERVERS = ('static', 'filtered', 'momentum', 'kalman')


@dataclass(frozen=True)
class Observation:
    """The external torques by one observer.

    Attributes
    ----------
    torque : Formula
        External torques (n,) of the joints with one coordinate.
    state : Formula or None
        What the observer keeps until the next state, then the input 'observer'.
    size : int
        How many numbers that are.
    covariance : Formula or None
        Of the torques, (n, n), if the observer tells it.
    inertia : Formula or None
        The mass matrix (n, n) through which errors of velocities enter, if they do.
    """

    torque: Formula
    state: Formula | None = None
    size: int = 0
    covariance: Formula | None = None
    inertia: Formula | None = None


def observation(robot: Robot, observer: str) -> Observation:
    """Return the formulas of one of `OBSERVERS`.

    They read the parameters 'observer', 'observer_step' (`ObserverSteps.numbers`),
    'observer_noise' (rows of `kalman.Noise`), 'effort_shares', 'measured', 'offset' and 'payload'.
    Raises `ArgumentError` for robots with loops, unless the observer is the static one.
    """
    static = external_torque(robot)
    if observer == 'static':
        return Observation(static)
    if closed_of(robot) is not None:
        raise ArgumentError(
            f'observer {observer!r} is not for robots with loops: set observer to static'
        )
    joints = scalar_joints(robot)
    n, places = len(joints), tuple(coordinates(robot, joints)[1].tolist())
    M = Formula(
        'mass matrix that efforts move',
        ('effort_shares', 'mass_matrix', 'payload_mass_matrix'),
        moved_mass,
        (places,),
    )
    if observer == 'filtered':
        state = Formula(
            'filtered state', ('observer', of_joints(robot, 'v'), static, 'observer_step'), filtered
        )
        torque = Formula('filtered torques', (state, M), inertial_and_rest)
        return Observation(torque, state, 4 * n, inertia=M)
    momenta = Formula(
        'momenta and known torques',
        (
            'effort_shares',
            'measured',
            'offset',
            'momenta_and_rates',
            'payload_momenta_and_rates',
            *(f'{term}_torques' for term in ('gravity', 'coriolis', 'friction')),
        ),
        momenta_and_known_torques,
        (places,),
    )
    if observer == 'momentum':
        state = Formula('momentum state', ('observer', momenta, 'observer_step'), by_momentum)
        return Observation(elements(state, range(2 * n, 3 * n)), state, 3 * n, inertia=M)
    state = Formula(
        'Kalman state', ('observer', momenta, M, 'observer_noise', 'observer_step'), by_kalman
    )
    size = kalman_size(n)
    return Observation(
        elements(state, range(2 * n, 3 * n)),
        state,
        size,
        elements(state, range(size - n * n, size)),
    )


def by_momentum(state: Array, momenta: tuple[Array, Array], step: Array) -> Array:
    """Return the next state of the momentum observer."""
    n = len(momenta[0])
    return momentum_step(state, *momenta, step[:n], step[n : n + 1])


def filtered(state: Array, v: Array, static: Array, step: Array) -> Array:
    """Return the next state of the filtered inverse dynamics."""
    n = len(v)
    return filtered_step(state, v, static, step[:n], step[n : n + 1])


def inertial_and_rest(state: Array, M: Array) -> Array:
    """Return the torques of the filtered inverse dynamics."""
    _, _, a, rest = state.reshape(4, -1)
    return M @ a + rest


def by_kalman(
    state: Array, momenta: tuple[Array, Array], M: Array, noise: Array, step: Array
) -> Array:
    """Return the next state of the Kalman filter."""
    n = len(M)
    deviations = Noise(*noise.reshape(4, n))
    return kalman_step(state, *momenta, M, deviations, step[n + 1 : n + 2], step[n + 2 :])
