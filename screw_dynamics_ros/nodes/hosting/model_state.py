# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The topic `~/model_state`: the numbers of all chosen outputs for one joint state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import Header

from screw_dynamics_ros.core.outputs import unit_of
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.records import CopiedPart
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import NEVER_STAMP
from screw_dynamics_ros.ros.messages.serialized import Contents, Template
from screw_dynamics_ros.ros.model_state import ModelStateLayout, StatePart, located
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.services import REMEDY
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY
from screw_dynamics_ros.ros.topics.publishers import Publishers
from screw_dynamics_ros.ros.topics.snapshot import Copy

from ..model.running_model import RunningModel
from ..parameters import model_state_parameters

try:
    from screw_dynamics_msgs import msg
    from screw_dynamics_msgs.msg import ModelState
except ImportError:  # not installed, or without this message
    ModelState = None

#: Fields of screw_dynamics_msgs/ModelState, see `padding`.
MODEL_STATE = ('time', 'string', 'count', 'flags', 'doubles', 'doubles')
RANK = 2  # published after the outputs that it contains


@dataclass(frozen=True, eq=False)
class JointVector:
    """Positions, velocities or efforts of the joint state, as a part of the model state.

    Attributes
    ----------
    name : str
    values : (n,) array
    needs : int
        VELOCITY or EFFORT if they are known only with these.
    """

    name: str
    values: Array
    needs: int


class ModelStateTopic:
    """Collects the numbers of outputs after they have been checked for a joint state.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With the rows of `model_state_parameters`.

    Attributes
    ----------
    channel : Channel or None
        The topic, if it is wanted.
    layout : ModelStateLayout or None
        The layout that was published last.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._node, self._parameters = node, parameters
        self._publishers = Publishers(node)
        self.channel: Channel | None = None
        self.layout: ModelStateLayout | None = None
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
            JointVector('position', mapper.q, 0),
            JointVector('velocity', mapper.v, VELOCITY),
            JointVector('effort', mapper.tau, EFFORT),
        ]
        vectors = [each for each in joints if is_chosen(each.name)]
        self._read = [channel for channel in channels if channel.name and is_chosen(channel.name)]
        layout = ModelStateLayout.of(
            model.robot.description.name,
            prefix + model.robot.description.root,
            [
                StatePart(name, contents.labels, contents.frame_id, unit=unit_of(name))
                for name, contents in (
                    *((each.name, Contents((mapper.joints,))) for each in vectors),
                    *((each.name, each.contents) for each in self._read),
                )
            ],
        )
        names = {part.name.partition('/')[0] for part in layout.parts}
        self._absent = [name for name in wanted if name not in names | {model_state_parameters.ALL}]
        encoder = model_state_encoder(layout, [*vectors, *self._read])
        self.channel = Channel(
            self._publishers.get(ModelState, '~/model_state'), encoder, rank=RANK
        )
        for each in self._read:
            each.readers.append(self.channel)
        if layout != self.layout:
            self.layout = layout
            publisher = self._publishers.get(
                msg.ModelStateLayout, '~/model_state_layout', qos.LATCHED
            )
            publisher.publish(layout.message(self._node.get_clock().now().to_msg()))
        self.follow()
        return [self.channel]

    def follow(self) -> None:
        """Set for each output whether its topic is muted."""
        separate = self._parameters[model_state_parameters.SEPARATE]
        for channel in self._read:
            # Controllers must not lose their commands.
            channel.is_muted = not separate and channel.follows_states

    def status(self) -> Status:
        """Report the parts of the model state, and outputs that are not there."""
        status, wanted = Status('model state'), self._parameters[model_state_parameters.PARTS]
        if wanted and ModelState is None:
            status.error(
                'no ~/model_state: the package screw_dynamics_msgs is not installed, or is too '
                f'old; {REMEDY}'
            )
        elif wanted and self.layout is not None:
            status.values['~/model_state'] = (
                f'{len(self.layout.parts)} parts, {self.layout.size} numbers'
            )
            if self._absent:
                status.warn(
                    f'~/model_state has no {", ".join(self._absent)}: no node in this process has '
                    'this output for this robot; correct the parameter model_state'
                )
        return status


class Encoder:
    """Encodes messages with the numbers of several outputs.

    Parameters
    ----------
    template : Template
    parts : sequence of CopiedPart
    """

    def __init__(self, template: Template, parts: Sequence[CopiedPart]) -> None:
        self.template, self.parts = template, parts

    def __call__(self, stamp: bytes) -> bytes:
        """Return the message with the numbers of the current joint state."""
        return self.template.encode(stamp)


def model_state_encoder(
    layout: ModelStateLayout, sources: Sequence[JointVector | Channel]
) -> Encoder:
    """Return the encoder of model states; the sources are those of the parts."""
    template, count = message(layout), len(layout.parts)
    places = located(template.fill(np.zeros(count + layout.size), 0))
    valid, age = template.bytes_at(places.valid, count), template.array(0, count)
    data = template.array(count, layout.size) if layout.size else np.zeros(0)
    parts = [
        copied_part(source, data[part.offset :][: part.size], valid[k : k + 1], age[k : k + 1])
        for k, (part, source) in enumerate(zip(layout.parts, sources))
    ]
    return Encoder(template, parts)


def copied_part(
    source: JointVector | Channel,
    data: Array,
    valid: NDArray[np.uint8],
    age: Array,
    missing: float = np.nan,
) -> CopiedPart:
    """Return the part of a message with the numbers of an output or of a vector."""
    part = CopiedPart()
    part.valid, part.age, part.data, part.missing = valid, age, data, missing
    if isinstance(source, JointVector):
        part.needs, part.since = source.needs, np.full(1, NEVER_STAMP, dtype=np.int64)
        pairs = [(data, source.values)]
    else:
        part.channel, part.is_held = source, source.is_held
        part.since = source.element('valid_stamp')
        ends = np.cumsum([array.size for array in source.arrays])
        pairs = list(zip(np.split(data, ends[:-1]), source.arrays))
    part.copies = tuple(Copy(*pair) for pair in pairs)
    return part


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

    return Template(build, count + layout.size, MODEL_STATE)
