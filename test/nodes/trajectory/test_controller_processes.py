# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Goals whose controller, a process of its own, ends and returns, or refuses to cancel them.

The timeout of the controller is so long that no goal ends by it.
"""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip('control_msgs.action')

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.ros.process.children import end_with_parent, free_domain
from screw_dynamics_ros.ros.status import Level
from support.paths import ROOT
from support.planar_2r import LIMITED

ACTION = 'arm/follow_joint_trajectory'
STATUS = 'trajectory_proxy: trajectory proxy'


@pytest.fixture(scope='module')
def ros_domain():
    """Return a domain of its own: killed processes leave shared memory that disturbs others."""
    return free_domain(61, 100)


class Controller:
    """A process with the action server of a controller, which serves on request."""

    def __init__(self, domain, folder, *options):
        self.log = folder / f'controller_{len(list(folder.iterdir()))}.log'
        paths = [str(ROOT / 'test'), str(ROOT), os.environ.get('PYTHONPATH', '')]
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'support.recording_controller', f'/{ACTION}', *options],
                env={
                    **os.environ,
                    'ROS_DOMAIN_ID': str(domain),
                    'PYTHONPATH': os.pathsep.join(paths),
                },
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                preexec_fn=end_with_parent,
            )

    def has_printed(self, line):
        return line in self.log.read_text().splitlines()

    def serve(self):
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(240.0)


class Rig:
    """A proxy in its process, a client, and controllers."""

    def __init__(self, domain, folder, start, connect, **parameters):
        self._domain, self._folder, self._made = domain, folder, []
        self.proxy = start(
            'trajectory_proxy',
            {'controller_action': f'/{ACTION}', 'controller_timeout': 1000.0, **parameters},
        )
        self.client = connect()
        self.client.describe(LIMITED)
        self.actions = ActionClient(
            self.client.node, FollowJointTrajectory, '/trajectory_proxy/follow_joint_trajectory'
        )
        self.wait(self.actions.server_is_ready)

    def controller(self, *options):
        """Return a controller that is ready to serve."""
        made = Controller(self._domain, self._folder, *options)
        self._made.append(made)
        self.wait(lambda: made.has_printed('ready'))
        return made

    def wait(self, condition):
        return self.client.wait(condition)

    def expect(self, level, *texts):
        return self.client.expect(STATUS, level, *texts)

    def run(self, controller, count=3):
        """Send a goal; return it, and the future of its result, when the controller has it."""
        points = [JointTrajectoryPoint(positions=[0.1 * k, 0.05 * k]) for k in range(count)]
        for k, point in enumerate(points):
            point.time_from_start.sec = k
        names = ['joint1', 'joint2'] if count else []
        trajectory = JointTrajectory(joint_names=names, points=points)
        sent = self.actions.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory))
        self.wait(sent.done)
        handle = sent.result()
        assert handle.accepted
        if controller is not None:
            self.wait(lambda: controller.has_printed('goal'))
            status = 'active: executed by the controller'
            self.wait(lambda: self.values().get('goal') == status)
        return handle, handle.get_result_async()

    def values(self):
        return self.client.diagnostics.get(STATUS, (0, '', {}))[2]

    def cancel(self, handle):
        """Return whether a goal is being canceled."""
        future = handle.cancel_goal_async()
        self.wait(future.done)
        return bool(future.result().goals_canceling)

    def result(self, future):
        """Return status, error code and text."""
        self.wait(future.done)
        answer = future.result()
        return answer.status, answer.result.error_code, answer.result.error_string

    def close(self):
        for each in self._made:
            if each.process.poll() is None:
                each.end()
            each.process.stdin.close()
        self.actions.destroy()


@pytest.fixture
def rig(ros_domain, tmp_path, start, connect):
    made = []

    def make(**parameters):
        made.append(Rig(ros_domain, tmp_path, start, connect, **parameters))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(('number', 'is_noticed'), [(signal.SIGKILL, False), (signal.SIGINT, True)])
def test_a_goal_ends_whose_controller_was_restarted(rig, number, is_noticed):
    """Before or after the proxy has noticed its end; after SIGKILL it does so much later."""
    made = rig()
    first, second = made.controller(), made.controller()
    first.serve()
    _, result = made.run(first)
    first.end(number)
    if is_noticed:
        made.expect(Level.WARN, f'no action server /{ACTION}')
    second.serve()
    status, code, text = made.result(result)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, -1)
    assert 'restarted' in text
    values = made.expect(Level.WARN, f'/{ACTION}', 'restarted')
    assert values['goal'] == 'none'
    handle, result = made.run(second)
    made.expect(Level.OK)
    assert made.cancel(handle)
    assert made.result(result)[0] == GoalStatus.STATUS_CANCELED


def test_a_goal_ends_whose_controller_is_gone_when_it_is_canceled(rig):
    made = rig()
    controller = made.controller()
    controller.serve()
    handle, result = made.run(controller)
    controller.end()
    made.client.set_parameter('trajectory_proxy', 'controller_timeout', 0.5)
    assert not made.cancel(handle)
    status, _, text = made.result(result)
    assert status == GoalStatus.STATUS_ABORTED
    assert f'/{ACTION} ' in text
    made.expect(Level.WARN, text)


def test_a_goal_continues_that_the_controller_does_not_cancel(rig):
    made = rig()
    controller = made.controller('--refuses')
    controller.serve()
    handle, result = made.run(controller)
    for _ in range(2):
        assert not made.cancel(handle)
    made.expect(Level.WARN, 'refuses to cancel the goal, which continues')
    _, stopped = made.run(None, 0)
    status, _, text = made.result(stopped)
    assert status == GoalStatus.STATUS_ABORTED
    assert 'refuses to cancel' in text
    assert made.values()['goal'] == 'active: executed by the controller'
    assert not result.done()
    made.proxy.process.send_signal(signal.SIGINT)
    status, _, text = made.result(result)
    assert status == GoalStatus.STATUS_ABORTED
    assert text.startswith('the trajectory proxy is shutting down; ')
    assert 'refuses to cancel' in text
    assert made.proxy.wait() == 0
