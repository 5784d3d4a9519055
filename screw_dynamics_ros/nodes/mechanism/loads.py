# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint torques and external wrenches from messages, each until its timeout."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import AbsoluteSystem
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from screw_dynamics_ros.ros.names import shown

COMMANDS, WRENCHES = 'joint_commands', '~/external_wrench'


class MechanismLoads:
    """Joint torques and external wrenches on a mechanism.

    Parameters
    ----------
    system : AbsoluteSystem

    Attributes
    ----------
    refused : dict of str to str
        Reason why the last message on a topic was refused; a valid message clears it.
    """

    def __init__(self, system: AbsoluteSystem) -> None:
        self._system = system
        self._joints = list(system.joint_positions(system.configuration))
        self._torques: tuple[dict[str, float], int] = {}, -(2**62)
        self._wrenches: dict[str, tuple[Array, int]] = {}
        self.refused: dict[str, str] = {}

    def on_command(self, message: JointState, now: int) -> None:
        """Apply the efforts of a message to the joints that it names; others are free."""
        self._take(COMMANDS, lambda: self._command(message, now))

    def on_wrench(self, message: WrenchStamped, now: int) -> None:
        """Apply a wrench to the body of its frame, at the origin of the frame."""
        self._take(WRENCHES, lambda: self._wrench(message, now))

    def acting(
        self, q: Array, now: int, timeout: float
    ) -> tuple[Array, dict[str, float], dict[str, Array]]:
        """Return generalized forces of the joints (6 n,), their torques, and wrenches on bodies."""
        earliest = now - round(timeout * NANOSECONDS)
        torques, arrival = self._torques
        if arrival < earliest:
            torques = {}
        forces = self._system.joint_forces(q, torques) if torques else np.zeros(self._system.nv)
        wrenches = {body: W for body, (W, at) in self._wrenches.items() if at >= earliest}
        return forces, torques, wrenches

    def end(self) -> None:
        """End all torques and wrenches."""
        self._torques = {}, -(2**62)
        self._wrenches.clear()

    def _command(self, message: JointState, now: int) -> None:
        names, efforts = list(message.name), list(message.effort)
        if len(set(names)) < len(names) or len(efforts) != len(names):
            raise ArgumentError(
                f'expected different names and one effort for each, got {len(names)} names, '
                f'{len(set(names))} different, and {len(efforts)} efforts'
            )
        for name in names:
            if name not in self._joints:
                raise UnknownNameError(
                    f'no revolute or prismatic joint {shown(name)!r}; the joints are '
                    f'{", ".join(self._joints)}'
                )
        if not np.isfinite(efforts).all():
            raise ArgumentError('efforts must be finite numbers')
        self._torques = dict(zip(names, efforts)), now

    def _wrench(self, message: WrenchStamped, now: int) -> None:
        body, f, n = message.header.frame_id, message.wrench.force, message.wrench.torque
        if body not in self._system.free_bodies:
            raise UnknownNameError(
                f'header.frame_id {shown(body)!r} is not a body; the bodies are '
                f'{", ".join(self._system.free_bodies)}'
            )
        wrench = swap_linear_angular(np.array([f.x, f.y, f.z, n.x, n.y, n.z]))
        if not np.isfinite(wrench).all():
            raise ArgumentError(f'a number of the wrench on {body!r} is not finite')
        self._wrenches[body] = wrench, now

    def _take(self, topic: str, take: object) -> None:
        """Apply a message, or store the reason why it is refused."""
        try:
            take()  # type: ignore[operator]
        except ScrewDynamicsError as error:
            self.refused[topic] = f'{topic}: {error}'
        else:
            self.refused.pop(topic, None)
