# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State of the view, the interface of its sources, and what they share: meshes, payload sliders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.tree.multibody_tree import GROUND
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


PACKAGE, FILE = 'package://', 'file://'

#: Kinds of files that are read as meshes.
SUFFIXES = frozenset({'.stl', '.dae', '.obj', '.ply', '.glb', '.gltf'})
MAX_MESH_BYTES = 64 * 2**20


def local_mesh(uri: str, urdf: Path) -> Path | None:
    """Return the file of a mesh in a description from a file of the local user.

    Parameters
    ----------
    uri : str
        package://NAME/PATH, file:///PATH, or a path, relative to the folder of the description.
    urdf : Path
        The file of the description. A package that is not installed is searched in its parent
        folders.
    """
    if uri.startswith(PACKAGE):
        name, _, rest = uri.removeprefix(PACKAGE).partition('/')
        above = (folder / rest for folder in urdf.resolve().parents if folder.name == name)
        installed = installed_mesh(uri)
        candidates = [*above, *([installed] if installed else [])]
    else:
        candidates = [urdf.resolve().parent / uri.removeprefix(FILE)]
    return next((path for path in candidates if is_mesh(path)), None)


def installed_mesh(uri: str) -> Path | None:
    """Return the file of a mesh in the share folder of an installed package, else None.

    This is for descriptions from a topic, whose publisher can name any file.
    """
    if not uri.startswith(PACKAGE):
        return None
    try:
        from ament_index_python.packages import get_package_share_directory
    except ImportError:  # no ROS
        return None
    name, _, rest = uri.removeprefix(PACKAGE).partition('/')
    try:
        folder = os.path.normpath(get_package_share_directory(name))
    except (LookupError, ValueError, OSError):  # not installed, or not a package name
        return None
    path = os.path.normpath(os.path.join(folder, rest))
    inside = '\0' not in path and os.path.commonpath([folder, path]) == folder
    return Path(path) if inside and is_mesh(Path(path)) else None


def is_mesh(path: Path) -> bool:
    """Whether a path is an existing mesh file of a supported type and size."""
    try:
        usual = path.suffix.lower() in SUFFIXES and path.is_file()
        return usual and path.stat().st_size <= MAX_MESH_BYTES
    except (OSError, ValueError):
        return False


MAX_MASS = 20.0  # kg
MAX_OFFSET = 0.5  # m


def add_payload_controls(
    gui: Any, robot: Robot, carry: Callable[[str, RigidBody | None], None]
) -> None:
    """Add the folder; each change calls `carry` with the link and the payload, or None."""
    links = moving_links(robot)
    with gui.add_folder('Payload', expand_by_default=False):
        link = gui.add_dropdown('link', links, initial_value=first_tool(robot))
        mass = gui.add_slider('mass [kg]', 0.0, MAX_MASS, 0.1, 0.0)
        center = [
            gui.add_slider(f'{axis} [m]', -MAX_OFFSET, MAX_OFFSET, 0.005, 0.0) for axis in 'xyz'
        ]

    def changed(_: Any) -> None:
        m, c = float(mass.value), np.array([each.value for each in center], dtype=float)
        if link.value not in links or not (0.0 <= m <= MAX_MASS and np.isfinite(c).all()):
            return  # not from the sliders
        c = np.clip(c, -MAX_OFFSET, MAX_OFFSET)
        carry(link.value, RigidBody(m, c, np.zeros((3, 3))) if m > 0.0 else None)

    for handle in (link, mass, *center):
        handle.on_update(changed)


def moving_links(robot: Robot) -> list[str]:
    """Return the links that joints move; the root if there are none."""
    moving = [name for name in robot.link_names if robot.tree.frame(name).body != GROUND]
    return moving or list(robot.link_names[:1])


def first_tool(robot: Robot) -> str:
    """Return the first moving link that is a leaf of the tree."""
    parents = {joint.parent for joint in robot.description.joints}
    links = moving_links(robot)
    return next((link for link in links if link not in parents), links[0])
