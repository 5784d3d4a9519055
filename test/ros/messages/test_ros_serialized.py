# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages as bytes are the messages of rclpy, whatever their names and sizes (design 6.3)."""

import re
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.joint_states.reader import (
    MAX_LAYOUTS,
    JointStateReader,
    from_message,
    same,
)
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import time_message
from screw_dynamics_ros.ros.messages.serialized import Template, packed, padding

# All that UTF-8 can write; the old names of the arguments are those that every hypothesis knows.
characters = st.characters(blacklist_categories=['Cs'], blacklist_characters='\0')
names = st.lists(st.text(characters, max_size=20), max_size=12)
floats = st.floats(allow_nan=False)


def joint_state(names, position, velocity, effort, frame_id='', sec=5, nanosec=6):
    message = JointState(
        name=list(names), position=list(position), velocity=list(velocity), effort=list(effort)
    )
    message.header.frame_id = frame_id
    message.header.stamp = Time(sec=sec, nanosec=nanosec)
    return message


# --- output --------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(names, st.data())
def test_joint_efforts(joints, data):
    effort = data.draw(st.lists(floats, min_size=len(joints), max_size=len(joints)))
    stamp = data.draw(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 10**9 - 1)))
    written = templates.joint_efforts(joints).fill(
        np.array(effort, dtype=float), stamp[0] * 10**9 + stamp[1]
    )
    expected = joint_state(joints, [], [], effort, sec=stamp[0], nanosec=stamp[1])
    assert deserialize_message(written, JointState) == expected


@pytest.mark.parametrize('size', [1, 2, 7, 8, 31])
def test_joint_states(size):
    joints = [f'joint{i}' for i in range(size)]
    numbers = np.random.default_rng(size).normal(size=(3, size))
    written = templates.joint_states(joints).fill(numbers, 1_000_000_002)
    expected = joint_state(joints, *numbers, sec=1, nanosec=2)
    assert deserialize_message(written, JointState) == expected


@settings(max_examples=50, deadline=None)
@given(names)
def test_gaps_of_joint_states_are_zero_and_nobody_reads_them(joints):
    layout = ('time', 'string', 'strings', 'doubles', 'doubles', 'doubles')
    written = templates.joint_states(joints).fill(np.arange(3.0 * len(joints)), 0)
    gaps = padding(written, layout)
    assert len(gaps) >= 3  # after the empty frame_id
    assert all(written[k] == 0 for k in gaps)
    spoiled = bytes(0xA5 if k in gaps else x for k, x in enumerate(written))
    assert deserialize_message(spoiled, JointState) == deserialize_message(written, JointState)


@pytest.mark.parametrize('rows', [1, 6])
@pytest.mark.parametrize('columns', [0, 1, 7, 44])
def test_matrix(rows, columns):
    labels = [f'r{i}' for i in range(rows)], [f'column {i}' for i in range(columns)]
    values = np.random.default_rng(0).normal(size=(rows, columns))
    read = deserialize_message(templates.matrix(*labels).fill(values, 0), Float64MultiArray)
    assert np.array(read.data).tobytes() == values.tobytes()
    assert [d.size for d in read.layout.dim] == [rows, columns]
    assert [d.stride for d in read.layout.dim] == [rows * columns, columns]
    assert [d.label for d in read.layout.dim] == [','.join(part) for part in labels]
    assert read.layout.data_offset == 0


def test_refilling_leaves_nothing_behind():
    template = templates.matrix(['a', 'b'])
    first = template.fill(np.array([1.0, 2.0]), 0)
    second = template.fill(np.array([3.0, np.nan]), 0)
    assert list(deserialize_message(first, Float64MultiArray).data) == [1.0, 2.0]
    values = deserialize_message(second, Float64MultiArray).data
    assert values[0] == 3.0
    assert np.isnan(values[1])


@pytest.mark.parametrize('frame', ['', 'tool0', 'left/gripper tip', 'x' * 255, 'Gelenk äöü'])
def test_twist_and_wrench(frame):
    numbers = np.arange(6) + 0.5
    twist = deserialize_message(templates.twist(frame).fill(numbers, 3_000_000_004), TwistStamped)
    assert twist.header.frame_id == frame
    assert (twist.header.stamp.sec, twist.header.stamp.nanosec) == (3, 4)
    assert (twist.twist.linear.x, twist.twist.linear.z) == (0.5, 2.5)
    assert (twist.twist.angular.x, twist.twist.angular.z) == (3.5, 5.5)
    wrench = deserialize_message(
        templates.wrench(frame).fill(numbers, 3_000_000_004), WrenchStamped
    )
    assert wrench.header == twist.header
    assert (wrench.wrench.force.x, wrench.wrench.force.z) == (0.5, 2.5)
    assert (wrench.wrench.torque.x, wrench.wrench.torque.z) == (3.5, 5.5)


@pytest.mark.parametrize('count', [1, 2, 9, 40])
def test_transforms(count):
    """Transforms are scattered over the message, each with a stamp of its own."""
    tf2_msgs = pytest.importorskip('tf2_msgs.msg')
    frames = [(f'link{i}', f'link{i + 1}' + 'x' * (i % 5)) for i in range(count)]
    numbers = np.random.default_rng(count).normal(size=(count, 7))
    written = templates.transforms(frames).fill(numbers, 8_000_000_009)
    read = deserialize_message(written, tf2_msgs.TFMessage)
    assert len(read.transforms) == count
    for transform, frame, row in zip(read.transforms, frames, numbers):
        assert (transform.header.frame_id, transform.child_frame_id) == frame
        assert (transform.header.stamp.sec, transform.header.stamp.nanosec) == (8, 9)
        p, r = transform.transform.translation, transform.transform.rotation
        assert [p.x, p.y, p.z, r.x, r.y, r.z, r.w] == row.tolist()


def test_numbers_can_be_written_in_place():
    template = templates.joint_states(['a', 'b', 'c'])
    velocity = template.array(3, 3)
    assert velocity.flags.aligned
    assert velocity.flags.c_contiguous
    velocity[:] = [1.0, 2.0, 3.0]
    template.array(6)[:] = [4.0, 5.0, 6.0]
    read = deserialize_message(template.encode(packed(1_000_000_002)), JointState)
    assert list(read.velocity) == [1.0, 2.0, 3.0]
    assert list(read.effort) == [4.0, 5.0, 6.0]
    with pytest.raises(ScrewDynamicsError, match='contiguous'):
        template.array(1, 4)


def test_template_that_does_not_carry_its_numbers_is_refused():
    with pytest.raises(ScrewDynamicsError, match='float64'):
        Template(lambda stamp, numbers: Float64MultiArray(data=[0.0] * len(numbers)), 3)


def test_template_whose_message_changes_by_itself_is_refused():
    calls = iter(range(100))

    def build(stamp, numbers):
        return joint_state(['a'], [next(calls)], [], numbers)

    with pytest.raises(ScrewDynamicsError, match='JointState'):
        Template(build, 1)


# --- input ---------------------------------------------------------------------------------------


def check_read(reader, message):
    read = reader.read(serialize_message(message))
    assert read.names == tuple(message.name)
    assert read.stamp == message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    for name in ('position', 'velocity', 'effort'):
        values = np.array(getattr(message, name), dtype=float)
        assert getattr(read, name).tobytes() == values.tobytes()
    return read


@settings(max_examples=100, deadline=None)
@given(names, st.text(characters, max_size=9), st.data())
def test_reader(joints, frame_id, data):
    reader = JointStateReader()
    size = len(joints)
    lengths = [data.draw(st.sampled_from([0, size, size + 1])) for _ in range(3)]
    for seed in range(3):  # the first one is learnt, the others are read in place
        fields = [np.random.default_rng(seed).normal(size=length) for length in lengths]
        check_read(reader, joint_state(joints, *fields, frame_id, seed, seed + 1))


def test_reader_reads_in_place_what_it_knows():
    reader = JointStateReader()
    learnt = []
    reader.learn = lambda data, learn=reader.learn: learnt.append(data) or learn(data)
    for step in range(5):
        check_read(reader, joint_state('abc', [step, 2, 3], [4, 5, 6], [7, 8, step]))
    assert len(learnt) == 1
    check_read(reader, joint_state('abc', [np.nan, 2, 3], [4, np.inf, 6], [7, 8, 9]))
    assert len(learnt) == 1


@pytest.mark.parametrize(
    'other',
    [
        joint_state('abd', [1, 2, 3], [4, 5, 6], [7, 8, 9]),  # another name
        joint_state('acb', [1, 2, 3], [4, 5, 6], [7, 8, 9]),  # another order
        joint_state('abc', [1, 2], [4, 5, 6, 7], [7, 8, 9]),  # ragged, of the same length
        joint_state('abc', [1, 2, 3], [4, 5, 6, 7, 8, 9], []),
        joint_state('abc', [1, 2, 3], [4, 5, 6], [7, 8, 9], 'base'),  # another frame
    ],
)
def test_reader_notices_changes(other):
    reader = JointStateReader()
    first = joint_state('abc', [1, 2, 3], [4, 5, 6], [7, 8, 9])
    for _ in range(2):
        check_read(reader, first)
        check_read(reader, other)


def test_reader_ignores_padding():
    """The bytes between the fields are whatever was in memory."""
    reader = JointStateReader()
    message = joint_state(['a'], [1.0], [2.0], [3.0])
    data = bytearray(serialize_message(message))
    expected = reader.read(bytes(data))
    kept = (
        expected.names,
        expected.position.copy(),
        expected.velocity.copy(),
        expected.effort.copy(),
    )
    learnt = []
    reader.learn = learnt.append
    changed = 0
    for offset in range(4, len(data)):
        other = data.copy()
        other[offset] ^= 0xFF
        if deserialize_equals(other, message):
            read = reader.read(bytes(other))
            assert read.names == kept[0]
            assert all(
                (a == b).all()
                for a, b in zip(kept[1:], (read.position, read.velocity, read.effort))
            )
            changed += 1
    assert changed
    assert not learnt


def deserialize_equals(data, message):
    try:
        return deserialize_message(bytes(data), JointState) == message
    except Exception:
        return False


def test_reader_leaves_foreign_encodings_to_rclpy():
    """Big-endian data is not little-endian CDR: it is never read in place."""
    message = joint_state(['a', 'b'], [1.0, 2.0], [], [])
    big_endian = (
        b'\0\0\0\0'
        + struct.pack('>iI', 5, 6)
        + struct.pack('>I', 1)
        + b'\0\0\0\0'
        + struct.pack('>I', 2)
        + (struct.pack('>I', 2) + b'a\0\0\0')
        + (struct.pack('>I', 2) + b'b\0\0\0')
        + struct.pack('>I', 2)
        + struct.pack('>dd', 1.0, 2.0)
        + struct.pack('>II', 0, 0)
    )
    assert deserialize_message(big_endian, JointState) == message
    reader = JointStateReader()
    for _ in range(2):
        assert same(reader.read(big_endian), from_message(message))
    assert not reader.layouts


def test_reader_keeps_few_layouts():
    """However many kinds of messages come, of one length or of many."""
    reader = JointStateReader()
    for first in 'abcdefghijklmnopqrstuvwxyz':
        check_read(reader, joint_state([first, 'z'], [1, 2], [], []))
    for count in range(40):
        check_read(reader, joint_state(['joint'] * count, [1] * count, [], []))
    assert len(reader.layouts) == MAX_LAYOUTS


def test_memory_stays_after_a_thousand_lengths_of_message():
    """Half of the lengths come before, the other half add nothing."""
    reader, longest = JointStateReader(), 8000
    lengths = np.random.default_rng(0).permutation(np.arange(8, longest + 8, 8))
    messages = [serialize_message(joint_state(['j'], [1.0], [], [], 'f' * n)) for n in lengths]
    tracemalloc.start()
    try:
        for data in messages[:500]:
            reader.read(data)
        before = tracemalloc.get_traced_memory()[0]
        for data in messages[500:]:
            reader.read(data)
        growth = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert growth < 3 * MAX_LAYOUTS * longest


def test_reader_keeps_the_layouts_that_are_used():
    """A driver beside endless other messages on the topic is read in place all the time."""
    reader = JointStateReader()
    learnt = []
    reader.learn = lambda data, learn=reader.learn: learnt.append(data) or learn(data)
    for step in range(3 * MAX_LAYOUTS):
        check_read(reader, joint_state('abc', [step, 2, 3], [4, 5, 6], [7, 8, 9]))
        check_read(reader, joint_state([f'stranger{step}'], [1], [], []))
    assert len(learnt) == 1 + 3 * MAX_LAYOUTS


# --- what is refused -----------------------------------------------------------------------------


def big_endian(data):
    """Return the message of some bytes without joints, in the other order of bytes."""
    sec, nanosec = struct.unpack_from('<iI', data, 4)
    return b'\0\0\0\0' + struct.pack('>iIIIIIII', sec, nanosec, 1, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    'stamp', [(5, 10**9), (0, 2**32 - 1), (2**31 - 1, 10**9), (-(2**31), 10**9), (-1, 4 * 10**9)]
)
def test_stamp_with_a_second_of_nanoseconds_is_refused(stamp):
    """It is no Time, and at the end of the range there is none of the same value."""
    reader = JointStateReader()
    good = joint_state('ab', [1, 2], [], [], sec=7, nanosec=10**9 - 1)
    bad = bytearray(serialize_message(good))
    bad[4:12] = struct.pack('<iI', *stamp)
    for _ in range(3):  # learnt and in place
        refusal = reader.read(bytes(bad)).refusal
        assert refusal == (Reason.INVALID_STAMP, f'{stamp[0]} s and {stamp[1]} ns')
        assert check_read(reader, good).refusal is None
    assert reader.read(big_endian(bad)).refusal == refusal


@pytest.mark.parametrize('sec', [-(2**31), -1, 0, 2**31 - 1])
@pytest.mark.parametrize('nanosec', [0, 1, 10**9 - 1])
def test_stamp_of_a_message_comes_back_the_same(sec, nanosec):
    read = check_read(JointStateReader(), joint_state('a', [1], [], [], sec=sec, nanosec=nanosec))
    assert packed(read.stamp) == struct.pack('=iI', sec, nanosec)
    assert time_message(read.stamp) == Time(sec=sec, nanosec=nanosec)


@pytest.mark.parametrize(
    ('stamp', 'sec', 'nanosec'),
    [
        (2**31 * 10**9, 2**31 - 1, 10**9 - 1),
        (2**62, 2**31 - 1, 10**9 - 1),
        (-(2**31) * 10**9 - 1, -(2**31), 0),
        (-(2**62), -(2**31), 0),
    ],
)
def test_stamps_beyond_the_range_are_written_as_its_ends(stamp, sec, nanosec):
    """What goes on with the time from the last stamp there is must not end a timer."""
    assert packed(stamp) == struct.pack('=iI', sec, nanosec)
    assert time_message(stamp) == Time(sec=sec, nanosec=nanosec)


@pytest.mark.parametrize(
    'message',
    [
        joint_state([f'joint{i}' for i in range(10_000)], [], [], []),
        joint_state([f'joint{i}' for i in range(30_000)], [1.0] * 30_000, [], []),
        joint_state(['', *'abc'] * 300, [], [], [], 'frame'),
        joint_state(['x' * 300_000], [1], [], []),
        joint_state(['a'], [1.0] * 40_000, [], []),
        joint_state(['a'], [1.0], [], [], 'f' * 300_000),
    ],
    ids=str,
)
def test_message_far_larger_than_a_robot_needs_is_refused_unread(message, monkeypatch):
    """Converting 30 000 names would hold everything up for 10 s."""
    reader, data = JointStateReader(), serialize_message(message)
    monkeypatch.setattr(reader, 'learn', None)
    reason, detail = reader.read(data).refusal
    assert reason is Reason.TOO_LARGE
    assert re.fullmatch(r'\d+ (names, at most 1000|bytes, at most 262144)', detail)


def test_robot_of_a_thousand_joints_is_read():
    names = [f'left_arm_joint_number_{i}' for i in range(1000)]
    check_read(JointStateReader(), joint_state(names, range(1000), range(1000), range(1000)))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b'', b'\0\1\0\0', b'\0\0\0\0']))
def test_bytes_that_are_no_message_are_an_error_or_a_message(data, start):
    """Counts may promise more than there is."""
    reader = JointStateReader()
    try:
        read = reader.read(start + data)
    except Exception:
        return
    assert isinstance(read, JointStateMessage)
