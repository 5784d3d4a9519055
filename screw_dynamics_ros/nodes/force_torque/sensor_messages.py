# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a force-torque sensor: checked, and the latest kept."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import shown

#: Time [ns] by which stamps may run backwards before it is another run of time.
MAX_BACKWARD_JUMP_NS = 10**9


class WrenchSample(NamedTuple):
    """What one message says.

    Attributes
    ----------
    stamp : int
        [ns].
    wrench : (6,) array
        Moment and force of the environment on the robot.
    arrival : float
        On the monotonic clock [s].
    """

    stamp: int
    wrench: Array
    arrival: float


class SensorMessages:
    """The latest samples without a pause among them.

    Attributes
    ----------
    accepted : int
        Messages so far.
    frame : str
        header.frame_id of the first one, '' before.
    """

    def __init__(self) -> None:
        self.accepted, self.frame = 0, ''
        self._samples: deque[WrenchSample] = deque(maxlen=100)

    @property
    def last(self) -> float:
        """When the last one came, on the monotonic clock [s]; -inf before."""
        return self._samples[-1].arrival if self._samples else -math.inf

    def keep(self, most: int) -> None:
        """Keep that many from now on."""
        self._samples = deque(self._samples, most)

    def forget(self) -> None:
        """Forget the samples."""
        self._samples.clear()

    def restart(self) -> None:
        """Forget the samples and the frame."""
        self.forget()
        self.frame = ''

    def take(self, message: Any, frame: str, sign: float, longest: float) -> WrenchSample:
        """Return the sample of a geometry_msgs/WrenchStamped.

        Parameters
        ----------
        message : geometry_msgs.msg.WrenchStamped
        frame : str
            The frame that is set; '' for that of the first message, which all must have then.
        sign : float
            1, or -1 for a sensor that shows the opposite.
        longest : float
            Pause after which samples before it are forgotten [s].

        Raises
        ------
        ArgumentError
            For numbers that are not finite, another frame, and a stamp that is missing or does not
            advance. The message is not used.
        """
        f, n, header = message.wrench.force, message.wrench.torque, message.header
        wrench = sign * np.array([n.x, n.y, n.z, f.x, f.y, f.z])
        if not np.isfinite(wrench).all():
            raise ArgumentError('a number is not finite')
        if not frame:
            self._check_frame(header.frame_id)
        stamp = header.stamp.sec * 10**9 + header.stamp.nanosec
        if stamp == 0:
            raise ArgumentError('it has no stamp, by which the motion is found')
        before = self._samples[-1].stamp if self._samples else stamp - 1
        if before - MAX_BACKWARD_JUMP_NS < stamp <= before:
            raise ArgumentError(
                'its stamp is not later than that of the one before: by '
                f'{(before - stamp) * 1e-9:g} s'
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
                f'its frame is another one: {shown(frame)!r}, that of the first one '
                f'{shown(self.frame)!r}; several sensors on one topic, or set sensor_frame'
            )

    @property
    def samples(self) -> list[WrenchSample]:
        """The latest ones."""
        return list(self._samples)
