# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Unexpected exceptions: caught, counted, logged, and reported as ERROR on /diagnostics.

An exception in one joint state, output, status, parameter or request must not end the process; the
next one is processed.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

from ..names import printable
from ..status import Status

try:
    from rclpy.logging import get_logger
except ModuleNotFoundError:  # commands run without ROS
    from logging import getLogger as get_logger

FAULT_HOLD_S = 10.0  # time for which a fault is reported on /diagnostics
MAX_KINDS = 20  # kinds of faults that are counted
LOG_INTERVAL = 10.0  # s between two tracebacks of one kind


@dataclass
class Fault:
    """Exceptions of one kind: count, time [s] and text of the last one."""

    count: int = 0
    last: float = -math.inf
    logged: float = -math.inf
    text: str = ''


class Faults:
    """The unexpected exceptions of a process."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}

    def record(self, what: str, error: BaseException) -> None:
        """Record an exception; `what` names the abandoned operation."""
        now, what = time.monotonic(), printable(what)
        if what not in self._faults and len(self._faults) >= MAX_KINDS:
            what = 'others'
        fault = self._faults.setdefault(what, Fault())
        fault.count += 1
        fault.last, fault.text = now, printable(f'{type(error).__name__}: {error}')
        if now - fault.logged > LOG_INTERVAL:
            fault.logged = now
            lines = ''.join(traceback.format_exception(error))
            get_logger('screw_dynamics_ros').error(f'{what}: abandoned after an error\n{lines}')

    @contextmanager
    def caught(self, what: str) -> Iterator[None]:
        """Catch and record exceptions in the body of the `with` statement."""
        try:
            yield
        except Exception as error:
            self.record(what, error)

    def guarded(self, what: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback that catches its exceptions."""

        @wraps(callback)  # rclpy inspects the signature
        def call(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except Exception as error:
                self.record(what, error)

        return call

    def status(self) -> Status:
        """Report the faults."""
        status, now = Status('faults'), time.monotonic()
        for what, fault in list(self._faults.items()):
            status.values[what] = f'{fault.count} times, last: {fault.text}'
            if now - fault.last < FAULT_HOLD_S:
                status.error(f'{what}: {fault.text}; please report this with the log')
        return status


#: The faults of this process.
FAULTS = Faults()
