# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other nodes that publish the frames of the same robot, such as robot_state_publisher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from screw_dynamics_ros.core.units import NANOSECONDS

from ..compatibility import SubscriptionEventCallbacks
from ..names import NO_NODE, NO_NODE_IN_WORDS, UNDISCOVERED
from ..process.faults import FAULTS

STATE_PUBLISHER = 'robot_state_publisher'
MAX_MESSAGES = 100  # stored messages of other nodes on /tf_static
JOINT_STATES = 'sensor_msgs/msg/JointState'
MAX_LOOKS = 3  # checks within which a state publisher sends its fixed joints

Name = tuple[str, str]  # namespace and name of a node


class OtherTransforms:
    """Detects other nodes that publish the frames of a robot.

    Such a node publishes on /tf, and frames of the robot on /tf_static. Two cases need other
    criteria. A robot_state_publisher in the same namespace may have just started: this node waits
    for its first messages. A robot may have no fixed joints: then other publishers are nodes that
    publish on both topics and subscribe to the same joint states.

    Messages do not name their senders. If another node has the frames, and publishers of /tf_static
    appear, disappear or send new frames, the stored messages are discarded and requested again.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        tf2_msgs/TFMessage.
    """

    def __init__(self, node: Node, kind: type) -> None:
        self._node, self._kind = node, kind
        self._frames: frozenset[str] = frozenset()
        self._has_fixed = True
        self._seen: set[frozenset[str]] = set()  # frames in messages of other nodes
        self._own_stamps: set[int] = set()
        self._looks: Counter[Name] = Counter()  # checks of a state publisher of this namespace
        self._senders: set[bytes] | None = None  # publishers of /tf_static at the last check
        self._found: list[str] = []
        self._own_empty = 0  # expected messages of this node without transforms
        self._must_ask = self._has_just_asked = False
        self._subscription: Any = None
        self._ask()

    def watch(self, frames: Iterable[str], stamp: int, *, has_fixed: bool = True) -> None:
        """Set the frames of the robot.

        Parameters
        ----------
        frames : iterable of str
            Child frames of its joints.
        stamp : int
            Stamp of the messages of this node on /tf_static [ns].
        has_fixed : bool
            Whether some of its joints are fixed.
        """
        self._frames, self._has_fixed = frozenset(frames), has_fixed
        self._own_stamps.add(stamp)
        self._looks.clear()

    def expect_empty(self) -> None:
        """Treat the next message without transforms as one of this node."""
        self._own_empty += 1

    def receive_static(self, message: Any) -> None:
        """Store the frames in a message of another node on /tf_static."""
        if message.transforms:
            stamp = message.transforms[0].header.stamp
            is_own = stamp.sec * NANOSECONDS + stamp.nanosec in self._own_stamps
        else:
            is_own = self._own_empty > 0
            self._own_empty -= is_own
        if is_own:
            return
        content = frozenset(each.child_frame_id for each in message.transforms)
        self._must_ask |= not self._has_just_asked and not content & self._frames
        if len(self._seen) < MAX_MESSAGES:
            self._seen.add(content)

    def found(self) -> list[str]:
        """Return the names of other nodes that publish the frames, empty without one."""
        static, moving = self._publishers('/tf_static'), self._publishers('/tf')
        senders, before = set(static), self._senders
        self._senders = senders
        names = set(static.values())
        others = names & set(moving.values())
        if not others:
            self._seen.clear()
        has_lost_one = before is not None and not before <= senders
        must_ask = before not in (None, senders) or self._must_ask or len(self._seen) > len(senders)
        self._must_ask = self._has_just_asked = False
        if not has_lost_one:  # otherwise wait for the repeated messages
            self._found = self._among(names, others)
        if must_ask and any(frames & self._frames for frames in self._seen):
            self._ask()
        elif has_lost_one:
            self._found = self._among(names, others)
        return self._found

    def of_other_robots(self) -> list[str]:
        """Return the nodes found last that subscribe to other joint states than this one."""
        own = self._node.resolve_topic_name('joint_states')
        topics = {}
        for name in self._found:
            space, _, last = name.rpartition('/')
            topics[name] = self._joint_states_of((space or '/', last))
        return [name for name, followed in topics.items() if followed and own not in followed]

    def _among(self, names: set[Name], others: set[Name]) -> list[str]:
        """Return which of `others`, nodes that publish on both topics, have the frames."""
        if any(frames & self._frames for frames in self._seen):
            return self._those_before(others)
        state_publisher = self._node.get_namespace(), STATE_PUBLISHER
        if state_publisher in names:
            self._looks[state_publisher] += 1
            if self._looks[state_publisher] <= MAX_LOOKS:
                return [full_name(*state_publisher)]
        else:
            self._looks.clear()
        if self._has_fixed:
            return []
        return self._those_before({other for other in others if self._follows_joints(other)})

    def _those_before(self, others: Iterable[Name]) -> list[str]:
        """Return the names of the nodes to which this one leaves the frames."""
        return sorted(filter(None, map(self._goes_first, others)))

    def _ask(self) -> None:
        """Subscribe again: each publisher of /tf_static repeats its last message."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._seen.clear()
        self._has_just_asked = True
        self._subscription = self._node.create_subscription(
            self._kind,
            '/tf_static',
            FAULTS.guarded('a message on /tf_static', self.receive_static),
            QoSProfile(depth=MAX_MESSAGES, durability=DurabilityPolicy.TRANSIENT_LOCAL),
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )

    def _publishers(self, topic: str) -> dict[bytes, Name]:
        """Return the publishers of a topic in other nodes."""
        own = self._node.get_namespace(), self._node.get_name()
        return {
            bytes(info.endpoint_gid): (info.node_namespace, info.node_name)
            for info in self._node.get_publishers_info_by_topic(topic)
            if (info.node_namespace, info.node_name) != own
        }

    def _follows_joints(self, other: Name) -> bool:
        """Whether another node subscribes to the same joint states as this one."""
        return self._node.resolve_topic_name('joint_states') in self._joint_states_of(other)

    def _joint_states_of(self, other: Name) -> set[str]:
        """Return the joint-state topics to which another node subscribes."""
        space, name = other
        try:
            topics = self._node.get_subscriber_names_and_types_by_node(name, space)
        except (RuntimeError, ValueError):  # the node has ended, or is not a ROS node
            return set()
        return {topic for topic, types in topics if JOINT_STATES in types}

    def _goes_first(self, other: Name) -> str:
        """Return the full name of another node, '' if this node has precedence.

        Of two nodes of this package, the one whose name comes first in alphabetical order
        publishes. A node without a discovered name is checked again next time.
        """
        space, name = other
        if name in (UNDISCOVERED, NO_NODE):
            return '' if name == UNDISCOVERED else NO_NODE_IN_WORDS
        try:
            topics = self._node.get_publisher_names_and_types_by_node(name, space)
        except RuntimeError:  # the node has ended
            return ''
        is_ours = any(topic == f'{full_name(space, name)}/markers' for topic, _ in topics)
        gives_way = is_ours and full_name(space, name) > self._node.get_fully_qualified_name()
        return '' if gives_way else full_name(space, name)


def full_name(space: str, name: str) -> str:
    """Return the name of a node with its namespace."""
    return f'{space.rstrip("/")}/{name}'
