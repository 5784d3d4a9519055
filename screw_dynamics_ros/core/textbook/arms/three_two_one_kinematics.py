# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocity, force and singularities of the 321 arm in closed form, at its wrist center.

In the frame {4} at the wrist center, rotated by joints 1 to 3, the Jacobian is

    J = [[A, B], [C, 0]],    A, B, C (3, 3),

because the wrist axes pass through that point. The rates of joints 1 to 3 follow from its velocity,
then those of the wrist from the remaining angular velocity. The transposed blocks decompose
wrenches.

Source: Bruyninckx 2010, sections 7.7, 7.13, 7.16 and 7.19, with the errata E-31 to E-33 and E-53;
extended to the offsets of the arm.

Six operations of any arm with a closed form, with the common names of all robots (C-012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...arms.families.branches import nearest
from ...arms.families.chain import SerialChain
from ...arms.families.family import Family
from ...arms.families.three_two_one import ThreeTwoOne
from ...arms.inverse.force import forward_force
from ...arms.inverse.velocity import inverse_velocity
from ...errors import ArgumentError
from ...lie import se3
from ...lie._arrays import finite_pose
from ...types import Array

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
    >>> from screw_dynamics_ros.core.arms.families.prismatic_families import Scara
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


@dataclass(frozen=True, eq=False)
class NamedSingularity:
    """A singular configuration of a 321 arm.

    Attributes
    ----------
    name : str
        'arm extended' (or folded), 'wrist extended', 'wrist above shoulder'.
    factor : float
        The factor that vanishes: the sine of the elbow angle, that of q5, or the distance of the
        wrist center ahead of axis 1 [m].
    reciprocal_wrench : (6,) array or None
        A unit wrench at the tool (moment; force), along the axes of the base, that needs no joint
        torque. Its force, or for the wrist its moment at the wrist center, is 1. None for an
        extended wrist of an extended arm if no such wrench exists.
    """

    name: str
    factor: float
    reciprocal_wrench: Array | None


class ThreeTwoOneKinematics(SerialKinematics[ThreeTwoOne]):
    """A 321 arm as a `KinematicModel`: six operations, all in closed form.

    Arguments and conventions are those of `SerialKinematics`.

    Examples
    --------
    >>> model = ThreeTwoOneKinematics(ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1))
    >>> q, v = [0.3, 0.4, 0.7, -0.5, 0.6, 1.1], [0.1, -0.2, 0.3, 0.4, -0.5, 0.6]
    >>> twist = model.forward_velocity(q, v)
    >>> twist.round(4)
    array([ 0.2353,  0.9353,  0.4547, -0.0874, -0.0857,  0.0247])
    >>> model.inverse_velocity(q, twist).round(9)
    array([ 0.1, -0.2,  0.3,  0.4, -0.5,  0.6])
    >>> [each.name for each in model.singularities([0.3, 0.4, 0.0, -0.5, 0.0, 1.1])]
    ['arm extended', 'wrist extended']
    """

    # --- the blocks -------------------------------------------------------------------------------

    def blocks(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """Return A, B, C (3, 3) of the midframe Jacobian [[A, B], [C, 0]] of the model (C-099).

        Without offsets A = [[0, -1, -1], [-s23, 0, 0], [c23, 0, 0]], B = [[0, -c4, -s5 s4],
        [0, -s4, s5 c4], [1, 0, c5]], C = [[-dh, 0, 0], [0, l2 c3 + l3, l3], [0, l2 s3, 0]].

        Source: Bruyninckx 2010, (7.14), (7.15) with E-31.
        """
        arm, q = self.arm, self.arm.to_model(q)
        s23, c23 = np.sin(q[1] + q[2]), np.cos(q[1] + q[2])
        (s3, s4, s5), (c3, c4, c5) = np.sin(q[2:5]), np.cos(q[2:5])
        dx, b = arm.shoulder_offset, arm.elbow_offset
        A = np.array([[0.0, -1.0, -1.0], [-s23, 0.0, 0.0], [c23, 0.0, 0.0]])
        B = np.array([[0.0, -c4, -s5 * s4], [0.0, -s4, s5 * c4], [1.0, 0.0, c5]])
        C = np.array(
            [
                [-arm.wrist_in_plane(q)[0], 0.0, 0.0],
                [dx * c23, arm.l2 * c3 + arm.l3, arm.l3],
                [dx * s23, arm.l2 * s3 - b, -b],
            ]
        )
        return A, B, C

    def determinant(self, q: ArrayLike) -> float:
        """Return det J = rho l2 (l3 s3 + b c3) s5 of the model, in any frame (C-099).

        rho is the distance of the wrist center ahead of axis 1, dh + base offset.

        Source: Bruyninckx 2010, (7.17) with E-32.
        """
        return float(self.arm.l2 * self.arm.forearm * np.prod(self._factors(q)))

    def _factors(self, q: ArrayLike) -> tuple[float, float, float]:
        """Return the sines of the elbow angle and of q5, and rho; zero in singularities."""
        arm, q = self.arm, self.arm.to_model(q)
        elbow = (arm.l3 * np.sin(q[2]) + arm.elbow_offset * np.cos(q[2])) / arm.forearm
        return float(elbow), float(np.sin(q[4])), arm.wrist_in_plane(q)[0]

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the Jacobian (6, 6) of the joints of the robot, hybrid: tool and base axes."""
        q = self._joints('q', q)
        A, B, C = self.blocks(q)
        return self._twists_of_tool(q) @ np.block([[A, B], [C, np.zeros((3, 3))]]) * self.arm.sign

    def inverse_jacobian(self, q: ArrayLike) -> Array:
        """Return its inverse (6, 6): [[0, C^-1], [B^-1, -B^-1 A C^-1]] in the frame {4} (C-105).

        Raises
        ------
        ArgumentError
            In a singular configuration, with its names.

        Source: Bruyninckx 2010, (7.34), (7.36) with E-33.
        """
        singular = self._singular_names(q, 1e-12)
        if singular:
            raise ArgumentError(
                f'the arm is singular ({", ".join(singular)}): rates for a twist, and the wrench '
                'for torques, do not exist or are not unique'
            )
        A, _, _ = self.blocks(q)
        B, C = self._inverse_wrist(q), self._inverse_arm(q)
        inverse = np.block([[np.zeros((3, 3)), C], [B, -B @ A @ C]])
        return self.arm.sign[:, None] * inverse @ self._twists_of_middle(q)

    def _inverse_wrist(self, q: ArrayLike) -> Array:
        """Return B^-1 (7.36)."""
        q = self.arm.to_model(q)
        (s4, s5), (c4, c5) = np.sin(q[3:5]), np.cos(q[3:5])
        return np.array(
            [[c5 * s4 / s5, -c5 * c4 / s5, 1.0], [-c4, -s4, 0.0], [-s4 / s5, c4 / s5, 0.0]]
        )

    def _inverse_arm(self, q: ArrayLike) -> Array:
        """Return C^-1 (7.36), E-33: with offsets the lower block is that of a 2 x 2 matrix."""
        _, _, C = self.blocks(q)
        (a, b), (c, d) = C[1:, 1:]
        lower = np.array([[d, -b], [-c, a]]) / (a * d - b * c)
        inverse = np.zeros((3, 3))
        inverse[0, 0] = 1.0 / C[0, 0]
        inverse[1:, 1:] = lower
        inverse[1:, 0] = -lower @ C[1:, 0] / C[0, 0]
        return inverse

    def _twists_of_tool(self, q: ArrayLike) -> Array:
        """Return the matrix (6, 6) that converts twists in {4} to twists of the tool."""
        T = self._middle_seen_from_tool(q)
        return se3.Ad(T)

    def _twists_of_middle(self, q: ArrayLike) -> Array:
        """Return its inverse."""
        return se3.Ad(se3.inverse(self._middle_seen_from_tool(q)))

    def _middle_seen_from_tool(self, q: ArrayLike) -> Array:
        """Return the pose (4, 4) of {4} in a frame at the tool, along the axes of the base."""
        C = self.arm.base @ self.arm.midframe(self.arm.to_model(q))
        return se3.pose(C[:3, :3], C[:3, 3] - self.arm.pose(q)[:3, 3])

    # --- velocity and force -----------------------------------------------------------------------

    def inverse_velocity(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return joint rates (6,) for a twist (6,) of the tool at q (6,) (C-105).

        Raises `ArgumentError` in a singular configuration.
        """
        return self.inverse_jacobian(self._joints('q', q)) @ vector('twist', 6, twist)

    def forward_force(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the wrench (6,) G tau that the tool exerts for torques (6,) at q (6,) (C-108).

        Raises `ArgumentError` in a singular configuration.
        """
        return self.partial_wrenches(self._joints('q', q)) @ self._joints('tau', tau)

    def partial_wrenches(self, q: ArrayLike) -> Array:
        """Return the dual wrench basis G (6, 6): column i needs unit torque in joint i only.

        J^T G = 1. In {4} it is [[0, B^-T], [C^-T, -C^-T A^T B^-T]]: joints 1 to 3 have pure forces
        through the wrist center, parallel to the axes 2 and 3, through the axes 1 and 3, and
        through the axes 1 and 2.

        Source: Bruyninckx 2010, (7.42) to (7.44) with E-35, and section 7.16 (C-107, C-108).
        """
        return self.inverse_jacobian(q).T

    # --- singularities ----------------------------------------------------------------------------

    def singularities(self, q: ArrayLike, tolerance: float = 1e-6) -> tuple[NamedSingularity, ...]:
        """Return the singularities of a configuration q (6,), empty if it is regular (C-110).

        Parameters
        ----------
        q : (6,) array
        tolerance : float
            Smaller factors are zero [1, 1, m].

        Source: Bruyninckx 2010, section 7.19, with E-53: a shoulder offset moves 'wrist above
        shoulder' to rho = 0, which the robot can still reach.
        """
        q = self._joints('q', q)
        A, B, C = self.blocks(q)
        arm = self.arm
        to_tool = se3.Ad(se3.inverse(self._middle_seen_from_tool(q))).T
        wrenches: dict[str, Array | None] = {
            'arm extended': np.append(np.zeros(3), self._along_arm(q)),
            'wrist extended': across_wrist(A, B, C),
            'wrist above shoulder': np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        }
        factors = dict(zip(wrenches, self._factors(q)))
        if arm.shoulder_offset and abs(factors['wrist above shoulder']) <= tolerance:
            # The velocities of joints 1 to 3 are in one plane for any elbow angle.
            wrenches['arm extended'] = wrenches['wrist above shoulder']
        return tuple(
            NamedSingularity(name, factors[name], None if wrench is None else to_tool @ wrench)
            for name, wrench in wrenches.items()
            if abs(factors[name]) <= tolerance
        )

    def _singular_names(self, q: ArrayLike, tolerance: float) -> list[str]:
        names = ('arm extended', 'wrist extended', 'wrist above shoulder')
        return [name for name, x in zip(names, self._factors(q)) if abs(x) <= tolerance]

    def _along_arm(self, q: ArrayLike) -> Array:
        """Return the unit force (3,) in {4} through the wrist center and the elbow.

        With a shoulder offset it has a component across the arm, so that joint 1 needs no torque.
        """
        arm, own = self.arm, self.arm.to_model(q)
        l3, b, dx = arm.l3, arm.elbow_offset, arm.shoulder_offset
        q23 = own[1] + own[2]
        sideways = dx * (b * np.cos(q23) + l3 * np.sin(q23))
        radial = arm.wrist_in_plane(own)[0]
        force = np.array([sideways / radial if sideways else 0.0, b, l3])
        return force / np.linalg.norm(force)


def across_wrist(A: Array, B: Array, C: Array) -> Array | None:
    """Return the wrench (6,) in {4} about the common normal of the wrist axes without torques.

    A unit moment along the normal of axes 4 and 5, and the force that balances it in joints 1 to 3:
    C^T f = -A^T m. None if there is no such force.
    """
    m = np.cross(B[:, 0], B[:, 1])
    felt = A.T @ m
    f = -np.linalg.pinv(C.T, rcond=1e-9) @ felt
    return np.append(m, f) if np.abs(C.T @ f + felt).max() < 1e-9 else None
