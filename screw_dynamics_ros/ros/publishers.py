"""Publishers that outlive a change of the robot description, so that listeners stay connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from screw_dynamics_ros.ros import qos


def raw_publish(publisher: Any) -> Callable[[bytes], None]:
    """Return the function that sends serialized messages, without the checks of `publish`."""
    return getattr(publisher.handle, 'publish_raw', publisher.publish)


class Publishers:
    """The publishers of one node, by topic."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publishers: dict[str, Any] = {}
        self._used: set[str] = set()

    def get(self, kind: type, topic: str, profile: QoSProfile = qos.OUTPUT) -> Any:
        """Return the publisher of a topic, made now if there is none."""
        self._used.add(topic)
        if topic not in self._publishers:
            self._publishers[topic] = self._node.create_publisher(kind, topic, profile)
        return self._publishers[topic]

    def retire(self) -> None:
        """Destroy the publishers that nobody asked for since the last call."""
        for topic in set(self._publishers) - self._used:
            self._node.destroy_publisher(self._publishers.pop(topic))
        self._used.clear()
