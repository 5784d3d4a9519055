# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A configuration of rviz for one robot, made of the template of this package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import yaml

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import leaf_links

MIN_EXTENT = 0.05  # m, of what is shown of a robot without extent


def configuration(template: str, robot: Robot, *, namespace: str = '/', prefix: str = '') -> str:
    """Return the YAML of a configuration.

    Parameters
    ----------
    template : str
        YAML of a configuration, with relative topics.
    robot : Robot
        Its root link becomes the fixed frame, root and tools the frames that are shown; its extent
        with all joints at zero decides about grid, frames and point of view.
    namespace : str
        Absolute; of the topics.
    prefix : str
        Of all frames.
    """
    content: dict[str, Any] = yaml.safe_load(template)
    manager = content['Visualization Manager']
    center, size = extent(robot)
    root = prefix + robot.description.root
    for display in manager['Displays']:
        for key in ('Topic', 'Description Topic'):
            if key in display:
                display[key]['Value'] = f'{namespace.rstrip("/")}/{display[key]["Value"]}'
        kind = display['Class'].rpartition('/')[2]
        if kind == 'TF':
            shown = [root, *(prefix + link for link in leaf_links(robot))]
            display['Frames'] = {
                'All Enabled': False,
                **{frame: {'Value': True} for frame in shown},
            }
            display['Marker Scale'] = rounded(0.3 * size)
        elif kind == 'Grid':
            display['Cell Size'] = rounded(0.5 * size)
        elif kind == 'RobotModel' and prefix.endswith('/'):
            display['TF Prefix'] = prefix[:-1]  # rviz puts a slash behind it
    manager['Global Options']['Fixed Frame'] = root
    view = manager['Views']['Current']
    view['Distance'] = rounded(2.2 * size)
    view['Focal Point'] = dict(zip('XYZ', np.round(center, 3).tolist()))
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return text


def extent(robot: Robot) -> tuple[Array, float]:
    """Return center (3,) and largest side [m] of the box around the origins of all links."""
    origins = robot.link_poses(robot.neutral())[:, :3, 3]
    low, high = origins.min(axis=0), origins.max(axis=0)
    return (low + high) / 2, max(float((high - low).max()), MIN_EXTENT)


def rounded(number: float) -> float:
    """Return a positive number with two digits."""
    return round(number, 1 - math.floor(math.log10(number)))
