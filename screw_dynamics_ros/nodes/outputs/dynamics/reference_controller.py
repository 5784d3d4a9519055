# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reference from the state of a joint trajectory controller.

The controller publishes less often than joint states arrive. Its reference is therefore
extrapolated with velocity and acceleration to the stamp of each joint state.
"""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.subscription import Subscription

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.messages.reference import (
    CONTROLLER_STATE,
    Reference,
    read_controller_state,
)
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import qos

from .reference_joints import ReferenceJoints

try:
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None

ABSENT = (
    'no reference from controller_state_topic: the package control_msgs is not installed; '
    'install it (ros-<distribution>-control-msgs)'
)


class ControllerReference:
    """Reference from the latest state of a controller.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With `controller_state_topic` and `controller_state_timeout`.
    """

    name = 'controller state'

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._node, self._parameters = node, parameters
        self._joints: ReferenceJoints | None = None
        self._subscription: Subscription | None = None
        self._latest: tuple[Reference, int] | None = None  # with its stamp [ns]
        self._age = 0.0  # age of the latest at its last use [s]
        self._refused = ''
        self.subscribe()

    def subscribe(self) -> None:
        """Subscribe to the topic of the parameter, if it is not empty."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription, self._latest, self._refused = None, None, ''
        topic = self._parameters['controller_state_topic']
        if topic and JointTrajectoryControllerState is not None:
            self._subscription = self._node.create_subscription(
                JointTrajectoryControllerState,
                topic,
                FAULTS.guarded('a controller state', STATE_LOCK.exclusive(self.receive)),
                qos.JOINT_STATES,
            )

    def bind(self, joints: ReferenceJoints) -> None:
        """Adopt a new robot."""
        self._joints = joints
        self.forget()

    def forget(self) -> None:
        """Forget the latest state of the controller."""
        self._latest, self._refused = None, ''

    def receive(self, message: Any) -> None:
        """Adopt a state of the controller, or refuse it and keep the previous one."""
        joints = self._joints
        if joints is None:
            return
        try:
            reference = read_controller_state(message, joints.names, joints.known)
            joints.check_reference(CONTROLLER_STATE, reference)
        except ScrewDynamicsError as error:
            self._refused = printable(str(error))
            return
        self._refused, self._latest = '', (reference, stamp_of(message))

    @property
    def is_given(self) -> bool:
        """Whether a state of the controller has been received."""
        return self._latest is not None

    def at(self, stamp: int) -> Reference | None:
        """Return the reference of the controller at a stamp [ns], or None if it is unknown."""
        if self._latest is None:
            return None
        reference, sent = self._latest
        self._age = (stamp - sent) / NANOSECONDS
        return reference.later(self._age) if self._is_recent else None

    @property
    def _is_recent(self) -> bool:
        """Whether the latest state was recent at its last use."""
        return abs(self._age) <= self._parameters['controller_state_timeout']

    def report(self, status: Status) -> None:
        """Report why the state of the controller is not used."""
        topic = self._parameters['controller_state_topic']
        if not topic:
            return
        if JointTrajectoryControllerState is None:
            status.report(Level.WARN, ABSENT)
        elif self._refused:
            status.report(Level.WARN, f'controller state refused: {self._refused}')
        elif self._latest is None:
            status.report(Level.WARN, f'no controller state on {topic} (controller_state_topic)')
        elif not self._is_recent:
            status.report(
                Level.WARN,
                f'the controller state on {topic} is {self._age:.3g} s older than the joint '
                'states, more than controller_state_timeout: it is not used',
            )
