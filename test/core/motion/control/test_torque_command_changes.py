# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commanded torques: blends, the end of the process, other robots and settings, arguments."""

import math
import random

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.motion.control import ACTIONS, Mode, TorqueCommand
from support.torque_rig import INF, WANTED, WEIGHT, Rig, listed, make, spread

# --- smooth -------------------------------------------------------------------------------------


def test_a_blend_takes_a_step_out_of_a_change():
    rig = Rig().activate()
    rig.command.blend()
    commands = [WANTED.tolist(), *rig.steps(0.3, WANTED + 46.0)]
    assert commands[1] == WANTED.tolist()
    assert commands[11] == pytest.approx(WANTED + 23.0)
    assert commands[-1] == (WANTED + 46.0).tolist()
    assert spread(commands) <= 46.0 * 15 / 8 * 0.01 / 0.2 * 1.001
    assert spread(commands[:3]) < 0.1
    assert spread(commands[-11:]) < 0.1


def test_a_blend_passes_later_changes_unfiltered():
    rig = Rig().activate()
    other = Rig().activate()
    rig.command.blend()
    other.command.blend()
    rig.step()
    other.step()
    assert np.subtract(rig.step(WANTED + 3.0), other.step(WANTED)) == pytest.approx([3.0, 3.0])


def test_nested_blends_go_on_from_the_last_command():
    rig = Rig().activate()
    commands = [WANTED.tolist()]
    for jump in (46.0, -46.0, 57.0, 0.0):
        rig.command.blend()
        commands += rig.steps(0.1, WANTED + jump)
    commands += rig.steps(0.2)
    assert spread(commands) <= 103.0 * 15 / 8 * 0.01 / 0.2
    assert commands[-1] == WANTED.tolist()


def test_a_blend_ends_at_a_limit_without_a_step():
    rig = Rig(limits=30.0).activate([1e6, 0.0])
    rig.command.blend()
    commands = [[30.0, 0.0], *rig.steps(0.25, [5.0, 0.0])]
    assert spread(commands) <= 25.0 * 15 / 8 * 0.01 / 0.2 * 1.001


def test_a_blend_stays_within_the_limits():
    rig = Rig(limits=30.0).activate([30.0, 0.0])
    rig.command.blend()
    rig.step([-30.0, 0.0])
    assert rig.step([30.0, 0.0]) == [30.0, 0.0]
    (limited,) = rig.command.report().limited
    assert limited.wanted > 80.0


def test_a_blend_does_not_cut_a_longer_one_short():
    rig = Rig(ramp_time=2.0)
    rig.command.enable()
    rig.steps(2.1, [20.0, 20.0])
    rig.command.disable()
    rig.steps(0.2)
    rig.command.enable()
    commands = rig.steps(0.1, [20.0, 20.0])
    rig.command.blend()
    commands += rig.steps(2.0, [20.0, 20.0])
    assert np.min(commands) > 19.0


@pytest.mark.parametrize('enabled', [False, True])
def test_a_blend_before_the_first_state_changes_nothing(enabled):
    rig, other = Rig(), Rig()
    for each in (rig, other):
        if enabled:
            each.command.enable()
    rig.command.blend()
    assert rig.steps(0.5) == other.steps(0.5)


# --- the end ------------------------------------------------------------------------------------


def test_the_end_holds():
    rig = Rig(on_end='hold').activate()
    assert listed(rig.command.end(rig.later())) == WANTED.tolist()
    assert rig.command.has_ended
    assert rig.command.report().mode is Mode.ENDED
    assert rig.ticks(0.2) == [None] * 20
    assert rig.step() is None


def test_the_end_goes_to_gravity():
    rig = Rig(on_end='gravity').activate()
    commands = [listed(rig.command.end(rig.later()))]
    while not rig.command.has_ended:
        commands.append(listed(rig.command.tick(rig.later())))
    assert commands[0] == WANTED.tolist()
    assert commands[-1] == WEIGHT.tolist()
    assert len(commands) == 21
    assert rig.command.tick(rig.later()) is None


def test_the_end_goes_to_gravity_at_the_rate_limit():
    rig = Rig(on_end='gravity', rates=10.0, blend_time=0.0).activate([0.0, 0.0])
    rig.command.end(rig.later())
    rig.ticks(0.97)
    assert not rig.command.has_ended
    rig.ticks(0.03)
    assert rig.command.has_ended


@pytest.mark.parametrize('driven', ['ticks', 'steps'])
def test_the_end_goes_to_zero(driven):
    rig = Rig(on_end='ramp_to_zero').activate()
    commands = [listed(rig.command.end(rig.later())), *getattr(rig, driven)(0.5)]
    assert rig.command.has_ended
    sent = [command for command in commands if command is not None]
    assert sent[20] == pytest.approx(WANTED / 2)
    assert sent[-1] == [0.0, 0.0]
    assert len(sent) == 41


def test_the_end_stops():
    rig = Rig(on_end='stop').activate()
    assert rig.command.end(rig.later()) is None
    assert rig.command.has_ended


@pytest.mark.parametrize('on_end', ACTIONS)
def test_the_end_of_silence_is_immediate(on_end):
    rig = Rig(on_end=on_end)
    assert rig.command.end(rig.later()) is None
    assert rig.command.has_ended


@pytest.mark.parametrize('on_end', ['hold', 'gravity', 'ramp_to_zero'])
@pytest.mark.parametrize('begun', [False, True])
def test_the_end_does_not_take_a_ramp_out_back(on_end, begun):
    rig = Rig(on_end=on_end).activate()
    rig.command.disable()
    if begun:
        rig.steps(0.1)
    rig.command.end(rig.later())
    commands = rig.ticks(0.5)
    assert rig.command.has_ended
    assert [command for command in commands if command is not None][-1] == [0.0, 0.0]


def test_after_the_end_nothing_can_be_enabled():
    rig = Rig(on_end='ramp_to_zero').activate()
    rig.command.end(rig.later())
    with pytest.raises(ScrewDynamicsError, match='ending'):
        rig.command.enable()
    assert rig.steps(0.5)[-1] is None


def test_a_second_end_goes_on_with_the_first():
    rig = Rig(on_end='ramp_to_zero').activate()
    rig.command.end(rig.later())
    rig.ticks(0.2)
    assert listed(rig.command.end(rig.now)) == pytest.approx((WANTED / 2).tolist())


def test_states_lost_while_it_ends_change_nothing():
    rig = Rig(on_end='ramp_to_zero', on_loss='stop').activate()
    rig.command.end(rig.later())
    assert rig.command.unusable(rig.later(), 'driver ended as well') is not None
    assert rig.ticks(0.3)[-1] is not None


# --- another robot, other settings --------------------------------------------------------------


def continue_with(rig, **changes):
    rig.command = TorqueCommand.continued(rig.command, make(**changes))


def test_joints_of_the_same_name_go_on_and_others_ramp_in():
    rig = Rig().activate()
    continue_with(rig, joints=('c', 'b'))
    commands = [[0.0, -8.0]]
    for _ in range(41):
        now = rig.later()
        commands.append(rig.command.step(now, np.array([6.0, 12.0]), WEIGHT, now).tolist())
    assert commands[1] == [0.0, -8.0]
    assert commands[11][1] == pytest.approx(2.0)  # half of the blend, 0.2 s
    assert commands[21] == [pytest.approx(3.0), 12.0]  # half of the ramp, 0.4 s
    assert commands[-1] == [6.0, 12.0]
    assert rig.mode is Mode.ACTIVE


def test_a_new_joint_within_a_ramp_makes_no_step():
    rig = Rig()
    rig.command.enable()
    commands = rig.steps(0.2)
    continue_with(rig, joints=('b', 'new', 'a'))
    for _ in range(41):
        now = rig.later()
        command = rig.command.step(now, np.array([-8.0, 5.0, 20.0]), np.zeros(3), now)
        commands.append(command[[2, 0]].tolist())
    assert commands[-1] == WANTED.tolist()
    assert spread(commands) <= 20.0 * 15 / 8 * 0.01 / 0.4 * 1.001


def test_other_joints_altogether_ramp_in():
    rig = Rig().activate()
    continue_with(rig, joints=('x', 'y'))
    assert rig.step() == [0.0, 0.0]
    assert rig.steps(0.5)[-1] == WANTED.tolist()


def test_other_settings_make_no_step():
    rig = Rig(limits=15.0).activate()
    continue_with(rig, limits=40.0)
    commands = [[15.0, -8.0], *rig.steps(0.25)]
    assert commands[-1] == WANTED.tolist()
    assert spread(commands) <= 5.0 * 15 / 8 * 0.01 / 0.2 * 1.001


def test_a_lowered_limit_wins_over_the_rate():
    rig = Rig(limits=30.0, rates=20.0).activate()
    continue_with(rig, limits=12.0, rates=20.0)
    assert rig.step() == [12.0, -8.0]
    (limited, *_) = rig.command.report().limited
    assert (limited.joint, limited.wanted, limited.limit) == ('a', 20.0, 12.0)


def test_a_limit_that_was_lowered_for_no_command_makes_no_step():
    rig = Rig(limits=30.0).activate()
    continue_with(rig, limits=0.0)
    continue_with(rig, limits=30.0)
    assert rig.step() == WANTED.tolist()
    assert rig.command.report().limited == ()


def test_a_report_that_was_not_taken_is_kept():
    rig = Rig(limits=30.0).activate()
    rig.step([31.0, 0.0])
    continue_with(rig, joints=('b', 'c'))
    (limited,) = rig.command.report().limited
    assert (limited.joint, limited.wanted) == ('a', 31.0)


@pytest.mark.parametrize('action', ACTIONS)
def test_another_action_replaces_the_one_under_way(action):
    rig = Rig(on_loss='hold').activate().lose()
    rig.ticks(0.1)
    continue_with(rig, on_loss=action)
    commands = rig.ticks(1.0)
    final = {'hold': WANTED.tolist(), 'gravity': WEIGHT.tolist()}
    assert commands[-1] == final.get(action)
    assert (commands[0] is None) == (action == 'stop')
    assert rig.steps(0.5)[-1] == WANTED.tolist()


@pytest.mark.parametrize('on_loss', ['hold', 'ramp_to_zero', 'stop'])
def test_states_that_were_not_wanted_for_a_while_are_not_missing(on_loss):
    """They came all the time: what takes their place ends with them, and on_loss is not begun."""
    rig = Rig(on_loss='gravity').activate()
    for _ in range(30):
        now = rig.later()
        rig.command.unusable(now, 'another description is refused', now - 0.001)
    losses = rig.command.report().losses
    continue_with(rig, on_loss=on_loss)
    assert rig.command.tick(rig.now + 0.001) is None
    assert rig.step() == WEIGHT.tolist()  # blends from there
    assert rig.steps(0.5)[-1] == WANTED.tolist()
    assert rig.command.report().losses == losses


@pytest.mark.parametrize('phase', ['disabled', 'silent', 'ramping out', 'gravity', 'ended'])
def test_what_is_under_way_stays_active(phase):
    rig = Rig(on_loss='gravity', on_end='hold')
    if phase != 'disabled':
        rig.command.enable()
    if phase not in ('disabled', 'silent'):
        rig.activate()
    if phase == 'ramping out':
        rig.command.disable()
        rig.steps(0.1)
    if phase == 'gravity':
        rig.lose().ticks(0.3)
    if phase == 'ended':
        rig.command.end(rig.later())
    before = rig.mode
    assert before.value == phase
    continue_with(rig, on_loss='gravity', on_end='hold')
    assert rig.mode is before
    commands = rig.ticks(0.5)
    assert commands[-1] == (WEIGHT.tolist() if phase == 'gravity' else None)
    assert rig.command.is_enabled == (phase in ('silent', 'gravity'))


def test_settings_set_again_and_again_do_not_keep_a_ramp_from_its_end():
    rig = Rig()
    rig.command.enable()
    for k in range(50):
        continue_with(rig, limits=1000.0 + k)
        rig.step()
    rig.steps(0.25)
    assert rig.mode is Mode.ACTIVE


# --- arguments ----------------------------------------------------------------------------------


def test_no_joints_at_all():
    rig = Rig(joints=())
    rig.command.enable()
    assert rig.step([], []) == []
    rig.command.disable()
    assert rig.step([], []) == []
    assert rig.step([], []) is None


@pytest.mark.parametrize(
    ('wanted', 'gravity'),
    [
        (np.zeros(3), WEIGHT),
        (WANTED, np.zeros(1)),
        (np.zeros(()), WEIGHT),
        (np.zeros((2, 1)), WEIGHT),
    ],
)
def test_torques_of_another_shape_are_refused(wanted, gravity):
    rig, other = Rig().activate(), Rig().activate()
    with pytest.raises(ArgumentError, match=r'shape \(2,\)'):
        rig.command.step(rig.now, wanted, gravity, rig.now)
    assert rig.steps(0.1) == other.steps(0.1)


@pytest.mark.parametrize('now', [math.nan, INF, -INF])
def test_a_time_that_is_none_is_refused(now):
    rig, other = Rig().activate(), Rig().activate()
    for call in (
        lambda: rig.command.tick(now),
        lambda: rig.command.end(now),
        lambda: rig.command.unusable(now, ''),
        lambda: rig.command.step(now, WANTED, WEIGHT, 0.0),
    ):
        with pytest.raises(ArgumentError, match='finite time'):
            call()
    assert rig.steps(0.1) == other.steps(0.1)


def test_the_arrays_of_the_caller_stay_his():
    rig = Rig().activate()
    wanted, gravity = WANTED.copy(), WEIGHT.copy()
    command = rig.command.step(rig.later(), wanted, gravity, rig.now)
    wanted[:] = gravity[:] = math.nan
    assert command.tolist() == WANTED.tolist()
    assert rig.lose().ticks(0.1)[-1] == WANTED.tolist()


def test_since_is_the_time_of_the_last_change():
    rig = Rig()
    assert rig.command.report().since == -INF
    rig.command.enable()
    rig.step()
    began = rig.now
    rig.steps(0.2)
    assert rig.command.report().since == began
    rig.steps(0.3)
    assert rig.command.report().since == pytest.approx(began + 0.4)


def test_irregular_times_of_a_ramp_lie_on_its_curve():
    generator = random.Random(4)
    rig = Rig()
    rig.command.enable()
    rig.step()
    began = rig.now
    while rig.now - began < 0.38:
        rig.dt = generator.choice([0.0, 1e-9, 0.001, 0.02])
        s = (rig.later() - began) / 0.4
        rig.now -= rig.dt
        assert rig.step() == pytest.approx(WANTED * s**3 * (10 - 15 * s + 6 * s**2), abs=1e-12)
