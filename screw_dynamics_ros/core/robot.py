"""The facade: a robot is a model plus its compiled functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import Array, float_array, vector
from screw_dynamics_ros.core.compile.cpython_entry import Addresses, entry_point
from screw_dynamics_ros.core.compile.kernels import (
    Kernel,
    NativeKernel,
    Specification,
    choose_backend,
    make_kernel,
)
from screw_dynamics_ros.core.dynamics.regrouping import regrouped
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.functions import Output, find, input_size
from screw_dynamics_ros.core.fused import Formula, FusedKernel
from screw_dynamics_ros.core.kinematics import inverse
from screw_dynamics_ros.core.kinematics.inverse import InverseKinematics, InverseKinematicsResult
from screw_dynamics_ros.core.model.description import RobotDescription
from screw_dynamics_ros.core.model.tree import JointLimits, build_tree
from screw_dynamics_ros.core.model.urdf import read_urdf


class Robot:
    """Kinematics and dynamics of one robot, compiled for it.

    Conventions: SI units, radians; twists (omega, v) and wrenches (moment, force), angular part
    first; Jacobians (6, nv), angular rows first. A configuration q has one number for each of
    `joint_names` (three for a planar, seven for a floating joint); a floating base puts (x, y, z,
    qx, qy, qz, qw) in front, and its body-fixed velocity (omega, v) in front of v.

    Every function of (q, v, ...) also takes stacks (N, nq), (N, nv), ... and returns the stack,
    computed on all cores; a plain vector next to stacks serves all N. NaN in gives NaN out. Each
    function is compiled when it is first called and kept on disk.

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
    ) -> None:
        self.description = description
        self.backend = choose_backend(backend)
        self._tree = build_tree(description, floating_base=floating_base)
        self._identity = self._tree.digest()
        self._lean_tree = regrouped(self._tree)  # for everything that is compiled
        self._floating_base = floating_base
        self._gravity = np.zeros(3)  # always this array: compiled functions know its address
        self._kernels: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Kernel] = {}
        self._addresses: dict[str, Addresses] = {}
        self._solvers: dict[tuple[tuple[str, ...], bool], InverseKinematics] = {}
        self.gravity = gravity
        # Builtin functions pass what they cannot handle to this twin, which shares everything but
        # never has builtin functions itself: no reference leads from machine code back to itself.
        self._general: Robot | None = object.__new__(type(self))
        self._general.__dict__.update(self.__dict__, _general=None)

    @classmethod
    def from_urdf(
        cls,
        text_or_path: str | Path,
        *,
        floating_base: bool = False,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        backend: str = 'auto',
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
        """
        return cls(
            read_urdf(text_or_path), floating_base=floating_base, gravity=gravity, backend=backend
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
    def limits(self) -> JointLimits:
        """`lower`, `upper`, `velocity`, `effort` over `joint_names`, infinite where none is set."""
        return self._tree.limits

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

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the torques of a motion, (nv,) [N m, N] (muller.md D-27).

        They are M a + C v + g - sum J^T w_ext.

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
        """Return the accelerations under torques tau, (nv,) (muller.md D-38); wrenches as above."""
        return self._evaluate('forward_dynamics', (q, v, tau), (), external_wrenches)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), (nv, nv) [kg m^2, kg m, kg] (muller.md D-37)."""
        return self._evaluate('mass_matrix', (q,))

    def gravity_torques(self, q: ArrayLike) -> Array:
        """Return g(q), (nv,): the torques that hold the robot still [N m, N]."""
        return self._evaluate('gravity_torques', (q,))

    def coriolis_torques(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v) v, (nv,): the centrifugal and Coriolis torques [N m, N]."""
        return self._evaluate('coriolis_torques', (q, v))

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v), (nv, nv), with dM/dt - 2 C skew-symmetric (muller.md D-36)."""
        return self._evaluate('coriolis_matrix', (q, v))

    def potential_energy(self, q: ArrayLike) -> float | Array:
        """Return the potential energy in gravity, zero at the origin of the root frame [J]."""
        return self._evaluate('potential_energy', (q,))

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float | Array:
        """Return the kinetic energy [J] (muller.md D-17)."""
        return self._evaluate('kinetic_energy', (q, v))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the (3,) centre of mass of all links, in the root frame [m]."""
        return self._evaluate('center_of_mass', (q,))

    def inverse_kinematics(
        self,
        target: ArrayLike,
        link: str | Sequence[str],
        q0: ArrayLike | None = None,
        *,
        tolerance: float = 1e-9,
        max_iterations: int = 100,
        restarts: int = 100,
        damping: float = 0.1,
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

    # --- evaluation ------------------------------------------------------------------------------

    def _evaluate(
        self,
        name: str,
        arguments: Sequence[ArrayLike],
        options: tuple[str, ...] = (),
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Any:
        """Check the arguments, then compute one sample or a stack."""
        if not isinstance(wrenches, Mapping | None):
            raise ArgumentError(
                f'external wrenches must be a dict {{link: (moment, force)}}, got {wrenches!r}'
            )
        links = tuple(wrenches or ())
        if not all(isinstance(text, str) for text in (*options, *links)):
            find(self._tree, (name, *options))  # says which one
        kernel = self._kernels.get((name, options, links))
        if kernel is None:
            kernel = self._kernels.setdefault(  # another thread may have been faster
                (name, options, links), self._make_kernel(name, options, links)
            )
        given = iter([*arguments, *(wrenches or {}).values()])
        inputs = [
            self._gravity if n == 'gravity' else self._input(n, size, next(given))
            for n, size in kernel.specification.inputs
        ]
        stacks = {array.shape[0] for array in inputs if array.ndim == 2}
        if not stacks:
            if isinstance(kernel, NativeKernel) and not links:
                self._install_fast(name, options, kernel)
            output = kernel.single(inputs)[0]
            return output if output.ndim else float(output)
        if len(stacks) > 1:
            shapes = zip(kernel.specification.inputs, inputs)
            raise ArgumentError(
                f'{name}: stacks must have the same length, got '
                + ', '.join(f'{n}: {array.shape}' for (n, _), array in shapes if n != 'gravity')
            )
        samples = stacks.pop()
        return kernel.stack(
            [
                array
                if array.ndim == 2 or n == 'gravity'
                else np.ascontiguousarray(np.broadcast_to(array, (samples, len(array))))
                for (n, _), array in zip(kernel.specification.inputs, inputs)
            ]
        )[0]

    def _make_kernel(self, name: str, options: tuple[str, ...], links: tuple[str, ...]) -> Kernel:
        """Return the kernel of one function, with one more input for each wrench."""
        tree = self._lean_tree
        function, options = find(tree, (name, *options))
        for link in links:
            tree.frame(link)

        def build(*vectors: np.ndarray) -> tuple[np.ndarray, ...]:
            count = len(function.inputs)
            applied = (dict(zip(links, vectors[count:])),) if links else ()
            return (function.evaluate(tree, *vectors[:count], *options, *applied),)

        sizes = [(n, input_size(tree, n)) for n in function.inputs]
        sizes += [(f'external wrench on {link}', 6) for link in links]
        return make_kernel(
            Specification(
                ' '.join((name, *options, *links)),
                tuple(sizes),
                build,
                self._identity,
                frozenset({'gravity'}),
            ),
            self.backend,
        )

    def _make_solver(self, links: tuple[str, ...], respect_limits: bool) -> InverseKinematics:
        """Return a solver of inverse position kinematics, compiled."""
        tree = self._tree
        for link in links:
            tree.frame(link)
        if not respect_limits:
            infinite = np.full(len(tree.joint_names), np.inf)
            tree = replace(tree, limits=JointLimits(-infinite, infinite, infinite, infinite))
        limits = [tree.limits.lower.tobytes().hex(), tree.limits.upper.tobytes().hex()]
        specification = Specification(
            f'inverse kinematics {links}',
            (('q', tree.nq), ('target', 16 * len(links)), ('damping', 1)),
            partial(inverse.program, tree, links),
            ' '.join([self._identity, *limits]),
        )
        kernel = make_kernel(specification, self.backend)
        solver = self._solvers[links, respect_limits] = InverseKinematics(kernel, tree, links)
        return solver

    def _input(self, name: str, size: int, value: ArrayLike) -> Array:
        """Return an argument as a C-contiguous float64 array of shape (size,) or (N, size)."""
        array = float_array(name, value)
        if array.ndim in (1, 2) and array.shape[-1] == size:
            return array
        order = {
            'q': 'the order is that of joint_names: ',
            'v': 'the order is that of joint_names: ',
        }
        raise ArgumentError(
            f'{name} must have shape ({size},) or (N, {size}), got {array.shape}'
            + (f'; {order[name]}{", ".join(self.joint_names)}' if name in order else '')
        )

    def _install_fast(self, name: str, options: tuple[str, ...], kernel: NativeKernel) -> None:
        """Put a builtin function in the place of the method `name`; see `cpython_entry`."""
        compiled = kernel.compiled
        entry: int | Addresses = compiled.address
        if options:
            entry = self._addresses.setdefault(
                name, Addresses('hybrid' if len(options) == 2 else None)
            )
            entry.add(options, compiled.address)
        method = getattr(type(self), name)
        if self._general is None or name in self.__dict__ or method is not getattr(Robot, name):
            return  # a subclass has its own
        fixed = {'gravity': self._gravity.ctypes.data}
        self.__dict__[name] = entry_point(
            name,
            method.__doc__ or '',
            entry,
            [fixed.get(n, (size,)) for n, size in kernel.specification.inputs],
            compiled.shapes[0],
            method.__get__(self._general),
            (self._kernels, self._gravity),
        )
