# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

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


def test_control_characters_are_escaped(diagnosed):
    """A text of a message cannot change what a terminal shows."""
    text = 'no link \n\x1b[2Jred'
    status = Status('outputs', texts=[text], values={'a\n': text})
    _, subject, turn, published = diagnosed()
    subject.add(lambda: status)
    for _ in range(10):
        turn()
    (made,) = published[0].status
    (item,) = made.values
    assert (made.message, item.value) == ('no link \\n\\x1b[2Jred',) * 2
    assert item.key == 'a\\n'


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
        names = [f'status {i}' for i in range(8)]
        for name in names:
            subject.add(source(name))
        (turn,) = timers
        for k in range(20):
            assert len(made) == 8 * (k // 10) + min(k % 10, 8)
            turn()
    finally:
        rclpy.shutdown()
    assert [
        [(status.name, status.message) for status in message.status] for message in published
    ] == [[(f'diagnosed: {name}', f'{time}') for name in names] for time in (1, 2)]


@pytest.fixture
def diagnosed(ros_domain, monkeypatch):
    """Make a `Diagnostics` with parameters; return it, its turn, and what it publishes."""
    import rclpy
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    from screw_dynamics_ros.ros import diagnostics

    rclpy.init(domain_id=ros_domain)
    nodes = []

    def make(**parameters):
        overrides = [
            Parameter(f'diagnostic_updater.{name}', value=value)
            for name, value in parameters.items()
        ]
        node = Node(
            'diagnosed', namespace='/left', parameter_overrides=overrides, enable_rosout=False
        )
        nodes.append(node)
        turns, published = [], []
        subject = diagnostics.Diagnostics(node, lambda period, turn: turns.append(turn))
        monkeypatch.setattr(subject, '_publisher', SimpleNamespace(publish=published.append))
        return node, subject, turns[0], published

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


@pytest.mark.parametrize(('period', 'turns'), [(0.1, 1), (0.25, 2), (1, 10), (2.0, 20)])
def test_period_is_that_of_diagnostic_updater(diagnosed, period, turns):
    """However many statuses there are: several are made in a turn if that is needed."""
    _, subject, turn, published = diagnosed(period=period)
    for i in range(12):
        subject.add(lambda i=i: Status(f'status {i}'))
    for _ in range(3 * turns):
        turn()
    assert [len(message.status) for message in published] == [12] * 3


def test_period_changes_while_running(diagnosed):
    from rclpy.parameter import Parameter

    node, subject, turn, published = diagnosed()
    subject.add(lambda: Status('status'))
    (result,) = node.set_parameters([Parameter('diagnostic_updater.period', value=0.2)])
    assert result.successful
    for _ in range(10):
        turn()
    assert len(published) == 5
    (result,) = node.set_parameters([Parameter('diagnostic_updater.period', value=0.0)])
    assert 'diagnostic_updater.period' in result.reason


@pytest.mark.parametrize(('use_fqn', 'name'), [(True, 'left/diagnosed'), (False, 'diagnosed')])
def test_names_of_statuses(diagnosed, use_fqn, name):
    _, subject, turn, published = diagnosed(use_fqn=use_fqn, period=0.1)
    subject.add(lambda: Status('outputs'))
    turn()
    (status,) = published[0].status
    assert (status.name, status.hardware_id) == (f'{name}: outputs', 'none')


def test_levels_are_logged_when_they_change(diagnosed, monkeypatch):
    """With a source that fails, while the others are reported."""
    node, subject, turn, published = diagnosed(period=0.1)
    logged, levels = [], []
    logger = SimpleNamespace(**{
        name: lambda text, name=name: logged.append((name, text))
        for name in ('info', 'warning', 'error')
    })  # fmt: skip
    monkeypatch.setattr(node, 'get_logger', lambda: logger)

    def source():
        status = Status('outputs', values={'rate': '5'})
        if levels[-1] is None:
            raise ValueError('no number')
        status.report(levels[-1], 'text')
        return status

    subject.add(source)
    subject.add(lambda: Status('other'))
    for level in (Level.OK, Level.WARN, Level.WARN, Level.ERROR, Level.OK, None):
        levels.append(level)
        turn()
    assert logged[:3] == [
        (name, 'left/diagnosed: outputs: text') for name in ('warning', 'error', 'info')
    ]
    ((name, text),) = logged[3:]
    assert name == 'error'
    assert text.endswith('no status: ValueError: no number')
    found = [[each.level for each in message.status] for message in published]
    assert found == [[bytes([k]), b'\0'] for k in (0, 1, 1, 2, 0, 2)]
    (pair,) = published[0].status[0].values
    assert (pair.key, pair.value) == ('rate', '5')
    assert published[0].header.stamp.sec > 1_600_000_000
