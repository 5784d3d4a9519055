# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states by name: from messages of drivers to one validated (q, v, tau).

A driver may send joints in any order, only some of them, joints of other robots, NaN, empty arrays
or arrays of different lengths, and stamps that repeat or run backwards. `JointStateMapper` converts
each message to a complete state or refuses it, and records every reason.

Each joint has one value per stamp, in all outputs. A later message with the same stamp is refused
if it names one of the same joints; otherwise it comes from another source and is merged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from .completion import Completion
from .contents import JointStateLayout, JointStateMessage
from .fields import Effort, Position, Velocity, measured
from .name_map import NameMap, NameMaps, listed
from .policies import NEVER_STAMP, Policies, Reason
from .reported_states import ReportedStates
from .stamped_messages import StampedMessages


@dataclass(frozen=True, eq=False)
class ObservedState:
    """A state after it has been processed.

    Attributes
    ----------
    mapper : JointStateMapper
    state : (3, n) array
        Positions, velocities and efforts; valid during the call.
    stamp : int
        [ns].
    arrival : float
        On the monotonic clock [s].
    restarted, has_velocity, has_effort : bool
        As of the mapper.
    """

    mapper: JointStateMapper
    state: Array
    stamp: int
    arrival: float
    restarted: bool
    has_velocity: bool
    has_effort: bool


class JointStateMapper(StampedMessages):
    """Merges joint states by name into one state of the robot.

    Parameters
    ----------
    joints : sequence of str
        The joints of the state, in the order of the results.
    continuous : collection of str
        Joints whose positions are equal modulo 2 pi.
    known : collection of str or None
        Further joints that messages may name, without a state: mimic and fixed joints. None: any
        names.
    policies : Policies
    calibration : pair of (n,) arrays or None
        As for `calibrate`.
    clock : callable
        Returns the current time in ns on the time base of the stamps.
    completion : Completion, optional
        Computes the state of further joints from these; a state is refused if that is impossible.
    effort_fault : str
        Why efforts are not used, regardless of the policy; empty if they are.
    max_speeds : mapping of str to float, optional
        Velocity limits [rad/s] of the joints that turn within limits.

    Attributes
    ----------
    joints : tuple of str
        The joints of the state: those given, or those of the completion.
    measured_joints : tuple of str
        The joints that messages have to report.
    q, v, tau : (n,) arrays
        Positions [rad, m], velocities and efforts; always finite, always the same arrays: the rows
        of `state`, (3, n). They change only with a new state.
    has_velocity, has_effort : bool
        Whether `v`, `tau` can be used; otherwise missing values are zero.
    continuous : (n,) array of bool
        Which positions are equal modulo 2 pi.
    reported : ReportedStates
        The values in messages of `measured_joints`.
    velocity_faults : mapping of str to str
        Faults of velocities by joint, see `distrust_velocities`.
    """

    def __init__(
        self,
        joints: Sequence[str],
        *,
        continuous: Collection[str] = (),
        known: Collection[str] | None = (),
        policies: Policies | None = None,
        calibration: tuple[Array | None, Array | None] = (None, None),
        clock: Callable[[], int] = time.time_ns,
        completion: Completion | None = None,
        effort_fault: str = '',
        max_speeds: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(policies or Policies(), clock)
        self.measured_joints, self._completion = tuple(joints), completion
        self.joints = completion.joints if completion else self.measured_joints
        self.accepted = 0
        self.maps = NameMaps(joints, known)
        self.reported = ReportedStates(len(self.measured_joints))
        self.velocity_faults: Mapping[str, str] = {}

        size = len(self.measured_joints)
        self._measured = np.zeros((3, size))  # the merged values
        self.state = np.zeros((3, len(self.joints)))
        self.q, self.v, self.tau = self.state
        self._whole_values = self._measured if completion else self.state
        self.continuous, turning = (
            np.array([name in continuous for name in names], dtype=bool)
            for names in (self.joints, self.measured_joints)
        )
        q, v, tau = self._measured
        speeds = np.array([(max_speeds or {}).get(name, np.nan) for name in self.measured_joints])
        self._position = Position(q, self._note, speeds)
        self._velocity = Velocity(v, self._note, self._position, turning)
        self._effort = Effort(tau, self._note)
        self._effort.fault = effort_fault
        self._fields = self._position, self._velocity, self._effort
        self._used = self._fields[: 2 if effort_fault else 3]
        self.calibrate(*calibration)
        self.whole = NEVER_STAMP
        # Stamps of the values of each joint, and the newest ones, also of refused messages.
        self._seen = np.full(size, NEVER_STAMP, dtype=np.int64)
        self._heard = self._seen.copy()
        self.stamp = self.newest = NEVER_STAMP
        self.has_velocity = self.has_effort = self.restarted = False
        self.reset()

    @property
    def observed(self) -> ObservedState:
        """The current state."""
        return ObservedState(
            self,
            self.state,
            self.stamp,
            self.last_accepted,
            self.restarted,
            self.has_velocity,
            self.has_effort,
        )

    @property
    def stamps(self) -> NDArray[np.int64]:
        """Stamp of the last message that reported each of `measured_joints`, (n,) [ns]."""
        if self.whole > NEVER_STAMP:
            return np.full(len(self.measured_joints), self.whole)
        return self._seen.copy()

    def calibrate(self, scale: Array | None, offset: Array | None) -> None:
        """Set torque = scale * effort + offset [N m, N], (n,) each; None means 1 and 0.

        For drivers that report currents or use other signs.
        """
        self._effort.calibrate(scale, offset)

    @property
    def completion(self) -> Completion | None:
        """What computes the state of further joints."""
        return self._completion

    @property
    def whole_values(self) -> Array:
        """The values of the last complete message, (3, k), if `whole` is its stamp."""
        return self._whole_values

    @property
    def turns(self) -> Array | None:
        """Angles that are added to reported positions [rad], (n,); None if there are none."""
        return self._position.turns

    @property
    def calibration(self) -> tuple[Array | None, Array | None]:
        """Scale and offset of the efforts, see `calibrate`; 0 if they are not used."""
        if self._effort.fault:
            return (nothing := np.zeros(len(self.measured_joints))), nothing
        return self._effort.scale, self._effort.offset

    def note_whole(self, arrival: float) -> None:
        """Record the faults of a complete message that the compiled loop has taken."""
        self._arrival = arrival
        if self._effort.fault:
            self._effort.note_fault()

    def reset(self) -> None:
        """Discard all values: the next state consists of future messages with newer stamps.

        The current state is kept, but is not considered recently accepted.
        """
        self._spread_whole()
        self.reported.restart()
        for values in self._fields:
            values.forget()
        self._seen[:] = NEVER_STAMP
        self.last_accepted = -math.inf
        self._restarting = False
        if self._completion is not None:
            self._completion.restart()

    def distrust_velocities(self, faults: Mapping[str, str]) -> None:
        """Ignore velocities of the joints with faults in messages, unless the policy uses them."""
        self.velocity_faults = dict(faults)
        is_used = self._policies.velocity_conflict == 'report'
        distrusted = np.array(
            [name in faults and not is_used for name in self.measured_joints], dtype=bool
        )
        if (distrusted != self._velocity.distrusted).any():
            self._spread_whole()  # the next message is read joint by joint
            self._velocity.distrust(distrusted)
            self._restarting = True  # velocities step

    def restart_time(self, step: int) -> None:
        """Discard all values because the clock of the stamps went back by a step [ns].

        Late messages of the time before are refused for a while, up to their stamps.
        """
        self._watch(step)
        self._restart(step)

    def _restart(self, step: int) -> None:
        self._note(Reason.TIME_RESET, f'by {step * 1e-9:.3f} s')
        self.reset()
        self._heard[:] = self.newest = NEVER_STAMP
        self._restarting = True

    def update(self, message: JointStateMessage, arrival: float | None = None) -> bool:
        """Process a message; return whether there is a new complete state.

        Parameters
        ----------
        message : JointStateMessage
        arrival : float, optional
            Time of arrival on the monotonic clock [s].
        """
        self._arrival = time.monotonic() if arrival is None else arrival
        self.refused = None
        if message.refusal is not None:
            return self._refuse(*message.refusal)
        names = self.maps[message.layout]
        if names.refusal is not None:
            return self._refuse(*names.refusal)
        if not names.joints:
            return False  # from other robots on the same topic
        if names.unknown:
            self._note(Reason.UNKNOWN_JOINTS, names.unknown)
        stamp = self._check_age(message.stamp)
        if stamp == NEVER_STAMP:
            return False
        return self.update_carefully(names, message, stamp)

    def update_run(
        self,
        layout: JointStateLayout,
        numbers: Array,
        stamps: NDArray[np.int64],
        clocks: NDArray[np.int64],
    ) -> Array:
        """Process the regular messages at the beginning of a sequence together.

        The other messages must be given to `update`. The states are the same as those of `update`.

        Parameters
        ----------
        layout : JointStateLayout
        numbers : (N, layout.size) array
        stamps, clocks : (N,) arrays of int
            Stamp of each message, and time of the clock at its arrival [ns].

        Returns
        -------
        (k, 3, n) array
            The states of the k <= N messages that are taken; efforts only if `has_effort`.
        """
        names, nothing = self.maps[layout], np.zeros((0, 3, len(self.measured_joints)))
        if (
            names.whole is None
            or self._completion is not None
            or not NEVER_STAMP < self.whole == self.newest
        ):
            return nothing
        steps, ages = np.diff(stamps, prepend=self.newest), clocks - stamps
        regular = (steps > 0) & (steps <= self._timeout) & self._policies.admits(ages)
        regular &= np.isfinite(numbers @ np.ones(numbers.shape[1]))
        states = numbers[:, names.whole].reshape(-1, *self._measured.shape)
        states[:, 0] = self._position.unwrapped(states[:, 0])
        with np.errstate(over='ignore', invalid='ignore'):
            moves = np.abs(np.diff(states[:, 0], axis=0, prepend=self.state[:1]))
        regular &= (moves <= np.pi).all(axis=1)
        if self._effort.fault:
            states[:, 2] = 0.0
        elif self._effort.is_calibrated:
            states[:, 2] = self._effort.torque(states[:, 2])
            regular &= np.isfinite(states[:, 2]).all(axis=1)
        count = len(regular) if regular.all() else int(np.argmin(regular))
        if not count:
            return nothing
        last = count - 1
        self._arrival, self.age_ns = int(clocks[last]) * 1e-9, int(ages[last])
        self.state[:] = states[last]
        self.whole = self.stamp = self.newest = int(stamps[last])
        self.restarted, self.last_accepted = False, self._arrival
        self.accepted += count
        if names.unknown:
            self._note(Reason.UNKNOWN_JOINTS, names.unknown)
        if self._effort.fault:
            self._effort.note_fault()
        return states[:count]

    def update_carefully(self, names: NameMap, message: JointStateMessage, stamp: int) -> bool:
        """Merge a message joint by joint, by the policies."""
        self._spread_whole()
        joints = names.target
        heard, seen = int(self._heard[joints].max()), int(self._seen[joints].max())
        if stamp <= heard:
            if stamp == heard:
                return self._refuse(Reason.DUPLICATE_STAMP, f'{stamp * 1e-9:.9f} s')
            if heard - stamp <= self._jump:
                return self._refuse(Reason.OUT_OF_ORDER, f'by {(heard - stamp) * 1e-9:.6f} s')
            self._restart(heard - stamp)
        elif seen > NEVER_STAMP and stamp - seen > self._timeout:
            self._restarting = True
            self._note(Reason.PAUSE, f'{(stamp - seen) * 1e-9:.3f} s')

        policies = self.policies
        position = self._position.read(message, names, stamp, policies, self._heard)
        if isinstance(position, Reason):
            self._heard[joints[measured(message.position, names)[1]]] = stamp
            self.refused = position
            return False
        reported = np.full((1, 2, len(self._seen)), np.nan)
        reported[0, 0, joints] = np.where(position.measured, position.values, np.nan)
        reported[0, 1, joints] = measured(message.velocity, names)[0]
        self.reported.add((stamp,), reported)
        velocity = self._velocity.read(message, names, stamp, policies, position)
        effort = self._effort.read(message, names, stamp, policies)
        for field, reading in zip(self._fields, (position, velocity, effort)):
            field.keep(joints, reading, stamp)
        self._seen[joints] = self._heard[joints] = stamp
        return self._conclude(names)

    def _conclude(self, names: NameMap) -> bool:
        """Set the state if all joints have current values and time has advanced."""
        newest, never = int(self._seen.max()), self._seen == NEVER_STAMP
        has_velocity = bool((self._velocity.usable | never).all())
        has_effort = bool((self._effort.usable | (never & (self.policies.effort == 'zero'))).all())
        absent = never & (self.policies.position != 'zero')
        stale = (newest - self._seen > self._timeout) & ~never
        refused = (self._heard > self._seen) & ~never
        if (absent | stale | refused).any():
            reasons = {
                'never reported': absent,
                'no longer reported': stale,
                'newest message refused': refused,
            }
            parts = [
                f'{reason}: {listed(self.measured_joints, joints)}'
                for reason, joints in reasons.items()
                if joints.any()
            ]
            return self._refuse(Reason.INCOMPLETE, '; '.join(parts))
        if newest <= self.newest:
            return False  # another source is ahead: its next message completes a state
        if (
            names.complete
            and self._watch_end == NEVER_STAMP
            and has_velocity
            and (has_effort or self._effort.fault)
            and all((values.measured == newest).all() for values in self._used)
        ):
            self.whole = newest
        if self._completion is None:
            self.state[:] = self._measured
        if not self._accept(newest):
            return False
        self.has_velocity = has_velocity
        self.has_effort = has_effort and (self._completion is None or self._completion.has_efforts)
        self.restarted, self._restarting = self._restarting, False
        return True

    def _accept(self, stamp: int) -> bool:
        """Complete and count a state; return whether it can be completed."""
        if self._completion is not None:
            reason = self._completion.complete(self._measured, self.state)
            if reason:
                return self._refuse(Reason.LOOPS_OPEN, reason)
        self.stamp = self.newest = stamp
        self.restarted = False
        self.accepted += 1
        self.last_accepted = self._arrival
        return True

    def _spread_whole(self) -> None:
        """Record the last of several regular messages in the fields of the joints."""
        if self.whole > NEVER_STAMP:
            self._measured[:] = self._whole_values
            self._seen[:] = self._heard[:] = self.whole
            for values in self._used:
                values.measured[:] = self.whole
                values.usable[:] = True
            self.whole = NEVER_STAMP
