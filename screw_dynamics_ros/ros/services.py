# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed services of the optional package screw_dynamics_msgs, run in another process.

A request can take long: functions are compiled on first use, and numerical inverse kinematics
iterates. Responses are therefore computed in another process, a `Worker`. The services belong to a
separate node, `_<name>_services`, which `process.executor.spin` runs in a second thread: that
thread only forwards requests and waits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message

from ..core.errors import ErrorCode, ScrewDynamicsError, error_code
from .diagnostics import Level, Status
from .names import printable, shorten
from .process.worker import Worker, WorkerError

try:
    from screw_dynamics_msgs import srv as interfaces
except ImportError:
    interfaces = None

#: Fills in the response to a request, or raises `ScrewDynamicsError`. The arguments before these
#: two are those returned by `Task`. Must be defined at the top level of a module (pickle).
Answer = Callable[..., None]

#: Returns the function that answers the current request, and its first arguments; may raise
#: `ScrewDynamicsError`.
Task = Callable[[], tuple[Answer, tuple[Any, ...]]]

#: Activates the result of a request, or raises `ScrewDynamicsError`.
Finish = Callable[[Any, Any], None]

MAX_REASON_LENGTH = 3000  # characters of a reason, which may quote the request

REMEDY = (
    'build the workspace with '
    '"colcon build --base-paths src src/screw_dynamics_ros/screw_dynamics_msgs", '
    'source install/setup.bash and start the node again'
)


class Services:
    """The typed services of one process.

    Parameters
    ----------
    node : rclpy.node.Node
        Its name and namespace determine those of the node of the services.

    Attributes
    ----------
    nodes : list of rclpy.node.Node
        To be run in another thread: one node; empty without services.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.nodes: list[Node] = []
        self.worker = Worker('answers requests')
        self._absent: list[str] = []
        self._answered: dict[str, int] = {}
        self._refused: dict[str, int] = {}

    def add(
        self, owner: Node, kind: str, name: str, task: Task, finish: Finish | None = None
    ) -> None:
        """Serve requests of the type screw_dynamics_msgs/srv/`kind`.

        Parameters
        ----------
        owner : rclpy.node.Node
            The node whose namespace, name and remapping rules resolve `name`.
        kind : str
        name : str
            Name of the service, such as ``~/forward_kinematics``.
        task : callable
            Called in the thread of the services for each request; returns a function and its first
            arguments. The other process calls ``answer(*arguments, request, response)`` with
            `success` set. If either raises `ScrewDynamicsError`, `success` is false, `error_code`
            that of the error and `message` the reason. A header without stamp gets the time of the
            response.
        finish : callable, optional
            Called in the thread of the services, ``finish(request, response)``, after success:
            activates the result in this process, or raises `ScrewDynamicsError`.
        """
        service = owner.resolve_service_name(name)
        types = types_of(kind)
        if types is None:
            self._absent.append(service)
            return
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
        self._answered[service] = self._refused[service] = 0
        self.nodes[0].create_service(
            types, service, partial(self._on_request, service, kind, task, finish)
        )

    @property
    def is_used(self) -> bool:
        """Whether any service has been called."""
        return bool(self._answered or self._absent)

    def _on_request(
        self,
        service: str,
        kind: str,
        task: Task,
        finish: Finish | None,
        request: Any,
        response: Any,
    ) -> Any:
        """Answer a request; every exception becomes a response with the reason."""
        try:
            data = serialize_message(request)
            answered = self.worker.call(respond, kind, data, *task())
            response = deserialize_message(answered, type(response))
            if finish is not None and response.success:
                finish(request, response)
        except WorkerError as error:
            self._node.get_logger().error(f'{service}: {error}')
            response = refusal(response, error, 'no answer: ')
        except ScrewDynamicsError as error:
            response = refusal(response, error)
        except Exception as error:  # a bug must not end the other services
            self._node.get_logger().error(f'{service}: {type(error).__name__}: {error}')
            response = refusal(response, error, f'{type(error).__name__}: ')
        stamp = response.header.stamp
        if not (stamp.sec or stamp.nanosec):
            response.header.stamp = self._node.get_clock().now().to_msg()
        self._answered[service] += 1
        self._refused[service] += not response.success
        return response

    def status(self) -> Status:
        """Report the requests to each service, and services that are not available."""
        status = Status('services')
        for service, count in self._answered.items():
            status.values[service] = f'{count} requests, {self._refused[service]} without success'
        self.worker.report(status, 'the next request starts another one')
        if self._absent:
            status.report(
                Level.WARN,
                f'no {shorten(self._absent)}: the package screw_dynamics_msgs '
                f'is not installed, or too old; {REMEDY}',
            )
        return status


def types_of(kind: str) -> Any | None:
    """Return the type of a service, None if it is not installed or lacks fields."""
    types = getattr(interfaces, kind, None)
    fields = {} if types is None else types.Response.get_fields_and_field_types()
    return types if {'header', 'success', 'error_code', 'message'} <= set(fields) else None


def respond(kind: str, data: bytes, answer: Answer, arguments: tuple[Any, ...]) -> bytes:
    """Return the response to a request, both serialized; runs in the other process."""
    types = getattr(interfaces, kind)
    response = types.Response(success=True)
    try:
        answer(*arguments, deserialize_message(data, types.Request), response)
    except ScrewDynamicsError as error:
        response = refusal(response, error)
    if not response.success and response.error_code == ErrorCode.SUCCESS:
        response.error_code = int(ErrorCode.FAILURE)
    return serialize_message(response)


def refusal(response: Any, error: Exception, prefix: str = '') -> Any:
    """Return a response of the same type with the reason of the failure and no other content."""
    return type(response)(
        success=False,
        error_code=int(error_code(error)),
        message=printable(f'{prefix}{error}', MAX_REASON_LENGTH),
    )
