# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The configurations of a robot as a Lie group, as integrators see it."""

from __future__ import annotations

import numpy as np

from ..compile.program.recorded_arrays import recorded
from ..errors import ArgumentError
from ..kinematics.jacobians import check_representation
from ..linear import is_recorded
from ..types import Array
from .integrator import DynamicSystem


class ConfigurationSpace:
    """Local coordinates X (nv,) around configurations q (nq,): see `kinematics.reconstruction`.

    Everything takes stacks with a leading axis, too.

    Parameters
    ----------
    robot : DynamicSystem
        A `Robot`.
    increments : {'body', 'spatial', 'mixed', 'hybrid'}
        Group and side for free bodies; without such, all four are the same vector space.
    """

    def __init__(self, robot: DynamicSystem, increments: str = 'body') -> None:
        check_representation(increments)
        self._robot, self.increments = robot, increments
        self._rotations = [slice(v.start, v.start + 3) for v in robot.free_bodies.values()]
        self._turning = list(robot.free_bodies)
        velocities = [range(v.start, v.stop) for v in robot.free_bodies.values()]
        sizes = sorted(set(map(len, velocities)))
        self._twists = [np.array([v for v in velocities if len(v) == n]) for n in sizes]

    @property
    def is_vector_space(self) -> bool:
        """Whether configurations simply add: no body is free."""
        return not self._rotations

    def moved(self, q: Array, X: Array) -> Array:
        """Return q exp X (or exp X q), (nq,)."""
        return self._robot.integrate(q, X, self.increments) if self._rotations else q + X

    def increment_rate(self, q: Array, X: Array, v: Array) -> Array:
        """Return the rate X' (nv,) of the displacement X that has led to q, at the velocity v."""
        return self._robot.increment_rate(q, X, v, self.increments) if self._rotations else v

    def pulled_back(self, q: Array, X: Array, p: Array) -> Array:
        """Return the momenta D^T p (nv,), where D = dexp^-1_{-X} maps v to the rate of X.

        With the other sign of X it is D = dexp^-1_X. D is block-diagonal, and its blocks are taken
        from `increment_rate` at velocities along one axis of all free bodies.
        """
        result = np.array(p)
        for twists in self._twists:
            along = np.zeros((twists.shape[1], p.size))
            for axis, v in enumerate(along):
                v[twists[:, axis]] = 1.0
            columns = np.stack([self.increment_rate(q, X, v)[twists] for v in along])
            result[twists] = np.einsum('abj,bj->ba', columns, p[twists])
        return result

    def largest_turn(self, X: Array) -> tuple[float, str]:
        """Return the largest angle [rad] by which some X (..., nv) turns a free body, and which."""
        largest, turning = 0.0, ''
        for name, rotation in zip(self._turning, self._rotations):
            angle = float(np.sqrt((X[..., rotation] ** 2).sum(axis=-1).max(initial=0.0)))
            if angle > largest:
                largest, turning = angle, name
        return largest, turning

    def check(self, X: Array) -> None:
        """Raise `ArgumentError` if some X (..., nv) turns a free body by 2 pi; NaN passes.

        The local coordinates end there (Müller and Terze (10), I-10).
        """
        angle, name = self.largest_turn(X)
        if angle >= 2 * np.pi:
            raise ArgumentError(
                f'{name!r} turns by {angle:.3g} rad in one step; local coordinates end at 2 pi '
                'and accuracy far earlier: take shorter steps'
            )

    def checked(self, X: Array) -> Array:
        """Return X (..., nv) after `check`; recorded ones are NaN where that raises an error."""
        if not is_recorded(X):
            self.check(X)
            return X
        X = recorded(X)
        squares = [(X[..., rotation] ** 2).sum(axis=-1).ravel() for rotation in self._rotations]
        turning = np.concatenate([np.zeros(1), *squares])
        return np.where(np.logical_and.reduce(turning < (2 * np.pi) ** 2), X, np.nan)
