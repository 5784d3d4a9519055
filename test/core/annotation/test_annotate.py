# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model state along recorded motions, against single samples."""

import numpy as np
import pytest

from screw_dynamics_ros.core import (
    ArgumentError,
    Drive,
    Robot,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.annotation import (
    OUTPUTS,
    AnnotationSettings,
    annotate_arrays,
)
from screw_dynamics_ros.core.annotation.annotate import Annotator, accelerations
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from support.robots import urdf_path

START = 1_700_000_000_000_000_000
TIP = 'panda_hand_tcp'
T = 0.004  # s, time constant of the observers


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda').read_text())


def smooth_motion(robot, count, seed=1, dt=1e-3, jitter=0.2):
    """Return stamps with jitter, positions, velocities, accelerations and efforts of a motion."""
    random = np.random.default_rng(seed)
    steps = dt * (1.0 + jitter * random.uniform(-1.0, 1.0, count))
    t = START + np.round(np.cumsum(steps) * 1e9).astype(np.int64)
    s = (t - START)[:, None] * 1e-9
    rate, phase = random.uniform(1.0, 4.0, (2, robot.nv))
    q, v = 0.5 * np.sin(rate * s + phase), 0.5 * rate * np.cos(rate * s + phase)
    a = -0.5 * rate * rate * np.sin(rate * s + phase)
    return t, q, v, a, robot.drive_torques(q, v, a)


def test_outputs_are_those_of_single_samples(robot):
    t, q, v, _, tau = smooth_motion(robot, 40)
    load = {TIP: RigidBody(1.5, np.array([0.01, 0.0, 0.1]), 0.01 * np.eye(3))}
    found = annotate_arrays(
        robot, t, q, v, tau, outputs=OUTPUTS, frames=[TIP], payloads=load,
        settings=AnnotationSettings(observer='static'),
    )  # fmt: skip
    for k in (0, 17, 39):
        given, acceleration = q[k], found['acceleration'][k]
        carried = robot.payload_torques(given, v[k], acceleration, load)
        at_rest = robot.payload_torques(given, v[k], np.zeros(robot.nv), load)
        gravity = robot.gravity_torques(given)
        coriolis = robot.coriolis_torques(given, v[k])
        M = robot.mass_matrix(given)
        expected = {
            'gravity': gravity,
            'coriolis': coriolis,
            'friction': robot.friction_torques(v[k]),
            'inertia': M @ acceleration,
            'payload': carried,
            'energy': [robot.kinetic_energy(given, v[k]), robot.potential_energy(given)],
            'momentum': robot.centroidal_momentum(given, v[k]),
            'center_of_mass': [
                *robot.center_of_mass(given),
                *robot.center_of_mass_velocity(given, v[k]),
            ],
            'mass_matrix': M,
            'transforms': robot.joint_transforms(given),
            f'twist/{TIP}': robot.jacobian(given, TIP) @ v[k],
            f'jacobian/{TIP}': robot.jacobian(given, TIP),
            'external_torque': gravity + coriolis + robot.friction_torques(v[k]) + at_rest - tau[k],
        }
        for name, value in expected.items():
            np.testing.assert_allclose(found[name][k], value, atol=1e-11, err_msg=name)
    assert set(found) >= {*expected, 'acceleration', f'singularity/{TIP}', f'wrench/{TIP}'}


def test_accelerations_are_those_of_the_motion(robot):
    t, _, v, a, _ = smooth_motion(robot, 400)
    found = accelerations(t, v, np.zeros(len(t), bool))
    np.testing.assert_allclose(found[1:-1], a[1:-1], atol=1e-4)  # h^2 / 6 times v'''
    np.testing.assert_allclose(found, a, atol=2e-2)


def test_accelerations_of_runs(robot):
    """Nothing is differentiated across a start; a run of one sample has no acceleration."""
    t = START + np.arange(6) * 10**6
    v = np.array([0.0, 1.0, 5.0, 100.0, 200.0, 202.0])[:, None] * 1e-3
    starts = np.array([True, False, False, True, True, False])
    found = accelerations(t, v, starts)[:, 0]
    np.testing.assert_allclose(found, [1.0, 2.5, 4.0, np.nan, 2.0, 2.0])


def test_accelerations_do_not_depend_on_blocks(robot, monkeypatch):
    t, _, v, _, _ = smooth_motion(robot, 100)
    starts = np.random.default_rng(1).uniform(size=100) < 0.1
    whole = accelerations(t, v, starts)
    monkeypatch.setattr('screw_dynamics_ros.core.annotation.annotate.BLOCK_SIZE', 7)
    np.testing.assert_array_equal(accelerations(t, v, starts), whole)


def test_smoothed_accelerations_have_no_phase_lag():
    """A vibration keeps 1 / (1 + (omega T)^2) of its amplitude and its phase."""
    t = START + np.arange(8000) * 500_000
    s, omega, constant = np.arange(8000) * 5e-4, 2 * np.pi * 10, 0.01
    v = np.sin(omega * s)[:, None] / omega
    found = accelerations(t, v, np.zeros(8000, bool), constant)[:, 0]
    share = 1.0 / (1.0 + (omega * constant) ** 2)
    middle = slice(1000, -1000)
    np.testing.assert_allclose(found[middle], share * np.cos(omega * s)[middle], atol=1e-3)


# --- observers ----------------------------------------------------------------------------------


def test_a_push_is_found(robot):
    """The wrench of a push on the tip, by its Jacobian; against its sign, too."""
    t, q, v, _, tau = smooth_motion(robot, 300)
    push = np.array([0.5, 0.0, -0.3, 4.0, -2.0, 7.0])  # moment, force on the robot in the tip
    felt = np.einsum('kij,i->kj', robot.jacobian(q, TIP, 'body'), push)
    settings = AnnotationSettings(observer='momentum', observer_time_constant=T, damping=0.0)
    found = annotate_arrays(
        robot, t, q, v, tau - felt, outputs=['wrench'], frames=[TIP], settings=settings
    )[f'wrench/{TIP}']
    estimated = np.isfinite(found).all(axis=1)
    assert estimated.sum() > 200
    later = found[estimated][20:]  # by then only the lag is left: T times the rate of J^T w
    np.testing.assert_allclose(later, np.broadcast_to(push, later.shape), atol=0.1)


@pytest.mark.parametrize('terms', [TERMS, TERMS[1:]])
def test_a_push_through_gears_with_friction_by_load(terms):
    """Also where efforts lack gravity, of which the gears lose a share nevertheless."""
    assert 'gravity' not in TERMS[1:]
    text = urdf_path('planar_2r').read_text()
    drives = {'joint1': Drive(load_friction=0.2, coulomb=0.5), 'joint2': Drive(load_friction=0.3)}
    robot = Robot.from_urdf(text, drives=drives, friction=False)
    t, q, v, a, _ = smooth_motion(robot, 300)
    push = np.array([3.0, -2.0])
    L = robot.inverse_dynamics(q, v, a) - push
    sign = v / np.hypot(v, 0.01)
    tau = L + sign * ([0.5, 0.0] + np.array([0.2, 0.3]) * np.abs(L))
    if 'gravity' not in terms:
        tau = tau - robot.gravity_torques(q)
    settings = AnnotationSettings(
        observer='momentum', observer_time_constant=T, damping=0.0, effort_terms=terms
    )
    found = annotate_arrays(robot, t, q, v, tau, outputs=['external_torque'], settings=settings)
    later = found['external_torque'][100:]
    np.testing.assert_allclose(later, np.broadcast_to(push, later.shape), atol=0.02)


def test_efforts_without_gravity(robot):
    """Drivers that compensate gravity report efforts without it."""
    t, q, v, _, tau = smooth_motion(robot, 5)
    terms = ('coriolis', 'friction', 'inertia', 'payload')
    settings = AnnotationSettings(effort_terms=terms)
    short = annotate_arrays(
        robot, t, q, v, tau - robot.gravity_torques(q), outputs=['external_torque'],
        settings=settings,
    )  # fmt: skip
    whole = annotate_arrays(robot, t, q, v, tau, outputs=['external_torque'])
    np.testing.assert_allclose(short['external_torque'], whole['external_torque'], atol=1e-12)


# --- what cannot be used ------------------------------------------------------------------------


def test_missing_efforts_leave_the_rest(robot):
    t, q, v, _, _ = smooth_motion(robot, 6)
    v[2, 1] = np.nan
    found = annotate_arrays(robot, t, q, v, frames=[TIP])
    assert np.isfinite(found['gravity']).all()
    assert np.isnan(found['external_torque']).all()
    assert np.isnan(found[f'wrench/{TIP}']).all()
    assert np.isnan(found['coriolis'][2]).any()
    assert np.isfinite(np.delete(found['coriolis'], 2, axis=0)).all()


@pytest.mark.parametrize(
    ('change', 'error', 'text'),
    [
        ({'outputs': ['grafity']}, UnknownNameError, "no output 'grafity'"),
        ({'frames': ['tip']}, UnknownNameError, "no link named 'tip'"),
        ({'t': np.zeros(3)}, ArgumentError, 't must be stamps'),
        ({'q': np.zeros((3, 2))}, ArgumentError, r'q must have shape \(3, 8\), got \(3, 2\)'),
        ({'restarted': [True]}, ArgumentError, r'restarted must have shape \(3,\)'),
        ({'t': np.zeros(0, int)}, ScrewDynamicsError, 'must have shape'),
    ],
)
def test_bad_arguments_are_named(robot, change, error, text):
    arguments = {'t': START + np.arange(3), 'q': np.zeros((3, 8)), 'v': np.zeros((3, 8)), **change}
    with pytest.raises(error, match=text):
        annotate_arrays(robot, **arguments)


@pytest.mark.parametrize(
    'setting',
    [
        {'observer': 'kalmann'},
        {'effort_terms': ('weight',)},
        {'observer_time_constant': 0.0},
        {'damping': -1.0},
        {'state_timeout': float('nan')},
    ],
)
def test_bad_settings_are_named(setting):
    (name,) = setting
    with pytest.raises(ScrewDynamicsError, match=name):
        AnnotationSettings(**setting)


def test_a_free_base_is_refused():
    floating = Robot.from_urdf(urdf_path('panda').read_text(), floating_base=True)
    with pytest.raises(ArgumentError, match='free base'):
        Annotator(floating)


def test_poses_of_transforms(robot):
    """Quaternions are (x, y, z, w), and the chain of transforms leads to the tip."""
    t, q, v, _, _ = smooth_motion(robot, 2)
    found = annotate_arrays(robot, t, q, v, outputs=['transforms'])['transforms']
    assert found.shape == (2, len(robot.transform_joints), 7)
    np.testing.assert_allclose(np.linalg.norm(found[..., 3:], axis=-1), 1.0)
