# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A wheeled platform and an arm as one robot.

The root link of the arm moves on a planar joint (x, y, phi) of the tree, so that all functions of
`Robot` include the base: frames, Jacobians, inverse and forward dynamics of a base that is free in
the plane. The wheels constrain it: the rates u = (wheel rates, joint rates) give the velocity of
the tree

    v = H(q) u,      H = [R(phi) B  0; 0  1],

where B maps wheel rates to the twist of the platform without slip (`rolling_map`), and R(phi)
rotates to the axes of the ground. The Jacobian of any link is J H = [S E B | J_arm], and torques
and accelerations of wheels and joints follow from those of the tree:

    tau_u = H^T tau(q, H u, H u' + H' u).

Source: Bruyninckx 2010, chapter 10, completed (C-142).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import check_count, check_number, float_array, vector
from ...arms.inverse.position import (
    InverseKinematicsResult,
    check_positions,
    check_targets,
    rigid_defect,
)
from ...arms.inverse.velocity import InverseVelocityResult, inverse_velocity
from ...arms.inverse.weighted_inverse import WeightedInverse
from ...constraints.motion_constraint import MotionConstraint
from ...description.urdf import read_urdf
from ...errors import ArgumentError, DescriptionError
from ...kinematics.pose_error import pose_error
from ...mobile import planar
from ...mobile.wheeled_platform import WheeledPlatform
from ...robot.robot import Robot
from ...tree.joint_limits import position_limits
from ...types import Array
from .platform_description import base_joints, on_planar_joint, platform_from

Indices = NDArray[np.intp]
MAX_STEP = 0.5  # rad, m; largest pose error used in one step


class MobileManipulator:
    """An arm on a wheeled platform.

    Parameters
    ----------
    robot : Robot
        With a planar joint between the ground and the platform, see
        `description.on_planar_joint`; its child link is the frame of the platform. Wheels that are
        joints of the robot, identified by name, rotate with the motion of the platform.
    platform : WheeledPlatform
    joint : str
        Name of the planar joint, or of the macro joint that replaces it.
    wheel_inertia : float or (n,)
        Inertia of each driven wheel with its rotor, about its axle [kg m^2], for wheels that are
        not joints of the robot.

    Attributes
    ----------
    robot, platform
    nu : int
        Number of rates: n driven wheels, then the other joints in the order of the robot.
    """

    def __init__(
        self,
        robot: Robot,
        platform: WheeledPlatform,
        joint: str = 'mobile_base',
        wheel_inertia: ArrayLike = 0.0,
    ) -> None:
        base = base_joints(robot.description, joint)
        self.robot, self.platform, self.link = robot, platform, base[-1].child
        self._q, self._v = _places(robot, [each.name for each in base])
        self._n = len(platform.driven)
        spinning = {
            _places(robot, [wheel.name])[1][0]: k
            for k, wheel in enumerate(platform.driven)
            if wheel.name in robot.joint_names
        }
        self._arm = np.delete(np.arange(robot.nv), [*self._v, *spinning])
        self.nu = self._n + len(self._arm)
        self._constant = np.zeros((robot.nv, self.nu))
        self._constant[self._arm, np.arange(self._n, self.nu)] = 1.0
        self._constant[list(spinning), list(spinning.values())] = 1.0
        J = np.atleast_1d(float_array('wheel_inertia', wheel_inertia))
        if J.shape not in ((1,), (self._n,)) or not (np.isfinite(J) & (J >= 0.0)).all():
            raise ArgumentError(
                f'wheel_inertia must be finite and >= 0, one number or {self._n}, got '
                f'{wheel_inertia!r}'
            )
        J = np.broadcast_to(J, (self._n,))
        self._rotors = np.concatenate([J, np.zeros(len(self._arm))])

    @classmethod
    def from_urdf(
        cls,
        text_or_path: str | Path,
        content: Mapping[str, Any],
        *,
        where: str = 'the platform',
        **options: Any,
    ) -> MobileManipulator:
        """Return the robot of a URDF on the platform of a small file.

        Parameters
        ----------
        text_or_path : str or Path
            URDF; its root link is the platform, unless it already has the planar joint.
        content : mapping
            Contents of the file: `platform` (see `description.platform_from`) and optionally
            `joint` and `odom`, the names of the planar joint and of its parent link, and
            `wheel_inertia` [kg m^2].
        where : str
            The file, for messages.
        **options
            Options of `Robot`.
        """
        known = {'platform', 'joint', 'odom', 'wheel_inertia'}
        if not isinstance(content, Mapping) or set(content) - known or 'platform' not in content:
            raise DescriptionError(
                f'{where}: expected platform, and optionally joint, odom and wheel_inertia, got '
                f'{content!r}'
            )
        platform = platform_from(content['platform'], where)
        description, joint = read_urdf(text_or_path), content.get('joint', 'mobile_base')
        if not {joint, f'{joint}1'} & {each.name for each in description.joints}:
            description = on_planar_joint(
                description, joint=joint, odom=content.get('odom', 'odom')
            )
        robot = Robot(description, **options)
        return cls(robot, platform, joint, content.get('wheel_inertia', 0.0))

    # --- kinematics -----------------------------------------------------------------------------

    def rates(self, q: ArrayLike, u: ArrayLike, steering: ArrayLike = ()) -> Array:
        """Return the velocity v (nv,) of the tree for wheel and joint rates u (nu,)."""
        return self.rate_map(q, steering) @ vector('u', self.nu, u)

    def rate_map(self, q: ArrayLike, steering: ArrayLike = ()) -> Array:
        """Return H(q), (nv, nu)."""
        phi = vector('q', self.robot.nq, q)[self._q][2]
        B, H = self.platform.rolling_map(steering), self._constant.copy()
        H[self._v, : self._n] = np.concatenate([planar.rotation(phi) @ B[1:], B[:1]])
        return H

    def jacobian(
        self,
        q: ArrayLike,
        link: str,
        representation: str = 'hybrid',
        steering: ArrayLike = (),
    ) -> Array:
        """Return [S E B | J_arm], (6, nu): the twist of a link for wheel and joint rates."""
        return self.robot.jacobian(q, link, representation) @ self.rate_map(q, steering)

    def inverse_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: str,
        *,
        base_weight: float = 1.0,
        steering: ArrayLike = (),
        representation: str = 'hybrid',
        rows: slice = slice(None),
        **options: object,
    ) -> InverseVelocityResult:
        """Return wheel and joint rates for a twist (6,) of a link, as `Robot.inverse_velocity`.

        Parameters
        ----------
        base_weight : float
            Weight of wheel rates relative to joint rates, positive: a large value keeps the base at
            rest while the motion of the arm is sufficient.
        rows : slice
            Rows of the twist to achieve: slice(3, 6) for the velocity of the link's origin.
        **options
            task_metric, damping, secondary, cutoff.
        """
        check_number('base_weight', base_weight, positive=True)
        metric = np.concatenate([np.full(self._n, base_weight), np.ones(len(self._arm))])
        J = self.jacobian(q, link, representation, steering)
        target = vector('the twist', 6, twist)
        return inverse_velocity(J[rows], target[rows], joint_metric=metric, **options)  # type: ignore[arg-type]

    def inverse_kinematics(
        self,
        target: ArrayLike,
        link: str,
        q0: ArrayLike,
        *,
        base_weight: float = 1.0,
        **options: int,
    ) -> InverseKinematicsResult:
        """Return a configuration near q0 that moves a link to a pose (4, 4) with base and arm.

        Each step has the least weighted norm; `base_weight` is the weight of the base (per rad and
        m) relative to a joint. `odometry.turn_drive_turn` can move the platform there.
        `max_iterations` is one of the options.
        """
        check_number('base_weight', base_weight, positive=True)
        weights = np.ones(self.robot.nv)
        weights[self._v] = base_weight
        return weighted_inverse_kinematics(self.robot, target, link, q0, weights, **options)

    # --- dynamics -------------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: ArrayLike, u: ArrayLike, du: ArrayLike, steering: ArrayLike = ()
    ) -> Array:
        """Return torques of wheels and joints (nu,) [N m, N] for rates u and their rates du.

        Steering angles are constant. Wheel rates must be consistent; the torques contain no
        internal forces.
        """
        H, rate = self.rate_map(q, steering), self._rate_map_rate(q, u, steering)
        u, du = vector('u', self.nu, u), vector('du', self.nu, du)
        tau = self.robot.inverse_dynamics(q, H @ u, H @ du + rate @ u)
        return H.T @ tau + self._rotors * du

    def forward_dynamics(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, steering: ArrayLike = ()
    ) -> Array:
        """Return du (nu,) for torques of wheels and joints (nu,), without slip.

        Dependent wheels rotate with the motion of the platform, and internal forces among their
        torques have no effect.
        """
        H, S = self.rate_map(q, steering), self._consistent(steering)
        M = H.T @ self.robot.mass_matrix(q) @ H + S.T @ (self._rotors[:, None] * S)
        rest = self.inverse_dynamics(q, u, np.zeros(self.nu), steering)
        return WeightedInverse(M).solve(S.T @ (vector('tau', self.nu, tau) - rest))

    def _consistent(self, steering: ArrayLike) -> Array:
        """Return the projector (nu, nu) on rates without slip."""
        platform, S = self.platform, np.eye(self.nu)
        rolling = platform.drive_matrix(steering) @ platform.rolling_map(steering)
        S[: self._n, : self._n] = rolling / platform.radii[:, None]
        return S

    def no_slip(self, steering: ArrayLike = (), **keywords: object) -> MotionConstraint | None:
        """Return the constraint that no wheel slips, for `Robot.constrained_dynamics`.

        None for an omnidirectional platform. Keywords are those of `MotionConstraint`, for example
        alpha, which stabilizes the slip at zero (C-070).
        """
        A = self.platform.slip_matrix(steering)
        if not len(A):
            return None
        wrenches = planar.EMBEDDING @ A.T
        return MotionConstraint(
            self.link,
            wrenches,
            representation='body',
            name='no slip',
            **keywords,  # type: ignore[arg-type]
        )

    # --- the base and odometry ------------------------------------------------------------------

    def configuration(self, pose: ArrayLike, arm: ArrayLike) -> Array:
        """Return q (nq,) for a pose (phi, x, y) of the platform and positions of all joints."""
        phi, x, y = vector('the pose', 3, pose)
        q = self.robot.neutral()
        q[self._q] = x, y, phi
        others = np.delete(np.arange(self.robot.nq), self._q)
        q[others] = vector('arm', len(others), arm)
        return q

    def platform_pose(self, q: ArrayLike) -> Array:
        """Return (phi, x, y) of the platform."""
        x, y, phi = vector('q', self.robot.nq, q)[self._q]
        return np.array([phi, x, y])

    def _rate_map_rate(self, q: ArrayLike, u: ArrayLike, steering: ArrayLike) -> Array:
        """Return H', (nv, nu): only R(phi) changes."""
        phi = vector('q', self.robot.nq, q)[self._q][2]
        B = self.platform.rolling_map(steering)
        omega = B[0] @ vector('u', self.nu, u)[: self._n]
        rate = np.zeros((self.robot.nv, self.nu))
        turning = omega * planar.QUARTER_TURN @ planar.rotation(phi)
        rate[self._v[:2], : self._n] = turning @ B[1:]
        return rate


def _places(robot: Robot, joints: Sequence[str]) -> tuple[Indices, Indices]:
    """Return the indices of the coordinates of joints in q, and of their velocities in v."""
    both = [robot.joint_coordinates(name) for name in joints]
    q, v = (np.concatenate([np.arange(s.start, s.stop) for s in part]) for part in zip(*both))
    return q, v


def weighted_inverse_kinematics(
    robot: Robot,
    target: ArrayLike,
    link: str,
    q0: ArrayLike,
    weights: Array,
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
    damping: float = 0.03,
) -> InverseKinematicsResult:
    """Return a configuration near q0 that moves a link to a pose, with weighted coordinates.

    Damped Newton steps of least weighted norm, dq = W^-1 J^T (J W^-1 J^T + lambda^2)^-1 e, with
    lambda proportional to the error. Joints stop at their limits, and the other joints continue
    (Bruyninckx 2010, 5.9, 5.10; C-026, C-043). There is no restart, so the result is near q0.

    Parameters
    ----------
    robot : Robot
        Without floating joints.
    target : (4, 4)
    link : str
    q0 : (nq,)
    weights : (nv,)
        Positive.
    max_iterations : int
    tolerance : float
        Largest accepted pose error, (rotation [rad], displacement [m]) in one norm.
    damping : float
        Ratio of lambda and the norm of the error.

    Raises
    ------
    ArgumentError
        Wrong shapes, numbers that are not finite, a target that is not a pose.
    """
    check_count('max_iterations', max_iterations)
    check_number('tolerance', tolerance, positive=True)
    check_number('damping', damping)
    C = _pose(target, link)
    q = vector('q0', robot.nq, q0)
    if not np.isfinite(q).all() or robot.nq != robot.nv:
        raise ArgumentError('q0 must be finite, of a robot without floating joints')
    lower, upper = position_limits(robot)
    q = np.clip(q, lower, upper)
    for k in range(max_iterations + 1):
        e = pose_error(robot.link_pose(q, link), C)
        residual = float(np.linalg.norm(e))
        if residual <= tolerance:
            return InverseKinematicsResult(q, True, residual, k, 'converged')
        if k == max_iterations:
            break
        e = e * min(1.0, MAX_STEP / residual)
        q = _step(q, robot.jacobian(q, link, 'body'), e, weights, (lower, upper), damping)
    return InverseKinematicsResult(
        q,
        False,
        residual,
        max_iterations,
        f'the residual is {residual:.3g} after {max_iterations} iterations; the pose is out of '
        'reach, or another q0 is needed',
    )


def _step(
    q: Array, J: Array, e: Array, weights: Array, bounds: tuple[Array, Array], damping: float
) -> Array:
    """Return q after one step; joints stop at their limits."""
    lower, upper = bounds
    held = np.zeros(len(q), dtype=bool)
    while True:
        free = ~held
        solver = WeightedInverse(J[:, free], domain_metric=weights[free])
        moved = q.copy()
        moved[free] += solver.solve(e, damping * float(np.linalg.norm(e)))
        beyond = free & ((moved < lower) | (moved > upper))
        at_limit = beyond & ((q <= lower) | (q >= upper))
        if not at_limit.any():
            return np.clip(moved, lower, upper)
        held |= at_limit


def _pose(target: ArrayLike, link: str) -> Array:
    C = float_array('target', target)
    if C.shape != (4, 4):
        raise ArgumentError(f'target must have shape (4, 4), got {C.shape}')
    check_positions(C, [link])
    check_targets([float(rigid_defect(C))], [link])
    return C
