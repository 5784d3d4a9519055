# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The payload of a robot as parameters: a body fixed to a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import check_payload
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages.conversions import check_size
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters, Specification

from ..model.payloads import PARAMETERS, Payloads

TABLE = (
    Specification(
        'payload_link',
        '',
        'Link that carries the payload described by the other payload parameters. Empty: none.',
        rule='a link of the robot, or empty',
    ),
    Specification('payload_mass', 0.0, 'Mass of the payload [kg].', minimum=0.0),
    Specification(
        'payload_center_of_mass',
        [0.0, 0.0, 0.0],
        'Center of mass of the payload in the frame of payload_link [m].',
        size=3,
    ),
    Specification(
        'payload_inertia',
        [0.0] * 6,
        'Inertia of the payload about its center of mass in the axes of payload_link: xx, xy, xz, '
        'yy, yz, zz [kg m^2].',
        size=6,
        rule='physically possible',
    ),
)

#: Uses of the payload that a driver states.
IGNORE, COMPARE, FOLLOW = DRIVER_PAYLOAD = 'ignore', 'compare', 'follow'
DRIVER = Specification(
    'driver_payload',
    IGNORE,
    'Use of the payload on ~/driver_payload, as set on the robot: ignore, compare (report a '
    'difference from the payloads of the nodes), follow (attach it, under the name driver).',
    choices=DRIVER_PAYLOAD,
    read_only=True,
)


def payloads(
    parameters: Parameters, changed: Mapping[str, Any] | None = None
) -> dict[str, RigidBody]:
    """Return the payload by its link, empty if there is none.

    Raises `InertiaError` for physically impossible parameters, `ArgumentError` for too large ones.
    """
    value = {specification.name: parameters[specification.name] for specification in TABLE}
    value.update(changed or {})
    given = value['payload_mass'], value['payload_center_of_mass'], value['payload_inertia']
    check_size('payload', *given)
    body = RigidBody.from_moments(*given)
    return {value['payload_link']: body} if value['payload_link'] and body.mass else {}


def check(parameters: Parameters, changed: Mapping[str, Any], robot: Robot | None) -> None:
    """Refuse impossible inertias, links the current robot does not have, and too heavy bodies."""
    described = payloads(parameters, changed)
    link = changed.get('payload_link')
    if link and robot is not None and link not in robot.link_names:
        raise UnknownNameError(
            f'payload_link: robot {robot.description.name} has no link {link!r}; it has '
            f'{shorten(robot.link_names, 30)}'
        )
    if robot is not None and changed.keys() & {each.name for each in TABLE}:
        for link, body in described.items():
            if link in robot.link_names:
                check_payload(robot, link, body)


def put(parameters: Parameters, carried: Payloads, duration: float = 0.0) -> None:
    """Attach the payload of the parameters, or remove it, within a duration [s]."""
    described = payloads(parameters)
    for link, body in described.items():
        carried.put(PARAMETERS, link, body, duration)
    if not described and PARAMETERS in carried.names:
        carried.remove(PARAMETERS, duration)


def report(status: Status, parameters: Parameters) -> None:
    """Warn about a payload mass without a link."""
    if parameters['payload_mass'] and not parameters['payload_link']:
        status.warn('no payload: payload_mass is set, but payload_link is empty')
