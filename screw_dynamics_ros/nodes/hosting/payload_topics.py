# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics with the payload of each link: `~/payload_inertia/<link>`."""

from __future__ import annotations

from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from screw_dynamics_ros.core.motion.control.payload_transitions import NO_PAYLOAD
from screw_dynamics_ros.ros.messages.conversions import write_inertia
from screw_dynamics_ros.ros.names import topic_tokens
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..model.payloads import Payloads


class PayloadTopics:
    """One latched topic for each link that has or had a payload, with the total inertia.

    Parameters
    ----------
    node : rclpy.node.Node
    payloads : Payloads
    prefix : str
        Prefix of frame names.
    """

    def __init__(self, node: Node, payloads: Payloads, prefix: str) -> None:
        self._node, self._payloads, self._prefix = node, payloads, prefix
        self._publishers = Publishers(node)
        self._links: dict[str, None] = {}  # in order of creation of their topics
        self._published: tuple[int, bool] | None = None

    def publish(self) -> None:
        """Publish changes since the last call, including transitions."""
        state = self._payloads.changes, self._payloads.is_settled
        if state == self._published and state[1]:
            return
        self._published = state
        bodies = self._payloads.active_bodies()
        self._links.update(dict.fromkeys(bodies))
        tokens = topic_tokens(self._links)
        for link, token in tokens.items():
            message = InertiaStamped()
            message.header.stamp = self._node.get_clock().now().to_msg()
            message.header.frame_id = self._prefix + link
            write_inertia(message.inertia, bodies.get(link, NO_PAYLOAD))
            self._publishers.get(
                InertiaStamped, f'~/payload_inertia/{token}', qos.LATCHED, qos.COMMAND_OVERRIDES
            ).publish(message)
