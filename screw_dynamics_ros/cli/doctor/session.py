# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recording of data of a running robot for `doctor`; evaluated after ROS is shut down.

SIGINT ends the recording at the next turn.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.ros.joint_states.reader import from_message
from screw_dynamics_ros.ros.names import NO_NODE, NO_NODE_IN_WORDS, UNDISCOVERED
from screw_dynamics_ros.ros.process.start_parameters import check_arguments, reason
from screw_dynamics_ros.ros.topics import qos

from ..command_line import UnusableError, progress_bar
from ..recorded_joints import JointMotions
from .running_parameters import read_configuration, read_payloads
from .session_data import SessionData

EVERY_STATE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
SPIN_TIMEOUT_S = 0.05

READABLE_NODE_NAMES = {UNDISCOVERED: 'a node with unknown name', NO_NODE: NO_NODE_IN_WORDS}


class Session:
    """A node that processes messages until it is interrupted."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.interrupted = False

    def interrupt(self, *_: object) -> None:
        """Stop all waiting."""
        self.interrupted = True

    def turns(self, seconds: float) -> Iterator[None]:
        """Process messages, and yield between them, at least once."""
        end = time.monotonic() + seconds
        while not self.interrupted:
            yield
            if time.monotonic() >= end:
                return
            rclpy.spin_once(self.node, timeout_sec=SPIN_TIMEOUT_S)

    def wait(self, wanted: Sequence[object], seconds: float) -> None:
        """Wait until `wanted` is not empty."""
        for _ in self.turns(seconds):
            if wanted:
                return

    def senders(self, topic: str, patience: float) -> list[str]:
        """Return the full names of the nodes that publish on a topic.

        A publisher is discovered separately from the name of its node, which may arrive after its
        messages; the timeout is `patience` [s].
        """
        return senders(self.node, topic, self.turns(patience))


def listen(arguments: Sequence[str], seconds: float, patience: float) -> SessionData | None:
    """Return the data of the running robot, None without a description.

    Parameters
    ----------
    arguments : sequence of str
        The command line, for ROS.
    seconds : float
        Duration of the recording of joint states, from the first one on [s].
    patience : float
        Timeout of each first message [s].

    Raises
    ------
    UnusableError
        If ROS cannot be initialized with these arguments.
    KeyboardInterrupt
        After a SIGINT.
    """
    try:
        check_arguments(arguments)
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except ArgumentError as error:
        raise UnusableError(str(error)) from None
    except Exception as error:  # rclpy has no common base class
        raise UnusableError(reason(error)) from None
    try:
        node = rclpy.create_node('doctor', enable_rosout=False, start_parameter_services=False)
        session = Session(node)
        with heeding(session):
            heard = hear(session, seconds, patience)
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
    if session.interrupted:
        raise KeyboardInterrupt
    return heard


@contextmanager
def heeding(session: Session) -> Iterator[None]:
    """Let SIGINT interrupt the session within the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    before = signal.signal(signal.SIGINT, session.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def hear(session: Session, seconds: float, patience: float) -> SessionData | None:
    """Return the data of the robot, None without a description."""
    node, texts = session.node, list[String]()
    descriptions = node.create_subscription(String, 'robot_description', texts.append, qos.LATCHED)
    session.wait(texts, patience)
    node.destroy_subscription(descriptions)
    if not texts or session.interrupted:
        return None
    text = texts[0].data
    robot = Robot(read_robot_description(text))
    mapper = joint_state_mapper(robot)
    arrivals, states = list[float](), list[tuple[Array, ...]]()
    lacking = {'velocity': Counter[str](), 'effort': Counter[str]()}
    motions = JointMotions()

    def take(message: JointState) -> None:
        arrivals.append(time.monotonic())
        for field_name, count in lacking.items():
            count.update(without(message.name, getattr(message, field_name)))
        content = from_message(message)
        if content.refusal is None:
            time_s = content.stamp * 1e-9 if content.stamp else arrivals[-1]
            motions.add(content.layout, [time_s], content.numbers[None])
        if mapper.update(content) and mapper.has_effort:
            states.append(tuple(mapper.state.copy()))

    joint_states = node.create_subscription(JointState, 'joint_states', take, EVERY_STATE)
    session.wait(arrivals, patience)
    if arrivals:
        start = time.monotonic()
        with progress_bar('doctor: listening') as progress:
            for _ in session.turns(seconds):
                progress(min((time.monotonic() - start) / max(seconds, SPIN_TIMEOUT_S), 1.0))
    senders_of_states = session.senders(joint_states.topic_name, patience)
    node.destroy_subscription(joint_states)
    configuration = replace(
        read_configuration(node, session.turns, patience),
        carried=read_payloads(node, session.turns, patience),
    )
    return SessionData(
        text,
        robot,
        mapper,
        arrivals,
        states,
        configuration,
        senders_of_states,
        session.senders('/tf', patience),
        lacking,
        dict(node.get_topic_names_and_types()),
        sorted(
            f'{space.rstrip("/")}/{name}' for name, space in node.get_node_names_and_namespaces()
        ),
        motions,
    )


def without(names: Sequence[str], values: Sequence[float]) -> Iterator[str]:
    """Yield the joints of a message without a finite value in a field."""
    for k, name in enumerate(names):
        if k >= len(values) or not math.isfinite(values[k]):
            yield name


def senders(node: Node, topic: str, turns: Iterator[None]) -> list[str]:
    """Return the full names of the nodes that publish on a topic, found during `turns`."""
    names: list[str] = []
    for _ in turns:
        infos = node.get_publishers_info_by_topic(topic)
        names = sorted(
            {
                READABLE_NODE_NAMES.get(
                    info.node_name, f'{info.node_namespace.rstrip("/")}/{info.node_name}'
                )
                for info in infos
            }
        )
        if all(info.node_name != UNDISCOVERED for info in infos):
            break
    return names
