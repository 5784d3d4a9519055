# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the topics that repeat outputs for ros2_control."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.names import shown
from screw_dynamics_ros.ros.parameters import Specification

REFERENCE, COMMANDS = WRENCHES = 'wrench_reference', 'sensor_commands'
INTERFACES, COMPONENT, TIMEOUT = 'state_interfaces', 'state_interface_component', 'repeat_timeout'
NAMED_OUTPUT = re.compile(r'([A-Za-z0-9_.-]+)=([^\s=]+)')
NODE = re.compile(r'(/?[a-z_][a-z0-9_]*)+')

TABLE = (
    Specification(
        REFERENCE,
        '',
        'The wrench that ~/wrench_reference repeats for an admittance_controller, the name of its '
        'topic without that of the node, such as reduced_wrench/tool0; zeros while it is not '
        'valid. Empty: no such topic.',
        rule='empty, or a topic of wrenches of this process',
    ),
    Specification(
        COMMANDS,
        '',
        'As wrench_reference, on ~/sensor_commands (std_msgs/Float64MultiArray), for a controller '
        'that forwards commands to a mock sensor.',
        rule='empty, or a topic of wrenches of this process',
    ),
    Specification(
        INTERFACES,
        [''],
        'Outputs that become state interfaces of the component state_interface_component, as '
        'SENSOR=TOPIC, such as tool=reduced_wrench/tool0 for tool/force.x to tool/torque.z; NaN '
        'while they are not valid.',
        rule='SENSOR=TOPIC each, with different sensors',
    ),
    Specification(
        COMPONENT,
        '',
        'Node of the hardware component cm_topic_hardware_component/CMTopicSystem, which receives '
        'the state_interfaces: its name in lower case, with its namespace.',
        rule='the name of a node, if there are state_interfaces',
    ),
    Specification(
        TIMEOUT,
        0.1,
        'Time without an output after which its repetitions for ros2_control are zeros or NaN [s]; '
        'more than the period of joint states.',
        minimum=0.005,
        maximum=10.0,
    ),
)

#: Those that change the topics.
SHAPING = frozenset({*WRENCHES, INTERFACES, COMPONENT})


def interfaces(values: Sequence[str]) -> dict[str, str]:
    """Return the topics of the sensors; raises `ArgumentError`."""
    found: dict[str, str] = {}
    for text in filter(None, values):
        match = NAMED_OUTPUT.fullmatch(text)
        if match is None or match[1] in found:
            what = 'is not SENSOR=TOPIC' if match is None else 'names a sensor again'
            raise ArgumentError(
                f'{INTERFACES}: {shown(text)!r} {what}; expected such as tool=reduced_wrench/tool0'
            )
        found[match[1]] = match[2]
    return found


def check(values: Mapping[str, Any]) -> None:
    """Refuse state interfaces without a component; raises `ArgumentError`."""
    component = values[COMPONENT]
    if interfaces(values[INTERFACES]) and NODE.fullmatch(component) is None:
        raise ArgumentError(
            f'{COMPONENT} {shown(component)!r} is not the name of a node: set it to the name of '
            'the <ros2_control> tag, in lower case'
        )
