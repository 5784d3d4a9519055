# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Six operations of any arm with a closed form, with the common names of all robots (C-012)."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.arms.families.branches import nearest
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.family import Family
from screw_dynamics_ros.core.arms.inverse.force import forward_force
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie._arrays import finite_pose
from screw_dynamics_ros.core.types import Array

F = TypeVar('F', bound=Family)

#: Largest difference [rad, m] between a pose and that of a solution.
POSE_TOLERANCE = 1e-7


class SerialKinematics(Generic[F]):
    """An arm of a family as a `KinematicModel`: closed-form positions, velocities by its Jacobian.

    Twists (omega; v) and wrenches (moment; force) are at the origin of the tool and along the axes
    of the base. A wrench is that of the robot on its environment, tau = J^T w (E-54).

    Parameters
    ----------
    arm : Family
    chain : SerialChain, optional
        Provides the joint limits; without it there are none.

    Examples
    --------
    >>> from screw_dynamics_ros.core.arms.families.scara import Scara
    >>> model = SerialKinematics(Scara(l1=0.4, l2=0.3))
    >>> C = model.forward_position([0.3, 0.8, 0.05, -0.4])
    >>> model.inverse_position(C, seed=[0.9, -0.7, 0.0, 0.5]).round(4)
    array([ 0.9793, -0.8   ,  0.05  ,  0.5207])
    """

    def __init__(self, arm: F, chain: SerialChain | None = None) -> None:
        self.arm = arm
        self.chain = arm.chain() if chain is None else chain

    def _joints(self, name: str, value: ArrayLike) -> Array:
        return vector(name, len(self.chain), value)

    def forward_position(self, q: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the pose (4, 4) of the tool for q (n,); it is unique, `seed` is ignored."""
        return self.chain.pose(self._joints('q', q))

    def inverse_position(self, pose: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return joint positions (n,) for a pose (4, 4): the nearest to `seed` (n,), or to zero.

        Solutions that differ by multiples of 2 pi are included. The result is within the limits if
        any solution is. Joints that the pose does not determine keep the values of the seed
        (`Family.branches_near`): q4 of a singular wrist, q1 of a 321 arm with the wrist center on
        axis 1, the swivel angle of an S-R-S arm (C-102).

        Raises
        ------
        ArgumentError
            If the pose is out of reach, not finite or not a rigid motion.
        """
        C = finite_pose('pose', pose)
        seed = self._joints('seed', np.zeros(len(self.chain)) if seed is None else seed)
        solutions = self.arm.branches_near(C, seed)
        off = np.abs(self.chain.pose(solutions) - C).max(axis=(-2, -1))
        if not (off <= POSE_TOLERANCE).any():
            raise ArgumentError(
                f'the pose is out of reach: the tool at {C[:3, 3]} m has an error of '
                f'{off.min(initial=np.inf):.3g} m or rad or more in every branch'
            )
        return nearest(solutions[off <= POSE_TOLERANCE], seed, self.chain)[1]

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the Jacobian (6, n) for q (n,), hybrid: at the tool, in axes of the base."""
        q = self._joints('q', q)
        return se3.Ad_r(-self.chain.pose(q)[:3, 3]) @ self.chain.jacobian(q)

    def forward_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the twist (6,) of the tool for joint rates v (n,) at q (n,)."""
        return self.jacobian(q) @ self._joints('v', v)

    def inverse_velocity(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return minimum-norm joint rates (n,) for a twist (6,) of the tool at q (n,).

        Raises `ArgumentError` if no rates give that twist: in a singular configuration, or for an
        arm with fewer than six joints.
        """
        found = inverse_velocity(self.jacobian(q), vector('twist', 6, twist))
        if not found.success:
            raise ArgumentError(f'no joint rates give this twist: {found.message}')
        return found.v

    def inverse_force(self, q: ArrayLike, wrench: ArrayLike) -> Array:
        """Return the torques (n,) J^T w with which the tool exerts a wrench (6,) at q (n,)."""
        return self.jacobian(q).T @ vector('wrench', 6, wrench)

    def forward_force(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the wrench (6,) that the tool exerts for torques tau (n,) at q (n,).

        Raises `ArgumentError` unless the arm has six joints, and in a singular configuration: the
        wrench then depends on the reaction of the environment (C-013).
        """
        found = forward_force(self.jacobian(q), self._joints('tau', tau))
        if not found.success:
            raise ArgumentError(f'torques do not determine the wrench: {found.message}')
        return -found.wrench
