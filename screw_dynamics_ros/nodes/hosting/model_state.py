# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The topic `~/model_state`: the numbers of all chosen outputs for one joint state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_msgs.msg import Header

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.nodes.parameters import model_state_parameters
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import NEVER_STAMP
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.model_state import ModelStateLayout, StatePart, located
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.services import REMEDY
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

try:
    from screw_dynamics_msgs import msg
    from screw_dynamics_msgs.msg import ModelState
except ImportError:  # not installed, or without this message
    ModelState = None

RANK = 2  # published after the outputs that it contains


@dataclass(frozen=True, eq=False)
class JointVector:
    """Positions, velocities or efforts of the joint state, as a part of the model state.

    Attributes
    ----------
    name : str
    values : (n,) array
    is_known : callable
        Whether the joint state has them.
    """

    name: str
    values: Array
    is_known: Callable[[], bool]


class ModelStateTopic:
    """Collects the numbers of outputs after they have been checked for a joint state.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With the rows of `model_state_parameters`.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._node, self._parameters = node, parameters
        self._publishers = Publishers(node)
        self.channel: Channel | None = None
        self._layout: ModelStateLayout | None = None
        self._read: list[Channel] = []
        self._absent: list[str] = []

    def bind(
        self,
        channels: Sequence[Channel],
        model: RunningModel,
        mapper: JointStateMapper,
        prefix: str,
    ) -> list[Channel]:
        """Adopt the outputs of a model; return the topic, if it is wanted.

        Publishes the layout.
        """
        self.channel, self._read = None, []
        wanted = self._parameters[model_state_parameters.PARTS]
        if not wanted or ModelState is None or not model.joints:
            return []
        is_chosen = model_state_parameters.chosen(wanted)
        joints = [
            JointVector('position', mapper.q, lambda: True),
            JointVector('velocity', mapper.v, lambda: mapper.has_velocity),
            JointVector('effort', mapper.tau, lambda: mapper.has_effort),
        ]
        vectors = [each for each in joints if is_chosen(each.name)]
        self._read = [channel for channel in channels if channel.name and is_chosen(channel.name)]
        layout = ModelStateLayout.of(
            model.robot.description.name,
            prefix + model.robot.description.root,
            [
                *(StatePart(each.name, (mapper.joints,)) for each in vectors),
                *(StatePart(each.name, *each.contents) for each in self._read),
            ],
        )
        names = {part.name.partition('/')[0] for part in layout.parts}
        self._absent = [name for name in wanted if name not in names | {model_state_parameters.ALL}]
        template = message(layout)
        places = located(template.fill(np.zeros(len(layout.parts) + layout.size), 0))
        encoder = Encoder(
            template,
            template.bytes_at(places.valid, places.parts),
            template.array(0, places.parts),
            template.array(places.parts, places.size) if places.size else np.zeros(0),
            vectors,
            self._read,
            mapper,
        )
        self.channel = Channel(
            self._publishers.get(ModelState, '~/model_state'), encoder.encode, rank=RANK
        )
        if layout != self._layout:
            self._layout = layout
            publisher = self._publishers.get(
                msg.ModelStateLayout, '~/model_state_layout', qos.LATCHED
            )
            publisher.publish(layout.message(self._node.get_clock().now().to_msg()))
        self.follow()
        return [self.channel]

    def follow(self) -> None:
        """Set for each output whether the model state reads it and whether its topic is muted."""
        is_read = self.channel is not None and self.channel.listeners > 0
        separate = self._parameters[model_state_parameters.SEPARATE]
        for channel in self._read:
            channel.is_read = is_read
            # Controllers must not lose their commands.
            channel.is_muted = not separate and channel.follows_states

    def report(self, status: Status) -> None:
        """Report outputs that are not there."""
        wanted = self._parameters[model_state_parameters.PARTS]
        if not wanted:
            return
        if ModelState is None:
            status.report(
                Level.ERROR,
                'no ~/model_state: the package screw_dynamics_msgs is not installed, or is too '
                f'old; {REMEDY}',
            )
        elif self._layout is not None:
            status.values['~/model_state'] = (
                f'{len(self._layout.parts)} parts, {self._layout.size} numbers'
            )
            if self._absent:
                status.report(
                    Level.WARN,
                    f'~/model_state has no {", ".join(self._absent)}: no node in this process has '
                    'this output for this robot; correct the parameter model_state',
                )


class Encoder:
    """Encodes model states.

    Parameters
    ----------
    template : Template
    valid, age, data : arrays
        The fields of the message, views of the template.
    vectors : sequence of JointVector
        The first parts.
    channels : sequence of Channel
        The other ones.
    mapper : JointStateMapper
    """

    def __init__(
        self,
        template: Template,
        valid: Any,
        age: Array,
        data: Array,
        vectors: Sequence[JointVector],
        channels: Sequence[Channel],
        mapper: JointStateMapper,
    ) -> None:
        self._template, self._valid, self._age, self._mapper = template, valid, age, mapper
        self._vectors, self._channels = vectors, channels
        sources = [*([each.values] for each in vectors), *(each.arrays for each in channels)]
        self._copies, at = [], 0
        for arrays in sources:
            start, pairs = at, []
            for array in arrays:
                pairs.append((data[at : at + array.size], array))
                at += array.size
            self._copies.append((data[start:at], pairs))
        self._known_at = [NEVER_STAMP] * len(vectors)

    def encode(self, stamp: bytes) -> bytes:
        """Return the message for the current joint state."""
        now, known_at = self._mapper.stamp, self._known_at
        for k, vector in enumerate(self._vectors):
            is_known = vector.is_known()
            if is_known:
                known_at[k] = now
            self._put(k, is_known, now - known_at[k])
        for k, channel in enumerate(self._channels, len(self._vectors)):
            since = channel.valid_stamp
            is_valid = channel.is_current or (channel.is_deferred and since > NEVER_STAMP)
            self._put(k, is_valid, now - since)
        return self._template.encode(stamp)

    def _put(self, k: int, is_valid: bool, age: int) -> None:
        """Set flag, age [ns] and numbers of a part."""
        whole, pairs = self._copies[k]
        self._valid[k] = is_valid
        self._age[k] = age * 1e-9 if age < -NEVER_STAMP // 2 else np.inf
        if not is_valid:
            whole.fill(np.nan)
            return
        for target, source in pairs:
            target[:] = source


def message(layout: ModelStateLayout) -> Template:
    """Return the message with a layout; numbers: ages, then data."""
    count = len(layout.parts)

    def build(stamp: Time, numbers: list[float]) -> Any:
        return ModelState(
            header=Header(stamp=stamp, frame_id=layout.root),
            layout_id=layout.id,
            valid=[False] * count,
            age=numbers[:count],
            data=numbers[count:],
        )

    return Template(build, count + layout.size)
