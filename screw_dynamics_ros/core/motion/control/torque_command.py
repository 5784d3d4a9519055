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
is at most `age_limit` for rates, ramps and blends: there is no leap after it.

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

import numpy as np

from ...errors import ArgumentError, ScrewDynamicsError
from ...types import Array
from . import command_rules as rules
from .command_report import CommandReport, LimitLog, Mode, impossible
from .command_rules import ENDED, FOLLOWING, GRAVITY, HOLDING, SILENT, TO_ZERO, CommandRecord
from .command_settings import ACTIONS, CommandSettings

#: Phases of `ACTIONS`.
PHASES = dict(zip(ACTIONS, (HOLDING, GRAVITY, TO_ZERO, SILENT)))


class TorqueCommand(CommandRecord):
    """Computes commanded torques from desired ones, at each joint state or tick of a timer.

    It has no clock and no lock: all calls are made by one thread, with the time of one monotonic
    clock, and a time before that of the last call is replaced by it. Commands are always the same
    read-only array, which the next call overwrites; None means that nothing is to be sent. Compiled
    loops call `command_rules.step` instead of `step`.

    Parameters
    ----------
    settings : CommandSettings
        Changed ones are adopted by `continued`.

    Attributes
    ----------
    settings : CommandSettings
    joints : tuple of str
    is_enabled : bool
        Whether torques are wanted; they are also commanded as long as states can be used.
    """

    def __init__(self, settings: CommandSettings) -> None:
        self.since = self.now = self.state_time = -math.inf
        self.sent = self.ramp_start = math.inf
        self.change = rules.NO_CHANGE
        self._given = ''
        self._configure(settings)
        self.log = LimitLog(self.joints)

    def _configure(self, settings: CommandSettings) -> None:
        self.settings = settings
        self.joints = tuple(settings.joints)
        n = len(self.joints)
        self._shape = (n,)
        self.upper, self.rates = np.array([settings.limits, settings.rates], dtype=np.float64)
        self.age_limit, self.on_loss = settings.age_limit, PHASES[settings.on_loss]
        self.blend_time, self.ramp_time = settings.blend_time, settings.ramp_time
        self.command, self.gravity, self.target, self.bias = np.zeros((4, n))
        self.ramped, self.refused = np.ones(n), np.zeros(2 * n)
        self._result = self.command.view()
        self._result.flags.writeable = False

    @classmethod
    def continued(cls, previous: TorqueCommand, settings: CommandSettings) -> TorqueCommand:
        """Return the successor of `previous`, for other settings or another robot.

        Joints of the same name continue from their last command, new ones are ramped in from zero,
        nothing is sent to those that are removed. An active request, loss, ramp or end stays
        active; another `on_loss` replaces the one that is being carried out.
        `previous` must not be used any longer.
        """
        new = copy.copy(previous)
        new._configure(settings)
        new.log = LimitLog(new.joints, previous.log.take())
        new._given, new.reason = previous._reason(), rules.GIVEN
        places = {name: place for place, name in enumerate(previous.joints)}
        kept = [place for place, name in enumerate(new.joints) if name in places]
        sources = [places[new.joints[place]] for place in kept]
        for array in ('command', 'gravity', 'bias', 'ramped'):
            getattr(new, array)[kept] = getattr(previous, array)[sources]
        if new.phase in (FOLLOWING, GRAVITY):
            new.change = max(settings.blend_time, new.change)
        if new.phase == FOLLOWING and len(kept) < len(new.joints):
            if new.is_ramping:
                new.ramped[:] = 1.0
                new.change = settings.ramp_time
            else:
                new.ramped[kept] = 0.0
            new.is_ramping, new.ramp_start = True, math.inf
        if settings.on_loss != previous.settings.on_loss:
            new.is_lost = False  # a state is still missing: the next tick acts again
        new.has_new_limits = True
        return new

    # --- requests -------------------------------------------------------------------------------

    @property
    def has_ended(self) -> bool:
        """Whether the action begun by `end` is over."""
        return self.phase == ENDED

    @property
    def is_silent(self) -> bool:
        """Whether nothing more is to be sent; a command just returned is the last one."""
        return rules.is_quiet(self)

    def enable(self) -> None:
        """Let torques rise over `ramp_time`, from the next usable state on.

        From zero, or from the last command during a ramp to zero. Raises
        `ScrewDynamicsError` after `end`.
        """
        if self.is_ending:
            raise ScrewDynamicsError(
                'the process is ending: torque commands can no longer be enabled'
            )
        self.is_enabled = True

    def disable(self) -> None:
        """Let torques fall to zero over `ramp_time`, from the next call on; then send nothing."""
        self.is_enabled = False

    def blend(self) -> None:
        """Let what changed since the last call take effect over `blend_time`.

        To be called before the first step with another payload, gravity, model, reference or other
        compensated terms. A blend within a blend continues from the last command.
        """
        rules.blend(self)

    # --- commands -------------------------------------------------------------------------------

    def step(self, now: float, wanted: Array, gravity: Array, state_time: float) -> Array | None:
        """Return what to command after a joint state, (n,) [N m, N], or None.

        States that are too old, and torques that are not finite or beyond 1e9, are treated as
        `unusable`.

        Parameters
        ----------
        now : float
            Time of the call [s].
        wanted : (n,) array
            Torques for this state [N m, N].
        gravity : (n,) array
            Those that carry the robot's weight in it, without the terms that the robot compensates.
        state_time : float
            When the state was measured: arrival less transport delay [s]. Up to `age_limit` after
            `now` it is replaced by `now`.

        Raises
        ------
        ArgumentError
            An array of another shape, a time that is not finite; nothing changes.
        """
        if wanted.shape != self._shape or gravity.shape != self._shape:
            raise ArgumentError(
                f'wanted and gravity torques must have shape {self._shape}, got {wanted.shape} and '
                f'{gravity.shape}'
            )
        x, weight = (np.ascontiguousarray(each, np.float64) for each in (wanted, gravity))
        return self._sent(rules.step(self, x, weight, checked(now), state_time))

    def tick(self, now: float) -> Array | None:
        """Return what to command while no usable state comes, (n,), or None.

        Called by a timer. Once the last state is older than `age_limit`, `on_loss` is carried out:
        'hold' repeats the last command; 'gravity' blends to the gravity torques of the last state
        and holds those; 'ramp_to_zero' falls to zero over `ramp_time` and sends nothing after that;
        'stop' sends nothing at once, without any ramp or rate limit. The next usable state
        ends all that: torques blend to the wanted ones, or rise over `ramp_time` after silence, a
        ramp to zero or an interrupted ramp.
        """
        now = rules.advance_time(self, checked(now))
        if self.is_silent:
            return None
        if self.is_lost or self.is_ending:
            return self._sent(rules.proceed(self, now))
        age = now - self.state_time
        if age <= self.age_limit:
            return None
        return self._sent(rules.lose(self, now, rules.TOO_OLD, age))

    def unusable(self, now: float, reason: str, state_time: float = -math.inf) -> Array | None:
        """Carry `on_loss` out because the latest state cannot be used; return as `tick` does.

        `state_time` is when it was measured if nothing is wrong with it: as soon as such states
        may be used again, they are not missing.
        """
        now = rules.advance_time(self, checked(now))
        self.state_time, self._given = max(self.state_time, min(state_time, now)), reason
        return self._sent(rules.lose(self, now, rules.GIVEN, 0.0))

    def end(self, now: float) -> Array | None:
        """Begin the action `on_end`; return as `tick` does.

        Calls of `tick` and `step` continue it until `has_ended`; states that come meanwhile change
        nothing. The last command of 'ramp_to_zero' is exactly zero. Torques that are already being
        removed continue to zero, or are stopped.
        """
        now = rules.advance_time(self, checked(now))
        if not self.is_ending:
            is_on = self.is_enabled and self.phase != TO_ZERO
            self.is_ending, self.is_enabled = True, False
            on_end = PHASES[self.settings.on_end]
            if self.phase == SILENT:
                rules.silence(self, now)
            elif is_on or on_end == SILENT:
                rules.act(self, on_end, now)
            elif self.phase != TO_ZERO:
                rules.act(self, TO_ZERO, now)
        return self._sent(rules.advance(self, now))

    def _sent(self, is_sent: bool) -> Array | None:
        return self._result if is_sent else None

    # --- reports --------------------------------------------------------------------------------

    def report(self) -> CommandReport:
        """Return the state, and the limits that acted since the last report."""
        return CommandReport(
            self._mode(),
            self.is_enabled,
            self.since,
            self._reason(),
            self.losses,
            self.log.take(),
        )

    def _mode(self) -> Mode:
        if self.phase == SILENT:
            return Mode.SILENT if self.is_enabled else Mode.DISABLED
        if self.phase == TO_ZERO:
            is_out = self.is_enabled or self.is_ending
            return Mode.RAMPING_TO_ZERO if is_out else Mode.RAMPING_OUT
        if self.phase == FOLLOWING:
            if self.is_ramping:
                return Mode.RAMPING_IN
            return Mode.BLENDING if self.is_blending else Mode.ACTIVE
        return {ENDED: Mode.ENDED, HOLDING: Mode.HOLDING, GRAVITY: Mode.GRAVITY}[self.phase]

    def _reason(self) -> str:
        """Return why states were lost the last time."""
        if self.reason == rules.TOO_OLD:
            age = f'the last state is {self.reason_value:.3g} s old'
            return f'{age}, age_limit is {self.age_limit:g} s'
        if self.reason == rules.PAUSED:
            return f'no call for {self.reason_value:.3g} s'
        if self.reason == rules.REFUSED:
            wanted, gravity = self.refused.reshape(2, -1)
            return impossible(self.joints, rules.MAX_TORQUE, wanted=wanted, gravity=gravity)
        return self._given


def checked(now: float) -> float:
    """Return the time of a call [s]; raises `ArgumentError`."""
    if not math.isfinite(now):
        raise ArgumentError(f'now must be a finite time [s], got {now!r}')
    return float(now)
