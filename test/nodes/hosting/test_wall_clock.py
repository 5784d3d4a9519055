# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states before 2000 and after 2038, and while the wall clock is set."""

import sys

import pytest

pytest.importorskip('llvmlite')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import SECOND, Bench, serialized
from support.loop_bench import LoopBench
from support.robots import urdf_path

ARM = urdf_path('planar_2r').read_text()
GRAVITY = '/life/dynamics/gravity'
END = 2**31  # s; stamps have 32 bits


class Driver:
    """A node, and the driver of its robot on the same machine."""

    def __init__(self, node):
        self.node, self.count = node, 0
        node.describe(ARM)
        node.host.states.look_for_drivers = lambda: None
        for channel in node.host.states.channels:
            channel.send = lambda data, topic=channel.topic: node.sent.append((topic, data))
        node.host.states.look_for_listeners()
        self.receive = getattr(node, 'receive', node.host.states.receive)

    def send(self, period=0.001):
        """Send the next state; return the stamps of the outputs, and its own [ns]."""
        clock = self.node.clock
        clock.offset += period
        now = clock.time_ns()
        seconds, rest = divmod(now, SECOND)
        stamp = ((seconds + END) % (2 * END) - END) * SECOND + rest  # 32 bits
        self.count += 1
        info = {'source_timestamp': now, 'publication_sequence_number': self.count}
        self.node.sent.clear()
        joints = list(self.node.host.mapper.joints)
        position = [0.1, 0.2 + 0.001 * self.count]
        self.receive(serialized(joints, position, stamp), info)
        stamps = [
            deserialize_message(data, JointState).header.stamp
            for topic, data in self.node.sent
            if topic == GRAVITY
        ]
        return [each.sec * SECOND + each.nanosec for each in stamps], stamp

    def records(self):
        """Return how often each reason was noted."""
        with STATE_LOCK:
            return {reason: each.count for reason, each in self.node.host.mapper.records.items()}


@pytest.fixture(params=[Bench, LoopBench])
def driver(request, monkeypatch, keep):
    """Return a function that returns a driver, with a wall clock that starts at a time [s]."""

    def make(wall):
        monkeypatch.setenv('BENCH_WALL', repr(wall))
        return Driver(keep(request.param(monkeypatch, backend='native', state_timeout=0.5)))

    return make


def is_regular(driver):
    """Whether the loop, if there is one, has processed the last state."""
    return getattr(driver.node, 'outcomes', ['done'])[-1] in ('done', 'with python')


@pytest.mark.parametrize('wall', [1.0, 946_684_799.998, 1.75e9, 2.3e9, 5e9])
def test_each_state_has_outputs_at_any_wall_time(driver, wall):
    """Without a battery in 1970; across 2000; after the seconds of stamps have wrapped."""
    made = driver(wall)
    for _ in range(6):
        stamps, stamp = made.send()
        assert stamps == [stamp]
    assert is_regular(made)
    assert not made.records()


def test_the_end_of_32_bits_is_a_restart_of_time(driver):
    made = driver(END - 0.0035)
    sent = [made.send() for _ in range(8)]
    assert all(stamps == [stamp] for stamps, stamp in sent)
    assert sent[0][1] > 0 > sent[-1][1]
    assert made.records() == {Reason.TIME_RESET: 1}
    assert is_regular(made)


@pytest.mark.parametrize(('step', 'reason'), [(3600.0, Reason.PAUSE), (-3600.0, Reason.TIME_RESET)])
def test_states_continue_when_the_clock_is_set(driver, step, reason):
    """The clock of the driver, too; no state is late, because none is older than another one."""
    made = driver(1.75e9)
    for _ in range(4):
        made.send()
    made.node.clock.set_wall(step)
    for _ in range(6):
        stamps, stamp = made.send()
        assert stamps == [stamp]
    assert made.records() == {reason: 1}
    assert is_regular(made)
    assert made.node.host.states.load.late == 0
