# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques of the motors: commands, joint servos, and the posture that is held without commands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from screw_dynamics_ros.core.simulation.joint_servo import JointServo
from screw_dynamics_ros.core.simulation.reference_motion import ReferenceMotion
from screw_dynamics_ros.core.simulation.servo_reference import ServoReference
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.nodes.simulation.joint_targets import (
    EFFORT,
    POSITION,
    JointTargets,
    Wanted,
)

#: Returns a slow motion that begins at given positions (n,).
MakeReference = Callable[[Array], ReferenceMotion]


class Motors:
    """The motors of the joints with one coordinate; nothing else is driven.

    While a command is active, joints with efforts get exactly these, and servos move the others
    to their targets, or hold them. `ServoReference` leads to targets that jump. Without any command
    soft servos follow a slow motion.

    Parameters
    ----------
    joints : ScalarJoints
    targets : JointTargets
        Of these joints.
    servo, posture_servo : JointServo
        While there are commands, and without.
    reference : callable
        Returns the slow motion from given positions (n,).
    """

    def __init__(
        self,
        joints: ScalarJoints,
        targets: JointTargets,
        servo: JointServo,
        posture_servo: JointServo,
        reference: MakeReference,
    ) -> None:
        self._joints, self._targets = joints, targets
        self._servo, self._posture_servo = servo, posture_servo
        self._make_reference = reference
        self._reference: ReferenceMotion | None = None
        self._elapsed = 0.0  # of the slow motion; the time of the system may skip some
        # A joint state tells the torques of its time, and the step from there begins with them.
        self._known: tuple[tuple[int, int], Array] = (-1, -1), np.zeros(joints.robot.nv)
        robot = joints.robot
        limits = [robot.limits.effort[robot.joint_names.index(name)] for name in joints.joints]
        self._limit = np.zeros(robot.nv)
        self._limit[joints.v_places] = limits
        self._profile = ServoReference(servo, joints.joints)
        self._scalar = [robot.joint_names.index(name) for name in joints.joints]

    def hold(self, q: Array) -> None:
        """Forget all commands, and hold the posture of a configuration (nq,) from now on."""
        self._targets.hold(self._joints.positions_of_joints(q))
        self._reference = None
        self._profile.start(self._targets.at(0)[1], np.zeros(len(self._joints.joints)))

    def prepare(self, q: Array) -> None:
        """Compile what commands will need."""
        self._profile.accelerations(q)

    def advance(self, now: int, dt: float, q: Array, v: Array) -> None:
        """Let the references of the servos move on by dt [s], to a time [ns] and a state there."""
        targets, joints, profile = self._targets, self._joints, self._profile
        interfaces, positions, velocities, _ = targets.at(now)
        is_effort = np.array([interface == EFFORT for interface in interfaces])
        if targets.is_idle or is_effort.all():
            profile.start(joints.positions_of_joints(q), joints.of_joints(v))
            self._elapsed += dt
            return
        to_position = np.array([interface == POSITION for interface in interfaces])
        profile.advance(q, v, dt, positions, velocities, to_position=to_position, is_free=is_effort)

    def torques(self, now: int, timeout: float, q: Array, v: Array) -> Array:
        """Return the torques (nv,) in a state, within their limits [N m, N].

        Parameters
        ----------
        now : int
            Time of the simulation [ns].
        timeout : float
            How long commands apply [s].
        q, v : (nq,), (nv,) arrays
        """
        targets, joints = self._targets, self._joints
        if self._known[0] == (now, targets.changes):
            return self._known[1]
        targets.expire(now, timeout, joints.positions_of_joints(q))
        if targets.is_idle:
            if self._reference is None:
                self._reference = self._make_reference(joints.positions_of_joints(q))
                self._elapsed = 0.0
            wanted = self._reference.at(self._elapsed)
            idle = [POSITION] * len(joints.joints), *wanted, np.zeros(len(joints.joints))
            tau = self._driven(self._posture_servo, q, v, idle)
        else:
            self._reference = None
            interfaces, _, _, efforts = targets.at(now)
            followed = interfaces, self._profile.q, self._profile.v, efforts
            tau = self._driven(self._servo, q, v, followed)
        result: Array = np.clip(tau, -self._limit, self._limit)
        self._known = (now, targets.changes), result
        return result

    def _driven(self, servo: JointServo, q: Array, v: Array, wanted: Wanted) -> Array:
        """Return the torques (nv,) of a servo; joints with several freedoms are not driven."""
        modes = [EFFORT] * len(self._joints.robot.joint_names)
        for place, interface in zip(self._scalar, wanted[0]):
            modes[place] = interface
        return servo.torques(q, v, modes, *map(self._joints.whole_v, wanted[1:]))
