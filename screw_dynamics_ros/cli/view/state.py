# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State of the view, and the interface of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.types import Array

#: Terms of the joint torques, in the stacking order of the bars.
TORQUE_TERMS = ('gravity', 'inertia', 'coriolis', 'friction', 'payload')

#: The same and external torques: names of outputs, and of the torques in the view.
TORQUE_OUTPUTS = {**{name: name for name in TORQUE_TERMS}, 'external_torque': 'external'}

#: Joint torques shown beside the stack.
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
        (moment, force) of the environment on the link, at the origin of the link frame, in the link
        frame [N m, N].
    kind : {'estimated', 'measured', 'applied'}
    covariance : (6, 6) array, optional
        Covariance of `wrench`.
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


def localized_contacts(
    links: Sequence[str], point: tuple[str, Array], wrench: tuple[str, Array]
) -> tuple[ContactForce, ...]:
    """Return the contact with a point (3,) and a wrench (6,), if both are in the frame of a link.

    The frame of a link is its name after an unknown prefix.
    """
    frame, position = point
    names = [name for name in links if frame.endswith(name)]
    if frame != wrench[0] or not names:
        return ()
    return (ContactForce(max(names, key=len), position, wrench[1][3:]),)


@dataclass(frozen=True)
class DiagnosticLine:
    """A status of /diagnostics."""

    level: Level
    name: str
    message: str


@dataclass(frozen=True, eq=False)
class ViewState:
    """State of the view at one time.

    Attributes
    ----------
    q : (nq,) array
    v : (nv,) array
    stamp : float
        Time of the joint state [s].
    torques : {name: (nv,) array}
        Known torques among `TORQUE_TERMS` and `TOTAL_TORQUES` [N m, N].
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
    """A source of states. The view calls it from several threads.

    Attributes
    ----------
    movable : bool
        Whether `move` moves the robot; the view then shows a handle.
    """

    movable: bool

    @property
    def robot(self) -> Robot:
        """The current robot."""

    @property
    def urdf(self) -> str:
        """The description of the robot, for the visual geometry."""

    @property
    def generation(self) -> int:
        """Changes with `robot` and `urdf`; the view then draws the scene again."""

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh named in the description; None if it must not be read."""

    def latest(self) -> ViewState | None:
        """Return the newest state; the same object if it has not changed since the last call."""

    def move(self, q: Array) -> None:
        """Move the robot to a configuration (nq,)."""

    def carry(self, link: str, payload: RigidBody | None) -> None:
        """Attach a payload to a link, in its frame; None removes it."""

    def add_controls(self, gui: Any) -> None:
        """Add the controls of this source to the panel (`viser.GuiApi`)."""

    def close(self) -> None:
        """Stop threads and subscriptions."""
