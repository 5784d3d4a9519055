# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The `<ros2_control>` tag of a simulated robot, added to its description.

The hardware component is `joint_state_topic_hardware_interface/JointStateTopicSystem` (package
joint_state_topic_hardware_interface of ros-controls/topic_based_hardware_interfaces, 1.1.0), which
exchanges sensor_msgs/JointState with a driver: here the simulator. From its source:

* Both topics are set, because the default of the command topic differs between code and
  documentation.
* trigger_joint_command_threshold is -1: every command is sent. With the default 1e-5 a command near
  the measured state is not sent, such as an effort that balances gravity, or a reached position.
  The simulator would report that the controller is lost.
* Every joint has all three state interfaces: the component throws if a message has a value without
  a state interface, and if a command interface has no state interface of the same name.
* A mimic joint has no command interface, because ros2_control refuses it. It comes after the joint
  that it follows: the component computes mimic joints in the order of the tag.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from xml.dom.minidom import Document, Element

from screw_dynamics_ros.core.description.robot_description import Joint, RobotDescription
from screw_dynamics_ros.core.description.ros2_control import HardwareComponent, read_ros2_control
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.description.xml_document import children, robot_element
from screw_dynamics_ros.core.errors import DescriptionError

from .command_interfaces import INTERFACES, command_interfaces

PLUGIN = 'joint_state_topic_hardware_interface/JointStateTopicSystem'
OLD_PLUGIN = 'topic_based_ros2_control/TopicBasedSystem'
COMMANDS_TOPIC, STATES_TOPIC = 'joint_commands_topic', 'joint_states_topic'
THRESHOLD, ALWAYS = 'trigger_joint_command_threshold', '-1'
DEFAULT_TOPICS = {COMMANDS_TOPIC: '/robot_joint_commands', STATES_TOPIC: '/robot_joint_states'}
NAME = 'simulated_robot'  # also the name of the component's node


@dataclass(frozen=True)
class SimulatedHardware:
    """A robot description with the hardware component of a simulator.

    Attributes
    ----------
    text : str
        The URDF.
    interfaces : {joint: str}
        The command interface of each commanded joint, in the order of the tag.
    commands_topic, states_topic : str
        Topics to which the simulator must subscribe and publish.
    remarks : tuple of str
        Warnings about an existing tag that was kept.
    """

    text: str
    interfaces: Mapping[str, str]
    commands_topic: str
    states_topic: str
    remarks: tuple[str, ...] = ()


def with_simulated_hardware(
    text: str, choice: str, commands_topic: str, states_topic: str, *, replace: bool = False
) -> SimulatedHardware:
    """Return a description with a `<ros2_control>` tag for the simulator.

    An existing tag for the same hardware component is kept, with its topics and interfaces; any
    other tag is refused, or replaced if `replace` is true.

    Parameters
    ----------
    text : str
        A URDF.
    choice : str
        As in `command_interfaces`.
    commands_topic, states_topic : str
        Absolute names, because the namespace of the component's node differs between versions.
    replace : bool
        Replace all existing tags.

    Raises
    ------
    ArgumentError
        As `command_interfaces`.
    DescriptionError
        The description cannot be read, or has a tag for other hardware.
    """
    description = read_urdf(text, inertia_check='ignore')
    present = read_ros2_control(text)
    if present and not replace:
        return _kept(text, present)
    interfaces = command_interfaces(choice, description)
    robot = robot_element(text)
    for element in children(robot, 'ros2_control'):
        robot.removeChild(element)
    tag = _tag(
        description, interfaces, {COMMANDS_TOPIC: commands_topic, STATES_TOPIC: states_topic}
    )
    whole = robot.toxml().removesuffix('</robot>').rstrip()
    return SimulatedHardware(
        f'<?xml version="1.0"?>\n{whole}\n\n{tag}</robot>\n',
        interfaces,
        commands_topic,
        states_topic,
    )


def _kept(text: str, present: tuple[HardwareComponent, ...]) -> SimulatedHardware:
    other = [each for each in present if each.plugin not in (PLUGIN, OLD_PLUGIN)]
    if other:
        raise DescriptionError(
            f'the description has a <ros2_control name="{other[0].name}"> for the hardware '
            f'{other[0].plugin or "without a plugin"!r}, which would run beside the simulator; '
            'remove it from the description (often by a xacro argument), or have it replaced'
        )
    if len(present) > 1:
        raise DescriptionError(
            f'the description has {len(present)} <ros2_control> tags for {PLUGIN}, each with its '
            'topics, and the simulator one of each; merge them, or have them replaced'
        )
    (component,) = present
    remarks = []
    for joint in component.joints:
        if len(joint.command_interfaces) > 1:
            remarks.append(
                f'joint {joint.name} has the command interfaces '
                f'{", ".join(joint.command_interfaces)}: the last value of a released interface '
                'is sent besides those of the active one'
            )
        missing = [each for each in INTERFACES if each not in joint.state_interfaces]
        if missing:
            remarks.append(
                f'joint {joint.name} has no state interface {", ".join(missing)}, but the '
                'simulator sends such values: the hardware component throws'
            )
    for topic, default in DEFAULT_TOPICS.items():
        if topic not in component.parameters:
            remarks.append(f'{topic} is not given; {default} is its default since 1.0.0')
    if not _is_negative(component.parameters.get(THRESHOLD, '')):
        remarks.append(
            f'{THRESHOLD} is not {ALWAYS}: commands near the measured state are not sent, and the '
            'simulator reports a lost controller'
        )
    topics = {name: component.parameters.get(name, x) for name, x in DEFAULT_TOPICS.items()}
    return SimulatedHardware(
        text,
        {
            joint.name: joint.command_interfaces[0]
            for joint in component.joints
            if joint.command_interfaces
        },
        topics[COMMANDS_TOPIC],
        topics[STATES_TOPIC],
        tuple(remarks),
    )


def _is_negative(text: str) -> bool:
    try:
        return float(text) < 0.0
    except ValueError:
        return False


def _tag(
    description: RobotDescription, interfaces: Mapping[str, str], topics: Mapping[str, str]
) -> str:
    """Return the tag, indented."""
    document = Document()
    tag = _added(document, document, 'ros2_control', name=NAME, type='system')
    hardware = _added(document, tag, 'hardware')
    _added(document, hardware, 'plugin', PLUGIN)
    for name, value in {**topics, THRESHOLD: ALWAYS}.items():
        _added(document, hardware, 'param', value, name=name)
    for joint in _masters_first(description):
        element = _added(document, tag, 'joint', name=joint.name)
        if joint.name in interfaces:
            _added(document, element, 'command_interface', name=interfaces[joint.name])
        for interface in INTERFACES:
            _added(document, element, 'state_interface', name=interface)
    return textwrap.indent(tag.toprettyxml(indent='  '), '  ')


def _masters_first(description: RobotDescription) -> list[Joint]:
    """Return the scalar joints, mimic joints after their leader, otherwise in original order."""
    scalar = {joint.name: joint for joint in description.joints if joint.kind.is_scalar}

    def depth(joint: Joint) -> int:
        return 0 if joint.mimic is None else 1 + depth(scalar[joint.mimic.joint])

    return sorted(scalar.values(), key=depth)


def _added(
    document: Document, parent: Document | Element, tag: str, text: str = '', **attributes: str
) -> Element:
    element = document.createElement(tag)
    for name, value in attributes.items():
        element.setAttribute(name, value)
    if text:
        element.appendChild(document.createTextNode(text))
    parent.appendChild(element)
    return element
