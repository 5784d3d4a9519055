# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node in this process that processes recorded joint states."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from screw_dynamics_ros.core import ScrewDynamicsError, UnknownNameError
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.node_process import OutputGroupFactory
from screw_dynamics_ros.nodes.hosting.statuses import OVERFLOW
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.model_state import ModelStateLayout
from screw_dynamics_ros.ros.recordings.coverage import record_lines
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.stamped import WRENCH
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from screw_dynamics_ros.ros.status import Level
from screw_dynamics_ros.ros.topics.channel import NO_OUTPUT, Channel

COMPILE_TIMEOUT_S = 600.0  # for compilation
POLL_PERIOD_S = 0.01  # between checks for its end

Send = Callable[[str, bytes], None]


class HostedNode:
    """A model node with parameters, pipeline of joint states and outputs; it is never spun.

    Parameters
    ----------
    name : str
        Name of the node; parameters, namespace and remappings are those of the process.

    Attributes
    ----------
    sensors : {topic: callback}
        Force-torque sensors that the node reads.
    """

    def __init__(self, name: str) -> None:
        self.node, self._now = Node(name), 0
        self.host = ModelHost(self.node)

    def prepare(
        self,
        factory: OutputGroupFactory,
        text: str,
        send: Send,
        wanted: Collection[str],
        reader: RecordingReader,
    ) -> None:
        """Build the model, and redirect the messages.

        Parameters
        ----------
        factory : callable
            Returns the output group.
        text : str
            The robot description.
        send : callable
            Called with topic and serialized message, instead of publishing.
        wanted : collection of str
            Parts of topic names, such as 'external_torque'; other topics are not computed. Empty:
            all.
        reader : RecordingReader
            Contains the topics of sensors that the node reads.

        Raises
        ------
        ScrewDynamicsError
            The description is refused.
        """
        self._part = factory(self.node, self.host)
        self.host.add(self._part, self.node)
        self.sensors = {
            each.topic_name: each.callback
            for each in self.node.subscriptions
            if each.msg_type is WrenchStamped
        }
        self._frames: dict[str, str] = {}
        for topic in self.sensors:
            self._find_frame(reader, topic)
        self.host.source.receive(String(data=text))
        end = time.monotonic() + COMPILE_TIMEOUT_S
        while self.host.source.compiling and time.monotonic() < end:
            self.host.keep_house()
            time.sleep(POLL_PERIOD_S)
        if self.host.model is None or self.host.mapper is None:
            reason = self.host.source.descriptions.reason
            raise ScrewDynamicsError(
                f'{self.node.get_name()}: {reason or "the description is invalid"}'
            )
        self.channels = [
            channel
            for channel in self.host.states.channels
            if channel.follows_states
            and (not wanted or set(wanted) & set(channel.topic.split('/')))
        ]
        for channel in self.host.states.channels:
            if channel.is_held and not channel.follows_states:  # at a rate of real time
                channel.gates = (NO_OUTPUT,)
        for channel in self.channels:
            listen(channel, send)
        self.host.states.policies = replace(self.host.states.policies, max_delay=0.0)
        self.host.states.look_for_listeners()
        self.mapper = self.host.mapper
        self.mapper.clock = lambda: self._now

    def close(self) -> None:
        """Destroy the node, and that of its services."""
        for node in (self.node, *self.host.services.nodes):
            node.destroy_node()

    def receive(self, data: bytes, received: int) -> None:
        """Process a serialized joint state recorded at a time [ns]."""
        self._now = received
        self.host.states.receive(data, {})

    def receive_wrench(self, topic: str, data: bytes) -> None:
        """Process a serialized message of a sensor; raises RecordingError for another frame."""
        message: WrenchStamped = deserialize_message(data, WrenchStamped)
        frame = message.header.frame_id
        if self._frames.get(topic, frame) != frame:
            raise RecordingError(
                f'topic {topic!r} contains wrenches in several frames, {self._frames[topic]!r} and '
                f'{frame!r}; set sensor_frame, or record one topic for each sensor'
            )
        self.sensors[topic](message)

    def _find_frame(self, reader: RecordingReader, topic: str) -> None:
        """Set `sensor_frame`, if it is empty, to the frame of the first message of a sensor.

        Raises UnknownNameError if the topic is not recorded, RecordingError if there is no frame.
        """
        try:
            reader.check(topic, WRENCH)
        except UnknownNameError as error:
            raise UnknownNameError(
                f'{error}; give the topic of the sensor with --ros-args -r wrench:=TOPIC'
            ) from None
        if self.node.get_parameter('sensor_frame').value:
            return
        for block in reader.blocks(topic):
            first: WrenchStamped = deserialize_message(block.message(0), WrenchStamped)
            frame = self._frames[topic] = first.header.frame_id
            frame = frame.removeprefix(self.host.parameters['frame_prefix'])
            if not frame:
                raise RecordingError(
                    f'messages on {topic} have no frame; give the link of the sensor with '
                    '--ros-args -p sensor_frame:=LINK'
                )
            self.node.set_parameters([Parameter('sensor_frame', value=frame)])
            return

    def faults_of_states(self) -> list[str]:
        """Return lines about joint states that were refused, completed or without results."""
        load = self.host.states.load
        counts = {Reason.UNREADABLE.value: load.unreadables, OVERFLOW: load.overflows}
        lines = [f'  {count} times: {text}' for text, count in counts.items() if count]
        return [*record_lines(self.mapper.records), *lines]

    def faults(self) -> list[str]:
        """Return the faults that the node reports, except those of the contents of joint states."""
        status = self._part.status()
        texts = status.texts if status.level > Level.OK else []
        return [OVERFLOW, *texts] if self.host.states.load.overflows else texts

    def model_state_layout(self) -> tuple[str, ModelStateLayout] | None:
        """Return topic and layout of the model state, None without one."""
        topic = self.host.model_state
        if topic.channel not in self.channels or topic.layout is None:
            return None
        return f'{topic.channel.topic}_layout', topic.layout

    def topics(self) -> dict[str, str]:
        """Return the types of the topics by name."""
        return {channel.topic: type_name(channel.publisher) for channel in self.channels}


def listen(channel: Channel, send: Send) -> None:
    """Redirect the messages of a channel to `send`; ignore subscribers on the network."""
    topic = channel.topic
    channel.send = lambda data: send(topic, data)
    channel.listeners = 1
    channel.count_listeners = lambda: None  # type: ignore[method-assign]


def type_name(publisher: Any) -> str:
    """Return the type of a publisher, such as 'sensor_msgs/msg/JointState'."""
    kind = publisher.msg_type
    return f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
