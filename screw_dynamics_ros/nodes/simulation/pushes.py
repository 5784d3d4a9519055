# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External wrenches on links, each until its timeout."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.names import shown
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.latest import Latest

MAX_WRENCH = 1e9  # N, N m; beyond any real load, far below overflow


class AppliedWrenches:
    """The last wrench on each link, active as soon as its Jacobian is compiled.

    Parameters
    ----------
    robot : Robot
    at_once : bool
        Whether to compile when a wrench arrives, while time is paused; otherwise in the background.
    """

    def __init__(self, robot: Robot, at_once: bool) -> None:
        self._robot, self._at_once = robot, at_once
        self._wrenches: dict[str, tuple[Array, int]] = {}  # by link
        self._compiled: set[str] = set()
        self._background: Latest[None] = Latest('wrenches')

    def push(self, link: str, wrench: Array, now: int) -> None:
        """Apply a wrench (6,), (moment, force) in the frame of a link at its origin, from now [ns].

        Raises `UnknownNameError` and `ArgumentError`.
        """
        if link not in self._robot.link_names:
            raise UnknownNameError(f'header.frame_id {shown(link)!r} is not a link')
        if not (np.abs(wrench) <= MAX_WRENCH).all():
            raise ArgumentError(
                f'a number of the wrench on {link!r} is not finite, or beyond {MAX_WRENCH:g}'
            )
        is_new = link not in self._wrenches
        self._wrenches[link] = wrench, now
        if is_new and self._at_once:
            self._compile(link)
        elif is_new:
            self._background.ask(self._compile_all)

    def acting(self, now: int, timeout: float) -> dict[str, Array]:
        """Return the wrenches (6,) by link that are not older than a timeout [s]."""
        earliest = now - round(timeout * NANOSECONDS)
        return {
            link: wrench
            for link, (wrench, arrival) in self._wrenches.items()
            if arrival >= earliest and link in self._compiled
        }

    def joint_torques(self, q: Array, wrenches: dict[str, Array]) -> Array:
        """Return the generalized forces (nv,) of wrenches by link [N m, N]."""
        total = np.zeros(self._robot.nv)
        for link, wrench in wrenches.items():
            total += self._robot.jacobian(q, link, 'body').T @ wrench
        return total

    def end(self) -> None:
        """End all wrenches."""
        for link, (wrench, _) in list(self._wrenches.items()):
            self._wrenches[link] = wrench, -(2**62)

    def _compile_all(self) -> None:
        """Compile the Jacobians for wrenches in the background."""
        for link in [link for link in list(self._wrenches) if link not in self._compiled]:
            with FAULTS.caught(f'a wrench at {link!r}'):
                self._compile(link)

    def _compile(self, link: str) -> None:
        self._robot.jacobian(self._robot.neutral(), link, 'body')
        self._compiled.add(link)
