# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion and validation of serialized messages from a running robot.

Each function returns None for an invalid message: wrong length, NaN or infinite numbers, links or
joints that the robot does not have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import printable

from .state import DiagnosticLine, Level

LEVELS: tuple[Level, ...] = ('ok', 'warning', 'error', 'stale')  # of diagnostic_msgs
MAX_STATUSES = 64  # per message


def torques_of(message: JointStateMessage, joints: ScalarJoints) -> Array | None:
    """Return the efforts of the joints, (nv,), zero for joints not in the message."""
    names, efforts = message.names, message.effort
    if not len(names) == len(efforts) == len(set(names)) or not np.isfinite(efforts).all():
        return None
    if names == joints.joints:
        return joints.whole_v(efforts)
    if not names or not set(names) <= set(joints.joints):
        return None
    values = dict(zip(names, efforts))
    return joints.whole_v(np.array([values.get(name, 0.0) for name in joints.joints]))


def wrench_of(data: bytes) -> tuple[str, Array] | None:
    """Return frame and wrench of a WrenchStamped, (moment, force)."""
    message = deserialize_message(data, WrenchStamped)
    moment, force = message.wrench.torque, message.wrench.force
    wrench = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
    return (message.header.frame_id, wrench) if np.isfinite(wrench).all() else None


def covariance_of(data: bytes) -> Array | None:
    """Return the covariance (6, 6) of a wrench (moment, force)."""
    numbers = np.asarray(deserialize_message(data, Float64MultiArray).data, dtype=float)
    if numbers.shape != (36,) or not np.isfinite(numbers).all():
        return None
    return swap_linear_angular(swap_linear_angular(numbers.reshape(6, 6)).T)


def contact_point_of(data: bytes) -> tuple[str, Array] | None:
    """Return the frame of a contact, and the contact point (3,) in this frame."""
    message: Any = deserialize_message(data, PoseWithCovarianceStamped)
    position = message.pose.pose.position
    point = np.array([position.x, position.y, position.z])
    return (message.header.frame_id, point) if np.isfinite(point).all() else None


def statuses_of(data: bytes) -> list[DiagnosticLine]:
    """Return the statuses of a DiagnosticArray as single-line texts."""
    return [
        DiagnosticLine(
            LEVELS[min(status.level[0], len(LEVELS) - 1)],
            printable(status.name, 100),
            printable(status.message),
        )
        for status in deserialize_message(data, DiagnosticArray).status[:MAX_STATUSES]
    ]
