"""Executors: which one runs the nodes, and how they end."""

import sys

import pytest

pytest.importorskip('rclpy')

import rclpy
import rclpy.executors

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.executor import make_executor, run_slow, spin_until_end


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


def test_process_ends_while_a_wait_begins(monkeypatch, context):
    """A signal ends the context at any moment: in the thread of the services, too, silently."""
    make = rclpy.executors._rclpy.WaitSet
    faults = []

    def make_late(*arguments):
        rclpy.shutdown()
        try:
            return make(*arguments)
        except RuntimeError as error:
            faults.append(error)
            raise

    monkeypatch.setattr(rclpy.executors._rclpy, 'WaitSet', make_late)
    run_slow([rclpy.create_node('late', enable_rosout=False)])
    assert 'context' in str(faults)


def test_other_faults_are_told(context):
    class Faulty:
        def spin_once(self, timeout_sec):
            raise RuntimeError('of a callback')

    with pytest.raises(RuntimeError, match='of a callback'):
        spin_until_end(Faulty())
