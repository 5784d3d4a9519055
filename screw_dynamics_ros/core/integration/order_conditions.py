# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Order conditions of Runge-Kutta methods, one for each rooted tree.

A method has order p if sum_i b_i phi_i(t) = 1 / gamma(t) for every rooted tree t with up to p
vertices (Butcher). A tree is the sorted tuple of the trees that are attached to its root, `()` a
single vertex, and

    phi_i(t) = prod_k sum_j a_ij phi_j(t_k),    gamma(t) = |t| prod_k gamma(t_k)

over its branches t_k, where |t| is the number of vertices. A single branch () gives c = A 1.

Munthe-Kaas' method has the order of its tableau on a Lie group, so that nothing else has to be
checked there.

Source: E. Hairer, S. P. Nørsett, G. Wanner, *Solving Ordinary Differential Equations I*, theorem
II.2.13; Müller and Terze (37) (I-25).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import TypeAlias

import numpy as np

from ..types import Array

#: The trees attached to the root, in order.
Tree: TypeAlias = 'tuple[Tree, ...]'

#: What a condition may miss by rounding, as it is for coefficients of either sign up to about 30.
TOLERANCE = 1e-13


@cache
def rooted_trees(vertices: int) -> tuple[Tree, ...]:
    """Return all rooted trees with so many vertices.

    >>> [len(rooted_trees(n)) for n in range(1, 9)]
    [1, 1, 2, 4, 9, 20, 48, 115]
    """
    return tuple(forests(vertices - 1, vertices - 1))


def forests(vertices: int, largest: int) -> Iterator[tuple[Tree, ...]]:
    """Yield all sorted tuples of trees with so many vertices in all, none with more than `largest`.

    >>> list(forests(2, 2))
    [(((),),), ((), ())]
    """
    if vertices == 0:
        yield ()
    for size in range(min(vertices, largest), 0, -1):
        for first in rooted_trees(size):
            for rest in forests(vertices - size, size):
                if not rest or (len_of(rest[0]), rest[0]) <= (size, first):
                    yield (first, *rest)


def len_of(tree: Tree) -> int:
    """Return the number of vertices.

    >>> len_of(((), ((),)))
    4
    """
    return 1 + sum(len_of(branch) for branch in tree)


def density(tree: Tree) -> int:
    """Return gamma(t), the number of vertices times that of each branch, recursively.

    >>> density(((), ((),)))
    8
    """
    return len_of(tree) * prod(density(branch) for branch in tree)


def weights(A: Array, tree: Tree) -> Array:
    """Return phi(t) (s,), one for each stage of the method with the matrix A (s, s)."""
    phi = np.ones(len(A))
    for branch in tree:
        phi = phi * (A @ weights(A, branch))
    return phi


def expression(tree: Tree) -> str:
    """Return phi(t) as a formula, products by elements; c = A 1.

    >>> expression(((), ((),)))
    '(c * (A c))'
    """
    factors = ['c' if branch == () else f'(A {expression(branch)})' for branch in tree]
    return f'({" * ".join(factors)})' if len(factors) > 1 else ''.join(factors) or '1'


def violated(A: Array, b: Array, order: int) -> str | None:
    """Return the first order condition that fails, in words, or None if all hold.

    Parameters
    ----------
    A : (s, s), b : (s,)
        The method; A may be implicit, too.
    order : int
        At least 1. There are 1, 2, 4, 8, 17, 37, 85, 200 conditions of orders 1 to 8.

    Examples
    --------
    >>> violated(np.array([[0, 0], [1, 0]]), np.array([0.5, 0.5]), 3)
    'b . (A c) is 0, not 1/6'
    """
    for vertices in range(1, order + 1):
        for tree in rooted_trees(vertices):
            value = b @ weights(A, tree)
            if not abs(value - 1 / density(tree)) < TOLERANCE:
                target = '1' if vertices == 1 else f'1/{density(tree)}'
                return f'b . {expression(tree)} is {value:.6g}, not {target}'
    return None
