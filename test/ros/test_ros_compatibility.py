# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What differs between ROS 2 distributions is asked for at one place."""

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from rclpy.executors import SingleThreadedExecutor

import screw_dynamics_ros
from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.ros import compatibility
from screw_dynamics_ros.ros.process import executor

PROBE = re.compile(
    r"""hasattr\(\w*\.?_?node\b|hasattr\(Subscription|qos_event|rclpy\.event_handler|\.EventsExecutor"""
    r"""|'humble'|msg import JointCommand""",
)


def test_no_other_file_asks():
    package = Path(screw_dynamics_ros.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob('*.py')
        if PROBE.search(path.read_text(encoding='utf-8'))
    }
    assert found == {'ros/compatibility.py'}


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (('message', {'source_timestamp': 1}), ('message', {'source_timestamp': 1})),
        ((('message', {'source_timestamp': 1}),), ('message', {'source_timestamp': 1})),
        (('message',), ('message', {})),
    ],
    ids=['two arguments', 'EventsExecutor of rclpy 7.1', 'humble'],
)
def test_messages_come_with_their_info(arguments, expected):
    received = []
    compatibility.message_receiver(lambda *given: received.append(given))(*arguments)
    assert received == [expected]


def test_callbacks_that_a_node_does_not_have():
    node = SimpleNamespace()
    compatibility.call_before_parameters_are_set(node, print)
    assert not compatibility.call_after_parameters_are_set(node, print)
    callbacks = []
    node.add_pre_set_parameters_callback = callbacks.append
    node.add_post_set_parameters_callback = callbacks.append
    compatibility.call_before_parameters_are_set(node, repr)
    assert compatibility.call_after_parameters_are_set(node, str)
    assert callbacks == [repr, str]


def test_an_rclpy_without_events_executor(monkeypatch):
    monkeypatch.setitem(sys.modules, 'rclpy.experimental', None)
    monkeypatch.delattr('rclpy.executors.EventsExecutor', raising=False)
    assert compatibility.events_executor() is None
    with pytest.raises(ArgumentError, match='no EventsExecutor'):
        executor.make_executor('events')
    monkeypatch.setattr(executor, 'SingleThreadedExecutor', lambda: SingleThreadedExecutor)
    assert executor.make_executor('auto') is SingleThreadedExecutor


@pytest.mark.parametrize(('distribution', 'value'), [('humble', '1'), ('jazzy', None)])
def test_processes_stay_on_this_machine(distribution, value, monkeypatch):
    for name in ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY'):
        monkeypatch.setenv(name, 'before')
        monkeypatch.delenv(name)
    monkeypatch.setenv('ROS_DISTRO', distribution)
    compatibility.stay_on_this_machine()
    assert os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert os.environ.get('ROS_LOCALHOST_ONLY') == value
