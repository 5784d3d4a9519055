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

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages.reference import CONTROLLER_STATE, read_controller_state
from screw_dynamics_ros.ros.messages.trajectories import stamp_of
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import qos

from .reference_joints import ReferenceJoints
from .reference_stamped import StampedReference, forget_stamped

try:
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None

ABSENT = (
    'no reference from controller_state_topic: the package control_msgs is not installed; '
    'install it (ros-<distribution>-control-msgs)'
)
TOPIC = 'controller_state_topic'


class ControllerReference(StampedReference):
    """Reference from the latest state of a controller; its times are stamps.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With `controller_state_topic`.
    """

    name = 'controller state'

    def __init__(self, node: Node, parameters: Parameters) -> None:
        super().__init__()
        self._node, self._parameters = node, parameters
        self._subscription: Subscription | None = None
        self.subscribe()

    def subscribe(self) -> None:
        """Subscribe to the topic of the parameter, if it is not empty."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription = None
        forget_stamped(self)
        topic = self._parameters[TOPIC]
        if topic and JointTrajectoryControllerState is not None:
            self._subscription = self._node.create_subscription(
                JointTrajectoryControllerState,
                topic,
                FAULTS.guarded('a controller state', STATE_LOCK.exclusive(self.receive)),
                qos.JOINT_STATES,
            )

    def read(self, message: Any, joints: ReferenceJoints) -> tuple[Array, int]:
        """Return the rows and the stamp [ns]; raises `ScrewDynamicsError`."""
        rows = read_controller_state(message, joints.names, joints.known)
        joints.check_reference(CONTROLLER_STATE, rows)
        return rows, stamp_of(message)

    def report(self, status: Status) -> None:
        """Report why the state of the controller is not used."""
        topic = self._parameters[TOPIC]
        if topic and JointTrajectoryControllerState is None:
            status.warn(ABSENT)
        elif topic:
            late = 'older than the joint states, more than controller_state_timeout: it is not used'
            self.report_source(status, TOPIC, topic, late)
