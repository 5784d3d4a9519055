# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that repeat outputs for ros2_control, whose receivers have no timeout.

admittance_controller adds the last message on ~/wrench_reference to the measured wrench, forwarding
controllers and the component CMTopicSystem keep the last values. A `RepeatedOutputs` therefore
replaces numbers that are not valid by zeros or NaN, in each message and without joint states.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.timer import Timer
from std_msgs.msg import Float64MultiArray, Header

from screw_dynamics_ros.core.compile.typed.functions import Ints
from screw_dynamics_ros.core.description.ros2_control import MESSAGE_PREFIX, sensor_tag
from screw_dynamics_ros.core.lie.screws import WRENCH_ROWS
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import NO_OUTPUT, Channel
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, TRUE, VALID, Gate
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..parameters import controller_topic_parameters as parameters_of
from .model_state import Encoder, copied_part

try:
    from pal_statistics_msgs.msg import StatisticsNames, StatisticsValues
except ImportError:
    StatisticsNames = None

ABSENT = (
    f'no {parameters_of.INTERFACES}: the package pal_statistics_msgs is not installed; install it '
    '(ros-<distribution>-pal-statistics-msgs)'
)
WATCH_PERIOD_S = 0.01
NAMES_PERIOD_S = 1.0
DELIVERY_TIMEOUT_S = 0.2  # for subscribers to acknowledge the last message of a process
RANK = 2  # published after the outputs
#: State interfaces of force-torque sensors.
OF_WRENCH = dict(
    zip(WRENCH_ROWS, (f'{part}.{axis}' for part in ('force', 'torque') for axis in 'xyz'))
)


class RepeatedOutputs:
    """A topic with the concatenated numbers of outputs.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    template : Template
    sources : sequence of Channel
        The outputs, all or none of them with `is_put`; empty if there are none of these.
    missing : float
        Replaces numbers that are not valid.
    is_open : (1,) array of int64
        NOT_VALID while all numbers are replaced.

    Attributes
    ----------
    channel : Channel
    is_lost : bool
        Whether no output came within the timeout.
    """

    def __init__(
        self,
        publisher: Any,
        template: Template,
        sources: Sequence[Channel],
        missing: float,
        is_open: Ints,
    ) -> None:
        self._template, self._sources, self._is_open = template, sources, is_open
        numbers = template.array(0)
        self._lost = np.full(numbers.size, missing)
        ends = np.cumsum([sum(each.size for each in source.arrays) for source in sources])
        flag, age = np.zeros(1, np.uint8), np.zeros(1)
        self._targets = np.split(numbers, ends[:-1])
        encoder = Encoder(
            template,
            [copied_part(*each, flag, age, missing) for each in zip(sources, self._targets)],
        )
        gates = [NO_OUTPUT] if all(map(is_put, sources)) else [Gate(TRUE, is_open)]
        self.channel = Channel(publisher, encoder, gates=gates, rank=RANK, follows_states=False)
        for source in sources:
            source.readers.append(self.channel)
            if is_put(source):
                source.repeat = self.repeat
        self._seen, self._since, self.is_lost = 0, -np.inf, True

    def repeat(self, stamp: int) -> None:
        """Publish numbers of `Channel.put`, if all of them have a stamp [ns]."""
        is_complete = all(each.valid_stamp == stamp for each in self._sources)
        if is_complete and self._is_open[0] == VALID:
            for source, target in zip(self._sources, self._targets):
                target[:] = np.hstack(source.arrays)
            self.channel.publish(packed(stamp))

    def look(self, now: float, timeout: float) -> bool:
        """Return whether subscribers are to receive that the numbers are not valid."""
        if self.channel.published != self._seen:
            self._seen, self._since = self.channel.published, now
        self.is_lost = self._is_open[0] == NOT_VALID or now - self._since > timeout
        return self.is_lost and self.channel.listeners > 0

    def lose(self, stamp: int) -> None:
        """Publish that the numbers are not valid, with a stamp [ns]."""
        self.channel.send(self._template.fill(self._lost, stamp))

    def report(self, status: Status) -> None:
        """Report numbers that are replaced."""
        topic, what = self.channel.topic, f'{self._lost[0]:g}'.replace('nan', 'NaN')
        status.values[topic] = f'{self.channel.published} messages'
        invalid = [
            each.topic
            for each in self._sources
            if self.is_lost or (each.state != VALID and not is_put(each))
        ]
        if invalid and self.channel.listeners:
            status.warn(f'{topic}: {what}, because there are no numbers of {shorten(invalid)}')


def is_put(channel: Channel) -> bool:
    """Whether an output is published by `Channel.put`, not for joint states."""
    return tuple(channel.gates[:1]) == (NO_OUTPUT,)


class ControllerTopics:
    """The topics of `controller_topic_parameters`, which persist when the robot changes.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
    fault : callable
        Returns why the outputs are not those of the robot now, empty if they are.
    """

    def __init__(self, node: Node, parameters: Parameters, fault: Callable[[], str]) -> None:
        self._node, self._parameters, self._fault = node, parameters, fault
        self._publishers = Publishers(node)
        self._topics: list[RepeatedOutputs] = []
        self._names: Any = None  # message with the names of the state interfaces
        self._tag, self._absent = '', list[str]()
        self._is_open, self._is_ending = np.zeros(1, dtype=np.int64), False
        self._timers: list[Timer] = []

    def bind(self, channels: Sequence[Channel]) -> list[Channel]:
        """Adopt the outputs of a model; the last numbers of those before are replaced."""
        self._lose(self._topics)
        self._follow_fault()
        self._topics, self._names, self._tag, self._absent = [], None, '', []
        for name, kind, make in (
            (parameters_of.REFERENCE, WrenchStamped, templates.wrench),
            (parameters_of.COMMANDS, Float64MultiArray, lambda _: templates.matrix(WRENCH_ROWS)),
        ):
            if wanted := self._parameters[name]:
                found = self._found({name: wanted}, channels, lambda labels: labels == WRENCH_ROWS)
                template = make(found[name].contents.frame_id if found else '')
                publisher = self._publishers.get(kind, f'~/{name}')
                self._add(publisher, template, list(found.values()), 0.0)
        wanted = parameters_of.interfaces(self._parameters[parameters_of.INTERFACES])
        found = self._found(wanted, channels) if StatisticsNames is not None else {}
        put = [name for name, each in found.items() if is_put(each)]
        for name in put if len(put) < len(found) else ():
            self._absent.append(f'{wanted[name]} of a sensor needs a separate component')
            del found[name]
        if found:
            self._bind_interfaces(found)
        if self._topics and not self._timers:
            periods = (WATCH_PERIOD_S, self.watch), (NAMES_PERIOD_S, self._publish_names)
            self._timers = [every(self._node, *each) for each in periods]
        for timer in self._timers:
            (timer.reset if self._topics else timer.cancel)()
        return [each.channel for each in self._topics]

    def _found(
        self,
        wanted: dict[str, str],
        channels: Sequence[Channel],
        fits: Callable[[tuple[str, ...]], bool] = bool,
    ) -> dict[str, Channel]:
        """Return the outputs by name, without those that the robot lacks."""
        known = [
            each
            for each in channels
            if len(each.contents.labels) == 1 and fits(*each.contents.labels)
        ]
        found = {
            name: each
            for name, topic in wanted.items()
            for each in known
            if each.topic.endswith(f'/{topic}')
        }
        topics = shorten([each.topic for each in known], 30)
        self._absent += [
            f'{topic} is not one of the outputs for this robot: {topics}'
            for name, topic in wanted.items()
            if name not in found
        ]
        return found

    def _bind_interfaces(self, found: dict[str, Channel]) -> None:
        component = self._parameters[parameters_of.COMPONENT].lstrip('/')
        sensors = {
            sensor: [OF_WRENCH.get(label, label) for label in source.contents.labels[0]]
            for sensor, source in found.items()
        }
        names = [
            f'{MESSAGE_PREFIX}{sensor}/{each}' for sensor in sensors for each in sensors[sensor]
        ]
        version = zlib.crc32(','.join(names).encode()) or 1  # 0: the component ignores it
        self._names = StatisticsNames(names=names, names_version=version)
        self._tag = sensor_tag(component.rpartition('/')[2], sensors)
        self._add(
            self._publishers.get(StatisticsValues, f'/{component}/values', qos.JOINT_STATES),
            templates.statistics_values(StatisticsValues, len(names), version),
            list(found.values()),
            np.nan,
        )
        self._names_publisher = self._publishers.get(
            StatisticsNames, f'/{component}/names', qos.JOINT_STATES
        )
        self._publish_names()

    def _add(
        self, publisher: Any, template: Template, sources: Sequence[Channel], missing: float
    ) -> None:
        self._topics.append(RepeatedOutputs(publisher, template, sources, missing, self._is_open))

    def _publish_names(self) -> None:
        if self._names is not None:
            self._names.header = Header(stamp=self._node.get_clock().now().to_msg())
            self._names_publisher.publish(self._names)

    def watch(self) -> None:
        """Replace the numbers without joint states, and while the description is another one."""
        self._follow_fault()
        now, timeout = time.monotonic(), self._parameters[parameters_of.TIMEOUT]
        lost = [each for each in self._topics if each.look(now, timeout)]
        if lost:
            with STATE_LOCK:
                self._lose(lost)

    def _follow_fault(self) -> None:
        self._is_open[0] = NOT_VALID if self._is_ending or self._fault() else VALID

    def _lose(self, topics: Sequence[RepeatedOutputs]) -> None:
        stamp = int(self._node.get_clock().now().nanoseconds)
        for each in topics:
            each.lose(stamp)

    # --- shutdown -------------------------------------------------------------------------------

    @STATE_LOCK.exclusive
    def begin(self) -> None:
        """Replace the numbers before the process ends."""
        self._is_ending, self._is_open[0] = True, NOT_VALID
        self._lose(self._topics)

    @property
    def ended(self) -> bool:
        """Whether the last messages have been received."""
        for each in self._topics:
            if each.channel.listeners:
                each.channel.publisher.wait_for_all_acked(Duration(seconds=DELIVERY_TIMEOUT_S))
        return True

    def status(self) -> Status:
        """Report the topics, and outputs that are not there."""
        status = Status('topics for ros2_control')
        if self._parameters[parameters_of.INTERFACES] and StatisticsNames is None:
            status.error(ABSENT)
        if self._tag:
            status.values['<ros2_control>'] = self._tag
        for text in self._absent:
            status.error(f'{text}; correct the parameter')
        reason = self._fault()
        if self._topics and reason:
            status.warn(reason)
        for each in self._topics:
            each.report(status)
        return status
