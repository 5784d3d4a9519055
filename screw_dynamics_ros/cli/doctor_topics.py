"""What `doctor` hears of a running robot: description, joint states, senders of transforms."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.cli.doctor_efforts import efforts_section
from screw_dynamics_ros.cli.section import Section
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.model.description import Finding
from screw_dynamics_ros.nodes.model import coordinates, joint_state_mapper, neutral, scalar_joints
from screw_dynamics_ros.ros import qos
from screw_dynamics_ros.ros.serialized import from_message

Array = NDArray[np.float64]

EVERY_STATE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
HARMLESS = 0.01  # of the messages, that may be odd without a word

# What a middleware calls the node of an endpoint while it does not know it, and if there is none.
UNDISCOVERED, NO_NODE = '_NODE_NAME_UNKNOWN_', '_CREATED_BY_BARE_DDS_APP_'
READABLE = {UNDISCOVERED: 'a node that has not told its name', NO_NODE: 'a program without ROS'}


class Listener:
    """Takes the joint states of a robot while it lives.

    Attributes
    ----------
    mapper : JointStateMapper
        Has a record of all it objects to.
    arrivals : list of float
        When messages came [s].
    states : list of (q, v, tau)
        Those with efforts, in the order of `mapper.joints`.
    """

    def __init__(self, node: Node, robot: Robot) -> None:
        self.mapper = joint_state_mapper(robot)
        self.arrivals: list[float] = []
        self.states: list[tuple[Array, ...]] = []
        self._node = node
        self._subscription = node.create_subscription(
            JointState, 'joint_states', self._take, EVERY_STATE)

    def _take(self, message: JointState) -> None:
        self.arrivals.append(time.monotonic())
        if self.mapper.update(from_message(message)) and self.mapper.has_effort:
            self.states.append(tuple(self.mapper.state.copy()))

    def listen(self, seconds: float, patience: float) -> None:
        """Listen for some seconds from the first message on, which comes within `patience` s."""
        spin(self._node, patience, self.arrivals)
        if self.arrivals:
            spin(self._node, seconds)

    def senders(self, patience: float) -> list[str]:
        """Return the names of the nodes that send joint states, see `senders`."""
        return senders(self._node, self._subscription.topic_name, patience)


def heard_description(node: Node, patience: float) -> str | None:
    """Return the text on the topic robot_description, None if there is none within `patience` s."""
    texts: list[String] = []
    subscription = node.create_subscription(
        String, 'robot_description', texts.append, qos.LATCHED)
    spin(node, patience, texts)
    node.destroy_subscription(subscription)
    return texts[0].data if texts else None


def spin(node: Node, seconds: float, wanted: Sequence[object] = ()) -> None:
    """Handle messages for some seconds, or until there is one in `wanted`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not wanted:
        rclpy.spin_once(node, timeout_sec=0.05)


def senders(node: Node, topic: str, patience: float) -> list[str]:
    """Return the full names of the nodes that publish on a topic.

    A publisher is discovered apart from the name of its node, which may come after its messages;
    it is waited for up to `patience` s.
    """
    end = time.monotonic() + patience
    while True:
        infos = node.get_publishers_info_by_topic(topic)
        complete = all(info.node_name != UNDISCOVERED for info in infos)
        if complete or time.monotonic() > end:
            return sorted({
                READABLE.get(info.node_name,
                             f'{info.node_namespace.rstrip("/")}/{info.node_name}')
                for info in infos})
        time.sleep(0.02)


def topic_sections(
    node: Node, robot: Robot, seconds: float, patience: float,
) -> Iterator[Section]:
    """Yield what is to be said of joint states, efforts and transforms, after listening."""
    listener = Listener(node, robot)
    listener.listen(seconds, patience)
    yield joint_states_section(listener, patience)
    if listener.states:
        q, v, tau = (np.array(values) for values in zip(*listener.states))
        yield efforts_section(listener.mapper.joints, v, tau, holding_torques(robot, q))
    yield transforms_section(senders(node, '/tf', patience))


def holding_torques(robot: Robot, q: Array) -> Array:
    """Return the torques of gravity on the joints that joint states can carry, (samples, n)."""
    places, velocities = coordinates(robot, scalar_joints(robot))
    whole = np.tile(neutral(robot), (len(q), 1))
    whole[:, places] = q
    return robot.gravity_torques(whole)[:, velocities]


def joint_states_section(listener: Listener, patience: float) -> Section:
    """Return rates and regularity of joint states, and what their receiver objects to."""
    section = Section('joint states')
    mapper, messages = listener.mapper, len(listener.arrivals)
    sent_by = listed(listener.senders(patience))
    if not messages:
        section.findings.append(Finding(
            'error', 'joint_states', f'nothing came; publishers: {sent_by}',
            'start the driver, remap joint_states, or compare ROS_DOMAIN_ID'))
        return section
    section.lines.append(f'from {sent_by}')
    gaps = np.diff(listener.arrivals)
    if len(gaps):
        section.lines.append(
            f'{1.0 / gaps.mean():.1f} Hz, longest gap {gaps.max() * 1e3:.1f} ms')
    section.lines.append(
        f'{mapper.accepted} states of {len(mapper.joints)} joints out of {messages} messages')
    if not mapper.accepted:
        section.findings.append(Finding('error', 'joint_states', 'give no complete state'))
    section.findings += [
        Finding('warning', 'joint_states',
                f'{reason.value}: {record.detail} ({record.count} of {messages} messages)')
        for reason, record in mapper.records.items() if record.count > HARMLESS * messages]
    return section


def transforms_section(sent_by: list[str]) -> Section:
    """Return who sends transforms; two senders of one robot's frames make them jump."""
    section = Section('transforms', [f'/tf comes from {listed(sent_by)}'])
    publishers = [name for name in sent_by if name.endswith('robot_state_publisher')]
    ours = [name for name in sent_by if name.endswith(('/bringup', '/kinematics'))]
    if publishers and ours:
        section.findings.append(Finding(
            'info', '/tf', f'both {listed(publishers)} and {listed(ours)} can send it',
            'ours is silent while the other one runs'))
    return section


def listed(names: list[str]) -> str:
    """Return names for people."""
    return ', '.join(names) or 'nobody'
