# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Diagnostics of the simulation."""

from __future__ import annotations

import time

from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.status import Status

from .joint_targets import JointTargets
from .plant import Plant, Timeouts
from .simulation_time import RunState, SimulationTime


class SimulationReport:
    """Diagnostics of a simulation; rates are since the last report.

    Parameters
    ----------
    plant : Plant
    targets : JointTargets
    state : RunState
    clock : SimulationTime
    dt : float
        Step of the integration [s].

    Attributes
    ----------
    lost : float
        Skipped time [s]; may be set.
    ticks : int
        Number of joint states so far; may be set.
    """

    def __init__(
        self, plant: Plant, targets: JointTargets, state: RunState, clock: SimulationTime, dt: float
    ) -> None:
        self._plant, self._targets, self._state, self._clock = plant, targets, state, clock
        self._dt = dt
        self.lost, self.ticks = 0.0, 0
        self._unanswered, self._last_unanswered = 0, ''
        self._reported = time.monotonic(), 0.0, 0, 0
        self._powerless = self._joints_without_power()

    def was_not_answered(self, instant: str) -> None:
        """Count a joint state without an answer in lock step."""
        self._unanswered, self._last_unanswered = self._unanswered + 1, instant

    def status(self, timeouts: Timeouts) -> Status:
        """Return the current status."""
        status, clock = Status('simulation'), self._clock
        now, before = time.monotonic(), self._reported
        self._reported = now, self.lost, self.ticks, self._unanswered
        rate = (self.ticks - before[2]) / (now - before[0])
        simulated, joints = self._plant.simulated, self._plant.joints
        stops = joints.of_joints(simulated.stop_torques)
        sources = sorted({*self._targets.sources} - {''})
        status.values.update(
            {
                'time [s]': f'{clock.stamp / NANOSECONDS:.3f}',
                'rate [Hz]': f'{rate:.1f}',
                'step [s]': f'{self._dt:.6g}',
                'state': self._condition,
                'driven by': ', '.join(sources)
                or ('gravity compensation' if self._targets.is_idle else 'no command'),
                'pushed at': ', '.join(self._plant.pushes.acting(clock.stamp, timeouts.wrench))
                or 'nothing',
                'at stops': ', '.join(name for name, load in zip(joints.joints, stops) if load)
                or 'none',
                'time skipped [s]': f'{self.lost:.3f}',
                'unanswered': f'{self._unanswered}; the last {self._last_unanswered}'
                if self._unanswered
                else '0',
            }
        )
        if self._state.stopped:
            status.error(
                f'the simulation has stopped, {self._state.stopped}; ~/reset it, or set a state'
            )
        if self.lost > before[1]:
            status.warn(
                'the simulation is slower than real time and skipped '
                f'{self.lost - before[1]:.3f} s; lower the rate or increase the step'
            )
        if self._powerless:
            status.warn(
                f'the effort limit of {self._powerless} is 0 in the '
                'description, so that their motors are off; correct <limit effort="..."/>'
            )
        if self._plant.motors.excess:
            status.warn(self._plant.motors.excess)
        if self._unanswered > before[3]:
            status.warn(
                'no command arrived within lock_step_timeout, and the simulation continued, '
                f'{self._unanswered - before[3]} times; {self._last_unanswered}'
            )
        return status

    @property
    def _condition(self) -> str:
        """The run state in one or a few words."""
        state = self._state
        if state.stopped:
            return 'stopped'
        if state.paused:
            return 'paused'
        return 'running' if state.awaited is None else 'waiting for a command'

    def _joints_without_power(self) -> str:
        """Return the joints with an effort limit of 0 in the description."""
        robot, joints = self._plant.joints.robot, self._plant.joints.joints
        limits = dict(zip(robot.joint_names, robot.limits.effort))
        return ', '.join(name for name in joints if limits[name] == 0.0)
