# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The quantities of nodes and recordings: one row each, the same formula for both."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.measurement.annotation import OUTPUTS
from screw_dynamics_ros.core.measurement.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.measurement.quantities import (
    ENERGY,
    JOINTS,
    QUANTITIES,
    VELOCITIES,
    contact,
    inertial_torques,
)
from support.robots import urdf_path

#: Not in recordings: of floating bases, and covariances.
LIVE = {'base_wrench', 'external_torque_covariance'}
#: Of `annotate`, without a topic like those of the table.
APART = {'acceleration', 'transforms'}


def test_every_output_of_recordings_is_a_row():
    assert set(OUTPUTS) - APART == set(QUANTITIES) - LIVE


def test_outputs_have_the_shapes_of_their_messages():
    robot = Robot.from_urdf(urdf_path('planar_2r').read_text(), backend='reference')
    rows = [row for row in QUANTITIES.values() if row.output not in (None, 'payload_torques')]
    kernel = robot.fuse(*(row.output for row in rows))
    sizes = {JOINTS: robot.nv, VELOCITIES: robot.nv}
    for row, shape in zip(rows, kernel.shapes):
        assert shape == tuple(sizes.get(label) or len(label) for label in row.labels), row.name


def test_the_node_publishes_the_rows_of_dynamics():
    pytest.importorskip('rclpy')
    from screw_dynamics_ros.nodes.outputs.quantity_messages import message_of

    of_dynamics = [name for name, row in QUANTITIES.items() if row.node == 'dynamics']
    assert of_dynamics == [
        *TERMS, 'mass_matrix', 'energy', 'momentum', 'center_of_mass', 'base_wrench',
    ]  # fmt: skip
    for name in QUANTITIES:
        assert message_of(name, ['a', 'b'], ['a', 'b'], 'tool')[1].array(0).size


def test_formulas_of_rows():
    """M a, energies, and the wrench at a contact, for options in their order."""
    robot = Robot.from_urdf(urdf_path('planar_2r').read_text(), backend='reference')
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
    screws = {'momentum', 'base_wrench', 'jacobian', 'twist', 'wrench'}
    assert {name for name, row in QUANTITIES.items() if row.is_screw} == screws
    joints, velocities = ('a', 'b'), ('a', 'b', 'base')
    for name, expected in (
        ('gravity', (joints,)),
        ('mass_matrix', (velocities, velocities)),
        ('external_torque_covariance', (joints, joints)),
        ('energy', (('kinetic', 'potential'),)),
        ('momentum', (('px', 'py', 'pz', 'lx', 'ly', 'lz'),)),
        ('jacobian', (('vx', 'vy', 'vz', 'wx', 'wy', 'wz'), velocities)),
        ('twist', ('tool',)),
        ('wrench', ('tool',)),
    ):
        assert QUANTITIES[name].arguments(joints, velocities, 'tool') == expected
    assert QUANTITIES['twist'].arguments(joints, velocities) == ('',)


def test_what_is_published_without_velocities():
    """Functions of positions, and of accelerations that are given."""
    of_positions = {name for name, row in QUANTITIES.items() if row.of_positions}
    assert of_positions == {'gravity', 'inertia', 'mass_matrix', 'jacobian', 'singularity'}
    messages = {name: row.message for name, row in QUANTITIES.items()}
    efforts = {name for name, message in messages.items() if message == 'joint_efforts'}
    assert efforts == {'gravity', 'coriolis', 'friction', 'inertia', 'payload', 'external_torque'}
    assert {messages['twist'], messages['wrench'], messages['energy']} == {
        'twist', 'wrench', 'matrix',
    }  # fmt: skip
    nodes = {name: row.node for name, row in QUANTITIES.items()}
    assert {name for name, node in nodes.items() if node == 'kinematics'} == {
        'jacobian', 'twist', 'singularity',
    }  # fmt: skip
