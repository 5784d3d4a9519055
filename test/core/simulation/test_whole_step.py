# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques in the stages of a step, and the stage in which the environment acted most.

The compiled step: the numbers and decisions of the functions of the robot, called one by one.

The motions themselves are compared with MuJoCo and closed forms in the other files.
"""

import copy
import pickle

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile import kernels
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, SimulatedRobot, Spring
from screw_dynamics_ros.core.simulation.environment import Environment
from screw_dynamics_ros.core.simulation.whole_step import StageTorques
from support.free_boxes import LINK, UPRIGHT, free_box
from support.models import random_description

STIFFNESS = 100.0
FLOOR = Plane([0, 0, -0.5], [0, 0, 1], stiffness=500.0, damping=0.5, friction=0.4)
AROUND = {
    'planes': [FLOOR],
    'contact_points': [ContactPoint('link2', [0, 0, 0.1], 0.05), ContactPoint('link3')],
    'springs': [Spring('link1', [0, 0, 0], [0.5, 0, 1.0], 20.0, 1.0)],
}
DRIVES = {'joint1': Drive(armature=0.1, damping=0.2, coulomb=0.3)}


def at(z):
    """Return the box with its origin at a height."""
    return np.array([0.0, 0.0, z, *UPRIGHT])


@pytest.mark.parametrize('kind', ['plane', 'spring'])
def test_the_stage_in_which_the_environment_acts_most(kind):
    """Forces of a plane at z = 0, or of a spring to z = 0, are added to the given torques."""
    robot = free_box(backend='python')
    around = {
        'plane': {
            'planes': [Plane([0, 0, 0], [0, 0, 1], stiffness=STIFFNESS, damping=0.0)],
            'contact_points': [ContactPoint(LINK, [0, 0, 0], 0.0)],
        },
        'spring': {'springs': [Spring(LINK, [0, 0, 0], [0, 0, 0], STIFFNESS, 0.0)]},
    }[kind]
    environment, still = Environment(robot, **around), np.zeros(6)
    tau = np.arange(6.0)
    torques = StageTorques(environment, tau, environment.memory(at(0.1)))
    assert torques.strongest is None
    for z, strongest in ((0.0, None), (-0.1, -0.1), (-0.3, -0.3), (-0.2, -0.3), (-0.3, -0.3)):
        state = at(z)
        found = torques(0.5, state, still)
        np.testing.assert_allclose(found, tau + [0, 0, 0, 0, 0, -STIFFNESS * z], atol=1e-9)
        if strongest is None:
            assert torques.strongest is None
        else:
            assert torques.strongest[0][2] == strongest
            assert torques.strongest[1] is still


def jointed(floating=False, **options):
    """Return a random tree of three or four joints between stops, of which one follows another."""
    description = random_description(3, 4, mimic=1)
    return Robot(description, floating_base=floating, **{'gravity': (0, 0, -9.81), **options})


def free_arm(**options):
    """Return one rod that turns about z without stops, in the plane of gravity."""
    return Robot(random_description(1, 1, ('continuous',)), gravity=(0, -9.81, 0), **options)


def outcome(simulated, tau, dt):
    """Return the state after a step, or the name of the error, and whether it was divided."""
    stepping, divided = simulated.stepping, []
    of, name = (
        (stepping, '_divided') if stepping.compiled is None else (stepping.compiled, 'substeps')
    )
    original = getattr(type(of), name)
    setattr(of, name, lambda *start: divided.append(True) or original(of, *start))
    before = simulated.save()
    try:
        simulated.step(tau, dt)
    except DivergenceError:
        saved = simulated.save()
        for name in ('q', 'v', 'memory'):
            np.testing.assert_array_equal(getattr(saved, name), getattr(before, name))
        return None, True
    return simulated.save(), bool(divided)


@pytest.mark.parametrize(
    ('floating', 'integrator', 'around'),
    [
        (False, 'semi_implicit', AROUND),
        (True, 'runge_kutta', AROUND),
        (True, 'momentum_preserving', {}),
    ],
)
def test_random_sequences(floating, integrator, around):
    """Torques and steps of all sizes, limits, contacts, NaN: equal states, errors and divisions."""
    robot, rng = jointed(floating, drives=DRIVES), np.random.default_rng(5)
    compiled, plain = (SimulatedRobot(robot, None, integrator, **around) for _ in range(2))
    plain.stepping.compiled = None
    seen = {'whole': 0, 'divided': 0, 'stopped': 0, 'diverged': 0, 'touching': 0}
    for k in range(80):
        if k % 20 == 0:
            q = robot.random_configuration(rng)
            q[:3] = np.clip(q[:3], -0.5, 0.5)
            compiled.set_state(q, rng.normal(size=robot.nv) * rng.choice([0.1, 1.0, 10.0]))
        tau = rng.normal(size=robot.nv) * rng.choice([1.0, 10.0, 1e3])
        dt = float(rng.choice([1e-4, 1e-3, 1e-2, 0.1]))
        if k % 20 == 19:
            tau[0], dt = [(np.nan, dt), (1e200, dt), (1.0, 1e3)][k // 20 % 3]
        plain.restore(compiled.save())
        (found, divided), (wanted, is_divided) = outcome(compiled, tau, dt), outcome(plain, tau, dt)
        assert divided == is_divided
        seen['divided' if divided else 'whole'] += 1
        if wanted is None:
            assert found is None
            seen['diverged'] += 1
            continue
        for name in ('q', 'v', 'memory', 'stop_torques'):
            x, y = getattr(found, name), getattr(wanted, name)
            np.testing.assert_allclose(
                x, y, rtol=1e-12, atol=1e-12 * (1.0 + np.abs(y).max(initial=0))
            )
        seen['stopped'] += wanted.stop_torques.any()
        seen['touching'] += any(map(np.any, compiled.contact_wrenches.values()))
    assert min(seen['whole'], seen['divided']) > 10
    assert min(seen['stopped'], seen['diverged']) > 1
    assert bool(seen['touching']) == bool(around)


def test_a_contact_without_force_does_not_divide_a_step():
    """The box leaves so fast that damping exceeds the elastic force: the plane cannot pull."""
    floor = Plane([0, 0, 0], [0, 0, 1], stiffness=1e4, damping=10.0)
    around = {'planes': [floor], 'contact_points': [ContactPoint(LINK)]}
    simulated = SimulatedRobot(free_box(gravity=(0, 0, 0)), **around)
    simulated.set_state([0, 0, -1e-3, *UPRIGHT], [0, 0, 0, 0, 0, 1.0])
    state, divided = outcome(simulated, np.zeros(6), 2e-3)
    assert not divided
    assert state.q[2] == pytest.approx(1e-3, abs=1e-15)


@pytest.mark.parametrize(('dt', 'is_divided'), [(2.2e-3, False), (2.3e-3, True)])
def test_contacts_before_a_step_limit_its_length(dt, is_divided):
    """Two planes of k = 1e4 N/m at depths of 1 and 0.5 mm: omega = 134 / s, after it 100 / s.

    Steps of more than 0.3 rad are divided, after 2.24 ms.
    """
    planes = [Plane([0, 0, z], [0, 0, 1], stiffness=1e4, damping=0.0) for z in (0.0, -5e-4)]
    simulated = SimulatedRobot(free_box(), planes=planes, contact_points=[ContactPoint(LINK)])
    simulated.set_state([0, 0, -1e-3, *UPRIGHT], [0, 0, 0, 0, 0, 0.35])
    state, divided = outcome(simulated, np.zeros(6), dt)
    assert divided == is_divided
    assert -5e-4 < state.q[2] < 0.0


def test_a_divided_step_that_begins_at_a_stop_begins_with_the_impact():
    """The torque drives the joint away at once: after the first substep it is far from the stop."""
    simulated = SimulatedRobot(jointed(gravity=(0, 0, 0)))
    simulated.set_state([-2.0, 0.0, 0.0], [-0.05, 20.0, 0.0])
    simulated.step([500.0, 0.0, 0.0], 0.02)
    assert simulated.q[0] > -1.99
    assert simulated.stop_torques[0] > 1.0


def test_prepare_compiles_all_that_steps_need(monkeypatch):
    simulated = SimulatedRobot(jointed(), **AROUND)
    simulated.prepare()

    def compiled_now(*arguments):
        raise AssertionError('compiled during a step')

    monkeypatch.setattr(kernels, 'loaded', compiled_now)
    simulated.step(np.zeros(3), 1e-3)
    simulated.v = np.full(3, 10.0)
    for _ in range(20):
        simulated.step(np.full(3, 10.0), 0.02)
    assert simulated.stop_torques.any()


def test_gravity_may_change():
    """A rod at rest falls as gravity says in the moment, g m c / I about its joint."""
    robot = free_arm()
    simulated = SimulatedRobot(robot)
    for gravity in ([0, -9.81, 0], [0, 0, 0], [3.0, 4.0, 5.0]):
        robot.gravity = gravity
        simulated.set_state([0.3], [0.0])
        simulated.step([0.0], 1e-6)
        wanted = -robot.gravity_torques([0.3]) / robot.mass_matrix([0.3])[0]
        np.testing.assert_allclose(simulated.v / 1e-6, wanted, rtol=1e-6, atol=1e-12)


def test_copies_are_separate():
    """Also of the gravity of their robots."""
    simulated = SimulatedRobot(free_arm())
    simulated.step([0.0], 1e-3)
    for copied in (copy.deepcopy(simulated), pickle.loads(pickle.dumps(simulated))):
        copied.robot.gravity = np.zeros(3)
        before = copied.v[0]
        copied.step([0.0], 1e-3)
        assert copied.v[0] == pytest.approx(before, rel=1e-4)
        assert simulated.v[0] == before
        assert simulated.robot.gravity.any()


def test_functions_of_subclasses_are_called():
    class Held(Robot):
        """A robot that does not accelerate."""

        def forward_dynamics(self, q, v, tau, external_wrenches=None):
            return np.zeros(self.nv)

    simulated = SimulatedRobot(Held(random_description(1, 1, ('continuous',)), gravity=(0, 0, 0)))
    simulated.step([100.0], 1e-3)
    assert simulated.v[0] == 0.0


def test_arguments_of_any_kind_of_numbers():
    simulated = SimulatedRobot(free_arm())
    states = []
    for tau in ([1], np.array([1]), np.ones(2)[::2], np.ones(1, dtype=np.float32), (1.0,)):
        simulated.set_state([0.0], [0.0])
        simulated.q = np.zeros(2)[::2]
        simulated.step(tau, 0.001)
        states.append(simulated.v[0])
        assert simulated.q.flags.c_contiguous
    assert len(set(states)) == 1
    assert states[0] != 0.0
    for tau in ([1.0, 2.0], [[1.0]], ['x'], None):
        saved = simulated.save()
        with pytest.raises(ArgumentError, match='tau must h'):
            simulated.step(tau, 0.001)
        np.testing.assert_array_equal(simulated.v, saved.v)
