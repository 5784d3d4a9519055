# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The client of the trials of commands, and a node with what was heard of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from command_checks import AGE_LIMIT, RATE_FACTOR, Facts

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'test'))

from support.warm_processes import WarmProcess  # noqa: E402

RESULTS = ROOT / 'results'
PATIENCE = 60.0  # s; only something that is broken, or a very busy machine, takes that long
RAMP_TIME, BLEND_TIME = 0.3, 0.2  # s
DEADLINE = 0.2  # s that the client asks for; longer than what the node offers, age_limit
PRIORITY, NICE = 40, -10  # where that is permitted


class Client:
    """A ROS node that calls services and publishes, and takes messages on request."""

    def __init__(self) -> None:
        self._log = (RESULTS / f'command_trials_{os.environ["ROS_DOMAIN_ID"]}.log').open('wb')
        with suppress(OSError):
            os.nice(NICE)
        WarmProcess.server()
        with suppress(OSError):  # where that is permitted, starting does not wait for others
            os.sched_setscheduler(WarmProcess._process.pid, os.SCHED_RR, os.sched_param(1))
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from rclpy.signals import SignalHandlerOptions
        from std_msgs.msg import String

        from screw_dynamics_ros.ros.process.scheduling import use_real_time

        #: Of driver and node where that is permitted, as next to a controller manager.
        self.priority = 0 if use_real_time(PRIORITY - 1) else PRIORITY
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node('trials')
        self.listener = rclpy.create_node('listener')  # in no executor: its messages are taken
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.descriptions = self.node.create_publisher(
            String,
            '/robot_description',
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        )
        self.state_subscription = self.subscribe('JointState', '/joint_states')
        self.sent: dict[bytes, int] = {}  # source timestamp of each joint state by its stamp

    def start(self, name: str, parameters: dict[str, Any], arguments: list[str]) -> WarmProcess:
        """Start a node of this package, which ends when this process does."""
        arguments = ['--ros-args', *arguments]
        for key, value in {**parameters, 'realtime_priority': self.priority}.items():
            text = str(value).lower() if isinstance(value, bool) else value
            arguments += ['-p', f'{key}:={text}']
        return WarmProcess([name, *arguments], dict(os.environ), self._log)

    def subscribe(self, kind: str, topic: str, on_deadline: Any = None) -> Any:
        import sensor_msgs.msg as sensor
        import std_msgs.msg as std
        from rclpy.duration import Duration
        from rclpy.event_handler import SubscriptionEventCallbacks
        from rclpy.qos import QoSProfile

        profile, events = QoSProfile(depth=3000), None
        if on_deadline:
            profile = QoSProfile(depth=1, deadline=Duration(seconds=DEADLINE))
            events = SubscriptionEventCallbacks(deadline=on_deadline, use_default_callbacks=False)
        node = self.node if on_deadline else self.listener
        return node.create_subscription(
            getattr(sensor, kind, None) or getattr(std, kind),
            topic,
            ignore,
            profile,
            raw=True,
            event_callbacks=events,
        )

    def take_states(self) -> None:
        """Note the joint states that have come."""
        for data, info in taken(self.state_subscription):
            self.sent[data[4:12]] = info['source_timestamp']

    def call(self, kind: Any, service: str, request: Any, pump: Callable[[], None]) -> Any:
        """Return the answer of a service."""
        client = self.node.create_client(kind, service)
        try:
            end = time.monotonic() + PATIENCE
            while not client.service_is_ready():
                wait(pump, end, service)
            future = client.call_async(request)
            while not future.done():
                wait(pump, end, service)
                self.executor.spin_once(timeout_sec=0.0)
            return future.result()
        finally:
            self.node.destroy_client(client)


def ignore(_: Any) -> None:
    """Leave a message to others."""


def wait(pump: Callable[[], None], end: float, what: str) -> None:
    """Do what there is to do meanwhile."""
    pump()
    if time.monotonic() > end:
        raise TimeoutError(f'waited {PATIENCE:g} s for {what}')


def taken(subscription: Any) -> list[tuple[bytes, dict[str, int]]]:
    """Return the messages that have come."""
    messages = []
    while (message := subscription.handle.take_message(subscription.msg_type, True)) is not None:
        messages.append(message)
    return messages


class Instance:
    """One process of `bringup`, its commands, and what was done to it."""

    def __init__(self, client: Client, name: str, rng: np.random.Generator) -> None:
        self.client, self.name = client, name
        self.is_enabled_at_start = bool(rng.integers(2))
        self.factor = float(rng.choice([1.0, 0.3]))
        parameters = {
            'nodes': "['dynamics']",
            'enabled': self.is_enabled_at_start,
            'age_limit': AGE_LIMIT,
            'command_parameters_locked': 'none',  # trials change on_loss while enabled
            'ramp_time': RAMP_TIME,
            'blend_time': BLEND_TIME,
            'effort_rate_factor': RATE_FACTOR,
            'effort_limit_factor': self.factor,
            'reference_timeout': 0.3,
        }
        self.process = client.start(
            'bringup',
            parameters,
            [
                '-r',
                f'__ns:=/{name}',
                '-r',
                'joint_states:=/joint_states',
                '-r',
                'robot_description:=/robot_description',
            ],
        )
        self.efforts: list[tuple[bytes, int, bytes]] = []  # stamp, source timestamp, message
        self.matrices: list[tuple[int, bytes]] = []
        self.is_new_effort = False
        self.missed = 0  # deadlines
        self.facts: list[Facts] = []  # its trials
        self.enabled_at = 0  # ns

    def listen(self) -> None:
        """Subscribe to the commands."""
        subscribe, topic = self.client.subscribe, f'/{self.name}/dynamics'
        self.subscriptions = [
            subscribe('JointState', f'{topic}/feedforward'),
            subscribe('Float64MultiArray', f'{topic}/commands'),
        ]
        self.watching = subscribe('Float64MultiArray', f'{topic}/commands', self._on_deadline)

    def _on_deadline(self, event: Any) -> None:
        self.missed = event.total_count

    def take(self) -> None:
        """Note the commands that have come."""
        before = len(self.efforts)
        self.efforts += [
            (data[4:12], info['source_timestamp'], data)
            for data, info in taken(self.subscriptions[0])
        ]
        self.matrices += [
            (info['source_timestamp'], data) for data, info in taken(self.subscriptions[1])
        ]
        self.is_new_effort = len(self.efforts) > before

    def forget(self) -> None:
        """Leave the topics."""
        for subscription in self.subscriptions:
            self.client.listener.destroy_subscription(subscription)
        self.client.node.destroy_subscription(self.watching)
