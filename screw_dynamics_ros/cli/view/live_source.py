# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A running robot: its topics, read at the rate of the view, and the payload of its nodes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.compatibility import stay_on_this_machine
from screw_dynamics_ros.ros.description import MAX_DESCRIPTION_LENGTH
from screw_dynamics_ros.ros.messages.conversions import write_inertia
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.process.children import Children, free_domain
from screw_dynamics_ros.ros.process.executor import use_profiles
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.topics import qos
from screw_dynamics_ros.ros.topics.subscriptions import PolledTopic

from .live_state import CONTACT_FORCE, CONTACT_POINT, COVARIANCE, TORQUE_TOPICS, WRENCH, LiveState
from .state import (
    DiagnosticLine,
    Level,
    ViewState,
    add_payload_controls,
    installed_mesh,
    local_mesh,
)

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


DISCOVERY_PERIOD_S = 1.0

#: Deep enough for the joint states of all drivers between two readings.
JOINT_STATES = QoSProfile(depth=64, reliability=ReliabilityPolicy.BEST_EFFORT)

#: The newest message only; best effort, so that the publisher never blocks.
NEWEST_MESSAGE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
DIAGNOSTICS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)

#: Topics of the whole robot, subscribed if they are published.
OF_ROBOT = {
    **dict.fromkeys(TORQUE_TOPICS, JointState),
    CONTACT_POINT: PoseWithCovarianceStamped,
    CONTACT_FORCE: WrenchStamped,
}
OF_LINKS = {WRENCH: WrenchStamped, COVARIANCE: Float64MultiArray}


class LiveSource:
    """The robot whose description and joint states are on topics; see `ViewSource`.

    Messages wait in the middleware until `latest` is called.

    Parameters
    ----------
    arguments : sequence of str
        Command line including --ros-args, such as -r __ns:=/left.
    domain : int, optional
        ROS_DOMAIN_ID; default from the environment.

    Attributes
    ----------
    clock : callable
        Returns the time of day [ns].
    """

    movable = False

    def __init__(self, arguments: Sequence[str] = (), domain: int | None = None) -> None:
        use_profiles()
        self._context = rclpy.Context()
        rclpy.init(
            args=list(arguments),
            context=self._context,
            domain_id=domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._node = rclpy.create_node(
            'view', context=self._context, enable_rosout=False, start_parameter_services=False
        )
        self._lock, self._live = threading.Lock(), LiveState()
        self._description = PolledTopic(
            self._node, String, 'robot_description', qos.LATCHED, 4 * MAX_DESCRIPTION_LENGTH
        )
        self._joint_states = PolledTopic(self._node, JointState, 'joint_states', JOINT_STATES)
        self._diagnostics = PolledTopic(self._node, DiagnosticArray, '/diagnostics', DIAGNOSTICS)
        self._outputs: dict[str, PolledTopic] = {}
        self._payload = PayloadClient(self._context, self._node.get_namespace())
        self._next_discovery = 0.0
        self.clock: Callable[[], int] = time.time_ns
        self._state: ViewState | None = None
        self._is_closed = False

    @property
    def robot(self) -> Robot:
        """The robot of the description; before the first description a robot without joints."""
        return self._live.shown.robot

    @property
    def urdf(self) -> str:
        """Its description."""
        return self._live.shown.urdf

    @property
    def generation(self) -> int:
        """Number of previous robots."""
        return self._live.generation

    @property
    def topics(self) -> list[str]:
        """The subscribed outputs, without namespace."""
        return sorted(self._outputs)

    def latest(self) -> ViewState | None:
        """Read the waiting messages; return the current state."""
        with self._lock:
            if self._is_closed:
                return self._state
            live = self._live
            if time.monotonic() >= self._next_discovery:
                self._discover()
                self._next_discovery = time.monotonic() + DISCOVERY_PERIOD_S
            described = self._description.newest()
            if described is not None:
                live.describe(deserialize_message(described.data, String).data)
            if live.adopt():
                self._discover()
            is_new = False
            for message in self._joint_states.read():
                live.receive_joint_state(*message)
                is_new = True
            for name, topic in self._outputs.items():
                newest = topic.newest()
                if newest is not None:
                    live.receive(name, *newest)
                    is_new = True
            for message in self._diagnostics.read():
                live.receive_diagnostics(*message)
            response = self._payload.response
            state = live.state(self.clock(), () if response is None else (response,))
            before = self._state
            if is_new or before is None or before.diagnostics != state.diagnostics:
                self._state = state
            return self._state

    def _discover(self) -> None:
        """Subscribe to published outputs, and unsubscribe from others."""
        self._live.is_described = self._description.publishers > 0
        start = self._node.get_namespace().rstrip('/') + '/'
        published = {
            name.removeprefix(start): kinds
            for name, kinds in self._node.get_topic_names_and_types()
            if name.startswith(start)
        }
        wanted = {
            **OF_ROBOT,
            **{
                f'{topic}{token}': kind
                for topic, kind in OF_LINKS.items()
                for token in self._live.shown.links
            },
        }
        offered = {
            name: kind
            for name, kind in wanted.items()
            if type_name(kind) in published.get(name, ())
        }
        for name in self._outputs.keys() - offered.keys():
            self._outputs.pop(name).close()
        for name in offered.keys() - self._outputs.keys():
            self._outputs[name] = PolledTopic(self._node, offered[name], name, NEWEST_MESSAGE)

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh in the share folder of an installed package, else None."""
        return installed_mesh(uri)

    def move(self, q: Array) -> None:
        """Do nothing: the view does not move a running robot."""

    def carry(self, link: str, payload: RigidBody | None) -> None:
        """Request the nodes to attach a payload to a link; None removes it."""
        self._payload.send(link, payload)

    def add_controls(self, gui: Any) -> None:
        """Add the sliders of a payload; responses of the nodes appear in the diagnostics."""
        add_payload_controls(gui, self.robot, self.carry)

    def close(self) -> None:
        """Leave ROS."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._payload.close()
                self._node.destroy_node()
                rclpy.shutdown(context=self._context)


def type_name(kind: type) -> str:
    """Return the name of a message type, such as 'std_msgs/msg/String'."""
    package, folder, _ = kind.__module__.split('.', 2)
    return f'{package}/{folder}/{kind.__name__}'


PACKAGE = 'screw_dynamics_ros'


class SimulatedSource(LiveSource):
    """The topics of the nodes `simulator` and `bringup`, which run in separate processes.

    The nodes use a ROS domain that no other process on this machine uses.

    Parameters
    ----------
    urdf : str
        The description.
    path : Path
        Its file, from which paths of meshes are resolved.
    """

    def __init__(self, urdf: str, path: Path) -> None:
        self._path, domain = path, free_domain()
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        stay_on_this_machine()
        with ExitStack() as ending:
            file = Path(ending.enter_context(TemporaryDirectory()), 'robot.urdf')
            file.write_text(urdf, encoding='utf-8')
            self._children = ending.enter_context(Children())
            for node, parameters in (('simulator', ['-p', f'urdf:={file}']), ('bringup', [])):
                self._children.start(node, PACKAGE, [node, '--ros-args', *parameters])
            super().__init__(domain=domain)
            self._ending = ending.pop_all()

    @property
    def processes(self) -> dict[str, int]:
        """The process ids of the nodes by name."""
        return self._children.pids()

    def mesh_file(self, uri: str) -> Path | None:
        """Return the file of a mesh; any file that the user's description names is allowed."""
        return local_mesh(uri, self._path)

    def latest(self) -> ViewState | None:
        """Return the current state, with an error if a process has ended."""
        state = super().latest()
        try:
            self._children.check()
        except ChildProcessError as error:
            if state is not None:
                line = DiagnosticLine('error', 'simulation', printable(str(error)))
                return replace(state, diagnostics=(line, *state.diagnostics))
        return state

    def close(self) -> None:
        """Close the node and stop the processes."""
        super().close()
        self._ending.close()
