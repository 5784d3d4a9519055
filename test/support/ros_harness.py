# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes in processes of their own, and a client that talks to them over DDS.

Everything stays on this machine, in a domain of its own, and is decided by what comes, never by how
long it takes: deadlines only end a test whose event never comes. Outputs carry the stamps of their
inputs, so that each one is identifiable: that nothing was published for a bad message is known as
soon as the output of a later good one is there on the same topic.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.ros.topics.subscriptions import subscribe
from support.paths import ROOT
from support.warm_processes import start

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEADLINE = 240.0  # s; only a failing test waits that long

OK, WARN, ERROR = 0, 1, 2

#: Torques as they are wanted: enabled, and neither ramps, nor blends, nor rates that can be felt,
#: however slow this machine is.
DIRECT = {
    'enabled': True,
    'ramp_time': 0.0,
    'blend_time': 0.0,
    'effort_rate_factor': 1e6,
    'age_limit': 10.0,
    'max_delay': 0.0,
}


class NodeProcess:
    """A node started as `python -m screw_dynamics_ros NAME`.

    Joint states are answered however late a busy machine lets them be, unless `max_delay` is among
    the parameters, and diagnostics come five times a second, so that nobody waits for them.
    """

    running: ClassVar = []

    def __init__(self, name, domain, folder, parameters=None, arguments=()):
        parameters = {'diagnostic_updater.period': 0.2, **(parameters or {})}
        if name not in (
            'simulator',
            'mechanism_simulator',
            'odometry',
            'parallel_robot',
            'echo_node',
        ):
            parameters = {'max_delay': 0.0, **parameters}
        self.log = Path(folder) / f'{name}_{time.monotonic_ns()}.log'
        command = [name, '--ros-args', *arguments]
        for key, value in parameters.items():
            command += ['-p', f'{key}:={value}']
        environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain),
            'PYTHONFAULTHANDLER': '1',
            'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
        }
        with self.log.open('w') as log:
            self.process = start(command, environment, log)
        self.running.append(self)

    def wait(self, deadline=DEADLINE):
        """Return the exit status; a process that does not end says where it is."""
        try:
            return self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            raise AssertionError(f'{self.log.name} did not end:\n{self.output}') from None

    def stop(self, number=signal.SIGINT):
        """End the process; return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self in self.running:
            self.running.remove(self)
        return self.process.returncode

    @property
    def output(self):
        return self.log.read_text()


class Client:
    """A ROS node in the test process, with a context of its own."""

    def __init__(self, domain, namespace=''):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node(
            'client',
            context=self.context,
            namespace=namespace,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.received = defaultdict(list)
        self.diagnostics = {}
        self.reports = 0  # messages on /diagnostics, and how often it was about what
        self._told = Counter()
        self._sent_at = {}  # messages, and when they were sent by the clock of the sender
        self._publishers, self._subscriptions, self._clients = {}, {}, {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        self.stamp, self.sent = time.time_ns(), set()  # stamps of the last state, of all of them

    def close(self):
        """Leave the domain; a second call does nothing."""
        if not self.context.ok():
            return
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def _on_diagnostics(self, message):
        self.reports += 1
        for status in message.status:
            self._told[status.name] += 1
            self.diagnostics[status.name] = (
                status.level[0],
                status.message,
                {item.key: item.value for item in status.values},
            )

    # --- waiting --------------------------------------------------------------------------------

    def spin(self, seconds):
        """Handle what comes within some seconds: the pace of a driver, which decides nothing."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self.executor.spin_once(timeout_sec=left)

    def wait(self, condition, deadline=DEADLINE, what=''):
        """Handle messages until `condition` holds; return its value."""
        end = time.monotonic() + deadline
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                report = [
                    f'waited {deadline} s for {what or condition}',
                    *(f'{name}: {text[:2]}' for name, text in self.diagnostics.items()),
                    *(
                        f'{node.log.name} ended with:\n{node.output[-2000:]}'
                        for node in NodeProcess.running
                    ),
                ]
                raise AssertionError('\n'.join(report))
            self.executor.spin_once(timeout_sec=min(0.05, max(0.0, end - time.monotonic())))

    # --- topics ---------------------------------------------------------------------------------

    def publisher(self, kind, topic, profile=10):
        if topic not in self._publishers:
            publisher = self.node.create_publisher(kind, topic, profile)
            self._publishers[topic] = publisher
            self.wait(publisher.get_subscription_count, what=f'a subscription of {topic}')
        return self._publishers[topic]

    def drop_publisher(self, topic):
        """End a publisher, as if its process had died."""
        self.node.destroy_publisher(self._publishers.pop(topic))

    def subscribe(self, kind, *topics, profile=50):
        for topic in topics:
            if topic not in self._subscriptions:
                self._subscriptions[topic] = subscribe(
                    self.node, kind, topic, partial(self._receive, self.received[topic]), profile
                )
        for topic in topics:
            self.wait(
                self._subscriptions[topic].get_publisher_count, what=f'a publisher of {topic}'
            )

    def _receive(self, received, message, info):
        received.append(message)
        self._sent_at[id(message)] = message, info.get('source_timestamp', 0)

    def sent_at(self, message):
        """Return when a message that was received was sent, by the clock of its sender [ns]."""
        return self._sent_at[id(message)][1]

    def unsubscribe(self, *topics):
        for topic in topics:
            self.node.destroy_subscription(self._subscriptions.pop(topic))
            self.received.pop(topic)

    def describe(self, text):
        """Publish a robot description."""
        self.publisher(String, 'robot_description', LATCHED).publish(String(data=text))

    # --- joint states ---------------------------------------------------------------------------

    def send(self, names, position=(), velocity=(), effort=(), *, step=0.01, stamp=None):
        """Publish a joint state `step` seconds after the one before; return its stamp.

        Stamps are there to tell states apart: they begin with the time at which the client was
        made and fall behind it, since states are sent less often than each `step`. Nodes note
        that stamps and their clock disagree, and use them.
        """
        if stamp is None:
            self.stamp += round(step * 1e9)
            stamp = self.stamp
        self.sent.add(stamp)
        message = JointState(
            name=list(names),
            position=as_list(position),
            velocity=as_list(velocity),
            effort=as_list(effort),
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.publisher(JointState, 'joint_states', qos_profile_sensor_data).publish(message)
        return stamp

    def drive(self, condition, *state, what='', **options):
        """Send a state until ``condition(stamps)`` holds of the stamps sent; return its value.

        It is sent once, and again when a node has reported meanwhile: states and outputs are lost
        as long as a node has not discovered a publisher or a subscription yet.
        """
        stamps, reports = [], None

        def sent():
            nonlocal reports
            if reports != self.reports:
                reports = self.reports
                stamps.append(self.send(*state, **options))
            return condition(stamps)

        return self.wait(sent, what=what)

    def ask(self, topic, *state, **options):
        """Send a state until its output comes on `topic`; return (stamp, output)."""
        stamp, (output,) = self.ask_all([topic], *state, **options)
        return stamp, output

    def ask_all(self, topics, *state, **options):
        """Send a state until its outputs come on all topics; return (stamp, outputs)."""
        before = [len(self.received[topic]) for topic in topics]

        def outputs(stamps):
            new = [self.received[topic][count:] for topic, count in zip(topics, before)]
            answers = [{stamp_of(message): message for message in each} for each in new]
            for stamp in stamps:
                if all(stamp in each for each in answers):
                    return stamp, [each[stamp] for each in answers]
            return None

        return self.drive(outputs, *state, what=f'answers on {", ".join(topics)}', **options)

    def ask_once(self, topic, *state):
        """Send a state once; return its output on `topic`, where one has come before."""
        stamp = self.send(*state)
        return self.wait(lambda: self.with_stamp(topic, stamp), what=f'an answer on {topic}')

    def ask_unstamped(self, topic, stamped, *state):
        """Return a message without a stamp that belongs to a state.

        The same state is sent again; what was sent after the answer on the topic `stamped` is of
        this state.
        """
        _, answer = self.ask(stamped, *state)
        since = self.sent_at(answer)
        return self.drive(
            lambda _: next((m for m in self.received[topic] if self.sent_at(m) > since), None),
            *state,
            what=topic,
        )

    def with_stamp(self, topic, stamp):
        """Return the message on a topic with this stamp, if there is one."""
        return next(
            (message for message in reversed(self.received[topic]) if stamp_of(message) == stamp),
            None,
        )

    def stamps(self, topic):
        return [stamp_of(message) for message in self.received[topic]]

    # --- diagnostics, parameters, services ------------------------------------------------------

    def expect(self, name, level, *texts, meanwhile=lambda: None, deadline=DEADLINE):
        """Wait for a diagnostic of this level that says all of the texts; return its values.

        `meanwhile` is called again and again, for conditions that last as long as their cause:
        100 times a second at most, or each output would cause another state.
        """
        self.diagnostics.pop(name, None)
        next_call = time.monotonic()

        def condition():
            nonlocal next_call
            if time.monotonic() >= next_call:
                next_call = time.monotonic() + 0.01
                meanwhile()
            status = self.diagnostics.get(name)
            return status and status[0] == level and all(text in status[1] for text in texts)

        self.wait(condition, deadline, what=f'{name} at level {level} with {texts}')
        return self.diagnostics[name][2]

    def wait_for_reports(self, name, count):
        """Wait until a diagnostic has come so many times more."""
        last = self._told[name] + count
        self.wait(lambda: self._told[name] >= last, what=f'{count} times {name}')

    def until_active(self, name, *state):
        """Send a state until torques are commanded; they begin with zero."""

        def is_active():
            self.send(*state)
            self.spin(0.01)
            return self.diagnostics.get(name, (0, '', {}))[2].get('mode') == 'active'

        self.diagnostics.pop(name, None)
        self.wait(is_active, what=f'active {name}')

    def service(self, kind, name):
        """Return a client of a service, when its server knows of it.

        Answers are lost if the server has not heard of the client 100 ms after it is made (rmw).
        It hears of subscriptions in the order in which they are made: of the client, too, as soon
        as a later subscription hears from the node of the server, on /diagnostics.
        """
        if name not in self._clients:
            made = self.node.create_client(kind, name)
            self.wait(made.service_is_ready, what=name)
            self._clients[name] = made
            full, nodes = self.node.resolve_service_name(name), set()
            later = self.node.create_subscription(
                DiagnosticArray,
                '/diagnostics',
                lambda message: nodes.update(each.name.split(': ')[0] for each in message.status),
                50,
            )
            self.wait(
                lambda: any(full.startswith(f'/{node}/') for node in nodes),
                what=f'/diagnostics of the node of {name}',
            )
            self.node.destroy_subscription(later)
        return self._clients[name]

    def call(self, kind, service, request, meanwhile=lambda: None):
        """Return the answer of a service; `meanwhile` is called again and again until it comes."""
        future = self.service(kind, service).call_async(request)
        self.wait(lambda: meanwhile() or future.done(), what=f'an answer of {service}')
        return future.result()

    def set_parameter(self, node, name, value, **options):
        """Set a parameter; return the result."""
        return self.set_parameters(node, [(name, value)], **options)[0]

    def set_parameters(self, node, values, **options):
        """Set parameters, (name, value), one after the other in one request; return the results."""
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg() for name, value in values]
        )
        return self.call(SetParameters, f'{node}/set_parameters', request, **options).results

    def parameters(self, node):
        """Return the declared parameters of a node and their values."""
        listed = self.call(ListParameters, f'{node}/list_parameters', ListParameters.Request())
        names = sorted(listed.result.names)
        values = self.call(
            GetParameters, f'{node}/get_parameters', GetParameters.Request(names=names)
        ).values
        return {
            name: rclpy.parameter.parameter_value_to_python(value)
            for name, value in zip(names, values)
        }

    def descriptors(self, node, names):
        return self.call(
            DescribeParameters,
            f'{node}/describe_parameters',
            DescribeParameters.Request(names=list(names)),
        ).descriptors


def as_list(values):
    return [float(value) for value in values]


def stamp_of(message):
    """Return the stamp of a message, in ns; None if messages of its type have none."""
    carrier = message.transforms[0] if hasattr(message, 'transforms') else message
    if not hasattr(carrier, 'header'):
        return None
    return carrier.header.stamp.sec * 10**9 + carrier.header.stamp.nanosec


def matrix(message):
    """Return a Float64MultiArray as array."""
    return np.array(message.data).reshape([dimension.size for dimension in message.layout.dim])


def vector(xyz):
    return np.array([xyz.x, xyz.y, xyz.z])
