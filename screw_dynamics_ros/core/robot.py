"""The facade: a robot is a model plus its compiled functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import Array, float_array
from screw_dynamics_ros.core.dynamics.regressor import inertial_parameters
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.facade.inverse_problems import InverseProblems
from screw_dynamics_ros.core.facade.kinematic_functions import KinematicFunctions
from screw_dynamics_ros.core.facade.mixed_problems import MixedProblems
from screw_dynamics_ros.core.facade.sensitivities import Sensitivities
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.core.fused import Formula, FusedKernel, evaluated
from screw_dynamics_ros.core.model.description import Inertia, Limits, RobotDescription
from screw_dynamics_ros.core.model.drives import Drive, drives_of
from screw_dynamics_ros.core.model.geometry import Geometry
from screw_dynamics_ros.core.model.link_table import LinkTable
from screw_dynamics_ros.core.model.robot_geometry import description_of
from screw_dynamics_ros.core.model.tree import JointLimits, build_tree
from screw_dynamics_ros.core.model.urdf import read_urdf


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
    ) -> None:
        tree = build_tree(description, floating_base=floating_base, drives=drives)
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
            Rotors, armatures and friction. If given, be it empty, friction takes part in inverse
            and forward dynamics; joints not named have that of the URDF.
        """
        return cls(
            read_urdf(text_or_path),
            floating_base=floating_base,
            gravity=gravity,
            backend=backend,
            drives=drives,
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
        floating_base, gravity, backend, drives
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
        )
        return make, (self.description,)

    # --- functions -------------------------------------------------------------------------------

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the (4, 4) pose of a link frame in the root frame [m] (muller.md K-13)."""
        return self._evaluate('link_pose', (q,), (link,))

    def link_poses(self, q: ArrayLike) -> Array:
        """Return the (n_links, 4, 4) poses of all links, as in `link_names` (muller.md K-13)."""
        return self._evaluate('link_poses', (q,))

    def jacobian(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        """Return the (6, nv) geometric Jacobian of a link: twist = jacobian @ v.

        `representation` is 'body', 'spatial', 'hybrid' or 'mixed' (muller.md K-09, K-21 to K-31).
        """
        return self._evaluate('jacobian', (q,), (link, representation))

    def velocity(
        self, q: ArrayLike, v: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the twist (omega, v), (6,), of a link [rad/s, m/s], as in `jacobian`."""
        return self._evaluate('velocity', (q, v), (link, representation))

    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        representation: str = 'hybrid',
    ) -> Array:
        """Return the time derivative of a link's twist, (6,) [rad/s^2, m/s^2] (muller.md D-16).

        The linear part of a hybrid or mixed acceleration is that of the link's origin.
        """
        return self._evaluate('acceleration', (q, v, a), (link, representation))

    def jacobian_derivative(
        self, q: ArrayLike, v: ArrayLike, link: str, representation: str = 'hybrid'
    ) -> Array:
        """Return the time derivative of the Jacobian of a link, (6, nv) (muller.md D-14, D-16)."""
        return self._evaluate('jacobian_derivative', (q, v), (link, representation))

    def jacobian_partials(self, q: ArrayLike, link: str, representation: str = 'hybrid') -> Array:
        """Return the (6, nv, nv) derivatives dJ_j / dq_k of a link's Jacobian (muller.md D-04).

        Along the body-fixed velocity of a free body; higher orders: `kinematics.jacobian_partials`.
        """
        return self._evaluate('jacobian_partials', (q,), (link, representation))

    def analytical_jacobian(self, q: ArrayLike, link: str, orientation: str = 'xyz') -> Array:
        """Return the Jacobian of (orientation coordinates, position) of a link, (6, nv).

        `orientation` is one of 24 sets of Euler angles, 'rotation_vector', or 'quaternion' with
        (7, nv) (bruyninckx_1.md B-125). Where Euler angles lock it is not finite, or refused.
        """
        return self._evaluate('analytical_jacobian', (q,), (link, orientation))

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the torques of a motion, (nv,) [N m, N] (muller.md D-27).

        They are M a + C v + g - sum J^T w_ext, plus friction if the robot was given `drives`.

        `external_wrenches` maps a link to the wrench (moment, force) the environment exerts on it,
        at the origin of the link frame, in the link frame.
        """
        return self._evaluate('inverse_dynamics', (q, v, a), (), external_wrenches)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the accelerations under torques tau, (nv,) (muller.md D-38); wrenches as above.

        NaN in configurations in which links without inertia leave them undefined.
        """
        return self._evaluate('forward_dynamics', (q, v, tau), (), external_wrenches)

    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the wrench each joint, fixed or not, exerts on its child link (muller.md D-30).

        The (n_links, 6) rows (moment, force) [N m, N] are in the order of `link_names`, at the
        origin and in the axes of the link: what a force-torque sensor there shows. The first one is
        what the ground exerts on the root link.
        """
        return self._evaluate('joint_wrenches', (q, v, a), (), external_wrenches)

    def reaction_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return `joint_wrenches` without the forces of the drives: the load on the bearings."""
        return self._evaluate('reaction_wrenches', (q, v, a), (), external_wrenches)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), (nv, nv) [kg m^2, kg m, kg] (muller.md D-37)."""
        return self._evaluate('mass_matrix', (q,))

    def gravity_torques(self, q: ArrayLike) -> Array:
        """Return g(q), (nv,): the torques that hold the robot still [N m, N]."""
        return self._evaluate('gravity_torques', (q,))

    def coriolis_torques(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v) v, (nv,): the centrifugal and Coriolis torques [N m, N]."""
        return self._evaluate('coriolis_torques', (q, v))

    def friction_torques(self, v: ArrayLike) -> Array:
        """Return f(v), (nv,): the torques that overcome joint friction [N m, N] (see `Drive`)."""
        return self._evaluate('friction_torques', (v,))

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v), (nv, nv), with dM/dt - 2 C skew-symmetric (muller.md D-36)."""
        return self._evaluate('coriolis_matrix', (q, v))

    def inverse_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the inverse of M(q), (nv, nv) (muller.md D-40)."""
        return self._evaluate('inverse_mass_matrix', (q,))

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (dtau/dq, dtau/dv, M) of `inverse_dynamics`, (nv, nv) each (muller.md D-40).

        Row i belongs to torque i. Of a floating base the derivatives with respect to q are along
        its body-fixed velocity (omega, v), which comes first in v.
        """
        return self._evaluate('inverse_dynamics_derivatives', (q, v, a), (), external_wrenches)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (da/dq, da/dv, M^-1) of `forward_dynamics`, (nv, nv) each, as above."""
        return self._evaluate('forward_dynamics_derivatives', (q, v, tau), (), external_wrenches)

    def potential_energy(self, q: ArrayLike) -> float | Array:
        """Return the potential energy in gravity, zero at the origin of the root frame [J]."""
        return self._evaluate('potential_energy', (q,))

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float | Array:
        """Return the kinetic energy [J] (muller.md D-17)."""
        return self._evaluate('kinetic_energy', (q, v))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the (3,) centre of mass of all links, in the root frame [m]."""
        return self._evaluate('center_of_mass', (q,))

    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the (3,) velocity of the centre of mass, in root axes [m/s]."""
        return self._evaluate('center_of_mass_velocity', (q, v))

    def total_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return (angular, linear) momentum about the root's origin, (6,) [N m s, N s]."""
        return self._evaluate('total_momentum', (q, v))

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return (angular, linear) momentum about the centre of mass, (6,), in root axes."""
        return self._evaluate('centroidal_momentum', (q, v))

    def centroidal_map(self, q: ArrayLike) -> Array:
        """Return the matrix (6, nv) of centroidal_momentum = centroidal_map @ v."""
        return self._evaluate('centroidal_map', (q,))

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return Y, (nv, 10 n_links): inverse_dynamics = Y @ inertial_parameters (muller.md D-43).

        For each of `link_names`, in its frame: mass m, first moment m c, and the inertia about its
        origin as xx, xy, yy, xz, yz, zz.
        """
        return self._evaluate('regressor', (q, v, a))

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
        """Return a configuration that brings one link, or several, to target poses.

        Damped Newton-Raphson steps from `q0`, then from random configurations (bruyninckx_2.md
        C-043, C-100). The answer is never silently wrong: look at `success`.

        Parameters
        ----------
        target : (4, 4) or (k, 4, 4)
            Pose of the link frame in the root frame [m], one for each link.
        link : str or sequence of k str
        q0 : (nq,), optional
            Where to start; the middle of the joint ranges otherwise.
        tolerance : float
            Largest pose error accepted (rotation [rad] and displacement [m] in one norm).
        max_iterations : int
            Newton steps before a restart.
        restarts : int
            Random configurations to start from if q0 does not lead to the target.
        damping : float
            Damping in proportion to the squared error; larger is slower and steadier.
        respect_limits : bool
            Whether joints must stay within their limits.
        seed : int
            Of the random configurations: the same call returns the same answer.
        """
        links = (link,) if isinstance(link, str) else tuple(link)
        if not links:
            raise ArgumentError('inverse_kinematics needs at least one link')
        targets = float_array('target', target)
        if targets.shape != (len(links), 4, 4) and targets.shape != (4, 4)[: 2 * (len(links) == 1)]:
            raise ArgumentError(
                f'target must have shape {(4, 4) if len(links) == 1 else (len(links), 4, 4)}, '
                f'got {targets.shape}'
            )
        solver = self._solvers.get((links, respect_limits))
        if solver is None:
            solver = self._make_solver(links, respect_limits)
        q = solver.middle if q0 is None else vector('q0', self.nq, q0)
        return solver.solve(
            targets,
            q,
            tolerance=tolerance,
            max_iterations=max_iterations,
            restarts=restarts,
            damping=damping,
            seed=seed,
        )

    def fuse(
        self, *outputs: Output | Formula, parameters: Mapping[str, int] | None = None
    ) -> FusedKernel:
        """Return one compiled function for several outputs: they share what they have in common.

        Each output is the name of a function above or of 'joint_transforms', with options in a
        tuple: `robot.fuse('mass_matrix', ('jacobian', 'tool', 'body'))`; or a `Formula` of others,
        which may read further vectors, `parameters`: their names and numbers of elements.
        """
        return FusedKernel(self._lean_tree, self.backend, outputs, parameters or {})

    def elsewhere(self, output: Output, **sources: Output | Formula) -> Formula:
        """Return a function above for `fuse`, of other formulas instead of some of its inputs.

        `robot.elsewhere('inverse_dynamics', q=planned)` with `planned` a `Formula`.
        """
        return evaluated(self._lean_tree, output, sources)
