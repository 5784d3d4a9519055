# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot with its motors and external wrenches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.simulation.command_limiter import CommandLimiter
from screw_dynamics_ros.core.simulation.joint_servo import JointServo, ServoReference
from screw_dynamics_ros.core.simulation.posture import ReferenceMotion
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.names import shown
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.latest import Latest

from ..model.scalar_joints import ScalarJoints
from .joint_targets import EFFORT, POSITION, JointTargets, Targets

#: Returns a slow motion that starts at given positions (n,).
MakeReference = Callable[[Array], ReferenceMotion]
MAX_WRENCH = 1e9  # N, N m; beyond any real load, far below overflow
#: Parts of an integration step with impedance drives, which are constant in a part of length h.
MAX_PARTS = 16
MAX_DECAY = 0.5  # h kd / m of a part; 2 is unstable
MAX_SWING = 0.2  # h sqrt(kp / m) of a part [rad]


class Motors:
    """The motors of the joints with one coordinate; other joints have no motors.

    While a command is active, effort commands are applied directly, impedance drives have the
    torques of `Targets.drive_torques`, and servos move the other joints to their targets or hold
    them. `ServoReference` smooths steps of the targets of servos. Without any command, soft servos
    track a slow motion.

    Parameters
    ----------
    joints : ScalarJoints
    targets : JointTargets
        Targets of these joints.
    servo, posture_servo : JointServo
        Servos with and without active commands.
    reference : callable
        Returns the slow motion that starts at given positions (n,).

    Attributes
    ----------
    is_limited : bool
        Whether commanded efforts pass a `CommandLimiter`.
    excess : str
        A text about drives that are too stiff for the integration step; empty if there are none.
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
        self._known: tuple[tuple[int, ...], Array] = (), np.zeros(joints.robot.nv)
        self._profile = ServoReference(servo, joints.joints)
        self._scalar = [joints.robot.joint_names.index(name) for name in joints.joints]
        limits = joints.robot.limits
        self.is_limited, self._limiter = (
            False,
            CommandLimiter(
                *(
                    np.asarray(each)[self._scalar]
                    for each in (limits.lower, limits.upper, limits.velocity, limits.effort)
                )
            ),
        )
        self._drive_places = joints.v_places[targets.is_drive]
        self._drives: Targets | None = None  # of the current step, if drives are active
        self.excess = ''

    def hold(self, q: Array) -> None:
        """Discard all commands, and hold a configuration (nq,)."""
        self._targets.hold(self._joints.positions_of_joints(q))
        self._reference = None
        self._profile.start(self._targets.at(0).position, np.zeros(len(self._joints.joints)))

    def prepare(self, q: Array) -> None:
        """Compile the functions that commands need."""
        self._profile.accelerations(q)
        self._joints.robot.inverse_mass_matrix(q)

    def advance(self, now: int, dt: float, q: Array, v: Array) -> None:
        """Advance the references of the servos by dt [s], to the state at a time [ns]."""
        targets, joints, profile = self._targets, self._joints, self._profile
        wanted = targets.at(now)
        is_effort = np.array([mode == EFFORT for mode in wanted.modes])
        if targets.is_idle or is_effort.all():
            profile.start(joints.positions_of_joints(q), joints.of_joints(v))
            self._elapsed += dt
            return
        to_position = np.array([mode == POSITION for mode in wanted.modes])
        profile.advance(
            q, v, dt, wanted.position, wanted.velocity, to_position=to_position, is_free=is_effort
        )

    def torques(self, now: int, timeout: float, q: Array, v: Array) -> Array:
        """Return the torques (nv,) in a state, within the limits of joints and motors [N m, N].

        Parameters
        ----------
        now : int
            Time of the simulation [ns].
        timeout : float
            Timeout of commands [s].
        q, v : (nq,), (nv,) arrays
        """
        targets, joints = self._targets, self._joints
        if self._known[0] == (now, targets.changes, self.is_limited):
            return self._known[1]
        targets.expire(now, timeout, joints.positions_of_joints(q))
        self._drives = None
        if targets.is_idle:
            if self._reference is None:
                self._reference = self._make_reference(joints.positions_of_joints(q))
                self._elapsed = 0.0
            modes, zero = [POSITION] * len(joints.joints), np.zeros(len(joints.joints))
            position, velocity = self._reference.at(self._elapsed)
            tau = self._driven(self._posture_servo, q, v, modes, position, velocity, zero)
        else:
            self._reference = None
            wanted, profile = targets.at(now), self._profile
            if self.is_limited:
                state = joints.positions_of_joints(q), joints.of_joints(v)
                wanted = wanted._replace(effort=self._limiter.limited(wanted.effort, *state))
            efforts = wanted.effort
            if self._drive_places.size:
                self._drives = wanted
                efforts = self._drive_torques(wanted, q, v)
            tau = self._driven(self._servo, q, v, wanted.modes, profile.q, profile.v, efforts)
        result: Array = np.clip(tau, *self._servo.available_torques(v))
        self._known = (now, targets.changes, self.is_limited), result
        return result

    def parts(self, q: Array, dt: float) -> int:
        """Return the number of parts of a step of dt [s] that the active drives need, (nq,).

        With a constant torque in a part, the product of its length and an eigenvalue of M^-1 Kd
        must be below 2; their sum is that of kd times the diagonal of M^-1. `Motors.excess` names
        the joint of the largest if `MAX_PARTS` are not enough.
        """
        self.excess = ''
        if self._drives is None:
            return 1
        joints, drives = self._joints, self._drives
        mobility = joints.of_joints(np.diag(joints.robot.inverse_mass_matrix(q)))
        decay, swing = drives.damping * mobility, drives.stiffness * mobility
        rates = decay.sum() / MAX_DECAY, math.sqrt(swing.sum()) / MAX_SWING
        parts = math.ceil(dt * max(rates))
        if parts > MAX_PARTS:
            stiffest = (swing if rates[1] > rates[0] else decay).argmax()
            self.excess = (
                f'the drive of joint {joints.joints[stiffest]} is too stiff for steps of {dt:g} s '
                f'in {MAX_PARTS} parts; set step to {MAX_PARTS / max(rates):.2g}, or lower its '
                'gains'
            )
        return min(max(parts, 1), MAX_PARTS)

    def renewed(self, q: Array, v: Array) -> Array:
        """Return the torques of this step (nv,), with those of the drives in a new state."""
        tau, places = self._known[1].copy(), self._drive_places
        if self._drives is not None:
            torques = self._drive_torques(self._drives, q, v)[self._targets.is_drive]
            lower, upper = self._servo.available_torques(v)
            tau[places] = np.clip(torques, lower[places], upper[places])
        return tau

    def _drive_torques(self, targets: Targets, q: Array, v: Array) -> Array:
        """Return the torques (n,) of joints in mode EFFORT, before their limits."""
        joints = self._joints
        return targets.drive_torques(joints.positions_of_joints(q), joints.of_joints(v))

    def _driven(
        self, servo: JointServo, q: Array, v: Array, chosen: Sequence[str], *wanted: Array
    ) -> Array:
        """Return the torques (nv,) of a servo; zero for joints with several coordinates."""
        modes = [EFFORT] * len(self._joints.robot.joint_names)
        for place, mode in zip(self._scalar, chosen):
            modes[place] = mode
        return servo.torques(q, v, modes, *map(self._joints.whole_v, wanted))


class AppliedWrenches:
    """The last wrench on each link, active as soon as its Jacobian is compiled.

    Parameters
    ----------
    robot : Robot
    at_once : bool
        Whether to compile when a wrench arrives, while time is paused; otherwise in the background.
    """

    def __init__(self, robot: Robot, at_once: bool) -> None:
        self._robot, self._at_once = robot, at_once
        self._wrenches: dict[str, tuple[Array, int]] = {}  # by link
        self._compiled: set[str] = set()
        self._background: Latest[None] = Latest('wrenches')

    def push(self, link: str, wrench: Array, now: int) -> None:
        """Apply a wrench (6,), (moment, force) in the frame of a link at its origin, from now [ns].

        Raises `UnknownNameError` and `ArgumentError`.
        """
        if link not in self._robot.link_names:
            raise UnknownNameError(f'header.frame_id {shown(link)!r} is not a link')
        if not (np.abs(wrench) <= MAX_WRENCH).all():
            raise ArgumentError(
                f'a number of the wrench on {link!r} is not finite, or beyond {MAX_WRENCH:g}'
            )
        is_new = link not in self._wrenches
        self._wrenches[link] = wrench, now
        if is_new and self._at_once:
            self._compile(link)
        elif is_new:
            self._background.ask(self._compile_all)

    def acting(self, now: int, timeout: float) -> dict[str, Array]:
        """Return the wrenches (6,) by link that are not older than a timeout [s]."""
        earliest = now - round(timeout * NANOSECONDS)
        return {
            link: wrench
            for link, (wrench, arrival) in self._wrenches.items()
            if arrival >= earliest and link in self._compiled
        }

    def joint_torques(self, q: Array, wrenches: dict[str, Array]) -> Array:
        """Return the generalized forces (nv,) of wrenches by link [N m, N]."""
        total = np.zeros(self._robot.nv)
        for link, wrench in wrenches.items():
            total += self._robot.jacobian(q, link, 'body').T @ wrench
        return total

    def end(self) -> None:
        """End all wrenches."""
        for link, (wrench, _) in list(self._wrenches.items()):
            self._wrenches[link] = wrench, -(2**62)

    def _compile_all(self) -> None:
        """Compile the Jacobians for wrenches in the background."""
        for link in [link for link in list(self._wrenches) if link not in self._compiled]:
            with FAULTS.caught(f'a wrench at {link!r}'):
                self._compile(link)

    def _compile(self, link: str) -> None:
        self._robot.jacobian(self._robot.neutral(), link, 'body')
        self._compiled.add(link)


@dataclass(frozen=True)
class Timeouts:
    """Timeouts of commands and external wrenches [s]."""

    command: float
    wrench: float


class Plant:
    """The simulated robot, its motors and the external wrenches on it.

    Parameters
    ----------
    simulated : SimulatedRobot
        Its current state is the state after a reset.
    joints : ScalarJoints
    motors : Motors
    pushes : AppliedWrenches
    dt : float
        Length of a step of the integration [s].
    """

    def __init__(
        self,
        simulated: SimulatedRobot,
        joints: ScalarJoints,
        motors: Motors,
        pushes: AppliedWrenches,
        dt: float,
    ) -> None:
        self.simulated, self.joints = simulated, joints
        self.motors, self.pushes = motors, pushes
        self._dt = dt
        self._initial = simulated.save()
        self.motors.hold(simulated.q)

    def prepare(self, timeouts: Timeouts) -> None:
        """Compile the functions that steps and commands need."""
        self.simulated.prepare()
        self.motors.prepare(self.simulated.q)
        self.torques(0, timeouts)

    @property
    def positions(self) -> Array:
        """Positions of the joints, (n,) [rad, m]."""
        return self.joints.positions_of_joints(self.simulated.q)

    @property
    def velocities(self) -> Array:
        """Velocities of the joints, (n,) [rad/s, m/s]."""
        return self.joints.of_joints(self.simulated.v)

    def torques(self, now: int, timeouts: Timeouts) -> Array:
        """Return the torques of the motors (nv,) at a time [ns]."""
        return self.motors.torques(now, timeouts.command, self.simulated.q, self.simulated.v)

    def advance(self, now: int, timeouts: Timeouts, steps: int) -> None:
        """Simulate some steps from a time [ns].

        Raises `DivergenceError`; the state is then the last valid one.
        """
        for k in range(steps):
            instant = now + round(k * self._dt * NANOSECONDS)
            tau, pushes = (
                self.torques(instant, timeouts),
                self.pushes.acting(instant, timeouts.wrench),
            )
            parts = self.motors.parts(self.simulated.q, self._dt)
            for part in range(parts):
                if part:
                    tau = self.motors.renewed(self.simulated.q, self.simulated.v)
                self.simulated.step(tau, self._dt / parts, pushes)
            after = now + round((k + 1) * self._dt * NANOSECONDS)
            self.motors.advance(after, self._dt, self.simulated.q, self.simulated.v)

    def external_torques(self, now: int, timeouts: Timeouts) -> Array:
        """Return the joint torques (n,) of the environment [N m, N].

        They consist of wrenches, contacts and springs in the current state, and of joint stops in
        the last step.
        """
        simulated = self.simulated
        pushed = self.pushes.joint_torques(simulated.q, self.pushes.acting(now, timeouts.wrench))
        return self.joints.of_joints(
            pushed + simulated.environment_torques + simulated.stop_torques
        )

    def reset(self) -> None:
        """Return to the initial state, without commands and wrenches."""
        self.simulated.restore(self._initial)
        self.pushes.end()
        self.motors.hold(self.simulated.q)

    def set_state(self, positions: dict[str, float], velocities: dict[str, float]) -> None:
        """Set joint states by name; other joints and a floating base stay. Commands end.

        Raises `ArgumentError` for positions beyond limits and numbers that are not finite.
        """
        simulated, joints = self.simulated, self.joints
        q, v = simulated.q.copy(), simulated.v.copy()
        for target, places, given in (
            (q, joints.q_places, positions),
            (v, joints.v_places, velocities),
        ):
            for name, value in given.items():
                target[places[joints.joints.index(name)]] = value
        simulated.set_state(q, v)
        self.motors.hold(simulated.q)
