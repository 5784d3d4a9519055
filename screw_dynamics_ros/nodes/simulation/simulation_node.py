# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Base of all simulators: ticks, clock, pauses and single steps."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.services import Services
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.publishers import Publishers

from ..hosting import statuses
from .parameters import WALL
from .simulation_time import RunState, SimulationTime, TickSchedule, TimeControl

MAX_LAG = 0.25  # s; a simulation with a larger lag skips time
MAX_CATCHING_UP = 0.02  # s; then other callbacks run
HOUSEKEEPING_PERIOD_S = 0.1  # between checks for subscribers


class SimulationNode:
    """A node that simulates in ticks of several integration steps; subclasses define a tick.

    Parameters
    ----------
    node : rclpy.node.Node
    parameters : Parameters
        With `rate`, `step`, `clock`, `real_time_factor`, `paused` and `steps_per_request`.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._node, self.parameters = node, parameters
        rate = parameters['rate']
        self._steps = int(np.ceil(round(1.0 / (rate * parameters['step']), 9)))
        self._dt = 1.0 / (rate * self._steps)

    def _begin(self) -> None:
        """Start time, at the system clock or at zero."""

        def now() -> int:
            return stamp_of_clock(self._node.get_clock().now().nanoseconds)

        origin = now() if self.parameters['clock'] == WALL else None
        self._time = SimulationTime(self.parameters['rate'], origin)
        self._pace = TickSchedule(self._period(), MAX_LAG)
        self._state = RunState(self.parameters['paused'])
        self._control = TimeControl(self._state, self._time, self._pace, now)
        self._clock = (
            Channel(Publishers(self._node).get(Clock, '/clock'), templates.clock())
            if self._time.is_simulated
            else None
        )

    def _period(self) -> float:
        """Return the real time between two ticks [s], 0 for as fast as possible."""
        factor = self.parameters['real_time_factor'] if self.parameters['clock'] != WALL else 1.0
        return 1.0 / (self.parameters['rate'] * factor) if factor else 0.0

    def _serve(self) -> None:
        """Offer the services of all simulators."""
        self._services = Services(self._node)
        serve = self._services.serve
        serve('SetBool', '~/pause', lambda request, _: self._control.pause(request.data))
        serve('Trigger', '~/step', lambda *_: self._step())
        serve('Trigger', '~/reset', lambda *_: self._reset())

    def _step(self) -> str:
        self._state.check_step()
        self._publish_last()
        for _ in range(self.parameters['steps_per_request']):
            self._move()
            self._state.check_step()
            self._publish()
        return f'at {self._control.seconds} s'

    def _publish_description(self, text: str) -> None:
        self._descriptions = self._node.create_publisher(String, 'robot_description', qos.LATCHED)
        self._descriptions.publish(String(data=text))

    def _publish_clock(self) -> None:
        """Publish the current time, if it is simulated."""
        if self._clock is not None:
            self._clock.put(np.zeros(0), self._time.stamp)

    def _report_clock(self, status: Status) -> None:
        """Report a node clock that does not run, from which system time begins."""
        if not self._time.is_simulated:
            statuses.report_clock(status, self._node)

    # --- implemented by subclasses ----------------------------------------------------------------

    def _publish_last(self) -> None:
        """Publish the current state before single steps, unless it is already published."""

    def _publish(self) -> None:
        """Publish time and state."""
        raise NotImplementedError

    def _move(self) -> None:
        """Simulate until the next state; stop if that is not possible."""
        raise NotImplementedError

    def _reset(self) -> str:
        """Return to the initial state; return a message."""
        raise NotImplementedError
