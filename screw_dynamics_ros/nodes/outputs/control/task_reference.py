# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a control law follows: joint positions, a pose and a wrench; held where none is given.

Enabling never moves the robot; the end of a command holds where it ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node

from screw_dynamics_ros.core import FusedKernel
from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import AddressTable, Opaque, Record
from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.law import RobotLaw
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.measured_body import measurement, vector
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.services.payload_services import link_of
from screw_dynamics_ros.ros.data_path.externals import kernel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

from ..dynamics import reference
from ..dynamics.reference import FollowedReference
from .law_step import BEGINNING, RUNNING, WAITING, LawState

#: Reports of the held reference.
HELD = (
    'holds where it was enabled',
    'holds where the law was changed',
    'holds where the reference ended',
)
BEGUN, CHANGED, ENDED = range(3)
WHERE_ENDED = HELD[ENDED]

SILENCE_S = 0.5  # after which targets of another publisher are followed


class TaskReference(Record):
    """Writes the reference of a law into an input of the kernel.

    Until the law begins (`law_step`), its reference is the measured state. From then on it stays,
    except for what `~/reference`, the leader, `~/target_pose` and `~/target_wrench` give; joints
    stay where these ended. A law that reads other fields than the previous one holds where the
    robot is when it is adopted. Commands from before have no effect in both cases.

    Parameters
    ----------
    node : rclpy.node.Node
    host : ModelHost
    law : LawState
    joints : FollowedReference
    refusal : callable
        Returns why the robot is not to be commanded now, '' if it may be.

    Attributes
    ----------
    law, joints
        As given.
    is_held : bool
        Whether it is known where to hold.
    held, forgotten : int
        Index in `HELD`; how often all targets have been forgotten.
    is_refused, has_pose : bool
        Whether the last target was refused, and whether a pose is followed.
    pose, held_pose, held_q : (16,), (16,), (nq,) arrays
        The target, and the held pose and positions.
    wrench : (6,) array
        In the axes of a frame.
    frame, link, root : int
        Indices in `poses` of the frame of the wrench, -1 if it does not turn; of the link of the
        pose, -1 without one; of the root.
    at_q, at_v, at_a, at_pose, at_wrench, at_tau : int
        Indices in `numbers`, -1 for fields that the law does not read.
    numbers : array
        The input of the kernel.
    q : (nq,) array
        Configuration of the model.
    q_places, v_places : (n,) arrays of int
    poses : (16 n_links,) array
        Of all links, from the function `find_poses` of `arguments`.
    """

    law: LawState
    joints: FollowedReference
    is_held: bool
    held: int
    forgotten: int
    is_refused: bool
    has_pose: bool
    pose: Floats
    held_pose: Floats
    held_q: Floats
    wrench: Floats
    frame: int
    link: int
    root: int
    at_q: int
    at_v: int
    at_a: int
    at_pose: int
    at_wrench: int
    at_tau: int
    numbers: Floats
    q: Floats
    q_places: Ints
    v_places: Ints
    poses: Floats
    find_poses: Opaque | None
    arguments: Opaque | None

    def __init__(
        self,
        node: Node,
        host: ModelHost,
        law: LawState,
        joints: FollowedReference,
        refusal: Callable[[], str],
    ) -> None:
        self.law, self.joints, self.frame = law, joints, -1
        self.pose, self.held_pose, self.wrench = np.eye(4), np.eye(4), np.zeros(6)
        self._host, self._refusal, self._reason = host, refusal, ''
        self._law: RobotLaw | None = None
        self._mapper: JointStateMapper | None = None
        self._topics = [
            CommandTopic(
                node,
                kind,
                f'~/{topic}',
                receive,
                lambda reason: self._refuse(f'a target: {reason}'),
                lambda: SILENCE_S,
                forgotten=lambda: self.forgotten,
            )
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
        numbers: Floats,
        poses: FusedKernel | None,
    ) -> bool:
        """Adopt a law; return whether all commands are forgotten: it reads other fields.

        `numbers` receives its reference; `poses` returns those of all links, for laws that need it.
        """
        before, read = self._law, law.reference.shapes.keys()
        is_new = mapper is not self._mapper
        self._law, self._model, self._mapper = law, model, mapper
        for name in ('q', 'v', 'a', 'pose', 'wrench', 'tau'):
            setattr(self, f'at_{name}', law.reference.places.get(name, -1))
        self.numbers, self.q = numbers, model.q
        self.q_places, self.v_places = (
            places.astype(np.int64) for places in (model.q_places, model.v_places)
        )
        self._links = list(model.robot.tree.frames)
        self.root, self.link = self._links.index(model.robot.description.root), -1
        if poses is not None:
            found = np.zeros((len(self._links), 4, 4))
            arrays = model.q, found
            self.poses, self.arguments = found, AddressTable(arrays)
            self.find_poses = poses.table_call or PythonFunction(
                'poses of links', partial(poses.run, *arrays), arguments=1
            )
            self.link = self._links.index(law.options['link']) if 'link' in law.options else -1
        if is_new:
            self.held_q = model.robot.neutral()
        if before is not None and not is_new and read == before.reference.shapes.keys():
            return False
        forget_targets(self, BEGUN if is_new else CHANGED)
        return True

    def forget(self) -> None:
        """Forget all targets; the next state is held."""
        forget_targets(self, BEGUN)

    def _refuse(self, reason: str) -> None:
        self._reason, self.is_refused = reason, True

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
            self._refuse(f'~/target_pose: {error}')
            return
        self.pose, self.has_pose = pose, True
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
            self._refuse(f'~/target_wrench: {error}')
            return
        place = self._links.index(link)
        self.wrench, self.frame = wrench, -1 if place == self.root else place
        self._follow()

    def _follow(self) -> None:
        self.is_refused = False
        self.joints.changed[0] = 1

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

    def update(self) -> None:
        """Write the reference for the current joint state."""
        mapper = self._mapper
        if mapper is not None:
            now = time.monotonic()
            write_law_reference(self, mapper.stamp, now, mapper.state.reshape(-1))

    def report(self, status: Status, source: str, is_off: bool) -> None:
        """Report the sources of the reference, and a message that was refused.

        `source` is that of the reference of the joints, '' without one.
        """
        followed = [f'~/target_{name}' for name in self._followed]
        if source:
            followed.insert(0, source)
        text = 'follows ' + ', '.join(followed) if followed else self._held_report
        status.values['reference'] = 'measured state: torques are off' if is_off else text
        for topic in self._topics:
            topic.report(status)
        if self.is_refused:
            status.warn(printable(self._reason))

    @property
    def _held_report(self) -> str:
        """Return the held reference; a law that reads neither positions nor a pose has none."""
        law = self._law
        if law is None or {'q', 'pose'} & law.reference.shapes.keys():
            return HELD[self.held]
        return f'none: the law {printable(law.law.name)} reads neither positions nor a pose'

    @property
    def _followed(self) -> list[str]:
        """Return the names of the targets that are followed."""
        given = {'pose': self.has_pose, 'wrench': self.wrench.any()}
        return [name for name, is_given in given.items() if is_given]


@typed
def forget_targets(t: TaskReference, held: int) -> None:
    """Forget all targets; the next state is held, see `HELD`."""
    t.has_pose = False
    t.is_refused = False
    t.is_held = False
    t.held = held
    t.frame = -1
    for k in range(6):
        t.wrench[k] = 0.0
    t.forgotten += 1


@typed
def write_law_reference(t: TaskReference, stamp: int, now: float, measured: Floats) -> None:
    """Write the reference of joints and law at a joint state, see `write_reference`.

    When the law begins, earlier messages are forgotten.
    """
    phase = t.law.phase
    if phase == BEGINNING:
        reference.forget(t.joints)
        forget_targets(t, BEGUN)
        t.joints.changed[0] = 1
        t.law.phase = WAITING
    reference.write_reference(t.joints, stamp, now, measured)
    n = t.joints.joints
    for k in range(n):
        t.q[t.q_places[k]] = measured[k]
    if phase != RUNNING:
        t.held = BEGUN
    if phase != RUNNING or not t.is_held:
        hold(t)
    for k in range(n):
        if t.joints.rows[k] != 0.0:
            t.held_q[t.q_places[k]] = t.joints.rows[n + k]
            t.held = ENDED
    if t.at_q >= 0:
        copy_bytes(t.numbers[t.at_q :], t.held_q, 8 * len(t.held_q))
    write_row(t, t.at_v, t.joints.rows, 2)
    write_row(t, t.at_a, t.joints.rows, 3)
    write_row(t, t.at_tau, t.joints.torques, 1)
    if t.at_pose >= 0:
        copy_bytes(t.numbers[t.at_pose :], t.pose if t.has_pose else t.held_pose, 8 * 16)
    if t.at_wrench >= 0:
        write_wrench(t)


@typed
def hold(t: TaskReference) -> None:
    """Hold the measured state."""
    copy_bytes(t.held_q, t.q, 8 * len(t.q))
    if t.link >= 0:
        kernel(t.find_poses, t.arguments)
        copy_bytes(t.held_pose, t.poses[16 * t.link :], 8 * 16)
    t.is_held = True


@typed
def write_row(t: TaskReference, place: int, rows: Floats, row: int) -> None:
    """Write a row (n,) of rows whose first one marks joints, if the law reads it."""
    if place >= 0:
        n = t.joints.joints
        for k in range(n):
            t.numbers[place + t.v_places[k]] = rows[k] * rows[row * n + k]


@typed
def write_wrench(t: TaskReference) -> None:
    """Write the wrench in the axes of the root: R_root^T R_frame times force and moment."""
    if t.frame < 0:
        copy_bytes(t.numbers[t.at_wrench :], t.wrench, 8 * 6)
        return
    kernel(t.find_poses, t.arguments)
    root = t.poses[16 * t.root :]
    frame = t.poses[16 * t.frame :]
    for i in range(6):
        total = 0.0
        first = i - i % 3
        for k in range(3):
            x = 0.0
            for j in range(3):
                x += frame[4 * k + j] * t.wrench[first + j]
            total += root[4 * k + i % 3] * x
        t.numbers[t.at_wrench + i] = total


@compiled_step
def follow_law_reference(t: TaskReference, loop: LoopRecord) -> int:
    """Write the reference, see `TaskReference.update`."""
    write_law_reference(t, loop.mapper.stamp, loop.start, loop.state)
    return TAKEN
