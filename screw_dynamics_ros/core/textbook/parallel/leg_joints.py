# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Twists of all joints of one leg, including passive ones, and the dual wrenches.

A leg between base and platform is a chain of six joints, with the universal joint (two revolute
ones) and the spherical joint (three) that carry its rod. Twists J and wrenches G of the chain are
dual, J^T G = 1: column i of G is the wrench of the leg on the platform for unit torque of joint i
and zero torque of the others. The column of the motor is the wrench of the rod; the others are the
effects of friction or motors in passive joints on the platform.

Source: Bruyninckx 2010, sections 8.2, 8.7 and 8.8, with the errata E-37, E-40 and E-52 (C-116).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, vector
from ...arms.inverse.force import partial_wrenches
from ...errors import ArgumentError
from ...lie import points
from ...types import Array

#: Joints of a leg from the base to the platform, by type; the motor is P or R.
JOINTS = {
    'UPS': ('U1', 'U2', 'P', 'S1', 'S2', 'S3'),
    'PUS': ('P', 'U1', 'U2', 'S1', 'S2', 'S3'),
    'RUS': ('R', 'U1', 'U2', 'S1', 'S2', 'S3'),
}


@dataclass(frozen=True, eq=False)
class LegJoints:
    """The joints of a leg in one pose, in the base frame.

    Attributes
    ----------
    kind : {'UPS', 'PUS', 'RUS'}
    elbow : (3,) array
        Center of the universal joint, at the lower end of the rod [m].
    top : (3,) array
        Center of the spherical joint [m].
    universal : (2, 3) array
        Axes of the universal joint.
    spherical : (3, 3) array
        Axes of the revolute joints that form the spherical one, one in each row.
    motor : (3,) array
        Axis of the motor of a PUS or RUS leg; that of a UPS leg is along the rod.
    motor_point : (3,) array
        A point of the axis of the motor of a RUS leg [m].

    Raises
    ------
    ArgumentError
        For another kind, or zero axes.
    """

    kind: str
    elbow: Array
    top: Array
    universal: Array
    spherical: Array
    motor: ArrayLike = (0.0, 0.0, 1.0)
    motor_point: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.kind not in JOINTS:
            raise ArgumentError(f'kind must be one of {", ".join(JOINTS)}, got {self.kind!r}')
        for name in ('elbow', 'top', 'motor_point'):
            object.__setattr__(self, name, vector(name, 3, getattr(self, name)))
        for name, count in (('universal', 2), ('spherical', 3)):
            axes = float_array(name, getattr(self, name))
            if axes.shape != (count, 3):
                raise ArgumentError(f'{name} must have shape ({count}, 3), got {axes.shape}')
            object.__setattr__(self, name, points.unit('LegJoints', name, axes))
        object.__setattr__(self, 'motor', points.unit('LegJoints', 'motor', self.motor))

    @property
    def names(self) -> Sequence[str]:
        """Names of the joints from the base to the platform."""
        return JOINTS[self.kind]

    def jacobian(self, origin: ArrayLike) -> Array:
        """Return the twists (6, 6) of the platform for unit rates, at `origin` (3,) [m] (E-37)."""
        o, rod = vector('origin', 3, origin), self.top - self.elbow

        def turning(axis: Array, point: Array) -> Array:
            return np.concatenate([axis, np.cross(axis, o - point)])

        def sliding(axis: Array) -> Array:
            return np.concatenate([np.zeros(3), axis])

        universal = [turning(axis, self.elbow) for axis in self.universal]
        spherical = [turning(axis, self.top) for axis in self.spherical]
        motor = np.asarray(self.motor)
        if self.kind == 'UPS':
            columns = [*universal, sliding(rod / np.linalg.norm(rod)), *spherical]
        elif self.kind == 'PUS':
            columns = [sliding(motor), *universal, *spherical]
        else:
            columns = [turning(motor, np.asarray(self.motor_point)), *universal, *spherical]
        return np.array(columns).T

    def partial_wrenches(self, origin: ArrayLike) -> Array:
        """Return the wrenches G (6, 6) at `origin` (3,) [m] with J^T G = 1 (C-116).

        Raises `ArgumentError` where the leg is singular.

        Examples
        --------
        A UPS leg of 0.7 m along z, at its upper end: the motor pushes along z, and a torque about
        the first axis x of the universal joint results in a force along -y.

        >>> leg = LegJoints('UPS', [0, 0, -0.7], [0, 0, 0], np.eye(3)[:2], np.eye(3))
        >>> G = leg.partial_wrenches([0, 0, 0])
        >>> G[3:, 2].round(6) + 0.0, G[3:, 0].round(6) + 0.0  # forces
        (array([0., 0., 1.]), array([ 0.      , -1.428571,  0.      ]))
        """
        return partial_wrenches(self.jacobian(origin))
