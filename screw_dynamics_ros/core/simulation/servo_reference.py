# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""References that joint servos can follow with the torques left by gravity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..types import Array
from .joint_servo import JointServo
from .reference_profile import ReferenceProfile

#: Part of the torque left by gravity that steps of targets may take to accelerate a joint: the
#: others, which move it too, and the servo need the rest.
ACCELERATION_SHARE = 0.3
#: Part that the servo may ask for against an error: the reference gives way to larger ones.
ERROR_SHARE = 0.8
MIN_SHARE_LEFT = 0.1  # of the effort limit, where gravity takes nearly all of it
MIN_GAIN = 1e-9  # 1/s


class ServoReference(ReferenceProfile):
    """Positions and velocities that the servos of some joints follow on their way to targets.

    Targets that jump are approached with the velocity limit and an acceleration that takes a part
    of the effort limit, and give way to a joint that is pushed away: saturated servos would make an
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
