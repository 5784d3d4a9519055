# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terms of friction: what every row obeys, alone and in the sum."""

from dataclasses import fields

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description.friction import FRICTION, Friction

RATE = np.concatenate([np.linspace(-3.0, 3.0, 41), [1e-6, -1e-9]])


def some_friction(seed):
    """Return friction with all terms, within the bounds of its fields."""
    rng, values = np.random.default_rng(seed), {}
    for each in fields(Friction):
        bounds, x = each.metadata['bounds'], rng.uniform(0.05, 0.9)
        if bounds.within:
            x = values[bounds.within] * rng.uniform(-1.0, 1.0)
        values[each.name] = float(x + values.get(bounds.at_least, 0.0))
    return Friction(**values)


@pytest.fixture(params=range(5))
def friction(request):
    return some_friction(request.param)


def test_every_term_acts(friction):
    assert all(getattr(friction, name) for name in FRICTION)


def test_slope_and_curvature(friction):
    """By complex steps, and differences of them."""

    def slope(v):
        return friction.friction(v + 1e-30j).imag / 1e-30

    h = 1e-5
    curvature = (slope(RATE + h) - slope(RATE - h)) / (2.0 * h)
    np.testing.assert_allclose(friction.friction_slope(RATE), slope(RATE), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(friction.friction_curvature(RATE), curvature, rtol=1e-5, atol=1e-4)


def test_it_never_adds_energy(friction):
    assert (friction.friction(RATE) * RATE >= 0.0).all()
    assert (friction.load_share(RATE) * RATE >= 0.0).all()
    assert friction.friction(0.0) == friction.load_share(0.0) == 0.0
    assert (np.abs(friction.load_share(RATE)) < 1.0).all()


@pytest.mark.parametrize('name', FRICTION)
@pytest.mark.parametrize('direction', [-1.0, 1.0])
def test_growth(friction, name, direction):
    """With its power of the rate, which is that of its unit, or it vanishes."""
    row = FRICTION[name]
    slow, fast = (row.shape(v, direction, friction) for v in (1e4 * direction, 1e6 * direction))
    if row.fades:
        assert abs(fast) < 1e-3 * abs(slow) < 1e-3
    else:
        assert fast / slow == pytest.approx(100.0**row.power)
    assert row.units[0].count('s') == (0 if row.by_load else row.power > 0)


def test_at_high_speeds_the_powers_are_all(friction):
    v = np.array([-1e6, 1e6])
    expected = sum(friction.growing(v, power) for power in range(3))
    np.testing.assert_allclose(friction.friction(v), expected, rtol=1e-6)


def test_stiction_bounds_the_friction_near_rest(friction):
    smooth = Friction(**{**vars(friction), 'smoothing': 1e-9})
    sides = np.abs(smooth.friction(np.array([-1e-6, 1e-6])))
    assert friction.stiction == pytest.approx(sides.max(), rel=1e-3)


def test_it_can_be_recorded(friction):
    (rate,) = Recorder().inputs('v', 1)
    for function in (
        friction.friction,
        friction.friction_slope,
        friction.friction_curvature,
        friction.load_share,
    ):
        assert isinstance(function(rate), Scalar)


def test_drives_have_the_fields_by_name():
    given = vars(some_friction(0))
    drive = Drive(**given, coupled_joints=('q2',), coupling_ratios=(1.0,))
    assert {name: getattr(drive, name) for name in given} == given
    assert drive.of_motor == Friction(
        damping=drive.motor_damping, coulomb=drive.motor_coulomb, smoothing=drive.smoothing
    )
