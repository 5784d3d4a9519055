# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Client of the service `set_payload` of running nodes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.ros.messages.conversions import write_inertia
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.process.latest import Latest

from .state import DiagnosticLine, Level

try:
    from screw_dynamics_msgs import srv as interfaces
except ImportError:
    interfaces = None

NAME = 'view'  # name of the payload
SERVICE, KIND = 'set_payload', 'screw_dynamics_msgs/srv/SetPayload'
RESPONSE_TIMEOUT_S = 5.0
NO_PAYLOAD = RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))


class PayloadClient:
    """Sends the newest payload to all nodes in a namespace with the service.

    Parameters
    ----------
    context : rclpy.Context
    namespace : str

    Attributes
    ----------
    response : DiagnosticLine or None
        Last response of the nodes.
    """

    def __init__(self, context: Any, namespace: str) -> None:
        self._context, self._start = context, namespace.rstrip('/') + '/'
        self._node = rclpy.create_node(
            'view_payload',
            context=context,
            namespace=namespace,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._clients: dict[str, Any] = {}
        self._requests: Latest[None] = Latest('payload of the view')
        self.response: DiagnosticLine | None = None

    def send(self, link: str, payload: RigidBody | None) -> None:
        """Request a payload on a link, None to remove it; the response arrives later."""
        self._requests.ask(partial(self._send, link, payload or NO_PAYLOAD))

    def _send(self, link: str, payload: RigidBody) -> None:
        lines = [self._call(service, link, payload) for service in self._services()]
        refused = [line for line in lines if line.level == 'error']
        none = DiagnosticLine('error', 'payload', f'no node has the service {SERVICE}')
        self.response = next(iter([*refused, *lines, none]))

    def _services(self) -> list[str]:
        if interfaces is None:
            return []
        return [
            name
            for name, kinds in self._node.get_service_names_and_types()
            if name.startswith(self._start) and name.endswith(f'/{SERVICE}') and KIND in kinds
        ]

    def _call(self, service: str, link: str, payload: RigidBody) -> DiagnosticLine:
        request = interfaces.SetPayload.Request(name=NAME, link=link)
        write_inertia(request.inertia.inertia, payload)
        client = self._clients.get(service)
        if client is None:
            client = self._node.create_client(interfaces.SetPayload, service)
            self._clients[service] = client
        if not client.wait_for_service(RESPONSE_TIMEOUT_S):
            return DiagnosticLine('error', 'payload', f'{service} has ended')
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, RESPONSE_TIMEOUT_S)
        if not future.done():
            client.remove_pending_request(future)
            return DiagnosticLine('error', 'payload', f'{service} does not respond')
        response = future.result()
        level: Level = 'ok' if response.success else 'error'
        return DiagnosticLine(level, 'payload', printable(response.message))

    def close(self) -> None:
        """Close the node; pending requests are canceled."""
        self._requests.cancel()
        with suppress(Exception):  # a request may be pending
            self._executor.shutdown(timeout_sec=0)
            self._node.destroy_node()
