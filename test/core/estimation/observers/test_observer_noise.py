# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What observers state of themselves: noise by impulse responses, settling, dependences."""

import numpy as np
import pytest

from screw_dynamics_ros.core.estimation.noise_propagation import (
    NoiseVariance,
    set_momentum_stage,
    set_torque_stage,
    variance_after,
)
from screw_dynamics_ros.core.estimation.observers.observer import is_settled as settled
from screw_dynamics_ros.core.estimation.observers.quantities import SIGNS
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.estimation.observers.table import (
    OBSERVERS,
    covariance,
    next_state,
    torques,
)
from screw_dynamics_ros.core.state_clock import StateClock

H = 0.002  # s
MASS = 1.7
FIRST_ORDER = ('filtered', 'momentum')
PARAMETERS = {
    'observer_velocity_deviation': 1e-4,
    'observer_effort_deviation': 0.01,
    'observer_torque_change': 30.0,
    'observer_torque_rate': 1000.0,
}


def response(name, inputs, time_constant=0.01, h=H, mass=MASS):
    """Return the torques of one joint for a sequence of inputs, {quantity: (N,) array}."""
    observer, steps = OBSERVERS[name], ObserverSteps(1)
    clock = StateClock()
    steps.time_constants[:] = time_constant
    state, found = np.zeros(observer.state_size(1)), []
    parameters = np.array([PARAMETERS[each] for each in observer.parameters] or [0.0])
    for k in range(len(next(iter(inputs.values())))):
        steps.advance(clock.advance(round(k * h * 1e9)))
        given = {q: np.array([x[k]]) for q, x in inputs.items()}
        given['moved_mass'] = np.array([[mass]])
        if len(state):
            sample = *(given[each] for each in observer.reads), parameters, steps.numbers
            state = next_state(state, *sample, name)
        read = (given[each] for each in observer.torques_read)
        found.append(torques(state, *read, name, 1)[0])
    return np.array(found)


def impulse(count=400, at=2):
    x = np.zeros(count)
    x[at] = 1.0
    return x


def of_efforts(x):
    """Return the quantities if measured efforts are x, and nothing moves."""
    return {q: sign * x for q, sign in SIGNS.items()}


def of_velocities(x):
    zero = np.zeros_like(x)
    return {'velocity': x, 'momentum': MASS * x, 'static_torque': zero, 'known_torque': zero}


@pytest.mark.parametrize('name', FIRST_ORDER)
@pytest.mark.parametrize('time_constant', [0.003, 0.01])
def test_noise_is_the_sum_of_squares_of_the_impulse_response(name, time_constant):
    """Of white noise of efforts, and of velocities through the mass."""
    decay = np.exp(-H / time_constant)
    efforts, momenta = NoiseVariance(1), NoiseVariance(1)
    set_torque_stage(efforts, decay)
    set_momentum_stage(momenta, decay, 1.0 / H)
    for quantities, variance, gain in (
        (of_efforts(impulse()), efforts, 1.0),
        (of_velocities(impulse()), momenta, MASS),
    ):
        found = gain**2 * variance_after(variance, 0)
        squares = np.sum(response(name, quantities, time_constant) ** 2)
        assert squares > 0.0
        assert found == pytest.approx(squares, rel=1e-9)


@pytest.mark.parametrize('name', OBSERVERS)
def test_noise_is_stated_if_there_is_no_covariance(name):
    """By stages, unless the observer passes noise unchanged or estimates its covariance."""
    observer = OBSERVERS[name]
    assert observer.passes_velocity_noise == (name in FIRST_ORDER)
    assert observer.estimates_covariance == (name in ('kalman', 'sliding'))
    if observer.estimates_covariance:
        state = np.arange(float(observer.state_size(3)))
        assert covariance(state, name, 3).tolist() == state[-9:].tolist()
    else:
        with pytest.raises(NotImplementedError):
            observer.covariance(1, np.zeros(observer.state_size(1)))
    if name == 'static':
        passed = response(name, of_efforts(impulse()))
        assert (passed**2).sum() == pytest.approx(1.0)
        assert not response(name, of_velocities(impulse())).any()


@pytest.mark.parametrize('name', OBSERVERS)
def test_the_time_constant_has_an_effect_where_it_is_stated(name):
    slow, fast = (response(name, of_efforts(impulse(20)), T) for T in (0.1, 0.01))
    assert (slow != fast).any() == OBSERVERS[name].follows_time_constant


@pytest.mark.parametrize('name', OBSERVERS)
def test_a_constant_push_is_found_after_settling(name):
    """At rest; from the first settled sample on within 1 %, with stated and with actual times."""
    T, push = 0.01, 3.0
    observer, steps = OBSERVERS[name], ObserverSteps(1)
    clock = StateClock()
    steps.time_constants[:] = T
    found = response(name, of_efforts(np.full(120, -push)), T)
    at = observer.settling_time(T)
    assert at == (round(5e9 * T) if name in FIRST_ORDER else {'sliding': 1}.get(name, 0))
    assert observer.settling_time(10.0) == (50 * 10**9 if name in FIRST_ORDER else at)  # ns
    for k in range(60):
        steps.advance(clock.advance(round(k * H * 1e9)))
        is_settled = name == 'static' or k * H * 1e9 >= at
        for is_kept in (True, False):
            expected = is_settled and (is_kept or name not in ('kalman', 'sliding'))
            finite = observer.requires_finite_state
            assert settled(steps.age, observer.settling_time(T), finite, is_kept) == expected
        if is_settled and name != 'kalman':  # its covariance includes the start
            assert found[k] == pytest.approx(push, rel=0.01)
    assert found[-1] == pytest.approx(push, rel=0.02)
