"""What the running nodes are told of the measured efforts: `doctor` does not call that a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_parameters

from screw_dynamics_ros.core.model.rigid_body import RigidBody

#: The parameters that are asked for, of whichever node has them.
NAMES = ('gravity', 'effort_joints', 'effort_scale', 'effort_offset', 'effort_terms',
         'payload_link', 'payload_mass', 'payload_center_of_mass', 'payload_inertia')
#: What measured efforts contain, if nothing is said.
TERMS = ('gravity', 'coriolis', 'friction', 'inertia', 'payload')
SERVICE = '/get_parameters'
FIRST = ('bringup', 'dynamics', 'wrench_estimator', 'kinematics')  # of several that have one


@dataclass(frozen=True)
class Configuration:
    """Parameters of running nodes.

    Attributes
    ----------
    values : mapping
        Those that some node has, by name.
    owners : mapping
        The full name of that node, by the name of the parameter.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[str, ...]:
        """What the measured efforts contain."""
        return tuple(term for term in self.values.get('effort_terms', TERMS) if term)

    @property
    def gravity(self) -> tuple[float, ...] | None:
        """Acceleration of free fall [m/s^2]; None if nobody says."""
        return tuple(self.values['gravity']) if len(self.values.get('gravity', ())) == 3 else None

    @property
    def payload_link(self) -> str:
        """The link that carries a payload; '' for none."""
        return self.values.get('payload_link', '') if self.values.get('payload_mass') else ''

    @property
    def payload(self) -> RigidBody:
        """What the link carries; its inertia does not matter at rest."""
        center = self.values.get('payload_center_of_mass', (0.0, 0.0, 0.0))
        return RigidBody(self.values['payload_mass'], np.array(center), np.zeros((3, 3)))

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
    node: Node, turns: Callable[[float], Iterator[None]], patience: float,
) -> Configuration:
    """Ask all nodes in the namespace of `node`; those that do not answer in time are left out.

    Parameters
    ----------
    node : rclpy.node.Node
    turns : callable
        Returns an iterator that handles messages for so many seconds.
    patience : float
        How long the answers are waited for [s].
    """
    space = node.get_namespace().rstrip('/') + '/'
    names = sorted(
        {service.removeprefix(space).removesuffix(SERVICE)
         for service, _ in node.get_service_names_and_types()
         if service.startswith(space) and service.endswith(SERVICE)},
        key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    clients = {name: node.create_client(GetParameters, f'{space}{name}{SERVICE}',
                                        qos_profile=qos_profile_parameters)
               for name in names if '/' not in name}
    futures: dict[tuple[str, str], Any] = {}
    for _ in turns(patience):
        for name, client in clients.items():
            if (name, NAMES[0]) not in futures and client.service_is_ready():
                # One by one: of several a node gives none if it does not have all.
                futures.update({(name, parameter): client.call_async(
                    GetParameters.Request(names=[parameter])) for parameter in NAMES})
        if len(futures) == len(clients) * len(NAMES) and all(
                future.done() for future in futures.values()):
            break
    values: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for (name, parameter), future in sorted(
            futures.items(), key=lambda item: names.index(item[0][0])):
        answer = future.result().values if future.done() else ()
        value = parameter_value_to_python(answer[0]) if answer else None
        if value is not None and parameter not in values:
            values[parameter], owners[parameter] = value, space + name
    for client in clients.values():
        node.destroy_client(client)
    return Configuration(values, owners)
