# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Class Robot: the model of a robot and its compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import are_vectors, check_count, float_array, is_matrix, vector
from ..arms.families.all_solutions import AllInverseKinematics, AllSolutions, swivel_angles
from ..arms.families.branches import NearestBranch, make_solver
from ..arms.families.chain import SerialChain
from ..arms.inverse import closed_loop
from ..arms.inverse.acceleration import InverseAccelerationResult, inverse_acceleration
from ..arms.inverse.bounded_velocity import (
    JointLimitedResult,
    joint_limited_acceleration,
    joint_limited_velocity,
)
from ..arms.inverse.closed_loop import ClosedLoop, CoincidentFrames
from ..arms.inverse.force import ForwardForceResult, forward_force
from ..arms.inverse.inequalities import Inequalities, TwistLimit
from ..arms.inverse.link_motion import (
    Links,
    link_names,
    stacked_bias,
    stacked_jacobian,
    stacked_partials,
    stacked_rows,
)
from ..arms.inverse.position import InverseKinematics, InverseKinematicsResult, checked_options
from ..arms.inverse.redundancy import Criterion, RedundancyResult, resolve_redundancy
from ..arms.inverse.singularities import SingularityReport, singularity_report
from ..arms.inverse.singularity_policies import PolicyStatus, SingularityPolicy, guarded_velocity
from ..arms.inverse.task_priority import Task, TaskPriorityResult, level, task_priority
from ..arms.inverse.task_priority import checked as checked_tasks
from ..arms.inverse.velocity import InverseVelocityResult, inverse_velocity
from ..arms.inverse.velocity_bounds import JointBounds
from ..compile.calls import compiled_into
from ..compile.kernels import Kernel, make_kernel
from ..constraints.constrained_dynamics import (
    ConstrainedMotion,
    Terms,
    constrained_motion,
    specification,
)
from ..constraints.motion_constraint import MotionConstraint, Structure, checked
from ..description.body_inertia import Inertia
from ..description.checks import STANDARD_GRAVITY
from ..description.drives import Drive, drives_of
from ..description.mjcf import read_mjcf
from ..description.rigid_body import RigidBody
from ..description.robot_description import Limits, RobotDescription
from ..description.sdf import read_sdf
from ..description.urdf import read_urdf
from ..dynamics.forward_dynamics import hybrid_dynamics, marks
from ..dynamics.geometric_sensitivity import torque_sensitivity
from ..dynamics.payload import payload_parameters
from ..dynamics.regressor import BaseParameters, base_parameters, inertial_parameters
from ..dynamics.state_space import StateSpace, state_space
from ..errors import ArgumentError
from ..kinematics import configurations, jacobians
from ..kinematics.link_table import LinkTable
from ..kinematics.product_of_exponentials import Geometry
from ..kinematics.robot_geometry import description_of
from ..tree.multibody_tree import JointLimits, build_tree
from ..types import Array
from .functions import FUNCTIONS, Output, input_size, prepared
from .fused_kernel import Formula, FusedKernel, substituted
from .robot_functions import RobotFunctions

if TYPE_CHECKING:
    from ..compile.text.c_source import CSource

Outputs = tuple[Array, ...]


NOT_GIVEN = np.empty(0)
NOTHING_LOCKED: Mapping[str, float] = {}


class Robot(RobotFunctions):
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
        self._solvers: dict[tuple[tuple[str, ...], bool], InverseKinematics | NearestBranch] = {}
        self._all_solvers: dict[str, AllInverseKinematics] = {}
        self._neutral = configurations.neutral(tree)
        self._constraint_kernels: dict[
            tuple[Structure, ...], tuple[Kernel, Callable[..., None]]
        ] = {}
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
    def joint_names(self) -> tuple[str, ...]:
        """Movable joints except mimic joints, in depth-first order of the description."""
        return self.tree.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, in depth-first order of the description."""
        return self.tree.link_names

    @property
    def transform_joints(self) -> tuple[str, ...]:
        """All movable joints, including mimic joints: the rows of `joint_transforms`."""
        return tuple(moving.joint.name for moving in self.tree.moving_joints)

    @property
    def nq(self) -> int:
        """Number of elements of a configuration."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.tree.nv

    @property
    def total_mass(self) -> float:
        """Mass of all links, the root link included [kg]."""
        return self.tree.total_mass

    @property
    def inertial_parameters(self) -> Array:
        """Inertial parameters of all links, (10 n_links,), in the order of `regressor`."""
        return inertial_parameters(self.description, self.link_names)

    @property
    def limits(self) -> JointLimits:
        """`lower`, `upper`, `velocity`, `effort` over `joint_names`, infinite where none is set."""
        return self.tree.limits

    @property
    def drives(self) -> dict[str, Drive]:
        """Drives of all joints with one degree of freedom, given or of the description."""
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
        """Return the slices of q and of v that belong to one of `joint_names`."""
        return self.tree.joint_coordinates(joint)

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

    @property
    def with_friction(self) -> bool:
        """Whether inverse and forward dynamics include friction."""
        return self.tree.with_friction

    @property
    def free_bodies(self) -> dict[str, slice]:
        """Slices of v of bodies with quaternions, by link: six of a free body, three of a ball."""
        return {body.name: body.v for body in self.tree.free_bodies}

    @property
    def floating_base(self) -> bool:
        """Whether the root link moves freely."""
        return self._floating_base

    # --- configurations ---------------------------------------------------------------------------

    def neutral(self) -> Array:
        """Return the zero configuration (nq,), free bodies in the pose of the root frame."""
        return configurations.neutral(self.tree)

    def home(self) -> Array:
        """Return the configuration (nq,) within the joint limits that is nearest to `neutral`.

        A start configuration: each joint is at 0 if its limits contain 0, otherwise exactly at the
        limit nearest to 0, as the elbow of a Panda. Such a joint is at its stop and can move in one
        direction only. Joints without limits are at 0, free bodies and planar joints at neutral.
        Like neutral, it is a singular configuration of many arms.
        """
        return configurations.home(self.tree)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, size: int | tuple[int, ...] = ()
    ) -> Array:
        """Return a configuration (nq,), or `size` of them, uniform within the joint limits.

        Coordinates without limits are in [-pi, pi]; orientations of free bodies and balls are
        uniform. `rng` is a NumPy generator or a seed.
        """
        shape = (size,) if isinstance(size, int) else tuple(size)
        return configurations.random_configurations(self.tree, np.random.default_rng(rng), shape)

    def difference(self, q0: ArrayLike, q1: ArrayLike, increments: str = 'body') -> Array:
        """Return the displacement (nv,) from q0 to q1: q1 = integrate(q0, difference(q0, q1)).

        A free body rotates by at most pi. Stacks (N, nq) give (N, nv).
        """
        jacobians.check_representation(increments)
        start, end = self._input('q0', self.nq, q0), self._input('q1', self.nq, q1)
        return configurations.difference(self.tree, start, end, increments)

    def interpolate(
        self, q0: ArrayLike, q1: ArrayLike, s: ArrayLike, increments: str = 'body'
    ) -> Array:
        """Return configurations between q0 (s = 0) and q1 (s = 1), (nq,), or (N, nq) for N of s.

        Free bodies move along a screw axis, with 'mixed' or 'hybrid' `increments` along a straight
        line.
        """
        fractions = float_array('s', s).reshape(*np.shape(s), 1)
        return self.integrate(q0, fractions * self.difference(q0, q1, increments), increments)

    # --- inertial parameters; doc/theory/dynamics.md ----------------------------------------------

    def payload_parameters(self, payloads: Mapping[str, RigidBody]) -> Array:
        """Return the inertial parameters (10 n_bodies,) of bodies fixed to links, {link: body}.

        They are the input 'payload' of `payload_torques` in fused kernels.
        """
        return payload_parameters(self.tree, payloads)

    def base_parameters(self, samples: int = 0, seed: int = 0) -> BaseParameters:
        """Return a minimal set of inertial parameters, found from random motions (D-43).

        `samples` is the number of motions; 0 means twice the number of parameters.
        """
        check_count('samples', samples)
        check_count('seed', seed)
        unknowns = 10 * len(tuple(self.tree.frames))
        count = samples or 2 * -(-unknowns // max(self.tree.nv, 1))
        rng = np.random.default_rng(seed)
        start = np.tile(self.neutral(), (count, 1))
        q = self.integrate(start, rng.uniform(-np.pi, np.pi, (count, self.nv)))
        v, a = rng.normal(size=(2, count, self.tree.nv))
        return base_parameters(
            self.regressor(q, v, a).reshape(-1, unknowns), tuple(self.tree.frames)
        )

    def _vectors(self, **values: ArrayLike) -> list[Array]:
        """Return inputs of functions as single samples; raises `ArgumentError`."""
        return [vector(name, input_size(self.tree, name), x) for name, x in values.items()]

    # --- derivatives; doc/theory/dynamics_derivatives.md ------------------------------------------

    def linearized(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> StateSpace:
        """Return the linearized equations of motion at a state and torques (D-40)."""
        q, v, tau = self._vectors(q=q, v=v, tau=tau)
        return state_space(self.tree, v, *self.forward_dynamics_derivatives(q, v, tau))

    def geometric_sensitivity(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, joint: str) -> Array:
        """Return the derivative of `inverse_dynamics` with respect to a joint placement, (nv, 6).

        Columns are rotation [rad] and translation [m] of the joint in its own frame (D-41). Not
        compiled; one sample per call.
        """
        q, v, a = self._vectors(q=q, v=v, a=a)
        return torque_sensitivity(self.tree, q, v, a, self._gravity, joint)

    # --- motion and force given in parts; doc/theory/constrained_dynamics.md ----------------------

    @prepared(hybrid_dynamics, 'q', 'v', 'a', 'tau', 'gravity')
    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike | Sequence[str],
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: Outputs | None = None,
    ) -> tuple[Array, Array]:
        """Return (a, tau), (nv,) each, for joints with given accelerations or given torques.

        `prescribed` contains the names of the joints with given acceleration `a`, or is a boolean
        mask (nv,) of them; the others have the given torque `tau`. The other elements of a and tau
        are not used. Each set of joints is compiled once (Bruyninckx 2010, 6.4.3, C-060).
        """
        choice = marks(self.tree, prescribed)
        result: tuple[Array, Array] = self._evaluate(
            FUNCTIONS['hybrid_dynamics'],
            (q, v, a, tau),
            (choice,),
            external_wrenches,
            gravity=gravity,
            out=out,
        )
        if result[0].ndim == 1 and not np.isfinite(result[0]).all():
            given = np.array([mark == '1' for mark in choice])
            read = np.where(given, float_array('a', a), float_array('tau', tau))
            applied = (external_wrenches or {}).values()
            self._explain_undefined((q, v, read, *applied))
        return result

    def constrained_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: MotionConstraint | Sequence[MotionConstraint],
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        least_norm: bool = False,
    ) -> ConstrainedMotion:
        """Return (a, constraint wrenches) under torques tau and constraints, (nv,) and (k, 6).

        The wrenches act on the links of the constraints, at and in the link frames. The function is
        compiled once for links, representations and numbers of directions; all other values may
        change. Redundant constraints have the least-norm wrenches, see `ConstrainedMotion`.

        Raises `InfeasibleConstraintsError` if the constraints contradict each other; with
        `least_norm` the motion with the smallest violation is returned, marked as infeasible
        (Bruyninckx 2010, 6.7, C-071 to C-081).
        """
        constraints = checked(constraints)
        if external_wrenches or not isinstance(external_wrenches, Mapping | None):
            tau = float_array('tau', tau) - self.inverse_force(q, external_wrenches)
        terms = self.constraint_terms(q, v, tau, constraints)
        if terms.a_free.ndim == 1 and not np.isfinite(terms.a_free).all():
            self._explain_undefined((q, v, tau))
        return constrained_motion(terms, constraints, least_norm)

    def constraint_terms(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Sequence[MotionConstraint],
    ) -> Terms:
        """Return the terms of the equations of `constrained_dynamics`: M^-1 J^T, J M^-1 J^T, ..."""
        structures = tuple(constraint.structure for constraint in constraints)
        known = self._constraint_kernels.get(structures)
        if known is None:
            program = specification(self.regrouped_tree, structures)
            kernel = make_kernel(program, self.backend)
            known = self._constraint_kernels[structures] = kernel, compiled_into(kernel)
        kernel, run = known
        parameters = [constraint.parameters for constraint in constraints]
        if are_vectors(q, v, tau):
            outputs = [np.empty(shape) for shape in kernel.shapes]
            run(q, v, tau, self._gravity, *parameters, *outputs)
            return Terms(*outputs)
        inputs, _ = self._inputs('constrained_dynamics', kernel, [q, v, tau, *parameters])
        return Terms(*kernel.stack(inputs))

    # --- joint positions for poses of links; doc/theory/inverse_kinematics.md ---------------------

    def inverse_kinematics(
        self,
        target: ArrayLike,
        link: str | Sequence[str],
        q0: ArrayLike | None = None,
        *,
        tolerance: float = 1e-9,
        max_iterations: int = 100,
        restarts: int = 100,
        damping: float = 0.03,
        respect_limits: bool = True,
        seed: int = 0,
    ) -> InverseKinematicsResult:
        """Return a configuration for target poses of one or several links.

        A link behind six joints with a closed form (`arms.families`, Pieper's included) is brought
        there by the solution that is nearest to `q0`, by the joint that moves most
        (`families.branches`). Other links, several of them, singular configurations and poses
        without a solution within the limits take damped Newton-Raphson steps from `q0`, then from
        random configurations (Bruyninckx 2010, 5.10, 7.9, C-043, C-100, C-101). `success` of the
        result is true only for a solution.

        Parameters
        ----------
        target : (4, 4) or (k, 4, 4)
            Pose of the link frame in the root frame [m], one for each link.
        link : str or sequence of k str
        q0 : (nq,), optional
            Initial configuration; by default the middle of the joint ranges.
        tolerance : float
            Largest pose error of a solution (rotation [rad] and displacement [m] in one norm).
        max_iterations : int
            Newton steps before a restart.
        restarts : int
            Number of random initial configurations if q0 does not lead to the target.
        damping : float
            Damping relative to the squared error; larger values converge more slowly and reliably.
            This and the next ones, and `max_iterations`, are those of the steps.
        respect_limits : bool
            Whether joints must stay within their limits.
        seed : int
            Seed of the random configurations; equal calls return equal results.
        """
        links = link_names(link)
        targets = float_array('target', target)
        if targets.shape != (len(links), 4, 4) and targets.shape != (4, 4)[: 2 * (len(links) == 1)]:
            raise ArgumentError(
                f'target must have shape {(4, 4) if len(links) == 1 else (len(links), 4, 4)}, '
                f'got {targets.shape}'
            )
        solver = self._solvers.get((links, respect_limits))
        if solver is None:
            solver = make_solver(self.tree, links, respect_limits, self.backend)
            self._solvers[links, respect_limits] = solver
        q = solver.middle if q0 is None else vector('q0', self.tree.nq, q0)
        options = checked_options(tolerance, max_iterations, restarts, damping, seed)
        return solver.solve(targets, q, options)

    def all_inverse_kinematics(
        self,
        pose: ArrayLike,
        link: str,
        *,
        locked: Mapping[str, float] | None = None,
        swivel: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        images: bool = True,
        respect_limits: bool = True,
    ) -> AllSolutions | tuple[AllSolutions, ...]:
        """Return all configurations for a pose of a link, with a certificate of completeness.

        Solved by the closed form of the arm's family, otherwise by elimination; solutions are exact
        up to rounding errors (C-101, C-103). See doc/theory/all_inverse_solutions.md.

        Parameters
        ----------
        pose : (4, 4) or (N, 4, 4)
            Pose of the link frame in the root frame [m].
        link : str
        locked : dict, optional
            Positions [rad or m] of locked joints; at most six of the joints that move the link can
            be free. Limits of locked joints are ignored.
        swivel : float or (k,), optional
            Swivel angles [rad] of an S-R-S arm with seven joints: rotation of the elbow about the
            line from shoulder to wrist.
        q0 : (nq,), optional
            Positions of joints that do not move the link; by default `neutral()`.
        images : bool
            Whether to return, for joints with a range of more than 2 pi, all angles within the
            limits, up to a million solutions. For joints without a limit on one side or both, only
            the angle nearest to zero is returned.
        respect_limits : bool

        Returns
        -------
        AllSolutions
            For a stack of poses a tuple of AllSolutions.

        Raises
        ------
        ArgumentError
            If a pose is not a rigid motion, a number is not finite, more than six joints or no
            joint is free, or there are more than a million solutions.
        DescriptionError
            If the chain to the link has mimic joints or a floating base.
        UnknownNameError
            If the link or a locked joint does not exist.
        """
        targets = pose if is_matrix(pose) else float_array('pose', pose)
        solver = self._all_solvers.get(link) if isinstance(link, str) else None
        if solver is None:
            chain = SerialChain.of(self.tree, link)
            solver = self._all_solvers[link] = AllInverseKinematics(chain, self.nq, self.backend)
        others = self._neutral if q0 is None else vector('q0', self.tree.nq, q0)
        angles = NOT_GIVEN if swivel is None else swivel_angles(swivel)
        if targets.shape == (4, 4):
            return solver.solve(
                targets, others, locked or NOTHING_LOCKED, angles, images, respect_limits
            )
        if targets.shape[1:] != (4, 4):
            raise ArgumentError(f'pose must have shape (4, 4) or (N, 4, 4), got {targets.shape}')
        return tuple(
            solver.solve(target, others, locked or NOTHING_LOCKED, angles, images, respect_limits)
            for target in targets
        )

    def closed_loop(
        self,
        link: Links,
        q: ArrayLike,
        dt: float,
        *,
        closures: Sequence[CoincidentFrames] = (),
        **options: Any,
    ) -> ClosedLoop:
        """Return a tracker of target poses, started at q, with one `step` each dt seconds (C-048).

        `options`: gain, closure_gain, acceleration_limit, joint_metric, task_metric, damping,
        policy; see `inverse.closed_loop`.
        """
        links = link_names(link)
        options['partials'] = partial(stacked_partials, self, links)
        kernel = self.fuse(*closed_loop.outputs(links, closures))
        start = vector('q', self.tree.nq, q)
        return ClosedLoop(kernel, self.tree, links, start, dt, closures=closures, **options)

    # --- joint rates for twists of links; doc/theory/inverse_kinematics.md ------------------------

    def inverse_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: Links,
        representation: str = 'hybrid',
        **options: Any,
    ) -> InverseVelocityResult:
        """Return joint rates for a twist of a link: `.v`, `.success`, `.residual`, `.message`.

        Parameters
        ----------
        q : (nq,)
        twist : (6,) or (k, 6)
            (omega, v) in `representation` [rad/s, m/s].
        link : str or sequence of k str
        representation : {'hybrid', 'body', 'spatial', 'mixed'}
        **options
            joint_metric, task_metric, damping, secondary, cutoff; see
            `inverse.velocity.inverse_velocity` (Bruyninckx 2010, 7.12, C-104).
        """
        J = stacked_jacobian(self, q, link, representation)
        return inverse_velocity(J, stacked_rows('twist', twist, link), **options)

    def prioritized_velocity(
        self, q: ArrayLike, tasks: Sequence[Task], **options: Any
    ) -> TaskPriorityResult:
        """Return joint rates for several tasks, in descending order of priority (C-029).

        `options`: joint_metric, secondary, cutoff; see `inverse.task_priority`.
        """
        levels = [level(self, q, None, task) for task in checked_tasks(tasks)]
        return task_priority(levels, **options)

    def resolve_redundancy(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: str,
        criteria: Sequence[Criterion],
        **options: Any,
    ) -> RedundancyResult:
        """Return joint rates for a twist with criteria for the redundancy (C-030 to C-037).

        `criteria`: see `inverse.redundancy`. `options`: representation, selection, metric,
        damping; see `Task`. The result has the contribution of each criterion.
        """
        return resolve_redundancy(self, q, Task(link, twist, **options), criteria)

    def joint_limited_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: Links,
        dt: float,
        representation: str = 'hybrid',
        *,
        previous: ArrayLike | None = None,
        acceleration_limit: ArrayLike | None = None,
        limits: Sequence[TwistLimit] = (),
        **options: Any,
    ) -> JointLimitedResult:
        """Return the joint rates within limits whose twist is nearest to the given one (C-044).

        The rates satisfy the velocity limits and, applied for `dt` seconds, the position limits;
        with acceleration limits the joints can also stop before their position limits later.

        Parameters
        ----------
        previous : (nv,), optional
            Current joint rates; used with acceleration limits.
        acceleration_limit : float or (nv,), optional
            [rad/s^2, m/s^2]; URDF has none.
        limits : sequence of TwistLimit, optional
            Bounds of link velocities in some directions.
        **options
            joint_metric, task_metric, damping, secondary; see `inverse.bounded_velocity`.
        """
        J = stacked_jacobian(self, q, link, representation)
        joints = JointBounds(self.tree, dt, acceleration_limit)
        bounds = joints.at(vector('q', self.tree.nq, q), previous)
        if limits:
            options['inequalities'] = Inequalities.of(self, q, limits)
        return joint_limited_velocity(J, stacked_rows('twist', twist, link), bounds, **options)

    def guarded_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: str,
        dt: float,
        policy: SingularityPolicy,
        *,
        previous: ArrayLike | None = None,
        acceleration_limit: ArrayLike | None = None,
        **options: Any,
    ) -> PolicyStatus:
        """Return joint rates within limits near singularities, by a policy, and its status (C-024).

        Limits as in `joint_limited_velocity`; `options`: representation, task_metric, joint_metric,
        secondary; see `inverse.singularity_policies`.
        """
        joints = JointBounds(self.tree, dt, acceleration_limit)
        bounds = joints.at(vector('q', self.tree.nq, q), previous)
        return guarded_velocity(self, q, twist, link, bounds, policy, **options)

    # --- joint accelerations for those of links; doc/theory/inverse_kinematics.md -----------------

    def inverse_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        acceleration: ArrayLike,
        link: Links,
        representation: str = 'hybrid',
        **options: Any,
    ) -> InverseAccelerationResult:
        """Return joint accelerations `.a` for an acceleration of a link; see `inverse_velocity`.

        `acceleration` (6,) or (k, 6) is the derivative of the twist in `representation`; the linear
        part of a hybrid one is the acceleration of the link's origin (C-109).
        """
        J = stacked_jacobian(self, q, link, representation)
        bias = stacked_bias(self, q, v, link, representation)
        target = stacked_rows('acceleration', acceleration, link)
        return inverse_acceleration(J, bias, target, **options)

    def prioritized_acceleration(
        self, q: ArrayLike, v: ArrayLike, tasks: Sequence[Task], **options: Any
    ) -> TaskPriorityResult:
        """Return joint accelerations (field `v`) for tasks that are given as accelerations."""
        levels = [level(self, q, v, task) for task in checked_tasks(tasks)]
        return task_priority(levels, **options)

    def joint_limited_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        acceleration: ArrayLike,
        link: Links,
        dt: float,
        representation: str = 'hybrid',
        *,
        acceleration_limit: ArrayLike | None = None,
        **options: Any,
    ) -> JointLimitedResult:
        """Return joint accelerations (field `v`) within limits for an acceleration of a link.

        The resulting joint rates v + a dt are within the bounds of `joint_limited_velocity`.
        """
        J = stacked_jacobian(self, q, link, representation)
        bias = stacked_bias(self, q, v, link, representation)
        start, now = self._vectors(q=q, v=v)
        bounds = JointBounds(self.tree, dt, acceleration_limit).at(start, now)
        target = stacked_rows('acceleration', acceleration, link)
        return joint_limited_acceleration(J, bias, target, bounds, now, dt, **options)

    # --- wrenches and singularities; doc/theory/inverse_kinematics.md -----------------------------

    def forward_force(
        self, q: ArrayLike, tau: ArrayLike, link: Links, **options: Any
    ) -> ForwardForceResult:
        """Return the wrenches on links, in their frames, that joint torques tau balance (C-107).

        tau (nv,) without `gravity_torques`. `options`: length, torque_metric, least_squares,
        cutoff; see `inverse.force`. Joints that do not move the links are ignored.
        """
        J = stacked_jacobian(self, q, link, 'body')
        return forward_force(J, tau, **options)

    def singularity(
        self, q: ArrayLike, link: str, representation: str = 'hybrid', **options: Any
    ) -> SingularityReport:
        """Return rank, singular values, lost twists, reciprocal wrenches of a link (C-020, C-022).

        `options`: length, joint_metric, tolerance; see `inverse.singularities`.
        """
        return singularity_report(stacked_jacobian(self, q, link, representation), **options)

    # --- several outputs at once; doc/reference/compilation.md ------------------------------------

    def fuse(
        self, *outputs: Output | Formula, parameters: Mapping[str, int] | None = None
    ) -> FusedKernel:
        """Return one compiled function for several outputs, with common subexpressions shared.

        Each output is the name of a function above or of 'joint_transforms', with options in a
        tuple, `robot.fuse('mass_matrix', ('jacobian', 'tool', 'body'))`, or a `Formula` of other
        outputs. `parameters` maps names of additional input vectors of formulas to their lengths.
        """
        return FusedKernel(self.regrouped_tree, self.backend, outputs, parameters or {})

    def c_source(
        self,
        name: str,
        *outputs: Output | Formula,
        parameters: Mapping[str, int] | None = None,
        separate: bool = False,
    ) -> CSource:
        """Return the function of `fuse` as C source, for controllers without Python.

        `header` documents the arrays and the order of the joints in them; `source` includes
        `name`.h and requires a C99 or C++ compiler and the math library. With `separate` each
        output has its own function, `name`_output.
        """
        from .c_functions import c_functions  # what calls the functions does without

        tree, label = self.regrouped_tree, self.description.name
        return c_functions(tree, label, name, outputs, parameters or {}, separate)

    def substitute(self, output: Output, **sources: Output | Formula) -> Formula:
        """Return an output for `fuse` whose inputs are replaced by formulas.

        Example: `robot.substitute('inverse_dynamics', q=planned)` with a `Formula` `planned`.
        """
        return substituted(self.regrouped_tree, output, sources)
