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
from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.messages.reference import CONTROLLER_STATE, read_controller_state
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


class ControllerReference(Record):
    """Reference from the latest state of a controller.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With `controller_state_topic`.

    Attributes
    ----------
    is_given, is_refused : bool
        Whether there is one, and whether the last one was refused.
    sent : int
        Its stamp [ns].
    age, timeout : float
        Of the latest at its last use, and the largest age and lead [s].
    rows : (4 n,) array
        See `reference_torques.GIVEN`.
    """

    is_given: bool
    is_refused: bool
    sent: int
    age: float
    timeout: float
    rows: Floats

    name = 'controller state'

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._node, self._parameters = node, parameters
        self._joints: ReferenceJoints | None = None
        self._subscription: Subscription | None = None
        self._refused = ''
        self.subscribe()

    def subscribe(self) -> None:
        """Subscribe to the topic of the parameter, if it is not empty."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription = None
        forget_controller(self)
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
        forget_controller(self)

    def receive(self, message: Any) -> None:
        """Adopt a state of the controller, or refuse it and keep the previous one."""
        joints = self._joints
        if joints is None:
            return
        try:
            rows = read_controller_state(message, joints.names, joints.known)
            joints.check_reference(CONTROLLER_STATE, rows)
        except ScrewDynamicsError as error:
            self._refused, self.is_refused = printable(str(error)), True
            return
        self.rows, self.sent = rows, stamp_of(message)
        self.is_given, self.is_refused = True, False

    def report(self, status: Status) -> None:
        """Report why the state of the controller is not used."""
        topic = self._parameters['controller_state_topic']
        if not topic:
            return
        if JointTrajectoryControllerState is None:
            status.report(Level.WARN, ABSENT)
        elif self.is_refused:
            status.report(Level.WARN, f'controller state refused: {self._refused}')
        elif not self.is_given:
            status.report(Level.WARN, f'no controller state on {topic} (controller_state_topic)')
        elif not is_recent(self):
            status.report(
                Level.WARN,
                f'the controller state on {topic} is {self.age:.3g} s older than the joint '
                'states, more than controller_state_timeout: it is not used',
            )


@typed
def forget_controller(state: ControllerReference) -> None:
    """Forget the latest state of the controller."""
    state.is_given = False
    state.is_refused = False


@typed
def is_recent(state: ControllerReference) -> bool:
    """Whether the latest state was recent at its last use."""
    return abs(state.age) <= state.timeout


@typed
def write_controller(state: ControllerReference, stamp: int, n: int, rows: Floats) -> bool:
    """Write the reference of the controller at a stamp [ns]; return whether it is known.

    `rows` (4 n,) receive it as it is after its age with constant accelerations.
    """
    if not state.is_given:
        return False
    t = float(stamp - state.sent) / 1e9
    state.age = t
    if not is_recent(state):
        return False
    for k in range(n):
        v = state.rows[2 * n + k]
        a = state.rows[3 * n + k]
        rows[k] = state.rows[k]
        rows[n + k] = state.rows[n + k] + v * t + a * (0.5 * t * t)
        rows[2 * n + k] = v + a * t
        rows[3 * n + k] = a
    return True
