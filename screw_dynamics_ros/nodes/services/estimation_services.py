# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services `record_payload`, `estimate_payload` and `attach_tool`.

Another process computes estimates and tools; this process activates the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.errors import NotAtRestError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.conversions import read_inertia, time_message
from screw_dynamics_ros.ros.services import Computation, Services
from screw_dynamics_ros.ros.status import Status

from ..model.effort_recording import EffortRecording
from ..model.parts import HostPart, Stage
from ..model.payloads import PARAMETERS
from . import payload_estimates
from .payload_services import DEFAULT, PayloadServices, how, seconds
from .requests import RequestContext

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
        services.serve(
            'AttachTool',
            '~/attach_tool',
            self.attach,
            lambda: (payload_estimates.describe_tool, ()),
        )

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
        return payload_estimates.estimate, (
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
        body = payload_estimates.carried_body(
            inertia.m, np.array([com.x, com.y, com.z]), np.array(moments)
        )
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
