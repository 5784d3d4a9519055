"""A bare echo: what any node in Python costs. `echo_in` -> `echo_out`, and `raw_in` -> `raw_out`.

The first takes and sends message objects, as a node usually does; the second hands the bytes on.
The middleware is as ROS sets it up: without the profiles of our nodes.
"""

from __future__ import annotations

import rclpy
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.process.executor import spin


def main() -> None:
    """Run the node, on the same executor as our nodes."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('echo')
    for name, raw in (('echo', False), ('raw', True)):
        publisher = node.create_publisher(JointState, f'{name}_out', 10)
        node.create_subscription(
            JointState, f'{name}_in', publisher.publish, qos_profile_sensor_data, raw=raw
        )
    spin([node])


if __name__ == '__main__':
    main()
