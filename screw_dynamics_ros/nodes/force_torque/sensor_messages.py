# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a force-torque sensor: validation, and a buffer of the latest."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import shown

INPUT = 'wrench'

#: Largest backward step of stamps [ns]; a larger one is a restart of the clock.
MAX_BACKWARD_JUMP_NS = 10**9


def check_one_sensor(node: Node) -> None:
    """Raise `ArgumentError` if several publishers send messages, which would be mixed."""
    topic = node.resolve_topic_name(INPUT)
    count = node.count_publishers(topic)
    if count > 1:
        raise ArgumentError(
            f'{count} publishers on {topic}: messages of several sensors would be mixed; stop the '
            f'others, or remap {INPUT} to a topic with one'
        )


class WrenchSample(NamedTuple):
    """Contents of one message.

    Attributes
    ----------
    stamp : int
        [ns].
    wrench : (6,) array
        Moment and force of the environment on the robot.
    arrival : float
        Arrival time on the monotonic clock [s].
    """

    stamp: int
    wrench: Array
    arrival: float


class SensorMessages:
    """The latest samples without a pause between them.

    Attributes
    ----------
    accepted : int
        Number of accepted messages.
    frame : str
        header.frame_id of the first message, '' before.
    """

    def __init__(self) -> None:
        self.accepted, self.frame = 0, ''
        self._samples: deque[WrenchSample] = deque(maxlen=100)

    @property
    def last(self) -> float:
        """Arrival of the last message on the monotonic clock [s]; -inf before."""
        return self._samples[-1].arrival if self._samples else -math.inf

    def keep(self, most: int) -> None:
        """Set the number of stored samples."""
        self._samples = deque(self._samples, most)

    def forget(self) -> None:
        """Discard the samples."""
        self._samples.clear()

    def restart(self) -> None:
        """Discard the samples and the frame."""
        self.forget()
        self.frame = ''

    def take(self, message: Any, frame: str, sign: float, longest: float) -> WrenchSample:
        """Return the sample of a geometry_msgs/WrenchStamped.

        Parameters
        ----------
        message : geometry_msgs.msg.WrenchStamped
        frame : str
            Parameter sensor_frame; if '', all messages must have the frame of the first one.
        sign : float
            1, or -1 for a sensor that reports the opposite wrench.
        longest : float
            Duration of a pause after which earlier samples are discarded [s].

        Raises
        ------
        ArgumentError
            For numbers that are not finite, another frame, and a missing or repeated stamp. The
            message is not used.
        """
        f, n, header = message.wrench.force, message.wrench.torque, message.header
        wrench = sign * np.array([n.x, n.y, n.z, f.x, f.y, f.z])
        if not np.isfinite(wrench).all():
            raise ArgumentError('a number is not finite')
        if not frame:
            self._check_frame(header.frame_id)
        stamp = header.stamp.sec * 10**9 + header.stamp.nanosec
        if stamp == 0:
            raise ArgumentError('it has no stamp, which is needed to find the motion')
        before = self._samples[-1].stamp if self._samples else stamp - 1
        if before - MAX_BACKWARD_JUMP_NS < stamp <= before:
            raise ArgumentError(
                'its stamp is not later than the previous one: it is '
                f'{(before - stamp) * 1e-9:g} s earlier'
            )
        if not 0 < stamp - before <= longest * 1e9:
            self.forget()
        sample = WrenchSample(stamp, wrench, time.monotonic())
        self._samples.append(sample)
        self.accepted += 1
        return sample

    def _check_frame(self, frame: str) -> None:
        if not frame:
            raise ArgumentError('it has no frame: set sensor_frame')
        self.frame = self.frame or frame
        if frame != self.frame:
            raise ArgumentError(
                f'its frame differs from the first one: {shown(frame)!r} instead of '
                f'{shown(self.frame)!r}; use one topic for each sensor, or set sensor_frame'
            )

    @property
    def samples(self) -> list[WrenchSample]:
        """The stored samples."""
        return list(self._samples)
