# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Class Robot: the model of a robot and its compiled functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..description.body_inertia import Inertia
from ..description.checks import STANDARD_GRAVITY
from ..description.drives import Drive, drives_of
from ..description.mjcf import read_mjcf
from ..description.robot_description import Limits, RobotDescription
from ..description.sdf import read_sdf
from ..description.urdf import read_urdf
from ..errors import ArgumentError
from ..kinematics.link_table import LinkTable
from ..kinematics.product_of_exponentials import Geometry
from ..kinematics.robot_geometry import description_of
from ..tree.multibody_tree import build_tree
from .robot_problems import RobotProblems


class Robot(RobotProblems):
    """Kinematics and dynamics of one robot, compiled for it.

    Conventions: SI units, radians; twists (omega, v) and wrenches (moment, force), angular part
    first; Jacobians (6, nv), angular rows first. A configuration q has one element for each of
    `joint_names`: three for a planar joint, the quaternion (x, y, z, w) for a ball, position and
    quaternion for a floating joint. With a floating base, q begins with (x, y, z, qx, qy, qz, qw),
    and v with its body-fixed velocity (omega, v).

    Functions of (q, v, ...) also accept stacks (N, nq), (N, nv), ... and return stacks, computed on
    several cores if this is faster; vectors and stacks can be combined. The keyword `gravity`, (3,)
    or (N, 3) [m/s^2], replaces the gravity of the robot. `out` is an array, or a tuple of arrays,
    for the result, which is also returned: C-contiguous float64 arrays that share no memory. NaN in
    the arguments gives NaN in the result. Each function is compiled at its first call and cached
    on disk; long functions of robots with more than 100 moving bodies run without compilation.

    Functions for inverse problems accept one sample and no NaN; their results state whether the
    problem is solved and which error remains. `link` may be several links; twists then have one row
    per link.

    Attributes
    ----------
    description : RobotDescription
    tree : Tree
        The multibody tree of the recursions; `regrouped_tree` has fewer inertial parameters.
    backend : str

    Raises
    ------
    DescriptionError, InertiaError
        If the description does not define a valid model.
    ArgumentError
        If an argument has the wrong shape or cannot be converted to float64.
    UnknownNameError
        If a link, representation or backend does not exist.
    BackendError
        If `backend='native'` and llvmlite is missing.
    """

    def __init__(
        self,
        description: RobotDescription,
        *,
        floating_base: bool = False,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        backend: str = 'auto',
        drives: Mapping[str, Drive] | None = None,
        friction: bool | None = None,
    ) -> None:
        if not isinstance(description, RobotDescription):
            raise ArgumentError(
                f'Robot: description must be a RobotDescription, got {description!r}; for a URDF '
                'use Robot.from_urdf'
            )
        if not isinstance(floating_base, bool | np.bool_):
            raise ArgumentError(f'Robot: floating_base must be a bool, got {floating_base!r}')
        tree = build_tree(
            description, floating_base=floating_base, drives=drives, friction=friction
        )
        super().__init__(tree, backend)
        self.description = description
        self._drives = None if drives is None else dict(drives)
        self._floating_base = bool(floating_base)
        self.gravity = gravity
        self._make_general()

    @classmethod
    def from_urdf(
        cls,
        text_or_path: str | Path,
        *,
        floating_base: bool = False,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        backend: str = 'auto',
        drives: Mapping[str, Drive] | None = None,
        friction: bool | None = None,
    ) -> Robot:
        """Return the robot a URDF describes.

        Parameters
        ----------
        text_or_path : str or Path
            XML text, or the path of a file.
        floating_base : bool
            Whether the root link moves freely.
        gravity : (3,)
            Acceleration of free fall in the root frame [m/s^2].
        backend : {'auto', 'native', 'python', 'reference'}
            Machine code (requires llvmlite), plain Python, or the recursions on NumPy arrays;
            'auto' selects the fastest available one.
        drives : {joint: Drive}, optional
            Rotors, armatures and friction; joints not named have the friction of the URDF.
        friction : bool, optional
            Whether inverse and forward dynamics include friction; by default True if `drives` is
            given (even empty).
        """
        return cls(
            read_urdf(text_or_path),
            floating_base=floating_base,
            gravity=gravity,
            backend=backend,
            drives=drives,
            friction=friction,
        )

    @classmethod
    def from_sdf(
        cls,
        text_or_path: str | Path,
        *,
        floating_base: bool = False,
        gravity: ArrayLike | None = None,
        backend: str = 'auto',
        drives: Mapping[str, Drive] | None = None,
        friction: bool | None = None,
    ) -> Robot:
        """Return the robot that an SDFormat file describes, version 1.4 or newer.

        Its base is fixed unless `floating_base` is True, as that of a URDF: also that of a model
        without a joint to the world, which falls in Gazebo.

        Parameters
        ----------
        text_or_path : str or Path
            XML text, or the path of a file.
        gravity : (3,), optional
            Acceleration of free fall in the root frame [m/s^2]; by default that of the file.
        floating_base, backend, drives, friction
            As in `from_urdf`.
        """
        description = read_sdf(text_or_path, floating_base=floating_base)
        described = description.gravity or STANDARD_GRAVITY
        return cls(
            description,
            floating_base=floating_base,
            gravity=described if gravity is None else gravity,
            backend=backend,
            drives=drives,
            friction=friction,
        )

    @classmethod
    def from_mjcf(
        cls,
        text_or_path: str | Path,
        *,
        floating_base: bool | None = None,
        gravity: ArrayLike | None = None,
        backend: str = 'auto',
        drives: Mapping[str, Drive] | None = None,
        friction: bool | None = None,
    ) -> Robot:
        """Return the robot that an MJCF describes; requires the package `mujoco`.

        Parameters
        ----------
        text_or_path : str or Path
            XML text that refers to no files, or the path of a file, see `read_mjcf`.
        floating_base : bool, optional
            Whether the root link moves freely; by default if it has a free joint in the file. If
            False it is held in its pose of the file.
        gravity : (3,), optional
            Acceleration of free fall in the root frame [m/s^2]; by default that of the file.
        backend, drives, friction
            As in `from_urdf`; joints without a given drive have that of the file.
        """
        description = read_mjcf(text_or_path, floating_base=floating_base)
        described = description.gravity or STANDARD_GRAVITY
        return cls(
            description,
            floating_base=description.floating_base,
            gravity=described if gravity is None else gravity,
            backend=backend,
            drives=drives,
            friction=friction,
        )

    @classmethod
    def from_geometry(
        cls,
        geometry: Geometry | LinkTable,
        *,
        name: str = 'robot',
        links: Sequence[str] | None = None,
        inertias: Sequence[Inertia | None] | None = None,
        limits: Mapping[str, Limits] | None = None,
        floating_base: bool = False,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        backend: str = 'auto',
        drives: Mapping[str, Drive] | None = None,
        friction: bool | None = None,
    ) -> Robot:
        """Return the robot of a product of exponentials or of a Denavit-Hartenberg table.

        Parameters
        ----------
        geometry : Geometry or LinkTable
            One of the descriptions of `core.kinematics.product_of_exponentials`, with screws of any
            pitch, or a table of `core.kinematics.link_table`.
        name, links, inertias, limits
            As in `core.kinematics.robot_geometry.description_of`: if not given, the bodies are
            'body1', 'body2' and so on, massless, and the joints unlimited.
        floating_base, gravity, backend, drives, friction
            As in `from_urdf`.
        """
        if isinstance(geometry, LinkTable):
            geometry = geometry.joint_frames()
        return cls(
            description_of(geometry, name=name, links=links, inertias=inertias, limits=limits),
            floating_base=floating_base,
            gravity=gravity,
            backend=backend,
            drives=drives,
            friction=friction,
        )

    def __repr__(self) -> str:
        return (
            f'Robot({self.description.name!r}, nq={self.nq}, nv={self.nv}, '
            f'{len(self.link_names)} links, {self.total_mass:.4g} kg, backend={self.backend!r})'
        )

    # --- what the robot is ------------------------------------------------------------------------

    @property
    def drives(self) -> dict[str, Drive]:
        """Drives of all joints with one degree of freedom, given or of the description."""
        return drives_of(self.description, self._drives)

    @property
    def floating_base(self) -> bool:
        """Whether the root link moves freely."""
        return self._floating_base

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copy and pickle by the arguments of the robot; functions are compiled again."""
        make = partial(
            type(self),
            floating_base=self._floating_base,
            gravity=tuple(self._gravity.tolist()),
            backend=self.backend,
            drives=self._drives,
            friction=self.with_friction,
        )
        return make, (self.description,)
