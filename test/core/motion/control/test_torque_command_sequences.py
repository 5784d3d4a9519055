# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random sequences of requests, states, losses and settings: what holds for every command."""

import math

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from screw_dynamics_ros.core import ScrewDynamicsError
from screw_dynamics_ros.core.motion.control import ACTIONS, CommandSettings, Mode, TorqueCommand

PROPERTY = settings(
    derandomize=True, deadline=None, database=None, max_examples=40, stateful_step_count=40
)

AGE_LIMIT, REGULAR = 0.05, 0.02  # [s]
STEEPEST = 15 / 8  # slope of the shape of ramps and blends

QUIET = {Mode.DISABLED, Mode.SILENT, Mode.ENDED}
FOLLOWING = {Mode.RAMPING_IN, Mode.BLENDING, Mode.ACTIVE}
TO_ZERO = {Mode.RAMPING_TO_ZERO, Mode.RAMPING_OUT}
GROUPS = QUIET, FOLLOWING, TO_ZERO, {Mode.HOLDING}, {Mode.GRAVITY}
MODES = {'hold': {Mode.HOLDING}, 'gravity': {Mode.GRAVITY}, 'ramp_to_zero': TO_ZERO, 'stop': set()}

DT = st.sampled_from([0.0, 1e-9, 0.002, 0.002, 0.01, 0.02, 0.04, 0.06, 0.3, 7.0])
AGES = st.sampled_from([0.0, 0.0, 0.001, 0.001, 0.049, 0.051, 3.0, -0.01, math.nan])
NUMBERS = st.one_of(
    st.floats(-150.0, 150.0),
    st.floats(-150.0, 150.0),
    st.sampled_from([0.0, 1e6, -1e8, 1e99, math.nan, math.inf, -math.inf]),
)
USUAL = st.floats(-150.0, 150.0)
JOINTS = st.lists(st.sampled_from('abc'), min_size=1, max_size=3, unique=True)


def group(mode):
    return next(k for k, modes in enumerate(GROUPS) if mode in modes)


def within(values, one, other, tolerance):
    """Whether values are between two others."""
    return bool(
        np.all(values >= np.minimum(one, other) - tolerance)
        and np.all(values <= np.maximum(one, other) + tolerance)
    )


class Sequences(RuleBasedStateMachine):
    """What was commanded, requested and lost, kept apart from what the command remembers."""

    limits = st.sampled_from([0.0, 5.0, 100.0, math.inf])
    rates = st.sampled_from([50.0, 1000.0, math.inf])
    times = st.sampled_from([0.0, 0.1, 0.3])

    def draw_settings(self, data):
        joints = data.draw(JOINTS)
        n = len(joints)
        chosen = CommandSettings(
            joints,
            data.draw(st.lists(self.limits, min_size=n, max_size=n)),
            data.draw(st.lists(self.rates, min_size=n, max_size=n)),
            blend_time=data.draw(self.times),
            ramp_time=data.draw(self.times),
            age_limit=AGE_LIMIT,
            on_loss=data.draw(st.sampled_from(ACTIONS)),
            on_end=data.draw(st.sampled_from(ACTIONS)),
        )
        self.shortest = min(self.shortest, chosen.blend_time, chosen.ramp_time)
        self.largest = max(self.largest, *chosen.limits)
        return chosen

    @initialize(data=st.data())
    def begin(self, data):
        self.shortest, self.largest = math.inf, 0.0
        self.now, self.state_time, self.sent_time = 0.0, -math.inf, math.inf
        self.enabled = self.ending = self.is_lost = self.is_changed = False
        self.mode = Mode.DISABLED
        self.command = TorqueCommand(self.draw_settings(data))
        self.last, self.gravity, self.followed = ({} for _ in range(3))  # by joint
        if data.draw(st.booleans()):
            self.regular_states_make_it_active(data)

    # --- what is checked --------------------------------------------------------------------

    def of_joints(self, values):
        return np.array([values.get(joint, 0.0) for joint in self.command.joints])

    def call(self, method, *arguments, usable=False, lost=False):
        """Make a call and check what it returns; `lost`: it tells that states are lost."""
        rules, before, was_ending = self.command.settings, self.mode, self.ending
        if method == 'end' and not self.ending:
            self.ending, self.on_end = True, rules.on_end  # whatever is set later
        self.is_lost = not usable and (self.is_lost or lost)
        last, upper = self.of_joints(self.last), np.array(rules.limits)
        last = np.clip(last, -upper, upper)  # the limit may have been lowered
        result = getattr(self.command, method)(self.now, *arguments)
        report = self.command.report()
        self.mode = report.mode
        self.enabled &= not self.ending
        if self.mode in TO_ZERO:
            assert (self.mode is Mode.RAMPING_TO_ZERO) == (self.enabled or self.ending)
        assert report.is_enabled == self.enabled
        assert (self.mode is Mode.ENDED) == self.command.has_ended
        is_young = self.now - self.state_time <= AGE_LIMIT
        stops = rules.on_loss == 'stop' and (self.is_lost or not is_young) and not was_ending
        stops |= self.ending and self.on_end == 'stop'
        if result is None:
            is_waiting = method == 'tick' and is_young and not self.is_lost and not self.ending
            assert before in QUIET or stops or is_waiting
            assert not (usable and self.enabled)
            assert self.mode is before if is_waiting else self.mode in QUIET
        else:
            self.check_command(result.copy(), before, usable, last, upper)
        if self.mode in QUIET - {Mode.ENDED}:
            self.last, self.sent_time = {}, math.inf

    def check_command(self, result, before, usable, last, upper):
        rules = self.command.settings
        assert before not in QUIET or self.mode not in QUIET
        assert np.isfinite(result).all()
        assert (np.abs(result) <= upper).all()
        dt = max(min(self.now - self.sent_time, AGE_LIMIT), 0.0)  # none after silence
        rates = np.array(rules.rates)
        allowed = np.array([rate * dt if math.isfinite(rate) else math.inf for rate in rates])
        rounding = 1e-12 * (np.abs(result) + np.abs(last))
        assert (np.abs(result - last) <= allowed * (1 + 1e-12) + rounding).all()

        has_finished = self.mode in QUIET
        if not usable or not self.enabled:  # nothing but what was asked for in this case
            action = self.on_end if self.ending else rules.on_loss
            assert has_finished or self.mode in MODES[action] | TO_ZERO
            rounding += 1e-12 * min(self.largest, 1e9)
            goal = {
                Mode.HOLDING: last,
                Mode.GRAVITY: np.clip(self.of_joints(self.gravity), -upper, upper),
            }
            if not has_finished:
                assert within(result, last, goal.get(self.mode, 0.0), rounding)
            elif self.mode is Mode.ENDED and before not in TO_ZERO:
                self.check_end(result, self.on_end, last, upper)
            else:
                assert not result.any()
        else:
            assert self.mode in FOLLOWING
        self.check_smoothness(result, before, dt, last, upper, usable)
        self.last = dict(zip(self.command.joints, result.tolist()))
        self.sent_time = self.now

    def check_end(self, result, on_end, last, upper):
        goals = {
            'hold': last,
            'gravity': np.clip(self.of_joints(self.gravity), -upper, upper),
            'ramp_to_zero': np.zeros(len(last)),
        }
        # A ramp out that had been asked for, but had not begun, ends at zero.
        assert result.tolist() == goals[on_end].tolist() or not result.any()

    def check_smoothness(self, result, before, dt, last, upper, usable):
        """A change takes effect from the last command on; between changes slopes are bounded."""
        is_following = usable and self.enabled
        wanted = self.of_joints(self.wanted) if is_following else None
        if self.shortest > 0.0:
            rounding = 1e-9 + 1e-12 * (np.abs(result) + np.abs(last))
            is_new = group(self.mode) != group(before) and self.mode not in QUIET
            if is_new or (self.is_changed and is_following):
                assert (np.abs(result - last) <= rounding).all()
            elif math.isfinite(self.largest):
                bound = STEEPEST * dt * 3 * self.largest / self.shortest
                if is_following:
                    bound = bound + np.abs(
                        np.clip(wanted, -upper, upper) - self.of_joints(self.followed)
                    )
                assert (np.abs(result - last) <= bound + rounding).all()
        if is_following:
            self.is_changed = False
            self.followed = dict(zip(self.command.joints, np.clip(wanted, -upper, upper).tolist()))

    # --- what happens -----------------------------------------------------------------------

    @rule()
    def enable(self):
        if self.ending:
            with pytest.raises(ScrewDynamicsError, match='ending'):
                self.command.enable()
            return
        self.command.enable()
        self.enabled = True
        self.mode = self.command.report().mode

    @rule()
    def disable(self):
        self.command.disable()
        self.enabled = False
        self.mode = self.command.report().mode

    @rule()
    def blend(self):
        self.command.blend()
        self.is_changed |= self.mode in FOLLOWING

    @rule(data=st.data(), dt=DT, age=AGES, kind=st.sampled_from([USUAL, USUAL, USUAL, NUMBERS]))
    def step(self, data, dt, age, kind):
        n = len(self.command.joints)
        torques = st.lists(kind, min_size=n, max_size=n).map(np.array)
        self.take(dt, age, data.draw(torques), data.draw(torques))

    def take(self, dt, age, wanted, gravity):
        self.now += dt
        state_time = self.now - age
        numbers = np.concatenate([wanted, gravity])
        usable = abs(self.now - state_time) <= AGE_LIMIT and bool(np.abs(numbers).sum() < 1e9)
        is_on = self.enabled or self.mode not in QUIET
        if usable and is_on and not self.ending:
            self.state_time = min(state_time, self.now)
            self.gravity = dict(zip(self.command.joints, gravity.tolist()))
            self.wanted = dict(zip(self.command.joints, wanted.tolist()))
        self.call('step', wanted, gravity, state_time, usable=usable and is_on, lost=is_on)

    @rule(dt=DT)
    def tick(self, dt):
        self.now += dt
        self.call('tick', lost=self.now - self.state_time > AGE_LIMIT)

    @rule(dt=DT)
    def unusable(self, dt):
        self.now += dt
        self.call('unusable', 'no velocity', lost=True)

    @rule(data=st.data())
    def continue_with_other_settings(self, data):
        before = self.command.settings.on_loss
        self.command = TorqueCommand.continued(self.command, self.draw_settings(data))
        if self.command.settings.on_loss != before:
            self.is_lost = False
        for values in (self.last, self.gravity):
            for joint in set(values) - set(self.command.joints):
                del values[joint]
        self.is_changed |= self.mode in FOLLOWING
        assert self.command.report().mode in GROUPS[group(self.mode)]
        self.mode = self.command.report().mode

    @rule(data=st.data())
    def regular_states_make_it_active(self, data):
        """Whatever happened before."""
        assume(not self.ending)
        self.enable()
        n = len(self.command.joints)
        wanted = np.array(data.draw(st.lists(USUAL, min_size=n, max_size=n)))
        rules = self.command.settings
        limited = np.clip(wanted, -np.array(rules.limits), rules.limits)
        for _ in range(2):  # the first one ends all blends of what was before
            away = np.abs(self.of_joints(self.last) - limited) + np.abs(limited)
            for _ in range(math.ceil((0.6 + max(away / rules.rates)) / REGULAR) + 2):
                self.take(REGULAR, 0.001, wanted, wanted / 2)
        assert self.mode is Mode.ACTIVE
        assert list(self.last.values()) == limited.tolist()

    @rule(driver=st.sampled_from(['tick', 'step']))
    def disabled_it_becomes_silent(self, driver):
        assume(not self.ending)
        self.disable()
        rules = self.command.settings
        away = np.abs(self.of_joints(self.last)) / rules.rates
        zeros = np.zeros(len(away))
        for _ in range(math.ceil((0.3 + max(away)) / REGULAR) + 8):
            if driver == 'tick':
                self.now += REGULAR
                self.call('tick', lost=self.now - self.state_time > AGE_LIMIT)
            else:
                self.take(REGULAR, 0.0, zeros + 70.0, zeros)
        assert self.mode is Mode.DISABLED

    @precondition(lambda self: not self.ending)
    @rule(dt=DT, likely=st.integers(0, 3))
    def end(self, dt, likely):
        assume(likely == 0)
        self.now += dt
        self.call('end')

    @precondition(lambda self: self.ending)
    @rule()
    def the_end_comes(self):
        rules = self.command.settings
        goal = np.clip(self.of_joints(self.gravity), -np.array(rules.limits), rules.limits)
        away = np.abs(self.of_joints(self.last) - goal) + np.abs(goal)
        away = np.where(np.isinf(rules.rates), 0.0, away / rules.rates)
        assume(max(away) < 100.0)  # gravity torques of 1e8 at 50 N m/s
        for _ in range(math.ceil((0.6 + max(away)) / REGULAR) + 8):
            self.now += REGULAR
            self.call('tick')
        assert self.mode is Mode.ENDED


class SmoothSequences(Sequences):
    """Without limits of rates, where a step would show."""

    limits = st.sampled_from([0.0, 5.0, 100.0])
    rates = st.just(math.inf)
    times = st.sampled_from([0.1, 0.3])


Sequences.TestCase.settings = SmoothSequences.TestCase.settings = PROPERTY
TestSequences, TestSmoothSequences = Sequences.TestCase, SmoothSequences.TestCase
