"""Dynamics with motion and force given in parts: by joints, or by constraints on links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.compile.kernels import Kernel, compiled_into, make_kernel
from screw_dynamics_ros.core.constraints.constrained_dynamics import (
    ConstrainedMotion,
    Terms,
    constrained_motion,
    specification,
)
from screw_dynamics_ros.core.constraints.motion_constraint import (
    MotionConstraint,
    Structure,
    checked,
)
from screw_dynamics_ros.core.dynamics.hybrid_dynamics import marks
from screw_dynamics_ros.core.errors import InertiaError
from screw_dynamics_ros.core.robot.compiled_functions import CompiledFunctions
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array


class MixedProblems(CompiledFunctions):
    """What lies between forward and inverse dynamics; doc/constrained_dynamics.md."""

    def __init__(self, tree: Tree, backend: str) -> None:
        super().__init__(tree, backend)
        self._constraint_kernels: dict[
            tuple[Structure, ...], tuple[Kernel, Callable[..., None]]
        ] = {}

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike | Sequence[str],
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array]:
        """Return (a, tau), (nv,) each, all elements: some joints are moved, others driven.

        `prescribed` names the joints whose acceleration `a` is given, or marks them in a boolean
        mask (nv,); the others have the torque `tau`. Elements of a and tau that are not given are
        not read. Each choice of joints is compiled once (bruyninckx_2.md C-060).
        """
        choice = marks(self._tree, prescribed)
        result: tuple[Array, Array] = self._evaluate(
            'hybrid_dynamics', (q, v, a, tau), (choice,), external_wrenches
        )
        if result[0].ndim == 1 and not np.isfinite(result[0]).all():
            given = np.array([mark == '1' for mark in choice])
            read = np.where(given, float_array('a', a), float_array('tau', tau))
            applied = (external_wrenches or {}).values()
            self._blame_inertia((q, v, read, *applied))
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

        The wrenches are those on the links of the constraints, at and in the link frames. Links,
        representations and numbers of directions are compiled once; all numbers may change.
        Redundant constraints have the smallest possible wrenches, see `ConstrainedMotion`.

        Raises `InfeasibleConstraintsError` if the constraints contradict each other; with
        `least_norm` the smallest violation is returned instead, and the result says so
        (bruyninckx_2.md C-071 to C-081).
        """
        constraints = checked(constraints)
        if external_wrenches or not isinstance(external_wrenches, Mapping | None):
            holding = self._evaluate('inverse_force', (q,), (), external_wrenches)
            tau = float_array('tau', tau) - holding
        terms = self.constraint_terms(q, v, tau, constraints)
        if terms.a_free.ndim == 1 and not np.isfinite(terms.a_free).all():
            self._blame_inertia((q, v, tau))
        return constrained_motion(terms, constraints, least_norm)

    def constraint_terms(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Sequence[MotionConstraint],
    ) -> Terms:
        """Return what `constrained_dynamics` solves: drift, M^-1 J^T, J M^-1 J^T and others."""
        structures = tuple(constraint.structure for constraint in constraints)
        known = self._constraint_kernels.get(structures)
        if known is None:
            program = specification(self._lean_tree, structures)
            kernel = make_kernel(program, self.backend)
            known = self._constraint_kernels[structures] = kernel, compiled_into(kernel)
        kernel, run = known
        parameters = [constraint.parameters for constraint in constraints]
        if is_sample(q, v, tau):
            outputs = [np.empty(shape) for shape in kernel.shapes]
            run(q, v, tau, self._gravity, *parameters, *outputs)
            return Terms(*outputs)
        inputs, _ = self._inputs('constrained_dynamics', kernel, [q, v, tau, *parameters])
        return Terms(*kernel.stack(inputs))

    def _blame_inertia(self, inputs: Sequence[ArrayLike]) -> None:
        """Raise `InertiaError` for a result that is not finite, unless the inputs are not either.

        Stacks are not looked at: their samples that are singular are NaN.
        """
        joints = [body.joint for body in self._lean_tree.bodies if body.leans]
        if joints and all(np.isfinite(x).all() for x in inputs):
            raise InertiaError(
                'accelerations are not defined in this configuration: the links of some of the '
                f'joints {", ".join(map(repr, joints))} have no inertia about them, and nothing '
                'they carry has; give those links inertias or armatures, or prescribe their motion'
            )


def is_sample(*arguments: ArrayLike) -> bool:
    """Return whether all are vectors; if not they are stacks, or refused as such."""
    try:
        return all(np.ndim(argument) == 1 for argument in arguments)
    except ValueError:  # ragged
        return False
