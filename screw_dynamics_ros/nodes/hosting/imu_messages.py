# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a sensor_msgs/Imu contains besides its orientation."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.estimation.gravity_direction import down_by_force
from screw_dynamics_ros.core.types import Array

IN_G = 1.0  # magnitude of gravity for drivers that report accelerations as multiples of it
UNKNOWN = -1.0  # first element of the covariance of a missing quantity, see sensor_msgs/Imu


def down_at_rest(message: Any, magnitude: float) -> Array | None:
    """Return the unit vector (3,) of free fall in the frame of an IMU by its acceleration.

    None if the message has no acceleration, or the IMU is not at rest; `magnitude` is that of
    gravity [m/s^2].
    """
    if message.linear_acceleration_covariance[0] == UNKNOWN:
        return None
    f, w = message.linear_acceleration, message.angular_velocity
    rate = np.zeros(3)
    if message.angular_velocity_covariance[0] != UNKNOWN:
        rate = np.array([w.x, w.y, w.z])
    return down_by_force(np.array([f.x, f.y, f.z]), rate, magnitude)


def down_to_compare(message: Any, magnitude: float) -> Array | None:
    """Return the same to compare an orientation with: the acceleration may also be in g."""
    down = down_at_rest(message, magnitude)
    return down_at_rest(message, IN_G) if down is None else down
