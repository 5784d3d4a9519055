# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motor torques: commands, joint servos, and a held posture without commands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from screw_dynamics_ros.core.simulation.joint_servo import JointServo, ServoReference
from screw_dynamics_ros.core.simulation.posture import ReferenceMotion
from screw_dynamics_ros.core.types import Array

from ..model.scalar_joints import ScalarJoints
from .joint_targets import EFFORT, POSITION, JointTargets, Wanted

#: Returns a slow motion that starts at given positions (n,).
MakeReference = Callable[[Array], ReferenceMotion]


class Motors:
    """The motors of the joints with one coordinate; other joints have no motors.

    While a command is active, effort commands are applied directly, and servos move the other
    joints to their targets or hold them. `ServoReference` smooths steps of the targets. Without any
    command, soft servos track a slow motion.

    Parameters
    ----------
    joints : ScalarJoints
    targets : JointTargets
        Targets of these joints.
    servo, posture_servo : JointServo
        Servos with and without active commands.
    reference : callable
        Returns the slow motion that starts at given positions (n,).
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
        self._elapsed = 0.0  # s of the slow motion; not the clock, which may skip time
        # A joint state reports the torques with which the next integration step begins.
        self._known: tuple[tuple[int, int], Array] = (-1, -1), np.zeros(joints.robot.nv)
        robot = joints.robot
        limits = [robot.limits.effort[robot.joint_names.index(name)] for name in joints.joints]
        self._limit = np.zeros(robot.nv)
        self._limit[joints.v_places] = limits
        self._profile = ServoReference(servo, joints.joints)
        self._scalar = [robot.joint_names.index(name) for name in joints.joints]

    def hold(self, q: Array) -> None:
        """Discard all commands, and hold a configuration (nq,)."""
        self._targets.hold(self._joints.positions_of_joints(q))
        self._reference = None
        self._profile.start(self._targets.at(0)[1], np.zeros(len(self._joints.joints)))

    def prepare(self, q: Array) -> None:
        """Compile the functions that commands need."""
        self._profile.accelerations(q)

    def advance(self, now: int, dt: float, q: Array, v: Array) -> None:
        """Advance the references of the servos by dt [s], to the state at a time [ns]."""
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
            Timeout of commands [s].
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
        """Return the torques (nv,) of a servo; zero for joints with several coordinates."""
        modes = [EFFORT] * len(self._joints.robot.joint_names)
        for place, interface in zip(self._scalar, wanted[0]):
            modes[place] = interface
        return servo.torques(q, v, modes, *map(self._joints.whole_v, wanted[1:]))
