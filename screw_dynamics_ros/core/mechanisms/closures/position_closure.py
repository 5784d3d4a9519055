# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Position closure: the joints that are not given, from those that are, by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compile.kernels import KernelSpecification, make_kernel
from ...compile.table_call import kernel_code
from ...compile.typed.external import Signature
from ...compile.typed.functions import Floats, Ints, typed
from ...compile.typed.library import PythonCode, code_of
from ...compile.typed.memory import copy_bytes
from ...compile.typed.records import Opaque, Record
from ...tree.multibody_tree import Tree
from ...types import Array
from .dependent_motion import Partition, motion, newton_step

#: Farthest that given joints move between two closures on the way from the seed [rad, m].
MAX_STRIDE = 0.1
#: Gap at which the next stride begins; the last one ends at the tolerance.
ON_THE_WAY = 1e-6
#: Newton steps in a stride of redundant joints, which close the loops only at the end of the way.
STEPS_ON_THE_WAY = 3
#: Gap at which steps of redundant joints end: they continue within the tolerance, to least squares.
MIN_GAP = 1e-12
#: Share of a gap within the tolerance that the next step must leave less of, to be worth while.
STAGNATION_RATIO = 1.0 - 1e-9
MAX_ITERATIONS = 50  # Newton steps in each stride

newton_kernel = Signature(('address',) * 3, 'void')
motion_kernel = Signature(('address',) * 6, 'void')
closing = Signature(('address', 'address', 'address', 'double', 'i64'), 'i64')


@dataclass(frozen=True, eq=False)
class Closing:
    """What position closure led to.

    Attributes
    ----------
    q : (n,) array
        All joints, the given ones as they were given; not closed without `success`.
    success : bool
    gap : float
        Norm of the closure errors, rotations [rad] and displacements [m] together.
    iterations : int
        Newton steps, from the seed on.
    message : str
        Why it stopped.
    """

    q: Array
    success: bool
    gap: float
    iterations: int
    message: str


class PositionClosure(Record):
    """Closes the loops of a tree for given positions of some joints.

    From a configuration that is closed, the given joints are led to where they shall be in strides
    of `MAX_STRIDE`, and the others follow: so the assembly stays the one of the seed, as long as
    the path does not lead through a singular configuration.

    Parameters
    ----------
    tree : Tree
        Of n joints with one coordinate.
    partition : Partition
        Which k joints are given.
    turning : (k,) array of bool
        Given joints that are equal modulo 2 pi: they take the shorter way.
    backend : str
    redundant : bool
        Whether more joints are given than the mechanism has freedoms. On a straight way between two
        configurations they contradict each other: the gap is only kept small there.

    Attributes
    ----------
    given, turning : (k,) arrays of int
        Indices of the given joints; 1 for those that are equal modulo 2 pi, otherwise 0.
    redundant : bool
    newton, moving : Opaque
        The kernels of `newton_step` and `dependent_motion.motion`.
    q, following : (n,) arrays
        All joints, before and after a step.
    size : (1,) array
        Gap before the step.
    way : (k,) array
        From the seed to where the given joints shall be.
    gap : float
        Gap of `q`.
    iterations, strides : int
    v, G, rates, d, independence : (k,), (n k,), (n,), (n,) and (n - k + 1,) arrays
        Rates of the given joints, and the motion at `q`.
    """

    given: Ints
    turning: Ints
    redundant: bool
    newton: Opaque
    moving: Opaque
    q: Floats
    following: Floats
    size: Floats
    way: Floats
    gap: float
    iterations: int
    strides: int
    v: Floats
    G: Floats
    rates: Floats
    d: Floats
    independence: Floats

    def __init__(
        self,
        tree: Tree,
        partition: Partition,
        turning: Array,
        backend: str,
        redundant: bool = False,
    ) -> None:
        self.given = np.array(partition.given, dtype=np.int64)
        self.turning = turning.astype(np.int64)
        self.redundant = redundant
        recordable = all(closure.pair.is_recordable for closure in partition.closures)
        backend = backend if recordable else 'reference'
        n, k = tree.nq, len(partition.given)
        self.newton = recorded('closure', tree, partition, newton_step, {'q': n}, backend)
        self.moving = recorded('closed motion', tree, partition, motion, {'q': n, 'v': k}, backend)
        self._code, self._shape = self.code_of(close_loops), (n, k)
        self._use_new_memory()

    def _use_new_memory(self) -> None:
        n, k = self._shape
        self.q, self.following, self.rates, self.d = np.zeros((4, n))
        self.way, self.v = np.zeros((2, k))
        self.size, self.G, self.independence = np.zeros(1), np.zeros(n * k), np.zeros(n - k + 1)

    def _copy(self) -> PositionClosure:
        """Return the same with other memory, for another thread."""
        other = copy(self)
        other._use_new_memory()
        return other

    def code_of(self, function: Callable[..., Any]) -> Opaque:
        """Return a typed function that calls the kernels: in Python if they are not native."""
        return code_of(function) if self.newton.address else PythonCode(function)

    def close(
        self,
        given: Array,
        seed: Array,
        tolerance: float = 1e-12,
        max_iterations: int = MAX_ITERATIONS,
    ) -> Closing:
        """Return the closed configuration; see `Closing` for whether it is one.

        Parameters
        ----------
        given : (k,) array
            Positions of the given joints [rad, m].
        seed : (n,) array
            All joints, closed or nearly so; selects the assembly.
        tolerance : float
            Of the gap [rad, m]. Redundant joints make it as small as they allow: least squares.
        max_iterations : int
            Newton steps in each stride.
        """
        c = self._copy()
        success = bool(closing(self._code, c, given, seed, tolerance, max_iterations))
        message = 'closed' if success else c.failure(max_iterations)
        return Closing(c.q, success, c.gap, c.iterations, message)

    def failure(self, most: int) -> str:
        """Return why the loops were not closed within `most` Newton steps in each stride."""
        strides = f'{self.strides} strides'
        on_the_way = f', on the way from the seed in {strides}' if self.strides > 1 else ''
        return (
            f'the loops do not close: they still gape by {self.gap:.3g} after {most} Newton steps'
            f'{on_the_way}; the given joints are out of reach of the others, or the way to them '
            'leads through a singular configuration'
        )

    def motion(self, q: Array, v: Array) -> tuple[Array, Array, Array, float]:
        """Return G (n, k), q' (n,), d (n,) and the least independence at a closed configuration.

        See `dependent_motion`; v (k,) are the rates of the given joints.
        """
        c = self._copy()
        c.q, c.v = q, v
        set_motion(c)
        return c.G.reshape(self._shape), c.rates, c.d, float(c.independence.min())


@typed
def set_motion(c: PositionClosure) -> None:
    """Set the motion of all joints for `q` and `v`."""
    motion_kernel(c.moving, c.q, c.v, c.G, c.rates, c.d, c.independence)


@typed
def close_loops(
    c: PositionClosure, given: Floats, seed: Floats, tolerance: float, most: int
) -> bool:
    """Set `q` by steps from a seed; return whether it is closed. See `PositionClosure.close`."""
    copy_bytes(c.q, seed, 8 * len(c.q))
    longest = 0.0
    for k in range(len(c.given)):
        c.way[k] = given[k] - seed[c.given[k]]
        if c.turning[k] != 0:
            turns = math.floor((c.way[k] + math.pi) / (2.0 * math.pi))
            c.way[k] -= 2.0 * math.pi * float(turns)
        longest = max(longest, abs(c.way[k]))
    c.strides = max(1, -math.floor(-longest / MAX_STRIDE))
    c.iterations = 0
    for stride in range(1, c.strides + 1):
        is_last = stride == c.strides
        share = float(stride) / float(c.strides)
        for k in range(len(c.given)):
            place = c.given[k]
            c.q[place] = given[k] if is_last else seed[place] + c.way[k] * share
        wanted = tolerance if is_last else max(tolerance, ON_THE_WAY)
        is_guided = c.redundant and not is_last
        end = min(wanted, MIN_GAP) if c.redundant and is_last else wanted
        approach(c, end, wanted, min(STEPS_ON_THE_WAY, most) if is_guided else most)
        if not c.gap <= (math.inf if is_guided else wanted):
            return False
    return True


@typed
def approach(c: PositionClosure, end: float, tolerance: float, most: int) -> None:
    """Take Newton steps to a gap of `end`, and within the tolerance only while it becomes less."""
    before = math.inf
    for step in range(most + 1):
        newton_kernel(c.newton, c.q, c.following, c.size)
        c.gap = c.size[0]
        total = 0.0
        for k in range(len(c.following)):
            total += c.following[k]
        if c.gap <= end or step == most or not math.isfinite(total):
            return
        if STAGNATION_RATIO * before < c.gap <= tolerance:
            return
        before = c.gap
        copy_bytes(c.q, c.following, 8 * len(c.q))
        c.iterations += 1


def recorded(
    name: str,
    tree: Tree,
    partition: Partition,
    recursion: Callable[..., tuple[Array, ...]],
    inputs: dict[str, int],
    backend: str,
) -> Opaque:
    """Return a recursion of loops, compiled."""
    specification = KernelSpecification(
        name,
        tuple(inputs.items()),
        recursion,
        repr((name, tree.digest, partition.identity)),
        model=(tree, partition),
    )
    return kernel_code(make_kernel(specification, backend))
