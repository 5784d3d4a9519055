# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node in the process of a test: it hears, and time goes on, when the test says so."""

from __future__ import annotations

from collections import defaultdict

import pytest

pytest.importorskip('rclpy')

import numpy as np
import rclpy
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.time import Time
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from screw_dynamics_ros.nodes.hosting import state_input
from screw_dynamics_ros.nodes.mechanism import simulator as mechanism_simulator
from screw_dynamics_ros.nodes.mobile_base import odometry_node
from screw_dynamics_ros.nodes.parallel import platform_node
from screw_dynamics_ros.nodes.simulation import outputs, simulation_time, simulator
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.topics import channel
from support.host_bench import Bench, Clock
from support.ros_harness import stamp_of


class NodeBench:
    """One node, its clock and what it has sent, by topic without its namespace.

    Parameters
    ----------
    domain : int
    patch : pytest.MonkeyPatch
        Until it is undone there is no other such node.
    kind : type
        Simulator, MechanismSimulator, OdometryNode or PlatformNode.
    parameters : dict
    """

    def __init__(self, domain, patch, kind=simulator.Simulator, **parameters):
        self.clock, self.sent, self._timers = Clock(), defaultdict(list), []
        nodes = simulator, mechanism_simulator, odometry_node, platform_node
        for module in (*nodes, state_input, outputs, simulation_time):
            patch.setattr(module, 'time', self.clock)
        for module in nodes:
            patch.setattr(module, 'every', self._every)
        patch.setattr(FAULTS, '_faults', {})
        patch.setattr(channel, 'raw_publish', raw_publish)
        patch.setattr(channel.Channel, 'listened', True)
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = rclpy.create_node(
            'tested',
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter(k, value=v) for k, v in parameters.items()],
        )
        self.node.get_clock()._set_ros_time_is_active(True)
        patch.setattr(self.node, 'create_publisher', self._recording(self.node.create_publisher))
        self._go_to(0.0)
        self.tested = kind(self.node)
        self._heard = {each.topic_name.rsplit('/')[-1]: each for each in self.node.subscriptions}
        self._served = {each.srv_name.rsplit('/')[-1]: each for each in self.node.services}

    def close(self):
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _recording(self, create):
        def create_publisher(kind, topic, *arguments, **options):
            publisher = create(kind, topic, *arguments, **options)
            publisher.publish = self.sent[topic.lstrip('~/')].append
            return publisher

        return create_publisher

    # --- time -----------------------------------------------------------------------------------

    def _every(self, node, period, callback):
        guarded = FAULTS.guarded(f'timer {callback.__qualname__}', callback)
        self._timers.append([self.clock.offset + period, period, guarded])

    def _go_to(self, offset):
        self.clock.offset = offset
        self.node.get_clock().set_ros_time_override(Time(nanoseconds=self.clock.time_ns()))

    def go_on(self, seconds):
        """Let time pass, and what is due be done."""
        end = self.clock.offset + seconds
        while (timer := min(self._timers, key=lambda each: each[0]))[0] < end + 1e-9:
            self._go_to(max(timer[0], self.clock.offset))
            timer[0] += timer[1]
            timer[2]()
        self._go_to(end)

    def set_back(self, seconds):
        """Let the clock of the node go back."""
        self._go_to(self.clock.offset - seconds)
        for timer in self._timers:
            timer[0] -= seconds

    def stand_still(self, seconds):
        """Let time pass as for a process that gets no processor; it is late then."""
        self._go_to(self.clock.offset + seconds)
        for timer in self._timers:
            timer[0] = max(timer[0], self.clock.offset)

    # --- messages and requests --------------------------------------------------------------------

    def hear(self, topic, message):
        """Let a message come, on a topic without its namespace."""
        heard = self._heard[topic]
        heard.callback(serialize_message(message) if heard.raw else message)

    def command(self, *efforts):
        self.hear('effort_commands', Float64MultiArray(data=[float(each) for each in efforts]))

    def forget(self):
        """Forget what has been sent."""
        for messages in self.sent.values():
            messages.clear()

    def trigger(self, service):
        return self._served[service].callback(Trigger.Request(), Trigger.Response())

    def switch(self, service, wanted):
        return self._served[service].callback(SetBool.Request(data=wanted), SetBool.Response())

    def set(self, **values):
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        return self.node.set_parameters_atomically(parameters)

    def status(self):
        """Return a status, which takes a moment."""
        self._go_to(self.clock.offset + 1e-6)
        return self.tested.status()

    def diagnostics(self):
        """Return the statuses on /diagnostics by the last parts of their names."""
        sent = self.sent['diagnostics']
        sent.clear()
        while not sent:
            self._go_to(self.clock.offset + 1e-6)
            for timer in self.node.timers:
                timer.callback()
        return {status.name.rpartition(': ')[2]: status for status in sent[-1].status}

    @staticmethod
    def faults():
        """Return where exceptions were caught."""
        return list(FAULTS._faults)

    @staticmethod
    def wait(condition):
        """Wait for what a thread of the node does."""
        Bench.wait(condition)

    # --- states of a simulator -------------------------------------------------------------------

    def states(self, count, act=lambda: None):
        """Return stamps, q, v, tau of the next states; `act` is called before each of them."""
        received, period = self.sent['joint_states'], 1.0 / self.tested.parameters['rate']
        received.clear()
        while len(received) < count:
            act()
            self.go_on(period)
        return [
            np.array(x)
            for x in (
                [stamp_of(m) for m in received],
                [m.position for m in received],
                [m.velocity for m in received],
                [m.effort for m in received],
            )
        ]

    def until(self, condition, act=lambda: None, within=60.0):
        """Return the first state (q, v, tau) of which `condition` holds, within simulated time."""
        for _ in range(round(within * self.tested.parameters['rate'])):
            _, *arrays = self.states(1, act)
            for state in zip(*arrays):
                if condition(*state):
                    return state
        raise AssertionError(f'no such state within {within} s')


def raw_publish(publisher):
    return lambda data: publisher.publish(deserialize_message(data, publisher.msg_type))
