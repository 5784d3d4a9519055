# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drivers that wrap the positions of revolute joints at a turn."""

import numpy as np
import pytest

from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout, JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason

START = 1_700_000_000_000_000_000
JOINTS = ('arm', 'wheel', 'rail')
SPEED, STEP = 10.0, 0.01  # rad/s, s


class Driver:
    """Reports three joints that move alike, positions of the first two between two limits.

    `arm` turns within limits, `wheel` without; `rail` moves along a line.
    """

    def __init__(self, lowest=-np.pi, has_velocity=False, step=STEP, **policies):
        self.mapper = JointStateMapper(
            JOINTS,
            continuous={'wheel'},
            max_speeds={'arm': SPEED},
            policies=Policies(**policies),
            clock=lambda: self.now,
        )
        self.lowest, self.has_velocity, self.step, self.now = lowest, has_velocity, step, START
        self.q = 0.0

    def send(self, q, step=None):
        """Report a position; return whether there is a state."""
        self.q, before = q, self.q
        step = self.step if step is None else step
        self.now += round(1e9 * step)
        wrapped = q
        if self.lowest is not None:
            wrapped = (q - self.lowest) % (2.0 * np.pi) + self.lowest
        v = np.full(3 * self.has_velocity, (q - before) / step)
        tau = np.zeros(3 * self.has_velocity)
        sent = JointStateMessage.of(JOINTS, [wrapped, wrapped, q], v, tau, self.now)
        return self.mapper.update(sent, 1e-9 * self.now)

    def move(self, *positions):
        """Move on a straight line through positions, at 1.5 rad/s; yield the positions."""
        for target in positions:
            count = round(abs(target - self.q) / (1.5 * self.step))
            for q in np.linspace(self.q, target, count + 1)[1:]:
                assert self.send(q)
                yield q

    @property
    def record(self):
        return self.mapper.records.get(Reason.WRAPPED)


@pytest.mark.parametrize('lowest', [-np.pi, 0.0])
@pytest.mark.parametrize('has_velocity', [False, True])
def test_turns_are_added(lowest, has_velocity):
    """To all outputs the joint moves as it does: two turns on, and back behind the start."""
    driver = Driver(lowest, has_velocity)
    driver.send(0.5)
    for q in driver.move(14.0, -1.0, 0.5):
        assert driver.mapper.q[0] == pytest.approx(q)
        assert abs(driver.mapper.v[0]) == pytest.approx(1.5, rel=1e-2)
        assert driver.mapper.v == pytest.approx(np.full(3, driver.mapper.v[2]))
    assert driver.mapper.turns is None
    assert driver.record.count == (4 if lowest else 6)


def test_the_step_is_named():
    driver = Driver()
    driver.send(3.14)
    driver.send(3.15)
    assert driver.record.detail == 'arm from 3.14 to -3.133 rad in 0.01 s (wrap_policy: unwrap)'


def test_turns_are_forgotten_with_the_history():
    driver = Driver()
    driver.send(3.14)
    driver.send(3.15)
    assert driver.mapper.turns is not None
    driver.mapper.reset()
    driver.send(3.16)
    assert driver.mapper.q[0] == pytest.approx(3.16 - 2.0 * np.pi)


@pytest.mark.parametrize('has_velocity', [False, True])
def test_wrapped_positions_can_be_refused(has_velocity):
    """Until the driver reports the other side again, or `state_timeout` has passed."""
    driver = Driver(has_velocity=has_velocity, wrap='refuse')
    for q in (3.12, 3.13, 3.14):
        assert driver.send(q)
    assert not any(driver.send(q) for q in (3.15, 3.16, 3.15))
    assert driver.mapper.refused is Reason.WRAPPED
    assert driver.send(3.14)
    assert not any(driver.send(3.15) for _ in range(50))
    assert driver.send(3.15)
    assert driver.mapper.has_velocity == has_velocity  # it has no position to differentiate
    assert driver.mapper.q[0] == pytest.approx(3.15 - 2.0 * np.pi)


@pytest.mark.parametrize(
    ('step', 'dt'),
    [
        (3.0, 0.01),  # put elsewhere
        (-4.0, 0.01),
        (2.0 * np.pi - 0.5, 0.01),  # nearly a turn
        (2.0 * np.pi, 2.0),  # after a pause
    ],
)
def test_other_steps_are_left(step, dt):
    driver = Driver(lowest=None, state_timeout=1.0)
    driver.send(0.5)
    driver.send(0.5 + step, dt)
    assert driver.mapper.q[0] == pytest.approx(0.5 + step)
    assert driver.record is None


def test_a_joint_may_turn_within_one_message():
    """At 5 Hz it can: its limit of 20 rad/s is enough."""
    driver = Driver(lowest=None)
    driver.mapper = JointStateMapper(['arm'], max_speeds={'arm': 20.0}, clock=lambda: driver.now)
    for k in range(4):
        driver.now += 200_000_000
        message = JointStateMessage.of(('arm',), [k * 2.0 * np.pi], [], [], driver.now)
        driver.mapper.update(message, 1e-9 * driver.now)
        assert driver.mapper.q[0] == pytest.approx(k * 2.0 * np.pi)


def test_recordings_are_unwrapped_in_runs():
    """The states of several messages at once are those of one after the other."""
    q = np.linspace(2.0, 9.0, 500)
    wrapped = (q + np.pi) % (2.0 * np.pi) - np.pi
    numbers = np.column_stack([wrapped, wrapped, q, np.full((500, 3), 1.4), np.zeros((500, 3))])
    stamps = START + 10_000_000 * np.arange(500)
    layout, driver, states = JointStateLayout(JOINTS, 3, 3, 3), Driver(), []
    while (k := len(states)) < 500:
        some = slice(k, k + 64)
        taken = driver.mapper.update_run(layout, numbers[some], stamps[some], stamps[some])
        states += list(taken[:, 0, 0])
        if not len(taken):
            driver.now = int(stamps[k])
            assert driver.mapper.update(JointStateMessage(layout, numbers[k], driver.now))
            states.append(driver.mapper.q[0])
    assert states == pytest.approx(q)
    assert driver.record.count == 1
