"""The launch files with ROS 2's own launch, where that is installed."""

import logging
import sys

import pytest

pytest.importorskip('launch')
pytest.importorskip('launch_ros')

from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.launch_description_sources import get_launch_description_from_python_launch_file

from launch import LaunchContext
from support.paths import LAUNCH

# launch makes all loggers that are created from now on its own, which pytest does not hear.
logging.setLoggerClass(logging.Logger)

BRINGUP, SIMULATION = 'bringup.launch.py', 'simulation.launch.py'


def visit(name, **arguments):
    """Return the actions that a launch file makes of arguments."""
    description = get_launch_description_from_python_launch_file(str(LAUNCH / name))
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    made = [entity.visit(context) for entity in description.entities]
    return [action for actions in made for action in actions or ()]


@pytest.mark.parametrize('name', [BRINGUP, SIMULATION])
def test_every_argument_is_described_and_has_a_default(name):
    description = get_launch_description_from_python_launch_file(str(LAUNCH / name))
    arguments = [e for e in description.entities if isinstance(e, DeclareLaunchArgument)]
    assert arguments
    for argument in arguments:
        assert argument.description
        assert argument.default_value is not None


def test_urdf_file_becomes_the_description():
    urdf = LAUNCH.parent / 'urdf' / 'planar_2r.urdf'
    (node,) = visit(BRINGUP, urdf=str(urdf))
    assert node.node_executable == 'bringup'


def test_defaults_are_right():
    assert len(visit(SIMULATION)) == 2


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
        (BRINGUP, 'urdf', '/nowhere.urdf'),
        (BRINGUP, 'log_level', 'loud'),
        (BRINGUP, 'use_sim_time', 'maybe'),
        (BRINGUP, 'respawn', 'never'),
        (BRINGUP, 'namespace', 'my-arm'),
        (SIMULATION, 'model', '/nowhere.urdf'),
        (SIMULATION, 'simulator_params_file', '/nowhere'),
        (SIMULATION, 'params_file', '/nowhere'),
        (SIMULATION, 'rviz', 'maybe'),
        (SIMULATION, 'log_level', 'loud'),
        (SIMULATION, 'namespace', '1left'),
    ],
)
def test_wrong_arguments_start_nothing(name, argument, value):
    with pytest.raises(Exception, match=argument) as refusal:
        visit(name, **{argument: value})
    assert value in str(refusal.value)


@pytest.mark.parametrize('name', [BRINGUP, SIMULATION])
def test_unknown_arguments_start_nothing(name, monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['ros2', 'launch', str(LAUNCH / name), 'namspace:=left'])
    with pytest.raises(Exception, match='did you mean namespace'):
        visit(name, namspace='left')


def test_rviz_that_is_not_installed_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(Exception, match='rviz2 is not installed'):
        visit(SIMULATION, rviz='true')


@pytest.mark.parametrize(
    ('namespace', 'absolute'),
    [
        ('', '/'),
        ('left', '/left'),
        ('/left', '/left'),
    ],
)
def test_rviz_is_in_the_namespace_of_the_robot(namespace, absolute, monkeypatch, tmp_path):
    program = tmp_path / 'rviz2'
    program.touch(0o755)
    monkeypatch.setenv('PATH', str(tmp_path))
    (rviz,) = (
        action
        for action in visit(SIMULATION, rviz='true', namespace=namespace)
        if type(action) is ExecuteProcess
    )
    assert ''.join(each.text for each in rviz.cmd[-1]) == f'__ns:={absolute}'
