# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measurements of a robot at rest: poses, points or distances of a target on the robot.

A camera or a motion capture system measures poses, a laser tracker the position of a reflector, a
ballbar or a draw-wire sensor its distance from a fixed point. Each measurement is compared with the
predicted pose T of the target in the frame of the instrument. The residuals are linearized in small
displacements J dP of the target, with J in the axes of the target, angular rows first:

    residuals(T exp(J dP)) = e - A dP + O(dP^2)

Residuals are divided by the standard deviations of the instrument, because there is no natural
weight of rotations relative to translations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, float_array, vector
from ..errors import ArgumentError
from ..lie import se3
from ..lie._arrays import check_pose
from ..types import Array

#: Small displacements of a frame in its own axes: about and along X, Y, Z.
DISPLACEMENTS = ('rx', 'ry', 'rz', 'x', 'y', 'z')


class Measurements(ABC):
    """N measurements of one kind, with d numbers each.

    Attributes
    ----------
    kind : str
        Name of the kind in the plural, for messages.
    values : (N, ...) array
        In the frame of the instrument [m].
    deviations : (d,) array
        Standard deviations of the residuals [rad, m].
    of_target, of_base : tuple of str
        Names in `DISPLACEMENTS` of target and base that affect the measurements.
    """

    kind: ClassVar[str]
    of_target: ClassVar[tuple[str, ...]] = DISPLACEMENTS
    of_base: ClassVar[tuple[str, ...]] = DISPLACEMENTS
    values: Array
    deviations: Array

    def __len__(self) -> int:
        """Return the number N of measurements."""
        return len(self.values)

    @abstractmethod
    def residuals(self, T: Array) -> Array:
        """Return e (N, d) for predicted poses T (N, 4, 4) of the target."""

    @abstractmethod
    def linearized(self, T: Array, J: Array) -> tuple[Array, Array]:
        """Return e (N, d) and A (N, d, k) for J (N, 6, k)."""

    @abstractmethod
    def part(self, rows: Sequence[int]) -> Measurements:
        """Return some of the measurements."""


class MeasuredPoses(Measurements):
    """Poses of the target: e = log(T^-1 T_measured) (5.30), in the axes of the target.

    Parameters
    ----------
    poses : (N, 4, 4) array
        In the frame of the instrument [m].
    rotation_deviation, position_deviation : float
        Standard deviations about each axis [rad], along each axis [m].
    """

    kind = 'poses'

    def __init__(
        self, poses: ArrayLike, rotation_deviation: float, position_deviation: float
    ) -> None:
        self.values = _checked(self.kind, poses, (4, 4))
        check_pose('measured poses', self.values)
        check_number('rotation_deviation', rotation_deviation, positive=True)
        check_number('position_deviation', position_deviation, positive=True)
        self.deviations = np.repeat([rotation_deviation, position_deviation], 3)

    def residuals(self, T: Array) -> Array:
        """Return e (N, 6) [rad, m]."""
        return se3.log(se3.inverse(T) @ self.values)

    def linearized(self, T: Array, J: Array) -> tuple[Array, Array]:
        """Return e and A = dexp_inv(e) J.

        The exact derivative of log(exp(-J dP) exp(e)) is -dexp_inv(e) J. (5.30) omits dexp_inv,
        which is valid for small e but would bias the result in the presence of noise.
        """
        e = self.residuals(T)
        return e, se3.dexp_inv(e) @ J

    def part(self, rows: Sequence[int]) -> MeasuredPoses:
        """Return some of the measurements."""
        rotation, position = self.deviations[[0, 3]].tolist()
        return MeasuredPoses(self.values[list(rows)], rotation, position)


class MeasuredPoints(Measurements):
    """Positions of the target's origin: e = R^T (r_measured - r), in the axes of the target.

    Parameters
    ----------
    points : (N, 3) array
        In the frame of the instrument [m].
    deviation : float
        Standard deviation along each axis [m].
    """

    kind = 'points'
    of_target = DISPLACEMENTS[3:]

    def __init__(self, points: ArrayLike, deviation: float) -> None:
        self.values = _checked(self.kind, points, (3,))
        check_number('position_deviation', deviation, positive=True)
        self.deviations = np.repeat(deviation, 3)

    def residuals(self, T: Array) -> Array:
        """Return e (N, 3) [m]."""
        offset: Array = np.swapaxes(T[:, :3, :3], 1, 2) @ (self.values - T[:, :3, 3])[..., None]
        return offset[..., 0]

    def linearized(self, T: Array, J: Array) -> tuple[Array, Array]:
        """Return e and the lower rows of J: the length of e does not depend on the axes."""
        return self.residuals(T), J[:, 3:]

    def part(self, rows: Sequence[int]) -> MeasuredPoints:
        """Return some of the measurements."""
        return MeasuredPoints(self.values[list(rows)], float(self.deviations[0]))


class MeasuredDistances(Measurements):
    """Distances of the target's origin from a fixed point: e = distance_measured - |r - center|.

    Parameters
    ----------
    distances : (N,) array
        [m], positive.
    center : (3,) array
        The fixed point in the frame of the instrument [m].
    deviation : float
        Standard deviation [m].
    """

    kind = 'distances'
    of_target = of_base = DISPLACEMENTS[3:]

    def __init__(self, distances: ArrayLike, center: ArrayLike, deviation: float) -> None:
        self.values = _checked(self.kind, distances, ())
        self.center = vector('center', 3, center)
        if not np.isfinite(self.center).all():
            raise ArgumentError(f'center must be finite [m], got {self.center.tolist()}')
        for k in np.flatnonzero(self.values <= 0.0):
            raise ArgumentError(
                f'measured distances[{k}] = {self.values[k]:g} m: distances are positive'
            )
        check_number('position_deviation', deviation, positive=True)
        self.deviations = np.array([deviation], dtype=np.float64)

    def residuals(self, T: Array) -> Array:
        """Return e (N, 1) [m]."""
        return (self.values - np.linalg.norm(T[:, :3, 3] - self.center, axis=1))[:, None]

    def linearized(self, T: Array, J: Array) -> tuple[Array, Array]:
        """Return e and A = u^T R J_lower, u the direction from the center to the target."""
        apart = T[:, :3, 3] - self.center
        length = np.linalg.norm(apart, axis=1)
        if (length == 0.0).any():
            raise ArgumentError(
                f'measurement {int(np.argmin(length))}: the model puts the target onto the center, '
                'where the distance has no derivative; correct the center or leave it out'
            )
        u = (apart / length[:, None])[:, None, :]
        return self.residuals(T), u @ T[:, :3, :3] @ J[:, 3:]

    def part(self, rows: Sequence[int]) -> MeasuredDistances:
        """Return some of the measurements."""
        return MeasuredDistances(self.values[list(rows)], self.center, float(self.deviations[0]))


def check_finite(name: str, array: Array) -> None:
    """Raise `ArgumentError` for the first row of (N, ...) with NaN or infinity."""
    wrong = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    if wrong.any():
        raise ArgumentError(
            f'{name}[{int(np.argmax(wrong))}] holds numbers that are not finite; leave out '
            'measurements that failed'
        )


def _checked(kind: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a copy (N, *shape) of finite numbers, read-only; raises `ArgumentError`."""
    array = float_array(f'measured {kind}', values).copy()
    if array.shape[1:] != shape or array.ndim != len(shape) + 1:
        raise ArgumentError(
            f'measured {kind} must have shape (N{"".join(f", {n}" for n in shape)}), '
            f'got {array.shape}'
        )
    check_finite(f'measured {kind}', array)
    array.setflags(write=False)
    return array
