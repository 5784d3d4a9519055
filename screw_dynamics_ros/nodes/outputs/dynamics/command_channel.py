"""Topics of torques: the messages, and a deadline for sending."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.output_group import Channel
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.serialized import Template


def joint_command(names: Sequence[str]) -> tuple[type, Template]:
    """Return type and template of a stamped command of efforts by joint names.

    control_msgs/JointCommand where the distribution has it, sensor_msgs/JointState otherwise.
    """
    try:
        from control_msgs.msg import JointCommand
    except ImportError:
        return JointState, templates.joint_efforts(names)

    def build(stamp: Any, numbers: list[float]) -> Any:
        message = JointCommand(joint_names=list(names), interface_name='effort', values=numbers)
        message.header.stamp = stamp
        return message

    return JointCommand, Template(build, len(names))


class CommandChannel(Channel):
    """A topic with a deadline for sending: the process may have been stopped before.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    template : Template
        Its numbers are the torques.
    places : array of int, or slice
        Which elements of a command.
    is_known : callable
        Whether there is a command.

    Attributes
    ----------
    latest : float
        That time, on the monotonic clock [s].
    """

    rank = 1  # Fast DDS wakes a thread for each deadline, which holds up what is sent after it

    def __init__(
        self, publisher: Any, template: Template, places: Any, is_known: Callable[[], bool]
    ) -> None:
        super().__init__(publisher, template, {}, is_valid=is_known)
        self._torques, self._places = template.array(0), places
        self.latest = np.inf

    def write(self, command: Array, latest: float) -> None:
        """Take over a command."""
        self._torques[:] = command[self._places]
        self.latest = latest

    def publish(self, stamp: bytes) -> None:
        """Publish the present numbers, unless it is too late; checked right before sending."""
        data = self._encode(stamp)
        if time.monotonic() <= self.latest:
            self.send(data)
            self.published += 1
