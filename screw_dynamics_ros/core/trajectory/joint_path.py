"""Joint motion between the points of a trajectory, as a joint trajectory controller has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array


class JointPath:
    """Positions of some joints over time: linear, cubic or quintic between given points.

    Linear between positions alone, cubic with velocities, quintic with accelerations too. Before
    its first point and after its last one the joints stand still.

    Parameters
    ----------
    time : (N,) array
        Increasing [s].
    q : (N, n) array
        Positions [rad, m].
    v, a : (N, n) arrays, optional
        Velocities and accelerations; no `a` without `v`.

    Raises
    ------
    ArgumentError
        For other shapes, numbers that are not finite, or times that do not increase.

    Examples
    --------
    From rest to rest in 2 s: half way in half the time, with 3/2 of the mean velocity.

    >>> path = JointPath([0.0, 2.0], [[0.0], [1.0]], [[0.0], [0.0]])
    >>> path.at(1.0)
    (array([0.5]), array([0.75]))
    """

    def __init__(
        self,
        time: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
    ) -> None:
        t = float_array('time', time)
        if v is None and a is not None:
            raise ArgumentError('accelerations without velocities do not make a path')
        rows = [
            float_array(name, values)
            for name, values in (('q', q), ('v', v), ('a', a))
            if values is not None
        ]
        for name, values in zip('qva', rows):
            if values.ndim != 2 or values.shape != rows[0].shape or len(values) != len(t):
                raise ArgumentError(
                    f'{name} has shape {values.shape} for {len(t)} points of time; give (N, n)'
                )
        if not len(t) or not all(np.isfinite(values).all() for values in (t, *rows)):
            raise ArgumentError('a path needs at least one point, and finite numbers')
        if not (np.diff(t) > 0.0).all():
            raise ArgumentError('the times of a path must increase')
        self.start, self.end = float(t[0]), float(t[-1])
        self._time, self._rows = t, rows
        self._ends = rows[0][0], rows[0][-1]
        self._pieces = None
        if len(t) > 1:
            from scipy.interpolate import BPoly  # slow to import, few need it

            positions = BPoly.from_derivatives(t, np.stack(rows, axis=1))
            self._pieces = positions, positions.derivative()

    def of(self, joints: Sequence[int]) -> JointPath:
        """Return the path of some of the joints, by their places among the n."""
        return JointPath(self._time, *(values[:, joints] for values in self._rows))

    def at(self, t: float) -> tuple[Array, Array]:
        """Return positions and velocities at a time [s], (n,) each [rad, rad/s; m, m/s]."""
        if self._pieces is None or t <= self.start or t >= self.end:
            end = self._ends[t >= self.end]
            return end.copy(), np.zeros_like(end)
        positions, velocities = self._pieces
        return positions(t), velocities(t)
