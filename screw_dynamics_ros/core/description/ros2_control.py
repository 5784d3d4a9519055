# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The `<ros2_control>` tags of a URDF: hardware components and the interfaces of their joints.

https://control.ros.org/rolling/doc/ros2_control/hardware_interface/doc/hardware_components_userdoc.html
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.dom.minidom import Element
from xml.etree import ElementTree

from ..errors import ArgumentError, DescriptionError
from .robot_description import Finding
from .xml_document import child, children, robot_element, short

#: What xacro evaluates, and braces that lack its dollar sign; {"a": 1} and [{...}] are values.
_EXPRESSION = re.compile(r'\$\{|\$\(|^\{[^{}:"\',]+\}$')


BOOLEANS = ('true', 'false')
GAINS = ('kp', 'kd')  # parameters of a joint with an impedance drive

#: Component of cm_topic_hardware_component (ros-controls/topic_based_hardware_interfaces, 1.1.0)
#: that writes each value of its messages called state_interface.<name> into that state interface.
MESSAGE_PLUGIN = 'cm_topic_hardware_component/CMTopicSystem'
MESSAGE_PREFIX = 'state_interface.'

#: Stiffness and damping of an impedance drive [N m/rad, N m s/rad; N/m, N s/m].
Gains = tuple[float, float]


@dataclass(frozen=True)
class ControlledJoint:
    """A joint of a hardware component.

    Attributes
    ----------
    name : str
    command_interfaces, state_interfaces : tuple of str
        Such as 'position', 'velocity', 'effort', in the order of the description.
    parameters : mapping
        Texts of the `<param>` of the joint, by name.
    """

    name: str
    command_interfaces: tuple[str, ...] = ()
    state_interfaces: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HardwareComponent:
    """One `<ros2_control>` tag.

    Attributes
    ----------
    name, type : str
        Empty where the tag does not say; the type is 'system', 'actuator' or 'sensor'.
    plugin : str
        Class that runs it; empty without a `<hardware>`.
    parameters : dict
        Texts of the `<param>` of `<hardware>`, by name.
    joints : tuple of ControlledJoint
    """

    name: str
    type: str
    plugin: str
    parameters: dict[str, str]
    joints: tuple[ControlledJoint, ...]


def read_ros2_control(
    text_or_path: str | bytes | os.PathLike[str],
) -> tuple[HardwareComponent, ...]:
    """Return the hardware components of a URDF, in its order; none is usual, too.

    Raises
    ------
    DescriptionError
        If the description is no URDF, or a joint or an interface has no name, or a joint occurs
        twice in a component.

    Examples
    --------
    >>> urdf = '''<robot name="arm"><link name="base"/><ros2_control name="arm" type="system">
    ...   <joint name="elbow"><command_interface name="effort"/></joint></ros2_control></robot>'''
    >>> [(joint.name, joint.command_interfaces) for joint in read_ros2_control(urdf)[0].joints]
    [('elbow', ('effort',))]
    """
    return tuple(map(_component, children(robot_element(text_or_path), 'ros2_control')))


def sensor_tag(name: str, sensors: Mapping[str, Sequence[str]]) -> str:
    """Return the `<ros2_control>` tag of a component that reads state interfaces from messages.

    Parameters
    ----------
    name : str
        Of the component; its node has this name in lower case.
    sensors : mapping
        Names of the state interfaces of each sensor.

    Examples
    --------
    >>> print(sensor_tag('estimates', {'contact': ['raised']}))
    <ros2_control name="estimates" type="system">
      <hardware>
        <plugin>cm_topic_hardware_component/CMTopicSystem</plugin>
      </hardware>
      <sensor name="contact">
        <state_interface name="raised" />
      </sensor>
    </ros2_control>
    """
    tag = ElementTree.Element('ros2_control', name=name, type='system')
    ElementTree.SubElement(ElementTree.SubElement(tag, 'hardware'), 'plugin').text = MESSAGE_PLUGIN
    for sensor, interfaces in sensors.items():
        element = ElementTree.SubElement(tag, 'sensor', name=sensor)
        for interface in interfaces:
            ElementTree.SubElement(element, 'state_interface', name=interface)
    ElementTree.indent(tag)
    return ElementTree.tostring(tag, encoding='unicode')


def commanded_joints(
    components: Iterable[HardwareComponent], names: Sequence[str], interface: str
) -> list[str]:
    """Return which of the joints `names` have a command interface, in the order of `names`.

    It is the order in which `joint_state_topic_hardware_interface` writes the numbers of an
    interface, while its message lists all joints of the component.
    """
    commanded = {
        joint.name
        for component in components
        for joint in component.joints
        if interface in joint.command_interfaces
    }
    return [name for name in names if name in commanded]


def impedance_gains(components: Iterable[HardwareComponent]) -> dict[str, Gains]:
    """Return stiffness and damping of the joints that have the parameters kp and kd, by joint.

    Raises
    ------
    DescriptionError
        If a joint has only one of them, or a value is not a finite number >= 0.

    Examples
    --------
    >>> urdf = '''<robot name="arm"><link name="base"/><ros2_control name="arm" type="system">
    ...   <joint name="elbow"><param name="kp">70</param><param name="kd">2.5</param></joint>
    ... </ros2_control></robot>'''
    >>> impedance_gains(read_ros2_control(urdf))
    {'elbow': (70.0, 2.5)}
    """
    joints = [joint for component in components for joint in component.joints]
    return {
        joint.name: (_gain(joint, GAINS[0]), _gain(joint, GAINS[1]))
        for joint in joints
        if any(name in joint.parameters for name in GAINS)
    }


def _gain(joint: ControlledJoint, name: str) -> float:
    """Return a gain of a joint that has one."""
    text = joint.parameters.get(name, '')
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise DescriptionError(
            f'<ros2_control>: parameter {name} of joint {short(joint.name)!r} is {short(text)!r}; '
            'give both kp and kd, finite numbers >= 0, or neither'
        )
    return value


def read_condition(condition: str) -> tuple[str, str]:
    """Return name and value of a condition NAME=VALUE on a hardware parameter.

    Raises
    ------
    ArgumentError
        If it is something else.
    """
    name, equals, value = (part.strip() for part in condition.partition('='))
    if not (name and equals and value):
        raise ArgumentError(
            f'effort_condition: {condition!r} is not a condition NAME=VALUE on a parameter of '
            '<hardware>, such as use_currents_as_efforts=false'
        )
    return name, value


def hardware_parameter(components: Iterable[HardwareComponent], name: str) -> str | None:
    """Return a parameter of <hardware>, booleans in lower case; None if no component has it.

    Raises
    ------
    DescriptionError
        If components have different values: joint states do not name the component.
    """
    found = {
        component.name: _boolean_in_lower_case(component.parameters[name])
        for component in components
        if name in component.parameters
    }
    if len(set(found.values())) > 1:
        values = ', '.join(f'{short(value)!r} of {short(key)!r}' for key, value in found.items())
        raise DescriptionError(
            f'{name} differs between <ros2_control> tags: {values}; give them the same value'
        )
    return next(iter(found.values()), None)


def unmet_condition(urdf: str, condition: str) -> str:
    """Return why a description does not meet a condition NAME=VALUE, empty if it does.

    Parameters
    ----------
    urdf : str
    condition : str
        On a parameter of <hardware>; empty, which is always met, or as for `read_condition`.

    Raises
    ------
    ArgumentError
        As `read_condition`.

    Examples
    --------
    >>> urdf = '''<robot name="arm"><link name="base"/><ros2_control name="arm" type="system">
    ...   <hardware><param name="currents">True</param></hardware></ros2_control></robot>'''
    >>> unmet_condition(urdf, 'currents=true')
    ''
    >>> unmet_condition(urdf, 'currents=false')
    "currents is 'true' in the description, not 'false'"
    """
    if not condition:
        return ''
    name, wanted = read_condition(condition)
    try:
        value = hardware_parameter(read_ros2_control(urdf), name)
    except DescriptionError as error:
        return str(error)
    wanted = _boolean_in_lower_case(wanted)
    if value is None:
        return f'no <ros2_control> tag of the description has the parameter {name}'
    if value == wanted:
        return ''
    if wanted in BOOLEANS and value not in BOOLEANS:
        return f'{name} is {short(value)!r} in the description; it must be true or false'
    return f'{name} is {short(value)!r} in the description, not {short(wanted)!r}'


def unevaluated_parameters(robot: Element) -> Iterator[Finding]:
    """Yield the parameters of `<ros2_control>` tags that are still expressions.

    A driver gets their text: it fails, or takes its default instead. One finding names all joints
    that have the same.

    Parameters
    ----------
    robot : Element
        The <robot> of a URDF.
    """
    for component in children(robot, 'ros2_control'):
        found: dict[tuple[str, str, str], list[str]] = {}
        for owner, place, parameter in _all_parameters(component):
            text = _text(parameter)
            if _EXPRESSION.search(text):
                key = place, parameter.getAttribute('name'), text
                found.setdefault(key, []).append(owner)
        for (place, name, text), owners in found.items():
            yield Finding.warning(
                f'ros2_control {short(component.getAttribute("name"))!r}',
                f'{", ".join(owners)}: {place}parameter {short(name)!r} is {short(text)!r}, an '
                'expression that xacro did not evaluate; the driver gets this text, or takes its '
                'default',
                'write ${...} in the xacro file and expand it, or write the number',
            )


def _all_parameters(component: Element) -> Iterator[tuple[str, str, Element]]:
    """Yield whose parameter it is, of which of its interfaces, and the <param>."""
    for part in (node for node in component.childNodes if isinstance(node, Element)):
        name = part.getAttribute('name')
        owner = f'{part.tagName} {short(name)!r}' if name else part.tagName
        for parameter in children(part, 'param'):
            yield owner, '', parameter
        for kind in ('command_interface', 'state_interface'):
            for interface in children(part, kind):
                place = f'{kind} {short(interface.getAttribute("name"))!r}, '
                for parameter in children(interface, 'param'):
                    yield owner, place, parameter


def _boolean_in_lower_case(text: str) -> str:
    """Return what xacro writes as True or true as true; other texts as they are."""
    return text.lower() if text.lower() in BOOLEANS else text


def _component(element: Element) -> HardwareComponent:
    name, hardware = element.getAttribute('name'), child(element, 'hardware')
    owner = f'<ros2_control name="{short(name)}">'
    joints = tuple(_joint(joint, owner) for joint in children(element, 'joint'))
    names = [joint.name for joint in joints]
    for k, joint in enumerate(names):
        if joint in names[:k]:
            raise DescriptionError(f'{owner} has joint {joint!r} twice; remove one')
    plugin = None if hardware is None else child(hardware, 'plugin')
    return HardwareComponent(
        name,
        element.getAttribute('type'),
        '' if plugin is None else _text(plugin),
        {} if hardware is None else _parameters(hardware),
        joints,
    )


def _joint(element: Element, owner: str) -> ControlledJoint:
    name = element.getAttribute('name')
    if not name:
        raise DescriptionError(f'{owner} has a <joint> without a name; add name="..."')
    commands, states = (
        tuple(
            _interface_name(interface, f'{owner}, joint {name!r}')
            for interface in children(element, f'{what}_interface')
        )
        for what in ('command', 'state')
    )
    return ControlledJoint(name, commands, states, _parameters(element))


def _interface_name(element: Element, owner: str) -> str:
    name = element.getAttribute('name')
    if not name:
        raise DescriptionError(f'{owner}: a <{element.tagName}> has no name; add name="position"')
    return name


def _parameters(element: Element) -> dict[str, str]:
    return {
        parameter.getAttribute('name'): _text(parameter) for parameter in children(element, 'param')
    }


def _text(element: Element) -> str:
    return ''.join(
        node.data for node in element.childNodes if node.nodeType == node.TEXT_NODE
    ).strip()
