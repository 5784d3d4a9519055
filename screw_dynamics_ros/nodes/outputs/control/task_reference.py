# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a control law follows: joint positions, a pose and a wrench; held where none is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.law import RobotLaw
from screw_dynamics_ros.core.measurement.reference_torques import GIVEN, A, Q, V, rows
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.measured_body import measurement, vector
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import qos


class TaskReference:
    """Writes the reference of a law into an input of the kernel.

    While the torques are not enabled the reference is the measured state; from then on it stays,
    except for what `~/reference`, `~/target_pose` and `~/target_wrench` give.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    blend : callable
        Called when torques may make a step.
    """

    _mapper: JointStateMapper

    def __init__(self, node: Node, host: ModelHost, blend: Any) -> None:
        self._host, self._blend = host, blend
        self._pose: Array | None = None
        self._wrench = np.zeros(6)
        self._reason = ''
        self._is_held, self._is_new = False, True
        self._law: RobotLaw | None = None
        for kind, topic, receive in (
            (PoseStamped, 'target_pose', self.receive_pose),
            (WrenchStamped, 'target_wrench', self.receive_wrench),
        ):
            callback = FAULTS.guarded(f'a message on ~/{topic}', STATE_LOCK.exclusive(receive))
            node.create_subscription(kind, f'~/{topic}', callback, qos.COMMAND)

    def bind(
        self,
        law: RobotLaw,
        model: RunningModel,
        mapper: JointStateMapper,
        given: Array,
        numbers: Array,
    ) -> None:
        """Adopt a law; the same robot stays where it is held.

        `given` (4 n,) is the reference of the joints, `numbers` that of the law.
        """
        is_new = self._law is None or mapper is not self._mapper
        self._law, self._model, self._mapper = law, model, mapper
        self._given, self._numbers, self._is_new = rows(given), numbers, True
        if is_new:
            self._pose, self._is_held = None, False
            self._held_q = model.robot.neutral()
        self._hold(self._held_q)

    def receive_pose(self, message: PoseStamped) -> None:
        """Follow a pose of the link in the root frame, or refuse it."""
        root = self._host.parameters['frame_prefix'] + self._root
        if message.header.frame_id not in ('', root):
            self._reason = f'~/target_pose: frame_id must be {root!r}'
            return
        try:
            pose, _ = measurement(message.pose.position, message.pose.orientation)
        except ArgumentError as error:
            self._reason = f'~/target_pose: {error}'
            return
        self._pose, self._reason, self._is_new = pose, '', True
        self._blend()

    def receive_wrench(self, message: WrenchStamped) -> None:
        """Follow a wrench, or refuse it."""
        wrench = vector(message.wrench.torque, message.wrench.force)
        if not np.isfinite(wrench).all():
            self._reason = '~/target_wrench: a number is not finite'
            return
        self._wrench, self._reason, self._is_new = wrench, '', True
        self._blend()

    @property
    def _root(self) -> str:
        model = self._host.model
        return model.robot.description.root if model is not None else ''

    @property
    def is_moving(self) -> bool:
        """Whether the next joint state changes the reference."""
        return self._is_new

    def update(self, is_enabled: bool) -> None:
        """Write the reference for the current joint state."""
        law, model = self._law, self._model
        self._is_new = not is_enabled
        if law is None or not law.reference.size:
            return
        if not is_enabled or not self._is_held:
            self._hold(model.whole_q(self._mapper.q))
            self._is_held = is_enabled
            if not is_enabled:
                self._pose = None
        given = self._given[GIVEN].astype(bool)
        q = self._held_q.copy()
        q[model.q_places[given]] = self._given[Q][given]
        values = {
            'q': q,
            'v': model.whole_v(self._given[GIVEN] * self._given[V]),
            'a': model.whole_v(self._given[GIVEN] * self._given[A]),
            'pose': self._held_pose if self._pose is None else self._pose,
            'twist': np.zeros(6),
            'wrench': self._wrench,
        }
        read = {name: values[name] for name in law.reference.shapes}
        self._numbers[:] = law.reference.packed('reference', read)

    def _hold(self, q: Array) -> None:
        self._held_q = q
        self._held_pose, law = np.eye(4), self._law
        if law is not None and 'pose' in law.reference.shapes and 'link' in law.options:
            self._held_pose = self._model.robot.link_pose(q, law.options['link'])

    def report(self, status: Status) -> None:
        """Report a message that was refused."""
        if self._reason:
            status.report(Level.WARN, printable(self._reason))
