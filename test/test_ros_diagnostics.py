"""Statuses for /diagnostics: the worst level counts and is said first."""

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.executor import make_executor


def test_nothing_to_report_is_ok():
    status = Status('outputs')
    assert status.level == Level.OK
    assert status.summary == 'ok'


def test_worst_finding_comes_first():
    status = Status('outputs')
    for level, text in ((Level.OK, 'a'), (Level.WARN, 'b'), (Level.WARN, 'c'), (Level.ERROR, 'd'),
                        (Level.OK, 'e')):
        status.report(level, text)
    assert status.level == Level.ERROR
    assert status.summary == 'd; b; a; c; e'


def test_missing_events_executor(monkeypatch):
    """With an older rclpy: by name it is refused with the remedy, `auto` takes the other one."""
    import sys

    import rclpy

    monkeypatch.setitem(sys.modules, 'rclpy.experimental', None)
    with pytest.raises(ArgumentError, match='auto or single'):
        make_executor('events')
    rclpy.init()
    try:
        executor = make_executor('auto')
        assert type(executor).__name__ == 'SingleThreadedExecutor'
        executor.shutdown()
    finally:
        rclpy.shutdown()
