# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states of every kind that drivers send (design 6.1), without middleware."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout, JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.name_map import CACHED_LAYOUTS, NameMap
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason

# The nodes switch NumPy's remarks on numbers that are not finite off: they look for them.
pytestmark = pytest.mark.filterwarnings(
    'ignore:invalid value encountered', 'ignore:overflow encountered'
)

JOINTS = ('shoulder', 'elbow', 'wrist')
SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
NAN = float('nan')


def message(names=JOINTS, position=None, velocity=None, effort=None, stamp=0.0):
    count = len(names)
    fields = [
        np.arange(count) + 0.1 if position is None else position,
        np.arange(count) + 10.0 if velocity is None else velocity,
        np.arange(count) + 20.0 if effort is None else effort,
    ]
    return JointStateMessage.of(tuple(names), *fields, START + round(stamp * SECOND))


def mapper(joints=JOINTS, **options):
    made = JointStateMapper(
        joints,
        continuous=options.pop('continuous', ()),
        known=options.pop('known', ()),
        effort_fault=options.pop('effort_fault', ''),
        policies=Policies(**options),
        clock=lambda: made.now,
    )
    made.now = START
    return made


def feed(states, sent):
    """Send a message at its stamp."""
    states.now = sent.stamp
    return states.update(sent, arrival=(sent.stamp - START) / SECOND)


def count(states, reason):
    return states.records[reason].count if reason in states.records else 0


# --- the ordinary case ---------------------------------------------------------------------------


def test_values_go_by_name():
    states = mapper()
    for step in range(5):
        sent = message(
            ('wrist', 'shoulder', 'elbow'), [3, 1, 2], [30, 10, 20], [33, 11, 22], stamp=0.01 * step
        )
        assert feed(states, sent)
        np.testing.assert_array_equal(states.q, [1, 2, 3])
        np.testing.assert_array_equal(states.v, [10, 20, 30])
        np.testing.assert_array_equal(states.tau, [11, 22, 33])
        assert states.stamp == sent.stamp
        assert states.has_velocity
        assert states.has_effort
    assert states.records == {}
    assert states.accepted == 5


def test_results_are_always_the_same_arrays():
    states = mapper()
    arrays = states.q, states.v, states.tau
    for stamp in (0.0, 0.01, 100.0, 1.0):
        feed(states, message(stamp=stamp))
    assert all(a is b for a, b in zip(arrays, (states.q, states.v, states.tau)))


def test_order_may_change_between_messages():
    states = mapper()
    for step, names in enumerate([JOINTS, JOINTS[::-1], ('elbow', 'wrist', 'shoulder')] * 4):
        values = [JOINTS.index(name) for name in names]
        assert feed(states, message(names, values, values, values, stamp=0.01 * step))
        np.testing.assert_array_equal(states.q, [0, 1, 2])
        np.testing.assert_array_equal(states.tau, [0, 1, 2])


def test_stamps_of_the_values_of_each_joint():
    """Those of the last message that reported it; another array each time."""
    states = mapper()
    for step in range(4):
        feed(states, message(stamp=0.01 * step))
        np.testing.assert_array_equal(states.stamps, [START + step * SECOND // 100] * 3)
    before = states.stamps
    feed(states, message(JOINTS[1:2], [0.5], [0.0], [0.0], stamp=0.04))
    np.testing.assert_array_equal(states.stamps - before, [0, SECOND // 100, 0])


def test_messages_with_and_without_a_stranger_agree():
    """The same values, once regular and once with an extra unknown joint that is not finite."""
    regular, careful = mapper(), mapper()
    numbers = np.random.default_rng(1).normal(size=(50, 3, 3))
    for step, fields in enumerate(numbers):
        assert feed(regular, message(JOINTS, *fields, stamp=0.01 * step))
        longer = [np.append(values, NAN) for values in fields]
        assert feed(careful, message((*JOINTS, 'stranger'), *longer, stamp=0.01 * step))
        for name in ('q', 'v', 'tau'):
            np.testing.assert_array_equal(getattr(regular, name), getattr(careful, name))
    assert count(careful, Reason.UNKNOWN_JOINTS) == 50


@pytest.mark.parametrize('policy', ['reject', 'differentiate', 'zero', 'hold'])
def test_regular_messages_need_no_policy(policy):
    states = mapper(velocity=policy)
    for step in range(3):
        assert feed(states, message(stamp=0.01 * step))
        np.testing.assert_array_equal(states.v, [10, 11, 12])


# --- names ---------------------------------------------------------------------------------------


def test_unknown_joints_are_ignored_and_named():
    states = mapper(known=['finger'])
    assert feed(states, message(('camera_pan', *JOINTS, 'finger')))
    np.testing.assert_allclose(states.q, [1.1, 2.1, 3.1])
    assert states.records[Reason.UNKNOWN_JOINTS].detail == 'camera_pan'


@pytest.mark.parametrize(
    ('names', 'reason', 'detail'),
    [
        ((), Reason.EMPTY, ''),
        (('a', 'b'), Reason.FOREIGN, 'expected shoulder, elbow, wrist'),
        (('shoulder', 'elbow', 'wrist', 'elbow'), Reason.DUPLICATE_JOINT, 'elbow'),
    ],
)
def test_messages_refused_for_their_names(names, reason, detail):
    states = mapper()
    assert not feed(states, message(names))
    assert detail in states.records[reason].detail
    assert feed(states, message(stamp=0.01))


def test_duplicate_names_leave_the_state_alone():
    states = mapper()
    feed(states, message())
    before = states.q.copy()
    assert not feed(states, message((*JOINTS, 'wrist'), [9, 9, 9, 9], [9] * 4, [9] * 4, stamp=0.01))
    np.testing.assert_array_equal(states.q, before)


@pytest.mark.parametrize(
    'names',
    [
        [f'stranger{i}' for i in range(3_000)],
        [f'stranger{i // 2}' for i in range(3_000)],
        [*JOINTS, *(f'stranger{i}' for i in range(3_000))],
    ],
)
def test_many_names_cost_time_in_proportion(names):
    """Each name is looked at a few times, and not once for each of the others."""

    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

    NameMap.of(JointStateLayout(tuple(map(Counted, names)), 0, 0, 0), JOINTS, {'finger'})
    assert Counted.compared < 10 * len(names)


def test_foreign_names_are_cut_short_on_diagnostics():
    """A name may have ten thousand characters, and those may move the cursor of a terminal."""
    states = mapper()
    long, wild = 'x' * 10_000, 'a\x1b[2J\nb\0'
    feed(states, message((long, wild) * 40))
    feed(states, message((long, wild, *(long + str(i) for i in range(40))), stamp=0.01))
    feed(states, message((*JOINTS, long, wild, *(long + str(i) for i in range(40))), stamp=0.02))
    assert set(states.records) == {Reason.DUPLICATE_JOINT, Reason.FOREIGN, Reason.UNKNOWN_JOINTS}
    for record in states.records.values():
        assert len(record.detail) < 1000
        assert record.detail.isprintable()
        assert 'xxx' in record.detail
        assert 'a\\x1b[2J\\nb\\x00' in record.detail


def test_endless_variety_of_names_is_not_remembered():
    states = mapper()
    for step in range(20 * CACHED_LAYOUTS):
        feed(states, message((*JOINTS, f'stranger{step}'), stamp=0.01 * step))
    assert len(states.maps) <= CACHED_LAYOUTS


# --- several sources -----------------------------------------------------------------------------


def test_partial_messages_are_merged():
    states = mapper()
    assert not feed(states, message(('shoulder', 'elbow'), [1, 2], [1, 2], [1, 2]))
    assert 'never reported: wrist' in states.records[Reason.INCOMPLETE].detail
    assert feed(states, message(('wrist',), [3], [3], [3], stamp=0.004))
    np.testing.assert_array_equal(states.q, [1, 2, 3])
    assert states.stamp == START + 4_000_000
    assert feed(states, message(('shoulder', 'elbow'), [4, 5], [4, 5], [4, 5], stamp=0.01))
    np.testing.assert_array_equal(states.q, [4, 5, 3])


def test_source_whose_clock_is_behind_does_not_turn_time_back():
    states = mapper()
    feed(states, message(('shoulder', 'elbow'), stamp=0.100))
    assert feed(states, message(('wrist',), [0], stamp=0.050))
    stamps = [states.stamp]
    for step in range(1, 20):
        assert feed(states, message(('shoulder', 'elbow'), stamp=0.100 + 0.01 * step))
        stamps.append(states.stamp)
        assert not feed(states, message(('wrist',), [step], stamp=0.050 + 0.01 * step))
        assert states.stamp == stamps[-1]
        assert states.q[2] == step - 1  # it shows with the next state
    assert (np.diff(stamps) > 0).all()
    assert count(states, Reason.OUT_OF_ORDER) == 0


def test_silent_source_is_missed():
    states = mapper(state_timeout=0.1)
    feed(states, message(('shoulder', 'elbow')))
    assert feed(states, message(('wrist',), stamp=0.01))
    assert feed(states, message(('shoulder', 'elbow'), stamp=0.1))
    assert not feed(states, message(('shoulder', 'elbow'), stamp=0.12))
    assert 'no longer reported: wrist' in states.records[Reason.INCOMPLETE].detail
    assert feed(states, message(('wrist',), stamp=0.13))


def test_joint_that_nobody_reports_can_be_taken_at_zero():
    states = mapper(position='zero', effort='zero')
    assert feed(states, message(('shoulder', 'elbow'), [1, 2], [1, 2], [1, 2]))
    np.testing.assert_array_equal(states.q, [1, 2, 0])
    assert states.has_velocity
    assert states.has_effort


# --- fields --------------------------------------------------------------------------------------


@pytest.mark.parametrize('bad', [NAN, np.inf, -np.inf])
def test_position_that_is_no_number_is_refused(bad):
    states = mapper()
    feed(states, message())
    before = states.q.copy()
    assert not feed(states, message(position=[1, bad, 3], stamp=0.01))
    np.testing.assert_array_equal(states.q, before)
    assert states.records[Reason.POSITION_MISSING].detail == 'elbow (position_policy: reject)'
    assert feed(states, message(stamp=0.02))


def test_position_can_be_held():
    states = mapper(position='hold', state_timeout=0.1)
    feed(states, message(position=[1, 2, 3]))
    assert feed(states, message(position=[4, NAN, 6], stamp=0.05))
    np.testing.assert_array_equal(states.q, [4, 2, 6])
    assert feed(states, message(position=[5, NAN, 6], stamp=0.1))
    assert not feed(states, message(position=[6, NAN, 6], stamp=0.15))  # too old by now


def test_held_position_needs_one_to_hold():
    states = mapper(position='hold')
    assert not feed(states, message(position=[4, NAN, 6]))


@pytest.mark.parametrize('length', [1, 2, 4, 7])
def test_ragged_positions_are_refused(length):
    states = mapper()
    assert not feed(states, message(position=np.ones(length)))
    assert states.records[Reason.POSITION_RAGGED].detail == f'{length} for 3 names'


@pytest.mark.parametrize('policy', ['reject', 'zero', 'hold', 'differentiate'])
@pytest.mark.parametrize('velocity', [[], [1.0], [1.0, NAN, 3.0], [1.0, 2.0, 3.0, 4.0]])
def test_missing_velocity_by_policy(policy, velocity):
    states = mapper(velocity=policy)
    assert feed(states, message(position=[0, 0, 0], velocity=[7, 8, 9]))
    assert feed(states, message(position=[0.1, 0.2, 0.3], velocity=velocity, stamp=0.1))
    given = np.array([1.0, NAN, 3.0]) if len(velocity) == 3 else np.full(3, NAN)
    expected = {'zero': [0, 0, 0], 'hold': [7, 8, 9], 'differentiate': [1, 2, 3], 'reject': [0] * 3}
    np.testing.assert_allclose(
        states.v, np.where(np.isnan(given), expected[policy], given), atol=1e-12
    )
    assert states.has_velocity == (policy != 'reject')
    assert states.has_effort
    named = 'elbow' if len(velocity) == 3 else 'shoulder, elbow, wrist'
    assert states.records[Reason.VELOCITY_MISSING].detail == f'{named} (velocity_policy: {policy})'
    assert count(states, Reason.VELOCITY_MISSING) == 1
    assert count(states, Reason.VELOCITY_RAGGED) == (len(velocity) in (1, 4))


@pytest.mark.parametrize('policy', ['reject', 'zero', 'hold'])
@pytest.mark.parametrize('effort', [[], [1.0, 2.0], [1.0, np.inf, 3.0]])
def test_missing_effort_by_policy(policy, effort):
    states = mapper(effort=policy)
    assert feed(states, message(effort=[7, 8, 9]))
    assert feed(states, message(effort=effort, stamp=0.1))
    given = np.array([1.0, NAN, 3.0]) if len(effort) == 3 else np.full(3, NAN)
    expected = {'zero': [0, 0, 0], 'hold': [7, 8, 9], 'reject': [0, 0, 0]}[policy]
    np.testing.assert_array_equal(states.tau, np.where(np.isnan(given), expected, given))
    assert states.has_effort == (policy != 'reject')
    assert states.has_velocity
    named = 'elbow' if len(effort) == 3 else 'shoulder, elbow, wrist'
    assert states.records[Reason.EFFORT_MISSING].detail == f'{named} (effort_policy: {policy})'
    assert count(states, Reason.EFFORT_MISSING) == 1
    assert count(states, Reason.EFFORT_RAGGED) == (len(effort) == 2)


@pytest.mark.parametrize('policy', ['reject', 'zero', 'hold'])
def test_efforts_with_a_fault_are_not_used(policy):
    """Whatever the policy is: a substitute would be used as a torque."""
    states = mapper(effort=policy, effort_fault='currents')
    for step in range(4):
        assert feed(states, message(position=[step, 1, 2], stamp=0.1 * step))
        np.testing.assert_array_equal(states.q, [step, 1, 2])
        np.testing.assert_array_equal(states.tau, 0.0)
        assert states.has_velocity
        assert not states.has_effort
    assert feed(states, message(position=[9, 1, 2], velocity=[], stamp=0.4))
    assert not states.has_effort
    np.testing.assert_array_equal(states.tau, 0.0)
    assert states.records[Reason.EFFORT_UNKNOWN].count == 5
    assert states.records[Reason.EFFORT_UNKNOWN].detail == 'currents'


@pytest.mark.parametrize('run', [1, 2, 5])
def test_first_message_without_velocity_after_a_run_of_regular_ones(run):
    """Its velocities are those since the last regular one, whose position and time count."""
    states = mapper()
    for step in range(run):
        q = np.array([1.0, 2.0, 3.0]) * step
        assert feed(states, message(position=q, velocity=[7, 8, 9], stamp=0.1 * step))
    assert feed(states, message(position=q + [0.1, -0.2, 0.4], velocity=[], stamp=0.1 * step + 0.2))
    assert states.has_velocity
    np.testing.assert_allclose(states.v, [0.5, -1.0, 2.0], atol=1e-12)
    assert count(states, Reason.VELOCITY_MISSING) == 1


def test_first_position_that_is_missing_after_a_run_of_regular_ones():
    states = mapper(position='hold', state_timeout=0.1)
    for step in range(4):
        assert feed(states, message(position=[step] * 3, stamp=0.05 * step))
    assert feed(states, message(position=[9, NAN, 9], stamp=0.25))
    np.testing.assert_array_equal(states.q, [9, 3, 9])
    assert not feed(states, message(position=[9, NAN, 9], stamp=0.3))


@pytest.mark.parametrize('timing', ['values', 'messages'])
def test_zero_is_not_for_positions_that_are_out_of_date(timing):
    """A joint that was reported once is where it is, and not at zero."""
    states = mapper(position='zero', effort='zero', state_timeout=0.1)
    assert feed(states, message(('shoulder', 'elbow'), [1, 2], [1, 2], [1, 2]))
    assert feed(states, message(position=[1, 2, 3], stamp=0.05))
    both, alone = message(position=[4, 5, NAN]), message(('shoulder', 'elbow'), [4, 5])
    late = both if timing == 'values' else alone
    for stamp, is_current in ((0.15, True), (0.16, False), (0.5, False)):
        sent = dataclasses.replace(late, stamp=START + round(stamp * SECOND))
        assert feed(states, sent) == is_current
        if is_current:
            np.testing.assert_array_equal(states.q, [4, 5, 3])
    reason = Reason.POSITION_MISSING if timing == 'values' else Reason.INCOMPLETE
    assert 'wrist' in states.records[reason].detail
    assert feed(states, message(position=[6, 7, 8], stamp=0.6))
    np.testing.assert_array_equal(states.q, [6, 7, 8])


def test_held_velocity_expires():
    states = mapper(velocity='hold', state_timeout=0.1)
    feed(states, message())
    for stamp, present in ((0.05, True), (0.1, True), (0.15, False), (0.2, False)):
        assert feed(states, message(velocity=[], stamp=stamp))
        assert states.has_velocity == present
        np.testing.assert_array_equal(states.v, [10, 11, 12] if present else [0, 0, 0])


def test_first_velocity_cannot_be_differentiated():
    states = mapper()
    assert feed(states, message(velocity=[]))
    assert not states.has_velocity
    assert feed(states, message(velocity=[], stamp=0.1))
    assert states.has_velocity


def test_positions_of_continuous_joints_are_differentiated_across_the_seam():
    states = mapper(continuous=['elbow'])
    feed(states, message(position=[3.1, 3.1, 0], velocity=[]))
    feed(states, message(position=[-3.1, -3.1, 0], velocity=[], stamp=0.1))
    np.testing.assert_allclose(states.v, [-62.0, (2 * np.pi - 6.2) / 0.1, 0.0], atol=1e-9)


def test_differentiation_does_not_bridge_a_pause():
    states = mapper(state_timeout=0.2)
    feed(states, message(position=[0, 0, 0], velocity=[]))
    feed(states, message(position=[1, 1, 1], velocity=[], stamp=5.0))
    assert not states.has_velocity
    assert states.restarted
    assert count(states, Reason.PAUSE) == 1
    feed(states, message(position=[2, 2, 2], velocity=[], stamp=5.1))
    np.testing.assert_allclose(states.v, 10.0)
    assert not states.restarted


def test_filter_of_differentiated_velocity():
    """A step of velocity passes a first-order filter: 1 - exp(-2 pi f t)."""
    states = mapper(velocity_cutoff=2.0)
    for position, stamp in ((0.0, 0.0), (0.0, 0.05), (0.1, 0.1), (0.2, 0.15), (0.3, 0.2)):
        feed(states, message(position=[position] * 3, velocity=[], stamp=stamp))
    np.testing.assert_allclose(states.v, 2.0 * (1 - np.exp(-2 * np.pi * 2.0 * 0.15)), rtol=1e-9)


def test_effort_is_calibrated():
    states = mapper()
    states.calibrate(np.array([2.0, 1.0, -1.0]), np.array([0.0, 5.0, 0.5]))
    for stamp in (0.0, 0.1, 0.2):
        feed(states, message(('wrist', 'elbow', 'shoulder'), effort=[1, 2, 3], stamp=stamp))
        np.testing.assert_array_equal(states.tau, [6.0, 7.0, -0.5])
    feed(states, message(('wrist', 'elbow', 'shoulder'), effort=[1, NAN, 3], stamp=0.3))
    np.testing.assert_array_equal(states.tau, [6.0, 0.0, -0.5])


def test_efforts_of_partial_messages_are_calibrated_joint_by_joint():
    """Each joint has its own scale and offset, whatever it comes with and in which order."""
    states = mapper()
    states.calibrate(np.array([2.0, 1.0, -1.0]), np.array([0.0, 5.0, 0.5]))
    for step in range(4):
        at = 0.02 * step
        feed(states, message(('wrist', 'shoulder'), effort=[10 + step, 20 + step], stamp=at))
        assert feed(states, message(('elbow',), effort=[30 + step], stamp=at + 0.01))
        np.testing.assert_array_equal(states.tau, [40 + 2 * step, 35 + step, -9.5 - step])
    states.calibrate(None, None)
    assert feed(states, message(effort=[1, 2, 3], stamp=0.1))
    np.testing.assert_array_equal(states.tau, [1, 2, 3])


@pytest.mark.parametrize('run', [0, 3])
def test_effort_that_is_too_large_as_a_torque_counts_as_missing(run):
    """1e308 of a driver's units are finite, and a hundred times as many N m are not."""
    states = mapper(effort='hold')
    states.calibrate(np.array([100.0, 1.0, 1.0]), None)
    for step in range(run):
        assert feed(states, message(effort=[1, 2, 3], stamp=0.01 * step))
    assert feed(states, message(position=[4, 5, 6], effort=[1e308, 7, 8], stamp=0.1))
    assert states.has_effort == (run > 0)
    np.testing.assert_array_equal(states.tau, [100 * (run > 0), 7, 8])
    np.testing.assert_array_equal(states.q, [4, 5, 6])
    assert 'shoulder' in states.records[Reason.EFFORT_MISSING].detail


def test_filtered_velocity_that_is_too_large_is_not_used():
    states = mapper(velocity_cutoff=1e6)
    assert feed(states, message(position=[0.0] * 3, velocity=[-1.7e308] * 3))
    assert feed(states, message(position=[1.5e303] * 3, velocity=[], stamp=1e-5))
    assert not states.has_velocity
    np.testing.assert_array_equal(states.v, 0.0)


@pytest.mark.parametrize('how', ['silence', 'time goes back'])
def test_restart_counts_until_a_state_is_made(how):
    """The first of two sources after a pause makes no state by itself, the second one does."""
    states = mapper(state_timeout=0.2)
    for step in range(3):
        feed(states, message(('shoulder', 'elbow'), stamp=10.0 + 0.02 * step))
        feed(states, message(('wrist',), stamp=10.01 + 0.02 * step))
    assert not states.restarted
    at = 15.0 if how == 'silence' else 1.0
    assert not feed(states, message(('shoulder', 'elbow'), stamp=at))
    assert feed(states, message(('wrist',), stamp=at + 0.01))
    assert states.restarted
    feed(states, message(('shoulder', 'elbow'), stamp=at + 0.02))
    assert not states.restarted


# --- stamps --------------------------------------------------------------------------------------


def test_repeated_stamp_is_refused():
    states = mapper()
    assert feed(states, message(stamp=1.0))
    assert not feed(states, message(position=[9, 9, 9], stamp=1.0))
    assert states.q[0] == 0.1
    assert count(states, Reason.DUPLICATE_STAMP) == 1


def test_stamp_of_a_message_with_a_missing_position_is_not_free_again():
    """Its other joints may have been published, with that stamp."""
    states = mapper()
    assert feed(states, message(stamp=1.0))
    assert not feed(states, message(position=[1, NAN, 3], stamp=1.1))
    assert not feed(states, message(position=[9, 9, 9], stamp=1.1))
    assert count(states, Reason.DUPLICATE_STAMP) == 1
    assert not feed(states, message(('elbow',), [2], [2], [2], stamp=1.1))
    assert states.records[Reason.INCOMPLETE].detail == 'newest message refused: shoulder, wrist'
    assert feed(states, message(stamp=1.2))


def test_message_without_positions_leaves_its_stamp_free():
    """Some drivers send efforts by themselves."""
    states = mapper()
    assert not feed(states, message(position=[], stamp=1.0))
    assert feed(states, message(stamp=1.0))


def test_fault_in_a_state_frees_no_stamp():
    states = mapper()
    for stamp in (1.0, 1.1):
        assert feed(states, message(stamp=stamp))
        states.reset()
        assert not feed(states, message(position=[9, 9, 9], stamp=stamp))
    assert count(states, Reason.DUPLICATE_STAMP) == 2
    assert feed(states, message(stamp=1.2))


@pytest.mark.parametrize(
    'other',
    [
        message(('wrist',), [9], [9], [9], stamp=1.0),  # another source of the same stamp
        message(('wrist',), [9], [9], [9], stamp=9.0),  # makes no state: the others are missed
        message(('wrist',), [NAN], stamp=-9.0),  # makes none, and time goes back
    ],
    ids=['same stamp', 'incomplete', 'time goes back'],
)
def test_state_stays_as_it_is_until_there_is_a_new_one(other):
    states = mapper()
    assert not feed(states, message(('wrist',), [3], [3], [3], stamp=0.9))
    assert feed(states, message(('shoulder', 'elbow'), [1, 2], [1, 2], [1, 2], stamp=1.0))
    before = states.stamp, states.has_velocity, states.has_effort, states.state.tolist()
    assert not feed(states, other)
    assert before == (states.stamp, states.has_velocity, states.has_effort, states.state.tolist())


def test_first_state_before_1970_without_limits_has_velocities():
    states = mapper(state_timeout=0.0)
    sent = message()
    sent.stamp = -5 * SECOND
    assert feed(states, sent)
    assert states.has_velocity


def test_message_out_of_order_is_refused():
    states = mapper()
    assert feed(states, message(stamp=1.0))
    assert feed(states, message(stamp=1.1))
    assert not feed(states, message(position=[9, 9, 9], stamp=1.05))
    assert count(states, Reason.OUT_OF_ORDER) == 1
    assert feed(states, message(stamp=1.2))


def test_time_that_goes_back_far_starts_anew():
    states = mapper()
    feed(states, message(velocity=[], stamp=100.0))
    feed(states, message(velocity=[], stamp=100.1))
    assert states.has_velocity
    assert feed(states, message(position=[5, 5, 5], velocity=[], stamp=1.0))
    assert states.restarted
    assert not states.has_velocity  # nothing to differentiate with: no speed of -50 rad/s
    assert states.stamp == START + SECOND
    assert count(states, Reason.TIME_RESET) == 1


def test_without_stamps_the_time_of_arrival_counts():
    states = mapper()
    for step in range(3):
        states.now = START + step * SECOND // 100
        sent = dataclasses.replace(message(velocity=[], position=[step] * 3), stamp=0)
        assert states.update(sent, arrival=0.01 * step)
        assert states.stamp == states.now
    np.testing.assert_allclose(states.v, 100.0)
    assert count(states, Reason.UNSTAMPED) == 3


@pytest.mark.parametrize(('age', 'reason'), [(3.0, Reason.OLD), (-3.0, Reason.FUTURE)])
def test_stamps_far_from_the_clock(age, reason):
    strict, lenient = mapper(max_stamp_age=2.0), mapper()
    for states in (strict, lenient):
        states.now = START + round(age * SECOND)
        accepted = states.update(message(), arrival=0.0)
        assert accepted == (states is lenient)
        assert states.age == pytest.approx(age)
    assert count(strict, reason) == 1
    assert count(lenient, Reason.CLOCK_OFFSET) == 1


def test_times_beyond_all_stamps_are_no_limit():
    """Their nanoseconds are no number any more."""
    states = mapper(state_timeout=1e308, max_stamp_age=1e308)
    states.now = START + 1000 * SECOND
    assert states.update(message(), arrival=0.0)
    assert feed(states, message(stamp=2000.0))
    assert count(states, Reason.OLD) == 0


def test_stamp_glitch_into_the_future_heals():
    states = mapper()
    feed(states, message(stamp=1.0))
    feed(states, message(stamp=1e6))
    assert feed(states, message(stamp=1.1))
    assert feed(states, message(stamp=1.2))
    np.testing.assert_allclose(states.q, [0.1, 1.1, 2.1])


@pytest.mark.parametrize('first', [-(2**31) * SECOND, -3, 1, 2**31 * SECOND - 3])
def test_every_stamp_a_message_can_carry_is_that_of_the_state(first):
    """Times before 1970 are legal, and so are both ends of the range."""
    states = mapper()
    for stamp in (first, first + 1, first + 2):
        assert feed(states, dataclasses.replace(message(), stamp=stamp))
        assert states.stamp == stamp
    assert not states.records


@pytest.mark.parametrize('now', [2**31 * SECOND, -(2**31) * SECOND - 1])
def test_time_of_arrival_that_no_message_can_carry_is_refused(now):
    """Outputs carry the stamp of the state: an impossible one is reported first."""
    states = mapper()
    states.now = now
    assert not states.update(dataclasses.replace(message(), stamp=0), arrival=0.0)
    assert 'clock of this node' in states.records[Reason.INVALID_STAMP].detail
    assert feed(states, message())


def test_message_the_reader_refuses_is_refused_with_its_reason():
    """Nothing else of it is looked at, and the next good one goes on as if it had not come."""
    states = mapper()
    for step in range(3):
        assert feed(states, message(velocity=[step] * 3, stamp=0.01 * step))
    refused = JointStateMessage.refused(Reason.TOO_LARGE, 'much')
    assert not states.update(refused, arrival=0.02)
    assert states.records[Reason.TOO_LARGE].detail == 'much'
    assert list(states.records) == [Reason.TOO_LARGE]
    assert states.accepted == 3
    assert feed(states, message(stamp=0.03))


# --- policies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'options',
    [
        {'position': 'differentiate'},
        {'velocity': 'guess'},
        {'effort': 'differentiate'},
        {'state_timeout': -1.0},
        {'max_stamp_age': NAN},
        {'max_delay': -1e-9},
        {'velocity_cutoff': np.inf},
    ],
)
def test_impossible_policies_are_refused(options):
    with pytest.raises(ArgumentError, match=next(iter(options))):
        Policies(**options)


@pytest.mark.parametrize(
    ('limit', 'delay', 'is_late', 'may_merge'),
    [(0.02, 0.02, False, True), (0.02, 0.021, True, True), (0.0, 1e300, False, False)],
)
def test_late_states_by_max_delay(limit, delay, is_late, may_merge):
    policies = Policies(max_delay=limit)
    assert (policies.is_late(delay), policies.may_merge) == (is_late, may_merge)


def test_ages_of_stamps_one_by_one_and_in_stacks():
    policies = Policies(max_stamp_age=1.0)
    ages = np.array([-SECOND - 1, -SECOND, 0, SECOND, SECOND + 1])
    assert policies.admits(ages).tolist() == [False, True, True, True, False]
    refusals = [policies.age_refusal(age) for age in ages.tolist()]
    assert refusals == [Reason.FUTURE, None, None, None, Reason.OLD]


@pytest.mark.parametrize(('limit', 'timeout'), [(0.0, 0.5), (0.2, 0.5), (1.0, 0.3), (0.0, 0.0)])
def test_an_age_is_undisputed_if_it_is_admitted_and_no_offset(limit, timeout):
    policies = Policies(max_stamp_age=limit, state_timeout=timeout)
    for age in range(-2 * SECOND, 2 * SECOND + 1, SECOND // 10):
        is_undisputed = abs(age) <= policies.undisputed_age
        assert is_undisputed == (policies.admits(age) and not policies.is_offset(age))


@pytest.mark.parametrize('limit', [0.0, 0.2, 2.0])
def test_regular_states_are_judged_by_age_as_others_are(limit):
    """A message after a regular one meets the bounds of the policies, one by one the same."""
    for age in (0.0, 0.15, 0.25, 0.6, 1.9, 2.1, -0.25, -0.6):
        clock = [0]
        mapper = JointStateMapper(
            ('a',), policies=Policies(max_stamp_age=limit), clock=lambda clock=clock: clock[0]
        )
        layout = JointStateMessage.of(('a',), [0.1], [0.0], [0.0], SECOND)
        clock[0] = SECOND
        assert mapper.update(layout)
        stamp = SECOND + SECOND // 100
        clock[0] = stamp + round(age * SECOND)
        is_used = mapper.update(JointStateMessage.of(('a',), [0.1], [0.0], [0.0], stamp))
        assert is_used == (limit == 0.0 or abs(age) <= limit)
        assert (Reason.CLOCK_OFFSET in mapper.records) == (is_used and abs(age) > 0.5)


values = st.lists(st.one_of(st.floats(-9, 9), st.sampled_from([NAN, np.inf, 1e308])), max_size=5)
anything = st.tuples(
    st.lists(st.sampled_from([*JOINTS, 'stranger']), max_size=5),
    values,
    values,
    values,
    st.one_of(st.just(None), st.floats(-3, 3)),
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(anything, max_size=12),
    st.sampled_from(['reject', 'hold', 'zero']),
    st.sampled_from(['reject', 'differentiate', 'zero', 'hold']),
    st.sampled_from(['reject', 'zero', 'hold']),
    st.sampled_from([0.0, 5.0]),
    st.booleans(),
)
def test_whatever_comes_the_state_stays_finite(
    sequence, position, velocity, effort, cutoff, calibrated
):
    states = mapper(position=position, velocity=velocity, effort=effort, velocity_cutoff=cutoff)
    if calibrated:
        states.calibrate(np.array([50.0, -3.0, 1.0]), None)
    for names, q, v, tau, stamp in sequence:
        time = 0 if stamp is None else START + round(stamp * SECOND)
        sent = JointStateMessage.of(tuple(names), q, v, tau, time)
        states.now += SECOND // 100
        before, accepted = states.stamp, states.accepted
        new = states.update(sent, arrival=0.0)
        assert new == (states.accepted > accepted)
        assert np.isfinite(states.q).all()
        assert np.isfinite(states.tau).all()
        assert np.isfinite(states.v).all()
        if new and not states.restarted:
            assert states.stamp > before
    recovered = message(stamp=1e4)
    assert feed(states, recovered)
    np.testing.assert_array_equal(states.q, recovered.position)
    np.testing.assert_array_equal(states.v, recovered.velocity)
    scale = [50.0, -3.0, 1.0] if calibrated else 1.0
    np.testing.assert_array_equal(states.tau, recovered.effort * scale)
