# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states of a node from messages on joint_states."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.driver_comparison import DriverComparison
from screw_dynamics_ros.ros.joint_states.layouts import Layout
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies, Reason
from screw_dynamics_ros.ros.joint_states.reader import MAX_BYTES, JointStateReader
from screw_dynamics_ros.ros.names import shorten
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.subscriptions import pass_publishers, subscribe
from screw_dynamics_ros.ros.topics.taken_message import ID_SIZE, publisher_names
from screw_dynamics_ros.ros.topics.transport import SequenceGaps, TransportDelay

from . import statuses
from .load import Load
from .stamp_clock import StampClock
from .velocity_check import VelocityCheck

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
        The publishers, if there are several, or another one than is followed; otherwise empty.
    followed : (2,) array of int64 or None
        The identifier of the publisher that is followed, 0 if it is unknown; None for any.
    """

    def __init__(self, node: Node, mapper: JointStateMapper | None = None) -> None:
        self._node, self.mapper, self.load = node, mapper, Load()
        self.policies = Policies()
        self._reader, self.delay, self.gaps = JointStateReader(), TransportDelay(), SequenceGaps()
        self.has_one_driver, self.drivers = False, ''
        self._names: dict[bytes, str] = {}  # of publishers, if they matter
        self.followed: NDArray[np.int64] | None = None
        self._comparison = DriverComparison()
        self._check: VelocityCheck | None = None

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
            self.mapper.distrust_velocities(self.mapper.velocity_faults)

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

        self.tell_publishers(self.subscribe(receive), receive)

    def tell_publishers(
        self, subscription: Subscription, receive: Callable[[bytes, dict[str, Any]], None]
    ) -> None:
        """Let `receive` know the publisher of each message, if one of them is followed."""
        if self._policies.followed:
            try:
                pass_publishers(self._node, subscription, receive, MAX_BYTES + 1)
            except ScrewDynamicsError as error:
                self._node.get_logger().error(f'unknown publishers of {TOPIC}: {error}')

    def keep_house(self) -> None:
        """Look for drivers, and compare the velocities that have arrived with the positions."""
        self.look_for_drivers()
        self.compare_velocities()

    def compare_velocities(self) -> None:
        """Judge a block of states, if one is complete."""
        if self.mapper is None:
            return
        if self._check is None or self._check.mapper is not self.mapper:
            self._check = VelocityCheck(self.mapper)
        self._check.update()

    def look_for_drivers(self) -> None:
        """Determine whether there is only one driver, so that lost messages can be counted."""
        topic, followed = self._node.resolve_topic_name(TOPIC), self._policies.followed
        count = self._node.count_publishers(topic)
        self.has_one_driver = count == 1
        self._names = publisher_names(self._node, topic) if count > 1 or followed else {}
        names = sorted(self._names.values())
        is_mixed = count > 1 or (followed and names != [followed])
        self.drivers = shorten(names) if is_mixed else ''
        if not self.drivers:
            self._comparison = DriverComparison()
        ids = [each for each, name in self._names.items() if name == followed]
        known = ids[0] if len(ids) == 1 else bytes(ID_SIZE)
        self.followed = np.frombuffer(known, np.int64) if followed else None

    def _checked(
        self, message: JointStateMessage, info: dict[str, Any], joints: Collection[str]
    ) -> JointStateMessage:
        """Return the message of one of several drivers, or its refusal."""
        conflict, followed = self._policies.conflict, self._policies.followed
        if followed:
            if 'publisher' not in info:
                return JointStateMessage.refused(
                    Reason.NOT_FOLLOWED,
                    f'this process does not know publishers, {self.drivers}: restart it with '
                    f'conflict_policy {followed}',
                )
            name = self._names.get(info['publisher'], 'an unknown publisher')
            if name != followed:
                return JointStateMessage.refused(
                    Reason.NOT_FOLLOWED, f'{name}; conflict_policy is to follow {followed}'
                )
            return message
        fault = self._comparison.fault(message, joints)
        if fault and conflict == 'refuse':
            return JointStateMessage.refused(
                Reason.DISPUTED,
                f'{fault}, of {self.drivers}; end one, remap its topic, or set conflict_policy to '
                'the one to follow',
            )
        return message

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
        if self.drivers or policies.followed:
            message = self._checked(message, info, mapper.measured_joints)
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
