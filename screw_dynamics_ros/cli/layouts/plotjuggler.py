# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start PlotJuggler with curves for the robot on the topic robot_description.

    ros2 run screw_dynamics_ros plotjuggler
    ros2 run screw_dynamics_ros plotjuggler --print > robot.xml

The curves are joint torques, external torques and contact wrenches from the nodes. PlotJuggler asks
whether to start its ROS 2 topic subscriber, and then for the topics; those of the layout are
preselected. With --model-state, the curves are those of one topic, bringup/model_state.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from screw_dynamics_ros.core import Robot

from . import command
from .command import Curve, Plot, joint_plots, measured_efforts, wrench_plots

SUBSCRIBER = 'ROS2 Topic Subscriber'  # the plugin of plotjuggler_ros
MAX_ARRAY = 100  # elements, at least; the plugin drops larger arrays


def layout(robot: Robot, names: command.LayoutNames) -> str:
    """Return the XML of a layout: a tab for joint torques, one for contacts."""
    *terms, external = joint_plots(robot, names)
    tabs = {
        'Joint torques': [measured_efforts(robot, names), *terms],
        'Contacts': [external, *wrench_plots(robot, names)],
    }
    root = ET.Element('root')
    widget = ET.SubElement(root, 'tabbed_widget', {'name': 'Main Window', 'parent': 'main_window'})
    for name, plots in tabs.items():
        add_tab(widget, name, plots)
    ET.SubElement(widget, 'currentTabIndex', index='0')
    ET.SubElement(root, 'use_relative_time_offset', enabled='1')
    topics = dict.fromkeys(
        curve.topic for plots in tabs.values() for plot in plots for curve in plot.curves
    )
    size = names.model_state.size if names.model_state is not None else 0
    add_subscriber(ET.SubElement(root, 'Plugins'), list(topics), max(MAX_ARRAY, size))
    ET.SubElement(root, 'previouslyLoaded_Streamer', name=SUBSCRIBER)
    ET.indent(root, ' ')
    return ET.tostring(root, encoding='unicode', xml_declaration=True) + '\n'


def add_tab(widget: ET.Element, name: str, plots: Sequence[Plot]) -> None:
    """Add a tab with plots below one another."""
    tab = ET.SubElement(widget, 'Tab', tab_name=name, containers='1')
    splitter = ET.SubElement(
        ET.SubElement(tab, 'Container'),
        'DockSplitter',
        orientation='-',
        count=str(len(plots)),
        sizes=';'.join([f'{1 / len(plots):.6f}'] * len(plots)),
    )
    for plot in plots:
        area = ET.SubElement(splitter, 'DockArea', name=plot.title)
        made = ET.SubElement(
            area, 'plot', mode='TimeSeries', style='Lines', flip_x='false', flip_y='false'
        )
        ET.SubElement(made, 'limitY')
        for curve in plot.curves:
            ET.SubElement(made, 'curve', name=series(curve), color=curve.color)


def series(curve: Curve) -> str:
    """Return the name of a curve in PlotJuggler, which names JointState fields by joint."""
    if curve.joint:
        return '/'.join((curve.topic, curve.joint, *curve.fields))
    element = f'[{curve.index}]' if curve.index >= 0 else ''
    return '/'.join((curve.topic, *curve.fields)) + element


def add_subscriber(plugins: ET.Element, topics: Sequence[str], max_array: int) -> None:
    """Add the settings of the subscriber plugin; topics in the formats of all its versions."""
    plugin = ET.SubElement(plugins, 'plugin', ID=SUBSCRIBER)
    for name, value in (
        ('use_header_stamp', 'true'),
        ('discard_large_arrays', 'true'),
        ('max_array_size', str(max_array)),
        ('boolean_strings_to_number', 'true'),
        ('remove_suffix_from_strings', 'true'),
    ):
        ET.SubElement(plugin, name, value=value)
    selected = ET.SubElement(plugin, 'selected_topics', value=';'.join(topics))
    for topic in topics:
        ET.SubElement(selected, 'topic', name=topic)


PLOTJUGGLER = command.Visualizer(
    'plotjuggler',
    package='plotjuggler',
    executable='plotjuggler',
    suffix='.xml',
    layout=layout,
    arguments=lambda path, _: ['--nosplash', '--layout', path],
    has_curves=True,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    return command.run(PLOTJUGGLER, __doc__, arguments)


if __name__ == '__main__':
    sys.exit(main())
