# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the view shows at one instant, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.types import Array

#: Parts of the joint torques, in the order in which bars stack them.
TORQUE_TERMS = ('gravity', 'inertia', 'coriolis', 'friction', 'payload')

#: Joint torques that bars show beside that stack.
TOTAL_TORQUES = ('measured', 'external')

WrenchKind = Literal['estimated', 'measured', 'applied']
Level = Literal['ok', 'warning', 'error', 'stale']


@dataclass(frozen=True, eq=False)
class LinkWrench:
    """A wrench on a link.

    Attributes
    ----------
    link : str
    wrench : (6,) array
        (moment, force) that the environment exerts on the link, at the origin of the link frame, in
        the link frame [N m, N].
    kind : {'estimated', 'measured', 'applied'}
    covariance : (6, 6) array, optional
        Of `wrench`.
    """

    link: str
    wrench: Array
    kind: WrenchKind = 'estimated'
    covariance: Array | None = None


@dataclass(frozen=True, eq=False)
class ContactForce:
    """A contact force on a link: its point (3,) [m] and the force (3,) [N], in the link frame."""

    link: str
    point: Array
    force: Array


@dataclass(frozen=True)
class DiagnosticLine:
    """A status of /diagnostics."""

    level: Level
    name: str
    message: str


@dataclass(frozen=True, eq=False)
class ViewState:
    """What the view shows at one instant.

    Attributes
    ----------
    q : (nq,) array
    v : (nv,) array
    stamp : float
        Time of the joint state [s].
    torques : {name: (nv,) array}
        Of `TORQUE_TERMS` and `TOTAL_TORQUES` those that are known [N m, N].
    wrenches : tuple of LinkWrench
    contacts : tuple of ContactForce
    diagnostics : tuple of DiagnosticLine
    """

    q: Array
    v: Array
    stamp: float = 0.0
    torques: Mapping[str, Array] = field(default_factory=dict)
    wrenches: tuple[LinkWrench, ...] = ()
    contacts: tuple[ContactForce, ...] = ()
    diagnostics: tuple[DiagnosticLine, ...] = ()


class ViewSource(Protocol):
    """Where states come from. The view calls it from several threads.

    Attributes
    ----------
    movable : bool
        Whether `move` moves the robot; there is a handle then.
    """

    movable: bool

    @property
    def robot(self) -> Robot:
        """The robot that is shown."""

    @property
    def urdf(self) -> str:
        """Its description, for the visual geometry."""

    @property
    def generation(self) -> int:
        """Changes with `robot` and `urdf`; the view then draws the scene again."""

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh that the description names; None if it must not be read."""

    def latest(self) -> ViewState | None:
        """Return the newest state, the same object if there is none since the last call."""

    def move(self, q: Array) -> None:
        """Let the robot take a configuration (nq,)."""

    def carry(self, link: str, payload: RigidBody | None) -> None:
        """Let a link carry a payload, in its frame; None removes it."""

    def add_controls(self, gui: Any) -> None:
        """Add to the panel (`viser.GuiApi`) what a user can set at this source."""

    def close(self) -> None:
        """End threads and subscriptions."""
