"""What works and what does not, on /diagnostics once a second (REP 107)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from screw_dynamics_ros.ros.process import timers
from screw_dynamics_ros.ros.status import Level, Status

__all__ = ['Diagnostics', 'Level', 'Status']

PERIOD = 1.0  # s
TURNS = 10  # in which the statuses of a message are made


class Diagnostics:
    """Publishes statuses of one node on /diagnostics, and logs when a level changes.

    The statuses of a message are made one at a time, spread over the period: all at once would
    take longer than a joint state can wait.

    Parameters
    ----------
    node : rclpy.node.Node
    every : callable
        ``every(period, callback)`` calls back each period [s]; by default by a timer.
    """

    def __init__(
        self,
        node: Node,
        every: Callable[[float, Callable[[], None]], None] | None = None,
    ) -> None:
        self._node = node
        self._sources: list[tuple[str, Callable[[], Status]]] = []
        self._made: list[DiagnosticStatus] = []
        self._turns = 0
        self._levels: dict[str, Level] = {}
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        (every or partial(timers.every, node))(PERIOD / TURNS, self._turn)
        self.hardware_id = ''

    def add(self, source: Callable[[], Status], node: Node | None = None) -> None:
        """Ask `source` for a status each time; it is about `node`, if that is another one."""
        prefix = (node or self._node).get_fully_qualified_name().lstrip('/')
        self._sources.append((prefix, source))

    def _turn(self) -> None:
        """Make the next status; publish all of them when it is time."""
        if len(self._made) < len(self._sources):
            self._made.append(self._make(*self._sources[len(self._made)]))
        self._turns += 1
        if self._turns < max(TURNS, len(self._sources)):
            return
        message = DiagnosticArray(status=self._made)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        self._turns, self._made = 0, []

    def _make(self, prefix: str, source: Callable[[], Status]) -> DiagnosticStatus:
        """Return the present status of a source."""
        try:
            status = source()
        except Exception as error:  # the others must be told
            status = Status(getattr(source, '__qualname__', 'status'))
            status.report(Level.ERROR, f'no status: {type(error).__name__}: {error}')
        name = f'{prefix}: {status.name}'
        self._log(name, status)
        return DiagnosticStatus(
            level=bytes([status.level]),
            name=name,
            message=status.summary,
            hardware_id=self.hardware_id,
            values=[KeyValue(key=key, value=value) for key, value in status.values.items()],
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
