# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What /diagnostics say of joint states, by what has happened when."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.load import Load
from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from support.host_bench import Clock

TIMEOUT = 0.5  # s


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    made.rule(monkeypatch)
    return made


@pytest.fixture
def host(clock):
    """Return a host whose robot has been there for a minute, and to which messages come."""
    now = clock.monotonic()
    load = Load()
    load.arrived(now)
    parameter = SimpleNamespace(value=False)
    return SimpleNamespace(
        load=load,
        model_since=now - 60.0,
        node=SimpleNamespace(get_parameter=lambda name: parameter),
        model=SimpleNamespace(joints=('a',), robot=SimpleNamespace(backend='native')),
        mapper=JointStateMapper(['a']),
    )


def joint_state_status(host):
    return statuses.joint_state_status(
        host.node,
        host.model,
        host.mapper,
        host.load,
        [],
        timeout=TIMEOUT,
        model_since=host.model_since,
        scheduling_fault='',
    )


def test_messages_of_no_use(host):
    status = joint_state_status(host)
    assert status.level == Level.ERROR
    assert 'no valid joint state' in status.summary


def test_a_robot_that_has_just_come_waits_for_its_first_state(host, clock):
    """While messages come already: those of before could not be used, and nothing is wrong."""
    host.model_since = clock.monotonic()
    clock.offset += 0.99 * TIMEOUT
    host.load.arrived(clock.monotonic())
    assert joint_state_status(host).level == Level.OK
    clock.offset += 0.02 * TIMEOUT
    assert joint_state_status(host).level == Level.ERROR


def test_states_of_use(host, clock):
    numbers = np.zeros((3, 1))
    assert host.mapper.update(JointStateMessage.of(('a',), *numbers, clock.time_ns()))
    assert joint_state_status(host).level == Level.OK


def test_silence(host, clock):
    clock.offset += 2 * TIMEOUT
    status = joint_state_status(host)
    assert status.level == Level.ERROR
    assert 'no joint state for 1.0 s' in status.summary
