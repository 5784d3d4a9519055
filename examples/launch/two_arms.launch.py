# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms on a torso, each with its own description: `bringup` for each in its namespace.

    ros2 launch two_arms.launch.py left:=/path/to/arm.urdf right:=/path/to/other_arm.urdf

The drivers publish /left/joint_states and /right/joint_states. Static transforms connect the root
links of both arms, which point sideways, with the frame torso; gravity follows them
(two_arms.yaml).
"""

from pathlib import Path

from launch.actions import IncludeLaunchDescription, OpaqueFunction
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros.launch_files import urdf_arguments

PARAMETERS = Path(__file__).with_name('two_arms.yaml')
#: Poses of the root links in the frame torso: the z axis of each points away from it.
MOUNTS = {
    'left': ['--y', '0.2', '--z', '0.4', '--roll', '-1.570796326794897'],
    'right': ['--y', '-0.2', '--z', '0.4', '--roll', '1.570796326794897'],
}
ARGUMENTS = [argument for side in MOUNTS for argument in urdf_arguments(side, None)]


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the actions for both arms."""
    return [action for side in MOUNTS for action in arm(context, side)]


def arm(context: LaunchContext, side: str) -> list[LaunchDescriptionEntity]:
    """Return the transform from the torso to an arm, and its `bringup`."""
    file, arguments = (context.launch_configurations[n] for n in (side, f'{side}_arguments'))
    root = read_urdf(check.description(side, file, arguments)).root
    return [
        Node(
            package='tf2_ros',
            executable='static_transform_publisher',
            name=f'{side}_mount',
            arguments=[
                *MOUNTS[side],
                *('--frame-id', 'torso', '--child-frame-id', f'{side}/{root}'),
            ],
        ),
        IncludeLaunchDescription(
            PathJoinSubstitution(
                [FindPackageShare('screw_dynamics_ros'), 'launch', 'bringup.launch.py']
            ),
            launch_arguments={
                'namespace': side,
                'description': file,
                'description_arguments': arguments,
                'params_file': str(PARAMETERS),
            }.items(),
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=make_actions)])
