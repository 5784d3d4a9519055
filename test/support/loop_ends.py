# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A program: what a compiled loop uses is destroyed while its thread runs, in the order of a seed.

python test/support/loop_ends.py DOMAIN SEED
"""

import gc
import random
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from support.robots import urdf_path

DEADLINE = 240.0  # s; only a failing program waits that long


def wait(condition, work):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        work()


def main(domain, seed):
    peers, joints = rclpy.Context(), ['joint1', 'joint2']
    rclpy.init(context=peers, domain_id=domain)
    rclpy.init(domain_id=domain)
    peer = rclpy.create_node('peer', context=peers, namespace='/ends')
    driver = peer.create_publisher(JointState, 'joint_states', qos_profile_sensor_data)
    received = []
    peer.create_subscription(JointState, 'dynamics/gravity', received.append, 10)
    listener, executor = SingleThreadedExecutor(context=peers), SingleThreadedExecutor()
    listener.add_node(peer)
    parameters = {'robot_description': urdf_path('planar_2r').read_text(), 'max_delay': 0.0}
    node = Node(
        'dynamics',
        namespace='/ends',
        parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()],
    )
    host = ModelHost(node)
    host.add(Dynamics(node, host), node)
    host.start()
    loop = host.compiled_loop()
    executor.add_node(node)
    loop.start()
    thread, load = loop._thread, host.states.load

    def send():
        """Send a state, and let the thread work."""
        message = JointState(name=joints, position=[0.3, 0.4], velocity=[0.0, 0.0])
        message.header.stamp = peer.get_clock().now().to_msg()
        driver.publish(message)
        listener.spin_once(timeout_sec=0.002)

    def begin():
        executor.spin_once(timeout_sec=0.002)
        send()

    wait(lambda: len(received) > 30, begin)
    (gravity,) = [each for each in host.states.channels if each.topic.endswith('/gravity')]

    def clear():
        host.states.channels, host.states.listened = [], []
        gc.collect()

    acts = {
        'publisher': lambda: node.destroy_publisher(gravity.publisher),
        'subscription': host._subscription.destroy,
        'node': node.destroy_node,
        'context': rclpy.shutdown,
        'channels': clear,
        'stop': loop.stop,
    }
    order = random.Random(seed).sample([*acts], len(acts))
    print(*order, flush=True)
    for name in order:
        acts[name]()
        gc.collect()
        arrivals = load.arrivals + 20
        wait(lambda last=arrivals: load.arrivals >= last or not thread.is_alive(), send)
    assert not thread.is_alive()
    peer.destroy_node()
    rclpy.shutdown(context=peers)


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
    print('ended', flush=True)
