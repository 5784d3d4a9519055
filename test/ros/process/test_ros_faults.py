# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Unexpected exceptions: reported on /diagnostics, and the process continues."""

import threading

import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.node import Node

from screw_dynamics_ros.ros.diagnostics import Diagnostics, Level
from screw_dynamics_ros.ros.process import executor as executors
from screw_dynamics_ros.ros.process import faults
from screw_dynamics_ros.ros.process.faults import FAULTS, Faults


def test_faults_are_counted_and_told_for_a_while(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(faults.time, 'monotonic', lambda: now[0])
    found = Faults()
    for k in range(3):
        with found.caught('a joint state'):
            raise ValueError(f'number {k}')
    status = found.status()
    assert status.level == Level.ERROR
    assert 'ValueError: number 2' in status.summary
    assert status.values['a joint state'].startswith('3 times')
    now[0] += faults.FAULT_HOLD_S + 0.1
    assert found.status().level == Level.OK
    assert found.status().values['a joint state'].startswith('3 times')


def test_many_kinds_of_faults_take_no_more_memory():
    found = Faults()
    for k in range(1000):
        found.record(f'topic {k}', ValueError('x' * 10_000))
    values = found.status().values
    assert len(values) <= faults.MAX_KINDS + 1
    assert all(len(text) < 500 for text in values.values())


def test_a_status_that_fails_is_an_error_of_its_own(ros_domain):
    rclpy.init(domain_id=ros_domain)
    try:
        node = Node('statuses', enable_rosout=False)
        diagnostics = Diagnostics(node)

        def broken():
            raise ZeroDivisionError('no rate')

        made = diagnostics._make('statuses', broken)
        assert made.level == b'\x02'
        assert 'ZeroDivisionError: no rate' in made.message
        node.destroy_node()
    finally:
        rclpy.shutdown()


@pytest.mark.parametrize('kind', ['auto', 'single'])
def test_a_callback_that_raises_does_not_end_the_process(kind, monkeypatch, ros_domain):
    """Of a timer, as of any other: the next one is called."""
    handlers, calls, ended = [], [], threading.Event()
    monkeypatch.setattr(executors, 'on_signals', handlers.append)
    rclpy.init(domain_id=ros_domain)
    node = Node('raising', enable_rosout=False)

    def call():
        calls.append(len(calls))
        if len(calls) == 5:
            handlers[-1]()  # asks to end
            ended.set()
        raise ValueError(f'call {len(calls)}')

    node.create_timer(0.01, call)  # not guarded, as those of rclpy are not
    executors.spin([node], kind)
    assert ended.is_set()
    assert 'ValueError: call' in FAULTS.status().values['a callback']
    assert not rclpy.ok()


class Ending:
    """Something that takes some turns."""

    def __init__(self, turns):
        self.turns, self.began = turns, 0

    def begin(self):
        self.began += 1

    @property
    def ended(self):
        self.turns -= 1
        return self.turns < 0


@pytest.mark.parametrize(('signals', 'is_finished'), [(1, True), (2, False)])
def test_what_is_to_be_done_at_the_end_is_done_unless_a_second_signal_comes(
    signals, is_finished, monkeypatch, ros_domain
):
    handlers = []
    monkeypatch.setattr(executors, 'on_signals', handlers.append)
    monkeypatch.setattr(executors, 'SHUTDOWN_TIMEOUT_S', 300.0)
    rclpy.init(domain_id=ros_domain)
    node, ending = Node('ending', enable_rosout=False), Ending(10)

    def ask():
        for _ in range(signals):
            handlers[-1]()

    timer = node.create_timer(0.01, lambda: (timer.cancel(), ask()))
    node.create_timer(0.005, lambda: None)
    executors.spin([node], 'single', endings=[ending])
    assert ending.began == 1
    assert (ending.turns < 0) == is_finished
