# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes the parameter robot_description on a topic, unless another node does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from screw_dynamics_ros.nodes.hosting.robot_source import RobotSource
from screw_dynamics_ros.ros.description import PARAMETER
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.process.timers import every
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.other_transforms import full_name
from screw_dynamics_ros.ros.topics.publishers import Publishers

TOPIC = 'robot_description'


class DescriptionTopic:
    """Publishes the active description as robot_state_publisher does, other formats as URDF.

    The middleware keeps a published description for later subscribers. Therefore, after the first
    publication, every active description is published, from any source.

    Parameters
    ----------
    node : rclpy.node.Node
        Node of the topic.
    source : RobotSource
        Provides the active description; it also receives the messages published here.
    choice : callable
        Returns the parameter `publish_description`.
    """

    def __init__(self, node: Node, source: RobotSource[Any], choice: Callable[[], str]) -> None:
        self._node, self._source, self._choice = node, source, choice
        self._publishers = Publishers(node)
        self._published: str | None = None
        self._others: list[str] | None = None  # unknown before the first check
        every(node, 1.0, self.look)

    def look(self) -> None:
        """Check whether another node publishes a description."""
        own = self._node.get_namespace(), self._node.get_name()
        topic = self._node.resolve_topic_name(TOPIC)
        found = {
            (info.node_namespace, info.node_name)
            for info in self._node.get_publishers_info_by_topic(topic)
        }
        self._others = sorted(full_name(*each) for each in found - {own})
        self.update()

    def update(self) -> None:
        """Publish the active description if configured and not yet published."""
        descriptions, choice = self._source.descriptions, self._choice()
        description, urdf = descriptions.active, descriptions.urdf
        if description is None or urdf == self._published or choice == 'never':
            return
        is_others = choice == 'auto' and self._others != []
        if self._published is None and (description.origin != PARAMETER or is_others):
            return
        self._published = self._source.own_text = urdf
        publisher = self._publishers.get(String, TOPIC, qos.LATCHED)
        publisher.publish(String(data=urdf))

    def report(self, status: Status) -> None:
        """Report the publishers of the description."""
        publishers = ['this node'] if self._published is not None else []
        publishers += [shorten(self._others)] if self._others else []
        status.values['robot_description'] = (
            f'published by {" and ".join(publishers)}' if publishers else 'not published'
        )
