# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bristles of joints: closed formulas of presliding, SciPy's solutions of LuGre, energy."""

import copy
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.errors import DivergenceError
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, SimulatedRobot, SimulatedStack
from support.models import random_description
from support.robots import one_joint, urdf_path

#: Of Canudas de Wit et al. 1995: sigma_0, sigma_1, sigma_2, F_c, F_s and v_s of a mass of 1 kg.
PAPER = Drive(
    bristle_stiffness=1e5, bristle_damping=1e5**0.5, damping=0.4, coulomb=1.0, breakaway=1.5,
    stribeck_speed=1e-3,
)  # fmt: skip
INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    '</inertial>'
)


def slider(drive=PAPER, **options):
    """Return a mass of 1 kg on a horizontal guide without stops."""
    text = one_joint('<axis xyz="1 0 0"/><limit effort="1e9" velocity="1e9"/>', 'prismatic')
    text = text.replace('<link name="b"/>', f'<link name="b">{INERTIAL}</link>')
    return Robot.from_urdf(text, drives={'j': drive}, **options)


def solution(drive, force, times, start=(0.0, 0.0, 0.0)):
    """Return x, v, z (3, n) of LuGre's equations for 1 kg under force(t, x, v), by SciPy."""

    def rates(t, state):
        x, v, z = state
        g = drive.coulomb + drive.stribeck / (1.0 + (v / drive.stribeck_speed) ** 2)
        dz = v - drive.bristle_stiffness * abs(v) / g * z
        F = drive.bristle_stiffness * z + drive.bristle_damping * dz + drive.damping * v
        return v, force(t, x, v) - F, dz

    found = solve_ivp(
        rates, (0.0, times[-1]), start, 'LSODA', times, rtol=1e-9, atol=1e-13, max_step=1e-2
    )
    assert found.success
    return found.y


def simulated(robot, force, times, **options):
    """Return x, v, z (3, n) of a simulated robot of one joint under force(t, x, v)."""
    one, found = SimulatedRobot(robot, **options), []
    for t, after in zip(times, [*times[1:], None]):
        found.append([one.q[0], one.v[0], one.save().memory[-1]])
        if after is not None:
            one.step([force(t, one.q[0], one.v[0])], after - t)
    return np.array(found).T


def loop_of_rest(drive, forces):
    """Return the positions at which slow forces are reached, one after the other, in closed form.

    dz / dx = 1 - sigma_0 z sign(dx) / g: along a branch x changes by -s (g / sigma_0)
    log((1 - s F_2 / g) / (1 - s F_1 / g)), with the direction s.
    """
    x, before, positions = 0.0, 0.0, []
    for force in forces:
        s, g = np.sign(force - before), drive.coulomb + drive.stribeck
        change = np.log((1.0 - s * force / g) / (1.0 - s * before / g))
        x, before = x - s * g / drive.bristle_stiffness * change, force
        positions.append(x)
    return np.array(positions)


def test_presliding_and_its_hysteresis():
    """Slow forces below breakaway, back and forth, and what of the way remains."""
    forces, steps = np.array([1.2, -0.6, 1.2, 0.0, 1.2]), 4000
    drive = Drive(**{**vars(PAPER), 'stribeck_speed': 10.0, 'damping': 0.0, 'bristle_damping': 3.0})
    corners = 8.0 * np.arange(6)
    times = np.arange(5 * steps + 2) * 2e-3
    x, _, z = simulated(slider(drive), lambda t, x, v: np.interp(t, corners, [0.0, *forces]), times)
    at = steps * np.arange(1, 6) + 1  # after the step that begins with the force
    np.testing.assert_allclose(x[at], loop_of_rest(drive, forces), rtol=0.01)
    np.testing.assert_allclose(1e5 * z[at], forces, atol=0.01)
    assert x[at[3]] > 0.3 * x[at[0]]  # a residual deflection without force


def test_a_mass_that_a_spring_pulls_sticks_and_slips():
    """Figure 4 of the paper: k = 2 N/m, its end at 0.1 m/s; SciPy's solution over five slips."""
    times = np.arange(0.0, 30.0, 1e-3)

    def spring(t, x, v):
        return 2.0 * (0.1 * t - x)

    x, v, _ = simulated(slider(), spring, times)
    x_true, v_true, _ = solution(PAPER, spring, times)
    assert np.abs(x - x_true).max() < 1e-3
    slips = np.flatnonzero((v_true[1:] > 0.05) & (v_true[:-1] <= 0.05))
    assert len(slips) >= 4
    found = np.flatnonzero((v[1:] > 0.05) & (v[:-1] <= 0.05))
    np.testing.assert_allclose(times[found], times[slips], atol=3e-3)


@pytest.mark.parametrize('rate', [1.0, 10.0])
def test_the_force_at_breakaway(rate):
    """That of a ramp: below F_s, and less for faster ramps, as SciPy has it (paper, figure 3)."""
    times = np.arange(0.0, 2.5 / rate, 1e-4)

    def ramp(t, x, v):
        return rate * t

    _, v, z = simulated(slider(), ramp, times)
    _, v_true, z_true = solution(PAPER, ramp, times)
    assert (1e5 * z).max() == pytest.approx((1e5 * z_true).max(), rel=0.01)
    start, true_start = (np.argmax(each > 0.01) for each in (v, v_true))
    assert times[start] == pytest.approx(times[true_start], rel=0.01)


def test_errors_are_of_first_order():
    """In a presliding oscillation, beside SciPy."""
    errors = []
    for dt in (2e-4, 1e-4, 5e-5):
        times = np.linspace(0.0, 0.05, round(0.05 / dt) + 1)
        x = simulated(slider(), lambda t, x, v: 1.0, times)[0]
        errors.append(np.abs(x - solution(PAPER, lambda t, x, v: 1.0, times)[0]).max())
    assert errors[0] < 1e-6
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.1)
    assert errors[2] / errors[1] == pytest.approx(0.5, abs=0.1)


def test_steady_motion_has_the_friction_of_the_drive():
    """At 0.3 m/s: g(v) + sigma_2 v, of both directions of an asymmetric drive."""
    drive = Drive(**{**vars(PAPER), 'coulomb_asymmetry': 0.5, 'stribeck_speed': 0.4,
                      'damping': 2.0})  # fmt: skip
    for direction in (1.0, -1.0):
        v = 0.3 * direction
        force = 2.0 * v + direction * (1.0 + 0.5 * direction + 0.5 / (1.0 + (v / 0.4) ** 2))
        one = SimulatedRobot(slider(drive))
        one.v = np.array([v])
        for _ in range(8000):
            one.step([force], 1e-3)
        assert one.v[0] == pytest.approx(v, rel=1e-5)
        steady = Drive(**{**vars(drive), 'smoothing': 1e-9}).friction(v)
        assert steady == pytest.approx(force, rel=1e-12)


def bristled(robot, stiffness=1e4, damping=30.0, seed=0):
    """Return drives with bristles for joints with one degree of freedom."""
    rng = np.random.default_rng(seed)
    return {
        name: Drive(
            armature=0.05, damping=0.2, coulomb=rng.uniform(1, 3), breakaway=rng.uniform(3, 5),
            bristle_stiffness=stiffness, bristle_damping=damping,
        )
        for name in robot.joint_names
    }  # fmt: skip


def test_an_arm_held_by_friction_does_not_creep():
    """At its deflection under gravity, which has no velocity left; without bristles it creeps."""
    text = urdf_path('planar_2r').read_text()
    hold = Drive(coulomb=60.0, bristle_stiffness=1e5, bristle_damping=500.0)
    arm = Robot.from_urdf(text, gravity=(0, -9.81, 0), drives={'joint1': hold, 'joint2': hold})
    held = SimulatedRobot(arm, [0.3, 0.2])
    for _ in range(2000):
        held.step(np.zeros(2), 1e-3)
    q = held.q.copy()
    for _ in range(2000):
        held.step(np.zeros(2), 1e-3)
    assert np.abs(held.q - q).max() < 1e-14
    assert np.abs(held.v).max() < 1e-12
    load = -arm.gravity_torques(q)
    np.testing.assert_allclose(1e5 * held.save().memory, load, rtol=1e-9)
    smooth = {name: Drive(coulomb=60.0) for name in arm.joint_names}
    creeping = SimulatedRobot(Robot(arm.description, gravity=(0, -9.81, 0), drives=smooth), q)
    for _ in range(1000):
        creeping.step(np.zeros(2), 1e-3)
    assert np.abs(creeping.q - q).max() > 1e-4


@pytest.mark.parametrize(
    ('stiffness', 'integrator'),
    [(1e2, 'runge_kutta'), (1e14, 'semi_implicit')],
)
def test_it_takes_energy_away_whatever_the_stiffness(stiffness, integrator):
    """Random trees from random velocities, in steps of 1 ms: they come to rest."""
    description = random_description(3, 4, ('revolute',))
    rigid = Robot(description, gravity=(0, 0, 0))
    drives = bristled(rigid, stiffness, 2.0 * (0.05 * stiffness) ** 0.5)
    robot = Robot(description, gravity=(0, 0, 0), drives=drives)
    one = SimulatedRobot(robot, None, integrator)
    one.v = np.random.default_rng(1).uniform(-2, 2, robot.nv)
    energies = [sum(one.energy)]
    for _ in range(2000):
        one.step(np.zeros(robot.nv), 1e-3)
        energies.append(sum(one.energy))
    gained = np.diff(energies)
    assert gained.max() < (1e-5 if integrator == 'runge_kutta' else 1e-15) * energies[0]
    assert one.energy[0] < 1e-6 * energies[0]
    assert np.abs(one.save().memory).max() * stiffness <= 5.0 * (1.0 + 1e-9)


def test_bristles_that_relax_in_sliding_do_not_drive_the_joint():
    """As by much damping: the joint has just begun to slide, and its friction falls by a third."""
    drive = Drive(**{**vars(PAPER), 'bristle_damping': 1e4, 'damping': 0.0})
    one = SimulatedRobot(slider(drive))
    for _ in range(3000):
        one.step([1.45], 1e-3)
    assert 1e5 * one.save().memory[0] == pytest.approx(1.45, abs=0.02)
    one.v, energies = np.array([0.1]), []
    for _ in range(5):
        energies.append(sum(one.energy))
        one.step([0.0], 1e-3)
    assert (np.diff(energies) < 0.0).all()


def test_stiff_bristles_hold_at_once():
    """In steps far longer than their period, also of a stack, against a torque within breakaway."""
    drive = Drive(**{**vars(PAPER), 'bristle_stiffness': 1e12, 'bristle_damping': 1e3})
    for make in (SimulatedRobot, lambda robot: SimulatedStack(robot, 3)):
        held = make(slider(drive))
        for _ in range(100):
            held.step(np.array([1.4]), 0.01)
        assert np.abs(held.q).max() < 1e-6
        assert np.abs(held.v).max() < 1e-6


# --- the memory of a simulation -------------------------------------------------------------------

TABLE = Plane(point=[0, 0, 0.5], normal=[0, 0, 1], stiffness=2e4, damping=1.0, friction=0.5)
TIP = ContactPoint('link4', [0, 0, 0.06], radius=0.01)


@pytest.fixture(scope='module')
def arm():
    """Return an arm of four joints with stops; the last one has no bristles."""
    plain = Robot(random_description(3, 4, ('revolute',), chain=True))
    drives = bristled(plain)
    del drives['joint4']
    return Robot(plain.description, drives=drives)


def drive(one, steps, seed=0):
    """Step with random torques; return all bytes of the states on the way."""
    rng, seen = np.random.default_rng(seed), b''
    for k in range(steps):
        if k % 20 == 0:
            pushed = rng.normal(size=one.robot.nv) * rng.choice([1.0, 10.0])
        one.step(one.robot.gravity_torques(one.q) + pushed, 1e-3)
        seen += one.q.tobytes() + one.v.tobytes() + one.save().memory.tobytes()
    return seen


@pytest.mark.parametrize(
    ('count', 'around'), [(None, {'planes': [TABLE], 'contact_points': [TIP]}), (3, {})]
)
def test_a_saved_state_goes_on_the_same(arm, around, count):
    one = SimulatedRobot(arm, count=count, **around)
    drive(one, 50)
    saved = one.save()
    assert saved.memory[..., -3:].all()
    ahead = drive(one, 50, 1)
    one.restore(saved)
    assert drive(one, 50, 1) == ahead
    one.set_state(saved.q, saved.v)
    assert not one.save().memory[..., -3:].any()
    with pytest.raises(ArgumentError, match='the saved state is of another simulation'):
        SimulatedRobot(arm, count=count, springs=(), **around).restore(
            SimulatedRobot(Robot(arm.description), count=count, **around).save()
        )


@pytest.mark.parametrize('around', [{}, {'planes': [TABLE], 'contact_points': [TIP]}])
def test_the_compiled_step_is_that_of_the_functions(arm, around):
    """Whole and divided steps, at stops, too; and a stack moves as single ones do."""
    compiled, plain = (SimulatedRobot(arm, **around) for _ in range(2))
    plain.stepping.compiled = None
    rng = np.random.default_rng(2)
    for _ in range(60):
        tau = rng.normal(size=arm.nv) * rng.choice([1.0, 30.0, 300.0])
        dt = float(rng.choice([1e-4, 1e-3, 1e-2]))
        plain.restore(compiled.save())
        outcomes = []
        for each in (compiled, plain):
            try:
                each.step(tau, dt)
                outcomes.append(True)
            except DivergenceError:
                outcomes.append(False)
        assert outcomes[0] == outcomes[1]
        for name in ('q', 'v', 'memory'):
            x, y = (getattr(each.save(), name) for each in (compiled, plain))
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11 * (1 + np.abs(y).max(initial=0)))


def test_a_stack_moves_as_single_robots_do(arm):
    q = middle_of_range(arm)
    stack, one = SimulatedStack(arm, 2, q), SimulatedRobot(arm, q)
    rng = np.random.default_rng(3)
    for _ in range(50):
        tau = arm.gravity_torques(one.q) + 3.0 * rng.normal(size=arm.nv)
        one.step(tau, 1e-3)
        stack.step(tau, 1e-3)
    np.testing.assert_allclose(stack.q, [one.q, one.q], atol=1e-10)
    np.testing.assert_allclose(stack.save().memory, [one.save().memory] * 2, atol=1e-10)
    assert stack.energy[1] == pytest.approx(one.energy[1])


def test_copies_go_on_the_same():
    one = SimulatedRobot(slider())
    for _ in range(20):
        one.step([1.4], 1e-3)
    others = copy.deepcopy(one), pickle.loads(pickle.dumps(one))
    one.step([1.4], 1e-3)
    for each in others:
        each.step([1.4], 1e-3)
        assert each.save().memory.tobytes() == one.save().memory.tobytes()


def test_gravity_may_change():
    """It is that of the robot in each step."""
    robot = slider(Drive(coulomb=1.0, bristle_stiffness=1e4), gravity=(0, 0, 0))
    one = SimulatedRobot(robot)
    one.step([0.0], 1e-3)
    assert one.v[0] == 0.0
    robot.gravity = [20.0, 0, 0]
    one.step([0.0], 1e-3)
    assert one.v[0] > 0.0


def test_other_functions_have_the_friction_of_steady_motion(arm):
    without = Robot(
        arm.description,
        drives={
            name: Drive(**{**vars(each), 'bristle_stiffness': 0.0, 'bristle_damping': 0.0})
            for name, each in arm.drives.items()
        },
    )
    q, v, a = arm.home(), np.linspace(-1, 1, arm.nv), np.ones(arm.nv)
    for name in ('inverse_dynamics', 'forward_dynamics'):
        same = getattr(arm, name)(q, v, a) == getattr(without, name)(q, v, a)
        assert same.all()
    smooth = Robot(arm.description, drives=arm.drives, friction=False)
    assert not SimulatedRobot(smooth).save().memory.size


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'bristle_stiffness': 1.0}, r'bristle_stiffness needs dry friction .* coulomb is 0\.0'),
        ({'bristle_stiffness': 1.0, 'coulomb': 1.0, 'coulomb_asymmetry': -1.0}, 'needs dry'),
        ({'bristle_damping': 1.0, 'coulomb': 1.0}, 'without bristle_stiffness; give both'),
        *(({name: -1.0}, f'{name} is -1.0; it must not be negative')
          for name in ('bristle_stiffness', 'bristle_damping')),
        *(({name: np.nan}, f'{name} is nan; give a finite number')
          for name in ('bristle_stiffness', 'bristle_damping')),
    ],
)  # fmt: skip
def test_bristles_that_are_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        Drive(**fields)


def test_mimic_joints_have_no_bristles():
    description = random_description(4, 4, ('revolute',), mimic=1)
    follower = next(joint for joint in description.joints if joint.mimic is not None)
    for name in (follower.name, follower.mimic.joint):
        with pytest.raises(ArgumentError, match='has a bristle_stiffness: how mimic joints'):
            Robot(description, drives={name: Drive(coulomb=1.0, bristle_stiffness=1.0)})
