# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Command interface of each joint, selected by a launch argument."""

from __future__ import annotations

from difflib import get_close_matches

from screw_dynamics_ros.core.description.joint_types import scalar_types
from screw_dynamics_ros.core.description.robot_description import RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError

INTERFACES = ('position', 'velocity', 'effort')
EXPECTED = (
    f'one of {", ".join(INTERFACES)} for all joints, and joint:interface for single ones, '
    'separated by spaces'
)


def command_interfaces(choice: str, description: RobotDescription) -> dict[str, str]:
    """Return {joint: interface} of the commanded joints, in the order of the robot.

    Each joint has one interface. With several, the hardware component would continue to send the
    last value of a released interface besides those of the active controller.

    Parameters
    ----------
    choice : str
        'effort', or 'effort finger:position': words separated by spaces, an interface for all
        joints and joint:interface for single ones. Joints without either are not commanded.
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
        if interface not in INTERFACES:
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
