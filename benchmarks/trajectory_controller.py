# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A joint trajectory controller by efforts, in lock step with the simulator.

It does what joint_trajectory_controller does with the command interface `effort`: at each joint
state it samples the trajectory and commands proportional and derivative feedback plus the efforts
of the points, interpolated linearly. What was wanted, measured and commanded is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory, stamp_of

Array = np.ndarray
SETTLING = 0.2  # s after the end of a trajectory in which it is still recorded


class TrajectoryController:
    """The controller, with its action server.

    Parameters
    ----------
    node : rclpy.node.Node
    action : str
    joints : sequence of str
        In the order of the simulator.
    stiffness, damping : (n,) arrays
        Of the feedback [N m/rad, N m s/rad; N/m, N s/m].

    Attributes
    ----------
    added : callable or None
        Torques (n,) that the robot adds by itself at positions (n,), such as gravity.
    records : list of tuple
        Time [s], wanted and measured positions, and commanded torques, of the latest trajectory.
    """

    def __init__(
        self, node: Node, action: str, joints: Sequence[str], stiffness: Array, damping: Array
    ) -> None:
        self._joints, self._stiffness, self._damping = tuple(joints), stiffness, damping
        self.added: Callable[[Array], Array] | None = None
        self.records: list[tuple[float, Array, Array, Array]] = []
        self.states = 0
        self._wanted: Array | None = None  # held without a trajectory
        self._effort = np.zeros(len(joints))
        self._handle: Any = None
        self._path: JointPath | None = None
        self._start = 0
        self._efforts = self._times = np.zeros(0)
        self._commands = node.create_publisher(Float64MultiArray, '/simulator/effort_commands', 1)
        node.create_subscription(JointState, '/joint_states', self._on_state, 10)
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            action,
            execute_callback=lambda handle: None,
            handle_accepted_callback=self._on_goal,
            cancel_callback=lambda handle: CancelResponse.REJECT,
        )

    def _on_goal(self, handle: Any) -> None:
        message = handle.request.trajectory
        read = read_trajectory(message, self._joints)
        order = [read.joints.index(name) for name in self._joints]
        q, v, a = (None if row is None else row[:, order] for row in (read.q, read.v, read.a))
        self._times = read.stamps / NANOSECONDS
        self._path = JointPath(self._times, q, v, a)
        rows = [point.effort or [0.0] * len(order) for point in message.points]
        self._efforts = np.array(rows)[:, order]
        self._handle, self._start, self.records = handle, 0, []

    def _on_state(self, message: JointState) -> None:
        order = [message.name.index(name) for name in self._joints]
        q, v = np.array(message.position)[order], np.array(message.velocity)[order]
        if self._wanted is None:
            self._wanted = q
        wanted, rate = self._wanted, np.zeros_like(q)
        if self._path is not None:
            self._start = self._start or stamp_of(message)
            t = (stamp_of(message) - self._start) / NANOSECONDS
            wanted, rate = self._path.at(t)
            self._effort = np.array([np.interp(t, self._times, row) for row in self._efforts.T])
        tau = self._effort + self._stiffness * (wanted - q) + self._damping * (rate - v)
        if self.added is not None:
            tau = tau + self.added(q)
        if self._path is not None:
            self.records.append((t, wanted, q, tau))
            if t >= self._path.end + SETTLING:
                self._wanted, self._path = wanted, None
                self._handle.execute(succeeded)
        self.states += 1
        self._commands.publish(Float64MultiArray(data=tau.tolist()))


def succeeded(handle: Any) -> Any:
    """End a goal."""
    handle.succeed()
    return FollowJointTrajectory.Result()
