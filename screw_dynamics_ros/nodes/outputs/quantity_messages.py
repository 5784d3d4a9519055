# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The messages of `core.measurement.quantities` as templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.measurement.quantities import QUANTITIES
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.serialized import Template

MESSAGES: dict[str, tuple[type, Callable[..., Template]]] = {
    'joint_efforts': (JointState, templates.joint_efforts),
    'matrix': (Float64MultiArray, templates.matrix),
    'twist': (TwistStamped, templates.twist),
    'wrench': (WrenchStamped, templates.wrench),
}


def message_of(name: str, *arguments: Any) -> tuple[type, Template]:
    """Return type and template of a quantity; arguments as for `Quantity.arguments`."""
    quantity = QUANTITIES[name]
    kind, template = MESSAGES[quantity.message]
    return kind, template(*quantity.arguments(*arguments))
