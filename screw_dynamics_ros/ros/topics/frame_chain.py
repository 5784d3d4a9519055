# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of frames on /tf and /tf_static, along the chain of parents of one frame."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message

from screw_dynamics_ros.core.errors import MissingStateError
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from ..names import shown
from ..process.faults import FAULTS
from ..process.state_lock import STATE_LOCK

MAX_CHAIN_LENGTH = 100  # frames
MAX_FRAMES = 10_000
QUEUE_DEPTH = 100
NORM_TOLERANCE = 1e-2  # deviation of the norm of a quaternion that is attributed to rounding


class ParentTransform(NamedTuple):
    """The last transform of a child frame.

    Attributes
    ----------
    parent : str
    orientation : (4,) array
        Quaternion (x, y, z, w).
    translation : (3,) array
        [m].
    arrival : float
        On the monotonic clock [s], infinite if static.
    stamp : int
        [ns].
    """

    parent: str
    orientation: Array
    translation: Array
    arrival: float
    stamp: int


class FrameChain:
    """Follows the transforms whose child is a frame or one of its parents.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        tf2_msgs/TFMessage.
    frame : str
        Start of the chain; can be changed.
    on_change : callable
        Called after each message with transforms of the chain; it holds the lock of states.
    """

    def __init__(self, node: Node, kind: type, frame: str, on_change: Callable[[], None]) -> None:
        self.frame = frame
        self._kind = kind
        self._on_change = STATE_LOCK.exclusive(on_change)
        self._links: dict[str, ParentTransform] = {}  # by child
        self._faults: dict[str, str] = {}  # of the last transform, by child
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
        """Store parents and poses; of an invalid pose, only its fault."""
        now = math.inf if is_static else time.monotonic()
        wanted = None if is_static else set(self._wanted())
        for each in message.transforms:
            child = each.child_frame_id.lstrip('/')
            r, p = each.transform.rotation, each.transform.translation
            if wanted is not None and child not in wanted:
                continue
            q = np.array([r.x, r.y, r.z, r.w])
            translation = np.array([p.x, p.y, p.z])
            if len(self._links.keys() | self._faults.keys()) >= MAX_FRAMES:
                continue
            parent, stamp = each.header.frame_id.lstrip('/'), each.header.stamp
            fault = fault_of(q, translation)
            if fault:
                name = f'{shown(child)!r} in {shown(parent)!r}'
                self._faults[child] = f'the transform of {name} is invalid: {fault}'
                continue
            self._faults.pop(child, None)
            self._links[child] = ParentTransform(
                parent, q, translation, now, stamp.sec * NANOSECONDS + stamp.nanosec
            )
        self._on_change()

    def _wanted(self) -> list[str]:
        """Return the frame and its known ancestors."""
        names = [self.frame]
        while names[-1] in self._links and len(names) < MAX_CHAIN_LENGTH:
            names.append(self._links[names[-1]].parent)
        return names

    def rotation(self, world: str) -> tuple[Array, float]:
        """Return the rotation matrix of the frame in `world`, and the arrival of its oldest link.

        The arrival is on the monotonic clock [s], infinite if all links are static. Raises
        `MissingStateError` if `world` is not an ancestor of the frame, or the last transform of a
        frame between them is invalid.
        """
        R, oldest = np.eye(3), math.inf
        for link in self._path(world):
            R = quaternions.to_matrix(link.orientation) @ R
            oldest = min(oldest, link.arrival)
        return R, oldest

    def pose(self, world: str) -> tuple[Array, int | None]:
        """Return the pose (4, 4) of the frame in `world`, and the newest stamp of a link [ns].

        The stamp is None if all links are static. Raises as `rotation`.
        """
        C, stamps = np.eye(4), []
        for link in self._path(world):
            C = se3.pose(quaternions.to_matrix(link.orientation), link.translation) @ C
            if link.arrival < math.inf:
                stamps.append(link.stamp)
        return C, max(stamps) if stamps else None

    def _path(self, world: str) -> list[ParentTransform]:
        """Return the links from the frame to `world`; raises `MissingStateError`."""
        path: list[ParentTransform] = []
        name = self.frame
        while name != world and len(path) < MAX_CHAIN_LENGTH:
            if name in self._faults:
                raise MissingStateError(self._faults[name])
            if name not in self._links:
                break
            path.append(self._links[name])
            name = path[-1].parent
        if name == world and len(path) < MAX_CHAIN_LENGTH:
            return path
        raise MissingStateError(
            f'/tf does not connect {self.frame!r} to a frame {world!r} above it: the chain ends at '
            f'{name!r}'
        )


def fault_of(orientation: Array, position: Array) -> str:
    """Return the fault of a pose; empty without one."""
    if not (np.isfinite(orientation).all() and np.isfinite(position).all()):
        return (
            f'a number is not finite: orientation ({listed(orientation)}), '
            f'position ({listed(position)})'
        )
    if abs(np.linalg.norm(orientation) - 1.0) > NORM_TOLERANCE:
        return f'the orientation is not a unit quaternion: ({listed(orientation)})'
    return ''


def listed(values: Array) -> str:
    """Return numbers as text, zero without its sign."""
    return ', '.join(f'{value + 0.0:g}' for value in values)
