# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed services answered in the thread of the node, for requests that need no computation.

They change parameters of the model in this process, from the next joint state on. Services that
compute belong to `ros.services`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from ..core.errors import ScrewDynamicsError
from .diagnostics import Level, Status
from .names import printable, shorten
from .process.faults import FAULTS
from .process.state_lock import STATE_LOCK
from .services import REMEDY, refusal, types_of

#: Fills in the response to a request, or raises `ScrewDynamicsError` and changes nothing.
Answer = Callable[[Any, Any], None]


class ImmediateServices:
    """The services of one node.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._absent: list[str] = []
        self._answered: dict[str, int] = {}
        self._refused: dict[str, str] = {}

    def add(self, kind: str, name: str, answer: Answer) -> None:
        """Serve requests of the type screw_dynamics_msgs/srv/`kind`, if that is installed.

        `success` is set before `answer` is called, and the header gets the time of the answer
        unless it has a stamp by then. If `answer` raises `ScrewDynamicsError`, `success` is false,
        `error_code` that of the error and `message` the reason.
        """
        service = self._node.resolve_service_name(name)
        types = types_of(kind)
        if types is None:
            self._absent.append(service)
            return
        self._answered[service] = 0
        self._node.create_service(types, name, partial(self._on_request, service, answer))

    def _on_request(self, service: str, answer: Answer, request: Any, response: Any) -> Any:
        try:
            response.success = True
            with STATE_LOCK:
                answer(request, response)
        except ScrewDynamicsError as error:
            response = refusal(response, error)
        except Exception as error:  # a bug must not end the other services
            FAULTS.record(f'service {service}', error)
            response = refusal(response, error, f'{type(error).__name__}: ')
        stamp = response.header.stamp
        if not (stamp.sec or stamp.nanosec):
            response.header.stamp = self._node.get_clock().now().to_msg()
        self._answered[service] += 1
        if not response.success:
            self._refused[service] = response.message
        else:
            self._refused.pop(service, None)
        return response

    def report(self, status: Status, remedy: str = REMEDY) -> None:
        """Report the number of requests, and missing services with a remedy."""
        for service, count in self._answered.items():
            reason = self._refused.get(service)
            last = f', the last one refused: {printable(reason)}' if reason else ''
            status.values[service] = f'{count} requests{last}'
        if self._absent:
            status.report(
                Level.WARN,
                f'no {shorten(self._absent)}: the package screw_dynamics_msgs is not installed, or '
                f'too old; {remedy}',
            )
