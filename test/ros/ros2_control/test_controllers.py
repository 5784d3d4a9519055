# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the controllers: what upstream validates, and what ROS 2 can read."""

from __future__ import annotations

import re

import pytest
import yaml

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.ros.parameter_files import read_parameter_file
from screw_dynamics_ros.ros.ros2_control import (
    TYPES,
    Controllers,
    SimulatedHardware,
    controllers_for,
    write_files,
)
from support.paths import ROOT

GAINS = {name: {'p': 10.0, 'i': 1e-7, 'd': 1.0} for name in 'abc'}

#: What joint_trajectory_controller accepts (validate_jtc_parameters.hpp, its manual).
COMBINATIONS = [['position'], ['velocity'], ['effort'], ['position', 'effort']]


def section(made: Controllers, name: str) -> dict:
    return made.parameters[name]['ros__parameters']


@pytest.mark.parametrize(
    ('interface', 'active', 'inactive'),
    [
        ('position', 'joint_trajectory_controller', 'position_controller'),
        ('velocity', 'joint_trajectory_controller', 'velocity_controller'),
        ('effort', 'effort_controller', 'joint_trajectory_controller'),
    ],
)
def test_controllers_of_one_interface(interface, active, inactive):
    made = controllers_for(dict.fromkeys('abc', interface), GAINS)
    assert made.active == ('joint_state_broadcaster', active)
    assert made.inactive == (inactive,)
    assert section(made, f'{interface}_controller') == {
        'type': 'forward_command_controller/ForwardCommandController',
        'joints': ['a', 'b', 'c'],
        'interface_name': interface,
    }
    trajectories = section(made, 'joint_trajectory_controller')
    assert trajectories['command_interfaces'] == [interface]
    assert trajectories['state_interfaces'] == ['position', 'velocity']
    assert ('gains' in trajectories) == (interface != 'position')


def test_the_controller_of_impedance_drives():
    """It claims both interfaces and needs no gains; no other one could claim one of them."""
    made = controllers_for(dict.fromkeys('abc', 'position+effort'), {})
    assert made.active == ('joint_state_broadcaster', 'joint_trajectory_controller')
    assert made.inactive == ()
    assert section(made, 'joint_trajectory_controller') == {
        'type': 'joint_trajectory_controller/JointTrajectoryController',
        'joints': ['a', 'b', 'c'],
        'command_interfaces': ['position', 'effort'],
        'state_interfaces': ['position', 'velocity'],
        'allow_partial_joints_goal': True,
    }
    made = controllers_for({'a': 'position+effort', 'b': 'position', 'c': 'effort'}, GAINS)
    assert made.active == (
        'joint_state_broadcaster',
        'position_trajectory_controller',
        'effort_controller',
        'position_effort_trajectory_controller',
    )
    path = section(made, 'position_effort_trajectory_controller')
    assert (path['joints'], path['command_interfaces']) == (['a'], ['position', 'effort'])
    assert path['command_interfaces'] in COMBINATIONS


def test_controllers_of_several_interfaces():
    """No two active controllers, nor two of one kind, have a joint in common."""
    chosen = {'a': 'effort', 'b': 'position', 'c': 'effort'}
    made = controllers_for(chosen, GAINS, update_rate=250)
    assert made.active == (
        'joint_state_broadcaster',
        'position_trajectory_controller',
        'effort_controller',
    )
    assert made.inactive == ('position_controller', 'effort_trajectory_controller')
    for name in (*made.active[1:], *made.inactive):
        own = section(made, name)
        (interface,) = own.get('command_interfaces', [own.get('interface_name')])
        assert own['joints'] == [joint for joint in chosen if chosen[joint] == interface]
        if 'command_interfaces' in own:
            assert own['command_interfaces'] in COMBINATIONS
    assert section(made, 'effort_trajectory_controller')['gains'] == {
        name: GAINS[name] for name in 'ac'
    }
    manager = section(made, 'controller_manager')
    assert manager['update_rate'] == 250
    for name in (*made.active, *made.inactive):
        assert manager[name]['type'] == section(made, name)['type']


@pytest.mark.parametrize('namespace', ['/left', 'left', '/left/'])
def test_full_names_in_a_namespace(namespace):
    """spawner finds a controller by its full name, or in the root namespace by its own."""
    made = controllers_for({'a': 'effort'}, GAINS, namespace=namespace, use_sim_time=True)
    assert set(made.parameters) == {
        f'/left/{name}' for name in ('controller_manager', *made.active, *made.inactive)
    }
    assert section(made, '/left/controller_manager')['use_sim_time'] is True
    for root in ('', '/'):
        names = controllers_for({'a': 'effort'}, GAINS, namespace=root).parameters
        assert not any(name.startswith('/') for name in names)


def test_the_file_can_be_read(tmp_path):
    """Also by the parser of ROS 2, which has no aliases: joints occur in several controllers."""
    made = controllers_for(dict.fromkeys('abc', 'effort'), GAINS, namespace='left')
    hardware = SimulatedHardware('<robot/>', {}, '/c', '/s')
    files = write_files(str(tmp_path / 'new' / 'folder'), hardware, made)
    assert not files.temporary
    assert files.description.read_text() == '<robot/>'
    text = files.controllers.read_text()
    assert yaml.safe_load(text) == made.parameters
    patterns = {each.pattern for each in read_parameter_file(files.controllers)}
    assert patterns == set(made.parameters)
    again = write_files(str(tmp_path / 'new' / 'folder'), hardware, made)
    assert again == files


def test_the_file_reaches_a_node(tmp_path):
    rclpy = pytest.importorskip('rclpy')
    made = controllers_for(dict.fromkeys('abc', 'effort'), GAINS, namespace='left')
    files = write_files(str(tmp_path), SimulatedHardware('', {}, '', ''), made)
    context = rclpy.Context()
    context.init(args=['--ros-args', '--params-file', str(files.controllers)])
    try:
        node = rclpy.create_node(
            'joint_trajectory_controller',
            namespace='left',
            context=context,
            automatically_declare_parameters_from_overrides=True,
        )
        assert node.get_parameter('joints').value == ['a', 'b', 'c']
        assert node.get_parameter('gains.b.i').value == 1e-7
        node.destroy_node()
    finally:
        context.shutdown()


def test_temporary_files():
    files = write_files(
        '', SimulatedHardware('', {}, '', ''), controllers_for({'a': 'effort'}, GAINS)
    )
    assert files.temporary
    assert files.controllers.parent.name.startswith('screw_dynamics_ros_')
    for path in (files.controllers, files.description):
        path.unlink()
    files.controllers.parent.rmdir()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / 'file').touch()
    made = controllers_for({'a': 'effort'}, GAINS)
    with pytest.raises(ArgumentError, match=r'cannot write .*file'):
        write_files(str(tmp_path / 'file' / 'folder'), SimulatedHardware('', {}, '', ''), made)


@pytest.mark.parametrize(
    ('interfaces', 'reason'),
    [
        ({}, 'command interfaces must be of'),
        ({'a': 'torque'}, 'command interfaces must be of'),
        ({'a': 'effort', 'z': 'effort'}, 'no gains are given for the joints z'),
    ],
)
def test_refusals(interfaces, reason):
    with pytest.raises(ArgumentError, match=reason):
        controllers_for(interfaces, GAINS)


def test_parameters_of_trajectory_controllers():
    """Velocities follow the reference and correct errors within 0.2 s; goals may have a part."""
    made = controllers_for({'a': 'velocity', 'b': 'position'}, {})
    path = section(made, 'velocity_trajectory_controller')
    assert path == {
        'type': 'joint_trajectory_controller/JointTrajectoryController',
        'joints': ['a'],
        'command_interfaces': ['velocity'],
        'state_interfaces': ['position', 'velocity'],
        'allow_partial_joints_goal': True,
        'gains': {'a': {'p': 5.0, 'ff_velocity_scale': 1.0}},
    }
    manager = section(made, 'controller_manager')
    assert (manager['update_rate'], manager['use_sim_time']) == (500, False)
    assert manager['joint_state_broadcaster'] == {
        'type': 'joint_state_broadcaster/JointStateBroadcaster'
    }
    effort = controllers_for({'a': 'effort'}, {'a': {'p': 1, 'd': 2}})
    gains = section(effort, 'joint_trajectory_controller')['gains']['a']
    assert gains == {'p': 1.0, 'd': 2.0}
    assert {type(x) for x in gains.values()} == {float}


def test_pages_name_controllers_that_every_distribution_has():
    """Others were removed: effort_controllers, position_controllers and velocity_controllers."""
    files = (
        ROOT / 'README.md',
        *(
            path
            for folder in ('doc', 'config', 'examples', 'launch')
            for path in (ROOT / folder).rglob('*')
            if path.suffix in ('.md', '.yaml', '.py')
        ),
    )
    named = {
        found: path.name
        for path in files
        for found in re.findall(
            r'\b\w+_(?:controllers?|broadcaster)/[A-Z]\w+', path.read_text(encoding='utf-8')
        )
    }
    assert 'gravity_compensation.md' in named.values()
    forwarding = 'forward_command_controller/MultiInterfaceForwardCommandController'
    assert set(named) <= {*TYPES.values(), forwarding}, named
