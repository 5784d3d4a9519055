# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motions over time: samples, and monitors at each of them."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.integration import EULER, RungeKutta
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SE3, SO3xR3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    double_pendulum,
    three_bar_linkage,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import record


def test_samples():
    """Every few steps, and the last one."""
    pendulum = double_pendulum()
    motion = record(*pendulum, duration=0.01, dt=1e-3, every=4)
    np.testing.assert_allclose(motion.t, [0.0, 0.004, 0.008, 0.01], atol=1e-15)
    q, v, integrator = pendulum.q, pendulum.v, RungeKutta(pendulum.system)
    for _ in range(10):
        q, v = integrator.step(q, v, np.zeros(12), 1e-3)
    np.testing.assert_array_equal(motion.q[-1], q)
    np.testing.assert_array_equal(motion.v[-1], v)
    np.testing.assert_array_equal(motion.q[0], pendulum.q)


def test_monitors():
    """I-32: what the system says about each sample."""
    pendulum = double_pendulum([SE3, SO3xR3])
    motion = record(*pendulum, duration=0.1, dt=1e-2, every=5)
    for k, (q, v) in enumerate(zip(motion.q, motion.v)):
        energy = pendulum.system.energy(q, v)
        assert (motion.kinetic[k], motion.potential[k]) == energy
        for joint, (gap, rate) in pendulum.system.violation(q, v).items():
            assert (motion.gaps[joint][k], motion.gap_rates[joint][k]) == (gap, rate)
    total = motion.kinetic + motion.potential
    np.testing.assert_array_equal(motion.energy_drift, total - total[0])
    assert motion.largest(motion.gaps['joint 2'], 0.05) == motion.gaps['joint 2'][:2].max()
    assert motion.at(0.05) == 1


@pytest.mark.parametrize('groups', [(SE3, SE3), (SO3xR3, SO3xR3), (SE3, SO3xR3)])
def test_rate_of_the_gap_is_that_of_the_jacobian(groups):
    """I-32: also in velocities that the joints do not admit."""
    system, q, v = three_bar_linkage(groups)
    random = np.random.default_rng(2)
    q, v = system.integrate(q, random.uniform(-0.2, 0.2, 12)), v + random.uniform(-1, 1, 12)
    rates = (system.constraint_jacobian(q) @ v).reshape(3, 3)
    found = [each.velocity for each in system.violation(q, v).values()]
    np.testing.assert_allclose(found, np.linalg.norm(rates, axis=1), rtol=1e-12)


def test_integrator_can_be_chosen():
    pendulum = double_pendulum()
    coarse = record(*pendulum, duration=0.1, dt=1e-3, integrator=RungeKutta(pendulum.system, EULER))
    fine = record(*pendulum, duration=0.1, dt=1e-3)
    assert coarse.gaps['joint 2'][-1] > 1e3 * fine.gaps['joint 2'][-1] > 0.0


@pytest.mark.parametrize(
    ('changed', 'reason'),
    [
        ({'duration': 0.0}, 'duration must be a finite positive number, got 0.0'),
        ({'duration': float('nan')}, 'duration must be a finite positive number'),
        ({'duration': float('inf')}, 'duration must be a finite positive number'),
        ({'dt': -1e-3}, 'dt must be a finite positive number'),
        ({'dt': 'fast'}, "dt must be a finite positive number, got 'fast'"),
        ({'every': 0}, 'every must be a finite positive number'),
        ({'duration': 0.0105}, 'no multiple of the step'),
        ({'duration': 1e-12}, 'no multiple of the step'),
    ],
)
def test_what_cannot_be_recorded(changed, reason):
    with pytest.raises(ArgumentError, match=reason):
        record(*double_pendulum(), **({'duration': 0.01, 'dt': 1e-3} | changed))


def test_states_of_wrong_length():
    system, q, v = double_pendulum()
    with pytest.raises(ArgumentError):
        record(system, q[:-1], v, 0.01, 1e-3)
    with pytest.raises(ArgumentError):
        record(system, q, v[:-1], 0.01, 1e-3)


def test_time_without_a_sample():
    motion = record(*double_pendulum(), duration=0.01, dt=1e-3, every=5)
    with pytest.raises(ArgumentError, match=r'no sample at 0\.004 s: the nearest is at 0\.005 s'):
        motion.at(0.004)
