# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start rviz2 for the robot whose description is on the topic robot_description.

    ros2 run screw_dynamics_ros rviz
    ros2 run screw_dynamics_ros rviz --print --ros-args -r __ns:=/left -p frame_prefix:=left_

Frames, topics and viewpoint are set for the robot. The fixed frame is its root link, or the
parameter fixed_frame, for example odom.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.share import share_folder

from . import command
from .command import extent, rounded, shown_links


def layout(robot: Robot, names: command.LayoutNames) -> str:
    """Return the YAML of a configuration, from the template in the folder `rviz`.

    Frames of root and tools are shown. The extent of the robot with all joints at zero determines
    grid, sizes of frames and of circles of efforts, and viewpoint.
    """
    template = (share_folder() / 'rviz' / 'model.rviz').read_text(encoding='utf-8')
    content: dict[str, Any] = yaml.safe_load(template)
    manager = content['Visualization Manager']
    center, size = extent(robot)
    for display in manager['Displays']:
        for key in ('Topic', 'Description Topic'):
            if key in display:
                display[key]['Value'] = names.topic(display[key]['Value'])
        kind = display['Class'].rpartition('/')[2]
        if kind == 'TF':
            display['Frames'] = {
                'All Enabled': False,
                **{names.prefix + link: {'Value': True} for link in shown_links(robot, names)},
            }
            display['Marker Scale'] = rounded(0.3 * size)
        elif kind == 'Grid':
            display['Cell Size'] = rounded(0.5 * size)
        elif kind == 'Effort':
            display['Robot Description'] = names.topic(display['Robot Description'])
            display['Scale'], display['Width'] = rounded(0.3 * size), rounded(0.01 * size)
        if kind in ('RobotModel', 'Effort') and names.prefix.endswith('/'):
            display['TF Prefix'] = names.prefix[:-1]  # rviz appends a slash
    manager['Global Options']['Fixed Frame'] = names.prefix + names.fixed
    view = manager['Views']['Current']
    view['Distance'] = rounded(2.2 * size)
    view['Focal Point'] = dict(zip('XYZ', np.round(center, 3).tolist()))
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return text


RVIZ = command.Visualizer(
    'rviz',
    package='rviz2',
    executable='rviz2',
    suffix='.rviz',
    layout=layout,
    arguments=lambda path, namespace: ['-d', path, '--ros-args', '-r', f'__ns:={namespace}'],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return command.run(RVIZ, __doc__, arguments)


if __name__ == '__main__':
    sys.exit(main())
