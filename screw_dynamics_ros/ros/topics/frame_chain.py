# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations between frames on /tf and /tf_static, along the chain of parents of one frame."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message

from screw_dynamics_ros.core.errors import MissingStateError
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.process.faults import FAULTS

MAX_CHAIN_LENGTH = 100  # frames
MAX_FRAMES = 10_000
QUEUE_DEPTH = 100


class FrameChain:
    """Follows the transforms whose child is a frame or one of its parents.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        tf2_msgs/TFMessage.
    frame : str
        Start of the chain; can be changed.
    """

    def __init__(self, node: Node, kind: type, frame: str) -> None:
        self.frame = frame
        self._kind = kind
        #: By child: parent, quaternion (x, y, z, w), arrival [s, monotonic; infinite if static].
        self._links: dict[str, tuple[str, Array, float]] = {}
        for topic, durability in (
            ('/tf', DurabilityPolicy.VOLATILE),
            ('/tf_static', DurabilityPolicy.TRANSIENT_LOCAL),
        ):
            is_static = topic == '/tf_static'
            node.create_subscription(
                kind,
                topic,
                FAULTS.guarded(
                    f'a message on {topic}',
                    lambda data, static=is_static: self.receive_bytes(data, static),
                ),
                QoSProfile(depth=QUEUE_DEPTH, durability=durability),
                raw=True,
            )

    def receive_bytes(self, data: bytes, is_static: bool) -> None:
        """Read a serialized message if it contains the frame, or a known parent."""
        if is_static or any(name.encode() in data for name in self._wanted()):
            self.receive(deserialize_message(data, self._kind), is_static)

    def receive(self, message: Any, is_static: bool) -> None:
        """Store parents and rotations; ignore invalid rotations."""
        now = math.inf if is_static else time.monotonic()
        wanted = None if is_static else set(self._wanted())
        for each in message.transforms:
            child, r = each.child_frame_id.lstrip('/'), each.transform.rotation
            if wanted is not None and child not in wanted:
                continue
            q = np.array([r.x, r.y, r.z, r.w])
            if abs(np.linalg.norm(q) - 1.0) <= 1e-2 and len(self._links) < MAX_FRAMES:
                self._links[child] = each.header.frame_id.lstrip('/'), q, now

    def _wanted(self) -> list[str]:
        """Return the frame and its known ancestors."""
        names = [self.frame]
        while names[-1] in self._links and len(names) < MAX_CHAIN_LENGTH:
            names.append(self._links[names[-1]][0])
        return names

    def rotation(self, world: str) -> tuple[Array, float]:
        """Return the rotation matrix of the frame in `world`, and the age of the oldest link [s].

        Raises `MissingStateError` if `world` is not an ancestor of the frame.
        """
        R, oldest, name = np.eye(3), math.inf, self.frame
        for _ in range(MAX_CHAIN_LENGTH):
            if name == world:
                return R, max(0.0, time.monotonic() - oldest)
            if name not in self._links:
                break
            name, q, arrival = self._links[name]
            R, oldest = quaternions.to_matrix(q) @ R, min(oldest, arrival)
        raise MissingStateError(
            f'/tf does not connect {self.frame!r} to a frame {world!r} above it: the chain ends at '
            f'{name!r}'
        )
