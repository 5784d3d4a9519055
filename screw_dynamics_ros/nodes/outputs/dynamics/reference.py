# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The reference: a message, the state of another robot or of a controller, or none.

`~/reference` has priority over the other robot, the leader, and that over the state of the
controller. Joints that no reference names follow the measured state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

from .reference_controller import ControllerReference
from .reference_joints import ReferenceJoints
from .reference_leader import TOPIC, TORQUE_TOPIC, LeaderReference
from .reference_parameters import TABLE
from .reference_stamped import forget_stamped, write_stamped
from .reference_trajectory import TrajectoryReference, forget_trajectory, write_trajectory

MEASURED = 'measured state'
#: Sources of the reference.
SOURCES = (MEASURED, TrajectoryReference.name, 'leader', ControllerReference.name)
FROM_MEASUREMENT, FROM_TRAJECTORY, FROM_LEADER, FROM_CONTROLLER = range(4)


class FollowedReference(Record):
    """Writes the reference into the parameter 'reference' of the kernel at each joint state.

    Parameters
    ----------
    node : rclpy.node.Node
    changed : (1,) array of int64
        Receives 1 when torques may make a step because the source of the reference changes.
    refusal : callable, optional
        Returns why references are refused now, '' if they are not.
    afterwards : str
        What happens after the end of a reference.

    Attributes
    ----------
    joints : int
        n.
    trajectory : TrajectoryReference
    leader, torque : LeaderReference
    controller : ControllerReference
    active, paths_begun : int
        The active source, one of `SOURCES`, and the number of paths that have begun.
    rows, wanted : (4 n,) arrays
        The parameter of the kernel: current and next numbers.
    torques : (4 n,) array
        Rows 0 and 1: torques of the leader, 0 unless it is followed [N m, N].
    has_torques : bool
    changed
        As given.
    forgotten : int
        How often everything received has been forgotten.
    """

    joints: int
    trajectory: TrajectoryReference
    leader: LeaderReference
    torque: LeaderReference
    controller: ControllerReference
    active: int
    paths_begun: int
    rows: Floats
    wanted: Floats
    torques: Floats
    has_torques: bool
    changed: Ints
    forgotten: int

    def __init__(
        self,
        node: Node,
        changed: Ints,
        refusal: Callable[[], str] = lambda: '',
        afterwards: str = 'feedforward follows the measured state',
    ) -> None:
        self._node, self._afterwards = node, afterwards
        self._parameters = Parameters(node, TABLE, self._check, self._apply)
        self._check(self._parameters.values)
        self.trajectory = TrajectoryReference(refusal, afterwards)
        self.leader, self.torque = (
            LeaderReference(node, self._parameters, topic, lambda: self.forgotten)
            for topic in (TOPIC, TORQUE_TOPIC)
        )
        self.controller = ControllerReference(node, self._parameters)
        self.changed = changed
        self._apply({})
        self._mapper: JointStateMapper | None = None
        self._topic = CommandTopic(
            node,
            JointTrajectory,
            '~/reference',
            self.receive,
            self.trajectory.refuse,
            lambda: self.trajectory.timeout,
            lambda: self.trajectory.is_followed,
            lambda: self.forgotten,
        )

    def receive(self, message: JointTrajectory) -> None:
        """Follow a trajectory_msgs/JointTrajectory, or refuse it."""
        self.trajectory.receive(message)

    def bind(self, model: RunningModel, mapper: JointStateMapper, reference: Array) -> None:
        """Adopt a new model, whose kernel reads the vector `reference`, (4 n,)."""
        joints, self._mapper = ReferenceJoints.of(model), mapper
        self.active, self.joints = FROM_MEASUREMENT, len(joints.names)
        self.rows = reference
        self.wanted, self.torques = np.zeros_like(reference), np.zeros_like(reference)
        self.trajectory.bind(joints, mapper)
        for source in (self.leader, self.torque, self.controller):
            source.bind(joints)
        self.update()

    @property
    def source(self) -> str:
        """Name of the active source, `MEASURED` without a reference."""
        return SOURCES[self.active]

    def forget(self) -> None:
        """Follow nothing that has been received."""
        forget(self)

    def update(self) -> None:
        """Write the reference at the stamp of the current joint state."""
        mapper = self._mapper
        assert mapper is not None
        write_reference(self, mapper.stamp, time.monotonic(), mapper.state.reshape(-1))

    def report(self, status: Status) -> None:
        """Report why sources are not used; `source` is active then."""
        self._topic.report(status)
        with STATE_LOCK:
            if self._mapper is not None:
                self.update()
            self.trajectory.report(status)
            self.leader.report(status, self._afterwards)
            self.torque.report(status, 'it is 0')
            self.controller.report(status)

    def _check(self, values: dict[str, Any]) -> None:
        for name in values.keys() & {'controller_state_topic', TOPIC, TORQUE_TOPIC}:
            topic = values[name]
            if not topic:
                continue
            try:
                validate_full_topic_name(
                    expand_topic_name(topic, self._node.get_name(), self._node.get_namespace())
                )
            except (ValueError, InvalidTopicNameException) as error:
                raise ArgumentError(f'{name} {topic!r}: {error}') from None

    def _apply(self, values: dict[str, Any]) -> None:
        self.trajectory.timeout = self._parameters['reference_timeout'] or np.inf
        self.leader.timeout = self.torque.timeout = self._parameters['leader_timeout']
        self.leader.tolerance = self._parameters['leader_tolerance']
        self.controller.timeout = self._parameters['controller_state_timeout']
        if 'controller_state_topic' in values:
            self.controller.subscribe()


@typed
def forget(f: FollowedReference) -> None:
    """Follow nothing that has been received."""
    forget_trajectory(f.trajectory)
    forget_stamped(f.leader)
    forget_stamped(f.torque)
    forget_stamped(f.controller)
    f.active = FROM_MEASUREMENT
    f.forgotten += 1


@typed
def write_reference(f: FollowedReference, stamp: int, now: float, measured: Floats) -> None:
    """Write the reference at a joint state.

    Parameters
    ----------
    f : FollowedReference
    stamp : int
        Of the joint state [ns].
    now : float
        On the monotonic clock [s].
    measured : (3 n,) array
        The joint state.
    """
    n = f.joints
    for k in range(4 * n):
        f.wanted[k] = 0.0
    source = FROM_MEASUREMENT
    arrival = round(now * 1e9)
    before = f.rows[n:] if f.active == FROM_LEADER else measured
    if write_trajectory(f.trajectory, stamp, now, measured, n, f.wanted):
        source = FROM_TRAJECTORY
    elif write_stamped(f.leader, arrival, before, n, f.wanted):
        source = FROM_LEADER
    elif write_stamped(f.controller, stamp, measured, n, f.wanted):
        source = FROM_CONTROLLER
    is_other = source != f.active or f.trajectory.paths_begun != f.paths_begun
    has_torques = write_stamped(f.torque, arrival, measured, n, f.torques)
    has_torques = has_torques and source == FROM_LEADER
    if not has_torques:
        for k in range(n):
            f.torques[n + k] = 0.0
    is_other = is_other or has_torques != f.has_torques
    f.has_torques = has_torques
    for k in range(n):
        is_other = is_other or f.wanted[k] != f.rows[k]
    if is_other:
        f.changed[0] = 1
    f.active = source
    f.paths_begun = f.trajectory.paths_begun
    copy_bytes(f.rows, f.wanted, 8 * 4 * n)


@compiled_step
def follow(f: FollowedReference, loop: LoopRecord) -> int:
    """Write the reference, see `FollowedReference.update`."""
    write_reference(f, loop.mapper.stamp, loop.start, loop.state)
    return TAKEN
