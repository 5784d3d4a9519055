# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node in the process of a test: compiling, clock and listeners are in our hands.

Nothing is drawn: that would start a process for each node.
"""

import os
import sys
import threading
import time as real_time

import pytest

pytest.importorskip('rclpy')

from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.nodes.hosting import host
from screw_dynamics_ros.nodes.hosting.drawing import DrawingProcess
from screw_dynamics_ros.nodes.outputs.dynamics import dynamics_outputs
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.nodes.outputs.kinematics import singularity_measures
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.topics import channel, qos

NAMESPACE = '/life'  # of the nodes
DEADLINE = 240.0  # s; only a failing test waits that long
SECOND = 10**9

#: Variables of the environment with the beginning of the two clocks, and their defaults [s].
BEGIN = {'BENCH_MONOTONIC': '1234.5', 'BENCH_WALL': '1750000000.25'}

#: What waits for other threads and processes does so in real time.
IN_REAL_TIME = {'drawing', 'executor', 'inverse_kinematics', 'worker'}

#: Ends of the topics with commands.
COMMANDS = (
    '/commands',
    '/feedforward',
    '/joint_command',
    '/position_command',
    '/joint_position_command',
    '/impedance_command',
)


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
    """The module `time` with a clock that stands still, and is put forward by `offset` alone.

    It begins at constants; see `tools/clocks.py` for others.
    """

    sleep = staticmethod(real_time.sleep)

    def __init__(self):
        self.offset = 0.0
        self._monotonic, self._wall = (
            round(SECOND * float(os.environ.get(name, begin))) for name, begin in BEGIN.items()
        )

    def monotonic_ns(self):
        return self._monotonic + round(SECOND * self.offset)

    def monotonic(self):
        return self.monotonic_ns() / 1e9  # converted first, as in Python and in the loop

    def time_ns(self):
        return self._wall + round(SECOND * self.offset)

    def set_wall(self, step):
        """Set the wall clock forward, or back, by a step [s]."""
        self._wall += round(SECOND * step)

    def rule(self, monkeypatch):
        """Be the clock of all nodes."""
        for name, module in list(sys.modules.items()):
            package, _, last = name.rpartition('.')
            if (
                package.startswith(('screw_dynamics_ros.nodes', 'screw_dynamics_ros.ros'))
                and last not in IN_REAL_TIME
                and getattr(module, 'time', None) is real_time
            ):
                monkeypatch.setattr(module, 'time', self)


class Port:
    """A publisher or a service of a bench: what the nodes and the tests use of it, without DDS.

    Most of the time of a bench would be that of DDS, with the hundred that a node has.
    """

    def __init__(self, node, kind, name, callback=None):
        self.topic_name = self.srv_name = node.resolve_topic_name(name)
        self.msg_type = self.srv_type = kind
        self.callback, self.handle, self.event_handlers = callback, self, ()

    @property
    def pointer(self):
        return id(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def publish(self, message):
        pass

    def get_subscription_count(self):
        return 0

    def destroy(self):
        pass


def without_dds(monkeypatch):
    """Let services and publishers of nodes in the namespace be ports.

    Publishers of latched topics, and of those that are not private, are heard by other nodes.
    """

    def replace(name, ports, replaced=''):
        create = getattr(Node, name)

        def created(node, kind, topic, *arguments, **options):
            is_private = topic.startswith(replaced) and qos.LATCHED not in arguments
            if node.get_namespace() != NAMESPACE or not is_private:
                return create(node, kind, topic, *arguments, **options)
            port = Port(node, kind, topic, *arguments[:1])
            getattr(node, ports).append(port)
            return port

        monkeypatch.setattr(Node, name, created)

    replace('create_publisher', '_publishers', ('~', '/parameter_events'))
    replace('create_service', '_services')


class Bench:
    """The node. Descriptions are compiled in its background thread, but only when we say so."""

    def __init__(self, monkeypatch, part=dynamics_outputs.Dynamics, name='dynamics', **parameters):
        self.clock, self.sent = Clock(), []
        self.clock.rule(monkeypatch)
        without_dds(monkeypatch)
        monkeypatch.setattr(host, 'settle', lambda collects: None)
        monkeypatch.setattr(DrawingProcess, 'offer', lambda *_: None)
        monkeypatch.setattr(singularity_measures, 'RANDOM_SAMPLES', 1)  # one is regular here
        monkeypatch.setattr(
            channel,
            'raw_publish',
            lambda publisher: (
                lambda data, topic=publisher.topic_name: self.sent.append((topic, data))
            ),
        )
        monkeypatch.setattr(channel.Channel, 'count_listeners', listened)
        parameters = {'backend': 'reference', **parameters}
        self.node = Node(
            name,
            namespace=NAMESPACE,
            enable_rosout=False,
            parameter_overrides=[
                Parameter(name, value=value) for name, value in parameters.items()
            ],
        )
        self.node.get_logger().set_level(LoggingSeverity.ERROR)
        self.host = host.ModelHost(self.node)
        # Tests act without the lock of states, which callbacks hold.
        self.host.states._follow_changes = self.host.states.arm
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
        hosted = getattr(self.part, 'nodes', ())
        for node in (*self.host.services.nodes, self.node, *hosted):
            node.destroy_node()

    def describe(self, text):
        """Let a description come, and its model be adopted."""
        self.host.source.receive(String(data=text))
        self.finish()

    def set(self, **values):
        """Set parameters, two underscores in a name are a dot; return the result."""
        changes = [Parameter(name.replace('__', '.'), value=each) for name, each in values.items()]
        return self.node.set_parameters_atomically(changes)

    def finish(self):
        """Let everything be compiled and adopted."""
        end = real_time.monotonic() + DEADLINE
        while self.host.source.compiling:
            assert real_time.monotonic() < end
            if self.host.source.loader.outcome is not None:
                self.host.keep_house()
            else:
                self.gate.release()
                real_time.sleep(0.002)
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
        """Let one description be compiled, if any waits; it is not adopted yet."""
        if not self.host.source.compiling or self.host.source.loader.outcome is not None:
            return
        self.gate.release()
        self.wait(
            lambda: (
                self.host.source.loader.outcome is not None
                or (self.gate._value == 0 and self.at_gate)
            )
        )

    def adopt(self):
        """Look at what is ready."""
        self.host.keep_house()


class Outputs:
    """All groups in one process, as in `bringup`."""

    def __init__(self, node, host):
        self.first = Kinematics(node, host)
        self.nodes = []
        for kind in (dynamics_outputs.Dynamics, WrenchEstimator):
            name = kind.__name__.lower()
            self.nodes.append(Node(name, namespace='/life', enable_rosout=False))
            host.add(kind(self.nodes[-1], host), self.nodes[-1])
        self.nodes[0].set_parameters([Parameter('enabled', value=True)])

    def __getattr__(self, name):
        return getattr(self.first, name)


def listened(channel):
    channel.listeners = 1
