# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commanded torques: enabling, limits, and what happens when states are lost."""

import math

import numpy as np
import pytest

from screw_dynamics_ros.core.motion.control import ACTIONS, Mode
from support.torque_rig import INF, WANTED, WEIGHT, Rig, listed, spread

# --- enabling -----------------------------------------------------------------------------------


def test_nothing_is_commanded_before_it_is_enabled():
    rig = Rig()
    assert rig.steps(0.1) == [None] * 10
    assert rig.ticks(0.2) == [None] * 20
    report = rig.command.report()
    assert (report.mode, report.is_enabled) == (Mode.DISABLED, False)


def test_torques_rise_from_zero_over_the_ramp_time():
    rig = Rig()
    rig.command.enable()
    assert rig.mode is Mode.SILENT  # no state yet
    commands = rig.steps(0.4)
    assert commands[0] == [0.0, 0.0]
    assert commands[20] == pytest.approx([10.0, -4.0], rel=1e-9)
    assert rig.mode is Mode.RAMPING_IN
    assert rig.steps(0.02)[-1] == WANTED.tolist()
    assert rig.mode is Mode.ACTIVE
    assert spread(commands) <= 20.0 * 15 / 8 * 0.01 / 0.4 * (1 + 1e-9)


def test_wanted_torques_are_passed_on_exactly_when_active():
    rig = Rig(limits=50.0, rates=1e6).activate()
    wanted = np.random.default_rng(1).uniform(-50.0, 50.0, 2)
    assert rig.step(wanted) == wanted.tolist()
    assert rig.command.report().limited == ()


def test_the_result_is_one_read_only_array():
    rig = Rig().activate()
    first = rig.command.step(rig.later(), WANTED, WEIGHT, rig.now)
    assert rig.command.tick(rig.now + 1.0) is first
    with pytest.raises(ValueError, match='read-only'):
        first[0] = 1.0


def test_a_ramp_scales_what_is_wanted_now():
    """It never commands against a torque that changes its sign within the ramp."""
    rig = Rig()
    rig.command.enable()
    rig.steps(0.2)
    assert np.sign(rig.step(-WANTED)).tolist() == np.sign(-WANTED).tolist()


def test_disabling_ramps_out_and_then_sends_nothing():
    rig = Rig().activate()
    rig.command.disable()
    commands = rig.steps(0.4)
    assert rig.mode is Mode.RAMPING_OUT
    assert commands[0] == WANTED.tolist()
    assert commands[20] == pytest.approx([10.0, -4.0], rel=1e-9)
    assert rig.step() == [0.0, 0.0]
    assert rig.steps(0.1) == [None] * 10
    assert rig.mode is Mode.DISABLED


def test_disabling_ends_without_states_too():
    rig = Rig().activate().lose()
    rig.command.disable()
    commands = rig.ticks(0.45)
    assert [0.0, 0.0] in commands
    assert commands[-1] is None
    assert rig.mode is Mode.DISABLED


def test_requests_that_come_twice_change_nothing():
    once, twice = Rig(), Rig()
    for rig, times in ((once, 1), (twice, 2)):
        for _ in range(times):
            rig.command.enable()
    assert once.steps(0.1) == twice.steps(0.1)
    twice.command.enable()
    assert once.steps(0.5) == twice.steps(0.5)
    once.command.disable()
    twice.command.disable()
    assert once.steps(0.1) == twice.steps(0.1)
    twice.command.disable()
    assert once.steps(0.5) == twice.steps(0.5)


def test_a_request_taken_back_between_two_calls_is_none():
    rig, other = Rig().activate(), Rig().activate()
    rig.command.disable()
    rig.command.enable()
    assert rig.steps(0.3) == other.steps(0.3)


@pytest.mark.parametrize('at', [0.05, 0.2, 0.35])
def test_a_ramp_can_be_reversed(at):
    rig = Rig()
    rig.command.enable()
    commands = rig.steps(at)
    rig.command.disable()
    commands += rig.steps(0.1)
    rig.command.enable()
    commands += rig.steps(0.45)
    assert None not in commands
    assert commands[-1] == WANTED.tolist()
    assert spread(commands) <= 20.0 * 15 / 8 * 0.01 / 0.4 * 1.001


def test_without_times_everything_is_immediate():
    rig = Rig(ramp_time=0.0, blend_time=0.0)
    rig.command.enable()
    assert rig.step() == WANTED.tolist()
    rig.command.blend()
    assert rig.step(-WANTED) == (-WANTED).tolist()
    rig.command.disable()
    assert rig.step() == [0.0, 0.0]
    assert rig.step() is None


# --- limits -------------------------------------------------------------------------------------


def test_commands_stay_within_the_limits():
    rig = Rig(limits=[15.0, 5.0])
    rig.command.enable()
    commands = np.array(rig.steps(0.5, [1e8, -1e8]))
    assert np.abs(commands).max(axis=0).tolist() == [15.0, 5.0]
    assert spread(commands) <= 15.0 * 15 / 8 * 0.01 / 0.4 * 1.001  # the limit is ramped, not 1e8


def test_commands_change_no_faster_than_the_rates():
    rig = Rig(rates=[100.0, INF]).activate()
    assert rig.step([-20.0, 30.0]) == [19.0, 30.0]
    assert rig.step([18.5, 30.0]) == [18.5, 30.0]


def test_the_first_command_with_a_rate_limit_is_zero():
    rig = Rig(rates=[100.0, INF], ramp_time=0.0)
    rig.command.enable()
    assert rig.step() == [0.0, -8.0]
    assert rig.step() == [1.0, -8.0]


def test_time_of_silence_is_no_time_for_a_rate():
    rig = Rig(rates=100.0, ramp_time=0.0).activate([0.0, 0.0])
    rig.command.disable()
    assert rig.steps(0.1)[-1] is None
    rig.command.enable()
    assert rig.step() == [0.0, 0.0]


@pytest.mark.parametrize('excess', [1.001, 1.5])
def test_a_rate_limit_that_is_hardly_exceeded_acts(excess):
    rig = Rig(rates=[100.0, 1e6]).activate([0.0, 0.0])
    assert rig.step([excess, 0.0]) == pytest.approx([1.0, 0.0], abs=1e-12)
    (limited,) = rig.command.report().limited
    assert limited.wanted == pytest.approx(excess * 100.0)


def test_no_time_leaves_no_change_where_rates_are_limited():
    rig = Rig(rates=[100.0, INF]).activate()
    assert rig.command.step(rig.now, 2 * WANTED, WEIGHT, rig.now).tolist() == [20.0, -16.0]
    assert rig.command.step(rig.now - 5.0, WANTED, WEIGHT, rig.now).tolist() == [20.0, -8.0]


def test_a_pause_counts_no_more_than_the_age_limit():
    rig = Rig(rates=100.0, blend_time=0.0).activate([0.0, 0.0])
    rig.now += 60.0
    assert rig.step([40.0, -40.0]) == pytest.approx([5.0, -5.0])  # 0.05 s


def test_a_rate_slower_than_the_ramp_ends_at_zero_all_the_same():
    rig = Rig(rates=10.0, ramp_time=0.1).activate([5.0, -5.0])
    rig.command.disable()
    commands = rig.steps(0.6)
    sent = [command for command in commands if command is not None]
    assert sent[-1] == [0.0, 0.0]
    assert 50 < len(sent) < 55
    assert spread(sent) <= 0.1 * (1 + 1e-12)


def test_acting_limits_are_reported_once_with_their_worst_case():
    rig = Rig(limits=[30.0, INF], rates=[INF, 50.0]).activate()
    assert rig.command.report().limited == ()
    for wanted in (40.0, 57.0, 45.0):
        rig.step([wanted, -8.0])
    rig.step([20.0, 12.0])
    rig.step([20.0, -8.0])
    torque, rate = rig.command.report().limited
    assert (torque.joint, torque.quantity, torque.count) == ('a', 'torque', 3)
    assert (torque.wanted, torque.limit) == (57.0, 30.0)
    assert str(torque) == "torque of joint 'a' limited to 30, 57 wanted at most (3 times)"
    assert (rate.joint, rate.quantity, rate.count, rate.limit) == ('b', 'rate', 1, 50.0)
    assert rate.wanted == pytest.approx(20.0 / 0.01)
    assert rig.command.report().limited == ()


def test_a_jump_in_no_time_is_reported():
    rig = Rig(rates=100.0).activate()
    rig.command.step(rig.now, np.array([20.0, 5.0]), WEIGHT, rig.now)
    (limited,) = rig.command.report().limited
    assert (limited.joint, limited.wanted, limited.limit) == ('b', INF, 100.0)
    assert str(limited) == "rate of joint 'b' limited to 100, a step wanted at most (1 times)"


# --- fresh --------------------------------------------------------------------------------------


def test_a_young_state_leaves_a_tick_nothing_to_do():
    rig = Rig().activate()
    assert rig.command.tick(rig.now + 0.048) is None
    assert rig.command.tick(rig.now + 0.050) is not None


def test_the_transport_delay_counts_as_age():
    rig = Rig().activate()
    assert rig.step(age=0.04) is not None
    assert rig.command.tick(rig.now + 0.011) is not None
    assert rig.mode is Mode.HOLDING


@pytest.mark.parametrize('age', [0.051, 1e9, INF, -0.051, -INF, math.nan])
def test_an_old_state_is_not_used(age):
    rig = Rig().activate()
    assert rig.step([99.0, 99.0], age=age) == WANTED.tolist()
    report = rig.command.report()
    assert (report.mode, report.losses) == (Mode.HOLDING, 1)
    assert 'age_limit is 0.05 s' in report.reason


def test_a_state_from_a_little_later_ages_from_now_on():
    rig = Rig().activate()
    rig.step(age=-0.04)
    assert rig.command.tick(rig.now + 0.051) is not None


@pytest.mark.parametrize('bad', [math.nan, INF, -INF, 1e200, -1e9])
@pytest.mark.parametrize('which', ['wanted', 'gravity'])
def test_impossible_torques_are_never_commanded(bad, which):
    rig = Rig().activate()
    torques = {'wanted': WANTED, 'gravity': WEIGHT, which: np.array([1.0, bad])}
    assert rig.step(**torques) == WANTED.tolist()
    report = rig.command.report()
    assert (report.mode, report.losses) == (Mode.HOLDING, 1)
    assert report.reason == f"the {which} torque of joint 'b' is {bad:g}"
    assert rig.steps(0.3)[-1] == WANTED.tolist()
    assert rig.mode is Mode.ACTIVE


@pytest.mark.parametrize(('size', 'is_possible'), [(1e9 - 0.5, True), (1e9, False)])
def test_torques_up_to_a_billion_are_possible(size, is_possible):
    """The magnitudes of wanted and gravity torques of all joints together, in N m."""
    rig = Rig().activate()
    found = rig.command.step(rig.later(), np.array([0.5 * size, -0.25 * size]),
                             np.array([-0.25 * size, 0.0]), rig.now)  # fmt: skip
    assert (rig.mode is Mode.ACTIVE) == is_possible
    assert (found is not None and found[0] == 0.5 * size) == is_possible


def test_torques_that_are_impossible_together_are_not_commanded():
    rig = Rig().activate()
    assert rig.step([7e8, 7e8]) == WANTED.tolist()
    assert rig.command.report().reason == 'the wanted and gravity torques add up to 1e+09 and more'


def test_large_torques_without_limits_make_no_step():
    """What rounding takes of the command within a blend from or to them is too small to feel."""
    rig = Rig().activate()
    last = WANTED.tolist()
    for wanted in ([9e8, 0.0], [-9e8, 0.0], WANTED.tolist()):
        rig.command.blend()
        commands = rig.steps(0.25, wanted)
        assert commands[0] == pytest.approx(last, abs=1e-6)
        last = commands[-1]
        assert last == wanted


def test_hold_repeats_the_last_command():
    rig = Rig(on_loss='hold').activate().lose()
    assert rig.ticks(2.0) == [WANTED.tolist()] * 200
    assert rig.mode is Mode.HOLDING


def test_gravity_blends_to_the_gravity_torques_of_the_last_state():
    rig = Rig(on_loss='gravity').activate().lose()
    commands = rig.ticks(0.3)
    assert commands[0] == WANTED.tolist()
    assert commands[10] == pytest.approx((WANTED + WEIGHT) / 2)
    assert commands[20:] == [WEIGHT.tolist()] * 10
    assert rig.mode is Mode.GRAVITY


def test_gravity_torques_come_no_faster_than_an_interrupted_ramp():
    rig = Rig(on_loss='gravity')
    rig.command.enable()
    rig.step()
    commands = rig.lose().ticks(0.45)
    assert commands[-1] == WEIGHT.tolist()
    assert spread(commands) <= 10.0 * 15 / 8 * 0.01 / 0.4 * 1.001


def test_gravity_torques_are_limited_too():
    rig = Rig(on_loss='gravity', limits=[9.0, 5.0]).activate().lose()
    assert rig.ticks(0.3)[-1] == [9.0, 4.0]
    (limited,) = rig.command.report().limited
    assert (limited.joint, limited.wanted, limited.limit) == ('a', 10.0, 9.0)


def test_ramp_to_zero_ends_in_silence():
    rig = Rig(on_loss='ramp_to_zero').activate().lose()
    commands = rig.ticks(0.5)
    assert commands[20] == pytest.approx(WANTED / 2)
    assert commands[40] == [0.0, 0.0]
    assert commands[41:] == [None] * 9
    report = rig.command.report()
    assert (report.mode, report.is_enabled) == (Mode.SILENT, True)


def test_stop_is_silent_at_once():
    rig = Rig(on_loss='stop', rates=1.0).activate([0.1, 0.1]).lose()
    assert rig.ticks(0.1) == [None] * 10
    assert rig.mode is Mode.SILENT


@pytest.mark.parametrize('action', ACTIONS)
def test_an_unusable_state_counts_as_lost_at_once(action):
    lost, unusable = Rig(on_loss=action).activate().lose(), Rig(on_loss=action).activate()
    first = listed(unusable.command.unusable(unusable.later(), 'joint states carry no velocity'))
    assert [first, *unusable.ticks(0.5)] == lost.ticks(0.51)
    assert unusable.command.report().reason == 'joint states carry no velocity'


def test_a_tick_does_not_replace_the_reason():
    rig = Rig().activate()
    rig.command.unusable(rig.later(), 'description refused')
    rig.ticks(0.2)
    report = rig.command.report()
    assert (report.reason, report.losses) == ('description refused', 1)


@pytest.mark.parametrize('action', ['hold', 'gravity'])
def test_states_that_resume_are_blended_in(action):
    rig = Rig(on_loss=action).activate().lose()
    last = rig.ticks(0.5)[-1]
    commands = rig.steps(0.3, [-50.0, 50.0])
    assert commands[0] == pytest.approx(last)
    assert commands[20:] == [[-50.0, 50.0]] * 10
    assert spread(commands) <= 70.0 * 15 / 8 * 0.01 / 0.2 * 1.001


@pytest.mark.parametrize('action', ['ramp_to_zero', 'stop'])
def test_states_that_resume_after_silence_ramp_in(action):
    rig = Rig(on_loss=action).activate().lose()
    rig.ticks(0.5)
    commands = rig.steps(0.5)
    assert commands[0] == [0.0, 0.0]
    assert commands[20] == pytest.approx(WANTED / 2)
    assert commands[-1] == WANTED.tolist()
    assert rig.mode is Mode.ACTIVE


def test_states_that_resume_within_a_ramp_to_zero_turn_it_round():
    rig = Rig(on_loss='ramp_to_zero').activate().lose()
    commands = rig.ticks(0.2) + rig.steps(0.5)
    assert commands[-1] == WANTED.tolist()
    assert spread(commands) <= 20.0 * 15 / 8 * 0.01 / 0.4 * 1.001


def test_an_interrupted_ramp_in_is_not_cut_short():
    rig = Rig(on_loss='hold')
    rig.command.enable()
    rig.steps(0.05)
    held = rig.lose().ticks(10.0)[-1]
    commands = [held, *rig.steps(0.5)]
    assert commands[-1] == WANTED.tolist()
    assert spread(commands) <= 20.0 * 15 / 8 * 0.01 / 0.4 * 1.001


def test_a_pause_without_ticks_is_a_loss_too():
    """A process that stood still goes on from its last command."""
    rig = Rig().activate()
    rig.now += 0.9
    commands = rig.steps(0.3, -WANTED)
    assert commands[0] == WANTED.tolist()
    assert spread(commands) <= 40.0 * 15 / 8 * 0.01 / 0.2 * 1.001
    assert rig.command.report().reason == 'no call for 0.91 s'


def test_a_pause_does_not_shorten_a_ramp_out():
    rig = Rig().activate()
    rig.command.disable()
    commands = rig.steps(0.2)
    rig.now += 10.0
    commands.append(rig.step())
    assert spread(commands) <= 20.0 * 15 / 8 * 0.05 / 0.4 * 1.001
    assert commands[-1][0] > 2.0


def test_a_loss_in_silence_is_no_new_silence():
    rig = Rig(on_loss='stop')
    rig.command.enable()
    rig.command.unusable(rig.later(), 'no velocity')
    report = rig.command.report()
    assert (report.mode, report.since, report.reason) == (Mode.SILENT, -INF, 'no velocity')


def test_lost_while_it_ramps_out():
    for action in ('hold', 'gravity', 'ramp_to_zero'):
        rig = Rig(on_loss=action).activate()
        rig.command.disable()
        rig.step()
        assert rig.lose().ticks(0.5)[-1] is None
    rig = Rig(on_loss='stop').activate()
    rig.command.disable()
    rig.step()
    assert rig.lose().ticks(0.02) == [None, None]
