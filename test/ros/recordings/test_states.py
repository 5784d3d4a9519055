# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of recorded messages, whole runs at once, are those of message after message."""

import numpy as np
import pytest

pytest.importorskip('rosbags')

from hypothesis import given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason
from screw_dynamics_ros.ros.recordings.blocks import Block
from screw_dynamics_ros.ros.recordings.states import StateMaker, States
from support.recordings import joint_state

JOINTS = ('a', 'b', 'c')
START = 1_700_000_000_000_000_000

#: What a message may be like, and how often.
KINDS = ('regular',) * 12 + (
    'twice', 'late', 'pause', 'set back', 'no velocity', 'nan', 'infinite', 'ragged', 'partial',
    'other order', 'more joints', 'foreign', 'no stamp', 'double',
)  # fmt: skip


def messages(kinds, seed):
    """Return times of recording, stamps and fields of messages of some kinds."""
    random, stamp, made = np.random.default_rng(seed), START, []
    for k, kind in enumerate(kinds):
        stamp += int(random.integers(500_000, 2_000_000))
        names, (q, v, tau) = list(JOINTS), random.normal(size=(3, 3)).tolist()
        sent = stamp
        if kind == 'twice' and made:
            sent = made[-1][1]
        elif kind == 'late':
            sent = stamp - 10_000_000
        elif kind == 'pause':
            sent = stamp = stamp + 800_000_000
        elif kind == 'set back':
            sent = stamp = stamp - 3_000_000_000
        elif kind == 'no velocity':
            v = []
        elif kind in ('nan', 'infinite'):
            (q, v, tau)[k % 3][1] = np.nan if kind == 'nan' else np.inf
        elif kind == 'ragged':
            tau = tau[:2]
        elif kind == 'partial':
            names, q, v, tau = names[:2], q[:2], v[:2], tau[:2]
        elif kind == 'other order':
            names = names[::-1]
        elif kind in ('more joints', 'double'):
            names.append('d' if kind == 'more joints' else 'a')
            q, v, tau = [*q, 1.0], [*v, 2.0], [*tau, 3.0]
        elif kind == 'foreign':
            names = ['x', 'y', 'z']
        elif kind == 'no stamp':
            sent = 0
        made.append((START + 2_000_000 * k, sent, names, q, v, tau))
    return made


def one_by_one(made, mapper):
    """Return the states by `update` alone."""
    now, rows = [0], []
    mapper.clock = lambda: now[0]
    for received, stamp, names, q, v, tau in made:
        now[0] = received
        message = JointStateMessage.of(tuple(names), q, v, tau, stamp)
        if not mapper.update(message, received * 1e-9):
            continue
        state = mapper.state.copy()
        state[1] = state[1] if mapper.has_velocity else np.nan
        state[2] = state[2] if mapper.has_effort else np.nan
        rows.append((mapper.stamp, received, *state, mapper.restarted))
    return [np.array(column) for column in zip(*rows)]


def together(made, mapper, size):
    """Return the states by blocks of messages."""
    parts = []
    for first in range(0, len(made), size):
        some = made[first : first + size]
        data = [joint_state(stamp, names, q, v, tau) for _, stamp, names, q, v, tau in some]
        sizes = np.array([len(each) for each in data])
        received = np.array([each[0] for each in some])
        parts.append(Block(received, b''.join(data), np.cumsum(sizes) - sizes, sizes))
    found = list(StateMaker(mapper).states(parts))
    return list(States.joined(found)) if found else []


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=60),
    st.integers(0, 99),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from(
        [
            {},
            {'velocity': 'zero', 'effort': 'hold'},
            {'position': 'hold', 'velocity': 'hold', 'effort': 'zero'},
            {'velocity_cutoff': 30.0, 'max_stamp_age': 1.0},
        ]
    ),
    st.booleans(),
    st.sampled_from(['', 'currents']),
)
def test_runs_give_the_states_of_single_messages(kinds, seed, size, policies, is_calibrated, fault):
    made = messages(kinds, seed)
    scale = (np.array([1.0, -2.0, 0.5]), np.ones(3)) if is_calibrated else (None, None)
    mappers = [
        JointStateMapper(
            JOINTS,
            continuous={'b'},
            known={'d'},
            policies=Policies(**policies),
            calibration=scale,
            effort_fault=fault,
        )
        for _ in range(2)
    ]
    expected, found = one_by_one(made, mappers[0]), together(made, mappers[1], size)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)
    for name in ('accepted', 'stamp', 'last_accepted', 'age'):
        assert getattr(mappers[0], name) == getattr(mappers[1], name), name
    np.testing.assert_array_equal(mappers[0].stamps, mappers[1].stamps)
    # Clocks that disagree are not counted in runs: they change no state.
    assert mappers[0].records.keys() - mappers[1].records.keys() <= {Reason.CLOCK_OFFSET}
