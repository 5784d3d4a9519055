# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The quantities of nodes and recordings: one row each, the same formula for both."""

import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.measurement.annotation import OUTPUTS
from screw_dynamics_ros.core.measurement.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.measurement.quantities import JOINTS, QUANTITIES, VELOCITIES
from support.robots import urdf_path

#: Of `annotate`, without a topic like those of the table.
APART = {'acceleration', 'transforms'}


def test_every_output_of_recordings_is_a_row():
    assert set(OUTPUTS) - APART == set(QUANTITIES) - {'external_torque_covariance'}


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
    assert of_dynamics == [*TERMS, 'mass_matrix', 'energy', 'momentum']
    for name in QUANTITIES:
        assert message_of(name, ['a', 'b'], ['a', 'b'], 'tool')[1].array(0).size
