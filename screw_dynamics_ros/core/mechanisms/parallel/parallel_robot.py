# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Class `ParallelRobot`: kinematics and statics of a platform on legs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_count, check_number, vector
from ...errors import ArgumentError
from ...lie._arrays import finite_pose
from ...lie.screw_systems import TOLERANCE
from ...types import Array
from . import force_distribution
from .assembly_modes import AssemblyModes, assembly_modes, convex_pose
from .mechanism import Mechanism, classify
from .recursions import LegFunctions

#: Length errors of a pose that is right, in sizes of the mechanism.
LENGTH_TOLERANCE = 1e-12
#: Tolerance of the lengths of the rods of one leg, in sizes of the mechanism.
AGREEMENT_TOLERANCE = 1e-6
MAX_UPDATES = 50


@dataclass(frozen=True, eq=False)
class ForwardPositionResult:
    """The pose found for motor positions.

    Attributes
    ----------
    pose : (4, 4) array
        Of the platform in the base frame; the last iterate if there was no success.
    success : bool
        Whether all length errors are within tolerance, without crossing a singularity.
    residual : float
        Largest length error of a rod [m].
    updates : int
        Newton steps made.
    message : str
        Why the iteration ended.
    """

    pose: Array
    success: bool
    residual: float
    updates: int
    message: str


class ParallelRobot:
    """A platform on legs: the operations of `KinematicModel` and those of parallel robots.

    Twists and wrenches are hybrid: at the origin of the platform, along the axes of the base,
    angular part first. Wrenches are those that the robot exerts on its environment (E-54). Motor
    positions have up to 40 poses for six legs; `seed` is a pose near the intended one, by default
    `mechanism.home`.

    Source: Bruyninckx 2010, chapter 8 (C-111 to C-120, C-127).

    Parameters
    ----------
    mechanism : Mechanism
    backend : {'auto', 'native', 'python', 'reference'}
        As of `Robot`.

    Examples
    --------
    Leg lengths of a Gough platform in a pose, and the pose again from these lengths:

    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import stewart_gough
    >>> robot = ParallelRobot(stewart_gough(), backend='reference')
    >>> pose = np.eye(4)
    >>> pose[:3, 3] = 0.05, -0.03, 0.6
    >>> q = robot.inverse_position(pose)
    >>> q.round(4)
    array([0.6596, 0.7157, 0.7043, 0.6755, 0.6998, 0.6725])
    >>> bool(np.allclose(robot.forward_position(q), pose, atol=1e-12))
    True
    """

    def __init__(self, mechanism: Mechanism, backend: str = 'auto') -> None:
        self.mechanism = mechanism
        self._functions = LegFunctions(mechanism, backend)
        self.backend = self._functions.backend
        self._tolerance = LENGTH_TOLERANCE * max(1.0, mechanism.size)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the motors' joints, in the order of q."""
        return self.mechanism.joint_names

    @property
    def nv(self) -> int:
        """Number of motors."""
        return len(self.mechanism.legs)

    @property
    def home(self) -> Array:
        """Pose (4, 4) where iterations start by default."""
        return self.mechanism.home

    @property
    def design(self) -> str:
        """The result of `classify`."""
        return classify(self.mechanism)

    # --- position -------------------------------------------------------------------------------

    def inverse_position(self, pose: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the motor positions (n,) of a pose (4, 4) (C-112 to C-114).

        PUS and RUS legs have two solutions: the one nearer to `seed` (n,), by default that of the
        `branch` of the leg. Angles are within pi of the seed, or of 0.

        Raises
        ------
        ArgumentError
            If a leg cannot reach its pivot, its two rods require different positions (a Delta
            cannot rotate), or a motor limit is exceeded; names the leg.
        """
        T = self.checked_pose('pose', pose)
        branches = self._branches(T)
        own = np.array([leg.branch < 0 for leg in self.mechanism.legs], dtype=int)
        if seed is None:
            q = branches[np.arange(self.nv), own]
        else:
            near = self._numbers('seed', seed)
            turning = np.array([leg.turning for leg in self.mechanism.legs])
            turns = np.round((near[:, None] - branches) / (2 * np.pi)) * turning[:, None]
            branches = branches + 2 * np.pi * turns
            nearest = np.abs(branches - near[:, None]).argmin(axis=1)
            q = branches[np.arange(self.nv), nearest]
        self._check_rods(q, T)
        self.check_limits(q)
        return q

    def inverse_positions(self, pose: ArrayLike) -> Array:
        """Return the motor positions of branch 1 and -1 of each leg for a pose, (n, 2).

        Any choice of one per leg is a solution; both are equal for UPS legs. Limits are ignored.
        Raises `ArgumentError` for a pose that a leg cannot reach.
        """
        return self._branches(self.checked_pose('pose', pose))

    def forward_position(
        self, q: ArrayLike, seed: ArrayLike | None = None, *, convex: bool = False
    ) -> Array:
        """Return the pose (4, 4) for motor positions (n,), near the pose `seed` (C-119).

        If `convex`, the pose in which the rods are edges of the convex hull of base and platform,
        on the side of the base where `seed` is (C-123); selected among all poses, in about 0.1 s.

        Raises
        ------
        ArgumentError
            If `solve_forward_position` fails, with its reason, or not exactly one pose is convex.
        """
        if convex:
            numbers = self._numbers('q', q)
            modes = self.all_forward_positions(numbers, seed)
            return convex_pose(self.mechanism, numbers, modes, self._seed(seed))
        result = self.solve_forward_position(q, seed)
        if not result.success:
            raise ArgumentError(f'{self.mechanism.name}: {result.message}')
        return result.pose

    def solve_forward_position(
        self,
        q: ArrayLike,
        seed: ArrayLike | None = None,
        *,
        tolerance: float | None = None,
        max_updates: int = MAX_UPDATES,
    ) -> ForwardPositionResult:
        """Return the pose for motor positions (n,) by Newton's method from `seed` (4, 4), a pose.

        The determinant of the wrench basis changes its sign at singularities of the platform. A
        solution with another sign than `seed` is rejected: it is another assembly mode, which the
        robot cannot reach from the seed without passing a singularity.

        Parameters
        ----------
        tolerance : float, optional
            Largest length error of a rod [m]; some rounding errors by default. With more than six
            rods, whose measured lengths contradict each other a little, the pose is that of least
            squares, and their errors must be allowed for.
        max_updates : int
            Largest number of Newton steps.
        """
        q, T = self._numbers('q', q), self._seed(seed)
        limit = self._tolerance if tolerance is None else tolerance
        check_number('tolerance', limit, positive=True)
        check_count('max_updates', max_updates)
        side, redundant = self._side(q, T), len(self.mechanism.rod_legs) > 6
        residual, updates = np.inf, 0
        for updates in range(max_updates + 1):
            moved, errors = self._functions.newton_step(q, T)
            residual = float(np.abs(errors).max())
            step = float(np.abs(moved - T).max())
            done = step <= self._tolerance if redundant else residual <= limit
            if done or not np.isfinite(step) or updates == max_updates:
                break
            T = moved
        message = 'solved'
        if not residual <= limit:
            message = (
                f'no pose near the seed has these motor positions: after {updates} Newton steps '
                f'a rod is still {residual:.3g} m too long or too short; they contradict each '
                'other, or the seed is too far away'
            )
        elif self._side(q, T) * side < 0:
            message = (
                'the pose found is another assembly mode: a singularity lies between it and the '
                'seed; give a seed that is nearer'
            )
        return ForwardPositionResult(T, message == 'solved', residual, updates, message)

    def all_forward_positions(self, q: ArrayLike, seed: ArrayLike | None = None) -> AssemblyModes:
        """Return all poses for motor positions (n,) of six rods, the nearest to `seed` first.

        With a certificate; see `assembly_modes`. Motor limits are ignored.

        Examples
        --------
        >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import three_two_one
        >>> robot = ParallelRobot(three_two_one(), backend='reference')
        >>> modes = robot.all_forward_positions(robot.inverse_position(robot.home))
        >>> modes.message, modes.complete
        ('8 poses, of 8 complex solutions on 40 paths', True)
        """
        return assembly_modes(self.mechanism, self._numbers('q', q), self._seed(seed))

    # --- velocity -------------------------------------------------------------------------------

    def rod_wrenches(self, q: ArrayLike, pose: ArrayLike) -> Array:
        """Return the wrench of each rod for unit force or torque of its motor, (6, rods).

        Columns G_i of 8.8 with components (moment; force), hybrid; legs with one rod have one
        column. Raises `ArgumentError` for a leg that is singular itself: its rod has no lever
        about its motor, so that the motor moves nothing and the rod supports all loads.
        """
        q, T = self._numbers('q', q), self.checked_pose('pose', pose)
        G, lever = self._functions.wrench_basis(q, T)
        small = np.abs(lever) <= TOLERANCE * max(1.0, float(np.abs(lever).max()))
        if small.any() or not np.isfinite(G).all():
            leg = self.mechanism.rod_legs[int(np.argmax(small))][0]
            raise ArgumentError(
                f'leg {self.joint_names[leg]!r} is singular: its rod has no lever about its motor; '
                'leave this pose'
            )
        scaled: Array = G / lever
        return scaled

    def jacobian(self, q: ArrayLike, pose: ArrayLike) -> Array:
        """Return J (6, n) with twist = J v at a pose (4, 4).

        J = G^-T P with the wrenches of rods G and the matrix P of the motor that moves each rod;
        for more than six rods the twist is that of least squares.

        Raises
        ------
        ArgumentError
            At a singular pose: the platform can move with locked motors.
        """
        G = self.rod_wrenches(q, pose)
        force_distribution.check_regular(G, self.mechanism.size)
        J: Array = np.linalg.lstsq(G.T, self.mechanism.motor_of_rod, rcond=None)[0]
        return J

    def forward_velocity(self, q: ArrayLike, v: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the twist (6,) of the platform for motor rates v (n,) (8.23)."""
        twist: Array = self.jacobian(q, self.forward_position(q, seed)) @ self._numbers('v', v)
        return twist

    def inverse_velocity(
        self, q: ArrayLike, twist: ArrayLike, seed: ArrayLike | None = None
    ) -> Array:
        """Return motor rates (n,) = G^T t of a twist (6,) of the platform (C-118).

        Raises
        ------
        ArgumentError
            For a twist that the two rods of a leg do not admit: a Delta does not rotate.
        """
        t = vector('twist', 6, twist)
        rates = self.rod_wrenches(q, self.forward_position(q, seed)).T @ t
        P = self.mechanism.motor_of_rod
        v: Array = P.T @ rates / P.sum(axis=0)
        difference = rates - P @ v
        if np.abs(difference).max() > AGREEMENT_TOLERANCE * max(1.0, float(np.abs(rates).max())):
            leg = self.mechanism.rod_legs[int(np.abs(difference).argmax())][0]
            raise ArgumentError(
                f'the two rods of leg {self.joint_names[leg]!r} do not admit the twist '
                f'{t.tolist()}: a platform on parallelograms translates only'
            )
        return v

    # --- force ----------------------------------------------------------------------------------

    def forward_force(self, q: ArrayLike, tau: ArrayLike, seed: ArrayLike | None = None) -> Array:
        """Return the wrench (6,) that motor forces tau (n,) exert, w = G tau (C-115).

        Legs with two rods support couples without motor torques; these are not part of the wrench.
        """
        T, tau = self.forward_position(q, seed), self._numbers('tau', tau)
        if len(self.mechanism.rod_legs) == self.nv:
            w: Array = self.rod_wrenches(q, T) @ tau
            return w
        return np.asarray(np.linalg.lstsq(self.jacobian(q, T).T, tau, rcond=None)[0])

    def inverse_force(
        self,
        q: ArrayLike,
        wrench: ArrayLike,
        seed: ArrayLike | None = None,
        *,
        stiffness: ArrayLike | None = None,
        preload: ArrayLike | None = None,
    ) -> Array:
        """Return motor forces (n,) that exert a wrench (6,): tau = G^-1 w (C-115, C-126).

        With more than six rods, those of least deformation energy for the `stiffness` (rods,) of
        the rods [N/m or N m/rad at the motor], 1 by default, plus the part of `preload` (rods,)
        that exerts no wrench; see `force_distribution`.
        """
        G = self.rod_wrenches(q, self.forward_position(q, seed))
        w = vector('wrench', 6, wrench)
        forces = force_distribution.rod_forces(
            G, w, size=self.mechanism.size, stiffness=stiffness, preload=preload
        )
        tau: Array = self.mechanism.motor_of_rod.T @ forces
        return tau

    def wrench_of_weight(self, pose: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Array:
        """Return the wrench (6,) of the robot that balances the weight of its platform in a pose.

        `gravity` (3,) is the acceleration of free fall in the base frame [m/s^2].
        """
        T, g = self.checked_pose('pose', pose), vector('gravity', 3, gravity)
        body = self.mechanism.inertia
        f = -body.mass * g
        return np.concatenate([np.cross(T[:3, :3] @ body.com, f), f])

    # --- arguments ------------------------------------------------------------------------------

    def _numbers(self, name: str, value: ArrayLike) -> Array:
        x = vector(name, self.nv, value)
        if not np.isfinite(x).all():
            leg = self.joint_names[int(np.argmin(np.isfinite(x)))]
            raise ArgumentError(f'{name} of leg {leg!r} is not a finite number')
        return x

    def checked_pose(self, name: str, value: ArrayLike) -> Array:
        """Return a pose (4, 4) as an array; raises `ArgumentError` for invalid ones."""
        return finite_pose(name, value)

    def _seed(self, seed: ArrayLike | None) -> Array:
        return self.mechanism.home if seed is None else self.checked_pose('seed', seed)

    def _side(self, q: Array, T: Array) -> float:
        """Return the sign of the determinant of the unit wrenches; 1 for more than six rods."""
        if len(self.mechanism.rod_legs) > 6:
            return 1.0
        return float(np.sign(np.linalg.det(self._functions.wrench_basis(q, T)[0])))

    def _branches(self, T: Array) -> Array:
        x, discriminants = self._functions.motor_positions(T)
        for leg, discriminant in zip(self.mechanism.legs, discriminants):
            if not discriminant >= 0.0:
                raise ArgumentError(
                    f'leg {leg.name!r} cannot reach its pivot on the platform: its rod is too '
                    'short or too long'
                )
        turning = np.array([leg.turning for leg in self.mechanism.legs])[:, None]
        return np.where(turning, np.arctan2(x[..., 0], x[..., 1]), x[..., 0])

    def check_closed(self, q: Array, T: Array) -> None:
        """Raise `ArgumentError` unless motor positions (n,) and a pose (4, 4) are consistent."""
        leg, error = self._worst_rod(q, T)
        if leg:
            raise ArgumentError(
                f'motor positions and pose are inconsistent: the rod of leg {leg!r} would '
                f'be {error:.3g} m too long or too short'
            )

    def _check_rods(self, q: Array, T: Array) -> None:
        if len(self.mechanism.rod_legs) == self.nv:
            return
        leg, error = self._worst_rod(q, T)
        if leg:
            raise ArgumentError(
                f'the rods of leg {leg!r} disagree by {error:.3g} m: a platform on '
                'parallelograms cannot turn; give a pose with the orientation of `home`'
            )

    def _worst_rod(self, q: Array, T: Array) -> tuple[str, float]:
        """Return the leg of the rod with the largest error, '' if all agree, and that error [m]."""
        errors = np.abs(self._functions.newton_step(q, T)[1])
        agree = errors.max() <= AGREEMENT_TOLERANCE * self.mechanism.size
        leg = self.joint_names[self.mechanism.rod_legs[int(errors.argmax())][0]]
        return '' if agree else leg, float(errors.max())

    def check_limits(self, q: ArrayLike) -> None:
        """Raise `ArgumentError` for the first motor position of q (n,) beyond its limits."""
        for x, leg in zip(self._numbers('q', q), self.mechanism.legs):
            if not leg.lower <= x <= leg.upper:
                what = 'pass the limits of its motor'
                if not leg.branched:
                    what = f'be too {"short" if x > leg.upper else "long"}'
                raise ArgumentError(
                    f'leg {leg.name!r} would {what}: it would stand at {x:.6g}, between '
                    f'{leg.lower:.6g} and {leg.upper:.6g} it can'
                )
