# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of running nodes for efforts, gravity and payload, and payloads that they publish."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_parameters
from rclpy.task import Future

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.messages.conversions import read_inertia
from screw_dynamics_ros.ros.topics import qos

from .session_data import ENFORCE, Configuration

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
