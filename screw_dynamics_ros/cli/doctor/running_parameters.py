# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the running nodes about efforts, which `doctor` does not report as problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_parameters
from rclpy.task import Future

from screw_dynamics_ros.core.description.rigid_body import RigidBody

#: The parameters that are asked for, of whichever node has them.
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
)
#: What measured efforts contain, if nothing is said.
TERMS = ('gravity', 'coriolis', 'friction', 'inertia', 'payload')
SERVICE = '/get_parameters'
#: Of several that have one.
PREFERRED_NODES = ('bringup', 'dynamics', 'wrench_estimator', 'kinematics')
RETRY_PERIOD_S = 1.0  # s, until a question without an answer is asked again
DISCOVERY_TIMEOUT_S = 0.5  # without a new node, until all are taken to be known


@dataclass(frozen=True)
class Configuration:
    """Parameters of running nodes.

    Attributes
    ----------
    values : mapping
        Those that some node has, by name.
    owners : mapping
        The full name of that node, by the name of the parameter.
    silent : tuple of str
        Full names of the nodes that did not answer, or not everything.
    carried : mapping
        What links carry and the full name of the node that says so, by link: more recent than the
        parameters (`running_payloads`).
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    carried: Mapping[str, tuple[RigidBody, str]] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[str, ...]:
        """What the measured efforts contain."""
        return tuple(term for term in self.values.get('effort_terms', TERMS) if term)

    @property
    def gravity(self) -> tuple[float, ...] | None:
        """Acceleration of free fall [m/s^2]; None if nobody says."""
        return tuple(self.values['gravity']) if len(self.values.get('gravity', ())) == 3 else None

    @property
    def payloads(self) -> dict[str, tuple[RigidBody, str]]:
        """What links carry, and the node that says so, by link; of parameters without inertia."""
        if self.carried:
            return {link: each for link, each in self.carried.items() if each[0].mass}
        mass, link = self.values.get('payload_mass'), self.values.get('payload_link')
        if not (mass and link):
            return {}
        center = self.values.get('payload_center_of_mass', (0.0, 0.0, 0.0))
        body = RigidBody(mass, np.array(center), np.zeros((3, 3)))
        return {link: (body, self.owners['payload_mass'])}

    def calibrated(self, joints: list[str], efforts: np.ndarray) -> np.ndarray:
        """Return efforts (samples, joints) as torques [N m, N], as the nodes make them."""
        torques = efforts.copy()
        named = [joint for joint in self.values.get('effort_joints', ()) if joint]
        for name, apply in (('effort_scale', np.multiply), ('effort_offset', np.add)):
            for joint, number in zip(named, self.values.get(name) or ()):
                if joint in joints:
                    column = torques[:, joints.index(joint)]
                    apply(column, number, out=column)
        return torques


def read_configuration(
    node: Node,
    turns: Callable[[float], Iterator[None]],
    patience: float,
) -> Configuration:
    """Ask all nodes in the namespace of `node`; those that do not answer in time are named.

    Parameters
    ----------
    node : rclpy.node.Node
    turns : callable
        Returns an iterator that handles messages for so many seconds.
    patience : float
        How long the answers are waited for [s].
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
    """Return the full names of the nodes in the namespace of `node` that tell their parameters."""
    space = node.get_namespace().rstrip('/') + '/'
    names = {
        service.removesuffix(SERVICE)
        for service, _ in node.get_service_names_and_types()
        if service.startswith(space) and service.endswith(SERVICE)
    }
    return {name for name in names if '/' not in name.removeprefix(space)}


def order_of_preference(name: str) -> tuple[int, str]:
    """Return the key to sort the nodes by, of which several have a parameter."""
    own = name.rpartition('/')[2]
    return PREFERRED_NODES.index(own) if own in PREFERRED_NODES else len(PREFERRED_NODES), name


class ParameterQueries:
    """What one node is asked: one parameter at a time, since it tells none if it lacks one of them.

    An answer can be lost: a server whose middleware does not know the client yet drops it. A
    question without an answer is asked again.
    """

    def __init__(self, node: Node, name: str) -> None:
        self.client = node.create_client(
            GetParameters, name + SERVICE, qos_profile=qos_profile_parameters
        )
        self._futures: dict[str, list[Future[Any]]] = {parameter: [] for parameter in NAMES}
        self._next = 0.0

    def ask(self) -> None:
        """Ask what is not answered, now and then."""
        if time.monotonic() < self._next or not self.client.service_is_ready():
            return
        self._next = time.monotonic() + RETRY_PERIOD_S
        for parameter, futures in self._futures.items():
            if not any(future.done() for future in futures):
                futures.append(self.client.call_async(GetParameters.Request(names=[parameter])))

    @property
    def are_answered(self) -> bool:
        """Whether there is an answer to each."""
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
