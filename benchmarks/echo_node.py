# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A bare echo: what any node in Python costs. `echo_in` -> `echo_out`, and `raw_in` -> `raw_out`.

The first takes and sends message objects, as a node usually does; the second hands the bytes on.
Everything else is as in our nodes: profiles of the middleware, quality of service, executor, and
the real-time priority that is given as first argument, if any.
"""

from __future__ import annotations

import sys

import rclpy
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.process.executor import spin, start
from screw_dynamics_ros.ros.process.scheduling import use_real_time
from screw_dynamics_ros.ros.topics.qos import JOINT_STATES, OUTPUT


def main() -> None:
    """Run the node, on the same executor as our nodes."""
    start()  # with the profiles
    node = rclpy.create_node('echo')
    for name, raw in (('echo', False), ('raw', True)):
        publisher = node.create_publisher(JointState, f'{name}_out', OUTPUT)
        node.create_subscription(JointState, f'{name}_in', publisher.publish, JOINT_STATES, raw=raw)
    if sys.argv[1:] and sys.argv[1].isdigit() and int(sys.argv[1]):
        use_real_time(int(sys.argv[1]))
    spin([node])


if __name__ == '__main__':
    main()
