# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Service `set_link_inertia`: replaces the inertia of a link from the description."""

from __future__ import annotations

from typing import Any

from screw_dynamics_ros.ros.immediate_services import ImmediateServices
from screw_dynamics_ros.ros.messages.inertias import read_inertia

from ..model.link_inertias import LinkInertias
from .payload_services import PayloadServices, how, seconds


class LinkInertiaService:
    """Answers requests immediately; changes take effect at the next joint state.

    Parameters
    ----------
    services : ImmediateServices
    inertias : LinkInertias
    frames : PayloadServices
        Finds links by the names of their frames.
    """

    def __init__(
        self, services: ImmediateServices, inertias: LinkInertias, frames: PayloadServices
    ) -> None:
        self._inertias, self._frames = inertias, frames
        services.add('SetLinkInertia', '~/set_link_inertia', self.set_link_inertia)

    def set_link_inertia(self, request: Any, response: Any) -> None:
        """Answer a SetLinkInertia request."""
        duration = seconds(request.transition_time)
        body = None if request.reset else read_inertia(request.inertia, 'inertia')
        link = self._frames.active_link(request.link, 'link')
        self._inertias.set(link, body, duration)
        response.header.frame_id = self._frames.prefix + link
        what = 'as described' if body is None else f'{body.mass:g} kg'
        response.message = f'{link}: {what}{how(duration)}'
