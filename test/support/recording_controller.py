# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An action server that takes trajectories as a controller does, and records what it gets.

As a program it serves in a process of its own, from the first line on its standard input on:

    python -m support.recording_controller NAME [--refuses] --ros-args ...

It prints a line when it is ready to serve, and one for each goal and cancellation.
"""

import sys

import rclpy
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from screw_dynamics_ros.nodes.trajectory.goal_relay import (
    ABORTED,
    CANCELED,
    SUCCEEDED,
    mark_executing,
)


class RecordingController:
    """Goals run until asked to end; a new one ends the one before, as in ros2_controllers.

    Attributes
    ----------
    goals : list of FollowJointTrajectory.Goal
        What came, the newest last.
    running : ServerGoalHandle or None
    accepts : bool
        Whether goals are accepted; may be set.
    cancels : int
        How often cancellation was asked for.
    refuses : bool
        Whether goals are not canceled; may be set.
    forgets : bool
        Whether goals that are preempted never end; may be set.
    """

    def __init__(self, node, name):
        self.goals, self.running, self.accepts, self.cancels = [], None, True, 0
        self.forgets = self.refuses = False
        self.server = ActionServer(
            node,
            FollowJointTrajectory,
            name,
            execute_callback=lambda handle: None,
            goal_callback=self._answer,
            handle_accepted_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )

    def _answer(self, goal):
        return GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT

    def _on_goal(self, handle):
        mark_executing(handle)
        if self.running is not None and not self.forgets:
            self.end(ABORTED, -1, 'preempted')
        self.goals.append(handle.request)
        self.running = handle

    def _on_cancel(self, handle):
        self.cancels += 1
        if self.refuses:
            return CancelResponse.REJECT
        if handle is self.running:
            self.end(CANCELED)
        return CancelResponse.ACCEPT

    def tell(self, position):
        """Publish feedback."""
        feedback = FollowJointTrajectory.Feedback(joint_names=['joint1'])
        feedback.actual.positions = [position]
        self.running.publish_feedback(feedback)

    def end(self, status=SUCCEEDED, code=0, text=''):
        """End the goal that runs."""
        handle, self.running = self.running, None

        def finish(handle):
            if status == SUCCEEDED:
                handle.succeed()
            elif status == CANCELED and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return FollowJointTrajectory.Result(error_code=code, error_string=text)

        self.server.notify_execute(handle, finish)


class PrintingController(RecordingController):
    """Prints what it gets."""

    def _on_goal(self, handle):
        super()._on_goal(handle)
        print('goal', flush=True)

    def _on_cancel(self, handle):
        print('cancellation', flush=True)
        return super()._on_cancel(handle)


def main():
    rclpy.init()
    node = rclpy.create_node('arm')
    print('ready', flush=True)
    sys.stdin.readline()
    controller = PrintingController(node, sys.argv[1])
    controller.refuses = '--refuses' in sys.argv
    rclpy.spin(node)


if __name__ == '__main__':
    main()
