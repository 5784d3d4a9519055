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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import rclpy
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_parameters
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import joint_state_mapper
from screw_dynamics_ros.ros.joint_states.reader import from_message
from screw_dynamics_ros.ros.messages.conversions import read_inertia
from screw_dynamics_ros.ros.names import NO_NODE, NO_NODE_IN_WORDS, UNDISCOVERED
from screw_dynamics_ros.ros.process.start_parameters import check_arguments, reason
from screw_dynamics_ros.ros.topics import qos

from ..command_line import UnusableError, progress_bar
from ..recorded_joints import JointMotions
from .session_data import ENFORCE, Configuration, SessionData

EVERY_STATE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
SPIN_TIMEOUT_S = 0.05

READABLE_NODE_NAMES = {UNDISCOVERED: 'a node with unknown name', NO_NODE: NO_NODE_IN_WORDS}


#: Requested parameters, from any node that has them.
NAMES = (
    'gravity',
    'effort_joints',
    'effort_scale',
    'effort_offset',
    'effort_terms',
    'effort_condition',
    'payload_link',
    'payload_mass',
    'payload_center_of_mass',
    'payload_inertia',
    ENFORCE,
)
SERVICE = '/get_parameters'
#: Priority of nodes with the same parameter.
PREFERRED_NODES = ('bringup', 'dynamics', 'wrench_estimator', 'kinematics')
RETRY_PERIOD_S = 1.0  # until a request without a response is repeated
DISCOVERY_TIMEOUT_S = 0.5  # without a new node, until discovery is complete
TOPIC_PART = '/payload_inertia/'
MESSAGE_TYPE = 'geometry_msgs/msg/InertiaStamped'


def read_configuration(
    node: Node, turns: Callable[[float], Iterator[None]], patience: float
) -> Configuration:
    """Request the parameters of all nodes in the namespace of `node`.

    Parameters
    ----------
    node : rclpy.node.Node
    turns : callable
        Returns an iterator that handles messages for a number of seconds.
    patience : float
        Timeout of the responses [s].
    """
    asked: dict[str, ParameterQueries] = {}
    news = time.monotonic()
    for _ in turns(patience):
        for name in parameter_services(node) - asked.keys():
            asked[name] = ParameterQueries(node, name)
            news = time.monotonic()
        for questions in asked.values():
            questions.ask()
        if time.monotonic() > news + DISCOVERY_TIMEOUT_S and all(
            questions.are_answered for questions in asked.values()
        ):
            break
    values: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for name in sorted(asked, key=order_of_preference):
        for parameter, value in asked[name].answers().items():
            if parameter not in values:
                values[parameter], owners[parameter] = value, name
    silent = tuple(sorted(name for name in asked if not asked[name].are_answered))
    for questions in asked.values():
        node.destroy_client(questions.client)
    return Configuration(values, owners, silent)


def parameter_services(node: Node) -> set[str]:
    """Return the full names of nodes in the namespace of `node` with parameter services."""
    space = node.get_namespace().rstrip('/') + '/'
    names = {
        service.removesuffix(SERVICE)
        for service, _ in node.get_service_names_and_types()
        if service.startswith(space) and service.endswith(SERVICE)
    }
    return {name for name in names if '/' not in name.removeprefix(space)}


def order_of_preference(name: str) -> tuple[int, str]:
    """Return the sort key of a node: preferred nodes first, then by name."""
    own = name.rpartition('/')[2]
    return PREFERRED_NODES.index(own) if own in PREFERRED_NODES else len(PREFERRED_NODES), name


class ParameterQueries:
    """Requests to one node, one per parameter: a request fails if one parameter is missing.

    A response is lost if the middleware of the server has not yet discovered the client. Requests
    without a response are repeated.
    """

    def __init__(self, node: Node, name: str) -> None:
        self.client = node.create_client(
            GetParameters, name + SERVICE, qos_profile=qos_profile_parameters
        )
        self._futures: dict[str, list[Future[Any]]] = {parameter: [] for parameter in NAMES}
        self._next = 0.0

    def ask(self) -> None:
        """Repeat requests without a response, at `RETRY_PERIOD_S`."""
        if time.monotonic() < self._next or not self.client.service_is_ready():
            return
        self._next = time.monotonic() + RETRY_PERIOD_S
        for parameter, futures in self._futures.items():
            if not any(future.done() for future in futures):
                futures.append(self.client.call_async(GetParameters.Request(names=[parameter])))

    @property
    def are_answered(self) -> bool:
        """Whether all requests have a response."""
        return all(any(future.done() for future in futures) for futures in self._futures.values())

    def answers(self) -> dict[str, Any]:
        """Return the parameters that the node has, by name."""
        found: dict[str, Any] = {}
        for parameter, futures in self._futures.items():
            answer = next((future.result().values for future in futures if future.done()), ())
            value = parameter_value_to_python(answer[0]) if answer else None
            if value is not None:
                found[parameter] = value
        return found


def read_payloads(
    node: Node, turns: Callable[[float], Iterator[None]], patience: float
) -> dict[str, tuple[RigidBody, str]]:
    """Return payload and reporting node by link; without a payload the mass is zero.

    For several nodes, the priority is that of their parameters. `turns` and `patience` are as for
    `read_configuration`; without topics the function returns immediately.
    """
    space = node.get_namespace().rstrip('/') + '/'
    topics = [
        topic
        for topic, kinds in node.get_topic_names_and_types()
        if topic.startswith(space) and TOPIC_PART in topic and MESSAGE_TYPE in kinds
    ]
    heard: dict[str, Any] = {}
    subscriptions = [
        node.create_subscription(
            InertiaStamped, topic, partial(heard.__setitem__, topic), qos.LATCHED
        )
        for topic in topics
    ]
    end = time.monotonic() + patience
    for _ in turns(patience):
        if len(heard) == len(topics) or time.monotonic() > end:
            break
    for subscription in subscriptions:
        node.destroy_subscription(subscription)
    found: dict[str, tuple[RigidBody, str]] = {}
    for topic in sorted(
        heard, key=lambda topic: order_of_preference(topic.partition(TOPIC_PART)[0])
    ):
        message, owner = heard[topic], topic.partition(TOPIC_PART)[0]
        try:
            body = read_inertia(message.inertia, topic)
        except ScrewDynamicsError:  # from another program
            continue
        found.setdefault(message.header.frame_id, (body, owner))
    return found


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
