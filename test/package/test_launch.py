# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The launch files with ROS 2's own launch, where that is installed."""

import logging
import re
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

pytest.importorskip('launch')
pytest.importorskip('launch_ros')

from ament_index_python import packages
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.events import Shutdown
from launch.launch_description_sources import get_launch_description_from_python_launch_file
from launch.substitutions import LocalSubstitution
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters

from launch import LaunchContext
from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description.ros2_control import read_ros2_control
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.ros import launch_arguments, launch_files
from screw_dynamics_ros.ros.parameter_files import read_parameter_file
from support.paths import CONFIG, LAUNCH
from support.xacro_files import needs_xacro, write_xacro

# launch makes all loggers that are created from now on its own, which pytest does not hear.
logging.setLoggerClass(logging.Logger)

BRINGUP, SIMULATION = 'bringup.launch.py', 'simulation.launch.py'
MECHANISM, ODOMETRY = 'mechanism.launch.py', 'odometry.launch.py'
PARALLEL = 'parallel_robot.launch.py'
PROXY = 'trajectory_proxy.launch.py'
VISUALIZERS = {
    'rviz': 'rviz2',
    'plotjuggler': 'plotjuggler',
    'foxglove': 'foxglove_bridge',
}  # arguments and programs
ALL = [BRINGUP, SIMULATION, MECHANISM, ODOMETRY, PARALLEL, PROXY]


def visit(name, command=(), included=False, **arguments):
    """Return the actions that a launch file makes of arguments, with those of included files."""
    description = get_launch_description_from_python_launch_file(str(LAUNCH / name))
    context = LaunchContext(argv=list(command))
    context.launch_configurations.update(arguments)

    def made(entity):
        actions = entity.visit(context) or ()
        return [each for action in actions for each in expanded(action)]

    def expanded(action):
        follows = included and not isinstance(action, Node | RegisterEventHandler)
        return made(action) if follows else [action]

    return [action for entity in description.entities for action in made(entity)]


@pytest.mark.parametrize('name', ALL)
def test_every_argument_is_described_and_has_a_default(name):
    description = get_launch_description_from_python_launch_file(str(LAUNCH / name))
    arguments = [e for e in description.entities if isinstance(e, DeclareLaunchArgument)]
    assert arguments
    for argument in arguments:
        assert argument.description
        assert argument.default_value is not None


def test_closures_of_loops_change_the_simulator_and_reach_the_model():
    """simulation.launch.py with loop_closures: mechanism_simulator beside bringup."""
    loops = LAUNCH.parent / 'urdf' / 'loops'
    arguments = {
        'model': str(loops / 'excavator.urdf'),
        'loop_closures': str(loops / 'excavator_closures.yaml'),
    }
    simulator, included = visit(SIMULATION, **arguments)
    assert simulator.node_executable == 'mechanism_simulator'
    assert dict(included.launch_arguments)['loop_closures'] == arguments['loop_closures']
    (node,) = visit(BRINGUP, loop_closures=arguments['loop_closures'])
    assert node.node_executable == 'bringup'
    with pytest.raises(ArgumentError, match='cannot be the hardware of ros2_control'):
        visit(SIMULATION, ros2_control='true', **arguments)


def parameters_of(node):
    """Return the parameters that a launch file gives to a node besides those of files."""
    context = LaunchContext()
    found = {}
    for given in evaluate_parameters(context, node._Node__parameters):
        if isinstance(given, dict):
            found.update(given)
    return found


def test_urdf_file_becomes_the_description():
    urdf = LAUNCH.parent / 'urdf' / 'planar_2r.urdf'
    (node,) = visit(BRINGUP, description=str(urdf))
    assert node.node_executable == 'bringup'
    assert parameters_of(node)['robot_description'] == urdf.read_text()


@needs_xacro
def test_xacro_file_becomes_the_description(tmp_path):
    """With its arguments; for simulators as a file, which is deleted at the end."""
    model, arguments = write_xacro(tmp_path), 'prefix:=left_'
    (node,) = visit(BRINGUP, description=str(model), description_arguments=arguments)
    assert read_urdf(parameters_of(node)['robot_description']).root == 'left_base'
    for name, count in ((SIMULATION, 3), (MECHANISM, 2)):
        actions = visit(name, model=str(model), model_arguments=arguments)
        assert len(actions) == count
        urdf = Path(parameters_of(actions[0])['urdf'])
        assert read_urdf(urdf.read_text()).root == 'left_base'
        actions[-1].event_handler.handle(Shutdown(), LaunchContext())
        assert not urdf.parent.exists()
    assert model.exists()


def test_files_of_packages_become_the_description(monkeypatch):
    monkeypatch.setattr(packages, 'get_package_share_directory', lambda package: str(LAUNCH.parent))
    place = 'package://my_robot/urdf/planar_2r.urdf'
    (node,) = visit(BRINGUP, description=place)
    assert 'planar_2r' in parameters_of(node)['robot_description']
    simulator, _ = visit(SIMULATION, model=place)  # nothing to be deleted
    assert parameters_of(simulator)['urdf'] == str(LAUNCH.parent / 'urdf' / 'planar_2r.urdf')


def files_of(node):
    """Return the names of the parameter files of a node, those that take precedence last."""
    files = [each for each in node._Node__parameters if hasattr(each, 'param_file')]
    return [Path(''.join(part.text for part in each.param_file)).name for each in files]


def test_a_driver_preset_stands_between_defaults_and_parameters_of_ones_own(tmp_path):
    own = tmp_path / 'own.yaml'
    own.write_text('/**/dynamics: {ros__parameters: {ramp_time: 1.0}}')
    (plain,) = visit(BRINGUP)
    assert files_of(plain) == ['model.yaml']
    (node,) = visit(BRINGUP, driver='franka')
    assert files_of(node) == ['model.yaml', 'franka.yaml']
    (node,) = visit(BRINGUP, driver=str(CONFIG / 'drivers' / 'ur.yaml'), params_file=str(own))
    assert files_of(node) == ['model.yaml', 'ur.yaml', 'own.yaml']
    (node,) = visit(BRINGUP, params_file=str(own))
    assert files_of(node) == ['own.yaml']


def test_a_driver_that_is_not_known_is_refused():
    with pytest.raises(ArgumentError, match=r'driver:=frnka: .* did you mean franka'):
        visit(BRINGUP, driver='frnka')


def test_defaults_are_right():
    assert len(visit(SIMULATION)) == 2


@pytest.mark.parametrize('name', ['stewart_gough', 'delta'])
def test_platforms_of_the_package_are_started(name):
    (node,) = visit(PARALLEL, mechanism=str(CONFIG / 'parallel' / f'{name}.yaml'))
    assert node.node_executable == 'parallel_robot'


def test_proxy_is_told_its_controller():
    (node,) = visit(PROXY, controller_action='/arm/follow_joint_trajectory')
    assert node.node_executable == 'trajectory_proxy'


@needs_xacro
def test_proxy_takes_descriptions(tmp_path):
    model = str(write_xacro(tmp_path))
    (node,) = visit(PROXY, urdf=model, urdf_arguments='prefix:=left_')
    assert read_urdf(parameters_of(node)['robot_description']).root == 'left_base'


@pytest.mark.parametrize('respawn', ['true', 'false'])
def test_what_dies_is_started_again_after_a_while(respawn):
    for node in (*visit(BRINGUP, respawn=respawn), visit(SIMULATION, respawn=respawn)[0]):
        assert node._ExecuteLocal__respawn == (respawn == 'true')
        assert node._ExecuteLocal__respawn_delay >= 1.0


@pytest.mark.parametrize(
    ('name', 'argument', 'value'),
    [
        (BRINGUP, 'params_file', '/nowhere'),
        (BRINGUP, 'params_file', str(LAUNCH)),
        (BRINGUP, 'params_file', __file__),
        (BRINGUP, 'description', '/nowhere.urdf'),
        (BRINGUP, 'description', 'package://no_such_package/robot.urdf'),
        (BRINGUP, 'rviz', 'maybe'),
        (BRINGUP, 'view', 'maybe'),
        (SIMULATION, 'model_arguments', 'prefix'),
        (BRINGUP, 'driver', '/nowhere.yaml'),
        (BRINGUP, 'log_level', 'loud'),
        (BRINGUP, 'loop_closures', '/nowhere.yaml'),
        (BRINGUP, 'use_sim_time', 'maybe'),
        (BRINGUP, 'respawn', 'never'),
        (BRINGUP, 'namespace', 'my-arm'),
        (SIMULATION, 'model', '/nowhere.urdf'),
        (SIMULATION, 'simulator_params_file', '/nowhere'),
        (MECHANISM, 'params_file', '/nowhere'),
        (MECHANISM, 'model', '/nowhere.urdf'),
        (MECHANISM, 'example', 'pendulum'),
        (MECHANISM, 'groups', 'SE(3)'),
        (ODOMETRY, 'params_file', '/nowhere'),
        (ODOMETRY, 'namespace', 'my-base'),
        (PARALLEL, 'params_file', '/nowhere'),
        (PARALLEL, 'mechanism', '/nowhere.yaml'),
        (PARALLEL, 'mechanism', str(CONFIG / 'parallel_robot.yaml')),
        (PARALLEL, 'platform_frame', 'base'),
        (PARALLEL, 'base_frame', ''),
        (PROXY, 'params_file', '/nowhere'),
        (PROXY, 'urdf', '/nowhere.urdf'),
        (SIMULATION, 'params_file', '/nowhere'),
        (SIMULATION, 'rviz', 'maybe'),
        (SIMULATION, 'view', 'maybe'),
        (SIMULATION, 'log_level', 'loud'),
        (SIMULATION, 'namespace', '1left'),
        (SIMULATION, 'ros2_control', 'maybe'),
        (SIMULATION, 'use_sim_time', 'maybe'),
    ],
)
def test_wrong_arguments_start_nothing(name, argument, value):
    with pytest.raises(Exception, match=argument) as refusal:
        visit(name, **{argument: value})
    assert value in str(refusal.value)


@pytest.mark.parametrize('name', [BRINGUP, SIMULATION, PARALLEL])
def test_unknown_arguments_start_nothing(name):
    with pytest.raises(Exception, match='did you mean namespace'):
        visit(name, ['namspace:=left'], namspace='left')


def test_arguments_of_a_launch_file_around_this_one_are_ignored():
    (node,) = visit(ODOMETRY, ['arm:=x'], arm='x', namspace='left')
    assert node.node_executable == 'odometry'


@pytest.mark.parametrize('name', ALL)
def test_a_visualizer_that_is_not_installed_is_refused(name, monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    for program, package in VISUALIZERS.items():
        with pytest.raises(ArgumentError, match=f'{program}:=true: {package} is not installed'):
            visit(name, **{program: 'true'})


def test_arguments_of_a_urdf_are_refused():
    urdf = str(LAUNCH.parent / 'urdf' / 'planar_2r.urdf')
    with pytest.raises(
        ArgumentError, match='it is not a xacro file, so it has no arguments prefix'
    ):
        visit(BRINGUP, description=urdf, description_arguments='prefix:=left_')


@pytest.mark.parametrize(
    ('namespace', 'absolute'),
    [
        ('', '/'),
        ('left', '/left'),
        ('/left', '/left'),
    ],
)
@pytest.mark.parametrize('name', ALL)
def test_visualizers_are_in_the_namespace_of_the_robot(
    name, namespace, absolute, monkeypatch, tmp_path
):
    """And have the prefix of frames from the same file as the nodes."""
    for program in VISUALIZERS.values():
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv('PATH', str(tmp_path))
    file = str(CONFIG / 'model.yaml')
    switches = dict.fromkeys(VISUALIZERS, 'true')
    nodes = visit(name, namespace=namespace, params_file=file, **switches)[-3:]
    assert [node.node_executable for node in nodes] == list(VISUALIZERS)
    context = LaunchContext()
    for node in nodes:
        arguments, _ = words(node, context)
        if namespace:
            assert node.expanded_node_namespace == absolute
        assert file in arguments
        assert 'fixed_frame' not in parameters_of(node)
    for node in visit(name, fixed_frame='odom', **switches)[-3:]:
        assert parameters_of(node) == {'fixed_frame': 'odom'}


@pytest.mark.parametrize('name', ALL)
def test_each_viewer_is_started_once(name, monkeypatch, tmp_path):
    """An included launch file sees the arguments of the one around it."""
    for program in VISUALIZERS.values():
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.setattr(launch_files, 'find_spec', lambda name: name)
    viewers = [*VISUALIZERS, 'view']
    made = visit(name, included=True, **dict.fromkeys(viewers, 'true'))
    started = [node.node_executable for node in made if isinstance(node, Node)]
    assert sorted(each for each in started if each in viewers) == sorted(viewers)


@pytest.mark.parametrize('name', ALL)
def test_view_of_the_robot_in_its_namespace(name, monkeypatch):
    monkeypatch.setattr(launch_files, 'find_spec', lambda name: name)
    view = visit(name, view='true', namespace='left')[-1]
    assert (view.node_package, view.node_executable) == ('screw_dynamics_ros', 'view')
    arguments, _ = words(view, LaunchContext())
    assert arguments[:1] == ['--live']
    assert '--host' not in arguments
    assert view.expanded_node_namespace == '/left'
    monkeypatch.setattr(launch_files, 'find_spec', lambda name: None)
    with pytest.raises(Exception, match='viser is not installed'):
        visit(name, view='true')


# --- ros2_control -------------------------------------------------------------------------------


@pytest.fixture
def installed(monkeypatch):
    """Let the packages of ros2_control be found, which are not here."""
    monkeypatch.setattr(launch_arguments, 'get_package_prefix', lambda package: f'/opt/{package}')


def visit_controlled(folder, **arguments):
    """Return {executable: node} of what is started with ros2_control, the spawners as a list."""
    made = visit(SIMULATION, ros2_control='true', generated_dir=str(folder), **arguments)
    nodes = [action for action in made if isinstance(action, Node)]
    spawners = [node for node in nodes if node.node_executable == 'spawner']
    others = {node.node_executable: node for node in nodes if node not in spawners}
    return others, spawners


def words(node, context):
    """Return the arguments of a node and its remappings, as they would be given to it."""
    node._perform_substitutions(context)
    arguments = [
        ''.join(part.perform(context) for part in word)
        for word in node.cmd[1:]
        if not any(isinstance(part, LocalSubstitution) for part in word)
    ]
    return arguments, dict(node.expanded_remapping_rules or [])


def test_the_simulator_is_the_hardware(installed, tmp_path):
    nodes, spawners = visit_controlled(tmp_path, command_interfaces='effort')
    assert set(nodes) == {'simulator', 'ros2_control_node'}
    context = LaunchContext()
    _, remapped = words(nodes['simulator'], context)
    assert remapped == {'joint_states': '/robot_joint_states', 'joint_commands': '/joint_commands'}
    urdf = tmp_path / 'simulated_robot.urdf'
    (component,) = read_ros2_control(urdf.read_text())
    assert component.parameters['joint_commands_topic'] == remapped['joint_commands']
    assert component.parameters['joint_states_topic'] == remapped['joint_states']
    manager = nodes['ros2_control_node']
    arguments, remapped = words(manager, context)
    assert manager.node_package == 'controller_manager'
    assert str(tmp_path / 'controllers.yaml') in arguments
    assert remapped == {'~/robot_description': 'robot_description'}
    assert not manager._ExecuteLocal__respawn  # it would come back without controllers
    first, second = (words(spawner, context)[0] for spawner in spawners)
    common = ['--controller-manager', '/controller_manager', '--param-file']
    assert first[:5] == ['joint_state_broadcaster', 'effort_controller', *common]
    assert second[:4] == ['joint_trajectory_controller', *common]
    assert second[5] == '--inactive'
    assert first[5] == second[4] == str(tmp_path / 'controllers.yaml')


def test_hardware_without_controllers_holds_still(installed, tmp_path):
    """The simulator alone follows a slow motion; a controller should not begin in the middle."""
    nodes, _ = visit_controlled(tmp_path)
    arguments, _ = words(nodes['simulator'], LaunchContext())
    files = [file for word, file in pairwise(arguments) if word == '--params-file']
    values = yaml.safe_load(Path(files[-1]).read_text())['/**']['ros__parameters']
    assert values == {'urdf': str(tmp_path / 'simulated_robot.urdf'), 'motion_amplitude': 0.0}


def test_impedance_drives_have_one_active_controller(installed, tmp_path):
    """Nothing is left for a second spawner."""
    _, spawners = visit_controlled(tmp_path, command_interfaces='position+effort')
    (spawner,) = spawners
    arguments, _ = words(spawner, LaunchContext())
    assert arguments[:2] == ['joint_state_broadcaster', 'joint_trajectory_controller']


def test_generated_files_are_for_each_other(installed, tmp_path):
    """The controllers claim what the description offers."""
    visit_controlled(tmp_path, command_interfaces='effort panda_finger_joint1:position')
    (component,) = read_ros2_control((tmp_path / 'simulated_robot.urdf').read_text())
    offered = {joint.name: joint.command_interfaces for joint in component.joints}
    parameters = yaml.safe_load((tmp_path / 'controllers.yaml').read_text())
    controllers = {
        name: section['ros__parameters']
        for name, section in parameters.items()
        if name not in ('controller_manager', 'joint_state_broadcaster')
    }
    assert len(controllers) == 4
    for section in controllers.values():
        interfaces = section.get('command_interfaces', [section.get('interface_name')])
        for joint in section['joints']:
            assert list(offered[joint]) == interfaces
    gains = controllers['effort_trajectory_controller']['gains']
    assert all(gains[f'panda_joint{k}']['p'] > 0.0 for k in range(1, 8))


@pytest.mark.parametrize(
    ('pushed', 'namespace', 'absolute'),
    [(None, 'left', '/left'), (None, '/left', '/left'), ('/cell', 'left', '/cell/left')],
)
def test_ros2_control_in_a_namespace(installed, tmp_path, pushed, namespace, absolute):
    more = {} if pushed is None else {'ros_namespace': pushed}
    nodes, (first, _) = visit_controlled(tmp_path, namespace=namespace, **more)
    context = LaunchContext()
    context.launch_configurations.update(more)
    _, remapped = words(nodes['simulator'], context)
    assert remapped['joint_states'] == f'{absolute}/robot_joint_states'
    assert nodes['simulator'].expanded_node_namespace == absolute
    arguments, _ = words(first, context)
    assert f'{absolute}/controller_manager' in arguments
    parameters = yaml.safe_load((tmp_path / 'controllers.yaml').read_text())
    assert f'{absolute}/controller_manager' in parameters


def test_simulated_time(installed, tmp_path):
    visit_controlled(tmp_path, use_sim_time='true', update_rate='250')
    parameters = yaml.safe_load((tmp_path / 'controllers.yaml').read_text())
    manager = parameters['controller_manager']['ros__parameters']
    assert (manager['use_sim_time'], manager['update_rate']) == (True, 250)


def test_temporary_files_are_deleted_at_the_end(installed, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    made = visit(SIMULATION, ros2_control='true')
    (folder,) = tmp_path.glob('screw_dynamics_ros_*')
    assert {path.name for path in folder.iterdir()} == {'simulated_robot.urdf', 'controllers.yaml'}
    (registered,) = (action for action in made if isinstance(action, RegisterEventHandler))
    registered.event_handler.handle(Shutdown(), LaunchContext())
    assert not folder.exists()


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ({'command_interfaces': 'torque'}, 'command_interfaces:=torque: there is no command inter'),
        ({'command_interfaces': 'panda_joint9:effort'}, 'did you mean panda_joint'),
        ({'update_rate': 'fast'}, 'update_rate:=fast: this is not possible; expected a whole numb'),
        ({'update_rate': '0'}, 'update_rate:=0'),
        ({'generated_dir': '/proc/nowhere'}, 'generated_dir:=/proc/nowhere: cannot write'),
    ],
)
def test_wrong_arguments_of_ros2_control_start_nothing(installed, tmp_path, arguments, reason):
    with pytest.raises(ArgumentError, match=re.escape(reason)):
        visit(SIMULATION, ros2_control='true', **{'generated_dir': str(tmp_path), **arguments})


def test_other_hardware_is_refused_or_replaced(installed, tmp_path):
    text = (LAUNCH.parent / 'urdf' / 'panda.urdf').read_text(encoding='utf-8')
    tag = '<ros2_control name="gz" type="system"><hardware><plugin>gz/System</plugin></hardware>'
    model = tmp_path / 'panda.urdf'
    model.write_text(text.replace('</robot>', f'{tag}</ros2_control></robot>'))
    arguments = {'ros2_control': 'true', 'model': str(model), 'generated_dir': str(tmp_path)}
    with pytest.raises(ArgumentError, match=r"hardware 'gz/System'.*replace_ros2_control:=true"):
        visit(SIMULATION, **arguments)
    assert visit(SIMULATION, **arguments, replace_ros2_control='true')


def test_a_missing_controller_manager_is_told():
    with pytest.raises(ArgumentError, match='controller_manager is not installed; expected false'):
        visit(SIMULATION, ros2_control='true')


# --- examples -----------------------------------------------------------------------------------

EXAMPLES = LAUNCH.parent / 'examples' / 'launch'


def visit_example(name, **arguments):
    """Return the packages and executables that an example starts, and the launch files."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    description = get_launch_description_from_python_launch_file(str(EXAMPLES / name))
    made = [entity.visit(context) for entity in description.entities]
    actions = [action for actions in made for action in actions or ()]
    nodes = {(a.node_package, a.node_executable): a for a in actions if isinstance(a, Node)}
    return nodes, [action for action in actions if isinstance(action, IncludeLaunchDescription)]


def test_example_with_gazebo():
    """The robot is there before its controllers, which Gazebo runs; time comes over the bridge."""
    urdf = str(LAUNCH.parent / 'urdf' / 'panda.urdf')
    nodes, included = visit_example('gz_ros2_control.launch.py', urdf=urdf, world='empty.sdf')
    assert set(nodes) == {
        ('ros_gz_bridge', 'parameter_bridge'),
        ('robot_state_publisher', 'robot_state_publisher'),
        ('ros_gz_sim', 'create'),
    }
    assert len(included) == 2
    assert dict(included[1].launch_arguments) == {'use_sim_time': 'true'}


def test_example_with_mujoco(installed, tmp_path):
    """Our generated parameters serve its controller manager."""
    visit_controlled(tmp_path)
    nodes, included = visit_example(
        'mujoco_ros2_control.launch.py',
        urdf=str(tmp_path / 'simulated_robot.urdf'),
        parameters=str(tmp_path / 'controllers.yaml'),
        controllers='effort_controller',
    )
    assert set(nodes) == {
        ('robot_state_publisher', 'robot_state_publisher'),
        ('mujoco_ros2_control', 'ros2_control_node'),
        ('controller_manager', 'spawner'),
    }
    arguments, _ = words(nodes['controller_manager', 'spawner'], LaunchContext())
    assert arguments[:2] == ['joint_state_broadcaster', 'effort_controller']
    assert dict(included[0].launch_arguments) == {'use_sim_time': 'true'}


def test_example_with_two_arms():
    """Each in its namespace, with its mount; the file has parameters for both."""
    urdf = LAUNCH.parent / 'urdf'
    files = {'left': str(urdf / 'panda.urdf'), 'right': str(urdf / 'planar_2r.urdf')}
    roots = {side: read_urdf(Path(file).read_text()).root for side, file in files.items()}
    nodes, included = visit_example('two_arms.launch.py', **files)
    (mount,) = nodes.values()  # the last one
    assert mount.node_executable == 'static_transform_publisher'
    assert f'right/{roots["right"]}' in words(mount, LaunchContext())[0]
    arms = [dict(each.launch_arguments) for each in included]
    assert [arm['namespace'] for arm in arms] == ['left', 'right']
    for arm in arms:
        (node,) = visit(BRINGUP, **arm)
        side = arm['namespace']
        assert files_of(node) == ['two_arms.yaml']
        assert read_urdf(parameters_of(node)['robot_description']).root == roots[side]
        words(node, LaunchContext())
        assert node.expanded_node_namespace == f'/{side}'
        patterns = [each.pattern for each in read_parameter_file(Path(arm['params_file']))]
        assert f'/{side}/bringup' in patterns


@pytest.mark.parametrize('path', sorted(EXAMPLES.glob('*.py')), ids=lambda path: path.name)
def test_examples_refuse_files_that_are_not_there(path):
    files = dict.fromkeys(('urdf', 'left', 'right'), '/nowhere.urdf')
    with pytest.raises(ArgumentError, match=r'(urdf|left):=/nowhere.urdf: there is no such file'):
        visit_example(path.name, parameters='/nowhere.yaml', **files)
