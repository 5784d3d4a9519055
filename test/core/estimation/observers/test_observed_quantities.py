# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs of observers for efforts with any terms: momenta whose rates are finite differences."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.estimation.observers.observer import QUANTITIES, Sample
from screw_dynamics_ros.core.estimation.observers.quantities import (
    Efforts,
    effort_terms,
    friction_of,
    late_names,
    observation,
    of_late_efforts,
    quantities,
    static_torque,
)
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.robot.actuated_robot import REST
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.state_clock import StateClock
from support.models import random_description
from support.paths import URDF

BODY = RigidBody(2.0, np.array([0.1, 0.0, 0.2]), 0.1 * np.eye(3))
PLACES = (0, 2)  # joints with efforts
SIZES = {'shares': 5, 'measured': 2, 'offset': 2, 'load': 0}
EFFORTS = Efforts('shares', 'measured', 'offset', PLACES)
SHARES = [np.ones(5), np.zeros(5), *np.eye(5), *(1.0 - np.eye(5))]


@pytest.fixture(scope='module')
def robot():
    description = random_description(4, 3)
    names = [joint.name for joint in description.joints if not joint.kind.is_fixed]
    drives = {name: Drive(damping=0.3, coulomb=0.5, smoothing=0.5) for name in names}
    return Robot(description, drives=drives, backend='reference')


@pytest.fixture(scope='module')
def load(robot):
    return {robot.link_names[-1]: BODY}


def chosen(x):
    return x[list(PLACES)]


def inputs_of(robot, efforts):
    """Return the quantities by name."""

    def payload(name, **sources):
        return robot.substitute(name, payload='load', **sources)

    def rows(source):
        return Formula('rows', (source,), chosen)

    friction = friction_of(robot, efforts)
    terms = effort_terms(payload('payload_torques', a=REST), friction)
    static = static_torque(efforts, {k: rows(term) for k, term in terms.items()})
    return quantities(efforts, rows('v'), static, payload, friction)


@pytest.fixture(scope='module')
def evaluated(robot, load):
    """Return a function: the quantities of a state, with the payload."""
    made = inputs_of(robot, EFFORTS)
    numbers = robot.payload_parameters(load)
    kernel = robot.fuse(*made.values(), parameters={**SIZES, 'load': len(numbers)})

    def values(q, v, shares, measured, offset):
        given = {'q': q, 'v': v, 'gravity': robot.gravity, 'load': numbers}
        given |= {'shares': shares, 'measured': measured, 'offset': offset}
        return dict(zip(made, kernel(*(given[name] for name in kernel.inputs))))

    return values


def terms_of(robot, load, q, v, a):
    """Return the torques of each of `TERMS`."""
    return {
        'gravity': robot.gravity_torques(q),
        'coriolis': robot.coriolis_torques(q, v),
        'friction': robot.friction_torques(v),
        'inertia': robot.mass_matrix(q) @ a,
        'payload': robot.payload_torques(q, v, a, load),
    }


@pytest.mark.parametrize('shares', SHARES, ids=str)
def test_without_contact_momenta_change_by_known_torques(robot, load, evaluated, shares):
    """Whatever terms the efforts contain; rates of momenta by finite differences."""
    rng = np.random.default_rng(3)
    q, v, a = 0.5 * rng.normal(size=(3, robot.nv))
    measured, zero, h = (
        shares @ np.array([*terms_of(robot, load, q, v, a).values()]),
        np.zeros(2),
        1e-5,
    )

    def at(s, offset=zero):
        state = q + s * v + 0.5 * s * s * a, v + s * a
        return evaluated(*state, shares, chosen(measured), offset)

    assert tuple(terms_of(robot, load, q, v, a)) == TERMS
    now = at(0.0)
    rate = (at(h)['momentum'] - at(-h)['momentum']) / (2.0 * h)
    np.testing.assert_allclose(now['known_torque'], rate, atol=1e-7)
    M = shares[3] * robot.mass_matrix(q) + shares[4] * robot.payload_mass_matrix(q, load)
    np.testing.assert_allclose(now['moved_mass'], M[np.ix_(PLACES, PLACES)], atol=1e-12)
    np.testing.assert_allclose(now['momentum'], chosen(M @ v), atol=1e-12)
    assert now['velocity'].tolist() == chosen(v).tolist()
    at_rest = terms_of(robot, load, q, v, 0.0 * a)
    static = shares @ np.array([*at_rest.values()]) - measured
    np.testing.assert_allclose(now['static_torque'], chosen(static), atol=1e-12)
    offset = np.array([0.3, -0.7])
    shifted = at(0.0, offset)
    for name, sign in (('static_torque', -1.0), ('known_torque', 1.0), ('momentum', 0.0)):
        np.testing.assert_allclose(shifted[name] - now[name], sign * offset, atol=1e-12)


@pytest.mark.parametrize('name', OBSERVERS)
def test_late_efforts_are_added_to_the_model_of_their_time(robot, load, evaluated, name):
    """What is kept are the quantities without efforts; the mass matrix is that of now."""
    none = inputs_of(robot, EFFORTS.none)
    names = late_names(name)
    observer = OBSERVERS[name]
    assert set(names) == {*observer.reads, *observer.torques_read} - {'moved_mass'}
    kept, late = of_late_efforts(none, EFFORTS, name)
    rng, numbers = np.random.default_rng(5), robot.payload_parameters(load)
    line = rng.normal(size=2 * len(names) + 1)
    sizes = {**SIZES, 'load': len(numbers), 'effort_delay': len(line)}
    kernel = robot.fuse(kept, *late.values(), parameters=sizes)
    q, v = rng.normal(size=(2, robot.nv))
    measured, offset, shares = rng.normal(size=2), rng.normal(size=2), np.ones(5)
    given = {'q': q, 'v': v, 'gravity': robot.gravity, 'load': numbers, 'effort_delay': line}
    given |= {'shares': shares, 'measured': measured, 'offset': offset}
    x, *found = kernel(*(given[name] for name in kernel.inputs))
    found = dict(zip(late, found))
    model = evaluated(q, v, shares, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(x, np.concatenate([model[each] for each in names]), atol=1e-12)
    signs = {'velocity': 0.0, 'momentum': 0.0, 'static_torque': -1.0, 'known_torque': 1.0}
    past = line[:-1] + line[-1] * x
    for k, each in enumerate(names):
        expected = past[2 * k : 2 * k + 2] + signs[each] * (measured + offset)
        np.testing.assert_allclose(found[each], expected, atol=1e-12)
    np.testing.assert_allclose(found['moved_mass'], model['moved_mass'], atol=1e-12)


@pytest.mark.parametrize('name', OBSERVERS)
def test_formulas_of_an_observer_are_its_functions(robot, name):
    """With the state of the next sample, torques, and what there is of covariance and mass."""
    n, observer, rng = 2, OBSERVERS[name], np.random.default_rng(6)
    given = dict.fromkeys(QUANTITIES)
    for each in given:
        shape = (n, n) if each == 'moved_mass' else (n,)
        x = rng.uniform(1.0, 2.0, shape)
        given[each] = x + x.T if each == 'moved_mass' else x
    sources = {each: Formula(each, (each,), np.reshape, (x.shape,)) for each, x in given.items()}
    made = observation(name, n, sources)
    assert made.observer is observer
    assert made.size == observer.state_size(n)
    assert (made.state is None) == (made.size == 0)
    assert (made.covariance is not None) == observer.estimates_covariance
    assert made.inertia is (sources['moved_mass'] if observer.passes_velocity_noise else None)
    steps = ObserverSteps(n)
    clock = StateClock()
    steps.advance(clock.advance(0))
    steps.advance(clock.advance(10**7))
    state, values = (
        rng.uniform(0.0, 0.1, made.size),
        rng.uniform(1.0, 2.0, max(n * len(observer.parameters), 1)),
    )
    outputs = [each for each in (made.torque, made.state, made.covariance) if each is not None]
    sizes = {'observer': made.size, 'observer_step': n + 3, 'observer_parameters': len(values)}
    inputs = {'observer': state, 'observer_step': steps.numbers, 'observer_parameters': values}
    sizes |= {each: x.size for each, x in given.items()}
    inputs |= {each: x.ravel() for each, x in given.items()}
    kernel = robot.fuse(*outputs, parameters={k: size for k, size in sizes.items() if size})
    found = kernel(*(inputs[each] for each in kernel.inputs))
    if made.size:
        sample = Sample.of(observer, [*(given[x] for x in observer.reads), values, steps.numbers])
        state = observer.advance(state, sample)
        np.testing.assert_allclose(found[1], state, rtol=1e-12)
    np.testing.assert_allclose(found[0], observer.torques(n, state, given), rtol=1e-12)
    if made.covariance is not None:
        np.testing.assert_allclose(found[2], observer.covariance(n, state), rtol=1e-12)


@pytest.mark.parametrize('lacking', [(), ('gravity',), ('gravity', 'coriolis')])
def test_friction_of_loaded_gears_is_that_of_the_torque_they_transmit(lacking):
    """A fifth of it, and Coulomb friction; also of the terms that the efforts lack."""
    drives = {'joint1': Drive(load_friction=0.2, coulomb=0.5), 'joint2': Drive(load_friction=0.3)}
    robot = Robot.from_urdf(
        URDF / 'planar_2r.urdf', gravity=(0.0, -9.81, 0.0), drives=drives, backend='reference'
    )
    q, v, transmitted = np.random.default_rng(1).normal(size=(3, 2))
    sign = v / np.hypot(v, 0.01)
    friction = sign * ([0.5, 0.0] + np.array([0.2, 0.3]) * np.abs(transmitted))
    terms = {'gravity': robot.gravity_torques(q), 'coriolis': robot.coriolis_torques(q, v)}
    measured = transmitted + friction - sum((terms[x] for x in lacking), start=np.zeros(2))
    efforts = Efforts('shares', 'measured', 'offset', (0, 1))
    kernel = robot.fuse(friction_of(robot, efforts), parameters={'shares': 5, 'measured': 2})
    given = {'q': q, 'v': v, 'gravity': robot.gravity, 'measured': measured}
    given['shares'] = np.array([float(x not in lacking) for x in TERMS])
    (found,) = kernel(*(given[name] for name in kernel.inputs))
    np.testing.assert_allclose(found, friction, atol=1e-9)
