# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terms of friction: what every row obeys, alone and in the sum."""

from dataclasses import fields

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description.friction import (
    BY_POWER,
    FRICTION,
    Friction,
    FrictionTerm,
)
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
from screw_dynamics_ros.core.motion.trajectory import Motion, largest_speed_factor, retimed
from screw_dynamics_ros.core.simulation import SimulatedRobot
from support.robots import one_joint
from support.simulated_recording import computed, some_motion

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
    expected = sum(friction.growing(v, power) for power in BY_POWER)
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


# --- friction of each direction -------------------------------------------------------------------

ASYMMETRIC = {'coulomb': 1.0, 'damping': 0.5, 'coulomb_asymmetry': 0.4, 'damping_asymmetry': -0.2}


@pytest.mark.parametrize('direction', [-1.0, 1.0])
def test_a_simulated_joint_coasts_further_in_one_direction(direction):
    """By hand: I v' = -(c + d v), which stops the joint after I / d log(1 + d v_0 / c)."""
    inertia = '<inertial><mass value="0"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="2"/></inertial>'  # noqa: E501
    drive = Drive(**ASYMMETRIC, smoothing=1e-3)
    text = one_joint('<axis xyz="0 0 1"/>', 'continuous')
    text = text.replace('<link name="b"/>', f'<link name="b">{inertia}</link>')
    simulated = SimulatedRobot(Robot.from_urdf(text, drives={'j': drive}, backend='python'))
    simulated.v = np.array([3.0 * direction])
    c, d = 1.0 + 0.4 * direction, 0.5 - 0.2 * direction
    stop = 2.0 / d * np.log1p(3.0 * d / c)
    for step in range(1, round(0.9e3 * stop)):
        simulated.step(np.zeros(1), 1e-3)
        t = 1e-3 * step
        expected = direction * ((3.0 + c / d) * np.exp(-0.5 * d * t) - c / d)
        assert simulated.v[0] == pytest.approx(expected, abs=2e-3)


def test_friction_of_each_direction_is_identified():
    """If the offset of efforts, which acts as an asymmetry of Coulomb friction, is known."""
    true = {name: Drive(**ASYMMETRIC, armature=0.2) for name in ('joint1', 'joint2')}
    given = dict.fromkeys(true, Drive(coulomb_asymmetry=0.01, coulomb=1.0,
                                      damping_asymmetry=0.01, damping=1.0))  # fmt: skip
    truth, nominal = (
        Robot.from_urdf('urdf/planar_2r.urdf', drives=drives, backend='python')
        for drives in (true, given)
    )
    model = EffortModel(estimate=('inertia', 'armature', 'friction'))
    options = IdentificationOptions(model=model, scale='known')
    result = identify_recordings(nominal, [computed(truth, some_motion(2))], options)
    for drive in result.drives.values():
        found = {name: getattr(drive, name) for name in ASYMMETRIC}
        assert found == pytest.approx(ASYMMETRIC, abs=5e-3)


# --- rows that are not possible -------------------------------------------------------------------


def test_a_power_needs_its_units():
    reason = "'root': a power other than 0, 1, 2 needs its units in BY_POWER; got 0.5"
    with pytest.raises(ArgumentError, match=reason):
        FrictionTerm('root', lambda v, sign, _: v, power=0.5)


def test_a_shape_that_has_no_derivatives_is_named(monkeypatch):
    term = FrictionTerm('damping', lambda v, sign, _: np.sqrt(v * v), power=1)
    monkeypatch.setitem(FRICTION, 'damping', term)
    friction = Friction(damping=1.0)
    assert friction.friction(-2.0) == 2.0
    with pytest.raises(ArgumentError, match=r"'damping': .* sums, products and quotients of v"):
        friction.friction_slope(-2.0)


def test_speeds_are_refused_for_friction_that_is_no_polynomial(monkeypatch):
    """Terms with other powers were neglected."""
    time = np.linspace(0.0, 1.0, 11)
    motion = Motion(time, np.outer(time, [1.0, 1.0]), np.ones((11, 2)), np.zeros((11, 2)))
    for name in ('damping', 'load_friction'):
        drive = Drive(**{name: 0.1})
        robot = Robot.from_urdf('urdf/planar_2r.urdf', drives={'joint1': drive}, backend='python')
        with monkeypatch.context() as patch:
            if name == 'damping':
                largest_speed_factor(robot, motion)
                patch.setitem(BY_POWER, 3, ('N m s^3/rad^3', 'N s^3/m^3'))
                cubic = FrictionTerm('damping', lambda v, sign, _: v * v * v, power=3)
                patch.setitem(FRICTION, 'damping', cubic)
            for function in (largest_speed_factor, retimed):
                with pytest.raises(ArgumentError, match=f"for {name} of 'joint1'"):
                    function(robot, motion)
                function(robot, motion, friction=False)
