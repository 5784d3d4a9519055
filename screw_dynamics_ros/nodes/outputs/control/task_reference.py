# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a control law follows: joint positions, a pose and a wrench; held where none is given.

Enabling never moves the robot; the end of a command holds where it ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.law import RobotLaw
from screw_dynamics_ros.core.measurement.reference_torques import GIVEN, A, Q, V, rows
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.measured_body import measurement, vector
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.services.payload_services import link_of, relative_pose
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

WHERE_BEGUN = 'holds where it was enabled'
WHERE_CHANGED = 'holds where the law was changed'
WHERE_ENDED = 'holds where the reference ended'

SILENCE_S = 0.5  # after which targets of another publisher are followed
STREAM_PERIOD_S = 0.1  # longest period of targets that are read with each joint state


class TaskReference:
    """Writes the reference of a law into an input of the kernel.

    Until the law begins (`law_step`), its reference is the measured state. From then on it stays,
    except for what `~/reference`, `~/target_pose` and `~/target_wrench` give; joints stay where
    `~/reference` ended. A law that reads other fields than the previous one holds where the robot
    is when it is adopted. Commands from before have no effect in both cases.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    blend : callable
        Called when torques may make a step.
    refusal : callable
        Returns why the robot is not to be commanded now, '' if it may be.
    """

    _mapper: JointStateMapper

    def __init__(
        self, node: Node, host: ModelHost, blend: Callable[[], None], refusal: Callable[[], str]
    ) -> None:
        self._host, self._blend, self._refusal = host, blend, refusal
        self._law: RobotLaw | None = None
        self._topics: list[CommandTopic] = []
        self.forget()
        self._topics = [
            CommandTopic(node, kind, f'~/{topic}', receive, self._refuse, lambda: SILENCE_S)
            for kind, topic, receive in (
                (PoseStamped, 'target_pose', self.receive_pose),
                (WrenchStamped, 'target_wrench', self.receive_wrench),
            )
        ]

    def bind(
        self,
        law: RobotLaw,
        model: RunningModel,
        mapper: JointStateMapper,
        given: Array,
        numbers: Array,
    ) -> bool:
        """Adopt a law; return whether all commands are forgotten: it reads other fields.

        `given` (4 n,) is the reference of the joints, `numbers` that of the law.
        """
        before, read = self._law, law.reference.shapes.keys()
        is_new = before is None or mapper is not self._mapper
        self._law, self._model, self._mapper = law, model, mapper
        self._given, self._numbers, self._is_new = rows(given), numbers, True
        if is_new:
            self._held_q, self._held_pose = model.robot.neutral(), np.eye(4)
        if before is not None and not is_new and read == before.reference.shapes.keys():
            return False
        self.forget(WHERE_BEGUN if is_new else WHERE_CHANGED)
        return True

    def forget(self, held: str = WHERE_BEGUN) -> None:
        """Forget all targets; the next state is held, which `held` reports."""
        self._pose: Array | None = None
        self._wrench, self._wrench_link = np.zeros(6), ''
        self._reason, self._held, self._heard = '', held, -np.inf
        for topic in self._topics:
            topic.release()
        self._is_measured, self._is_new = False, True

    def _refuse(self, reason: str) -> None:
        self._reason = f'a target: {reason}'

    # --- messages -------------------------------------------------------------------------------

    def receive_pose(self, message: PoseStamped) -> None:
        """Follow a pose of the link in the root frame, or refuse it."""
        try:
            robot = self._model_for('pose').robot
            root = self._prefix + robot.description.root
            if message.header.frame_id not in ('', root):
                raise ArgumentError(f'frame_id must be {root!r}')
            pose, _ = measurement(message.pose.position, message.pose.orientation)
        except ScrewDynamicsError as error:
            self._reason = f'~/target_pose: {error}'
            return
        self._pose = pose
        self._follow()

    def receive_wrench(self, message: WrenchStamped) -> None:
        """Follow a wrench at the link in the axes of a frame of the robot, or refuse it."""
        wrench = vector(message.wrench.torque, message.wrench.force)
        try:
            robot = self._model_for('wrench').robot
            frame = message.header.frame_id or robot.description.root
            link = link_of(robot, self._prefix, frame, 'frame_id')
            if not np.isfinite(wrench).all():
                raise ArgumentError('a number is not finite')
        except ScrewDynamicsError as error:
            self._reason = f'~/target_wrench: {error}'
            return
        self._wrench, self._wrench_link = wrench, link
        self._follow()

    def _follow(self) -> None:
        self._reason, self._is_new, self._heard = '', True, time.monotonic()
        self._blend()

    def _model_for(self, field: str) -> RunningModel:
        """Return the model; raises `ArgumentError` if the law does not follow a field now."""
        law, reason = self._law, self._refusal()
        if reason:
            raise ArgumentError(reason)
        if law is None:
            raise ArgumentError('no robot description yet')
        if field not in law.reference.shapes:
            raise ArgumentError(f'the law {law.law.name} does not read reference.{field}')
        return self._model

    @property
    def _prefix(self) -> str:
        return str(self._host.parameters['frame_prefix'])

    # --- one state ------------------------------------------------------------------------------

    @property
    def is_moving(self) -> bool:
        """Whether the next joint state changes the reference."""
        return self._is_new or self._turns or time.monotonic() - self._heard < STREAM_PERIOD_S

    @property
    def _turns(self) -> bool:
        """Whether the axes of the wrench turn with the robot."""
        return bool(self._wrench_link) and self._wrench_link != self._model.robot.description.root

    def update(self, begins: bool) -> None:
        """Write the reference for the current joint state; `begins`: the law begins with it."""
        law, model = self._law, self._model
        if law is None:
            return
        self._is_new = False
        if begins or not self._is_measured:
            self._hold(model.whole_q(self._mapper.q))
            self._held = WHERE_BEGUN if begins else self._held
        given = self._given[GIVEN].astype(bool)
        if given.any():
            self._held_q[model.q_places[given]] = self._given[Q][given]
            self._held = WHERE_ENDED
        if not law.reference.size:
            return
        values = {
            'q': self._held_q,
            'v': model.whole_v(self._given[GIVEN] * self._given[V]),
            'a': model.whole_v(self._given[GIVEN] * self._given[A]),
            'pose': self._held_pose if self._pose is None else self._pose,
            'twist': np.zeros(6),
            'wrench': self._wrench_in_root(),
        }
        read = {name: values[name] for name in law.reference.shapes}
        self._numbers[:] = law.reference.packed('reference', read)

    def _hold(self, q: Array) -> None:
        law = self._law
        self._held_q, self._held_pose, self._is_measured = q.copy(), np.eye(4), True
        if law is not None and 'pose' in law.reference.shapes and 'link' in law.options:
            self._held_pose = self._model.robot.link_pose(q, law.options['link'])

    def _wrench_in_root(self) -> Array:
        if not self._turns:
            return self._wrench
        model = self._model
        root = model.robot.description.root
        R = relative_pose(model, self._mapper, root, self._wrench_link)[:3, :3]
        return np.concatenate([R @ self._wrench[:3], R @ self._wrench[3:]])

    def report(self, status: Status, source: str, is_off: bool) -> None:
        """Report the sources of the reference, and a message that was refused.

        `source` is that of the reference of the joints, '' without one.
        """
        followed = [f'~/target_{name}' for name in self._targets]
        if source:
            followed.insert(0, source)
        text = 'follows ' + ', '.join(followed) if followed else self._held
        status.values['reference'] = 'measured state: torques are off' if is_off else text
        for topic in self._topics:
            topic.report(status)
        if self._reason:
            status.report(Level.WARN, printable(self._reason))

    @property
    def _targets(self) -> list[str]:
        """Return the names of the targets that are followed."""
        given = {'pose': self._pose is not None, 'wrench': self._wrench.any()}
        return [name for name, is_given in given.items() if is_given]
