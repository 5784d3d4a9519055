# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives as parameters of a node: defaults of the description, changes, and what is refused."""

import re
from contextlib import contextmanager

import pytest
import rclpy
from rclpy.parameter import Parameter

from screw_dynamics_ros.core import ArgumentError, Drive, Robot, UnknownNameError
from screw_dynamics_ros.nodes.parameters.drive_parameters import TABLE, DriveParameters
from support.robots import urdf_path

#: The first joint has friction in the description.
URDF = re.sub(
    '(<axis [^>]*/>)',
    r'\1<dynamics damping="0.3" friction="0.8"/>',
    urdf_path('planar_2r').read_text(),
    count=1,
)


@pytest.fixture(scope='module')
def description():
    return Robot.from_urdf(URDF, backend='reference').description


@pytest.fixture(scope='module')
def context(ros_domain):
    made = rclpy.Context()
    rclpy.init(context=made, domain_id=ros_domain)
    yield made
    rclpy.shutdown(context=made)


@pytest.fixture
def node_of(context):
    @contextmanager
    def node(**overrides):
        made = rclpy.create_node(
            'driven',
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter(f'drives.{k}', value=v) for k, v in overrides.items()],
        )
        try:
            yield made
        finally:
            made.destroy_node()

    return node


def change(node, **values):
    parameters = [Parameter(f'drives.{name}', value=value) for name, value in values.items()]
    return node.set_parameters_atomically(parameters)


def test_friction_is_that_of_the_description_unless_it_is_given(node_of, description):
    with node_of(**{'joint1.armature': 0.1, 'joint2.damping': 0.7}) as node:
        drives = DriveParameters(node, ['joint1', 'joint2', 'joint1'])
        assert drives.on(description) == {
            'joint1': Drive(armature=0.1, damping=0.3, coulomb=0.8),
            'joint2': Drive(damping=0.7),
        }
        changed = drives.on(description, {'drives.joint1.coulomb': 2.0})
        assert changed['joint1'] == Drive(armature=0.1, damping=0.3, coulomb=2.0)
        assert drives.values['drives.joint2.damping'] == 0.7
        assert drives.values['drives.joint1.stribeck_speed'] == 0.1


def test_changes_are_checked_for_the_robot_and_then_applied(node_of, description):
    proposed, applied = [], []

    def check(on):
        proposed.append(on(description)['joint1'].damping)
        if proposed[-1] > 5.0:
            raise ArgumentError('too much')

    with node_of() as node:
        drives = DriveParameters(node, ['joint1'], check, lambda: applied.append(True))
        assert proposed == [0.3]
        assert change(node, **{'joint1.damping': 2.0}).successful
        assert (proposed[-1], len(applied)) == (2.0, 1)
        assert drives.on(description)['joint1'].damping == 2.0
        refused = change(node, **{'joint1.damping': 6.0})
        assert (refused.successful, refused.reason) == (False, 'too much')
        refused = change(node, **{'joint1.gear_ratio': 0.0})
        assert not refused.successful
        assert 'joint1: gear_ratio is 0' in refused.reason
        assert len(applied) == 1
        assert drives.on(description)['joint1'].damping == 2.0


def test_they_may_be_for_the_start_only(node_of):
    with node_of() as node:
        DriveParameters(node, ['joint1'], read_only=True)
        assert not change(node, **{'joint1.damping': 2.0}).successful
        assert node.describe_parameter('drives.joint1.damping').read_only
    with node_of() as node:
        DriveParameters(node, ['joint1'])
        assert not node.describe_parameter('drives.joint1.damping').read_only


#: The smallest values, and what descriptors say of others.
SMALLEST = {
    **dict.fromkeys(
        ('rotor_inertia', 'armature', 'damping', 'coulomb', 'breakaway', 'motor_damping',
         'motor_coulomb', 'load_friction', 'bristle_stiffness',
         'bristle_damping', 'spring_stiffness', 'torque_constant', 'cogging',
         'cogging_order', 'stall_torque', 'no_load_speed',
         'peak_torque'),
        0.0,
    ),
    'stribeck_speed': 1e-9,
    'smoothing': 1e-9,
}  # fmt: skip
RULES = {
    'gear_ratio': 'finite; not 0',
    'load_friction': 'less than 1',
    'carrier': 'a link of the robot, or empty',
    'coupled_joints': 'joints of the robot',
    'coupling_ratios': 'each finite; one for each of coupled_joints, not 0',
    'rotor_axis': 'each finite; 3 elements',
    'counterbalance_on_parent': 'each finite; 3 elements',
    'counterbalance_on_child': 'each finite; 3 elements',
    'counterbalance_preload': 'finite',
    'spring_position': 'finite',
}


def test_ranges(node_of):
    with node_of() as node:
        DriveParameters(node, ['joint1'])
        for name, smallest in SMALLEST.items():
            assert change(node, **{f'joint1.{name}': smallest}).successful
            assert not change(node, **{f'joint1.{name}': smallest - 1e-10}).successful
            (bounds,) = node.describe_parameter(f'drives.joint1.{name}').floating_point_range
            assert bounds.from_value == smallest
            assert bounds.to_value > 1e300
        for name, rule in RULES.items():
            descriptor = node.describe_parameter(f'drives.joint1.{name}')
            assert descriptor.additional_constraints == rule
        assert 'must have 3 elements' in change(node, **{'joint1.rotor_axis': [1.0, 0.0]}).reason


@pytest.mark.parametrize(
    ('overrides', 'joints', 'reason'),
    [
        ({'joint1.mass': 1.0}, ['joint1'], "drives.joint1.mass: a drive has no 'mass'; it has rot"),
        (
            {'joint2.damping': 1.0},
            ['joint1', 'joint3'],
            "drives.joint2.damping: 'joint2' is not in drive_joints (joint1, joint3); add it there",
        ),
        ({'joint2.damping': 1.0}, [], "'joint2' is not in drive_joints (empty)"),
        ({'joint1.gear_ratio': 0.0}, ['joint1'], 'gear_ratio is 0'),
        ({'joint1.damping': -1.0}, ['joint1'], 'drives.joint1.damping'),
    ],
)
def test_values_that_are_refused_at_the_start(node_of, overrides, joints, reason):
    with node_of(**overrides) as node, pytest.raises(ArgumentError, match=re.escape(reason)):
        DriveParameters(node, joints)


def test_joints_of_another_robot(node_of, description):
    with node_of() as node, pytest.raises(UnknownNameError, match='nose'):
        DriveParameters(node, ['nose']).on(description)


def test_each_field_has_the_text_of_its_docstring():
    found = {each.name: each.description for each in TABLE}
    assert all(found.values())
    assert found['damping'] == 'Viscous friction [N m s/rad, N s/m]. 0: from the description.'
    assert found['breakaway'].endswith('at least coulomb, which is the default. 0: the default.')
    assert found['coulomb_asymmetry'] == found['damping_asymmetry']
