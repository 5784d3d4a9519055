# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A driver that does nothing but publish joint states in time.

    joint_state_driver.py RATE FILE URDF PRIORITY [NAMESPACE ...]

Messages are serialized before it begins; a stamp, the time of sending, is written into the bytes.
All namespaces get the same message. At the end (SIGTERM) the stamps of all messages go to FILE.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from array import array
from math import cos, pi, sin

import rclpy
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.process.scheduling import use_real_time
from screw_dynamics_ros.ros.topics.publishers import raw_publish

MIDDLE = (0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02)  # of a small motion of a Panda
POSTURES = 1000
STAMP = struct.Struct('<iI')
STAMP_AT = 4  # after the encapsulation


def messages(joints: list[str], rate: float) -> list[bytearray]:
    """Return the messages of one period of the motion; velocities are those of the positions."""
    made, frequency = [], 2 * pi * rate / POSTURES
    for k in range(POSTURES):
        phase = 2 * pi * k / POSTURES
        message = JointState(name=joints)
        middle = MIDDLE if len(joints) == len(MIDDLE) else [0.1] * len(joints)
        message.position = [x + 0.01 * sin(phase + i) for i, x in enumerate(middle)]
        message.velocity = [0.01 * frequency * cos(phase + i) for i in range(len(joints))]
        message.effort = [float(i) for i in range(len(joints))]
        made.append(bytearray(serialize_message(message)))
    return made


def main(rate: float, file: str, description: str, priority: int, spaces: list[str]) -> None:
    """Publish until the process is asked to end; states that it is late for are left out."""
    with open(description, encoding='utf-8') as text:
        joints = list(Robot.from_urdf(text.read(), backend='reference').joint_names)
    prepared, stamps, ended = messages(joints, rate), array('q'), []
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    node = rclpy.create_node('joint_state_driver')
    publishers = [
        raw_publish(
            node.create_publisher(JointState, f'{space}/joint_states', QoSProfile(depth=10))
        )
        for space in spaces or ['']
    ]
    if priority:
        use_real_time(priority)
    period, due = 1.0 / rate, time.monotonic()
    while not ended:
        due = max(due + period, time.monotonic() - period)
        time.sleep(max(0.0, due - time.monotonic()))
        message, now = prepared[len(stamps) % POSTURES], time.time_ns()
        STAMP.pack_into(message, STAMP_AT, *divmod(now, 1_000_000_000))
        for publish in publishers:
            publish(bytes(message))
        stamps.append(now)
    with open(file, 'wb') as out:
        stamps.tofile(out)
    os._exit(0)


if __name__ == '__main__':
    main(float(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
