# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Armatures and friction: golden numbers, Pinocchio, energy; `test_mujoco.py` has MuJoCo.

Spec IDs: C-054, E-12; B-008.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, InertiaError, Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
from screw_dynamics_ros.core.dynamics.forward_dynamics import articulated_bodies
from screw_dynamics_ros.core.textbook.formulations.recursive_newton_euler import (
    recursive_inverse_dynamics,
)
from screw_dynamics_ros.core.tree.multibody_tree import build_tree, mimic_map
from support.drives import GRAVITY, SCALAR, close, random_drives, state, two_masses
from support.models import random_description, random_wrenches
from support.robots import joint, links, robot, urdf_path

BACKENDS = pytest.mark.parametrize('backend', ['native', 'python', 'reference'])


@pytest.fixture(autouse=True)
def _backend_exists(request: pytest.FixtureRequest) -> None:
    if 'backend' in request.fixturenames and request.getfixturevalue('backend') == 'native':
        pytest.importorskip('llvmlite')


# --- felt inertia ---------------------------------------------------------------------------------


@BACKENDS
def test_golden_accelerations_with_rotors(backend):
    """C-054, 8.2: accelerations for tau = (1, 2), without rotors and with d = 0.1 on both."""
    q, v = np.array([0.3, 0.4]), np.array([0.5, -0.2])
    arguments = {'gravity': (0, -9.81, 0), 'backend': backend}
    bare = Robot(two_masses(), **arguments)
    close(bare.forward_dynamics(q, v, [1, 2]), np.array([-12.634337404, 18.67087633]), 1e-9)
    drive = Drive(rotor_inertia=1e-5, gear_ratio=100.0)
    driven = Robot(two_masses(), drives={'q1': drive, 'q2': drive}, **arguments)
    close(driven.forward_dynamics(q, v, [1, 2]), np.array([-9.783839865, 11.995360631]), 1e-9)


def test_a_single_joint_feels_the_square_of_the_gear_ratio():
    """C-054: tau = (I + G^2 J) q''."""
    wheel = RobotDescription.from_parts(
        'wheel',
        [Link('base'), Link('disk', Inertia(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.2])))],
        [Joint('q', 'continuous', 'base', 'disk', np.eye(4), np.array([0, 0, 1.0]))],
    )
    driven = Robot(wheel, backend='reference', drives={'q': Drive(2e-5, -150.0, armature=0.05)})
    assert driven.inverse_dynamics([0.3], [1.0], [2.0])[0] == pytest.approx(2 * (0.2 + 0.45 + 0.05))
    assert driven.kinetic_energy([0.3], [2.0]) == pytest.approx(2 * 0.7)


@pytest.mark.parametrize(
    ('floating', 'mimic', 'backend'),
    [
        (False, 0, 'reference'),
        (True, 0, 'reference'),
        (True, 2, 'reference'),
        (False, 2, 'python'),
    ],
)
def test_terms_add_up_and_dynamics_invert_each_other(floating, mimic, backend):
    """C-054: M has d on its diagonal; inverse and forward dynamics agree, friction and all."""
    description = random_description(4, 8, (*SCALAR, 'fixed'), mimic=mimic)
    drives = random_drives(description)
    arguments = {'floating_base': floating, 'gravity': GRAVITY, 'backend': backend}
    bare, driven = Robot(description, **arguments), Robot(description, drives=drives, **arguments)
    q, v, a = state(bare)
    wrenches = random_wrenches(bare, np.random.default_rng(4))
    extra, friction = np.zeros(bare.nv), np.zeros(bare.nv)
    for made in description.joints:
        if made.name in drives:
            master, n, _ = mimic_map(description)[made.name]
            place = bare.joint_coordinates(master)[1].start
            extra[place] += n**2 * drives[made.name].reflected_inertia
            friction[place] += n * drives[made.name].friction(n * v[place])
    assert np.count_nonzero(extra) > 2
    close(driven.mass_matrix(q), bare.mass_matrix(q) + np.diag(extra))
    close(driven.friction_torques(v), friction)
    tau = bare.inverse_dynamics(q, v, a, wrenches) + extra * a + friction
    close(driven.inverse_dynamics(q, v, a, wrenches), tau)
    close(driven.forward_dynamics(q, v, tau, wrenches), a, 1e-9)
    smooth = Robot(description, drives=drives, friction=False, **arguments)
    for each in (driven, smooth):
        close(each.drive_torques(q, v, a), bare.inverse_dynamics(q, v, a) + extra * a + friction)
    energy = bare.kinetic_energy(q, v) + 0.5 * extra @ v**2
    assert driven.kinetic_energy(q, v) == pytest.approx(energy, rel=1e-12)
    for same in ('gravity_torques', 'center_of_mass', 'potential_energy'):
        close(getattr(driven, same)(q), getattr(bare, same)(q), 1e-13)
    close(driven.coriolis_torques(q, v), bare.coriolis_torques(q, v), 1e-13)
    close(driven.joint_wrenches(q, v, a), bare.joint_wrenches(q, v, a), 1e-13)


@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid', 'mixed'])
def test_recursions_in_all_representations_know_drives(representation):
    """C-054 with D-25 to D-28."""
    description = random_description(6, 8, SCALAR, mimic=2)
    robot = Robot(description, drives=random_drives(description), backend='reference')
    q, v, a = state(robot)
    tree = build_tree(description, drives=random_drives(description))
    Q = recursive_inverse_dynamics(tree, q, v, a, robot.gravity, None, representation)
    close(Q, robot.inverse_dynamics(q, v, a), 1e-12)


def test_articulated_inertia_along_a_joint_with_a_rotor():
    """E-12: the rotor makes the joint stiff against acceleration; what is beyond is felt."""
    description = random_description(7, 6, SCALAR, chain=True)
    drives = {joint.name: Drive(armature=0.3) for joint in description.joints}
    driven = Robot(description, drives=drives, backend='reference')
    q, v, tau = state(driven)
    tree = build_tree(description, drives=drives)
    a, _ = articulated_bodies(tree, q, v, 0 * v, tau, driven.gravity, [False] * 6)
    bias = driven.inverse_dynamics(q, v, np.zeros(6))
    close(a, np.linalg.solve(driven.mass_matrix(q), tau - bias), 1e-10)


def test_a_joint_without_mass_can_have_a_rotor():
    """A massless link has no forward dynamics; with an armature it has."""
    tool = Joint('tool', 'continuous', 'two', 'tip', np.eye(4), np.array([1.0, 0, 0]))
    arm = two_masses()
    description = RobotDescription.from_parts('arm', [*arm.links, Link('tip')], [*arm.joints, tool])
    q, v, tau = np.zeros((3, 3))
    with pytest.raises(InertiaError, match="'tool'"):
        Robot(description, backend='reference').forward_dynamics(q, v, tau)
    driven = Robot(description, drives={'tool': Drive(armature=0.1)}, backend='reference')
    assert driven.forward_dynamics(q, v, [0, 0, 0.2])[2] == pytest.approx(2.0)


# --- friction -------------------------------------------------------------------------------------


def test_friction_law():
    """Viscous, Coulomb and Stribeck parts, odd, smooth at zero, never a source of energy."""
    drive = Drive(damping=0.2, coulomb=0.5, breakaway=0.9, stribeck_speed=0.1, smoothing=1e-4)
    v = np.linspace(0, 2, 2001)
    f = drive.friction(v)
    np.testing.assert_array_equal(drive.friction(-v), -f)
    assert drive.friction(0.0) == 0.0
    assert (f * v >= 0.0).all()
    assert drive.friction(100.0) == pytest.approx(0.2 * 100 + 0.5, rel=1e-4)
    assert drive.friction(1e-3) == pytest.approx(0.9, rel=1e-2)  # breaks away
    assert drive.friction(0.1) - 0.02 == pytest.approx(0.7, rel=1e-5)  # half of the excess left
    assert drive.friction(0.05) < drive.friction(1e-3)  # falls with speed: Stribeck
    slopes = [(drive.friction(h) - drive.friction(-h)) / (2 * h) for h in (1e-7, 1e-8)]
    assert slopes[0] == pytest.approx(0.9 / 1e-4 + 0.2, rel=1e-4)
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-4)
    # 71 % of dry friction at the smoothing speed
    assert Drive(coulomb=1.0, smoothing=0.05).friction(0.05) == pytest.approx(np.sqrt(0.5))
    assert Drive(coulomb=1.0).friction(3.0) == pytest.approx(1.0, rel=1e-5)


def test_viscous_and_dry_friction():
    """B-008: 0.1 N m s/rad and 0.5 N m at -2 rad/s are -0.7 N m, where smoothing ends."""
    drive = Drive(damping=0.1, coulomb=0.5, smoothing=1e-6)
    assert drive.friction(-2.0) == pytest.approx(-0.7, rel=1e-12)
    driven = Robot(two_masses(), drives={'q2': drive}, backend='reference')
    close(driven.friction_torques([5.0, -2.0]), np.array([0.0, -0.7]))
    bare, state = Robot(two_masses(), backend='reference'), ([0.3, 0.4], [5.0, -2.0], [0.0, 0.0])
    added = driven.inverse_dynamics(*state) - bare.inverse_dynamics(*state)
    close(added, np.array([0.0, -0.7]))


@pytest.mark.parametrize('mimic', [0, 2])
def test_derivatives_know_drives(mimic):
    """C-054 with D-40: derivatives of inverse and forward dynamics, by differences."""
    description = random_description(5, 6, SCALAR, mimic=mimic)
    made = random_drives(description)
    made = {name: replace(drive, smoothing=0.2) for name, drive in made.items()}
    driven = Robot(description, drives=made, backend='reference')
    q, v, a = state(driven)
    dQ_dq, dQ_dv, M = driven.inverse_dynamics_derivatives(q, v, a)
    tau = driven.inverse_dynamics(q, v, a)
    da_dq, da_dv, M_inv = driven.forward_dynamics_derivatives(q, v, tau)
    close(M, driven.mass_matrix(q))
    close(M_inv @ M, np.eye(driven.nv), 1e-9)
    h = 1e-5
    for k, e in enumerate(h * np.eye(driven.nv)):
        for function, by_q, by_v, last in (
            (driven.inverse_dynamics, dQ_dq, dQ_dv, a),
            (driven.forward_dynamics, da_dq, da_dv, tau),
        ):
            close(by_q[:, k], (function(q + e, v, last) - function(q - e, v, last)) / (2 * h), 1e-7)
            close(by_v[:, k], (function(q, v + e, last) - function(q, v - e, last)) / (2 * h), 1e-7)


def test_drives_come_on_top_of_the_regressor():
    """C-054 with D-43: torques = regressor @ parameters of the links + felt inertia + friction."""
    description = random_description(6, 6, SCALAR)
    driven = Robot(description, drives=random_drives(description), backend='reference')
    q, v, a = state(driven)
    felt = np.array([driven.drives[name].reflected_inertia for name in driven.joint_names])
    links = driven.regressor(q, v, a) @ driven.inertial_parameters
    expected = links + felt * a + driven.friction_torques(v)
    close(driven.inverse_dynamics(q, v, a), expected)
    assert np.abs(links - expected).max() > 0.1


def friction_urdf() -> str:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'  # noqa: E501
    return robot(
        links('base'),
        *(f'<link name="{name}">{inertial}</link>' for name in 'abc'),
        joint('j1', 'base', 'a', '<dynamics damping="0.5" friction="2"/>', 'continuous'),
        joint('j2', 'a', 'b', '<dynamics damping="0.1"/>', 'continuous'),
        joint('j3', 'b', 'c', '<dynamics damping="7"/><mimic joint="j2" multiplier="-2"/>',
              'continuous'),
    )  # fmt: skip


def test_friction_of_the_description_counts_if_drives_are_given():
    """Rigid-body torques stay what they are without `drives`; `friction_torques` knows anyway."""
    q, v, a = np.random.default_rng(2).uniform(0.2, 1, (3, 2))
    bare = Robot.from_urdf(friction_urdf(), backend='reference')
    level = v[0] / np.sqrt(v[0] ** 2 + 0.01**2)
    expected = np.array([0.5 * v[0] + 2 * level, (0.1 + 4 * 7) * v[1]])
    close(bare.friction_torques(v), expected)
    close(
        bare.inverse_dynamics(q, v, a),
        bare.mass_matrix(q) @ a + bare.coriolis_torques(q, v) + bare.gravity_torques(q),
    )
    counted = Robot.from_urdf(friction_urdf(), backend='reference', drives={})
    close(counted.inverse_dynamics(q, v, a), bare.inverse_dynamics(q, v, a) + expected)
    own = Robot.from_urdf(friction_urdf(), backend='reference', drives={'j1': Drive(damping=3.0)})
    close(own.friction_torques(v), np.array([3 * v[0], expected[1]]))
    assert own.drives == {**bare.drives, 'j1': Drive(damping=3.0)}
    assert bare.drives['j1'] == Drive(damping=0.5, coulomb=2.0)


def test_friction_may_be_left_to_a_term_of_its_own():
    """Reflected inertias are included, friction is not: for callers that add `friction_torques`."""
    drives = {'j1': Drive(armature=0.3, coulomb=1.0)}
    whole = Robot.from_urdf(friction_urdf(), backend='reference', drives=drives)
    without = Robot.from_urdf(friction_urdf(), backend='reference', drives=drives, friction=False)
    q, v, a = state(whole)
    friction = whole.friction_torques(v)
    assert np.abs(friction).min() > 0.1
    close(without.friction_torques(v), friction)
    close(without.inverse_dynamics(q, v, a), whole.inverse_dynamics(q, v, a) - friction)
    close(without.forward_dynamics(q, v, without.inverse_dynamics(q, v, a)), a)
    assert not without.with_friction
    assert not copy.copy(without).with_friction
    counted = Robot.from_urdf(friction_urdf(), backend='reference', friction=True)
    assert counted.with_friction
    assert copy.copy(counted).with_friction


def test_energy_goes_into_friction():
    """C-054: T + U falls by exactly the work against friction; rotors hold energy."""
    description = random_description(9, 4, SCALAR, chain=True)
    made = random_drives(description)
    drives = {joint.name: made.get(joint.name, Drive(damping=0.3)) for joint in description.joints}
    driven = Robot(description, gravity=GRAVITY, drives=drives)
    q, v, _ = state(driven)

    def rate(x: np.ndarray) -> np.ndarray:
        q, v = x[:4], x[4:8]
        power = driven.friction_torques(v) @ v
        return np.concatenate([v, driven.forward_dynamics(q, v, np.zeros(4)), [power]])

    def energy(x: np.ndarray) -> float:
        return driven.kinetic_energy(x[:4], x[4:8]) + driven.potential_energy(x[:4])

    x, h = np.concatenate([q, v, [0.0]]), 2e-4
    start = energy(x)
    for _ in range(2500):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    assert x[8] > 0.1
    assert start - energy(x) == pytest.approx(x[8], rel=1e-5)


# --- Pinocchio ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'floating'), [('panda_description/urdf/panda', False), ('talos_full_v2', True)]
)
def test_pinocchio(name, floating):
    """C-054: rotor inertia and gear ratio as Pinocchio has them, on real robots, 1e-10."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    path = urdf_path(name)
    names = Robot.from_urdf(path, backend='reference').joint_names
    rng = np.random.default_rng(1)
    drives = {name: Drive(float(J), 80.0) for name, J in zip(names, rng.uniform(0, 1e-4, 99))}
    driven = Robot.from_urdf(path, floating_base=floating, backend='reference', drives=drives)
    oracle = Pinocchio(path.read_text(), driven)
    for index, made in enumerate(oracle.model.names):
        if made in drives:
            place = oracle.model.joints[index].idx_v
            oracle.model.rotorInertia[place] = drives[made].rotor_inertia
            oracle.model.rotorGearRatio[place] = drives[made].gear_ratio
    oracle.model.armature = oracle.model.rotorGearRatio**2 * oracle.model.rotorInertia
    q, v, a = state(driven)
    wrenches = random_wrenches(driven, rng)
    friction = driven.friction_torques(v)  # of the description, on mimic joints; not Pinocchio's
    tau = oracle.inverse_dynamics(q, v, a, wrenches) + friction
    close(driven.inverse_dynamics(q, v, a, wrenches), tau, 1e-10)
    close(driven.mass_matrix(q), oracle.mass_matrix(q), 1e-10)
    expected = oracle.forward_dynamics(q, v, tau - friction, wrenches)
    close(driven.forward_dynamics(q, v, tau, wrenches), expected, 1e-9)
    close(expected, a, 1e-8)


# --- use and misuse -------------------------------------------------------------------------------


def test_copies_keep_the_drives():
    driven = Robot(two_masses(), drives={'q1': Drive(armature=1.0)}, backend='python')
    q = np.array([0.3, 0.4])
    for other in (copy.deepcopy(driven), pickle.loads(pickle.dumps(driven))):
        np.testing.assert_array_equal(other.mass_matrix(q), driven.mass_matrix(q))


def test_programs_without_drives_are_not_touched():
    """A drive without effect gives bitwise equal torques."""
    path = urdf_path('panda')
    bare = Robot.from_urdf(path, backend='python')
    q, v, a = state(bare)
    zero = {name: Drive() for name in bare.transform_joints}
    idle = Robot.from_urdf(path, backend='python', drives=zero)
    np.testing.assert_array_equal(idle.inverse_dynamics(q, v, a), bare.inverse_dynamics(q, v, a))
    np.testing.assert_array_equal(idle.friction_torques(v), np.zeros(bare.nv))
