# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commanded torques, computed from desired torques.

With x the wanted torques within their limits, the command is

    c = limited(g x + w b)

* g rises from 0 to 1 over `ramp_time` when torques begin.
* b is the last command less g x at a change (of the payload, the model, the source of x, or what
  x is taken from), and w falls from 1 to 0 over `blend_time`: the command at a change is the last
  one, whatever x does there, and changes of x after it pass unfiltered.
* To take torques off, x = 0, b is the last command, and w falls over `ramp_time`.

g and 1 - w have the shape of s^3 (10 - 15 s + 6 s^2), which has neither slope nor curvature at its
ends and the slope 15/8 at most. Limits of magnitude and of rate come last, always; a limit that is
lowered below the present command is kept at once, whatever the rate. A pause between two commands
counts as `age_limit` at most, for rates, ramps and blends: there is no leap after it.

Examples
--------
A joint with 40 N m at most, enabled where gravity needs 30 N m. Half of it is there after half of
the ramp:

>>> import numpy as np
>>> settings = CommandSettings(['elbow'], [40.0], [np.inf], ramp_time=1.0, age_limit=0.5)
>>> command, gravity = TorqueCommand(settings), np.array([30.0])
>>> command.step(0.0, gravity, gravity, 0.0)  # disabled: nothing
>>> command.enable()
>>> times = np.array([0.0, 0.5, 1.0])
>>> [command.step(t, gravity, gravity, t).tolist() for t in times]
[[0.0], [15.0], [30.0]]

Another payload asks for 60 N m. The limit acts, and the change takes `blend_time`, 0.3 s:

>>> command.blend()
>>> wanted, times = np.array([60.0]), np.array([1.01, 1.16, 1.31])
>>> [command.step(t, wanted, gravity, t).round(6).tolist() for t in times]
[[30.0], [35.0], [40.0]]
>>> for limit in command.report().limited:
...     print(limit)
torque of joint 'elbow' limited to 40, 60 wanted at most (3 times)

States stop. A timer takes the torques off, and then there is nothing more:

>>> command.tick(1.75)  # the last state is young enough
>>> [command.tick(t).tolist() for t in (2.0, 2.5, 3.0)]
[[40.0], [20.0], [0.0]]
>>> command.tick(3.5)
>>> command.report().mode.value
'silent'
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.types import Array

from . import command_settings as actions
from .command_report import CommandReport, LimitLog, Mode, impossible
from .command_settings import CommandBounds, CommandSettings
from .steady_command import MAX_TORQUE, SteadyCommand, follow_steadily

#: What the command follows: nothing, wanted torques, itself, gravity torques, zero.
SILENT, ENDED, FOLLOWING, HOLDING, GRAVITY, TO_ZERO = range(6)
QUIET = (SILENT, ENDED)


class TorqueCommand(SteadyCommand):
    """Computes commanded torques from desired ones, at each joint state or tick of a timer.

    It has no clock and no lock: all calls are made by one thread, with the time of one monotonic
    clock, and a time before that of the last call counts as that. Commands are always the same
    read-only array, which the next call overwrites; None means that nothing is to be sent.

    Parameters
    ----------
    settings : CommandSettings
        Changed ones are adopted by `continued`.

    Attributes
    ----------
    is_steady : bool
        Whether wanted torques are commanded as they are, unless limits act or a call is late.
    """

    def __init__(self, settings: CommandSettings) -> None:
        self._phase, self._since = SILENT, -math.inf
        self._is_enabled = self._is_ending = False
        self._is_lost, self._reason, self._losses = False, '', 0
        self.now = self.state_time = -math.inf
        self.sent = math.inf  # time of the last command [s], infinite after silence
        self._is_ramping, self._ramp_start = False, math.inf
        self._is_blending, self._blend_start, self._blend_duration = False, 0.0, 0.0
        self._change: float | None = None  # duration of a blend that begins with the next command
        self._has_new_limits = False  # which the last command may exceed
        self._log = LimitLog()
        self._configure(settings)

    def _configure(self, settings: CommandSettings) -> None:
        self.settings = settings
        self.joints = tuple(settings.joints)
        n = len(self.joints)
        self._shape = (n,)
        self._bounds = CommandBounds(settings, self._log)
        self.upper, self.rates = self._bounds.upper, self._bounds.rates
        self.age_limit, self._ramp_time = settings.age_limit, settings.ramp_time
        self.command = np.zeros(n)  # the last one, zero after silence
        self._result = self.command.view()
        self._result.flags.writeable = False
        self._target, self.gravity, self._bias = np.zeros(n), np.zeros(n), np.zeros(n)
        self._ramped = np.ones(n)  # 1 for joints that a ramp is for

    @classmethod
    def continued(cls, previous: TorqueCommand, settings: CommandSettings) -> TorqueCommand:
        """Return the successor of `previous`, for other settings or another robot.

        Joints of the same name go on from their last command, new ones are ramped in from zero,
        nothing is sent to those that are no more. A request, a loss, a ramp and an end that is
        under way stay active; another `on_loss` replaces the one that is being carried out.
        `previous` must not be used any longer.
        """
        new = copy.copy(previous)
        new._configure(settings)
        places = {name: place for place, name in enumerate(previous.joints)}
        kept = [place for place, name in enumerate(new.joints) if name in places]
        sources = [places[new.joints[place]] for place in kept]
        for array in ('command', 'gravity', '_bias', '_ramped'):
            getattr(new, array)[kept] = getattr(previous, array)[sources]
        if new._phase in (FOLLOWING, GRAVITY):
            new._change = max(settings.blend_time, new._change or 0.0)
        if new._phase == FOLLOWING and len(kept) < len(new.joints):
            if new._is_ramping:
                new._ramped[:] = 1.0
                new._change = settings.ramp_time
            else:
                new._ramped[kept] = 0.0
            new._is_ramping, new._ramp_start = True, math.inf
        if settings.on_loss != previous.settings.on_loss:
            new._is_lost = False  # a state is still missing: the next tick acts again
        new._has_new_limits = True
        return new

    # --- requests -------------------------------------------------------------------------------

    @property
    def is_enabled(self) -> bool:
        """Whether torques are wanted; they are also commanded as long as states can be used."""
        return self._is_enabled

    @property
    def is_off(self) -> bool:
        """Whether the next torques, if there are any, start from zero: a ramp begins with them."""
        return not self._is_enabled or self._phase in (SILENT, ENDED, TO_ZERO)

    def is_following(self, now: float) -> bool:
        """Whether wanted torques are being commanded, the last ones no pause [s] before `now`."""
        is_recent = now - self.sent <= self.age_limit
        return self._is_enabled and self._phase == FOLLOWING and is_recent

    @property
    def has_ended(self) -> bool:
        """Whether the action begun by `end` is over."""
        return self._phase == ENDED

    @property
    def is_silent(self) -> bool:
        """Whether nothing is to be sent any more; a command just returned is the last one."""
        return self._phase in QUIET

    def enable(self) -> None:
        """Let torques rise over `ramp_time`, from the next usable state on.

        From zero, or from the last command while a ramp to zero is under way. Raises
        `ScrewDynamicsError` after `end`.
        """
        if self._is_ending:
            raise ScrewDynamicsError(
                'the process is ending: torque commands cannot be enabled any more'
            )
        self._is_enabled = True

    def disable(self) -> None:
        """Let torques fall to zero over `ramp_time`, from the next call on; then send nothing."""
        self._is_enabled = False

    def blend(self) -> None:
        """Let what changed since the last call take effect over `blend_time`.

        To be called before the first step with another payload, gravity, model, reference or other
        compensated terms. A blend within a blend goes on from the last command.
        """
        if self._phase == FOLLOWING and self._change is None:
            self._change = self.settings.blend_time

    # --- commands -------------------------------------------------------------------------------

    def step(self, now: float, wanted: Array, gravity: Array, state_time: float) -> Array | None:
        """Return what to command after a joint state, (n,) [N m, N], or None.

        States that are too old, and torques that are not finite or beyond 1e9, count as
        `unusable`.

        Parameters
        ----------
        now : float
            Time of the call [s].
        wanted : (n,) array
            Torques for this state [N m, N].
        gravity : (n,) array
            Those that carry the robot's weight in it, less what the robot compensates by itself.
        state_time : float
            When the state was measured: arrival less transport delay [s]. Up to `age_limit` after
            `now` counts as `now`.

        Raises
        ------
        ArgumentError
            An array of another shape; nothing changes.
        """
        if not self._is_enabled and self._phase in QUIET:
            return None
        if wanted.shape != self._shape or gravity.shape != self._shape:
            raise ArgumentError(
                f'wanted and gravity torques must have shape {self._shape}, got {wanted.shape} and '
                f'{gravity.shape}'
            )
        now = self._checked(now)
        if self._is_ending:
            return self._advance(now)
        age = now - state_time
        if not -self.age_limit <= age <= self.age_limit:
            return self._lose(now, self._too_old(age))
        if self.is_steady and follow_steadily(self, wanted, gravity, now, state_time):
            return self._result
        torques = wanted.tolist()
        if not total(torques) + total(gravity.tolist()) < MAX_TORQUE:
            reason = impossible(self.joints, MAX_TORQUE, wanted=wanted, gravity=gravity)
            return self._lose(now, reason)
        self.state_time = state_time if age > 0.0 else now
        self.gravity[:] = gravity
        self._is_lost = False
        if self._is_enabled:
            if self._phase != FOLLOWING or now - self.sent > self.age_limit:
                self._follow(now)
            self._bounds.limit(wanted, self._target)
            return self._advance(now)
        return self._proceed(now)

    def tick(self, now: float) -> Array | None:
        """Return what to command while no usable state comes, (n,), or None.

        Called by a timer. Once the last state is older than `age_limit`, `on_loss` is carried out:
        'hold' repeats the last command; 'gravity' blends to the gravity torques of the last state
        and holds those; 'ramp_to_zero' falls to zero over `ramp_time` and sends nothing after that;
        'stop' sends nothing at once, without any ramp or rate limit. The next usable state
        ends all that: torques blend to what is wanted, or rise over `ramp_time` after silence, a
        ramp to zero or an interrupted ramp.
        """
        now = self._checked(now)
        if self._phase in QUIET:
            return None
        if self._is_lost or self._is_ending:
            return self._proceed(now)
        age = now - self.state_time
        if age <= self.age_limit:
            return None
        return self._lose(now, self._too_old(age))

    def unusable(self, now: float, reason: str, state_time: float = -math.inf) -> Array | None:
        """Carry `on_loss` out because the latest state cannot be used; return as `tick` does.

        `state_time` is when it was measured if nothing is wrong with it: as soon as such states
        may be used again, they are not missing.
        """
        now = self._checked(now)
        self.state_time = max(self.state_time, min(state_time, now))
        return self._lose(now, reason)

    def end(self, now: float) -> Array | None:
        """Begin the action `on_end`; return as `tick` does.

        Calls of `tick` and `step` continue it until `has_ended`; states that come meanwhile change
        nothing. The last command of 'ramp_to_zero' is exactly zero. Torques that are already being
        removed continue to zero, or are stopped.
        """
        now = self._checked(now)
        if not self._is_ending:
            is_on = self._is_enabled and self._phase != TO_ZERO
            self._is_ending, self._is_enabled = True, False
            on_end = self.settings.on_end
            if self._phase == SILENT:
                self._silence(now)
            elif is_on or on_end == actions.STOP:
                self._act(on_end, now)
            elif self._phase != TO_ZERO:
                self._act(actions.RAMP_TO_ZERO, now)
        return self._advance(now)

    def report(self) -> CommandReport:
        """Return the state, and the limits that acted since the last report."""
        return CommandReport(
            self._mode(),
            self._is_enabled,
            self._since,
            self._reason,
            self._losses,
            self._log.take(),
        )

    # --- changes --------------------------------------------------------------------------------

    def _checked(self, now: float) -> float:
        """Return the time of a call, never before that of the last one; NaN is ignored."""
        if self.now < now < math.inf:
            self.now = now
        elif not math.isfinite(now):
            raise ArgumentError(f'now must be a finite time [s], got {now!r}')
        pause = self.now - self.sent - self.age_limit
        if pause > 0.0:
            self._ramp_start += pause
            self._blend_start += pause
        return self.now

    def _lose(self, now: float, reason: str) -> Array | None:
        self._reason = reason
        if not self._is_lost:
            self._is_lost = True
            self._losses += 1
            on_loss = self.settings.on_loss
            is_on = self._is_enabled and self._phase != TO_ZERO
            is_stop = on_loss == actions.STOP and not self._is_ending
            if self._phase not in QUIET and (is_on or is_stop):
                self._act(on_loss, now)
        return self._proceed(now)

    def _proceed(self, now: float) -> Array | None:
        """Advance without wanted torques, to zero if disabled."""
        if not (self._is_enabled or self._is_ending or self._phase in (SILENT, TO_ZERO)):
            self._act(actions.RAMP_TO_ZERO, now)
        return self._advance(now)

    def _act(self, action: str, now: float) -> None:
        """Begin to do what a setting says."""
        blend_time = self.settings.blend_time
        if action == actions.HOLD:
            self._begin(HOLDING, now, None)
            self._is_blending = False
        elif action == actions.GRAVITY:
            self._begin(GRAVITY, now, max(blend_time, self._ramp_time * self._is_ramping))
        elif action == actions.RAMP_TO_ZERO:
            self._begin(TO_ZERO, now, self._ramp_time)
        else:
            self._silence(now)

    def _follow(self, now: float) -> None:
        """Begin or resume to follow wanted torques."""
        if self._phase == FOLLOWING:  # after a pause in which no tick came, either
            self._reason = f'no call for {now - self.sent:.3g} s'
            self._losses += 1
        if self._phase in (SILENT, TO_ZERO) or self._is_ramping:
            self._ramped[:] = 1.0
            self._is_ramping, self._ramp_start = True, now
            self._begin(FOLLOWING, now, self._ramp_time)
        else:
            self._begin(FOLLOWING, now, self.settings.blend_time)

    def _begin(self, phase: int, now: float, change: float | None) -> None:
        self._phase, self._since, self._change = phase, now, change

    def _silence(self, now: float) -> None:
        self._begin(ENDED if self._is_ending else SILENT, now, None)
        self._is_ramping = self._is_blending = False
        self.command[:] = 0.0
        self.sent = math.inf

    # --- one command ----------------------------------------------------------------------------

    @property
    def is_steady(self) -> bool:
        """Nearly always true while enabled."""
        return (
            self._is_enabled
            and self._phase == FOLLOWING
            and self._change is None
            and not (
                self._is_ending
                or self._is_lost
                or self._is_ramping
                or self._is_blending
                or self._has_new_limits
            )
        )

    def _advance(self, now: float) -> Array | None:
        """Return the next command; wanted torques, limited, are in `_target`."""
        phase, target = self._phase, self._target
        if phase in QUIET:
            return None
        if self._has_new_limits:
            self._has_new_limits = False
            self._bounds.limit(self.command, self.command)
        if phase == FOLLOWING:
            if self._is_ramping:
                self._ramp(now)
        elif phase == GRAVITY:
            self._bounds.limit(self.gravity, target)
        elif phase == TO_ZERO:
            target[:] = 0.0
        else:
            target[:] = self.command
        if self._change is not None:
            self._start_blend(now, self._change)
        if self._is_blending:
            self._add_bias(now)
        is_late = False
        if self._bounds.has_rates:
            dt = min(now - self.sent, self.age_limit)
            is_late = self._bounds.limit_rates(target, self.command, dt)
        self.command[:] = target
        self.sent = now
        if phase == TO_ZERO:
            if not target.any():
                self._silence(now)
        elif self._is_ending and not (self._is_blending or is_late):
            self._begin(ENDED, now, None)
        return self._result

    def _ramp(self, now: float) -> None:
        """Multiply `_target` by the gain g of each joint."""
        self._ramp_start = min(self._ramp_start, now)
        elapsed = now - self._ramp_start
        if elapsed < self._ramp_time:
            self._target *= 1.0 - self._ramped * (1.0 - smooth(elapsed / self._ramp_time))
        else:
            self._is_ramping, self._since = False, now

    def _start_blend(self, now: float, duration: float) -> None:
        """Let the command go on from the last one."""
        self._change = None
        if self._phase == FOLLOWING and self._is_blending:  # do not cut a longer one short
            duration = max(duration, self._blend_start + self._blend_duration - now)
        np.subtract(self.command, self._target, self._bias)
        self._is_blending, self._since = True, now
        self._blend_start, self._blend_duration = now, duration

    def _add_bias(self, now: float) -> None:
        """Add to `_target` what is left of the bias."""
        elapsed = now - self._blend_start
        if elapsed < self._blend_duration:
            self._target += (1.0 - smooth(elapsed / self._blend_duration)) * self._bias
            self._bounds.limit(self._target, self._target)
        else:
            self._is_blending, self._since = False, now

    # --- words ----------------------------------------------------------------------------------

    def _mode(self) -> Mode:
        if self._phase == SILENT:
            return Mode.SILENT if self._is_enabled else Mode.DISABLED
        if self._phase == TO_ZERO:
            is_out = self._is_enabled or self._is_ending
            return Mode.RAMPING_TO_ZERO if is_out else Mode.RAMPING_OUT
        if self._phase == FOLLOWING:
            if self._is_ramping:
                return Mode.RAMPING_IN
            return Mode.BLENDING if self._is_blending else Mode.ACTIVE
        return {ENDED: Mode.ENDED, HOLDING: Mode.HOLDING, GRAVITY: Mode.GRAVITY}[self._phase]

    def _too_old(self, age: float) -> str:
        return f'the last state is {age:.3g} s old, age_limit is {self.age_limit:g} s'


def total(torques: Sequence[float]) -> float:
    """Return the sum of the magnitudes; for few joints faster than NumPy, and never a warning."""
    return sum(map(abs, torques))


def smooth(s: float) -> float:
    """Return s^3 (10 - 15 s + 6 s^2): from 0 to 1 for s from 0 to 1."""
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))
