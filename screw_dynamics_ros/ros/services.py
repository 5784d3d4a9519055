# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services of a node: how they are offered, answered and reported.

A request is answered in the thread of the node, under the lock of states, unless that takes long:
functions are compiled on first use, and numerical inverse kinematics iterates. Such responses are
computed in another process, a `Worker`. Their services belong to a separate node,
`_<name>_services`, which `process.executor.spin` runs in a second thread: that thread only forwards
requests and waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from std_srvs.srv import SetBool, Trigger

from ..core.errors import ErrorCode, ScrewDynamicsError, error_code
from .diagnostics import Status
from .names import printable, shorten
from .process.faults import FAULTS
from .process.state_lock import STATE_LOCK
from .process.worker import Worker, WorkerError

try:
    from screw_dynamics_msgs import srv as interfaces
except ImportError:
    interfaces = None

#: Takes request and response, fills in the response and returns its message, or raises
#: `ScrewDynamicsError` and changes nothing.
Answer = Callable[[Any, Any], str]

#: Fills in the response to a request in the other process, or raises `ScrewDynamicsError`. Its last
#: arguments are request and response. Must be defined at the top level of a module (pickle).
Computation = Callable[..., None]

#: Returns the function that computes the current response, and its first arguments; may raise
#: `ScrewDynamicsError`.
Task = Callable[[], tuple[Computation, tuple[Any, ...]]]

STANDARD = {'SetBool': SetBool, 'Trigger': Trigger}
MAX_REASON_LENGTH = 3000  # characters of a reason, which may quote the request

REMEDY = (
    'build the workspace with '
    '"colcon build --base-paths src src/screw_dynamics_ros/screw_dynamics_msgs", '
    'source install/setup.bash and start the node again'
)


@dataclass
class Requests:
    """Numbers of requests and failures; the reason if the last request failed."""

    count: int = 0
    failures: int = 0
    reason: str = ''


class Services:
    """The services of one process.

    Parameters
    ----------
    node : rclpy.node.Node
        Its name and namespace determine those of the separate node.

    Attributes
    ----------
    nodes : list of rclpy.node.Node
        To be run in another thread: one node; empty if no service needs the other process.
    worker : Worker
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.nodes: list[Node] = []
        self.worker = Worker('answers requests')
        self._absent: list[str] = []
        self._requests: dict[str, Requests] = {}

    def serve(
        self,
        kind: str,
        name: str,
        answer: Answer | None = None,
        task: Task | None = None,
        owner: Node | None = None,
    ) -> None:
        """Serve requests of a type, if it is installed.

        If `answer`, `task` or the function that it returns raises `ScrewDynamicsError`, `success`
        is false, `message` the reason, and `error_code` that of the error. A header without stamp
        gets the time of the response.

        Parameters
        ----------
        kind : str
            'Trigger' or 'SetBool' of std_srvs, or a type of screw_dynamics_msgs/srv.
        name : str
            Name of the service, such as ``~/forward_kinematics``.
        answer : callable, optional
            Called under the lock of states with request and response, of which `success` is set;
            returns the message. With a task it is called after success in the thread of the
            services, to activate the result.
        task : callable, optional
            Called in the thread of the services for each request; returns a function and its first
            arguments. The other process calls ``function(*arguments, request, response)``.
        owner : rclpy.node.Node, optional
            The node whose namespace, name and remapping rules resolve `name`; by default that of
            the services.
        """
        node = owner or self._node
        service, types = node.resolve_service_name(name), types_of(kind)
        if types is None:
            self._absent.append(service)
            return
        self._requests[service] = Requests()
        if task is not None:
            node, name = self._separate_node(), service
        node.create_service(types, name, partial(self._on_request, service, kind, answer, task))

    def _separate_node(self) -> Node:
        if not self.nodes:
            self.nodes.append(
                Node(
                    f'_{self._node.get_name()}_services',
                    namespace=self._node.get_namespace(),
                    use_global_arguments=False,
                    enable_rosout=False,
                    start_parameter_services=False,
                    parameter_overrides=[Parameter('start_type_description_service', value=False)],
                )
            )
        return self.nodes[0]

    def _on_request(
        self,
        service: str,
        kind: str,
        answer: Answer | None,
        task: Task | None,
        request: Any,
        response: Any,
    ) -> Any:
        """Answer a request; every exception becomes a response with the reason."""
        try:
            response.success = True
            if task is not None:
                data = serialize_message(request)
                computed = self.worker.call(respond, kind, data, *task())
                response = deserialize_message(computed, type(response))
            if answer is not None and response.success:
                with STATE_LOCK:
                    response.message = answer(request, response)
        except WorkerError as error:
            self._node.get_logger().error(f'{service}: {error}')
            response = refusal(response, error, 'no answer: ')
        except ScrewDynamicsError as error:
            response = refusal(response, error)
        except Exception as error:  # a bug must not end the other services
            FAULTS.record(f'service {service}', error)
            response = refusal(response, error, f'{type(error).__name__}: ')
        header = getattr(response, 'header', None)
        if header is not None and not (header.stamp.sec or header.stamp.nanosec):
            header.stamp = self._node.get_clock().now().to_msg()
        requests = self._requests[service]
        requests.count += 1
        requests.failures += not response.success
        requests.reason = '' if response.success else printable(response.message)
        return response

    def status(self) -> Status:
        """Report the requests to each service, and services that are not available."""
        status = Status('services')
        for service, requests in self._requests.items():
            last = f', the last one: {requests.reason}' if requests.reason else ''
            status.values[service] = (
                f'{requests.count} requests, {requests.failures} without success{last}'
            )
        self.worker.report(status, 'the next request starts another one')
        if self._absent:
            status.warn(
                f'no {shorten(self._absent, 30)}: the package screw_dynamics_msgs '
                f'is not installed, or too old; {REMEDY}'
            )
        return status


def types_of(kind: str) -> Any | None:
    """Return the type of a service, None if it is not installed or lacks fields."""
    if kind in STANDARD:
        return STANDARD[kind]
    types = getattr(interfaces, kind, None)
    fields = {} if types is None else types.Response.get_fields_and_field_types()
    return types if {'header', 'success', 'error_code', 'message'} <= set(fields) else None


def respond(kind: str, data: bytes, compute: Computation, arguments: tuple[Any, ...]) -> bytes:
    """Return the response to a request, both serialized; runs in the other process."""
    types = getattr(interfaces, kind)
    response = types.Response(success=True)
    try:
        compute(*arguments, deserialize_message(data, types.Request), response)
    except ScrewDynamicsError as error:
        response = refusal(response, error)
    if not response.success and response.error_code == ErrorCode.SUCCESS:
        response.error_code = int(ErrorCode.FAILURE)
    return serialize_message(response)


def refusal(response: Any, error: Exception, prefix: str = '') -> Any:
    """Return a response of the same type with the reason of the failure and no other content."""
    refused = type(response)(success=False)
    refused.message = printable(f'{prefix}{error}', MAX_REASON_LENGTH)
    if hasattr(refused, 'error_code'):
        refused.error_code = int(error_code(error))
    return refused
