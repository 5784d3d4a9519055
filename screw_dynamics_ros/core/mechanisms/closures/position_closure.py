# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Position closure: the joints that are not given, from those that are, by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.table_call import kernel_code
from screw_dynamics_ros.core.compile.typed.external import Signature
from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.library import PythonCode, code_of
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Opaque, Record
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

from .dependent_motion import Partition, motion, newton_step

#: Farthest that given joints move between two closures on the way from the seed [rad, m].
MAX_STRIDE = 0.1
#: Gap at which the next stride begins; the last one ends at the tolerance.
ON_THE_WAY = 1e-6
#: Newton steps in a stride of redundant joints, which close the loops only at the end of the way.
STEPS_ON_THE_WAY = 3
#: Gap at which steps of redundant joints end: they go on within the tolerance, to least squares.
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
        Norm of what is left open, rotations [rad] and displacements [m] together.
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


class ClosureSteps(Record):
    """The memory of Newton steps that close loops.

    Attributes
    ----------
    given, turning : (k,) arrays of int
        Indices of the given joints; 1 for those that take the shorter way, otherwise 0.
    redundant : bool
    newton : Opaque
        The kernel of `newton_step`.
    q, following : (n,) arrays
        All joints, before and after a step.
    size : (1,) array
        Gap before a step.
    way : (k,) array
        From the seed to where the given joints shall be.
    gap : float
        Gap of `q`.
    iterations, strides : int
    """

    given: Ints
    turning: Ints
    redundant: bool
    newton: Opaque
    q: Floats
    following: Floats
    size: Floats
    way: Floats
    gap: float
    iterations: int
    strides: int


class ClosureMotion(Record):
    """The motion of all joints of closed loops, see `dependent_motion.motion`.

    Attributes
    ----------
    kernel : Opaque
        Of `dependent_motion.motion`.
    q, v : (n,) and (k,) arrays
        All joints, and rates of the given ones.
    G, rates, d, independence : (n k,), (n,), (n,) and (n - k + 1,) arrays
    """

    kernel: Opaque
    q: Floats
    v: Floats
    G: Floats
    rates: Floats
    d: Floats
    independence: Floats


@typed
def set_motion(m: ClosureMotion) -> None:
    """Set the motion for `q` and `v`."""
    motion_kernel(m.kernel, m.q, m.v, m.G, m.rates, m.d, m.independence)


@typed
def close_loops(c: ClosureSteps, given: Floats, seed: Floats, tolerance: float, most: int) -> bool:
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
def approach(c: ClosureSteps, end: float, tolerance: float, most: int) -> None:
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


class PositionClosure:
    """Closes the loops of a tree for given positions of some joints.

    From a configuration that is closed, the given joints are led to where they shall be in strides
    of `MAX_STRIDE`, and the others follow: so the assembly stays the one of the seed, as long as
    the path does not lead through a singular configuration.

    Parameters
    ----------
    tree : Tree
        Of joints with one coordinate.
    partition : Partition
        Which joints are given.
    turning : (n,) array of bool
        Given joints that are equal modulo 2 pi: they take the shorter way.
    backend : str
    redundant : bool
        Whether more joints are given than the mechanism has freedoms. On a straight way between two
        configurations they contradict each other: the gap is only kept small there.
    """

    def __init__(
        self,
        tree: Tree,
        partition: Partition,
        turning: Array,
        backend: str,
        redundant: bool = False,
    ) -> None:
        self._turning, self._redundant = turning.astype(np.int64), redundant
        self._given = np.array(partition.given, dtype=np.int64)
        recordable = all(closure.pair.is_recordable for closure in partition.closures)
        backend = backend if recordable else 'reference'
        n, k = tree.nq, len(partition.given)
        self._newton = recorded('closure', tree, partition, newton_step, {'q': n}, backend)
        self._motion = recorded('closed motion', tree, partition, motion, {'q': n, 'v': k}, backend)
        self._code, self._size = self.code_of(close_loops), n

    def code_of(self, function: Callable[..., Any]) -> Opaque:
        """Return a typed function that calls the kernels: in Python if they are not native."""
        return code_of(function) if self._newton.address else PythonCode(function)

    def steps(self) -> ClosureSteps:
        """Return new memory for `close_loops`."""
        n, k, c = self._size, len(self._given), ClosureSteps()
        c.given, c.turning, c.redundant = self._given, self._turning, self._redundant
        c.newton, c.q, c.following = self._newton, np.zeros(n), np.zeros(n)
        c.size, c.way = np.zeros(1), np.zeros(k)
        return c

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
            All joints, closed or nearly so; tells the assembly.
        tolerance : float
            Of the gap [rad, m]. Redundant joints make it as small as they allow: least squares.
        max_iterations : int
            Newton steps in each stride.
        """
        c = self.steps()
        success = bool(closing(self._code, c, given, seed, tolerance, max_iterations))
        message = 'closed' if success else failure(c, max_iterations)
        return Closing(c.q, success, c.gap, c.iterations, message)

    def motion(self, q: Array, v: Array) -> tuple[Array, Array, Array, float]:
        """Return G (n, k), q' (n,), d (n,) and the least independence at a closed configuration.

        See `dependent_motion`; v (k,) are the rates of the given joints.
        """
        m = self.motion_of(q, v)
        set_motion(m)
        return m.G.reshape(len(q), -1), m.rates, m.d, float(m.independence.min())

    def motion_of(self, q: Array, v: Array) -> ClosureMotion:
        """Return new memory for `set_motion`, which reads q (n,) and v (k,)."""
        n, k, m = self._size, len(self._given), ClosureMotion()
        m.kernel, m.q, m.v = self._motion, q, v
        m.G, m.rates, m.d, m.independence = map(np.zeros, (n * k, n, n, n - k + 1))
        return m


def failure(c: ClosureSteps, most: int) -> str:
    """Return why loops do not close within `most` Newton steps in each stride."""
    on_the_way = f', on the way from the seed in {c.strides} strides' if c.strides > 1 else ''
    return (
        f'the loops do not close: they still gape by {c.gap:.3g} after {most} Newton steps'
        f'{on_the_way}; the given joints are out of reach of the others, or the way to them '
        'leads through a singular configuration'
    )


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
