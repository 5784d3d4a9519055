# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states of a node from messages on joint_states."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.nodes.hosting.load import Load
from screw_dynamics_ros.nodes.hosting.stamp_clock import StampClock
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.driver_comparison import DriverComparison
from screw_dynamics_ros.ros.joint_states.layouts import Layout
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason
from screw_dynamics_ros.ros.joint_states.reader import JointStateReader
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.subscriptions import subscribe
from screw_dynamics_ros.ros.topics.transport import SequenceGaps, TransportDelay

TOPIC = 'joint_states'


class StateInput:
    """Reads, merges and counts the joint states of a node.

    Parameters
    ----------
    node : rclpy.node.Node
    mapper : JointStateMapper, optional
        May be set later; without a mapper, messages are only counted.

    Attributes
    ----------
    mapper : JointStateMapper or None
        The state of the joints.
    load : Load
        Counts and times for diagnostics.
    delay : TransportDelay
    gaps : SequenceGaps
    has_one_driver : bool
        Whether lost messages can be counted.
    drivers : str
        The publishers, if there are several, which are compared; otherwise empty.
    """

    def __init__(self, node: Node, mapper: JointStateMapper | None = None) -> None:
        self._node, self.mapper, self.load = node, mapper, Load()
        self.policies = Policies()
        self._reader, self.delay, self.gaps = JointStateReader(), TransportDelay(), SequenceGaps()
        self.has_one_driver, self.drivers = False, ''
        self._comparison = DriverComparison()

    @property
    def layout(self) -> Layout | None:
        """The layout of the latest joint states, None if they had no known one."""
        return self._reader.layouts[0] if self._reader.layouts else None

    @property
    def policies(self) -> Policies:
        """Policies for incomplete, invalid or late joint states."""
        return self._policies

    @policies.setter
    def policies(self, policies: Policies) -> None:
        self._policies = policies
        if self.mapper is not None:
            self.mapper.policies = policies

    def subscribe(self, receive: Callable[[bytes, dict[str, Any]], None]) -> Subscription:
        """Subscribe; each serialized message calls ``receive(data, info)``."""
        return subscribe(
            self._node,
            JointState,
            TOPIC,
            receive,
            qos.JOINT_STATES,
            raw=True,
            qos_overriding_options=qos.OVERRIDABLE,
        )

    def subscribe_to_states(self, use: Callable[[JointStateMapper], None]) -> None:
        """Subscribe; each state that is not late calls ``use(mapper)``."""

        def receive(data: bytes, info: dict[str, Any]) -> None:
            arrival = time.monotonic()
            try:
                delay = self.take(data, info, arrival)
                if delay is None or self.mapper is None:
                    return
                if self.policies.is_late(delay):
                    self.load.was_late(arrival, delay)
                    return
                use(self.mapper)
            except Exception as error:
                self.give_up(error)

        self.subscribe(receive)

    def keep_house(self) -> None:
        """Look for drivers, and compare the velocities that have arrived with the positions."""
        self.look_for_drivers()
        self.compare_velocities()

    def compare_velocities(self) -> None:
        """Judge a block of states, if one is complete."""
        mapper = self.mapper
        if mapper is None:
            return
        with STATE_LOCK:
            block = mapper.velocity_check.take()
        if block is not None:
            mapper.velocity_check.compare(*block)
        with STATE_LOCK:
            mapper.distrust_velocities()

    def look_for_drivers(self) -> None:
        """Determine whether there is only one driver, so that lost messages can be counted."""
        topic = self._node.resolve_topic_name(TOPIC)
        count = self._node.count_publishers(topic)
        self.has_one_driver = count == 1
        self.drivers = shorten(statuses.publishers(self._node, topic)) if count > 1 else ''
        if not self.drivers:
            self._comparison = DriverComparison()

    def take(
        self,
        data: bytes,
        info: dict[str, Any],
        arrival: float,
        use_refused: Callable[[JointStateMapper, JointStateMessage], None] | None = None,
    ) -> float | None:
        """Merge a serialized message; return its delay [s] if a state results, else None.

        Parameters
        ----------
        data : bytes
        info : dict
            Information from `subscribe`.
        arrival : float
            Arrival time on the monotonic clock [s].
        use_refused : callable, optional
            Called with mapper and message if the message is refused but not late.
        """
        policies, mapper, load = self._policies, self.mapper, self.load
        delay = self.delay.of(
            info.get('source_timestamp', 0), time.time_ns(), policies.longest_delay
        )
        load.arrived(arrival)
        load.lost += self.gaps.before(info.get('publication_sequence_number'), self.has_one_driver)
        if mapper is None or not mapper.joints:
            return None
        try:
            message = self._reader.read(data)
        except Exception as error:  # rclpy has no specific exception
            load.unreadable(arrival, error)
            return None
        if self.drivers:
            fault = self._comparison.fault(message, mapper.measured_joints)
            if fault and policies.conflict == 'refuse':
                message = JointStateMessage.refused(
                    Reason.DISPUTED,
                    f'{fault}, of {self.drivers}; end one, remap its topic, or set conflict_policy',
                )
        with STATE_LOCK:  # services read the state in another thread
            if mapper.update(message, arrival):
                return delay
        if use_refused is not None and mapper.refused is not None and not policies.is_late(delay):
            use_refused(mapper, message)
        return None

    def restart_time(self, step: int) -> None:
        """Discard the state because simulated time went back by a step [ns]."""
        with STATE_LOCK:
            if self.mapper is not None:
                self.mapper.restart_time(step)

    def give_up(self, error: Exception) -> None:
        """Discard a state that may have been stored only partially."""
        FAULTS.record('a joint state', error)
        if self.mapper is not None:
            self.mapper.reset()

    def report(self, status: Status, needs: Collection[str]) -> None:
        """Report rates, and refused, late and substituted data.

        `needs` are the fields, 'velocity' and 'effort', that outputs require.
        """
        now = time.monotonic()
        status.values.update(self.load.take(now))
        statuses.report_messages(status, self.load, now)
        if self.mapper is not None:
            statuses.report_records(status, self.mapper, needs, now, only_needs=True)


def state_input(
    node: Node, joints: Collection[str], policies: Policies, continuous: Collection[str] = ()
) -> StateInput:
    """Return the joint states of some joints; the topic may contain others.

    Positions of `continuous` joints are equal modulo 2 pi.
    """
    made = StateInput(node)
    clock = StampClock(node, made.restart_time)
    made.mapper = JointStateMapper(
        tuple(joints), continuous=continuous, known=None, clock=clock.now
    )
    made.policies = policies
    return made
