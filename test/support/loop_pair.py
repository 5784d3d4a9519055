# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two nodes with the same messages, one of them with the compiled loop: both publish the same."""

import sys
from collections import Counter

import numpy as np
import pytest

pytest.importorskip('llvmlite')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from rclpy.parameter import Parameter
from std_msgs.msg import String

from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import Bench, Outputs, serialized
from support.loop_bench import LoopBench
from support.robots import urdf_path

ARM, PLANAR = (urdf_path(name).read_text() for name in ('panda', 'planar_2r'))
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02])  # of the arm


class Pair:
    """Two nodes with the same parameters and messages: one with the loop, one without."""

    def __init__(self, monkeypatch, description=ARM, part=Outputs, **parameters):
        parameters = {'model_state': ['all'], 'backend': 'native', **parameters}
        self.nodes = [kind(monkeypatch, part, 'all', **parameters) for kind in (LoopBench, Bench)]
        self.loop, self.plain = self.nodes
        self.plain.receive = self.plain.host.states.receive
        self.number, self.stamp, self.published = 0, 0, Counter()
        for node in self.nodes:
            node.host.states.look_for_drivers = lambda: None
            node.host.states.has_one_driver = True
        self.describe(description)

    def close(self):
        for node in self.nodes:
            node.close()

    def describe(self, text):
        for node in self.nodes:
            node.host.source.receive(String(data=text))
            self.finish(node)
        self.joints = list(self.plain.host.mapper.measured_joints)
        self.compare()

    @staticmethod
    def finish(node):
        """Let everything be adopted; each node records its own messages."""
        node.finish()
        for channel in node.host.states.channels:
            channel.send = lambda data, topic=channel.topic: node.sent.append((topic, data))

    def set(self, owner=-1, **values):
        """Set parameters of the model, or of one of the hosted nodes."""
        changes = [Parameter(name, value=value) for name, value in values.items()]
        for node in self.nodes:
            each = node.node if owner < 0 else node.part.nodes[owner]
            assert each.set_parameters_atomically(changes).successful
            self.finish(node)
        self.compare()

    def listen(self, topics):
        """Have subscribers on topics whose names end so."""
        for node in self.nodes:
            for channel in node.host.states.channels:
                wanted = channel.topic.endswith(topics)
                channel.count_listeners = lambda each=channel, wanted=wanted: setattr(
                    each, 'listeners', int(wanted)
                )
            node.host.states.look_for_listeners()

    def wait(self, seconds):
        for node in self.nodes:
            node.clock.offset += seconds

    def send(self, q=None, v=None, tau=None, stamp=None, names=None, lost=0, publisher=bytes(16)):
        """Send a joint state to both, and compare what they publish."""
        n = len(self.joints)
        self.stamp = self.loop.clock.time_ns() if stamp is None else stamp
        self.number += 1 + lost
        data = serialized(
            names or self.joints,
            np.linspace(0.3, 0.9, n) + 0.01 * self.number if q is None else q,
            self.stamp,
            np.linspace(-0.5, 0.5, n) if v is None else v,
            np.linspace(1.0, 5.0, n) if tau is None else tau,
        )
        now = self.loop.clock.time_ns()
        info = {'source_timestamp': now, 'publication_sequence_number': self.number}
        for node in self.nodes:
            node.receive(data, {**info, 'publisher': publisher})
        self.compare()

    def states(self, count, step=0.001, **state):
        """Send states at regular times."""
        for _ in range(count):
            self.wait(step)
            self.send(**state)

    def reports(self):
        """Return the diagnostics of external torques of each node."""
        return [
            group.status()
            for node in self.nodes
            for group in node.host.builder.groups
            if isinstance(group, WrenchEstimator)
        ]

    def compare(self):
        """Both have published the same, and have the same state."""
        sent = [Counter(each for each in n.sent if 'markers' not in each[0]) for n in self.nodes]
        assert {topic for topic, _ in sent[0]} == {topic for topic, _ in sent[1]}
        for topic, data in sent[0]:
            assert (topic, data) in sent[1], topic
        assert sent[0] == sent[1]
        self.published.update(sent[0])
        with STATE_LOCK:
            states = [summary(node.host.states) for node in self.nodes]
        assert states[0] == states[1]
        for node in self.nodes:
            node.sent.clear()


def summary(states):
    """Return what is known after a joint state."""
    mapper, load = states.mapper, states.load
    if mapper is None:
        return None
    return {
        'state': mapper.state.tobytes(),
        'known': (mapper.has_velocity, mapper.has_effort, mapper.restarted),
        'stamps': (mapper.stamp, mapper.newest, mapper.age, mapper.last_accepted, mapper.accepted),
        'records': {key: (each.count, each.detail) for key, each in mapper.records.items()},
        'load': (load.arrivals, load.lost, load.late, load.overflows, load.last_arrival),
        'counts': {
            each.topic: each.published for each in states.channels if 'markers' not in each.topic
        },
    }
