# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Statuses on /diagnostics (REP 107).

The parameters are those of the package diagnostic_updater. That package itself is not used, because
it creates all statuses of a message at once, in a timer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from .names import escaped
from .parameters import Parameters, Specification
from .process import timers
from .status import Level, Status

__all__ = ['Diagnostics', 'Level', 'Status']

MIN_STATUS_SPACING_S = 0.1  # between two statuses, if the period is long enough
NO_HARDWARE = 'none'  # hardware_id of diagnostic_updater for software

TABLE = (
    Specification(
        'diagnostic_updater.period',
        1.0,
        'Time between two messages on /diagnostics [s].',
        minimum=MIN_STATUS_SPACING_S,
        maximum=3600.0,
    ),
    Specification(
        'diagnostic_updater.use_fqn',
        True,
        'Whether the names of statuses begin with namespace and name of the node, or with its name '
        'only.',
        read_only=True,
    ),
)


class Diagnostics:
    """Publishes statuses of one node on /diagnostics, and logs when a level changes.

    The creation of the statuses is distributed over the period: creating all at once would delay
    joint states too much.

    Parameters
    ----------
    node : rclpy.node.Node
    every : callable
        ``every(period, callback)`` calls `callback` each period [s]; by default with a timer.
    """

    def __init__(
        self, node: Node, every: Callable[[float, Callable[[], None]], None] | None = None
    ) -> None:
        self._node = node
        self._sources: list[tuple[str, Callable[[], Status]]] = []
        self._made: list[DiagnosticStatus] = []
        self._turns = 0
        self._levels: dict[str, Level] = {}
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._parameters = Parameters(node, TABLE)
        (every or partial(timers.every, node))(MIN_STATUS_SPACING_S, self._turn)
        self.hardware_id = NO_HARDWARE

    def add(self, source: Callable[[], Status], node: Node | None = None) -> None:
        """Add a function that returns a status; `node` if the status is that of another node."""
        about = node or self._node
        name = about.get_fully_qualified_name().lstrip('/')
        if not self._parameters['diagnostic_updater.use_fqn']:
            name = about.get_name()
        self._sources.append((name, source))

    def _turn(self) -> None:
        """Create the next statuses; publish all at the end of the period."""
        left = max(
            1,
            round(self._parameters['diagnostic_updater.period'] / MIN_STATUS_SPACING_S)
            - self._turns,
        )
        due = self._sources[len(self._made) :]
        self._made += [self._make(*source) for source in due[: math.ceil(len(due) / left)]]
        self._turns += 1
        if left > 1:
            return
        message = DiagnosticArray(status=self._made)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        self._turns, self._made = 0, []

    def _make(self, prefix: str, source: Callable[[], Status]) -> DiagnosticStatus:
        """Return the current status of a source."""
        try:
            status = source()
        except Exception as error:  # the others are still reported
            status = Status(getattr(source, '__qualname__', 'status'))
            status.error(f'no status: {type(error).__name__}: {error}')
        name = f'{prefix}: {status.name}'
        self._log(name, status)
        return DiagnosticStatus(
            level=bytes([status.level]),
            name=name,
            message=status.summary,
            hardware_id=self.hardware_id,
            values=[
                KeyValue(key=escaped(key), value=escaped(value))
                for key, value in status.values.items()
            ],
        )

    def _log(self, name: str, status: Status) -> None:
        before = self._levels.get(name, Level.OK)
        self._levels[name] = status.level
        if status.level == before:
            return
        logger, text = self._node.get_logger(), f'{name}: {status.summary}'
        if status.level == Level.ERROR:
            logger.error(text)
        elif status.level == Level.WARN:
            logger.warning(text)
        else:
            logger.info(text)
