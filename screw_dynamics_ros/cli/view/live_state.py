# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a running robot from the messages of its topics.

Anything may arrive from the network, in any order. An invalid message has no effect, and an old
value is never shown as current.

Messages are converted and validated. Each function returns None for an invalid message: wrong
length, NaN or infinite numbers, links or joints that the robot does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description, urdf_of
from screw_dynamics_ros.core.outputs import OUTPUTS
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.ros.description import TOPIC, Description, DescriptionLoader, urdf_text
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.reader import JointStateReader
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import printable, topic_tokens

from .state import (
    TORQUE_OUTPUTS,
    ContactForce,
    DiagnosticLine,
    Level,
    LinkWrench,
    ViewState,
    localized_contacts,
)

STATE_TIMEOUT = NANOSECONDS // 2  # ns; an older state is stale, and older outputs are not shown
STATUS_TIMEOUT = 10 * NANOSECONDS  # ns; older statuses are stale
MAX_STATUSES = 64  # per message, and stored

#: The robot before the first description.
NO_ROBOT = '<robot name="none"><link name="none"/></robot>'

#: Torques of the model, computed here if no node publishes them.
TERMS = 'gravity', 'coriolis', 'friction'

#: Topics with joint torques, and the names of the torques.
TORQUE_TOPICS = {OUTPUTS[output].topic: name for output, name in TORQUE_OUTPUTS.items()}

#: Topics of links, and topics of the localized contact.
WRENCH, COVARIANCE = (f'{OUTPUTS[name].topic}/' for name in ('wrench', 'wrench_covariance'))
CONTACT_POINT, CONTACT_FORCE = 'wrench_estimator/contact_point', 'wrench_estimator/contact_force'
LEVELS: tuple[Level, ...] = ('ok', 'warning', 'error', 'stale')  # of diagnostic_msgs


class ShownRobot(ScalarJoints):
    """A robot with its kernel, built in the background from a description.

    Attributes
    ----------
    urdf : str
    mapper : JointStateMapper
        The state of its joints.
    links : {str: str}
        Its links by their topic names.
    """

    def __init__(self, text: str) -> None:
        super().__init__(Robot(read_robot_description(urdf_text(text, 'the robot description'))))
        self.urdf = urdf_of(text, self.robot.description)
        self.mapper = joint_state_mapper(self.robot)
        self.links = {token: link for link, token in topic_tokens(self.robot.link_names).items()}
        self._kernel = self.robot.fuse(*(OUTPUTS[name].source(self.robot) for name in TERMS))
        self.terms(self.robot.neutral(), np.zeros(self.robot.nv))  # compiles

    def terms(self, q: Array, v: Array) -> dict[str, Array]:
        """Return those of `TERMS` that are finite at a state, (nv,) each."""
        inputs = {'q': q, 'v': v, 'gravity': self.robot.gravity}
        with np.errstate(all='ignore'):
            results = self._kernel(*(inputs[name] for name in self._kernel.inputs))
        return {name: tau for name, tau in zip(TERMS, results) if np.isfinite(tau).all()}


class Timed(NamedTuple):
    """A value, and the time of reception of its message [ns]."""

    value: Any
    received: int


class LiveState:
    """The known state of a running robot; times are from the clock of this machine [ns].

    Attributes
    ----------
    shown : ShownRobot
    generation : int
        Number of previous robots.
    is_described : bool
        Whether the description has a publisher.
    """

    def __init__(self) -> None:
        self.shown, self.generation, self.is_described = ShownRobot(NO_ROBOT), 0, False
        self._loader: DescriptionLoader[ShownRobot] = DescriptionLoader(ShownRobot)
        self._description, self._refusal = NO_ROBOT, ''
        self._state_reader, self._torque_reader = JointStateReader(), JointStateReader()
        self._received: int | None = None  # time of the newest state
        self._values: dict[str, Timed] = {}  # by topic
        self._statuses: dict[str, Timed] = {}  # by name

    # --- descriptions -----------------------------------------------------------------------------

    def describe(self, text: str) -> None:
        """Build the robot of a description in the background; a newer description replaces it."""
        if text != self._description:
            self._description = text
            self._loader.submit([Description(text, TOPIC)])

    @property
    def is_building(self) -> bool:
        """Whether a robot is being built, or waits to be adopted."""
        return self._loader.is_pending

    def adopt(self) -> bool:
        """Adopt a new robot, if one has been built; return whether the robot changed."""
        outcome = self._loader.poll()
        if outcome is None:
            return False
        self._refusal = outcome.reason
        if outcome.model is None or outcome.model.urdf == self.shown.urdf:
            return False
        self.shown, self._received = outcome.model, None
        self._values.clear()
        self.generation += 1
        return True

    # --- messages ---------------------------------------------------------------------------------

    def receive_joint_state(self, data: bytes, received: int) -> None:
        """Merge a serialized sensor_msgs/JointState."""
        mapper = self.shown.mapper
        try:
            message = self._state_reader.read(data)
        except Exception:  # rclpy has no specific exception
            return
        if mapper.joints and mapper.update(message, received / NANOSECONDS):
            self._received = received

    def receive(self, topic: str, data: bytes, received: int) -> None:
        """Store the value of a serialized output; `topic` is without namespace."""
        try:
            value = self._value(topic, data)
        except Exception:  # likewise
            return
        if value is not None:
            self._values[topic] = Timed(value, received)

    def receive_diagnostics(self, data: bytes, received: int) -> None:
        """Store the statuses of a serialized diagnostic_msgs/DiagnosticArray."""
        try:
            lines = statuses_of(data)
        except Exception:  # likewise
            return
        for line in lines:
            if line.name in self._statuses or len(self._statuses) < MAX_STATUSES:
                self._statuses[line.name] = Timed(line, received)

    def _value(self, topic: str, data: bytes) -> Any:
        if topic in TORQUE_TOPICS:
            return torques_of(self._torque_reader.read(data), self.shown)
        if topic.startswith(WRENCH) or topic == CONTACT_FORCE:
            return wrench_of(data)
        if topic.startswith(COVARIANCE):
            return covariance_of(data)
        return contact_point_of(data) if topic == CONTACT_POINT else None

    # --- state of the view ------------------------------------------------------------------------

    def is_current(self, now: int) -> bool:
        """Whether the latest state is not stale."""
        return self._received is not None and now - self._received <= STATE_TIMEOUT

    def state(self, now: int, more: tuple[DiagnosticLine, ...] = ()) -> ViewState:
        """Return the current state; without a current joint state, only the last pose.

        `more` are further statuses.
        """
        shown, mapper = self.shown, self.shown.mapper
        lines = (*more, *self._lines(now))
        if self._received is None:
            q, v = shown.robot.neutral(), np.zeros(shown.robot.nv)
            return ViewState(q, v, diagnostics=lines)
        q, v = shown.whole_q(mapper.q), shown.whole_v(mapper.v)
        stamp = mapper.stamp / NANOSECONDS
        if not self.is_current(now):
            return ViewState(q, np.zeros_like(v), stamp, diagnostics=lines)
        values = {
            topic: timed.value
            for topic, timed in self._values.items()
            if now - timed.received <= STATE_TIMEOUT
        }
        return ViewState(
            q,
            v,
            stamp,
            self._torques(q, v, values),
            tuple(self._wrenches(values)),
            self._contacts(values),
            lines,
        )

    def _torques(self, q: Array, v: Array, values: Mapping[str, Any]) -> dict[str, Array]:
        mapper = self.shown.mapper
        torques = {name: values[topic] for topic, name in TORQUE_TOPICS.items() if topic in values}
        if not torques.keys() >= {*TERMS}:
            torques = {**self.shown.terms(q, v), **torques}
        if mapper.has_effort:
            torques['measured'] = self.shown.whole_v(mapper.tau)
        return torques

    def _wrenches(self, values: Mapping[str, Any]) -> list[LinkWrench]:
        links = self.shown.links
        return [
            LinkWrench(
                links[token], values[topic][1], covariance=values.get(f'{COVARIANCE}{token}')
            )
            for topic in values
            if topic.startswith(WRENCH) and (token := topic.removeprefix(WRENCH)) in links
        ]

    def _contacts(self, values: Mapping[str, Any]) -> tuple[ContactForce, ...]:
        if not {CONTACT_POINT, CONTACT_FORCE} <= values.keys():
            return ()
        links = self.shown.robot.link_names
        return localized_contacts(links, values[CONTACT_POINT], values[CONTACT_FORCE])

    def _lines(self, now: int) -> tuple[DiagnosticLine, ...]:
        lines = []
        if self._refusal:
            lines.append(DiagnosticLine('error', 'robot_description', printable(self._refusal)))
        elif self.is_building:
            lines.append(DiagnosticLine('warning', 'robot_description', 'is being compiled'))
        elif not self.is_described:
            lines.append(DiagnosticLine('stale', 'robot_description', 'has no publisher'))
        if self._received is None:
            lines.append(DiagnosticLine('stale', 'joint_states', self._missing()))
        elif not self.is_current(now):
            age = (now - self._received) / NANOSECONDS
            text = f'last state of all joints {age:.0f} s ago'
            lines.append(DiagnosticLine('stale', 'joint_states', text))
        for line, received in self._statuses.values():
            is_old = now - received > STATUS_TIMEOUT
            lines.append(DiagnosticLine('stale', line.name, line.message) if is_old else line)
        return tuple(lines)

    def _missing(self) -> str:
        """Return why no state is available."""
        records = self.shown.mapper.records
        if not records:
            return 'no state of this robot yet'
        reason, record = max(records.items(), key=lambda item: item[1].last)
        return printable(f'{reason.value}: {record.detail}' if record.detail else reason.value)


def torques_of(message: JointStateMessage, joints: ScalarJoints) -> Array | None:
    """Return the efforts of the joints, (nv,), zero for joints not in the message."""
    names, efforts = message.names, message.effort
    if not len(names) == len(efforts) == len(set(names)) or not np.isfinite(efforts).all():
        return None
    if names == joints.joints:
        return joints.whole_v(efforts)
    if not names or not set(names) <= set(joints.joints):
        return None
    values = dict(zip(names, efforts))
    return joints.whole_v(np.array([values.get(name, 0.0) for name in joints.joints]))


def wrench_of(data: bytes) -> tuple[str, Array] | None:
    """Return frame and wrench of a WrenchStamped, (moment, force)."""
    message = deserialize_message(data, WrenchStamped)
    moment, force = message.wrench.torque, message.wrench.force
    wrench = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
    return (message.header.frame_id, wrench) if np.isfinite(wrench).all() else None


def covariance_of(data: bytes) -> Array | None:
    """Return the covariance (6, 6) of a wrench (moment, force)."""
    numbers = np.asarray(deserialize_message(data, Float64MultiArray).data, dtype=float)
    if numbers.shape != (36,) or not np.isfinite(numbers).all():
        return None
    return swap_linear_angular(swap_linear_angular(numbers.reshape(6, 6)).T)


def contact_point_of(data: bytes) -> tuple[str, Array] | None:
    """Return the frame of a contact, and the contact point (3,) in this frame."""
    message: Any = deserialize_message(data, PoseWithCovarianceStamped)
    position = message.pose.pose.position
    point = np.array([position.x, position.y, position.z])
    return (message.header.frame_id, point) if np.isfinite(point).all() else None


def statuses_of(data: bytes) -> list[DiagnosticLine]:
    """Return the statuses of a DiagnosticArray as single-line texts."""
    return [
        DiagnosticLine(
            LEVELS[min(status.level[0], len(LEVELS) - 1)],
            printable(status.name, 100),
            printable(status.message),
        )
        for status in deserialize_message(data, DiagnosticArray).status[:MAX_STATUSES]
    ]
