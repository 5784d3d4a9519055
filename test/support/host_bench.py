"""A node in the process of a test: compiling, clock and listeners are in our hands."""

import threading
import time as real_time

import pytest

pytest.importorskip('rclpy')

from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.nodes.hosting import gravity_source, host, output_group, state_pipeline
from screw_dynamics_ros.nodes.model import effort_recording, link_inertias, payloads
from screw_dynamics_ros.nodes.outputs.dynamics import (
    command_channel,
    commands,
    dynamics_outputs,
    reference_trajectory,
)
from screw_dynamics_ros.ros.topics import frame_chain

DEADLINE = 30.0  # s


def serialized(names, position, stamp, velocity=None, effort=None):
    """Return a joint state, at rest and with efforts unless others are given."""
    numbers = (
        position,
        [0.0] * len(names) if velocity is None else velocity,
        [1.0] * len(names) if effort is None else effort,
    )
    position, velocity, effort = ([float(value) for value in each] for each in numbers)
    message = JointState(name=names, position=position, velocity=velocity, effort=effort)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return serialize_message(message)


class Clock:
    """The module `time` with a clock that can be put forward."""

    def __init__(self):
        self.offset, self._stopped = 0.0, None

    def stand_still(self):
        """Go on by `offset` alone from now on."""
        self._stopped = real_time.monotonic(), real_time.time_ns()

    def monotonic(self):
        now = self._stopped[0] if self._stopped else real_time.monotonic()
        return now + self.offset

    def time_ns(self):
        now = self._stopped[1] if self._stopped else real_time.time_ns()
        return now + round(1e9 * self.offset)


class Bench:
    """The node. Descriptions are compiled in its background thread, but only when we say so."""

    def __init__(self, monkeypatch, part=dynamics_outputs.Dynamics, name='dynamics', **parameters):
        self.clock, self.sent = Clock(), []
        for module in (
            host,
            state_pipeline,
            payloads,
            effort_recording,
            link_inertias,
            gravity_source,
            frame_chain,
            command_channel,
            commands,
            reference_trajectory,
        ):
            monkeypatch.setattr(module, 'time', self.clock)
        monkeypatch.setattr(host, 'settle', lambda: None)
        monkeypatch.setattr(
            output_group,
            'raw_publish',
            lambda publisher: (
                lambda data, topic=publisher.topic_name: self.sent.append((topic, data))
            ),
        )
        monkeypatch.setattr(output_group.Channel, 'count_listeners', listened)
        parameters = {'backend': 'reference', **parameters}
        self.node = Node(
            name,
            namespace='/life',
            enable_rosout=False,
            parameter_overrides=[
                Parameter(name, value=value) for name, value in parameters.items()
            ],
        )
        self.node.get_logger().set_level(LoggingSeverity.ERROR)
        self.host = host.ModelHost(self.node)
        self.part = part(self.node, self.host)
        self.host.add(self.part, self.node)
        self.gate, self.at_gate = threading.Semaphore(0), False
        build = self.host.source.loader.build

        def gated(text):
            self.at_gate = True
            assert self.gate.acquire(timeout=DEADLINE)
            self.at_gate = False
            return build(text)

        self.host.source.loader.build = gated
        self.host.start()

    def close(self):
        """Destroy all nodes: Fast DDS finds 32 participants on a machine, not more."""
        self.finish()
        for node in (*self.host.services.nodes, self.node):
            node.destroy_node()

    def finish(self):
        """Let everything be compiled, and take it over."""
        end = real_time.monotonic() + DEADLINE
        while self.host.source.compiling:
            assert real_time.monotonic() < end
            self.gate.release()
            real_time.sleep(0.0005)
            self.host.keep_house()
        while self.gate.acquire(blocking=False):
            pass

    @staticmethod
    def wait(condition):
        """Wait until something holds."""
        end = real_time.monotonic() + DEADLINE
        while not condition():
            assert real_time.monotonic() < end
            real_time.sleep(0.01)

    def build(self):
        """Let one description be compiled, if any waits; it is not taken over yet."""
        if not self.host.source.compiling or self.host.source.loader.outcome is not None:
            return
        thread = self.host.source.loader.thread
        self.gate.release()
        self.wait(
            lambda: (
                self.host.source.loader.outcome is not None
                or (self.gate._value == 0 and self.is_waiting(thread))
            )
        )

    def is_waiting(self, thread):
        """Whether the next build waits at the gate."""
        return self.at_gate and thread is self.host.source.loader.thread

    def take_over(self):
        """Look at what is ready."""
        self.host.keep_house()


def listened(channel):
    channel.listeners = 1
