# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers that persist when the robot description changes: subscribers stay connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from . import qos


def raw_publish(publisher: Any) -> Callable[[bytes], None]:
    """Return the function that sends serialized messages, without the checks of `publish`."""
    return getattr(publisher.handle, 'publish_raw', publisher.publish)


class Publishers:
    """The publishers of one node, by topic.

    Publishers of unused topics are kept: executors access publishers at any time (for events such
    as incompatible QoS), and rclpy ends the process if one has been destroyed.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publishers: dict[str, Any] = {}

    def get(
        self,
        kind: type,
        topic: str,
        profile: QoSProfile = qos.OUTPUT,
        overrides: QoSOverridingOptions = qos.OVERRIDABLE,
    ) -> Any:
        """Return the publisher of a topic, created on first use.

        Parameters `qos_overrides.<topic>.publisher...` override the profile.
        """
        if topic not in self._publishers:
            self._publishers[topic] = self._node.create_publisher(
                kind, topic, profile, qos_overriding_options=overrides
            )
        return self._publishers[topic]
