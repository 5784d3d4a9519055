# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads of the running robot by name, from parameters and requests."""

from __future__ import annotations

import time

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.control.payload_transitions import (
    Line,
    PayloadTransitions,
    check_duration,
)
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import payload_load
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import shorten, shown
from screw_dynamics_ros.ros.status import Level, Status

from .inertial_input import InertialInput
from .running_model import RunningModel

#: Name of the payload from the parameters.
PARAMETERS = 'parameters'

MAX_PAYLOADS = 100  # payloads at a time
MAX_NAME_LENGTH = 100  # characters
HEAVY = 0.5  # share of an effort limit from which payloads are reported


class Payloads(InertialInput):
    """Payloads by name, and their inertial parameters for the kernel at each joint state.

    Changes take effect at the next joint state; nothing is compiled. A payload on a link that the
    robot does not have is ignored until a robot has that link.

    Attributes
    ----------
    changes : int
        Number of times a payload was attached or removed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._transitions = PayloadTransitions()
        self._tools: set[str] = set()
        self.changes = 0

    # --- changes --------------------------------------------------------------------------------

    def put(
        self, name: str, link: str, body: RigidBody, duration: float = 0.0, tool: bool = False
    ) -> None:
        """Attach a body to a link; it replaces the payload of this name.

        Raises `ArgumentError` for an invalid duration or name, or too many payloads.
        """
        check_name(name)
        with self._lock:
            now = time.monotonic()
            self._transitions.prune(now)
            names = self._transitions.names
            if name not in names and len(names) >= MAX_PAYLOADS:
                raise ArgumentError(
                    f'there are {MAX_PAYLOADS} payloads, the maximum: clear some first'
                )
            if body.mass:
                self._transitions.put(name, link, body, now, duration)
            elif name in names:
                self._transitions.remove(name, now, duration)
            else:
                check_duration(duration)
            (self._tools.add if tool and body.mass else self._tools.discard)(name)
            self._follow(duration)

    def remove(self, name: str, duration: float = 0.0) -> None:
        """Remove the payload of a name; raises `UnknownNameError` if there is none."""
        with self._lock:
            self._transitions.remove(name, time.monotonic(), duration)
            self._tools.discard(name)
            self._follow(duration)

    def remove_all(self, duration: float = 0.0) -> list[str]:
        """Remove all payloads; return their names."""
        with self._lock:
            check_duration(duration)
            now = time.monotonic()
            self._transitions.prune(now)
            names = self._transitions.names
            for name in names:
                self._transitions.remove(name, now, duration)
            self._tools.clear()
            self._follow(duration)
            return names

    def _update(self) -> None:
        super()._update()
        self.changes += 1

    def _lines(self, model: RunningModel) -> tuple[Array, list[Line]]:
        self._transitions.prune(time.monotonic())
        robot = model.robot
        return model.payload, self._transitions.lines(robot.payload_parameters, robot.link_names)

    # --- results --------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """All names, including payloads that are being removed."""
        with self._lock:
            return self._transitions.names

    @property
    def tools(self) -> list[str]:
        """The names of attached tools."""
        return sorted(self._tools)

    @property
    def is_settled(self) -> bool:
        """Whether all transitions are complete."""
        with self._lock:
            return self._transitions.settled(time.monotonic())

    def bodies(self) -> dict[str, RigidBody]:
        """Return the current payload of each link, including links the robot does not have."""
        with self._lock:
            return self._transitions.bodies(time.monotonic())

    def by_name(self) -> dict[str, dict[str, RigidBody]]:
        """Return the current payloads: name, then link, to body."""
        named: dict[str, dict[str, RigidBody]] = {}
        with self._lock:
            now = time.monotonic()
            for name, link, transition in self._transitions.items():
                named.setdefault(name, {})[link] = transition.body(now)
        return named

    def active_bodies(self) -> dict[str, RigidBody]:
        """Return the current payload of each link of the robot."""
        links = () if self._model is None else self._model.robot.link_names
        return {link: body for link, body in self.bodies().items() if link in links}

    def report(self, status: Status) -> None:
        """Report all payloads, and those on links that the robot does not have."""
        links = () if self._model is None else self._model.robot.link_names
        with self._lock:
            now, items = time.monotonic(), list(self._transitions.items())
        counting: dict[str, float] = {}
        for name, link, transition in items:
            mass, share = transition.body(now).mass, transition.share(now)
            text = f'{mass:.6g} kg on {link}'
            if share < 1.0:
                text += f', {100.0 * share:.0f} % of the transition to {transition.end.mass:.6g} kg'
            if link in links:
                counting[link] = counting.get(link, 0.0) + mass
            elif self._model is not None and transition.end.mass:
                remedy = 'correct payload_link' if name == PARAMETERS else 'clear or set it again'
                status.error(
                    f'no payload {shown(name)!r}: the robot has no link {shown(link)!r}; {remedy}'
                )
                text += ', a link that the robot does not have'
            key = f'payload {shown(name)}'
            status.values[f'{key} on {link}' if key in status.values else key] = text
        totals = [f'{mass:.6g} kg on {link}' for link, mass in counting.items() if mass]
        status.values['payload'] = shorten(totals) or 'none'
        self._report_load(status)
        if self._tools:
            status.values['tools'] = shorten(self.tools)

    def _report_load(self, status: Status) -> None:
        """Report payloads that need much of what the joints can do."""
        model, bodies = self._model, self.active_bodies()
        if model is None or not any(body.mass for body in bodies.values()):
            return
        load = payload_load(model.robot, bodies)
        if load.joint:
            status.values['payload: largest torque at rest'] = str(load)
        if load.share > HEAVY:
            status.report(
                Level.WARN if load.share <= 1.0 else Level.ERROR,
                f'in some poses the payloads need {load}; check kg and m, or clear some',
            )


def check_name(name: str) -> None:
    """Raise `ArgumentError` unless this is a valid name of a payload."""
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ArgumentError(
            f'the name of a payload must have 1 to {MAX_NAME_LENGTH} printable characters, got '
            f'{shown(name)!r}'
        )
