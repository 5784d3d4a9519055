# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What all inputs beside joint states have in common: which messages count, loss and return."""

import numpy as np
import pytest

pytest.importorskip('nav_msgs')
pytest.importorskip('pinocchio')


from screw_dynamics_ros.nodes.hosting.measured_input import MeasuredInput
from screw_dynamics_ros.ros.status import Level
from support.free_robot import MS, S
from support.host_bench import Bench, serialized
from support.input_messages import SLED, SOURCES
from support.messages import write

TIMEOUT = 100 * MS  # of all of them
HAS_STAMPS = {name for name, source in SOURCES.items() if source.attribute != 'gravity_source'}


class Measured:
    """A node with one of the inputs."""

    def __init__(self, monkeypatch, name):
        self.source = SOURCES[name]
        self.bench = Bench(monkeypatch, **self.source.parameters)
        self.name, self.host = name, self.bench.host
        self.input = self.source.of(self.host)
        assert isinstance(self.input, MeasuredInput)

    def describe(self):
        self.bench.describe(SLED)

    @property
    def now(self):
        return self.bench.clock.time_ns()

    def send(self, stamp, t=0.0, change=lambda message: None):
        message = self.source.make(stamp, t)
        change(message)
        self.source.send(self.host, message)

    def state(self, seconds=0.0099):  # ten of them are within a timeout of 0.1 s
        """Send a joint state; return what it is evaluated with, None if nothing is published."""
        self.bench.clock.offset += seconds
        self.bench.sent.clear()
        self.host.states.receive(serialized(['lift'], [0.3], self.now), {})
        if not self.bench.sent:
            return None
        model = self.host.model
        numbers = np.concatenate([model.q, model.v, self.host.gravity])
        assert np.isfinite(numbers).all()
        return numbers

    @property
    def status(self):
        return self.host.payload_status()


@pytest.fixture(params=SOURCES)
def raw(request, monkeypatch, keep):
    """Return a node without a robot."""
    return keep(Measured(monkeypatch, request.param))


@pytest.fixture
def made(raw):
    raw.describe()
    return raw


def is_lost(made):
    """Whether nothing is published, and diagnostics give the reason."""
    published, status = made.state(), made.status
    assert (published is None) == made.input.suspends
    assert (status.level == Level.ERROR) == made.input.suspends
    assert not made.input.suspends or made.input.fault in status.summary
    assert made.host.suspension == (made.input.fault if made.input.suspends else '')
    return published is None


def test_loss_and_return(made):
    """Observers restart both times; the age at which an input is lost is its timeout."""
    assert is_lost(made)
    assert 'so far' in made.input.fault or 'does not connect' in made.input.fault
    made.send(made.now)
    assert not is_lost(made)
    assert made.host.mapper.restarted
    for _ in range(9):
        assert not is_lost(made)
        assert not made.host.mapper.restarted
    assert is_lost(made)
    assert made.host.mapper.restarted
    assert is_lost(made)
    assert not made.host.mapper.restarted
    made.send(made.now, 0.1)
    assert not is_lost(made)
    assert made.host.mapper.restarted


def evaluated(made, messages, seconds=0.0):
    """Return configuration and target of gravity by messages: offsets of stamps, and times."""
    made.bench.clock.offset += 1.0
    made.input.update_parameters()
    start = made.now
    for offset, t in messages:
        made.send(start + offset, t)
    state = made.state(seconds)
    return state[: made.host.model.robot.nq], made.host.gravity_source.record.target.copy()


def test_a_message_that_comes_twice_changes_nothing(made):
    messages = [(0, 0.0), (10 * MS, 0.01)]
    once = evaluated(made, messages, 0.015)
    twice = evaluated(made, [each for each in messages for _ in range(2)], 0.015)
    np.testing.assert_allclose(once[0], twice[0], atol=1e-12)
    np.testing.assert_array_equal(once[1], twice[1])


def test_late_messages_and_two_publishers(made):
    """The newest stamp counts: of messages with the same one the first, of transforms the last.

    Directions of gravity count as they arrive.
    """
    messages = [(0, 0.1), (0, 0.7), (-MS, 0.9)]
    q, target = evaluated(made, messages)
    used = {'tf': 1}.get(made.name, 0) if made.name in HAS_STAMPS else 2
    wanted, expected = evaluated(made, messages[used : used + 1])
    np.testing.assert_allclose(q, wanted, atol=1e-12)
    np.testing.assert_array_equal(target, expected)
    other = evaluated(made, [messages[used - 1]])
    assert max(np.abs(q - other[0]).max(), np.abs(target - other[1]).max()) > 0.01


def test_numbers_that_are_not_finite(made):
    """They are refused with the reason; what was measured before counts until its timeout."""

    def spoil(message):
        for part in ('orientation', 'pose', 'transforms'):
            part = getattr(message, part, None)
            part = getattr(part, 'pose', part)
            part = part[0] if isinstance(part, list) else part
            part = getattr(part, 'transform', part)
            for field in ('orientation', 'rotation'):
                if hasattr(part, field):
                    part = getattr(part, field)
            if hasattr(part, 'w'):
                write(part, 'w', [np.nan])
                return
        raise AssertionError(message)

    made.send(made.now)
    assert not is_lost(made)
    for _ in range(9):
        made.send(made.now, 0.0, spoil)
        assert not is_lost(made)
    made.send(made.now, 0.0, spoil)
    assert is_lost(made)
    assert 'not finite' in made.status.summary or 'not a unit quaternion' in made.status.summary
    made.send(made.now)
    assert not is_lost(made)


def test_other_frames(made):
    """Frames and joints that the robot does not have are refused, or are not followed."""

    def rename(message):
        if hasattr(message, 'joint_names'):
            message.joint_names[0] = 'other'
        elif hasattr(message, 'child_frame_id'):
            message.child_frame_id = 'camera'
        elif hasattr(message, 'orientation'):
            message.header.frame_id = 'camera'
        else:
            message.transforms[0].child_frame_id = 'camera'

    made.send(made.now, 0.0, rename)
    assert is_lost(made)
    made.host.keep_house()
    words = 'camera', 'does not connect', 'no measurement so far'
    assert any(each in made.status.summary for each in words)
    made.send(made.now)
    assert not is_lost(made)


@pytest.mark.parametrize('offset', [-3600 * S, 3600 * S])
def test_the_clock_of_another_machine(made, offset):
    """Stamps count where motions are interpolated; they may run back, by another clock or loop."""
    made.send(made.now + offset)
    assert is_lost(made) == (made.name in HAS_STAMPS)
    if made.name in HAS_STAMPS and made.name != 'planar':
        assert '3.6e+03 s from the joint states' in made.status.summary
    made.send(made.now)
    assert not is_lost(made)


def test_messages_before_there_is_a_robot(raw):
    """They are not used."""
    raw.send(raw.now)
    assert raw.status.level == Level.ERROR
    raw.describe()
    assert is_lost(raw)
    raw.send(raw.now)
    assert not is_lost(raw)
