# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planes, contact points and springs as parameters: `planes.<name>.normal` and so on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.simulation.contacts import ContactPoint, Plane
from screw_dynamics_ros.core.simulation.springs import Spring
from screw_dynamics_ros.ros.parameters import Parameters, Specification

WHERE = 'in the frame of the root link, of a floating base in world_frame'


def _names(name: str, what: str, prefix: str, example: str) -> Specification:
    return Specification(
        name,
        [''],
        f'Names of {what}, described by the parameters {prefix}.<name>.{example} and so on.',
        rule='names of your choice',
        read_only=True,
    )


NAMES = (
    _names('plane_names', 'planes that contact points touch', 'planes', 'normal'),
    _names('contact_point_names', 'points of links that touch planes', 'contact_points', 'link'),
    _names('spring_names', 'springs between links and fixed points', 'springs', 'link'),
)


def _vector(name: str, description: str, default: Sequence[float] = (0.0,) * 3) -> Specification:
    return Specification(name, list(default), description, size=3, read_only=True)


def _number(name: str, default: float, description: str) -> Specification:
    return Specification(name, default, description, minimum=0.0, read_only=True)


LINK = Specification('link', '', 'The link.', rule='a link of the robot', read_only=True)

#: Parameters of each kind of object, by prefix: `<prefix>.<name>.<parameter>`.
TABLES = {
    'planes': (
        _vector('point', f'A point of the plane, {WHERE} [m].'),
        _vector(
            'normal',
            'Normal vector that points out of the material, of any length.',
            (0.0, 0.0, 1.0),
        ),
        _number('stiffness', 1e4, 'Contact stiffness of each point [N/m]; not 0.'),
        _number(
            'damping', 1.0, 'Relative increase of the contact force per penetration velocity [s/m].'
        ),
        _number('friction', 0.5, 'Coefficient of Coulomb friction.'),
    ),
    'contact_points': (
        LINK,
        _vector('position', 'Position of the point in the frame of the link [m].'),
        _number('radius', 0.0, 'Radius of a contact sphere around the point [m].'),
    ),
    'springs': (
        LINK,
        _vector('position', 'Attachment point in the frame of the link [m].'),
        _vector('anchor', f'Fixed end, {WHERE} [m].'),
        _number('stiffness', 100.0, 'Stiffness [N/m].'),
        _number('damping', 0.0, 'Damping [N s/m].'),
        _number('rest_length', 0.0, 'Length at zero force [m].'),
    ),
}


@dataclass(frozen=True)
class World:
    """The environment of a robot: planes, contact points and springs."""

    planes: tuple[Plane, ...] = ()
    contact_points: tuple[ContactPoint, ...] = ()
    springs: tuple[Spring, ...] = ()


def is_known(parameter: str) -> bool:
    """Whether a parameter has the prefix of a kind of object."""
    return any(parameter.startswith(f'{prefix}.') for prefix in TABLES)


def read_world(node: Node, parameters: Parameters) -> World:
    """Declare the parameters of all named objects, and return the objects.

    Raises
    ------
    ArgumentError
        If a value is invalid, or belongs to an object that is not named.
    """
    planes, points, springs = (
        _sections(node, prefix, parameters[specification.name])
        for prefix, specification in zip(TABLES, NAMES)
    )
    _refuse_others(node)
    return World(
        tuple(Plane(name=name, **values) for name, values in planes.items()),
        tuple(ContactPoint(**values) for values in points.values()),
        tuple(Spring(name=name, **values) for name, values in springs.items()),
    )


def _sections(node: Node, prefix: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the values of each named object."""
    sections = {}
    for name in dict.fromkeys(names):
        table = [each.renamed(f'{prefix}.{name}.{each.name}') for each in TABLES[prefix]]
        parameters = Parameters(node, table)
        sections[name] = {
            each.name: parameters[f'{prefix}.{name}.{each.name}'] for each in TABLES[prefix]
        }
        if sections[name].get('link') == '':
            raise ArgumentError(f'parameter {prefix}.{name}.link is empty; name a link')
    return sections


def _refuse_others(node: Node) -> None:
    """Refuse values that would be ignored: of objects not named, or unknown parameters."""
    for name in getattr(node, '_parameter_overrides', ()):
        if is_known(name) and not node.has_parameter(name):
            prefix = name.partition('.')[0]
            specification = NAMES[list(TABLES).index(prefix)]
            fields = ', '.join(each.name for each in TABLES[prefix])
            raise ArgumentError(
                f'parameter {name} does not exist; name the object in {specification.name}; its '
                f'parameters are {fields}'
            )
