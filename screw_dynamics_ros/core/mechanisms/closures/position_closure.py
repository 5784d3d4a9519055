# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Position closure: the joints that are not given, from those that are, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, compiled_into, make_kernel
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
        self._given, self._turning = list(partition.given), turning
        self._redundant = redundant
        recordable = all(closure.pair.is_recordable for closure in partition.closures)
        backend = backend if recordable else 'reference'
        n, k = tree.nq, len(partition.given)
        self._step = runner('closure', tree, partition, newton_step, {'q': n}, backend)
        self._motion = runner('closed motion', tree, partition, motion, {'q': n, 'v': k}, backend)
        self._shapes = (n, k), (n,), (n,), (len(partition.others) + 1,)

    def close(
        self, given: Array, seed: Array, tolerance: float = 1e-12, max_iterations: int = 50
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
        q = seed.copy()
        start = seed[self._given]
        way = given - start
        way[self._turning] = (way[self._turning] + np.pi) % (2 * np.pi) - np.pi
        strides = max(1, int(np.ceil(np.abs(way).max(initial=0.0) / MAX_STRIDE)))
        taken = 0
        for stride in range(1, strides + 1):
            is_last = stride == strides
            q[self._given] = given if is_last else start + way * (stride / strides)
            wanted = tolerance if is_last else max(tolerance, ON_THE_WAY)
            guided = self._redundant and not is_last
            most = min(STEPS_ON_THE_WAY, max_iterations) if guided else max_iterations
            end = min(wanted, MIN_GAP) if self._redundant and is_last else wanted
            q, gap, steps = self._newton(q, end, wanted, most)
            taken += steps
            if not gap <= (np.inf if guided else wanted):
                return Closing(q, False, gap, taken, self._failure(gap, max_iterations, strides))
        return Closing(q, True, gap, taken, 'closed')

    def _newton(
        self, q: Array, end: float, tolerance: float, most: int
    ) -> tuple[Array, float, int]:
        """Return the configuration after Newton steps, its gap, and how many steps there were.

        They are taken to a gap of `end`, and within the tolerance only while the gap becomes less.
        """
        size, before = np.empty(1), np.inf
        for step in range(most + 1):
            following = np.empty_like(q)
            self._step(q, following, size)
            gap = size.item()
            if gap <= end or step == most or not np.isfinite(following).all():
                break
            if STAGNATION_RATIO * before < gap <= tolerance:
                break
            q, before = following, gap
        return q, gap, step

    @staticmethod
    def _failure(gap: float, most: int, strides: int) -> str:
        on_the_way = f', on the way from the seed in {strides} strides' if strides > 1 else ''
        return (
            f'the loops do not close: they still gape by {gap:.3g} after {most} Newton steps'
            f'{on_the_way}; the given joints are out of reach of the others, or the way to them '
            'leads through a singular configuration'
        )

    def motion(self, q: Array, v: Array) -> tuple[Array, Array, Array, float]:
        """Return G (n, k), q' (n,), d (n,) and the least independence at a closed configuration.

        See `dependent_motion`; v (k,) are the rates of the given joints.
        """
        G, rates, d, independence = (np.empty(shape) for shape in self._shapes)
        self._motion(q, v, G, rates, d, independence)
        return G, rates, d, float(independence.min())


def runner(
    name: str,
    tree: Tree,
    partition: Partition,
    recursion: Callable[..., tuple[Array, ...]],
    inputs: dict[str, int],
    backend: str,
) -> Callable[..., None]:
    """Return a recursion of loops, compiled: a function of inputs and of arrays for the outputs."""
    specification = KernelSpecification(
        name,
        tuple(inputs.items()),
        recursion,
        repr((name, tree.digest, partition.identity)),
        model=(tree, partition),
    )
    return compiled_into(make_kernel(specification, backend))
