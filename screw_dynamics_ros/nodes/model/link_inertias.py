# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inertias of links that replace those of the description while the robot runs.

The kernel adds differences of the inertial parameters to those of the description: all outputs
change, and nothing is compiled again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.payload_estimation import parameter_map
from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.motion.control.payload_transitions import (
    Line,
    Transition,
    check_duration,
)
from screw_dynamics_ros.core.tree.multibody_tree import GROUND
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import shown
from screw_dynamics_ros.ros.status import Status

from .inertial_input import InertialInput
from .running_model import RunningModel

_UPPER = np.triu_indices(3)


@dataclass(frozen=True, eq=False)
class Correction(Transition):
    """The inertia of a link: parameters (10,) at the start, and the body at the end.

    `end` is None if the link returns to the inertia of the description.
    """

    start: Array
    end: RigidBody | None

    def parameters(self, described: Array, now: float) -> Array:
        """Return the inertial parameters (10,) at a time."""
        s, end = self.share(now), described if self.end is None else self.end.parameters
        return (1.0 - s) * self.start + s * end


class LinkInertias(InertialInput):
    """Corrections of link inertias, and their kernel input at each joint state."""

    def __init__(self) -> None:
        super().__init__()
        self._corrections: dict[str, Correction] = {}
        self._corrected: tuple[Robot, Robot] | None = None

    def set(self, link: str, body: RigidBody | None, duration: float = 0.0) -> None:
        """Set the inertia of a link; None restores that of the description.

        Raises `ArgumentError` without a robot, for a link that does not move, and for a duration
        out of range.
        """
        check_duration(duration)
        if self._model is None:
            raise ArgumentError('no robot description has been received yet: try again later')
        robot, now = self._model.robot, time.monotonic()
        if robot.tree.frame(link).body == GROUND:
            raise ArgumentError(
                f'link {link!r} does not move: its inertia has no effect on the joints'
            )
        described = described_parameters(robot, link)
        with self._lock:
            before = self._corrections.get(link)
            start = described if before is None else before.parameters(described, now)
            self._corrections[link] = Correction(now, duration, start, body)
            self._follow(duration)

    def _update(self) -> None:
        super()._update()
        self._corrected = None

    def _lines(self, model: RunningModel) -> tuple[Array, list[Line]]:
        """Return the differences from the description."""
        tree, lines = model.robot.tree, list[Line]()
        for link, correction in self._corrections.items():
            if link not in tree.frames or tree.frame(link).body == GROUND:
                continue
            frame, described = tree.frame(link), described_parameters(model.robot, link)
            end = described if correction.end is None else correction.end.parameters
            changes = np.zeros((2, len(tree.bodies), 10))
            ends = np.array([correction.start, end])
            changes[:, frame.body] = (ends - described) @ parameter_map(frame.S).T
            lines.append((correction, changes[0].ravel(), changes[1].ravel()))
        return model.inertia_changes, lines

    # --- results --------------------------------------------------------------------------------

    def corrected(self, robot: Robot) -> Robot:
        """Return the robot with the inertias at the end of all transitions."""
        with self._lock:
            bodies = {
                link: each.end
                for link, each in self._corrections.items()
                if each.end is not None and link in robot.link_names
            }
            if not bodies:
                return robot
            if self._corrected is None or self._corrected[0] is not robot:
                self._corrected = robot, with_inertias(robot, bodies)
            return self._corrected[1]

    def report(self, status: Status) -> None:
        """Report corrected inertias, and corrections of links that the robot does not have."""
        links = () if self._model is None else self._model.robot.link_names
        with self._lock:
            now, items = time.monotonic(), list(self._corrections.items())
        for link, correction in items:
            end = correction.end
            if end is None and correction.share(now) == 1.0:
                continue
            text = 'as described' if end is None else f'{end.mass:.6g} kg'
            if correction.share(now) < 1.0:
                text += f', {100.0 * correction.share(now):.0f} % of the transition'
            if link not in links:
                text += ', a link that the robot does not have'
                status.warn(f'no inertia of link {shown(link)!r}: the robot does not have it')
            status.values[f'inertia of {shown(link)}'] = text


def described_parameters(robot: Robot, link: str) -> Array:
    """Return the inertial parameters (10,) of a link in its frame, from the description."""
    inertia = robot.tree.frame(link).inertia
    if inertia is None:
        return np.zeros(10)
    c = so3.hat(inertia.com)
    about_origin = inertia.matrix - inertia.mass * (c @ c)
    return np.concatenate([[inertia.mass], inertia.mass * inertia.com, about_origin[_UPPER]])


def with_inertias(robot: Robot, bodies: dict[str, RigidBody]) -> Robot:
    """Return the robot with these inertias of links; its functions are compiled again."""
    make, (description, *rest) = robot.__reduce__()
    links = tuple(
        replace(link, inertia=Inertia(body.mass, body.com, body.matrix))
        if (body := bodies.get(link.name)) is not None
        else link
        for link in description.links
    )
    corrected: Robot = make(replace(description, links=links), *rest)
    return corrected
