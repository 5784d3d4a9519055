# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters: the files in config/ name each one, at run time each is checked (through DDS)."""

import re

import pytest
import yaml
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from std_srvs.srv import SetBool

from support.paths import CONFIG
from support.robots import urdf_path
from support.ros_harness import OK

MODEL, SIMULATOR = CONFIG / 'model.yaml', CONFIG / 'simulator.yaml'
MECHANISM = CONFIG / 'mechanism_simulator.yaml'
ODOMETRY = CONFIG / 'odometry.yaml'
PARALLEL = CONFIG / 'parallel_robot.yaml'
#: Parameters that rclpy declares by itself.
FOREIGN = re.compile(r'use_sim_time|start_type_description_service|qos_overrides\..*')

#: Other tests of nodes set others.
PERIOD = {'diagnostic_updater.period': 1.0}
DEFAULT = {'max_delay': 0.02, **PERIOD}
#: The parameters that a platform needs.
WHEELS = {
    'wheel_radius': 0.1,
    'wheel_separation': 0.5,
    'left_wheel_names': ['left'],
    'right_wheel_names': ['right'],
}
PLANAR = {'urdf': str(urdf_path('planar_2r')), **PERIOD}
GIVEN = {
    'bringup': DEFAULT,
    'trajectory_proxy': DEFAULT,
    'odometry': {**PERIOD, **WHEELS},
    'simulator': PLANAR,
}


def section(path, *names):
    """Return the parameters a file has for a node, those for all nodes included."""
    sections = yaml.safe_load(path.read_text())
    merged = {}
    for name in names:
        merged.update(sections.get(name, {}).get('ros__parameters', {}))
    return merged


def until_there_is_a_robot(client):
    name = 'config/bringup: robot description'
    client.wait(lambda: client.diagnostics.get(name, (0, '', {}))[2].get('robot'), what='a robot')


def declared(client, node):
    """Return the parameters of a node and their values, but for those of rclpy."""
    return {
        name: value
        for name, value in client.parameters(node).items()
        if not FOREIGN.fullmatch(name)
    }


@pytest.fixture(scope='module')
def declarations(client):
    """Return values and descriptors of all parameters, by node."""
    found = {node: declared(client, node) for node, _, _ in CASES}
    return {node: (values, client.descriptors(node, values)) for node, values in found.items()}


def plain(value):
    """Return lists as lists; the empty list of a file is not set for ROS."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value or [] if value is None else value
    return list(value)


def value_of(client, node, name):
    request = GetParameters.Request(names=[name])
    return client.call(GetParameters, f'{node}/get_parameters', request).values[0]


def pause(client, node, wanted):
    """Let a simulator stand still, which changes none of its parameters, or go on."""
    assert client.call(SetBool, f'{node}/pause', SetBool.Request(data=wanted)).success


@pytest.fixture(scope='module')
def client(start, connect):
    """Return a client of all nodes; the simulators pause, to leave the machine to the tests.

    The others have the robot of one of them.
    """
    simulators = ('simulator', 'mechanism_simulator')
    for name in ('bringup', *simulators, 'odometry', 'parallel_robot', 'trajectory_proxy'):
        others = ['-r', 'robot_description:=another'] if name == 'mechanism_simulator' else []
        start(name, GIVEN.get(name, PERIOD), ['-r', '__ns:=/config', *others])
    for name in ('dynamics', 'wrist_sensor'):
        start(name, DEFAULT, ['-r', '__ns:=/config/alone'])
    client = connect('config')
    for name in simulators:
        pause(client, name, True)
    return client


@pytest.fixture
def client_of_moving_robot(client):
    """Return the client while joint states come."""
    pause(client, 'simulator', False)
    yield client
    pause(client, 'simulator', True)


CASES = [
    ('bringup', MODEL, ('/**', '/**/bringup')),
    ('kinematics', MODEL, ('/**/kinematics',)),
    ('dynamics', MODEL, ('/**/dynamics',)),
    ('wrench_estimator', MODEL, ('/**/wrench_estimator',)),
    ('alone/dynamics', MODEL, ('/**', '/**/dynamics')),
    ('trajectory_proxy', MODEL, ('/**', '/**/trajectory_proxy')),
    ('alone/wrist_sensor', MODEL, ('/**', '/**/wrist_sensor')),
    ('simulator', SIMULATOR, ('/**/simulator',)),
    ('mechanism_simulator', MECHANISM, ('/**/mechanism_simulator',)),
    ('odometry', ODOMETRY, ('/**/odometry',)),
    ('parallel_robot', PARALLEL, ('/**/parallel_robot',)),
]


@pytest.mark.parametrize(('node', 'path', 'sections'), CASES)
def test_file_has_every_parameter_with_its_default(declarations, node, path, sections):
    expected = section(path, *sections)
    found, _ = declarations[node]
    assert set(found) == set(expected)
    assert {name: plain(value) for name, value in found.items()} == {
        name: plain(value) for name, value in {**expected, **GIVEN.get(node, {})}.items()
    }


@pytest.mark.parametrize(('node', 'path', 'sections'), CASES)
def test_file_describes_every_parameter_and_whether_it_changes(declarations, node, path, sections):
    text = path.read_text()
    for descriptor in declarations[node][1]:
        assert len(descriptor.description) > 10, descriptor.name
        comment = re.search(rf'((?: +#[^\n]*\n)+) +{descriptor.name}:', text)
        assert comment, f'{descriptor.name} has no comment in {path.name}'
        can_change = comment.group(1).rstrip().endswith('hanges.')
        assert can_change == (not descriptor.read_only), descriptor.name


@pytest.mark.parametrize('node', [node for node, _, _ in CASES])
def test_every_parameter_has_one_type_and_says_what_it_may_be(declarations, node):
    """Ranges where ROS has them, words otherwise; yes or no needs neither."""
    for descriptor in declarations[node][1]:
        name, kind = descriptor.name, descriptor.type
        assert not descriptor.dynamic_typing, name
        assert kind != ParameterType.PARAMETER_NOT_SET, name
        if kind == ParameterType.PARAMETER_INTEGER:
            assert descriptor.integer_range, name
        elif kind == ParameterType.PARAMETER_DOUBLE:
            assert descriptor.floating_point_range or 'finite' in descriptor.additional_constraints
        elif kind != ParameterType.PARAMETER_BOOL:
            assert descriptor.additional_constraints, name


def test_files_are_accepted_by_the_nodes(start, connect):
    """Both files, as they are, and for nodes in any namespace."""
    start(
        'simulator',
        PLANAR,
        ['--params-file', str(SIMULATOR), '-r', '__ns:=/a/b'],
    )
    changed = start('bringup', arguments=['--params-file', str(MODEL), '-r', '__ns:=/a/b'])
    client = connect('a/b')
    states = 'a/b/bringup: joint states'
    client.wait(
        lambda: int(client.diagnostics.get(states, (0, '', {}))[2].get('states', 0)),
        what='joint states',
    )
    assert changed.process.poll() is None
    assert declared(client, 'bringup').keys() == section(MODEL, '/**', '/**/bringup').keys()


@pytest.mark.parametrize(
    ('node', 'name', 'value', 'reason'),
    [
        ('bringup', 'gravity', [0.0, 0.0], '3 elements'),
        ('bringup', 'gravity', [0.0, 0.0, float('nan')], 'finite'),
        ('bringup', 'gravity', 'down', 'DOUBLE_ARRAY'),
        ('bringup', 'state_timeout', -0.1, 'state_timeout'),
        ('bringup', 'velocity_policy', 'guess', 'reject, differentiate, zero, hold'),
        ('bringup', 'effort_scale', [1.0], '1 elements for 0 effort_joints'),
        ('bringup', 'effort_joints', ['knee'], "'knee'"),
        ('bringup', 'backend', 'python', 'read-only'),
        ('bringup', 'robot_description', '<robot/>', 'link'),
        ('kinematics', 'frames', ['nose'], "'nose'"),
        ('kinematics', 'publish_tf', 'yes', 'BOOL'),
        ('dynamics', 'constraints', ['nose: x'], "'nose'"),
        ('wrench_estimator', 'tare_samples', 1.5, 'INTEGER'),
        ('odometry', 'wheel_radius', 0.2, 'read-only'),
        ('simulator', 'real_time_factor', 0.01, 'must be 0, for as fast as possible'),
        ('simulator', 'faults.frozen_joints', ['knee'], "'knee'"),
    ],
)
def test_impossible_values_are_refused_with_a_reason(client, node, name, value, reason):
    until_there_is_a_robot(client)
    before = value_of(client, node, name)
    result = client.set_parameter(node, name, value)
    assert not result.successful
    number = getattr(ParameterType, f'PARAMETER_{reason}', None)  # said by rclpy of Kilted
    assert reason in result.reason or f"expected '{number}'" in result.reason
    assert value_of(client, node, name) == before


@pytest.mark.skipif(
    not hasattr(Node, 'add_pre_set_parameters_callback'), reason='rclpy of humble compares types'
)
def test_whole_numbers_are_numbers(client):
    assert client.set_parameter('bringup', 'gravity', [0, 0, -9]).successful
    assert client.set_parameter('bringup', 'gravity', [0.0, 0.0, -9.81]).successful
    assert client.set_parameter('dynamics', 'effort_limits', []).successful
    assert client.set_parameter('bringup', 'state_timeout', 1).successful
    assert client.set_parameter('bringup', 'state_timeout', 0.5).successful


def test_rviz_shows_topics_that_exist():
    text = (CONFIG.parent / 'rviz' / 'model.rviz').read_text()
    displays = yaml.safe_load(text)['Visualization Manager']['Displays']
    topics = [
        (
            display['Class'].split('/')[1],
            display.get('Topic', display.get('Description Topic'))['Value'],
        )
        for display in displays
        if 'Topic' in str(display.keys())
    ]
    assert topics == [
        ('RobotModel', 'robot_description'),
        ('Effort', 'joint_states'),
        ('MarkerArray', 'kinematics/markers'),
        ('MarkerArray', 'wrench_estimator/markers'),
    ]


#: Of types and sizes that some parameter has, and of none.
ANYTHING = [
    True,
    5,
    -3,
    1.5,
    float('nan'),
    float('inf'),
    1e308,
    '',
    'x',
    '\x00\n' * 100,
    [True],
    [5],
    [1.5],
    [1e308] * 3,
    [float('nan')] * 6,
    ['x'],
    ['x'] * 4,
    [''],
]


@pytest.mark.parametrize(
    'node', ['bringup', 'kinematics', 'dynamics', 'wrench_estimator', 'simulator']
)
def test_one_parameter_does_not_end_the_process(client_of_moving_robot, node):
    """Any of them, with anything: refused by name or taken, and the nodes go on."""
    client = client_of_moving_robot
    client.expect('config/bringup: robot description', 0)
    for name, before in declared(client, node).items():
        results = client.set_parameters(node, [(name, value) for value in ANYTHING])
        for value, result in zip(ANYTHING, results, strict=True):
            assert result.successful or result.reason, (name, value)
        restored = client.set_parameter(node, name, plain(before))
        assert restored.successful or 'read-only' in restored.reason or before == '', (name, before)
    name = 'config/bringup: faults'
    client.diagnostics.pop(name, None)
    assert client.wait(lambda: client.diagnostics.get(name), what=name) == (OK, 'ok', {})
    assert declared(client, 'bringup')


@pytest.mark.parametrize(
    ('name', 'value'),
    [('gravity', '1.5'), ('enabled', '3')],
)
def test_one_parameter_of_a_wrong_type_at_start_is_told_in_one_line(start, name, value):
    node = start('bringup', {name: value}, ['-r', '__ns:=/wrong'])
    assert node.wait() == 1
    assert 'Traceback' not in node.output
    (line,) = [line for line in node.output.splitlines() if 'FATAL' in line]
    assert name in line
