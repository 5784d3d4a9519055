"""Coefficients of explicit Runge-Kutta methods.

Stage j of s is at the time c_j h with the increment h sum_l a_jl k_l of earlier rates k_l; the step
is h sum_j b_j k_j (Müller and Terze (37), I-25). Munthe-Kaas' method has the order of its tableau.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array


class Tableau:
    """Butcher's tableau of an explicit method.

    Parameters
    ----------
    name : str
    order : int
        The error of a step of length h is of order h^(order + 1).
    A : (s, s) array
        Strictly lower triangular.
    b : (s,) array
        Weights; their sum is 1.

    Raises
    ------
    ArgumentError
        If shapes do not fit, the method is implicit or the weights do not add up to 1.
    """

    def __init__(
        self, name: str, order: int, A: Sequence[Sequence[float]], b: Sequence[float]
    ) -> None:
        self.name, self.order = name, order
        self.A, self.b = float_array('A', A), float_array('b', b)
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
        if not abs(self.b.sum() - 1.0) < 1e-12:
            raise ArgumentError(f'{name}: the weights b must add up to 1, not to {self.b.sum()}')

    def __repr__(self) -> str:
        return f'Tableau({self.name!r}, order={self.order}, {self.b.size} stages)'

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

TABLEAUS = (EULER, MIDPOINT, HEUN_2, KUTTA_3, HEUN_3, RK4, THREE_EIGHTHS)
