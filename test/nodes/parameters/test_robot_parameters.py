# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drives and efforts of a parameter file, read without ROS, are those that nodes have."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.core import ArgumentError, Drive, Robot, UnknownNameError
from screw_dynamics_ros.nodes.parameters.robot_parameters import RobotParameters, robot_parameters
from support.robots import urdf_path

PLANAR = urdf_path('planar_2r')
PARAMETERS = {
    'drive_joints': ['joint2', 'joint1'],
    'drives': {
        'joint1': {'rotor_inertia': 1e-4, 'gear_ratio': 100.0, 'damping': 0.5, 'coulomb': 1.0},
        'joint2': {'armature': 0.1, 'coulomb': 0.4, 'breakaway': 0.6, 'stribeck_speed': 0.2,
                   'rotor_axis': [0.0, 0.0, 1.0], 'carrier': 'link1', 'rotor_inertia': 1e-5},
    },
    'effort_joints': ['joint2'],
    'effort_scale': [-2.0],
    'effort_offset': [0.25],
}  # fmt: skip


@pytest.fixture(scope='module')
def description():
    return Robot.from_urdf(PLANAR).description


def written(folder, parameters=PARAMETERS, section='/**', **more):
    content = {section: {'ros__parameters': parameters}}
    content |= {key: {'ros__parameters': values} for key, values in more.items()}
    path = folder / 'drives.yaml'
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize('section', ['/**', '/left/bringup'])
def test_drives_and_efforts(tmp_path, description, section):
    found = robot_parameters(written(tmp_path, section=section))
    assert found.drives(description) == {
        'joint1': Drive(rotor_inertia=1e-4, gear_ratio=100.0, damping=0.5, coulomb=1.0),
        'joint2': Drive(
            rotor_inertia=1e-5, armature=0.1, coulomb=0.4, breakaway=0.6, stribeck_speed=0.2,
            rotor_axis=(0.0, 0.0, 1.0), carrier='link1',
        ),
    }  # fmt: skip
    scale, offset = found.calibration(('joint1', 'joint2'))
    np.testing.assert_array_equal(scale, [1.0, -2.0])
    np.testing.assert_array_equal(offset, [0.0, 0.25])


def test_half_widths_of_intervals(tmp_path):
    """Of a section that no node reads; names of joints may contain points."""
    halves = {'joint1': {'scale': 0.25, 'offset': 2}, 'a.b': {'friction': 0.5}}
    found = robot_parameters(written(tmp_path, **{'/**/identify': {'half_widths': halves}}))
    expected = [[0.25, np.nan], [np.nan, 0.5], [np.nan, np.nan]]
    given = found.half_widths(('joint1', 'a.b', 'joint3'), ('scale', 'friction'))
    np.testing.assert_array_equal(given, expected)
    assert found.half_widths(('joint3',), ('scale',)) is None
    assert RobotParameters().half_widths(('joint1',), ('scale',)) is None
    for wrong in (-0.5, 'wide', float('nan'), float('inf')):
        given = RobotParameters('drives.yaml', {'half_widths.joint1.scale': wrong})
        with pytest.raises(ArgumentError, match=r'drives.yaml: half_widths.joint1.scale must be'):
            given.half_widths(('joint1',), ('scale',))


def test_they_are_those_of_a_node(tmp_path, description, ros_domain):
    rclpy = pytest.importorskip('rclpy')
    from screw_dynamics_ros.nodes.parameters.drive_parameters import DriveParameters

    path = written(tmp_path)
    rclpy.init(args=['--ros-args', '--params-file', str(path)], domain_id=ros_domain)
    try:
        node = rclpy.create_node('a_node')
        drives = DriveParameters(node, PARAMETERS['drive_joints']).on(description)
        node.destroy_node()
    finally:
        rclpy.shutdown()
    assert robot_parameters(path).drives(description) == drives


def test_joints_that_are_left_out(tmp_path, description):
    found = robot_parameters(written(tmp_path), ['joint2'])
    assert found.drives(description)['joint2'] == Drive()
    assert found.drives(description)['joint1'].damping == 0.5
    scale, offset = found.calibration(('joint1',))
    assert scale is None
    assert offset is None


def test_without_a_file_and_a_preset(description):
    assert robot_parameters(None).drives(description) == Robot(description).drives
    assert 'use_currents' in robot_parameters(Path('ur')).values['effort_condition']


@pytest.mark.parametrize(
    ('parameters', 'match'),
    [
        ({'drives': {'joint1': {'armature': 1.0}}}, "'joint1' is not in drive_joints"),
        ({'drive_joints': ['joint1'], 'drives': {'joint1': {'mass': 1.0}}}, "no 'mass', but rotor"),
        ({'drive_joints': ['joint1'], 'drives': {'joint1': {'damping': -1.0}}}, 'joint1: damping'),
        ({'drive_joints': ['joint9']}, 'joint9'),
        ({'effort_joints': ['joint9'], 'effort_scale': [1.0]}, 'joint9'),
        ({'effort_joints': ['joint1'], 'effort_scale': [1.0, 2.0]}, '2 elements for 1'),
    ],
)
def test_files_that_do_not_fit(tmp_path, description, parameters, match):
    found = robot_parameters(written(tmp_path, parameters))

    def use():
        found.drives(description)
        found.calibration(('joint1', 'joint2'))

    with pytest.raises((ArgumentError, UnknownNameError), match=match):
        use()


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ArgumentError, match=r'--drives: .*has another damping than'):
        robot_parameters(written(tmp_path, {'damping': 1.0}, **{'/x': {'damping': 2.0}}))
    with pytest.raises(ArgumentError, match='--drives: '):
        robot_parameters(tmp_path / 'none.yaml')


def test_a_payload_with_too_few_moments_is_refused():
    values = {'payload_link': 'tip', 'payload_mass': 1.0, 'payload_inertia': [1.0, 1.0]}
    with pytest.raises(ArgumentError, match=r'moments must have shape \(6,\), got \(2,\)'):
        RobotParameters(values=values).payloads  # noqa: B018


def test_a_payload_needs_a_link_and_a_mass_only():
    ((link, body),) = RobotParameters(
        values={'payload_link': 'tip', 'payload_mass': 1.5}
    ).payloads.items()
    assert (link, body.mass) == ('tip', 1.5)
    np.testing.assert_array_equal(body.com, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(body.matrix, np.zeros((3, 3)))
    for nothing in ({'payload_link': 'tip'}, {'payload_mass': 1.5}, {}):
        assert RobotParameters(values=nothing).payloads == {}
    given = {'payload_center_of_mass': [0.1, 0.2, 0.3], 'payload_inertia': [3, 0.1, 0.2, 4, 0.3, 5]}
    (body,) = RobotParameters(
        values={'payload_link': 'tip', 'payload_mass': 1.5, **given}
    ).payloads.values()
    np.testing.assert_array_equal(body.com, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(body.matrix, [[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]])
