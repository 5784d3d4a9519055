# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of platforms: closed form, Newton's law of the center of mass, energy balance."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import platforms
from screw_dynamics_ros.core.textbook.mobile.base_dynamics import BaseDynamics

BASE = platforms.differential_drive(0.5, 0.1)
HEAVY = BaseDynamics(BASE, 20.0, 1.5, [0.15, 0.0], 0.02)


def test_differential_drive_in_closed_form():
    """m (v' - a w^2) = f_r + f_l; (I + m a^2) w' + m a v w = (d / 2) (f_r - f_l) (C-140)."""
    m, inertia, a, d = 20.0, 1.5, 0.15, 0.5
    w, v, fr, fl = 0.7, 1.2, 6.0, -2.0
    torques = [0.1 * fr, 0.1 * fl]
    found = BaseDynamics(BASE, m, inertia, [a, 0.0]).forward_dynamics([w, v, 0], torques)
    dw, dv, slip = found.acceleration
    assert m * (dv - a * w**2) == pytest.approx(fr + fl, abs=1e-11)
    assert (inertia + m * a**2) * dw + m * a * v * w == pytest.approx(d / 2 * (fr - fl), abs=1e-11)
    assert slip == pytest.approx(0.0, abs=1e-12)
    assert found.across == pytest.approx([m * (v * w + a * dw)], abs=1e-11)


def test_power_balance_over_a_drive():
    """Kinetic energy grows by the work of the torques, also of the wheels' own inertia (C-140)."""

    def rate(s, x):
        torques = np.array([np.sin(s), 0.5 * np.cos(2 * s)])
        t = x[:3]
        power = torques @ BASE.wheel_rates(t)
        return [*HEAVY.forward_dynamics(t, torques).acceleration, power]

    start = [0.3, 0.8, 0.0]
    end = solve_ivp(rate, (0, 3), [*start, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    gained = HEAVY.kinetic_energy(end[:3]) - HEAVY.kinetic_energy(start)
    assert gained == pytest.approx(end[3], rel=1e-8)
    assert abs(gained) > 0.1
    assert end[2] == pytest.approx(0.0, abs=1e-9)


def test_bias_is_newtons_law_of_the_center_of_mass():
    """Force = m times the acceleration of a center of mass anywhere; no power (C-140)."""
    m, c = 5.0, np.array([0.2, -0.3])
    free = BaseDynamics(platforms.mecanum(0.6, 0.4, 0.1), m, 0.7, c)
    w, vx, vy = t = np.array([0.9, 0.4, -0.7])
    bias = free.bias(t)
    acceleration = w * np.array([-vy, vx]) - w**2 * c  # of the center, with t' = 0
    np.testing.assert_allclose(bias[1:], m * acceleration, atol=1e-12)
    assert bias[0] == pytest.approx(m * (c[0] * acceleration[1] - c[1] * acceleration[0]))
    assert bias @ t == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('name', ['differential', 'car', 'swerve'])
def test_inverse_dynamics_undoes_forward_dynamics(name):
    corners = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
    platform, steering, t = {
        'differential': (BASE, [], np.array([0.5, 1.0, 0.0])),
        'car': (platforms.bicycle(1.2, 0.3), [0.35], np.array([np.tan(0.35) / 1.2, 1.0, 0.0])),
        'swerve': (platforms.swerve(corners, 0.1), None, np.array([0.5, 1.0, 0.3])),
    }[name]
    steering = platforms.steering_for(platform, t) if steering is None else steering
    model = BaseDynamics(platform, 20.0, 1.5, [0.15, 0.05], 0.02)
    torques = np.random.default_rng(1).normal(size=len(platform.driven))
    motion = model.forward_dynamics(t, torques, steering)
    np.testing.assert_allclose(
        platform.slip_matrix(steering) @ motion.acceleration, 0.0, atol=1e-10
    )
    again = model.forward_dynamics(
        t, model.inverse_dynamics(t, motion.acceleration, steering)[0], steering
    )
    np.testing.assert_allclose(again.acceleration, motion.acceleration, atol=1e-10)


def test_a_wrench_on_the_platform():
    """Newton's law of a mecanum platform, on which no wheel constrains anything."""
    free = BaseDynamics(platforms.mecanum(0.6, 0.4, 0.1), 5.0, 0.7)
    found = free.forward_dynamics(np.zeros(3), np.zeros(4), wrench=[1.4, 10.0, -5.0])
    np.testing.assert_allclose(found.acceleration, [2.0, 2.0, -1.0], atol=1e-12)
    assert found.across.shape == (0,)


def test_inertia_of_the_wheels():
    """Straight on, a wheel counts as J / r^2 more mass; each wheel has its own."""
    heavy = BaseDynamics(BASE, 20.0, 1.5, wheel_inertia=[0.02, 0.03])
    energy = 0.5 * (20.0 + 0.02 / 0.1**2 + 0.03 / 0.1**2) * 1.2**2
    assert heavy.kinetic_energy([0.0, 1.2, 0.0]) == pytest.approx(energy)
    plain = BaseDynamics(BASE, 20.0, 1.5, [0.3, -0.4])
    assert plain.kinetic_energy([2.0, 0.0, 0.0]) == pytest.approx(0.5 * (1.5 + 20.0 * 0.25) * 4.0)


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ((0.0, 1.0), r'mass \[kg\]'),
        ((1.0, 0.0), r'inertia \[kg m\^2\]'),
        ((1.0, -1.0), r'inertia \[kg m\^2\]'),
        ((1.0, 1.0, [np.nan, 0]), 'center_of_mass must be finite'),
        ((1.0, 1.0, [0, 0, 0]), 'center_of_mass'),
        ((1.0, 1.0, [0, 0], -1.0), 'wheel_inertia finite and >= 0'),
        ((1.0, 1.0, [0, 0], [0.0, np.inf]), 'wheel_inertia finite and >= 0'),
    ],
)
def test_impossible_platforms_are_refused(arguments, reason):
    with pytest.raises(ArgumentError, match=reason):
        BaseDynamics(BASE, *arguments)
