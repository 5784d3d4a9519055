# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start foxglove_bridge, and create a Foxglove layout for the robot on topic robot_description.

    ros2 run screw_dynamics_ros foxglove
    ros2 run screw_dynamics_ros foxglove --print > robot.json

The layout shows the robot with its markers, joint torques, contact wrenches and diagnostics. In
Foxglove, open the connection ws://localhost:8765 and import the layout, whose path is printed. The
bridge listens on 127.0.0.1 only; to connect from another machine, start the bridge separately and
use --print. With --model-state, the plots read one topic, bringup/model_state.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core import Robot

from . import command
from .command import Curve, Plot, extent, joint_plots, rounded, shown_links, wrench_plots

MARKERS = ('kinematics/markers', 'wrench_estimator/markers')


def layout(robot: Robot, names: command.LayoutNames) -> str:
    """Return the JSON of a layout: scene, plots and diagnostics."""
    plots = [*joint_plots(robot, names), *wrench_plots(robot, names)]
    panels = {
        '3D!robot': scene(robot, names),
        **{f'Plot!{place}': panel(plot) for place, plot in enumerate(plots)},
        'DiagnosticSummary!nodes': {
            'topicToRender': '/diagnostics',
            'minLevel': 0,
            'pinnedIds': [],
            'hardwareIdFilter': '',
            'sortByLevel': True,
        },
    }
    first, *others = panels
    content = {
        'configById': panels,
        'globalVariables': {},
        'userNodes': {},
        'playbackConfig': {'speed': 1},
        'layout': {
            'direction': 'row',
            'first': first,
            'second': column(others),
            'splitPercentage': 50,
        },
    }
    return json.dumps(content, indent=1) + '\n'


def scene(robot: Robot, names: command.LayoutNames) -> dict[str, Any]:
    """Return the settings of the 3D panel."""
    center, size = extent(robot)
    shown = shown_links(robot, names)
    return {
        'followTf': names.prefix + names.fixed,
        'followMode': 'follow-none',
        'cameraState': {
            'perspective': True,
            'distance': rounded(2.2 * size),
            'phi': 67,
            'thetaOffset': 45,
            'target': [0, 0, 0],
            'targetOffset': np.round(center, 3).tolist(),
            'targetOrientation': [0, 0, 0, 1],
            'fovy': 45,
            'near': rounded(0.01 * size),
            'far': rounded(1000 * size),
        },
        'scene': {'transforms': {'axisScale': rounded(0.3 * size), 'showLabel': False}},
        'transforms': {
            f'frame:{names.prefix}{link}': {'visible': link in shown}
            for link in dict.fromkeys([*shown, *robot.link_names])
        },
        'topics': {names.topic(name): {'visible': True} for name in MARKERS},
        'layers': {
            'grid': {
                'instanceId': 'grid',
                'layerId': 'foxglove.Grid',
                'label': 'Grid',
                'visible': True,
                'frameLocked': True,
                'frameId': names.prefix + names.fixed,
                'size': rounded(5 * size),
                'divisions': 10,
                'lineWidth': 1,
                'color': '#808080',
                'position': [0, 0, 0],
                'rotation': [0, 0, 0],
            },
            'robot': {
                'instanceId': 'robot',
                'layerId': 'foxglove.Urdf',
                'label': robot.description.name,
                'visible': True,
                'frameLocked': True,
                'sourceType': 'topic',
                'topic': names.topic('robot_description'),
                'framePrefix': names.prefix,
                'displayMode': 'auto',
                'fallbackColor': '#ffffff',
            },
        },
    }


def panel(plot: Plot) -> dict[str, Any]:
    """Return the settings of a plot."""
    return {
        'foxglovePanelTitle': plot.title,
        'paths': [
            {
                'value': path(curve),
                'label': curve.label,
                'color': curve.color,
                'enabled': True,
                'timestampMethod': 'headerStamp',
            }
            for curve in plot.curves
        ],
        'showXAxisLabels': True,
        'showYAxisLabels': True,
        'showLegend': True,
        'legendDisplay': 'floating',
        'isSynced': True,
        'xAxisVal': 'timestamp',
        'followingViewWidth': 30,
    }


def path(curve: Curve) -> str:
    """Return the Foxglove message path of a curve; it cannot select joints by name."""
    element = f'[{curve.index}]' if curve.index >= 0 else ''
    return '.'.join((curve.topic, *curve.fields)) + element


def column(panels: Sequence[str]) -> str | dict[str, Any]:
    """Return panels of equal height in a column."""
    first, *others = panels
    if not others:
        return first
    return {
        'direction': 'column',
        'first': first,
        'second': column(others),
        'splitPercentage': round(100 / len(panels), 3),
    }


FOXGLOVE = command.Visualizer(
    'foxglove',
    package='foxglove_bridge',
    executable='foxglove_bridge',
    suffix='.json',
    layout=layout,
    arguments=lambda path, namespace: ['--ros-args', '-p', 'address:=127.0.0.1'],
    note='foxglove: open the connection ws://localhost:8765 and import the layout {path}',
    has_curves=True,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return command.run(FOXGLOVE, __doc__, arguments)


if __name__ == '__main__':
    sys.exit(main())
