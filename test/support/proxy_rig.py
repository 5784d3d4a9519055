# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A client, the node `trajectory_proxy` and a controller in one process, by real actions."""

import threading
import time

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('control_msgs.action')

from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.trajectory.trajectory_proxy import TrajectoryProxy
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.process.worker import Worker
from support.planar_2r import LIMITED
from support.recording_controller import RecordingController

DEADLINE = 300.0  # s; only a failing test waits that long
JOINTS = ('joint1', 'joint2')


def goal(times=(0.0, 1.0, 2.0), q=((0, 0), (0.1, 0.2), (0.2, 0.1)), names=JOINTS, **fields):
    message = JointTrajectory(joint_names=list(names))
    for time_from_start, values in zip(times, q):
        point = JointTrajectoryPoint(positions=list(map(float, values)))
        set_duration(point.time_from_start, time_from_start)
        message.points.append(point)
    return FollowJointTrajectory.Goal(trajectory=message, **fields)


class Sent:
    """A goal as its client sees it."""

    def __init__(self, rig, message):
        self.rig, self.feedback = rig, []
        future = rig.client.send_goal_async(message, lambda each: self.feedback.append(each))
        rig.wait(future.done)
        self.handle = future.result()
        assert self.handle.accepted
        self._result = self.handle.get_result_async()

    @property
    def ended(self):
        return self._result.done()

    def cancel(self):
        return self.handle.cancel_goal_async()

    def result(self):
        """Wait for the end; return status, error code and text."""
        self.rig.wait(self._result.done)
        answer = self._result.result()
        return answer.status, answer.result.error_code, answer.result.error_string


class Rig:
    """Client and proxy, run by one executor, and the controller, which may stand still.

    All rigs of a file prepare trajectories in one process, which takes a second to start.
    """

    count = 0
    worker = None

    def __init__(self, clock, **parameters):
        Rig.count += 1
        self.clock, self.sent = clock, []
        self.space = f'/rig{Rig.count}'
        self.executor = SingleThreadedExecutor()
        self.node = Node('trajectory_proxy', namespace=self.space, parameter_overrides=[
            Parameter(name, value=value)
            for name, value in {
                'robot_description': LIMITED,
                'gravity': [0.0, -9.81, 0.0],
                'controller_action': 'arm/follow_joint_trajectory',
                'controller_timeout': 0.5,
                **parameters,
            }.items()
        ])  # fmt: skip
        self.host = ModelHost(self.node)
        self.proxy = TrajectoryProxy(self.node, self.host)
        if Rig.worker is None or Rig.worker.ended:
            Rig.worker = Worker('prepares trajectories')
        self.proxy._worker = Rig.worker
        self.host.add(self.proxy, self.node)
        self.host.start()
        self.other = Node('others', namespace=self.space)
        self.client = ActionClient(
            self.other, FollowJointTrajectory, 'trajectory_proxy/follow_joint_trajectory'
        )
        self.arm, self.stands_still = None, False
        self.robot, self.of_robot = Node('robot', namespace=self.space), SingleThreadedExecutor()
        self.of_robot.add_node(self.robot)
        for node in (self.node, *self.proxy.nodes, self.other):
            self.executor.add_node(node)
        self.wait(lambda: self.host.model is not None and self.client.server_is_ready())

    def start_controller(self):
        self.arm = RecordingController(self.robot, 'arm/follow_joint_trajectory')
        self.wait(lambda: self.proxy.relay.is_ready)

    def kill_controller(self):
        self.arm.server.destroy()
        self.arm = None
        self.wait(lambda: not self.proxy.relay.is_ready)

    def wait(self, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end
            self.turn()

    def pass_time(self, seconds):
        """Let time pass, and what is due be done."""
        self.clock.offset += seconds
        self.proxy.relay._watch()

    def turn(self):
        self.executor.spin_once(0.002)
        if not self.stands_still:
            self.of_robot.spin_once(0)

    def send(self, message=None):
        self.sent.append(Sent(self, goal() if message is None else message))
        return self.sent[-1]

    def run(self, message=None):
        """Send a goal; return it when the controller executes it."""
        before = len(self.arm.goals)
        sent = self.send(message)
        self.wait(lambda: len(self.arm.goals) > before and self.proxy.relay.coming is None)
        return sent

    def busy_preparation(self):
        """Let goals wait for their preparation until the event that is returned is set."""
        begun, gate = threading.Event(), threading.Event()

        def task():
            begun.set()
            gate.wait(DEADLINE)

        self.proxy._preparation.ask(task)
        assert begun.wait(DEADLINE)
        return gate

    def set(self, **values):
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        assert self.node.set_parameters_atomically(parameters).successful

    def close(self):
        self.executor.shutdown()
        self.of_robot.shutdown()
        for node in (self.node, *self.proxy.nodes, self.other, self.robot):
            node.destroy_node()
