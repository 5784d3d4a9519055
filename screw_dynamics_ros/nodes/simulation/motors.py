"""Torques of the motors: commands, joint servos, and the posture that is held without commands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from screw_dynamics_ros.core.simulation.joint_servo import JointServo
from screw_dynamics_ros.core.simulation.reference_motion import ReferenceMotion
from screw_dynamics_ros.core.simulation.reference_profile import ReferenceProfile
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.scalar_joints import ScalarJoints
from screw_dynamics_ros.nodes.simulation.joint_targets import (
    EFFORT,
    POSITION,
    JointTargets,
    Wanted,
)

#: Part of the torque left by gravity that steps of targets may take to accelerate a joint: the
#: others, which move it too, and the servo need the rest.
SHARE = 0.3
#: Part that the servo may ask for against an error: the reference gives way to larger ones.
YIELDING = 0.8
TINY = 1e-9
LEAST_LEFT = 0.1  # of the limit, where gravity takes nearly all of it

#: Returns a slow motion that begins at given positions (n,).
MakeReference = Callable[[Array], ReferenceMotion]


class Motors:
    """The motors of the joints with one coordinate; nothing else is driven.

    While a command is in force, joints with efforts get exactly these, and servos move the others
    to their targets, or hold them. Targets that jump are approached with the velocity limit and an
    acceleration that takes a part of the effort limit, and give way to a joint that is pushed away
    (`ReferenceProfile`): saturated servos would make an arm swing widely. Without any command soft
    servos follow a slow motion.

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
        velocity = [robot.limits.velocity[robot.joint_names.index(name)] for name in joints.joints]
        self._profile = ReferenceProfile(np.array(velocity))
        self._scalar = [robot.joint_names.index(name) for name in joints.joints]

    def hold(self, q: Array) -> None:
        """Forget all commands, and hold the posture of a configuration (nq,) from now on."""
        self._targets.hold(self._joints.positions_of_joints(q))
        self._reference = None
        self._profile.start(self._targets.at(0)[1], np.zeros(len(self._joints.joints)))

    def prepare(self, q: Array) -> None:
        """Compile what commands will need."""
        self._accelerations(q)

    def advance(self, now: int, dt: float, q: Array, v: Array) -> None:
        """Let the references of the servos move on by dt [s], to a time [ns] and a state there."""
        targets, joints, profile = self._targets, self._joints, self._profile
        present, rates = joints.positions_of_joints(q), joints.of_joints(v)
        interfaces, positions, velocities, _ = targets.at(now)
        is_effort = np.array([interface == EFFORT for interface in interfaces])
        if targets.is_idle or is_effort.all():
            profile.start(present, rates)
            self._elapsed += dt
            return
        is_position = np.array([interface == POSITION for interface in interfaces])
        # A joint that turns with a velocity has no position to go to.
        profile.start(
            np.where(is_position, profile.q, present), np.where(is_effort, rates, profile.v)
        )
        possible = self._accelerations(q)
        profile.stay_near(present, rates, *self._largest_errors(possible))
        profile.approach(
            np.where(is_position, positions, present), velocities, SHARE * possible, dt
        )

    def _accelerations(self, q: Array) -> Array:
        """Return what each joint can do alone with the torque left by gravity, (n,) [1/s^2]."""
        robot, limit = self._joints.robot, self._limit
        left = np.maximum(limit - np.abs(robot.gravity_torques(q)), LEAST_LEFT * limit)
        return self._joints.of_joints(left / np.diag(robot.mass_matrix(q)))

    def _largest_errors(self, possible: Array) -> tuple[Array, Array]:
        """Return the errors of position and velocity (n,) against which the servo has torque."""
        w, zeta, most = self._servo.frequency, self._servo.damping_ratio, YIELDING * possible
        return most / w**2, most / max(2.0 * zeta * w, TINY)

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
