# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transforms on /tf and /tf_static, unless another node publishes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.tree.multibody_tree import mimic_map
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.actuated import actuated
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.fields import measured
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.name_map import NameMap
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.messages.conversions import pose
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.other_transforms import OtherTransforms
from screw_dynamics_ros.ros.topics.publishers import Publishers

#: Messages refused for these reasons contain valid positions of the joints they name.
MISSING_POSITION_REASONS = {Reason.INCOMPLETE, Reason.POSITION_MISSING}
#: Messages refused for these reasons do too, but with a bad stamp.
MISTIMED_REASONS = {Reason.DUPLICATE_STAMP, Reason.OUT_OF_ORDER, Reason.OLD, Reason.FUTURE}


MAX_KINDS = 16  # sets of joints with a stored template


class ReportedTransforms:
    """Messages with the transforms of the joints that one joint state contains.

    Parameters
    ----------
    model : RunningModel
        Model of a robot without loops, because loops couple several joints.
    prefix : str
        Prefix of all frame names.
    """

    def __init__(self, model: RunningModel, prefix: str) -> None:
        self._model = model
        description = model.robot.description
        children = {joint.name: joint for joint in description.joints}
        self._frames = [
            (prefix + children[name].parent, prefix + children[name].child)
            for name in model.robot.transform_joints
        ]
        masters = mimic_map(description)
        moved = defaultdict(list)
        for row, name in enumerate(model.robot.transform_joints):
            moved[masters[name][0]].append(row)
        self._moved = [moved[joint] for joint in model.joints]
        self._kinds: dict[tuple[float, ...], tuple[Template, RateLimit | None]] = {}

    def encoded(
        self, message: JointStateMessage, names: NameMap, stamp: int, rate: float
    ) -> bytes | None:
        """Return the tf2_msgs/TFMessage of a joint state, or None for no message.

        Parameters
        ----------
        message : JointStateMessage
        names : NameMap
            Name map of its layout.
        stamp : int
            Stamp of the transforms [ns].
        rate : float
            Largest rate of messages with these joints, by stamps [Hz]; 0: every stamp.
        """
        values, is_number = measured(message.position, names)
        joints = names.target[is_number]
        if names.refusal is not None or not len(joints):
            return None
        template, limit = self._kind(joints, rate)
        if limit is not None and not limit.use(stamp):
            return None
        positions = np.zeros(len(self._moved))
        positions[joints] = values[is_number]
        transforms: Array = self._model.robot.joint_transforms(self._model.whole_q(positions))
        if not np.isfinite(transforms).all():
            return None
        return template.fill(transforms[self._rows(joints)], stamp)

    def _rows(self, joints: NDArray[np.intp]) -> list[int]:
        """Return the indices of the transforms that joints move."""
        return [row for joint in joints for row in self._moved[joint]]

    def _kind(self, joints: NDArray[np.intp], rate: float) -> tuple[Template, RateLimit | None]:
        """Return template and limit for a set of joints and a rate, created at first use."""
        key = (rate, *joints.tolist())
        if key not in self._kinds:
            if len(self._kinds) >= MAX_KINDS:
                self._kinds.clear()
            self._kinds[key] = (
                templates.transforms([self._frames[row] for row in self._rows(joints)]),
                RateLimit(rate) if rate else None,
            )
        return self._kinds[key]


def row(transforms: NDArray[np.float64], index: int) -> NDArray[np.float64]:
    """Return the transform of one joint."""
    return transforms[index]


class TransformPublisher:
    """Publishes the transforms of all joints of one robot.

    Parameters
    ----------
    node : rclpy.node.Node
    prefix : str
        Prefix of all frame names.
    parameters : Parameters
        With the rows of `transform_parameters`.
    """

    def __init__(self, node: Node, prefix: str, parameters: Parameters) -> None:
        self._node, self._prefix, self._parameters = node, prefix, parameters
        self._publishers = Publishers(node)
        self._channel: Channel | None = None
        self._reported: ReportedTransforms | None = None
        self._rate, self._limit = 0.0, RateLimit(1.0)
        self._static: bytes | None = None  # the transforms of fixed joints
        self._latched: bytes | None = None  # latched message with them
        self._others: list[str] | None = None  # unknown before the first check
        self._of_other_robots: list[str] = []
        self._other_transforms = OtherTransforms(node, TFMessage)
        every(node, 1.0, self.look)

    def outputs(self, robot: Robot) -> list[Formula]:
        """Return a formula for the transform of each moving joint."""
        if not self._parameters['publish_tf']:
            return []
        if not actuated(robot).has_loops:
            robot.joint_transforms(robot.neutral())  # compiled here, in another thread
        # Joint states cannot contain joints with several coordinates.
        scalar = {joint.name for joint in robot.description.joints if joint.kind.is_scalar}
        return [
            Formula(f'row {i}', ('joint_transforms',), row, (i,))
            for i, name in enumerate(robot.transform_joints)
            if name in scalar
        ]

    def bind(
        self, model: RunningModel, mapper: JointStateMapper, outputs: Sequence[Formula]
    ) -> list[Channel]:
        """Adopt a new model and its outputs; return its topics."""
        self._channel, self._reported, self._static = None, None, None
        joints = model.robot.description.joints
        moving = [joint for joint in joints if joint.kind.is_scalar]
        if outputs and model.results:
            template = templates.transforms(
                [(self._prefix + joint.parent, self._prefix + joint.child) for joint in moving]
            )
            self._channel = Channel(
                self._publishers.get(TFMessage, '/tf'),
                template,
                {output: template.array(7 * i, 7) for i, output in enumerate(outputs)},
                name='transforms',
            )
            if not actuated(model.robot).has_loops:
                self._reported = ReportedTransforms(model, self._prefix)
            self._publishers.get(TFMessage, '/tf_static', qos.LATCHED)  # marks this node for others
        fixed = [joint for joint in joints if joint.kind.is_fixed]
        stamp = stamp_of_clock(self._node.get_clock().now().nanoseconds)
        self._other_transforms.watch(
            [self._prefix + joint.child for joint in joints], stamp, has_fixed=bool(fixed)
        )
        if fixed:
            frames = [(self._prefix + joint.parent, self._prefix + joint.child) for joint in fixed]
            poses = [pose(joint.origin) for joint in fixed]
            self._static = templates.transforms(frames).fill(np.array(poses), stamp)
        self._switch()
        return [self._channel] if self._channel else []

    def use_refused(self, mapper: JointStateMapper, message: JointStateMessage) -> None:
        """Publish the transforms of the joints of a refused message."""
        in_any_order = self._parameters['ignore_timestamp']
        is_of_use = mapper.refused in MISSING_POSITION_REASONS or (
            in_any_order and mapper.refused in MISTIMED_REASONS
        )
        channel = self._channel
        if not is_of_use or channel is None or not channel.is_sent or self._reported is None:
            return
        stamp, names = message.stamp or mapper.clock(), mapper.maps[message.layout]
        if stamp <= mapper.newest and not in_any_order:
            return  # a complete state has been published for this time
        encoded = self._reported.encoded(message, names, stamp, self._rate)
        if encoded is not None:
            channel.send(encoded)
            channel.published += 1

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        self._switch()

    def look(self) -> None:
        """Check whether another node publishes the transforms."""
        self._others = self._other_transforms.found()
        self._of_other_robots = self._other_transforms.of_other_robots()
        self._switch()

    def report(self, status: Status) -> None:
        """Report the publishers of the transforms."""
        if self._of_other_robots and self._parameters['publish_tf']:
            status.warn(
                f'no /tf: {shorten(self._of_other_robots)} publishes frames with the names of this '
                'robot from other joint states; set a frame_prefix for one of the robots, or set '
                'publish_tf to false'
            )
        elif self._others and self._parameters['publish_tf']:
            status.values['tf'] = f'published by {shorten(self._others)}'
        else:
            status.values['tf'] = 'published' if self._active else 'off'

    @property
    def _active(self) -> bool:
        return self._parameters['publish_tf'] and self._others == []

    @STATE_LOCK.exclusive
    def _switch(self) -> None:
        """Start or stop publishing; when stopping, clear the latched transforms of fixed joints."""
        parameters, before = self._parameters, self._rate
        self._rate = 0.0 if parameters['ignore_timestamp'] else parameters['publish_frequency']
        if self._rate and self._rate != before:
            self._limit = RateLimit(self._rate)
        if self._channel is not None:
            self._channel.enabled = self._active
            self._channel.topic_rate = self._limit if self._rate else None
        wanted = self._static if self._active else None
        if wanted == self._latched:
            return
        self._latched = wanted
        if wanted is None:
            self._other_transforms.expect_empty()
        publisher = self._publishers.get(TFMessage, '/tf_static', qos.LATCHED)
        publisher.publish(TFMessage() if wanted is None else wanted)
