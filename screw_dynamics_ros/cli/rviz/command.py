# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start rviz2 for the robot whose description is on the topic robot_description.

    ros2 run screw_dynamics_ros rviz
    ros2 run screw_dynamics_ros rviz --print --ros-args -r __ns:=/left -p frame_prefix:=left_

Fixed frame, frames, topics and point of view are those of the robot.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String

from screw_dynamics_ros.cli.command_line import command_parser, own_arguments
from screw_dynamics_ros.cli.rviz.configuration import configuration
from screw_dynamics_ros.core import DescriptionError, Robot, ScrewDynamicsError
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.share import share_folder

ENDED, NOT_INSTALLED, INTERRUPTED = 0, 3, 128 + signal.SIGINT
EXIT_STATUS = f'exit status: that of rviz2, {NOT_INSTALLED} if it is not installed'
REMINDER_PERIOD_S = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Wait for a description, then run rviz2; return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse(given)
    if not options.print and shutil.which('rviz2') is None:
        print('rviz: rviz2 is not installed; install it, or use --print', file=sys.stderr)
        return NOT_INSTALLED
    rclpy.init(args=given)
    try:
        node = rclpy.create_node('rviz_configuration')
        made = made_of(node)
        namespace = node.get_namespace()
        node.destroy_node()
    except (KeyboardInterrupt, ExternalShutdownException):
        return INTERRUPTED
    finally:
        rclpy.try_shutdown()
    if options.print:
        print(made, end='')
        return ENDED
    return run(made, namespace)


def made_of(node: Node) -> str:
    """Return the configuration for the first description that describes a robot."""
    prefix = node.declare_parameter('frame_prefix', '').value
    template = (share_folder() / 'rviz' / 'model.rviz').read_text(encoding='utf-8')
    texts: list[str] = []
    subscription = node.create_subscription(
        String, 'robot_description', lambda message: texts.append(message.data), qos.LATCHED
    )
    remind = time.monotonic() + REMINDER_PERIOD_S
    while True:
        rclpy.spin_once(node, timeout_sec=0.2)
        if texts:
            try:
                robot = robot_of(texts.pop())
                return configuration(template, robot, namespace=node.get_namespace(), prefix=prefix)
            except ScrewDynamicsError as error:
                node.get_logger().error(f'another description is waited for: {error}')
        elif time.monotonic() > remind:
            node.get_logger().info(f'waiting for a description on {subscription.topic_name}')
            remind += REMINDER_PERIOD_S


def robot_of(text: str) -> Robot:
    """Return the robot of a description; raises `ScrewDynamicsError`."""
    if '<' not in text:  # a path would be opened
        raise DescriptionError(f'the description is not XML but {text[:60]!r}')
    return Robot.from_urdf(text, backend='reference')


def run(made: str, namespace: str) -> int:
    """Run rviz2 with a configuration; signals are for it."""
    with tempfile.TemporaryDirectory(prefix='screw_dynamics_ros_') as folder:
        path = Path(folder) / 'robot.rviz'
        path.write_text(made, encoding='utf-8')
        process = subprocess.Popen(
            ['rviz2', '-d', str(path), '--ros-args', '-r', f'__ns:={namespace}']
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: process.send_signal(number))
        return process.wait()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('rviz', __doc__, EXIT_STATUS)
    parser.add_argument(
        '--print', action='store_true', help='print the configuration, and start nothing'
    )
    return parser.parse_args(own_arguments(arguments))


if __name__ == '__main__':
    sys.exit(main())
