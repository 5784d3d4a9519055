"""Frames on /tf and /tf_static, unless robot_state_publisher sends them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.fused import Formula
from screw_dynamics_ros.nodes.model import Model
from screw_dynamics_ros.nodes.part import Channel
from screw_dynamics_ros.ros import messages, qos
from screw_dynamics_ros.ros.conversions import pose
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.publishers import Publishers
from screw_dynamics_ros.ros.timers import every

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

RIVAL = 'robot_state_publisher'
FREE = ('floating', 'planar')  # joint states cannot say where they are


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
        self._rival: bool | None = None  # unknown before the first look
        every(node, 1.0, self.look)

    def outputs(self, robot: Robot) -> list[Formula]:
        """Return the transforms of all joints that move, each by itself."""
        if TFMessage is None or not self._wanted:
            return []
        types = {joint.name: joint.type for joint in robot.description.joints}
        return [Formula(f'row {i}', ('joint_transforms',), itemgetter(i))
                for i, name in enumerate(robot.transform_joints) if types[name] not in FREE]

    def bind(self, model: Model, outputs: Sequence[Formula]) -> list[Channel]:
        """Take over a new model, with the outputs there are for it, and return its topics."""
        self._channel, self._static = None, None
        if TFMessage is None:
            return []
        joints = model.robot.description.joints
        moving = [joint for joint in joints if joint.type not in (*FREE, 'fixed')]
        if outputs and model.results:
            template = messages.transforms([
                (self._prefix + joint.parent, self._prefix + joint.child) for joint in moving])
            self._channel = Channel(
                self._publishers.get(TFMessage, '/tf'), template,
                {output: template.array(7 * i, 7) for i, output in enumerate(outputs)})
        fixed = [joint for joint in joints if joint.type == 'fixed']
        if fixed:
            frames = [(self._prefix + joint.parent, self._prefix + joint.child) for joint in fixed]
            self._static = messages.transforms(frames).fill(
                np.array([pose(joint.origin) for joint in fixed]),
                self._node.get_clock().now().nanoseconds)
            self._publishers.get(TFMessage, '/tf_static', qos.LATCHED)
        self._publishers.retire()
        self._switch(announce=True)
        return [self._channel] if self._channel else []

    def want(self, wanted: bool) -> None:
        """Publish, or do not."""
        self._wanted, announce = wanted, wanted and not self._wanted
        self._switch(announce)

    def look(self) -> None:
        """See whether a robot_state_publisher runs in the same namespace."""
        rival = any(
            info.node_name == RIVAL and info.node_namespace == self._node.get_namespace()
            for info in self._node.get_publishers_info_by_topic('/tf_static'))
        announce = self._rival is None or (self._rival and not rival)
        self._rival = rival
        self._switch(announce)

    def report(self, status: Status) -> None:
        """Say who publishes the frames."""
        if TFMessage is None:
            status.report(Level.WARN, 'no /tf: the package tf2_msgs is not installed; install it, '
                          'or build the stand-in in tools/tf2_msgs')
        elif self._rival and self._wanted:
            status.values['tf'] = f'left to {RIVAL}'
        else:
            status.values['tf'] = 'published' if self._active else 'off'

    @property
    def _active(self) -> bool:
        return self._wanted and self._rival is False

    def _switch(self, announce: bool) -> None:
        if self._channel is not None:
            self._channel.enabled = self._active
        if self._static is not None and self._active and announce:
            self._publishers.get(TFMessage, '/tf_static', qos.LATCHED).publish(self._static)
