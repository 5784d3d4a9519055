# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ros2_control on a simulated robot: the `<ros2_control>` tag and the controllers.

The hardware component of the tag is `joint_state_topic_hardware_interface/JointStateTopicSystem`
(package joint_state_topic_hardware_interface of ros-controls/topic_based_hardware_interfaces,
1.1.0), which exchanges sensor_msgs/JointState with a driver: here the simulator. From its source:

* Both topics are set, because the default of the command topic differs between code and
  documentation.
* trigger_joint_command_threshold is -1: every command is sent. With the default 1e-5 a command near
  the measured state is not sent, such as an effort that balances gravity, or a reached position.
  The simulator would report that the controller is lost.
* Every joint has all three state interfaces: the component throws if a message has a value without
  a state interface, and if a command interface has no state interface of the same name.
* A command interface that no controller has claimed yet is NaN; a released one keeps the last value
  that its controller wrote.
* A mimic joint has no command interface, because ros2_control refuses it. It comes after the joint
  that it follows: the component computes mimic joints in the order of the tag.

Controllers for the joints:

* joint_state_broadcaster publishes the joint states, as on a real robot.
* <interface>_controller forwards commands (forward_command_controller); effort_controller receives
  those that `dynamics` publishes on ~/commands.
* joint_trajectory_controller executes trajectories. There is one for each choice of command
  interfaces in use, because all joints of a controller need the same; with efforts and velocities
  it closes a position loop. With position and effort it sends those of the trajectory together,
  without a loop: that of an impedance drive (jazzy since 4.22, kilted and later).

For positions and velocities the trajectory controllers are active, for efforts the forwarding
controller; the others are loaded but inactive. Joints with position and effort have no forwarding
controller: the last value of the other interface would remain beside its commands.
"""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from xml.dom.minidom import Document, Element

import yaml

from ..core.description.joint_types import scalar_types
from ..core.description.robot_description import Joint, RobotDescription
from ..core.description.ros2_control import (
    GAINS,
    HardwareComponent,
    impedance_gains,
    read_ros2_control,
)
from ..core.description.urdf import read_urdf
from ..core.description.xml_document import children, robot_element
from ..core.errors import ArgumentError, DescriptionError
from .parameter_files import PARAMETERS

INTERFACES = ('position', 'velocity', 'effort')
BOTH = 'position+effort'
CHOICES = (*INTERFACES, BOTH)
EXPECTED = (
    f'one of {", ".join(CHOICES)} for all joints, and joint:interface for single ones, '
    'separated by spaces'
)
PLUGIN = 'joint_state_topic_hardware_interface/JointStateTopicSystem'
OLD_PLUGIN = 'topic_based_ros2_control/TopicBasedSystem'
COMMANDS_TOPIC, STATES_TOPIC = 'joint_commands_topic', 'joint_states_topic'
THRESHOLD, ALWAYS = 'trigger_joint_command_threshold', '-1'
DEFAULT_TOPICS = {COMMANDS_TOPIC: '/robot_joint_commands', STATES_TOPIC: '/robot_joint_states'}
LIMITS = ' enforce_command_limits of controller_manager clamps commands to the limits of joints '
NAME = 'simulated_robot'  # also the name of the component's node
BROADCASTER = 'joint_state_broadcaster'
TRAJECTORIES = 'joint_trajectory_controller'
TYPES = {
    BROADCASTER: 'joint_state_broadcaster/JointStateBroadcaster',
    TRAJECTORIES: 'joint_trajectory_controller/JointTrajectoryController',
    'forward': 'forward_command_controller/ForwardCommandController',
}
POSITION_GAIN = 5.0  # 1/s; velocity per position error, with velocity commands

#: Gains {'p': ..., 'i': ..., 'd': ...} of a joint [N m/rad, N m/(rad s), N m s/rad].
Gains = Mapping[str, float]
DESCRIPTION, CONTROLLERS = 'simulated_robot.urdf', 'controllers.yaml'


def command_interfaces(choice: str, description: RobotDescription) -> dict[str, str]:
    """Return {joint: interface} of the commanded joints, in the order of the robot.

    Each joint has one interface, or position and effort together. With other combinations, the
    hardware component would continue to send the last value of a released interface besides those
    of the active controller.

    Parameters
    ----------
    choice : str
        'effort', or 'position+effort finger:position': words separated by spaces, an interface, or
        both of an impedance drive, for all joints and joint:interface for single ones. Joints
        without either are not commanded.
    description : RobotDescription

    Raises
    ------
    ArgumentError
        An unknown interface or joint, a mimic joint, a joint without exactly one degree of freedom,
        two interfaces for one joint, or none for all.

    Examples
    --------
    >>> from screw_dynamics_ros.core.description import read_urdf
    >>> arm = read_urdf('''<robot name="arm"><link name="a"/><link name="b"/>
    ...   <joint name="elbow" type="continuous"><parent link="a"/><child link="b"/></joint>
    ... </robot>''')
    >>> command_interfaces('effort', arm)
    {'elbow': 'effort'}
    """
    free = [
        joint.name for joint in description.joints if joint.kind.is_scalar and joint.mimic is None
    ]
    general, single = '', dict[str, str]()
    for word in choice.split():
        joint, colon, interface = word.rpartition(':')
        if interface not in CHOICES:
            raise ArgumentError(f'there is no command interface {interface!r}; expected {EXPECTED}')
        if colon:
            _check_joint(joint, free, description)
        if joint in single or (not colon and general):
            raise ArgumentError(f'{joint or "all joints"}: two command interfaces; choose one')
        if colon:
            single[joint] = interface
        else:
            general = interface
    chosen = {joint: single.get(joint, general) for joint in free}
    if not any(chosen.values()):
        raise ArgumentError(f'no joint can be commanded; expected {EXPECTED}')
    return {joint: interface for joint, interface in chosen.items() if interface}


def _check_joint(name: str, free: list[str], description: RobotDescription) -> None:
    if name in free:
        return
    joint = next((joint for joint in description.joints if joint.name == name), None)
    if joint is None:
        near = get_close_matches(name, free, 1)
        hint = f'did you mean {near[0]}? ' if near else ''
        raise ArgumentError(f'there is no joint {name!r}; {hint}joints: {", ".join(free)}')
    if joint.mimic is not None:
        raise ArgumentError(
            f'joint {name!r} follows joint {joint.mimic.joint!r}: ros2_control refuses a command '
            'interface for it; command the other one'
        )
    raise ArgumentError(
        f'joint {name!r} is {joint.type}; only {scalar_types()} joints can be commanded'
    )


@dataclass(frozen=True)
class SimulatedHardware:
    """A robot description with the hardware component of a simulator.

    Attributes
    ----------
    text : str
        The URDF.
    interfaces : {joint: str}
        The command interface of each commanded joint, or 'position+effort', in the order of the
        tag.
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
    other tag is refused, or replaced if `replace` is true. The parameters kp and kd of joints
    remain.

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
    topics = {COMMANDS_TOPIC: commands_topic, STATES_TOPIC: states_topic}
    tag = _tag(description, interfaces, topics, impedance_gains(present))
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
    gains, interfaces = impedance_gains(present), dict[str, str]()
    for joint in component.joints:
        if joint.command_interfaces:
            is_both = joint.name in gains and {*joint.command_interfaces} == {*BOTH.split('+')}
            interfaces[joint.name] = BOTH if is_both else joint.command_interfaces[0]
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
        interfaces,
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
    description: RobotDescription,
    interfaces: Mapping[str, str],
    topics: Mapping[str, str],
    gains: Mapping[str, tuple[float, float]],
) -> str:
    """Return the tag, indented."""
    document = Document()
    tag = _added(document, document, 'ros2_control', name=NAME, type='system')
    hardware = _added(document, tag, 'hardware')
    _added(document, hardware, 'plugin', PLUGIN)
    for name, value in {**topics, THRESHOLD: ALWAYS}.items():
        _added(document, hardware, 'param', value, name=name)
    tag.appendChild(document.createComment(LIMITS))
    for joint in _masters_first(description):
        element = _added(document, tag, 'joint', name=joint.name)
        for name, gain in zip(GAINS, gains.get(joint.name, ())):
            _added(document, element, 'param', repr(gain), name=name)
        for interface in filter(None, interfaces.get(joint.name, '').split('+')):
            _added(document, element, 'command_interface', name=interface)
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


@dataclass(frozen=True)
class Controllers:
    """Controllers and their parameters.

    Attributes
    ----------
    parameters : dict
        {full name of a node: {'ros__parameters': {...}}}, as in a parameter file.
    active, inactive : tuple of str
        Names of the controllers to activate, and of those to load only.
    """

    parameters: dict[str, dict[str, dict[str, Any]]]
    active: tuple[str, ...]
    inactive: tuple[str, ...]

    def yaml(self) -> str:
        """Return the text of a parameter file."""
        head = '# Made by simulation.launch.py for the controllers of a simulated robot.\n'
        return head + yaml.dump(
            self.parameters, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100
        )


class _Dumper(yaml.SafeDumper):
    """Writes YAML without aliases, which ROS 2 does not support."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: never use aliases."""
        return True


def controllers_for(
    interfaces: Mapping[str, str],
    gains: Mapping[str, Gains],
    *,
    namespace: str = '',
    update_rate: int = 500,
    use_sim_time: bool = False,
) -> Controllers:
    """Return the controllers of a robot.

    Parameters
    ----------
    interfaces : {joint: str}
        The command interface of each joint, as `command_interfaces` returns them.
    gains : {joint: Gains}
        Gains of the trajectory controller for each effort-commanded joint.
    namespace : str
        Namespace of the controller manager; '' for none.
    update_rate : int
        Rate of the controller manager [Hz].
    use_sim_time : bool
        Whether they use the time of /clock.

    Raises
    ------
    ArgumentError
        No joint, an unknown interface, a joint without gains.
    """
    groups = {each: [j for j, i in interfaces.items() if i == each] for each in CHOICES}
    groups = {interface: joints for interface, joints in groups.items() if joints}
    if not groups or sum(map(len, groups.values())) != len(interfaces):
        raise ArgumentError(f'command interfaces must be of {", ".join(CHOICES)}: {interfaces}')
    sections: dict[str, dict[str, Any]] = {BROADCASTER: {'type': TYPES[BROADCASTER]}}
    active, inactive = [BROADCASTER], list[str]()
    for interface, joints in groups.items():
        prefix = interface.replace('+', '_')
        path = TRAJECTORIES if len(groups) == 1 else f'{prefix}_trajectory_controller'
        sections[path] = _trajectory_section(interface, joints, gains)
        if interface == BOTH:
            active.append(path)
            continue
        forward = f'{interface}_controller'
        sections[forward] = {
            'type': TYPES['forward'],
            'joints': joints,
            'interface_name': interface,
        }
        first, second = (forward, path) if interface == 'effort' else (path, forward)
        active.append(first)
        inactive.append(second)
    manager = {
        'update_rate': update_rate,
        'use_sim_time': use_sim_time,  # passed on to its controllers
        **{name: {'type': section['type']} for name, section in sections.items()},
    }
    prefix = f'/{namespace.strip("/")}/' if namespace.strip('/') else ''
    return Controllers(
        {
            f'{prefix}{name}': {PARAMETERS: section}
            for name, section in {'controller_manager': manager, **sections}.items()
        },
        tuple(active),
        tuple(inactive),
    )


def _trajectory_section(
    interface: str, joints: list[str], gains: Mapping[str, Gains]
) -> dict[str, Any]:
    """Return the parameters of a trajectory controller."""
    section: dict[str, Any] = {
        'type': TYPES[TRAJECTORIES],
        'joints': joints,
        'command_interfaces': interface.split('+'),
        'state_interfaces': ['position', 'velocity'],
        'allow_partial_joints_goal': True,
    }
    if interface == 'velocity':
        section['gains'] = {
            joint: {'p': POSITION_GAIN, 'ff_velocity_scale': 1.0} for joint in joints
        }
    if interface == 'effort':
        missing = [joint for joint in joints if joint not in gains]
        if missing:
            raise ArgumentError(f'no gains are given for the joints {", ".join(missing)}')
        section['gains'] = {
            joint: {k: float(x) for k, x in gains[joint].items()} for joint in joints
        }
    return section


@dataclass(frozen=True)
class GeneratedFiles:
    """Paths of the files; `temporary` if their folder is temporary and can be deleted."""

    description: Path
    controllers: Path
    temporary: bool


def write_files(
    folder: str, hardware: SimulatedHardware, controllers: Controllers
) -> GeneratedFiles:
    """Write both files; overwrite those of the last run.

    Parameters
    ----------
    folder : str
        Created if missing; '' for a temporary folder.
    hardware : SimulatedHardware
    controllers : Controllers

    Raises
    ------
    ArgumentError
        The files cannot be written.
    """
    try:
        place = Path(folder or tempfile.mkdtemp(prefix='screw_dynamics_ros_'))
        place.mkdir(parents=True, exist_ok=True)
        files = GeneratedFiles(place / DESCRIPTION, place / CONTROLLERS, not folder)
        files.description.write_text(hardware.text, encoding='utf-8')
        files.controllers.write_text(controllers.yaml(), encoding='utf-8')
    except OSError as error:
        raise ArgumentError(
            f'cannot write {error.filename or folder}: {error.strerror}; name a folder that can be '
            'written'
        ) from None
    return files
