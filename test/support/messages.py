# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages from arrays."""

from geometry_msgs.msg import PoseStamped, WrenchStamped
from scipy.spatial.transform import Rotation


def write(part, axes, values):
    for axis, value in zip(axes, values):
        setattr(part, axis, float(value))


def write_stamp(message, stamp):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)


def pose_message(C, frame_id=''):
    """Return (4, 4) as PoseStamped."""
    message = PoseStamped()
    message.header.frame_id = frame_id
    write(message.pose.position, 'xyz', C[:3, 3])
    write(message.pose.orientation, 'xyzw', Rotation.from_matrix(C[:3, :3]).as_quat())
    return message


def wrench_message(frame_id='', force=(), torque=(), stamp=0):
    """Return a WrenchStamped with a stamp [ns]."""
    message = WrenchStamped()
    write_stamp(message, stamp)
    message.header.frame_id = frame_id
    write(message.wrench.force, 'xyz', force)
    write(message.wrench.torque, 'xyz', torque)
    return message
