# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot with its motors and external wrenches."""

from __future__ import annotations

from dataclasses import dataclass

from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from ..model.scalar_joints import ScalarJoints
from .motors import Motors
from .pushes import AppliedWrenches


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
            self.simulated.step(
                self.torques(instant, timeouts),
                self._dt,
                self.pushes.acting(instant, timeouts.wrench),
            )
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
