# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services that change inertias: `set_payload`, `clear_payload`, `detach_tool`, `set_link_inertia`.

`DriverPayload` is the payload that a driver states. Services run in the thread of the joint states,
and changes take effect at the next joint state. The payload named `parameters` is that of the
parameters payload_...: a request for it sets these parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import MissingStateError
from screw_dynamics_ros.core.kinematics.poe import link_pose
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.motion.control.payload_transitions import check_duration
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import check_payload
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.requested_state import latest
from screw_dynamics_ros.ros.messages.conversions import read_inertia
from screw_dynamics_ros.ros.names import printable, shorten, shown
from screw_dynamics_ros.ros.services import Services
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.command_topic import CommandTopic

from ..model.link_inertias import LinkInertias
from ..model.parts import HostPart
from ..model.payloads import PARAMETERS, Payloads, check_name
from ..model.running_model import RunningModel
from ..parameters.payload_parameters import COMPARE, FOLLOW, IGNORE

DEFAULT = 'payload'  # default name of a payload
DRIVER = 'driver'  # name of the payload that a driver states
#: Differences that are not reported: of masses, absolute [kg] and relative, of centers [m].
SAME_MASS, SAME_SHARE, SAME_CENTER = 0.02, 0.02, 0.005


class PayloadServices:
    """The services that attach and remove payloads.

    Parameters
    ----------
    services : Services
    payloads : Payloads
    running : callable
        Returns the active model and its mapper, or (None, None).
    set_parameters : callable
        Sets parameters, with a transition time [s]; returns '' or the reason for a refusal.
    prefix : str
        Prefix of frame names.
    """

    def __init__(
        self,
        services: Services,
        payloads: Payloads,
        running: Callable[[], tuple[RunningModel | None, JointStateMapper | None]],
        set_parameters: Callable[[Mapping[str, Any], float], str],
        prefix: str,
    ) -> None:
        self.payloads, self._running, self.prefix = payloads, running, prefix
        self._set_parameters = set_parameters
        services.serve('SetPayload', '~/set_payload', self.set_payload)
        services.serve('ClearPayload', '~/clear_payload', self.clear_payload)
        services.serve('DetachTool', '~/detach_tool', self.detach_tool)

    def set_payload(self, request: Any, response: Any) -> str:
        """Answer a SetPayload request."""
        name = request.name or DEFAULT
        duration = seconds(request.transition_time)
        body = read_inertia(request.inertia.inertia, 'inertia')
        link, body = self._on_link(request.inertia.header.frame_id, request.link, body)
        self.put(name, link, body, duration)
        response.header.frame_id = self.prefix + link
        return f'{name}: {body.mass:g} kg on {link}{how(duration)}'

    def put(
        self, name: str, link: str, body: RigidBody, duration: float, tool: bool = False
    ) -> None:
        """Attach a body to a link under a name, or raise `ScrewDynamicsError` without a change."""
        check_name(name)
        check_duration(duration)
        model, _ = self._running()
        if model is not None and link in model.robot.link_names:
            check_payload(model.robot, link, body)
        if name == PARAMETERS:
            self._set(
                {
                    'payload_link': link if body.mass else '',
                    'payload_mass': float(body.mass),
                    'payload_center_of_mass': body.com.tolist(),
                    'payload_inertia': body.moments.tolist(),
                },
                duration,
            )
        # parameters with unchanged values have no effect, but the current transition must restart
        self.payloads.put(name, link, body, duration, tool)

    def clear_payload(self, request: Any, response: Any) -> str:
        """Answer a ClearPayload request."""
        duration = seconds(request.transition_time)
        if request.name:
            self._remove(request.name, duration)
            return f'{request.name}: removed{how(duration)}'
        if PARAMETERS in self.payloads.names:
            self._remove(PARAMETERS, duration)
        names = self.payloads.remove_all(duration)
        return f'{shorten(names)}: removed{how(duration)}' if names else 'no payloads'

    def detach_tool(self, request: Any, response: Any) -> str:
        """Answer a DetachTool request."""
        duration, tools = seconds(request.transition_time), self.payloads.tools
        name = request.name
        if not name and len(tools) == 1:
            (name,) = tools
        if name not in tools:
            wanted = (
                f'no tool {shown(name)!r}' if name else 'name is empty, and not exactly one tool'
            )
            raise UnknownNameError(f'{wanted}; attached: {shorten(tools, 30) or "none"}')
        self.payloads.remove(name, duration)
        return f'{name}: detached{how(duration)}'

    def _remove(self, name: str, duration: float) -> None:
        if name == PARAMETERS and name in self.payloads.names:
            check_duration(duration)
            self._set({'payload_link': ''}, duration)
            with suppress(UnknownNameError):  # already removed with its parameters
                self.payloads.remove(name, duration)
            return
        self.payloads.remove(name, duration)

    def _set(self, values: Mapping[str, Any], duration: float) -> None:
        reason = self._set_parameters(values, duration)
        if reason:
            raise ScrewDynamicsError(f'the parameters were refused: {reason}')

    def active_link(self, frame: str, field: str) -> str:
        """Return the link with a frame name; without an active robot its existence is unchecked."""
        model, _ = self._running()
        if model is None:
            return frame.removeprefix(self.prefix)
        return link_of(model.robot, self.prefix, frame, field)

    # --- frames ---------------------------------------------------------------------------------

    def _on_link(self, frame: str, link: str, body: RigidBody) -> tuple[str, RigidBody]:
        """Return the link that carries a body, and the body in its frame.

        Parameters
        ----------
        frame : str
            Frame in which the body is given; empty: the frame of the link.
        link : str
            Link that carries the body; empty: the link of the frame.
        body : RigidBody
        """
        if not (frame or link):
            raise ArgumentError('inertia.header.frame_id and link are empty; give one of them')
        model, mapper = self._running()
        if model is None:
            wanted = link or frame, frame or link
            link, frame = (each.removeprefix(self.prefix) for each in wanted)
            if link != frame:
                raise MissingStateError(
                    f'no robot description yet, so the pose of {shown(frame)!r} on {shown(link)!r} '
                    'is unknown; give the body in the frame of the link'
                )
            return link, body
        robot = model.robot
        given = link_of(robot, self.prefix, frame or link, 'inertia.header.frame_id')
        carrier = link_of(robot, self.prefix, link or frame, 'link')
        if given == carrier:
            return carrier, body
        return carrier, body.moved(relative_pose(model, mapper, carrier, given))


class DriverPayload(HostPart):
    """The payload that a driver states on `~/driver_payload`: compared, or followed.

    The last one remains when the driver ends. Of several publishers the first one is followed until
    it no longer exists.

    Parameters
    ----------
    node : rclpy.node.Node
    services : PayloadServices
    use : str
        See `driver_payload`.
    """

    def __init__(self, node: Node, services: PayloadServices, use: str) -> None:
        self._services, self._use, self._refusal = services, use, ''
        self._stated: tuple[str, RigidBody] | None = None
        self._topic = None
        if use != IGNORE:
            self._topic = CommandTopic(
                node,
                InertiaStamped,
                '~/driver_payload',
                self.receive,
                self._refuse,
                lambda: math.inf,
            )

    def _refuse(self, reason: str) -> None:
        self._refusal = f'~/driver_payload refused: {reason}' if reason else ''

    def receive(self, message: InertiaStamped) -> None:
        """Use a payload in the frame of the link that carries it, or keep the previous one."""
        try:
            if not message.header.frame_id:
                raise ArgumentError('header.frame_id is empty; name the link that carries the body')
            body = read_inertia(message.inertia, 'inertia')
            link = self._services.active_link(message.header.frame_id, 'header.frame_id')
            active = self._services.payloads.by_name().get(DRIVER, {})
            if self._use == FOLLOW and not is_same({link: body} if body.mass else {}, active):
                self._services.put(DRIVER, link, body, 0.0)
        except ScrewDynamicsError as error:
            self._refuse(str(error))
            return
        self._stated = link, body
        self._refuse('')

    def report(self, status: Status) -> None:
        """Report the payload, why it is refused, and its difference from that of the nodes."""
        if self._topic is None:
            return
        self._topic.report(status)
        if self._refusal:
            status.warn(printable(self._refusal))
        elif self._stated is None:
            status.warn('no payload on ~/driver_payload (driver_payload); repeat it there')
        if self._stated is None:
            return
        link, body = self._stated
        status.values['payload of the driver'] = f'{body.mass:.6g} kg on {link}'
        if self._use == COMPARE and (text := difference(link, body, self._services.payloads)):
            status.warn(f'{text}; set the same payload, or driver_payload: follow')


def is_same(stated: Mapping[str, RigidBody], active: Mapping[str, RigidBody]) -> bool:
    """Return whether bodies by link are equal."""
    return stated.keys() == active.keys() and all(
        body.mass == other.mass
        and np.array_equal(body.com, other.com)
        and np.array_equal(body.moments, other.moments)
        for body, other in zip(stated.values(), active.values())
    )


def difference(link: str, body: RigidBody, payloads: Payloads) -> str:
    """Return the difference of all payloads from the one of the driver, '' if they agree.

    Centers of mass are compared if the same link carries all.
    """
    bodies = {name: each for name, each in payloads.bodies().items() if each.mass}
    mass = sum(each.mass for each in bodies.values())
    if abs(mass - body.mass) > max(SAME_MASS, SAME_SHARE * body.mass):
        return f'the payload of the driver is {body.mass:.6g} kg, that of the node {mass:.6g} kg'
    if body.mass and bodies.keys() == {link}:
        distance = float(np.linalg.norm(bodies[link].com - body.com))
        if distance > SAME_CENTER:
            return f'the centers of mass of driver and node are {1e3 * distance:.3g} mm apart'
    return ''


class LinkInertiaService:
    """Answers requests immediately; changes take effect at the next joint state.

    Parameters
    ----------
    services : Services
    inertias : LinkInertias
    frames : PayloadServices
        Finds links by the names of their frames.
    """

    def __init__(self, services: Services, inertias: LinkInertias, frames: PayloadServices) -> None:
        self._inertias, self._frames = inertias, frames
        services.serve('SetLinkInertia', '~/set_link_inertia', self.set_link_inertia)

    def set_link_inertia(self, request: Any, response: Any) -> str:
        """Answer a SetLinkInertia request."""
        duration = seconds(request.transition_time)
        body = None if request.reset else read_inertia(request.inertia, 'inertia')
        link = self._frames.active_link(request.link, 'link')
        self._inertias.set(link, body, duration)
        response.header.frame_id = self._frames.prefix + link
        what = 'as described' if body is None else f'{body.mass:g} kg'
        return f'{link}: {what}{how(duration)}'


def link_of(robot: Robot, prefix: str, frame: str, field: str) -> str:
    """Return the link with a frame name, with or without the prefix.

    Raises `UnknownNameError` with the field of the request.
    """
    for link in (frame.removeprefix(prefix), frame):
        if link in robot.link_names:
            return link
    raise UnknownNameError(
        f'{field}: robot {robot.description.name} has no link {shown(frame)!r}; it has '
        f'{shorten(robot.link_names, 30)}'
    )


def relative_pose(
    model: RunningModel, mapper: JointStateMapper | None, carrier: str, link: str
) -> Array:
    """Return the pose (4, 4) of a link in the frame of another one.

    If joints are between the two links, the latest state is used; raises `MissingStateError`
    without one.
    """
    tree = model.robot.tree
    frames = tree.frame(carrier), tree.frame(link)
    if frames[0].body == frames[1].body:
        return se3.inverse(frames[0].S) @ frames[1].S
    measured = None if mapper is None else latest(mapper)
    if measured is None:
        raise MissingStateError(
            f'joints are between {carrier} and {link}, and there is no current joint state; give '
            f'the body in the frame of {carrier}, or see /diagnostics'
        )
    q = model.whole_q(measured.q)
    return se3.inverse(link_pose(tree, q, carrier)) @ link_pose(tree, q, link)


def seconds(duration: Any) -> float:
    """Return a builtin_interfaces/Duration of a request [s]."""
    return float(duration.sec + 1e-9 * duration.nanosec)


def how(duration: float) -> str:
    """Return a text for the time at which a change takes effect."""
    return f' within {duration:g} s' if duration else ' from the next joint state on'
