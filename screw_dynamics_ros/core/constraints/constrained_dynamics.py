# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constrained forward dynamics: compiled for the structure of the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernels import KernelSpecification
from ..errors import ArgumentError, InfeasibleConstraintsError
from ..tree.multibody_tree import Tree
from ..types import Array
from .equations import constraint_equations
from .forces import ConstraintForces, Flags, constraint_forces
from .motion_constraint import MotionConstraint, Structure

Indices = NDArray[np.int_]


class _Pair(NamedTuple):
    a: Array
    wrenches: Array


class ConstrainedMotion(_Pair):
    """The pair (a, wrenches), with the status of the constraints.

    Attributes
    ----------
    a : (nv,) array
        Accelerations of the joints [rad/s^2, m/s^2].
    wrenches : (k, 6) array
        Wrench of each constraint on its link, at the origin of the link frame, in the link frame
        (moment, force) [N m, N]: applied as external wrenches they give the same motion. A
        constraint between two links exerts the opposite wrench on the other.
    forces : ConstraintForces
        Multipliers, errors and rank over the concatenated directions of all constraints.
    """

    forces: ConstraintForces

    def __new__(cls, a: Array, wrenches: Array, forces: ConstraintForces) -> ConstrainedMotion:
        """Return the pair with its report."""
        self = super().__new__(cls, a, wrenches)
        self.forces = forces
        return self

    @property
    def feasible(self) -> bool:
        """Whether all constraints are satisfied; otherwise `forces.error` is the error of a."""
        return not self.forces.conflicting.any()

    @property
    def unique(self) -> bool:
        """Whether the wrenches are unique; otherwise they are those of least norm."""
        return bool((self.forces.rank == self.forces.multipliers.shape[-1]).all())


@dataclass(frozen=True, eq=False)
class Terms:
    """The equations of some constraints at a state; leading axes as those of the state.

    Attributes
    ----------
    a_free : (nv,) array
        Accelerations without constraint forces.
    K : (nv, m) array
        M^-1 J^T.
    inverse_inertia : (m, m) array
        J M^-1 J^T: its inverse is the inertia along the constraints.
    drift, rate, displacement : (m,) arrays
        Accelerations without constraint forces, velocities and displacements along them.
    mobility : (m,) array
        The largest diagonal that inverse_inertia could have; see `greatest_mobility`.
    W : (6, m) array
        Wrenches of unit multipliers, at and in the link frames.
    """

    a_free: Array
    K: Array
    inverse_inertia: Array
    drift: Array
    mobility: Array
    rate: Array
    displacement: Array
    W: Array


def specification(tree: Tree, structures: Sequence[Structure]) -> KernelSpecification:
    """Return the specification of the kernel for constraints of these structures."""
    inputs = [('q', tree.nq), ('v', tree.nv), ('tau', tree.nv), ('gravity', 3)]
    numbered = [(f'constraint {k}', s) for k, s in enumerate(structures)]
    inputs += [(name, 6 * s[4] + 3 + 16 * s[5]) for name, s in numbered]
    return KernelSpecification(
        f'constraint equations {tuple(structures)}',
        tuple(inputs),
        lambda tree, q, v, tau, gravity, *parameters: constraint_equations(
            tree, q, v, tau, gravity, structures, parameters
        ),
        repr(('constraints', tree.digest, tuple(structures))),
        frozenset({'gravity', *(name for name, _ in numbered)}),
        (tree,),
    )


def constrained_motion(
    terms: Terms, constraints: Sequence[MotionConstraint], least_norm: bool = False
) -> ConstrainedMotion:
    """Solve for the constraint forces and return the motion; raises as the facade documents."""
    gains = gathered(
        tuple((c.size, c.alpha, c.beta, c.compliance, c.unilateral) for c in constraints)
    )
    wanted = wanted_rates(constraints, terms.a_free.shape[:-1])
    wanted = wanted - gains.twice_alpha * terms.rate - gains.beta_squared * terms.displacement
    forces = constraint_forces(
        terms.inverse_inertia + gains.compliance,
        terms.drift,
        wanted,
        terms.mobility,
        gains.unilateral,
    )
    if forces.conflicting.any() and not least_norm:
        raise InfeasibleConstraintsError(conflict(constraints, gains.of, forces))
    a = terms.a_free + (terms.K @ forces.multipliers[..., None])[..., 0]
    W = np.add.reduceat(terms.W * forces.multipliers[..., None, :], gains.starts, axis=-1)
    return ConstrainedMotion(a, np.ascontiguousarray(np.swapaxes(W, -1, -2)), forces)


class Gains(NamedTuple):
    """Gains of some constraints over all m directions, and to which constraint each belongs."""

    twice_alpha: Array
    beta_squared: Array
    compliance: Array  # (m, m), diagonal
    unilateral: Flags | None  # None if there is none
    of: Indices
    starts: Indices


@lru_cache(maxsize=256)
def gathered(each: tuple[tuple[int, float, float, float, bool], ...]) -> Gains:
    """Return the gains of constraints given by (size, alpha, beta, compliance, unilateral)."""
    sizes = [constraint[0] for constraint in each]
    of = np.repeat(np.arange(len(each)), sizes)
    alpha, beta, compliance, unilateral = (np.array(x)[of] for x in list(zip(*each))[1:])
    one_sided = unilateral if unilateral.any() else None
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Gains(2.0 * alpha, beta**2, np.diag(compliance), one_sided, of, starts)


def wanted_rates(constraints: Sequence[MotionConstraint], stack: tuple[int, ...]) -> Array:
    """Return the prescribed accelerations of all constraints, (m,) or (N, m)."""
    rows = []
    for c in constraints:
        b = np.asarray(c.acceleration)
        if b.ndim == 2 and b.shape[:-1] != stack:
            raise ArgumentError(
                f'{c}: acceleration has shape {b.shape}, but the stack of states has length '
                f'{stack[0] if stack else 1}'
            )
        rows.append(b if b.shape[:-1] == stack else np.broadcast_to(b, (*stack, c.size)))
    return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=-1)


def conflict(constraints: Sequence[MotionConstraint], of: Indices, forces: ConstraintForces) -> str:
    """Return a message that names the constraints in conflict and what they miss."""
    samples = forces.conflicting.reshape(-1, len(of))
    worst = int(np.argmax(samples.sum(-1)))
    mask, error = samples[worst], forces.error.reshape(-1, len(of))[worst]
    parts = [
        f'{constraints[i]} misses {np.abs(error[mask & (of == i)]).max():.3g}'
        for i in sorted(set(of[mask].tolist()))
    ]
    where = f' (sample {worst} of {len(samples)})' if forces.conflicting.ndim > 1 else ''
    rank = int(np.ravel(forces.rank)[worst])
    return (
        f'the constraints cannot all be met{where}: {len(of)} directions, {rank} independent; '
        f'{"; ".join(parts)} [rad/s^2, m/s^2]. Drop or relax one of them, give it a compliance, '
        'or ask for least_norm=True'
    )
