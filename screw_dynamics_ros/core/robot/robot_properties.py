# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a robot is: names, limits, configurations, inertial parameters, fused functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_count, float_array, vector
from ..description.rigid_body import RigidBody
from ..description.robot_description import RobotDescription
from ..dynamics.geometric_sensitivity import torque_sensitivity
from ..dynamics.payload import payload_parameters
from ..dynamics.regressor import BaseParameters, base_parameters, inertial_parameters
from ..dynamics.state_space import StateSpace, state_space
from ..errors import ArgumentError
from ..kinematics import configurations, jacobians
from ..tree.multibody_tree import JointLimits
from ..types import Array
from .functions import Output, input_size
from .fused_kernel import Formula, FusedKernel, substituted
from .robot_functions import RobotFunctions

if TYPE_CHECKING:
    from ..compile.text.c_source import CSource


class RobotProperties(RobotFunctions):
    """The model of a robot; conventions as in `Robot`."""

    description: RobotDescription

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

    @property
    def with_friction(self) -> bool:
        """Whether inverse and forward dynamics include friction."""
        return self.tree.with_friction

    @property
    def free_bodies(self) -> dict[str, slice]:
        """Slices of v of bodies with quaternions, by link: six of a free body, three of a ball."""
        return {body.name: body.v for body in self.tree.free_bodies}

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
