"""The launch files can be loaded by ROS 2's own launch, where that is installed."""

import logging
from pathlib import Path

import pytest

pytest.importorskip('launch')
pytest.importorskip('launch_ros')

from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.launch_description_sources import get_launch_description_from_python_launch_file
from launch.utilities import perform_substitutions

from launch import LaunchContext

# launch makes all loggers that are created from now on its own, which pytest does not hear.
logging.setLoggerClass(logging.Logger)

LAUNCH = Path(__file__).resolve().parents[1] / 'launch'


@pytest.mark.parametrize('name', ['bringup.launch.py', 'simulation.launch.py'])
def test_every_argument_is_described_and_has_a_default(name):
    description = get_launch_description_from_python_launch_file(str(LAUNCH / name))
    arguments = [e for e in description.entities if isinstance(e, DeclareLaunchArgument)]
    assert arguments
    for argument in arguments:
        assert argument.description
        assert argument.default_value is not None


def test_urdf_file_becomes_the_description():
    context = LaunchContext()
    description = get_launch_description_from_python_launch_file(str(LAUNCH / 'bringup.launch.py'))
    urdf = LAUNCH.parent / 'urdf' / 'planar_2r.urdf'
    context.launch_configurations['urdf'] = str(urdf)
    for entity in description.entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.visit(context)
    assert Path(context.launch_configurations['params_file']).is_file()
    nodes = next(e for e in description.entities if isinstance(e, OpaqueFunction)).execute(context)
    assert [node.node_executable for node in nodes] == ['bringup']


@pytest.mark.parametrize(('namespace', 'absolute'), [
    ('', '/'), ('left', '/left'), ('/left', '/left'),
])
def test_rviz_is_in_the_namespace_of_the_robot(namespace, absolute):
    path = str(LAUNCH / 'simulation.launch.py')
    description = get_launch_description_from_python_launch_file(path)
    (rviz,) = (e for e in description.entities if type(e) is ExecuteProcess)
    context = LaunchContext()
    context.launch_configurations['namespace'] = namespace
    words = [perform_substitutions(context, word) for word in rviz.cmd]
    assert words[-1] == f'__ns:={absolute}'
