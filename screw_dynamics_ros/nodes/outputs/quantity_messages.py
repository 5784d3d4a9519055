# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of the table of outputs, and the formulas of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.robot.actuated_robot import Source
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..model.output_formulas import of_motors

TYPES = {
    'joint_efforts': JointState,
    'matrix': Float64MultiArray,
    'twist': TwistStamped,
    'wrench': WrenchStamped,
}


def message_of(name: str, *arguments: Any) -> tuple[type, Template]:
    """Return type and template of an output; arguments as for `OutputRow.arguments`."""
    row = OUTPUTS[name]
    return TYPES[row.form], getattr(templates, row.form)(*row.arguments(*arguments))


def channel_of(
    publishers: Publishers, name: str, arguments: Sequence[Any], output: Source, token: str = ''
) -> Channel:
    """Return the topic of an output of the kernel, with the numbers of `numbers_of`.

    `arguments` as for `OutputRow.arguments`; `token` is the name of the link in topics.
    """
    kind, template = message_of(name, *arguments)
    path = f'{name}/{token}' if token else name
    return Channel(
        publishers.get(kind, f'~/{path}'),
        template,
        {output: template.array(0)},
        name=path,
        velocity=OUTPUTS[name].velocity,
    )


def numbers_of(name: str, robot: Robot, *options: str) -> Source:
    """Return the formula of the numbers of a message; arguments as for `of_motors`."""
    source = of_motors(OUTPUTS[name], robot, *options)
    if not OUTPUTS[name].is_screw:
        return source
    return Formula('linear first', (source,), swap_linear_angular)
