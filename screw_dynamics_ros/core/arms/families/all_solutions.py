# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All solutions of the inverse position kinematics of a serial arm, with a certificate.

The arm is classified by its joint screws. An arm with a closed form has its branches in one
compiled function; any other arm of six revolute joints, or fewer, is solved by elimination, up to
16 solutions. Newton-Raphson steps on the described arm refine each candidate; candidates that do
not converge are discarded. Near singular configurations, where two solutions almost coincide, the
neighborhood is searched and a second elimination is used. Finally, joint limits are applied, and
the images by multiples of 2 pi within them are added.

Arms with seven joints have the swivel angle (S-R-S) or a locked joint as an argument; with more,
several joints are locked.

Source: Bruyninckx 2010, sections 7.8 to 7.10 and 1.3 (B-005, C-087, C-088, C-101, C-103).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, is_number, vector
from ...errors import ArgumentError, UnknownNameError
from ...lie import se3
from ...types import Array
from ..inverse.position import check_targets, rigid_defect
from .branches import DiscardedCandidate, LimitImages, separation
from .chain import SerialChain
from .chain_solutions import ChainSolutions, Lost
from .closed_form import ClosedForm
from .held_joints import HeldArm, between_ends
from .serial_solver import SerialSolver


@dataclass(eq=False, slots=True)
class AllSolutions:
    """All solutions for one pose.

    Attributes
    ----------
    q : (k, nq) array
        Configurations of the robot, one per row; joints that do not move the link as in `q0`.
    residuals : (k,) array
        Pose errors: 2 sin(angle / 2) [rad] and displacement [m] in one norm.
    branches : (k,) array of int
        Branch of each solution as an index of `branch_labels`.
    branch_labels : tuple of str
    family : str
    bound : int
        Largest number of solutions of an arm of the family, up to multiples of 2 pi; 0 if unknown.
    found : int
        Number of solutions without limits and multiples of 2 pi.
    doubt : str
        Why there may be further solutions; empty if there is no doubt.
    """

    q: Array
    residuals: Array
    branches: Array
    branch_labels: tuple[str, ...]
    family: str
    bound: int
    found: int
    doubt: str
    _limits: LimitImages
    _outside: tuple[Array, Array]
    _lost: Lost

    def __len__(self) -> int:
        """Return the number of solutions."""
        return len(self.q)

    @property
    def complete(self) -> bool:
        """Whether these are all solutions within the limits, without a doubt."""
        return not self.doubt

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the branch of each solution."""
        return tuple(self.branch_labels[k] for k in self.branches)

    @property
    def outside(self) -> tuple[DiscardedCandidate, ...]:
        """Solutions of which no image is within the limits."""
        return self._limits.named(*self._outside, self.branch_labels)

    @property
    def unreached(self) -> tuple[DiscardedCandidate, ...]:
        """Branches of a closed form that do not reach the pose."""
        q, branches, checks, lost = self._lost
        return tuple(
            DiscardedCandidate(
                q[k],
                self.branch_labels[branches[k]],
                f'out of reach: pose error {checks[k, 0]:.3g}',
            )
            for k in lost
        )

    @property
    def discarded(self) -> tuple[DiscardedCandidate, ...]:
        """Discarded candidates, each with the reason."""
        return self.outside + self.unreached

    @property
    def message(self) -> str:
        """The certificate: method, number and bound of solutions, and the doubt."""
        # of a continuum more may be given than there are isolated ones
        most = f' of at most {self.bound}' if self.found <= self.bound else ''
        text = f'{self.family}: {self.found}{most} solutions'
        if len(self._outside[0]):
            text += f', {len(self._outside[0])} outside the limits'
        return f'{text}; {self.doubt}' if self.doubt else text

    def nearest(self, q: ArrayLike) -> int:
        """Return the index of the solution nearest to a configuration (nq,).

        The distance is the largest difference of a joint position [rad or m]; of equal ones the sum
        over all joints decides.

        Raises
        ------
        ArgumentError
            If there is no solution, or the configuration is invalid: wrong shape, not finite.
        """
        if not len(self.q):
            raise ArgumentError(f'there is no solution to choose from: {self.message}')
        q = vector('q', self.q.shape[1], q)
        if not np.isfinite(q).all():
            raise ArgumentError(f'no solution is next to a q that is not finite: {q.tolist()}')
        return int(separation(self.q - q).argmin())


#: Squared distance from a rigid motion that is rounding.
RIGIDITY_TOLERANCE = 1e-28


LAST_ROW = [0.0, 0.0, 0.0, 1.0]


def check_last_row(C: Array) -> None:
    """Raise `ArgumentError` for a last row that is not (0, 0, 0, 1)."""
    if C[3].tolist() != LAST_ROW:
        raise ArgumentError(
            f'pose is not a rigid motion: its last row must be (0, 0, 0, 1), got {C[3].tolist()}; '
            'the position stands in the last column'
        )


def check_elements(C: Array) -> None:
    """Raise `ArgumentError` for elements that are not finite."""
    for part, elements in (('rotation', C[:3, :3]), ('position', C[:3, 3])):
        if not np.isfinite(elements).all():
            raise ArgumentError(
                f'pose is not a rigid motion: its {part} must be finite, got {elements.tolist()}'
            )


def rigid(C: Array) -> Array:
    """Return the rigid motion (4, 4) next to a pose of few digits; raises `ArgumentError`."""
    defect = float(rigid_defect(C))
    check_targets([defect], ['the tool'])
    if defect < RIGIDITY_TOLERANCE:
        return C
    U, _, V = np.linalg.svd(C[:3, :3])
    return se3.pose(U @ V, C[:3, 3])


class AllInverseKinematics:
    """All inverse kinematics of one link of a robot.

    Parameters
    ----------
    chain : SerialChain
        From the root to the link.
    nq : int
        Coordinates of the robot.
    backend : str
    """

    def __init__(self, chain: SerialChain, nq: int, backend: str) -> None:
        self.chain, self._nq, self._backend = chain, nq, backend
        self._arm = cache(self._make_arm)

    def _make_arm(self, names: tuple[str, ...]) -> _LockedArm:
        return _LockedArm(self.chain, names, self._nq, self._backend)

    def solve(
        self,
        C: Array,
        q0: Array,
        locked: Mapping[str, float],
        swivel: Array,
        images: bool,
        respect_limits: bool,
    ) -> AllSolutions:
        """Return all solutions for a pose (4, 4); see `Robot.all_inverse_kinematics`."""
        check_last_row(C)
        positions = locked_positions(locked) if locked else ()
        arm = self._arm(tuple(locked) if locked else ())
        solver = arm.solver
        if solver.redundant != bool(len(swivel)):
            raise ArgumentError(
                'an S-R-S arm needs its swivel angle: swivel=angle [rad], or a locked joint'
                if solver.redundant
                else 'a swivel angle belongs to S-R-S arms with seven joints free'
            )
        state = arm.state(positions)
        found = arm.direct(C, state, swivel)
        if found is None:
            check_elements(C)  # a solution would have validated it
            found = arm.solve(C, state, swivel)
            if not len(found.q):
                nearest = rigid(C)
                if nearest is not C:
                    found = arm.solve(nearest, state, swivel)
        elif not len(found.q):
            rigid(C)  # no solution: out of reach, or no pose, which is refused
        limits = arm.limits(images, respect_limits)
        q, source, outside = limits.apply(found)
        return AllSolutions(
            q if arm.whole else arm.configurations(q, q0),
            found.checks[source, 0],
            found.branches[source],
            found.labels,
            found.name,
            found.bound,
            len(found.q),
            found.doubt,
            limits,
            outside,
            found.lost,
        )


def swivel_angles(value: ArrayLike) -> Array:
    """Return a swivel angle or several as (k,); raises `ArgumentError`."""
    angles = np.atleast_1d(float_array('swivel', value))
    if angles.ndim != 1 or not np.isfinite(angles).all():
        raise ArgumentError(
            f'swivel must be a finite angle or a list of them [rad], got {angles.tolist()}'
        )
    return angles


def locked_positions(locked: Mapping[str, float]) -> tuple[float, ...]:
    """Return positions of locked joints; raises `ArgumentError` for values that are not finite."""
    if type(locked) is not dict and not isinstance(locked, Mapping):
        raise ArgumentError(f'locked must be {{joint: position}}, got {locked!r}')
    for name, value in locked.items():
        if not (type(value) is float or is_number(value)) or not math.isfinite(value):
            raise ArgumentError(
                f'locked: the position of joint {name!r} must be a finite number [rad or m], got '
                f'{value!r}'
            )
    return tuple(map(float, locked.values()))


class _LockedState(NamedTuple):
    """Where the locked joints of a chain are, and what that makes of base and tool.

    Attributes
    ----------
    ends, inner : (h,) arrays
        Positions of those at the ends of the chain, and of those between free ones, in its order.
    before, after : (4, 4) arrays
        See `between_ends`.
    """

    ends: Array
    inner: Array
    before: Array
    after: Array


class _LockedArm:
    """A chain with some of its joints locked.

    Joints at its ends that are locked do not change its geometry, only where the base or the tool
    is; those in between are a matter of the solver.
    """

    def __init__(self, chain: SerialChain, names: tuple[str, ...], nq: int, backend: str) -> None:
        for name in names:
            if name not in chain.joint_names:
                raise UnknownNameError(
                    f'joint {name!r} cannot be locked: it does not carry the link; '
                    f'those that do are {", ".join(chain.joint_names)}'
                )
        self._chain = chain
        #: Which joints are locked, in the order of the positions.
        self._locked = [chain.joint_names.index(name) for name in names]
        self._free = [k for k in range(len(chain)) if k not in self._locked]
        if not self._free:
            raise ArgumentError(
                f'all joints that carry the link are locked: {", ".join(names)}'
                if names
                else 'no joint carries the link'
            )
        self._kept = list(range(self._free[0], self._free[-1] + 1))
        self._ends = [k for k in range(len(chain)) if k not in self._kept]
        inner = [k for k in self._kept if k in self._locked]
        core = chain.with_held(dict.fromkeys(self._ends, 0.0))
        self._inner = inner
        self.solver = SerialSolver(core, [k - self._free[0] for k in inner], backend)
        self._direct = self._make_direct(backend)
        self._places = places_of(chain.places)
        #: Whether the solutions of the chain are configurations of the robot.
        self.whole = chain.places.tolist() == list(range(nq))
        self.limits = cache(self._limits)
        self.state = lru_cache(64)(self._state)

    def _make_direct(
        self, backend: str
    ) -> Callable[[Array, Array, Array], ChainSolutions | None] | None:
        """Return the closed form that takes the positions of locked ends, None without one."""
        closed = self.solver.closed_form if self._ends else None
        if closed is None:
            return None
        arm = HeldArm(self._chain, tuple(self._ends), closed.arm)
        further = (('held', len(self._ends)),)
        return ClosedForm(closed.name, arm, self._chain, self._free, backend, further).direct(0)

    def _state(self, positions: tuple[float, ...]) -> _LockedState:
        """Return what positions of the locked joints [rad or m] amount to."""
        at = dict(zip(self._locked, positions))
        ends, inner = ([at[k] for k in each] for each in (self._ends, self._inner))
        moved = between_ends(self._chain, dict(zip(self._ends, ends)))
        return _LockedState(np.array(ends), np.array(inner), *moved)

    def direct(self, C: Array, state: _LockedState, swivel: Array) -> ChainSolutions | None:
        """Return what `SerialSolver.direct` does, for the whole chain."""
        if self._direct is not None:
            return self._direct(C, state.ends, swivel)
        if not self._ends:
            return self.solver.direct(C, state.inner, swivel)
        found = self.solver.direct(state.before @ C @ state.after, state.inner, swivel)
        return None if found is None else self._with_ends(found, state)

    def solve(self, C: Array, state: _LockedState, swivel: Array) -> ChainSolutions:
        """Return what `SerialSolver.solve` does, for the whole chain."""
        if not self._ends:
            return self.solver.solve(C, state.inner, swivel)
        found = self.solver.solve(state.before @ C @ state.after, state.inner, swivel)
        return self._with_ends(found, state)

    def _with_ends(self, found: ChainSolutions, state: _LockedState) -> ChainSolutions:
        """Return solutions of the chain without its locked ends as those of the whole chain."""

        def whole(q: Array) -> Array:
            rows = np.empty((len(q), len(self._chain)))
            rows[:, self._kept[0] : self._kept[-1] + 1] = q
            rows[:, self._ends] = state.ends
            return rows

        missed, branches, checks, rows = found.lost
        lost = (whole(missed) if rows else missed), branches, checks, rows
        return replace(found, q=whole(found.q), lost=lost)

    def _limits(self, images: bool, respect_limits: bool) -> LimitImages:
        """Return the limits that count."""
        chain = self._chain
        if not respect_limits:
            infinite = np.full(len(chain), np.inf)
            chain = replace(chain, lower=-infinite, upper=infinite)
        return LimitImages(chain, self._free, images)

    def configurations(self, q: Array, q0: Array) -> Array:
        """Return configurations of the robot (k, nq) for positions of the chain (k, n)."""
        result = np.empty((len(q), len(q0)))
        result[:] = q0
        result[:, self._places] = q
        return result


def places_of(places: Array) -> Array | slice:
    """Return indices as a slice if they are consecutive, which is faster."""
    first = int(places[0])
    consecutive = places.tolist() == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if consecutive else places
