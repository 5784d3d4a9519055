# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services `record_payload`, `estimate_payload` and `attach_tool`.

Another process computes estimates and tools; this process activates the results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import InertiaError, NotAtRestError, NotEnoughDataError
from screw_dynamics_ros.core.estimation.payload_estimation import (
    EffortRecord,
    PayloadEstimate,
    estimate_payload,
)
from screw_dynamics_ros.core.motion.control.payload_transitions import mixture, tool_body
from screw_dynamics_ros.core.statistics.intervals import between
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.description import urdf_text
from screw_dynamics_ros.ros.messages import conversions
from screw_dynamics_ros.ros.messages.conversions import read_inertia, time_message, write_inertia
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.services import Computation, Services
from screw_dynamics_ros.ros.status import Status

from ..model.effort_recording import EffortRecording, RecordedMotion
from ..model.parts import HostPart, Stage
from ..model.payloads import PARAMETERS
from .payload_services import DEFAULT, PayloadServices, how, seconds
from .requests import RequestContext, service_model


def estimate(
    situation: RequestContext,
    recorded: Sequence[RecordedMotion],
    shares: Array,
    named: Mapping[str, Mapping[str, RigidBody]],
    request: Any,
    response: Any,
) -> None:
    """Answer an EstimatePayload request; with `apply` the result is a valid payload."""
    queried = service_model(situation)
    queried.check_tree('estimation of a payload', 'set it with set_payload')
    link = queried.find_link(request.link, 'link')
    records = [
        EffortRecord(
            1e-9 * (each.stamps - each.stamps[0]),
            np.array([queried.whole_q(q) for q in each.states[:, 0]]),
            np.array([queried.whole_v(v) for v in each.states[:, 1]]),
            np.array([queried.whole_v(tau) for tau in each.states[:, 2]]),
            each.at_rest,
        )
        for each in recorded
    ]
    others = [carried for name, carried in named.items() if name != (request.name or DEFAULT)]
    found = estimate_payload(
        queried.robot,
        link,
        records,
        shares=shares,
        known=together(others, queried.robot.link_names),
        effort_deviation=request.effort_deviation,
        with_offsets=request.estimate_offsets,
        measured=queried.joints,
    )
    write(found, response)
    response.header.frame_id = queried.prefix + link
    response.inertia.header.frame_id = response.header.frame_id
    if request.apply:
        body_of(found)
    if np.isnan(found.mass):
        raise NotEnoughDataError(
            'the recorded data do not determine the mass: record poses in which the link has '
            f'other orientations; not estimated: {", ".join(found.not_told)}'
        )


def together(
    carried: Iterable[Mapping[str, RigidBody]], links: Collection[str]
) -> dict[str, RigidBody]:
    """Return the sum of the payloads on each of these links."""
    parts: dict[str, list[tuple[float, RigidBody]]] = {}
    for each in carried:
        for link, body in each.items():
            parts.setdefault(link, []).append((1.0, body))
    return {link: mixture(bodies) for link, bodies in parts.items() if link in links}


def write(found: PayloadEstimate, response: Any) -> None:
    """Write an estimate into an EstimatePayload response."""
    inertia, com = response.inertia.inertia, found.center_of_mass
    inertia.m = found.mass
    inertia.com.x, inertia.com.y, inertia.com.z = com.tolist()
    fields = 'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'
    for field, value in zip(fields, found.inertia.tolist()):
        setattr(inertia, field, value)
    response.mass_interval = found.mass_interval
    interval = response.center_of_mass_interval
    interval.x, interval.y, interval.z = found.center_of_mass_interval.tolist()
    response.inertia_interval = found.inertia_interval
    response.parameters = found.parameters
    response.covariance = found.covariance.reshape(-1)
    response.not_told = list(found.not_told)
    response.joint_names = list(found.joints)
    response.offsets = found.offsets.tolist()
    response.residuals = found.residuals.tolist()
    response.poses, response.stretches = found.poses, found.stretches
    missing = f'; not estimated: {", ".join(found.not_told)}' if found.not_told else ''
    response.message = f'{between(found.mass, found.mass_interval)} kg (95 %){missing}'


def body_of(found: PayloadEstimate) -> RigidBody:
    """Return the body of an estimate: a point mass if its inertia is physically impossible.

    Raises `InertiaError` if mass or center of mass is not estimated, or the mass is not
    significant.
    """
    if not found.has_mass or np.isnan(found.center_of_mass).any():
        raise InertiaError(
            f'not applied: mass {between(found.mass, found.mass_interval)} kg, center of '
            f'mass {found.center_of_mass.round(3).tolist()} m; both must be estimated, and the '
            'mass must exceed its interval'
        )
    return carried_body(found.mass, found.center_of_mass, found.inertia)


def carried_body(mass: float, com: Array, moments: Array) -> RigidBody:
    """Return a body, a point mass if the moments xx, xy, xz, yy, yz, zz are impossible."""
    try:
        return RigidBody.from_moments(mass, com, moments)
    except InertiaError:
        return RigidBody(mass, com, np.zeros((3, 3)))


def describe_tool(request: Any, response: Any) -> None:
    """Answer an AttachTool request, except the link, which needs the active robot."""
    description = read_robot_description(
        urdf_text(request.description, 'description'), inertia_check='warn'
    )
    orientation = request.pose.orientation
    if not any((orientation.x, orientation.y, orientation.z, orientation.w)):
        orientation.w = 1.0
    body = tool_body(description, conversions.matrix(request.pose, 'pose'))
    write_inertia(response.inertia.inertia, body)
    moving = [joint.name for joint in description.joints if not joint.kind.is_fixed]
    held = f', {shorten(moving)} at neutral positions' if moving else ''
    response.message = (
        f'{description.name}: {body.mass:.6g} kg in {len(description.links)} links{held}'
    )


TOOL = 'tool'  # default name of a tool


class PayloadEstimation(HostPart):
    """Payloads from measured efforts and from descriptions.

    Parameters
    ----------
    services : Services
    payload_services : PayloadServices
        Activates results.
    situation : callable
        Returns the current `RequestContext`.
    shares : (5,) array
        Terms contained in the measured efforts; see `ModelParameters.effort_shares`.

    Attributes
    ----------
    recording : EffortRecording
    """

    def __init__(
        self,
        services: Services,
        payload_services: PayloadServices,
        situation: Callable[[], RequestContext],
        shares: Array,
    ) -> None:
        self.recording = EffortRecording()
        self._put, self._situation, self._shares = payload_services, situation, shares
        services.serve('RecordPayload', '~/record_payload', self.record)
        services.serve(
            'EstimatePayload', '~/estimate_payload', self.apply_estimate, self.estimation
        )
        services.serve('AttachTool', '~/attach_tool', self.attach, lambda: (describe_tool, ()))

    def stages(self) -> list[Stage]:
        """Return the stage that records joint states."""
        return [Stage(observe=self.recording.observe)]

    def record(self, request: Any, response: Any) -> str:
        """Answer a RecordPayload request."""
        recording = self.recording
        if request.action == request.POSE:
            stamp, q = recording.add_pose()
            response.header.stamp = time_message(stamp)
            text = f'pose {recording.counts[0]} at {[round(x, 3) for x in q.tolist()]}'
        elif request.action == request.MOTION:
            duration = seconds(request.duration)
            recording.begin_motion(duration)
            text = f'recording all states for {duration:g} s'
        elif request.action == request.CLEAR:
            recording.clear()
            text = 'nothing recorded'
        else:
            raise ArgumentError(
                f'action {request.action} does not exist; use POSE, MOTION or CLEAR'
            )
        response.poses, response.motion_states = recording.counts
        return text

    def estimation(self) -> tuple[Computation, tuple[Any, ...]]:
        """Return function and arguments that answer an EstimatePayload request."""
        remaining = self.recording.remaining
        if remaining:
            raise NotAtRestError(f'a motion is being recorded, for another {remaining:.1f} s')
        return estimate, (
            self._situation(),
            self.recording.recorded(),
            self._shares.copy(),
            self._put.payloads.by_name(),
        )

    def apply_estimate(self, request: Any, response: Any) -> str:
        """Attach the estimated payload to the link, if requested."""
        if not request.apply:
            return str(response.message)
        inertia, com = response.inertia.inertia, response.inertia.inertia.com
        moments = [getattr(inertia, f'i{axes}') for axes in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')]
        body = carried_body(inertia.m, np.array([com.x, com.y, com.z]), np.array(moments))
        duration, name = seconds(request.transition_time), request.name or DEFAULT
        link = self._put.active_link(request.link, 'link')
        check_other_thread(name)
        self._put.put(name, link, body, duration)
        response.applied = True
        point = '' if body.matrix.any() else ' as a point'
        return f'{response.message}; {name}: carried by {link}{point}{how(duration)}'

    def attach(self, request: Any, response: Any) -> str:
        """Attach the described tool to a link."""
        link = self._put.active_link(request.link, 'link')
        duration, name = seconds(request.transition_time), request.name or TOOL
        check_other_thread(name)
        body = read_inertia(response.inertia.inertia, 'the tool')
        self._put.put(name, link, body, duration, tool=True)
        response.header.frame_id = self._put.prefix + link
        response.inertia.header.frame_id = response.header.frame_id
        return f'{response.message}; {name}: carried by {link}{how(duration)}'

    def report(self, status: Status) -> None:
        """Report the numbers of recorded poses and states."""
        poses, states = self.recording.counts
        status.values['recorded'] = f'{poses} poses, {states} states in motion'


def check_other_thread(name: str) -> None:
    """Refuse the payload of the parameters, which only the thread of the joint states may set."""
    if name == PARAMETERS:
        raise ArgumentError(
            f'name: {PARAMETERS!r} is the payload of the parameters; give another name'
        )
