# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers of joint states that disagree, and healthy ones that do not."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.driver_comparison import WINDOW, DriverComparison

JOINTS = {'a', 'b'}


def message(**positions):
    return JointStateMessage.of(tuple(positions), list(positions.values()), [], [], 0)


def faults(messages):
    comparison = DriverComparison()
    return [comparison.fault(each, JOINTS) for each in messages]


@pytest.mark.parametrize('share', [1, 2, 5, 10])
def test_two_publishers_that_disagree(share):
    """Of several messages one is of the second publisher; the names may be in any order."""
    sent = []
    for k in range(100):
        sent.append(message(a=0.5 + 1e-3 * k, b=0.0))
        if k % share == 0:
            sent.append(message(b=0.001, a=0.2))
    found = faults(sent)
    assert sum(not fault for fault in found) <= 4 * (share + 1)
    assert 'a is at 0.2 in some messages, at 0.5' in found[4 * (share + 1)]


def test_the_fault_ends_with_the_disagreement():
    comparison = DriverComparison()
    found = [comparison.fault(message(a=0.5 - 0.3 * (k % 2)), JOINTS) for k in range(20)]
    assert found[-1]
    found += [comparison.fault(message(a=0.5), JOINTS) for _ in range(WINDOW + 1)]
    assert found[-1] == ''


@pytest.mark.parametrize('seed', range(30))
def test_healthy_publishers_cause_no_alarm(seed):
    """Parts of a robot, delayed copies while it moves, joints at +-pi, other robots, and jumps."""
    rng = np.random.default_rng(seed)
    speed, sent = rng.uniform(0.5, 1.5), []
    for k in range(600):
        t = 0.01 * k
        q = np.pi + 0.02 * np.sin(3.0 * t) + 1e-3 * rng.normal()
        wrapped = (q + np.pi) % (2.0 * np.pi) - np.pi
        sent += [
            message(a=wrapped),
            message(b=speed * np.sin(t) + (k > 300)),  # it is put elsewhere once
            message(c=rng.normal()),  # of another robot
        ]
        if seed % 2:
            sent.append(message(b=speed * np.sin(t - 0.02) + (k > 300), a=wrapped))
        if not k % 97:
            sent.append(message(a=np.nan, b=0.0 if k else np.inf))
    assert not any(faults(sent))


@pytest.mark.parametrize('share', [0.4, 0.5, 0.52, 0.6])
def test_a_wheel_that_turns_by_half_a_turn_per_message_does_not_return(share):
    assert not any(faults([message(a=2.0 * np.pi * share * k) for k in range(200)]))
