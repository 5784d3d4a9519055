# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of outputs: nodes, model states, recordings and pages have what its rows say."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.annotation import DEFAULT, annotate_arrays
from screw_dynamics_ros.core.annotation import OUTPUTS as RECORDED
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.formulas import ENERGY, contact, inertial_torques
from screw_dynamics_ros.core.outputs import (
    FORMS,
    JOINTS,
    LINK,
    LINKS,
    OUTPUTS,
    ROOT,
    VELOCITIES,
)
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.registry import NODES
from support.paths import DOC
from support.robots import urdf_path

WITH_MASS = {'momentum', 'center_of_mass', 'center_of_mass_twist'}


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(urdf_path('planar_2r').read_text(), backend='reference')


def test_annotate_computes_the_recorded_rows(robot):
    """All and no others, with the dimensions of their labels; matrices if they are named."""
    t, q = np.arange(3) * 1_000_000, np.zeros((3, 2))
    found = annotate_arrays(robot, t, q, q, q, outputs=RECORDED, frames=['tip'])
    assert {name.split('/')[0] for name in found} == set(RECORDED)
    assert set(RECORDED) == {'acceleration'} | {
        row.name for row in OUTPUTS.values() if row.recorded and not row.of_base
    }
    assert set(RECORDED) - set(DEFAULT) == {'mass_matrix', 'jacobian'}
    sizes = {JOINTS: robot.nv, VELOCITIES: robot.nv, LINKS: 2}
    for name, values in found.items():
        row = OUTPUTS.get(name.split('/')[0])
        if row is not None:
            wanted = tuple(sizes.get(label) or len(label) for label in row.labels)
            assert values.shape[1:] == wanted, name


def test_rows_are_complete():
    for name, row in OUTPUTS.items():
        assert name == row.name
        assert row.labels
        assert row.unit
        assert not row.node or NODES[row.node].hosted
        assert row.frame in ('', ROOT, LINK)
        assert row.frame != LINK or row.of_links
        assert not row.text.endswith('.')
        for page in re.findall(r'\]\((.*?)[#)]', row.text):
            assert (DOC / 'reference' / 'nodes' / page).is_file(), (name, page)
    with pytest.raises(ArgumentError, match="'singularity' is not computed by one formula"):
        OUTPUTS['singularity'].source(None, 'tip')
    with pytest.raises(ArgumentError, match="output 'twist' is of links: give one of the robot"):
        OUTPUTS['twist'].source(None)


def test_the_node_publishes_the_rows_of_dynamics():
    pytest.importorskip('rclpy')
    from screw_dynamics_ros.nodes.outputs.quantity_messages import TYPES, message_of

    of_dynamics = [row.name for row in OUTPUTS.values() if row.node == 'dynamics' and row.formula]
    assert of_dynamics[: len(TERMS)] == [*TERMS]
    for form, kind in TYPES.items():
        package = kind.__module__.partition('.')[0]
        assert FORMS[form][0] == f'{package}/{kind.__name__}'
    for row in OUTPUTS.values():
        if row.form in TYPES and LINKS not in row.labels:
            kind, template = message_of(row.name, ['a', 'b'], ['a', 'b'], 'tool')
            assert kind is TYPES[row.form]
            assert template.contents.labels == row.names(['a', 'b'], ['a', 'b'])


def test_formulas_of_rows(robot):
    """M a, energies, and the wrench at a contact, for options in their order."""
    rng = np.random.default_rng(0)
    q, v, a, tau = rng.normal(size=(4, 2))
    damping, length, threshold = 0.3, 0.7, 1e-9
    kernel = robot.fuse(
        inertial_torques('a'), ENERGY, *contact(('jacobian', 'tip', 'body'), 'tau'),
        parameters={'tau': 2, 'contact': 3},
    )  # fmt: skip
    given = {'q': q, 'v': v, 'a': a, 'tau': tau, 'gravity': robot.gravity}
    given['contact'] = np.array([damping, length, threshold])
    torques, energies, wrench, pivots = kernel(*(given[name] for name in kernel.inputs))
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(torques, M @ a)
    np.testing.assert_allclose(energies, [0.5 * v @ M @ v, robot.potential_energy(q)])
    D = np.diag([length] * 3 + [1.0] * 3)
    J = D @ robot.jacobian(q, 'tip', 'body')
    expected = D @ np.linalg.solve(J @ J.T + damping**2 * np.eye(6), J @ tau)
    np.testing.assert_allclose(wrench, expected, atol=1e-9)
    assert pivots.shape == (6,)
    assert not (pivots > 0.0).all()  # two joints


def test_messages_with_screws_have_the_linear_part_first():
    """Twists, wrenches, momenta and Jacobians; arguments are the labels, or a frame."""
    screws = {
        'momentum', 'base_wrench', 'jacobian', 'twist', 'wrench', 'constraint_wrench',
        'wrench_covariance', 'reduced_wrench', 'contact_wrench', 'contact_wrench_covariance',
    }  # fmt: skip
    assert {name for name, row in OUTPUTS.items() if row.is_screw} >= screws
    joints, velocities = ('a', 'b'), ('a', 'b', 'base')
    for name, expected in (
        ('gravity', (joints,)),
        ('mass_matrix', (velocities, velocities)),
        ('external_torque_covariance', (joints, joints)),
        ('residual_confidence', (('confidence', *joints),)),
        ('energy', (('kinetic', 'potential'),)),
        ('momentum', (('px', 'py', 'pz', 'lx', 'ly', 'lz'),)),
        ('jacobian', (('vx', 'vy', 'vz', 'wx', 'wy', 'wz'), velocities)),
        ('twist', ('tool',)),
        ('wrench', ('tool',)),
    ):
        assert OUTPUTS[name].arguments(joints, velocities, 'tool') == expected
    assert OUTPUTS['twist'].arguments(joints, velocities) == ('',)


def test_what_is_published_without_velocities():
    """Functions of positions, and of accelerations that are given."""
    of_positions = {row.name for row in OUTPUTS.values() if row.formula and not row.velocity}
    assert of_positions >= {'gravity', 'inertia', 'mass_matrix', 'jacobian', 'transforms'}
    assert not of_positions & {'coriolis', 'friction', 'payload', 'twist', 'energy', 'momentum'}


def values(robot: Robot, name: str, **state: np.ndarray) -> np.ndarray:
    """Return an output for q, v and gravity."""
    kernel = robot.fuse(OUTPUTS[name].source(robot))
    return kernel(*(state[each] for each in kernel.inputs))[0]


@pytest.fixture(scope='module')
def legged() -> Robot:
    return Robot.from_urdf(urdf_path('solo12').read_text(), floating_base=True, backend='reference')


def test_twist_of_the_center_of_mass(legged):
    """By Pinocchio for a moving base; the axes of the frame do not turn."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio, pin

    peer = Pinocchio(urdf_path('solo12').read_text(), legged)
    rng = np.random.default_rng(4)
    for _ in range(3):
        q, v = legged.random_configuration(rng), rng.normal(size=legged.nv)
        pin.centerOfMass(peer.model, peer.data, peer.q(q), peer.G(q) @ v)
        found = values(legged, 'center_of_mass_twist', q=q, v=v)
        np.testing.assert_allclose(found, [0, 0, 0, *peer.data.vcom[0]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('up', [[0.0, 0.0, 1.0], [0.3, -0.8, 0.5], [0.1, 0.2, -0.9]])
def test_tilt_of_the_base(legged, up):
    """By Euler angles of SciPy, for gravity of any direction and size in the frame of the poses."""
    rng = np.random.default_rng(5)
    up = np.array(up) / np.linalg.norm(up)
    level, _ = Rotation.align_vectors([[0.0, 0.0, 1.0]], [up])  # axes of poses to level ones
    q = legged.random_configuration(rng)
    link = level * Rotation.from_matrix(legged.link_pose(q, 'base_link')[:3, :3])
    _, pitch, roll = link.as_euler('ZYX')
    tilt = np.arccos(link.as_matrix()[2, 2])
    found = values(legged, 'base_tilt', q=q, gravity=-3.7 * up)
    np.testing.assert_allclose(found, [roll, pitch, tilt], rtol=1e-9, atol=1e-9)


def test_a_level_base_has_no_tilt(robot):
    found = values(robot, 'base_tilt', q=np.ones(2), gravity=np.array([0.0, 0.0, -9.81]))
    np.testing.assert_array_equal(found, np.zeros(3))


@pytest.mark.parametrize('backend', ['reference', 'python'])
def test_a_robot_without_mass(backend):
    """It has all default outputs except those of its center of mass; these are refused by name."""
    text = re.sub('<inertial>.*?</inertial>', '', urdf_path('planar_2r').read_text(), flags=re.S)
    robot = Robot.from_urdf(text, backend=backend)
    t, q = np.arange(3) * 1_000_000, np.full((3, 2), 0.3)
    found = annotate_arrays(robot, t, q, q, q)
    assert set(DEFAULT) - set(found) - {'twist', 'singularity', 'wrench'} == WITH_MASS
    assert all(np.isfinite(values).all() for values in found.values())
    assert {name for name, row in OUTPUTS.items() if row.of_mass} == WITH_MASS
    with pytest.raises(ArgumentError, match='momentum: the robot has no mass'):
        annotate_arrays(robot, t, q, q, q, outputs=['gravity', 'momentum'])


def test_a_division_by_zero_names_the_formula():
    text = re.sub('<inertial>.*?</inertial>', '', urdf_path('planar_2r').read_text(), flags=re.S)
    robot = Robot.from_urdf(text, backend='python')
    inverse = Formula('inverse mass', ('mass_matrix',), lambda M: 1.0 / M[0])
    for output, name in ((inverse, 'inverse mass'), ('center_of_mass', 'center_of_mass')):
        with pytest.raises(ArgumentError, match=f'{name!r} divides by 0; robot without mass'):
            robot.fuse(output)
