# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts that end a motion: a flag, or a force beyond a threshold."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool

from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.timers import every

WATCH_PERIOD_S = 0.01
IGNORE, HOLD, RETREAT, COMPLIANT = REACTIONS = ('none', 'hold', 'retreat', 'compliant')

#: Matches publishers of any quality of service; a contact that lasts comes again.
SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class ContactWatch:
    """Subscriptions of `contact_topic` and `guard_topic`.

    A contact is the moment at which the flag is raised, or the force exceeds `guard_force`. A force
    that is not finite is one, too.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
    is_moving : callable
        Whether a motion is being executed.
    react : callable
        ``react(reason, is_lost)`` is called for a contact, and if messages stay away.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        is_moving: Callable[[], bool],
        react: Callable[[str, bool], None],
    ) -> None:
        self._parameters, self._is_moving, self._react = parameters, is_moving, react
        self._heard = dict.fromkeys(('contact_topic', 'guard_topic'), -np.inf)
        self._touches = dict.fromkeys(self._heard, False)
        for name, kind, read in (
            ('contact_topic', Bool, self._flag),
            ('guard_topic', WrenchStamped, self._force),
        ):
            if topic := parameters[name]:
                receive = FAULTS.guarded(f'a message on {topic}', partial(self._on, name, read))
                node.create_subscription(kind, topic, receive, SENSOR)
        every(node, WATCH_PERIOD_S, self._watch)

    @property
    def _watched(self) -> list[str]:
        """Parameters with the topics that matter now."""
        values = self._parameters
        if values['contact_reaction'] == IGNORE:
            return []
        return [
            name
            for name in self._heard
            if values[name] and (name == 'contact_topic' or values['guard_force'] > 0.0)
        ]

    @property
    def fault(self) -> str:
        """The topic that is silent; empty if none is."""
        timeout, now = self._parameters['contact_timeout'], time.monotonic()
        for name in self._watched:
            if now - self._heard[name] > timeout:
                topic = self._parameters[name]
                return (
                    f'no message on {topic} ({name}) for {timeout:g} s; is its publisher running?'
                )
        return ''

    def _flag(self, message: Any) -> str:
        return f'contact: {self._parameters["contact_topic"]} is raised' if message.data else ''

    def _force(self, message: Any) -> str:
        force = message.wrench.force
        size = float(np.linalg.norm([force.x, force.y, force.z]))
        topic, limit = self._parameters['guard_topic'], self._parameters['guard_force']
        return '' if size < limit else f'contact: {size:.3g} N on {topic}, guard_force {limit:g} N'

    def _on(self, name: str, read: Callable[[Any], str], message: Any) -> None:
        """React when a contact begins."""
        self._heard[name] = time.monotonic()
        reason = read(message)
        begins = bool(reason) and not self._touches[name]
        self._touches[name] = bool(reason)
        if begins and name in self._watched:
            self._react(reason, False)

    def _watch(self) -> None:
        """Stop a motion that is no longer watched."""
        if self._watched and self._is_moving() and (fault := self.fault):
            self._react(fault, True)
