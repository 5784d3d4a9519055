# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coefficients of explicit Runge-Kutta methods, and the conditions of their orders.

Stage j of s is at the time c_j h with the increment h sum_l a_jl k_l of earlier rates k_l; the step
is h sum_j b_j k_j. Munthe-Kaas' method has the order of its tableau on a Lie group, too. Embedded
pairs have second weights, by which the length of steps is controlled.

There is one order condition for each rooted tree: a method has order p if sum_i b_i phi_i(t) = 1 /
gamma(t) for every rooted tree t with up to p vertices (Butcher). A tree is the sorted tuple of the
trees that are attached to its root, `()` a single vertex, and

    phi_i(t) = prod_k sum_j a_ij phi_j(t_k),    gamma(t) = |t| prod_k gamma(t_k)

over its branches t_k, where |t| is the number of vertices. A single branch () gives c = A 1.

Source: E. Hairer, S. P. Nørsett, G. Wanner, *Solving Ordinary Differential Equations I*, theorem
II.2.13; Müller and Terze (37) (I-25).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from math import prod
from typing import TypeAlias

import numpy as np

from ..arguments import float_array
from ..errors import ArgumentError
from ..types import Array

#: The trees attached to the root, in order.
Tree: TypeAlias = 'tuple[Tree, ...]'

#: What a condition may miss by rounding, as it is for coefficients of either sign up to about 30.
TOLERANCE = 1e-13


@cache
def rooted_trees(vertices: int) -> tuple[Tree, ...]:
    """Return all rooted trees with this number of vertices.

    >>> [len(rooted_trees(n)) for n in range(1, 9)]
    [1, 1, 2, 4, 9, 20, 48, 115]
    """
    return tuple(forests(vertices - 1, vertices - 1))


def forests(vertices: int, largest: int) -> Iterator[tuple[Tree, ...]]:
    """Yield all sorted tuples of trees with `vertices` in all, none with more than `largest`.

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


class Tableau:
    """Butcher's tableau of an explicit method, optionally with weights that estimate its error.

    Parameters
    ----------
    name : str
    order : int
        The error of a step of length h is of order h^(order + 1).
    A : (s, s) array
        Strictly lower triangular.
    b : (s,) array
        Weights.
    b_hat : (s,) array, optional
        Weights of a second method with the same stages, the embedded one: the difference of the two
        steps estimates the error and controls the length of steps (`adaptive`).
    order_hat : int, optional
        Order of the embedded method.

    Raises
    ------
    ArgumentError
        If shapes do not fit, the method is implicit, or one of the conditions of the stated orders
        fails (`violated`); the message has the condition.

    Examples
    --------
    >>> Tableau('Ralston', 2, [[0, 0], [2 / 3, 0]], [1 / 4, 3 / 4])
    Tableau('Ralston', order=2, 2 stages)
    >>> Tableau('Ralston', 3, [[0, 0], [2 / 3, 0]], [1 / 4, 3 / 4])
    Traceback (most recent call last):
    screw_dynamics_ros.core.errors.ArgumentError: Ralston: not of order 3: b . (A c) is 0, not 1/6
    """

    def __init__(
        self,
        name: str,
        order: int,
        A: Sequence[Sequence[float]] | Array,
        b: Sequence[float] | Array,
        b_hat: Sequence[float] | Array | None = None,
        order_hat: int | None = None,
    ) -> None:
        self.name, self.order, self.order_hat = name, order, order_hat
        self.A, self.b = float_array('A', A), float_array('b', b)
        self.b_hat = None if b_hat is None else float_array('b_hat', b_hat)
        stages = self.b.size
        if not stages or self.b.shape != (stages,) or self.A.shape != (stages, stages):
            raise ArgumentError(
                f'{name}: A must be (s, s) and b (s,), got {self.A.shape} and {self.b.shape}'
            )
        if np.triu(self.A).any():
            raise ArgumentError(
                f'{name}: A has entries on or above its diagonal, {self.A.tolist()}: the method is '
                'implicit; only explicit ones can be used'
            )
        self._check_order('b', self.b, order)
        if (self.b_hat is None) != (order_hat is None):
            raise ArgumentError(f'{name}: b_hat and order_hat are required together')
        if self.b_hat is not None and order_hat is not None:
            if self.b_hat.shape != self.b.shape or np.array_equal(self.b_hat, self.b):
                raise ArgumentError(
                    f'{name}: b_hat must be ({stages},) like b, and differ from it, got {b_hat!r}'
                )
            self._check_order('b_hat', self.b_hat, order_hat)

    def _check_order(self, weights: str, b: Array, order: int) -> None:
        """Raise `ArgumentError` unless the weights b have the order."""
        if not isinstance(order, (int, np.integer)) or order < 1:
            raise ArgumentError(
                f'{self.name}: the order of {weights} must be an integer >= 1, got {order!r}'
            )
        condition = violated(self.A, b, order)
        if condition:
            condition = condition.replace('b', weights, 1)
            raise ArgumentError(f'{self.name}: not of order {order}: {condition}')

    def __repr__(self) -> str:
        pair = '' if self.order_hat is None else f'({self.order_hat})'
        return f'Tableau({self.name!r}, order={self.order}{pair}, {self.b.size} stages)'

    @cached_property
    def c(self) -> tuple[float, ...]:
        """Times of the stages, as parts of the step: the row sums of A."""
        return tuple(self.A.sum(axis=1).tolist())

    @cached_property
    def rows(self) -> Array:
        """What leads from stage to stage: A without its empty first row, and b below, (s, s)."""
        return np.vstack([self.A[1:], self.b])


EULER = Tableau('Euler', 1, [[0]], [1])
MIDPOINT = Tableau('midpoint', 2, [[0, 0], [1 / 2, 0]], [0, 1])
HEUN_2 = Tableau('Heun, order 2', 2, [[0, 0], [1, 0]], [1 / 2, 1 / 2])
KUTTA_3 = Tableau(
    'Kutta, order 3', 3, [[0, 0, 0], [1 / 2, 0, 0], [-1, 2, 0]], [1 / 6, 2 / 3, 1 / 6]
)
HEUN_3 = Tableau('Heun, order 3', 3, [[0, 0, 0], [1 / 3, 0, 0], [0, 2 / 3, 0]], [1 / 4, 0, 3 / 4])
RK4 = Tableau(
    'classical Runge-Kutta',
    4,
    [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]],
    [1 / 6, 1 / 3, 1 / 3, 1 / 6],
)
THREE_EIGHTHS = Tableau(
    '3/8 rule',
    4,
    [[0, 0, 0, 0], [1 / 3, 0, 0, 0], [-1 / 3, 1, 0, 0], [1, -1, 1, 0]],
    [1 / 8, 3 / 8, 3 / 8, 1 / 8],
)
HEUN_EULER = Tableau('Heun-Euler', 2, HEUN_2.A, HEUN_2.b, [1, 0], 1)
BOGACKI_SHAMPINE = Tableau(
    'Bogacki-Shampine',
    3,
    [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 3 / 4, 0, 0], [2 / 9, 1 / 3, 4 / 9, 0]],
    [2 / 9, 1 / 3, 4 / 9, 0],
    [7 / 24, 1 / 4, 1 / 3, 1 / 8],
    2,
)
DORMAND_PRINCE = Tableau(
    'Dormand-Prince',
    5,
    [
        [0, 0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    ],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    [5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40],
    4,
)

#: Pairs, for steps of controlled length.
EMBEDDED = (HEUN_EULER, BOGACKI_SHAMPINE, DORMAND_PRINCE)
TABLEAUS = (EULER, MIDPOINT, HEUN_2, KUTTA_3, HEUN_3, RK4, THREE_EIGHTHS, *EMBEDDED)
