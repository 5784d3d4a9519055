"""The facade: a robot is a model plus its compiled functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.compile.text.c_source import CSource
from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.drives import Drive, drives_of
from screw_dynamics_ros.core.description.robot_description import Limits, RobotDescription
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.dynamics.regressor import inertial_parameters
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.geometry.link_table import LinkTable
from screw_dynamics_ros.core.geometry.product_of_exponentials import Geometry
from screw_dynamics_ros.core.geometry.robot_geometry import description_of
from screw_dynamics_ros.core.robot.c_function import c_function
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula, FusedKernel, evaluated
from screw_dynamics_ros.core.robot.inverse_problems import InverseProblems
from screw_dynamics_ros.core.robot.kinematic_functions import KinematicFunctions
from screw_dynamics_ros.core.robot.mixed_problems import MixedProblems
from screw_dynamics_ros.core.robot.sensitivities import Sensitivities
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits, build_tree
from screw_dynamics_ros.core.types import Array


class Robot(KinematicFunctions, Sensitivities, InverseProblems, MixedProblems):
    """Kinematics and dynamics of one robot, compiled for it.

    Conventions: SI units, radians; twists (omega, v) and wrenches (moment, force), angular part
    first; Jacobians (6, nv), angular rows first. A configuration q has one number for each of
    `joint_names` (three for a planar, seven for a floating joint); a floating base puts (x, y, z,
    qx, qy, qz, qw) in front, and its body-fixed velocity (omega, v) in front of v.

    Every function of (q, v, ...) also takes stacks (N, nq), (N, nv), ... and returns the stack,
    computed on all cores; a plain vector next to stacks serves all N. NaN in gives NaN out. Each
    function is compiled when it is first called and kept on disk. Inverse problems take one sample,
    refuse NaN, and say in their results how far to trust them (`InverseProblems`).

    Raises
    ------
    DescriptionError, InertiaError
        If the description cannot be turned into a model.
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
                'take Robot.from_urdf'
            )
        if not isinstance(floating_base, bool | np.bool_):
            raise ArgumentError(f'Robot: floating_base must be a bool, got {floating_base!r}')
        tree = build_tree(
            description, floating_base=floating_base, drives=drives, friction=friction
        )
        super().__init__(tree, backend)
        self.description = description
        self._drives = None if drives is None else dict(drives)
        self._floating_base = floating_base
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
            The XML itself or the path of a file that holds it.
        floating_base : bool
            Whether the root link moves freely.
        gravity : (3,)
            Acceleration of free fall in the root frame [m/s^2].
        backend : {'auto', 'native', 'python', 'reference'}
            Machine code (needs llvmlite), plain Python, or the recursions on NumPy arrays; `auto`
            takes the fastest there is.
        drives : {joint: Drive}, optional
            Rotors, armatures and friction; joints not named have the friction of the URDF.
        friction : bool, optional
            Whether friction takes part in inverse and forward dynamics: if drives are given, be it
            an empty dict, unless said otherwise.
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
            One of the descriptions of `core.model.geometry`, with screws of any pitch, or a table
            of `core.model.link_table`.
        name, links, inertias, limits
            As in `core.model.robot_geometry.description_of`: the bodies are 'body1', 'body2', ...,
            massless, and the joints unlimited if not given.
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

    # --- what the robot is -----------------------------------------------------------------------

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The movable joints that mimic no other, in depth-first order of the description."""
        return self._tree.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, in depth-first order of the description."""
        return tuple(self._tree.frames)

    @property
    def transform_joints(self) -> tuple[str, ...]:
        """All joints that move, mimic joints included: the rows of 'joint_transforms'."""
        return tuple(moving.joint.name for moving in self._tree.moving_joints)

    @property
    def nq(self) -> int:
        """Number of elements of a configuration."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self._tree.nv

    @property
    def total_mass(self) -> float:
        """Mass of all links, the root link included [kg]."""
        return self._tree.total_mass

    @property
    def inertial_parameters(self) -> Array:
        """The parameters of all links, (10 n_links,), in the order of `regressor`'s columns."""
        return inertial_parameters(self.description, self.link_names)

    @property
    def limits(self) -> JointLimits:
        """`lower`, `upper`, `velocity`, `effort` over `joint_names`, infinite where none is set."""
        return self._tree.limits

    @property
    def drives(self) -> dict[str, Drive]:
        """The drive of every joint of one freedom: the given one, or that of the description."""
        return drives_of(self.description, self._drives)

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall in the root frame, (3,) [m/s^2]; may be set."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, gravity: ArrayLike) -> None:
        value = float_array('gravity', gravity)
        if value.shape != (3,) or not np.isfinite(value).all():
            raise ArgumentError(f'gravity must be three finite numbers in m/s^2, got {gravity!r}')
        self._gravity[:] = value

    def joint_coordinates(self, joint: str) -> tuple[slice, slice]:
        """Return where the coordinates and velocities of one of `joint_names` stand in q and v."""
        try:
            return self._tree.coordinates[joint]
        except (KeyError, TypeError):
            raise UnknownNameError(
                f'no joint named {joint!r} with coordinates of its own; '
                f'there are {", ".join(self.joint_names)}'
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle what the robot was made of; functions are compiled anew."""
        make = partial(
            type(self),
            floating_base=self._floating_base,
            gravity=tuple(self._gravity.tolist()),
            backend=self.backend,
            drives=self._drives,
            friction=self.with_friction,
        )
        return make, (self.description,)

    def fuse(
        self, *outputs: Output | Formula, parameters: Mapping[str, int] | None = None
    ) -> FusedKernel:
        """Return one compiled function for several outputs: they share what they have in common.

        Each output is the name of a function above or of 'joint_transforms', with options in a
        tuple: `robot.fuse('mass_matrix', ('jacobian', 'tool', 'body'))`; or a `Formula` of others,
        which may read further vectors, `parameters`: their names and numbers of elements.
        """
        return FusedKernel(self._lean_tree, self.backend, outputs, parameters or {})

    def c_source(
        self,
        name: str,
        *outputs: Output | Formula,
        parameters: Mapping[str, int] | None = None,
    ) -> CSource:
        """Return what `fuse` computes as one function in C, for controllers without Python.

        Its `header` says which arrays it takes, and where the joints are in them; `source` includes
        `name`.h and needs a C99 or C++ compiler and the mathematics library.
        """
        return c_function(self._lean_tree, self.description.name, name, outputs, parameters or {})

    def elsewhere(self, output: Output, **sources: Output | Formula) -> Formula:
        """Return a function above for `fuse`, of other formulas instead of some of its inputs.

        `robot.elsewhere('inverse_dynamics', q=planned)` with `planned` a `Formula`.
        """
        return evaluated(self._lean_tree, output, sources)
