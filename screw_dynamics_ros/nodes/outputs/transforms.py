"""Frames on /tf and /tf_static, unless another node sends them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.nodes.hosting.output_group import Channel
from screw_dynamics_ros.nodes.model.running_model import Model
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.conversions import pose
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.other_transforms import OtherTransforms
from screw_dynamics_ros.ros.topics.publishers import Publishers

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

FREE = ('floating', 'planar')  # joint states cannot say where they are


def row(transforms: NDArray[np.float64], index: int) -> NDArray[np.float64]:
    """Return the transform of one joint."""
    return transforms[index]


class TransformPublisher:
    """Publishes the transforms of all joints of one robot.

    Parameters
    ----------
    node : rclpy.node.Node
    prefix : str
        Put in front of all frame names.
    wanted : bool
        Whether to publish at all.
    """

    def __init__(self, node: Node, prefix: str, wanted: bool = True) -> None:
        self._wanted = wanted
        self._node = node
        self._prefix = prefix
        self._publishers = Publishers(node)
        self._channel: Channel | None = None
        self._static: bytes | None = None
        self._has_static = False
        self._others: list[str] | None = None  # unknown before the first look
        if TFMessage is not None:
            self._other_transforms = OtherTransforms(node, TFMessage)
            every(node, 1.0, self.look)

    def outputs(self, robot: Robot) -> list[Formula]:
        """Return the transforms of all joints that move, each by itself."""
        if TFMessage is None or not self._wanted:
            return []
        types = {joint.name: joint.type for joint in robot.description.joints}
        return [
            Formula(f'row {i}', ('joint_transforms',), row, (i,))
            for i, name in enumerate(robot.transform_joints)
            if types[name] not in FREE
        ]

    def bind(self, model: Model, outputs: Sequence[Formula]) -> list[Channel]:
        """Take over a new model, with the outputs there are for it, and return its topics."""
        self._channel, self._static = None, None
        if TFMessage is None:
            return []
        joints = model.robot.description.joints
        moving = [joint for joint in joints if joint.type not in (*FREE, 'fixed')]
        if outputs and model.results:
            template = templates.transforms(
                [(self._prefix + joint.parent, self._prefix + joint.child) for joint in moving]
            )
            self._channel = Channel(
                self._publishers.get(TFMessage, '/tf'),
                template,
                {output: template.array(7 * i, 7) for i, output in enumerate(outputs)},
            )
        fixed = [joint for joint in joints if joint.type == 'fixed']
        stamp = self._node.get_clock().now().nanoseconds
        self._other_transforms.watch([self._prefix + joint.child for joint in joints], stamp)
        if fixed or self._has_static:
            frames = [(self._prefix + joint.parent, self._prefix + joint.child) for joint in fixed]
            poses = [pose(joint.origin) for joint in fixed]
            self._static = templates.transforms(frames).fill(np.array(poses), stamp)
            self._has_static = True  # of another robot there may be none: that is told, too
            self._publishers.get(TFMessage, '/tf_static', qos.LATCHED)
        self._switch(announce=True)
        return [self._channel] if self._channel else []

    def want(self, wanted: bool) -> None:
        """Publish, or do not."""
        self._wanted, announce = wanted, wanted and not self._wanted
        self._switch(announce)

    def look(self) -> None:
        """See whether somebody else publishes the frames."""
        others = self._other_transforms.found()
        announce = self._others is None or (bool(self._others) and not others)
        self._others = others
        self._switch(announce)

    def report(self, status: Status) -> None:
        """Say who publishes the frames."""
        if TFMessage is None:
            status.report(
                Level.WARN,
                'no /tf: the package tf2_msgs is not installed; install it, '
                'or build the stand-in in tools/tf2_msgs',
            )
        elif self._others and self._wanted:
            status.values['tf'] = f'published by {shorten(self._others)}'
        else:
            status.values['tf'] = 'published' if self._active else 'off'

    @property
    def _active(self) -> bool:
        return self._wanted and self._others == []

    def _switch(self, announce: bool) -> None:
        if self._channel is not None:
            self._channel.enabled = self._active
        if self._static is not None and self._active and announce:
            self._publishers.get(TFMessage, '/tf_static', qos.LATCHED).publish(self._static)
