"""Other nodes that publish the frames of the same robot, such as robot_state_publisher."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from screw_dynamics_ros.ros.names import NO_NODE, NO_NODE_IN_WORDS, UNDISCOVERED
from screw_dynamics_ros.ros.process.faults import FAULTS

STATE_PUBLISHER = 'robot_state_publisher'
MOST_MESSAGES = 100  # of others, kept from /tf_static


class OtherTransforms:
    """Tells who else publishes the frames of a robot.

    A robot_state_publisher in the same namespace is known by its name; any other node, whatever its
    name and namespace, by frames of the robot on /tf_static while it publishes /tf as well.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        tf2_msgs/TFMessage.
    """

    def __init__(self, node: Node, kind: type) -> None:
        self._node = node
        self._frames: frozenset[str] = frozenset()
        self._seen: deque[frozenset[str]] = deque(maxlen=MOST_MESSAGES)
        self._own_stamps: set[int] = set()
        node.create_subscription(
            kind,
            '/tf_static',
            FAULTS.guarded('a message on /tf_static', self.receive_static),
            QoSProfile(depth=MOST_MESSAGES, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        )

    def watch(self, frames: Iterable[str], stamp: int) -> None:
        """Look for these child frames; messages with the stamp are those of this node [ns]."""
        self._frames = frozenset(frames)
        self._own_stamps.add(stamp)

    def receive_static(self, message: Any) -> None:
        """Note whose frames a message on /tf_static has."""
        if not message.transforms:
            return
        stamp = message.transforms[0].header.stamp
        if stamp.sec * 1_000_000_000 + stamp.nanosec not in self._own_stamps:
            self._seen.append(frozenset(each.child_frame_id for each in message.transforms))

    def found(self) -> list[str]:
        """Return the names of the nodes that publish the frames, none if this one is alone."""
        static = self._publishers('/tf_static')
        others = static & self._publishers('/tf')
        others.discard((self._node.get_namespace(), self._node.get_name()))
        if not others:
            self._seen.clear()
        if any(frames & self._frames for frames in self._seen):
            return sorted(filter(None, map(self._goes_first, others)))  # '' is not here yet
        known = self._node.get_namespace(), STATE_PUBLISHER
        return [full_name(*known)] if known in static else []

    def _publishers(self, topic: str) -> set[tuple[str, str]]:
        return {
            (info.node_namespace, info.node_name)
            for info in self._node.get_publishers_info_by_topic(topic)
        }

    def _goes_first(self, other: tuple[str, str]) -> str:
        """Return the full name of another node, '' if it leaves the frames to this one.

        Of two nodes of this package the one whose name comes first publishes. One that has not told
        its name yet is asked about again at the next look.
        """
        space, name = other
        if name in (UNDISCOVERED, NO_NODE):
            return '' if name == UNDISCOVERED else NO_NODE_IN_WORDS
        try:
            topics = self._node.get_publisher_names_and_types_by_node(name, space)
        except RuntimeError:  # rclpy has no public name for it: the node has gone meanwhile
            return ''
        is_ours = any(topic == f'{full_name(space, name)}/markers' for topic, _ in topics)
        gives_way = is_ours and full_name(space, name) > self._node.get_fully_qualified_name()
        return '' if gives_way else full_name(space, name)


def full_name(space: str, name: str) -> str:
    """Return the name of a node with its namespace."""
    return f'{space.rstrip("/")}/{name}'
