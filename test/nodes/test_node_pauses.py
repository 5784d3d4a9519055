# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""After a pause of the process outputs begin with the newest joint state; recordings lose none.

The node runs in this process: it stands still as long as nobody calls it back.
"""

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.process.executor import make_executor
from support.host_bench import Bench, serialized
from support.robots import urdf_path
from support.ros_harness import stamp_of

PANDA, PLANAR = urdf_path('panda').read_text(), urdf_path('planar_2r').read_text()
TOOL = 'panda_hand_tcp'
GROUPS = {'kinematics': Kinematics, 'dynamics': Dynamics, 'wrench_estimator': WrenchEstimator}
TOPICS = {
    f'kinematics/twist/{TOOL}': TwistStamped,
    f'wrench_estimator/wrench/{TOOL}': WrenchStamped,
    'dynamics/gravity': JointState,
}
JOINTS = ('joint1', 'joint2')
MS = 1_000_000  # ns

#: As for an analysis of recordings.
RECORDING = {'max_delay': 0.0, 'qos_overrides./pauses/joint_states.subscription.depth': 1000}


@pytest.fixture(params=['auto', 'single'])
def recorded(ros_domain, request):
    """Return a host with outputs of all groups, and what lets it work."""
    rclpy.init(domain_id=ros_domain)
    overrides = [Parameter(name, value=value) for name, value in RECORDING.items()]
    nodes = [Node('bringup', namespace='/pauses', parameter_overrides=overrides)]
    host = ModelHost(nodes[0])
    for name, group in GROUPS.items():
        nodes.append(Node(name, namespace='/pauses'))
        host.add(group(nodes[-1], host), nodes[-1])
    host.start()
    executor = make_executor(request.param)
    for node in nodes:
        executor.add_node(node)
    yield host, executor
    host.services.worker.end()
    host.drawing.worker.end()
    executor.shutdown()
    for node in (*host.services.nodes, *nodes):
        node.destroy_node()
    rclpy.shutdown()


def test_states_that_come_at_once_are_answered(recorded, connect):
    """Those of 0.2 s at 500 Hz, on every topic, in the order in which they came."""
    robot, client, (host, executor) = Robot.from_urdf(PANDA), connect('pauses'), recorded

    def work():
        executor.spin_once(timeout_sec=0.001)

    client.describe(PANDA)
    client.wait(lambda: work() or host.model, what='the model')
    for topic, message in TOPICS.items():
        client.node.create_subscription(message, topic, client.received[topic].append, 1000)
    q = np.random.default_rng(8).uniform(robot.limits.lower, robot.limits.upper)
    rest = np.zeros((2, robot.nv))
    client.drive(
        lambda _: work() or all(client.received[topic] for topic in TOPICS),
        *(robot.joint_names, q, *rest),
        what='outputs',
    )
    stamps = [
        client.send(robot.joint_names, q + 1e-3 * np.sin(k), *rest, step=0.002) for k in range(100)
    ]
    for topic in TOPICS:
        client.wait(
            lambda topic=topic: work() or stamp_of(client.received[topic][-1]) == stamps[-1],
            what=topic,
        )
        assert [stamp for stamp in client.stamps(topic) if stamp >= stamps[0]] == stamps


@pytest.fixture
def launch(monkeypatch, keep):
    """Make a node with parameters, which has a robot and has heard of it once."""

    def make(**parameters):
        bench = keep(Bench(monkeypatch, backend='native', **parameters))
        bench.describe(PLANAR)
        assert answers(bench, bench.clock.time_ns())
        return bench

    return make


def answers(bench, sent, stamp=None):
    """Let a state come that was sent then; return whether it is answered."""
    bench.sent.clear()
    state = serialized(JOINTS, (0.3, -0.5), sent if stamp is None else stamp)
    bench.host.states.receive(state, {'source_timestamp': sent})
    return any(topic.endswith('dynamics/gravity') for topic, _ in bench.sent)


def test_old_torques_after_a_pause(launch):
    """A node that stood still answers nothing that was sent more than max_delay ago."""
    bench = launch(max_delay=0.02)
    start = bench.clock.time_ns()
    bench.clock.offset += 0.9
    delays = {k: 900 - 2 * k for k in range(1, 450)}  # ms
    answered = {k: answers(bench, start + 2 * k * MS) for k in delays}
    assert not any(answered[k] for k, delay in delays.items() if delay > 25)
    assert all(answered[k] for k, delay in delays.items() if delay < 20)


def test_a_slow_replay_is_no_pause(launch):
    """Stamps say nothing about delays: at a tenth of its speed, each state is answered."""
    bench = launch(max_delay=1.0)
    start = bench.clock.time_ns()
    for k in range(1, 100):
        bench.clock.offset += 0.01
        assert answers(bench, bench.clock.time_ns(), start + k * MS), k
