# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of controller_manager and of controllers for the joints of a simulated robot.

* joint_state_broadcaster publishes the joint states, as on a real robot.
* <interface>_controller forwards commands (forward_command_controller); effort_controller receives
  those that `dynamics` publishes on ~/commands.
* joint_trajectory_controller executes trajectories. There is one for each command interface in use,
  because all joints of a controller need the same; with efforts and velocities it closes a position
  loop.

For positions and velocities the trajectory controllers are active, for efforts the forwarding
controller; the others are loaded but inactive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from screw_dynamics_ros.core.errors import ArgumentError

from ..parameter_files import PARAMETERS
from .command_interfaces import INTERFACES

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
    groups = {each: [j for j, i in interfaces.items() if i == each] for each in INTERFACES}
    groups = {interface: joints for interface, joints in groups.items() if joints}
    if not groups or sum(map(len, groups.values())) != len(interfaces):
        raise ArgumentError(f'command interfaces must be of {", ".join(INTERFACES)}: {interfaces}')
    sections: dict[str, dict[str, Any]] = {BROADCASTER: {'type': TYPES[BROADCASTER]}}
    active, inactive = [BROADCASTER], list[str]()
    for interface, joints in groups.items():
        path = TRAJECTORIES if len(groups) == 1 else f'{interface}_trajectory_controller'
        forward = f'{interface}_controller'
        sections[path] = _trajectory_section(interface, joints, gains)
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
        'command_interfaces': [interface],
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
