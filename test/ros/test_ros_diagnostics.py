"""Statuses for /diagnostics: the worst level counts and is said first."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.diagnostics import Level, Status


def test_nothing_to_report_is_ok():
    status = Status('outputs')
    assert status.level == Level.OK
    assert status.summary == 'ok'


def test_worst_finding_comes_first():
    status = Status('outputs')
    for level, text in (
        (Level.OK, 'a'),
        (Level.WARN, 'b'),
        (Level.WARN, 'c'),
        (Level.ERROR, 'd'),
        (Level.OK, 'e'),
    ):
        status.report(level, text)
    assert status.level == Level.ERROR
    assert status.summary == 'd; b; a; c; e'


def test_statuses_are_made_one_at_a_time(monkeypatch):
    """And published together, each once, in their order."""
    from screw_dynamics_ros.ros import diagnostics

    timers, made = [], []

    def source(name):
        def status():
            made.append(name)
            return Status(name, texts=[f'{made.count(name)}'])

        return status

    rclpy = pytest.importorskip('rclpy')
    rclpy.init()
    try:
        node = rclpy.create_node('diagnosed')
        published = []
        subject = diagnostics.Diagnostics(node, lambda period, turn: timers.append(turn))
        monkeypatch.setattr(subject, '_publisher', SimpleNamespace(publish=published.append))
        names = [f'status {i}' for i in range(12)]
        for name in names:
            subject.add(source(name))
        (turn,) = timers
        for k in range(24):
            assert len(made) == k
            turn()
    finally:
        rclpy.shutdown()
    assert [
        [(status.name, status.message) for status in message.status] for message in published
    ] == [[(f'diagnosed: {name}', f'{time}') for name in names] for time in (1, 2)]
