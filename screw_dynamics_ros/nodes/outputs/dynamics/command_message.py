# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of commanded torques, with a deadline for sending."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.compatibility import joint_command_type
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.serialized import Template


def joint_command(names: Sequence[str]) -> tuple[type, Template]:
    """Return type and template of a stamped effort command by joint names.

    The type is control_msgs/JointCommand if the distribution has it, else sensor_msgs/JointState.
    """
    kind = joint_command_type()
    if kind is None:
        return JointState, templates.joint_efforts(names)

    def build(stamp: Any, numbers: list[float]) -> Any:
        message = kind(joint_names=list(names), interface_name='effort', values=numbers)
        message.header.stamp = stamp
        return message

    return kind, Template(build, len(names))


class CommandMessage(Record):
    """A message with a deadline for sending, because the process may have stalled.

    Parameters
    ----------
    template : Template
        Template whose numbers are the torques.
    places : array of int, or slice
        Indices of the elements of a command.

    Attributes
    ----------
    latest : float
        The deadline, on the monotonic clock [s].
    torques : array
        The numbers of the message.
    places : array of int
    template : Template
    """

    latest: float
    torques: Floats
    places: Ints

    def __init__(self, template: Template, places: Any) -> None:
        self.template, self.torques = template, template.array(0)
        self.places = np.arange(len(self.torques))
        if not isinstance(places, slice):
            self.places = np.array(places, dtype=np.int64)
        self.latest = np.inf

    def write(self, command: Array, latest: float) -> None:
        """Set the torques and the deadline [s]."""
        self.torques[:] = command[self.places]
        self.latest = latest

    def __call__(self, stamp: bytes) -> bytes | None:
        """Return the message, or None after the deadline; called right before sending."""
        data = self.template.encode(stamp)
        return data if time.monotonic() <= self.latest else None
