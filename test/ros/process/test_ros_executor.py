# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Executors: which one runs the nodes, and how they end."""

import sys

import pytest

pytest.importorskip('rclpy')

import rclpy

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.process.executor import make_executor


@pytest.fixture
def context():
    """Begin the context of the process; end it if the test has not."""
    rclpy.init()
    yield
    rclpy.try_shutdown()


def test_missing_events_executor(monkeypatch, context):
    """With an older rclpy: by name it is refused with the remedy, `auto` takes the other one."""
    monkeypatch.setitem(sys.modules, 'rclpy.experimental', None)
    with pytest.raises(ArgumentError, match='auto or single'):
        make_executor('events')
    executor = make_executor('auto')
    assert type(executor).__name__ == 'SingleThreadedExecutor'
    executor.shutdown()
