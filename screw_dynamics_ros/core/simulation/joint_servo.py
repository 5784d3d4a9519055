# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint servos: torques for tracking of positions or velocities, and references within reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_number, vector
from ..dynamics.drive_forces import AvailableTorques
from ..errors import ArgumentError, UnknownNameError
from ..robot.robot import Robot
from ..types import Array

MODES = ('effort', 'position', 'velocity')
#: Part of the largest deceleration with which a goal is approached; the rest makes up for steps.
DECELERATION_SHARE = 0.8

MAX_LIMIT = 1e9  # rad/s, m/s; 1/s^2: instead of infinite limits
#: Part of the torque left by gravity that steps of targets may take to accelerate a joint: the
#: others, which move it too, and the servo need the rest.
ACCELERATION_SHARE = 0.3
#: Part that the servo may ask for against an error: the reference yields to larger ones.
ERROR_SHARE = 0.8
MIN_SHARE_LEFT = 0.1  # of the effort limit, where gravity takes nearly all of it
MIN_GAIN = 1e-9  # 1/s


class JointServo:
    r"""Servos of the joints of a robot, each in one of three modes.

    The desired acceleration of a joint in position or velocity mode is that of a linear
    oscillator::

        position    a = w^2 (q_ref - q) + 2 zeta w (v_ref - v)
        velocity    a = 2 zeta w (v_ref - v)

    independent of the other joints. Its stiffness is thus w^2 times the inertia that it moves. A
    joint in effort mode, and a floating base, have exactly the commanded torque. With the tracking
    joints S and the others E, the accelerations a_E and the torques tau_S follow from (hybrid
    dynamics)::

        M_EE a_E = tau_E - h_E - M_ES a_S,    tau_S = M_SS a_S + M_SE a_E + h_S

    where h are the torques of the motion without acceleration: Coriolis, gravity, friction. Servo
    torques are clipped at the effort limits of the description and the limits of the motors
    (`Drive.available_torques`); commanded torques are not. The servos do not compensate contacts
    and external wrenches: against these they act as springs.

    Parameters
    ----------
    robot : Robot
    frequency : float
        w, the natural frequency [rad/s]; steps of the torques should be shorter than 0.2 / w.
    damping_ratio : float
        zeta, 1 is critical.

    Raises
    ------
    ArgumentError
        A frequency that is not positive, or a damping ratio below zero.

    Examples
    --------
    The arm of unit lengths and masses, M = [[3, 1], [1, 1]] with its elbow at a right angle, w = 2:
    a position error of 0.25 rad in the shoulder gives 1 rad/s^2; the elbow is free.

    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, 0, 0), backend='reference')
    >>> servo, zero = JointServo(robot, frequency=2.0), np.zeros(2)
    >>> tau = servo.torques(zero, zero, ['position', 'effort'], np.array([0.25, 0]), zero, zero)
    >>> robot.forward_dynamics(zero, zero, tau)[0].round(9), tau[1]
    (np.float64(1.0), np.float64(0.0))
    """

    def __init__(self, robot: Robot, frequency: float = 50.0, damping_ratio: float = 1.0) -> None:
        check_number('the natural frequency of the servo', frequency, positive=True)
        check_number('the damping ratio of the servo', damping_ratio)
        self.robot = robot
        self.available_torques = AvailableTorques(robot.tree)
        self.frequency, self.damping_ratio = float(frequency), float(damping_ratio)
        places = [robot.joint_coordinates(name) for name in robot.joint_names]
        self._single = [v.stop - v.start == 1 for _, v in places]
        self._v = [v.start for _, v in places]
        self._q = np.array([q.start for q, _ in places], dtype=int)

    def torques(
        self,
        q: Array,
        v: Array,
        modes: Sequence[str],
        positions: ArrayLike,
        velocities: ArrayLike,
        efforts: ArrayLike,
    ) -> Array:
        """Return the torques (nv,) in the state q (nq,), v (nv,) [N m, N].

        Parameters
        ----------
        modes : sequence of str
            One of `MODES` for each of `Robot.joint_names`; free, ball and planar joints take
            efforts.
        positions, velocities, efforts : (nv,) arrays
            Commands in the order of v [rad, m; rad/s, m/s; N m, N]. In position mode the velocity
            is that of the reference, 0 for a constant position. Values that a mode does not use may
            be NaN.

        Raises
        ------
        ArgumentError
            Wrong shapes or numbers of modes, a command that is read and not finite, a mode that the
            joint cannot have.
        UnknownNameError
            No such mode.
        """
        nv = self.robot.nv
        following, holding = self._followed(modes)
        positions, velocities, efforts = (
            vector(name, nv, value)
            for name, value in zip(
                ('positions', 'velocities', 'efforts'), (positions, velocities, efforts)
            )
        )
        w, zeta = self.frequency, self.damping_ratio
        a = np.zeros(nv)
        a[following] = 2 * zeta * w * (velocities[following] - v[following])
        places = self._coordinates(holding)
        a[holding] += w**2 * (positions[holding] - q[places])
        is_driven = np.ones(nv, dtype=bool)
        is_driven[following] = False
        driven = np.flatnonzero(is_driven)
        self._check(np.isfinite(a), 'a position or velocity')
        finite = np.isfinite(efforts)
        finite[following] = True
        self._check(finite, 'an effort')
        return self._with_accelerations(q, v, a, efforts, following, driven)

    def _with_accelerations(
        self,
        q: Array,
        v: Array,
        a: Array,
        efforts: Array,
        following: NDArray[np.intp],
        driven: NDArray[np.intp],
    ) -> Array:
        """Return the torques under which the joints `following` have the accelerations a."""
        tau = efforts.copy()
        if not following.size:
            return tau
        M, h = self.robot.mass_matrix(q), self.robot.inverse_dynamics(q, v, np.zeros(len(v)))
        if driven.size:
            rest = efforts[driven] - h[driven] - M[np.ix_(driven, following)] @ a[following]
            a[driven] = np.linalg.solve(M[np.ix_(driven, driven)], rest)
        lower, upper = (limits[following] for limits in self.available_torques(v))
        tau[following] = np.clip(M[following] @ a + h[following], lower, upper)
        return tau

    def _followed(self, modes: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places in v of joints not in effort mode, and of those in position mode."""
        names = self.robot.joint_names
        if len(modes) != len(names):
            raise ArgumentError(
                f'there must be one mode for each of the {len(names)} joints, got {len(modes)}'
            )
        for name, mode, single in zip(names, modes, self._single):
            if mode not in MODES:
                raise UnknownNameError(
                    f'no mode {mode!r} of joint {name!r}; choose one of {", ".join(MODES)}'
                )
            if mode != 'effort' and not single:
                raise ArgumentError(
                    f'joint {name!r} has several freedoms and takes efforts only, not {mode!r}'
                )
        places = list(zip(self._v, modes))
        following = [k for k, mode in places if mode != 'effort']
        return (
            np.array(following, dtype=np.intp),
            np.array([k for k, mode in places if mode == 'position'], dtype=np.intp),
        )

    def _coordinates(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where the joints at some places in v stand in q."""
        return self._q[np.searchsorted(self._v, places)]

    def _check(self, good: NDArray[np.bool_], what: str) -> None:
        """Raise `ArgumentError` for the first place that is not good."""
        if not good.all():
            place = int(np.argmin(good))
            joints = dict(zip(self._v, self.robot.joint_names))
            name = joints.get(place, self.robot.link_names[0])
            raise ArgumentError(f'{what} commanded to {name!r} is not finite')


class ReferenceProfile:
    """Positions and velocities of n joints that move to goals.

    A joint approaches its goal with a velocity from which it can stop there, sqrt(2 a d) at the
    distance d, and accelerates by no more than a: steps do not reach the motors. A goal that moves
    with a velocity that is given is followed without delay; without that, as it may stop any time,
    the joint is behind it by the distance in which it could stop itself.

    Parameters
    ----------
    velocity : (n,) array
        Largest velocities [rad/s, m/s].

    Attributes
    ----------
    q, v : (n,) arrays
        The references [rad, rad/s; m, m/s].

    Examples
    --------
    One unit at 2 units per second squared and at most one per second, after half a second:

    >>> profile = ReferenceProfile(np.array([1.0]))
    >>> profile.start(np.zeros(1), np.zeros(1))
    >>> for _ in range(500):
    ...     profile.approach(np.ones(1), np.zeros(1), np.array([2.0]), 0.001)
    >>> profile.q.round(2), profile.v.round(2)
    (array([0.25]), array([1.]))
    """

    def __init__(self, velocity: Array) -> None:
        self._velocity = np.minimum(velocity, MAX_LIMIT)
        self.q, self.v = np.zeros(len(velocity)), np.zeros(len(velocity))

    def start(self, q: Array, v: Array) -> None:
        """Begin at positions and velocities (n,)."""
        self.q, self.v = np.array(q), np.array(v)

    def stay_near(self, q: Array, v: Array, position_error: Array, velocity_error: Array) -> None:
        """Let the references be no further than these errors (n,) from a state q, v (n,)."""
        self.q = np.clip(self.q, q - position_error, q + position_error)
        self.v = np.clip(self.v, v - velocity_error, v + velocity_error)

    def approach(self, goal: Array, goal_velocity: Array, acceleration: Array, dt: float) -> None:
        """Move on by dt [s] towards goals (n,) that move, with bounded accelerations (n,)."""
        distance = goal - self.q
        bound = np.minimum(acceleration, MAX_LIMIT)
        fastest = np.minimum(
            self._velocity, np.sqrt(2.0 * DECELERATION_SHARE * bound * np.abs(distance))
        )
        wanted = np.sign(distance) * np.minimum(fastest, np.abs(distance) / dt)
        self.v = self.v + np.clip(goal_velocity + wanted - self.v, -bound * dt, bound * dt)
        self.q = self.q + self.v * dt


class ServoReference(ReferenceProfile):
    """Positions and velocities that the servos of some joints follow to their targets.

    Targets that jump are approached with the velocity limit and an acceleration that takes a part
    of the effort limit, and yield to a joint that is pushed away: saturated servos would make an
    arm swing widely.

    Parameters
    ----------
    servo : JointServo
    joints : sequence of str
        Joints with one coordinate.

    Examples
    --------
    The arm of urdf/planar_2r.urdf stretched out, with inertias of 4.25 and 0.25 kg m^2 and limits
    of 100 and 50 N m; a step of the elbow begins with 0.3 of the acceleration that it can have:

    >>> from screw_dynamics_ros.core import Robot
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, 0, 0), backend='reference')
    >>> reference = ServoReference(JointServo(robot), robot.joint_names)
    >>> zero, both = np.zeros(2), np.array([True, True])
    >>> reference.accelerations(zero).round(3)
    array([ 23.529, 200.   ])
    >>> target = np.array([0.0, 1.0])
    >>> reference.advance(zero, zero, 0.001, target, zero, to_position=both, is_free=~both)
    >>> reference.v
    array([0.  , 0.06])
    """

    def __init__(self, servo: JointServo, joints: Sequence[str]) -> None:
        robot = servo.robot
        rows = [robot.joint_names.index(name) for name in joints]
        super().__init__(np.array([robot.limits.velocity[row] for row in rows]))
        places = [robot.joint_coordinates(name) for name in joints]
        self._q_places = np.array([q.start for q, _ in places], dtype=np.intp)
        self._v_places = np.array([v.start for _, v in places], dtype=np.intp)
        self._robot, self._servo = robot, servo
        self._limit = np.zeros(robot.nv)
        self._limit[self._v_places] = [robot.limits.effort[row] for row in rows]

    def accelerations(self, q: Array) -> Array:
        """Return what each joint can do alone with the torque left by gravity, (n,) [1/s^2]."""
        robot, limit = self._robot, self._limit
        left = np.maximum(limit - np.abs(robot.gravity_torques(q)), MIN_SHARE_LEFT * limit)
        result: Array = (left / np.diag(robot.mass_matrix(q)))[self._v_places]
        return result

    def advance(
        self,
        q: Array,
        v: Array,
        dt: float,
        positions: Array,
        velocities: Array,
        *,
        to_position: NDArray[np.bool_],
        is_free: NDArray[np.bool_],
    ) -> None:
        """Move on by dt [s], to a state q (nq,), v (nv,) of the robot there.

        Parameters
        ----------
        positions, velocities : (n,) arrays
            Targets; positions are read where `to_position`: a joint that turns with a velocity has
            no position to go to.
        to_position : (n,) array of bool
            Joints in position mode.
        is_free : (n,) array of bool
            Joints without a servo: the reference is where they are.
        """
        present, rates = q[self._q_places], v[self._v_places]
        self.start(np.where(to_position, self.q, present), np.where(is_free, rates, self.v))
        possible = self.accelerations(q)
        self.stay_near(present, rates, *self._largest_errors(possible))
        goal = np.where(to_position, positions, present)
        self.approach(goal, velocities, ACCELERATION_SHARE * possible, dt)

    def _largest_errors(self, possible: Array) -> tuple[Array, Array]:
        """Return the errors of position and velocity (n,) against which the servo has torque."""
        w, zeta, most = self._servo.frequency, self._servo.damping_ratio, ERROR_SHARE * possible
        return most / w**2, most / max(2.0 * zeta * w, MIN_GAIN)
