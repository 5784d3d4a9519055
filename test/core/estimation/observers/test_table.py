# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of observers: what each declares, and a new one that is nothing but a row."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from screw_dynamics_ros.core.estimation.observers.observer import QUANTITIES
from screw_dynamics_ros.core.estimation.observers.parameters import ObserverParameters
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.estimation.observers.table import (
    OBSERVERS,
    descriptions,
    next_state,
    parameter_texts,
)
from screw_dynamics_ros.core.state_clock import StateClock

PARAMETERS = {each.name for each in fields(ObserverParameters)}


@pytest.mark.parametrize('name', OBSERVERS)
def test_each_declares_what_it_reads(name):
    observer = OBSERVERS[name]
    assert {*observer.reads, *observer.torques_read} <= set(QUANTITIES)
    assert set(observer.parameters) <= PARAMETERS
    assert f'{name}: {observer.text}' in descriptions()
    for each in observer.parameters:
        assert name in parameter_texts()[each]


@pytest.mark.parametrize('name', [name for name, each in OBSERVERS.items() if each.state_size(1)])
def test_states_keep_their_size_and_torques_settle(name):
    n, observer, steps = 3, OBSERVERS[name], ObserverSteps(3)
    clock = StateClock()
    state = np.zeros(observer.state_size(n))
    given = {q: np.eye(n) if q == 'moved_mass' else np.ones(n) for q in QUANTITIES}
    values = np.ones(n * len(observer.parameters))
    for stamp in (0, 10**8, 2 * 10**8):
        steps.advance(clock.advance(stamp))
        sample = *(given[each] for each in observer.reads), values, steps.numbers
        state = next_state(state, *sample, name)
        assert state.shape == (observer.state_size(n),)
    assert steps.age >= observer.settling_time(steps.longest_time_constant)
    assert observer.torques(n, state, given).shape == (n,)
    if observer.estimates_covariance:
        D = observer.covariance(n, state).reshape(n, n)
        np.testing.assert_allclose(D, D.T)
        assert np.linalg.eigvalsh(D).min() > 0.0
