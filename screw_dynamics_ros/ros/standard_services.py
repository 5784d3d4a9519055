# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Services of std_srvs, answered in the thread of the node, for requests without computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..core.errors import ScrewDynamicsError
from .process.faults import FAULTS
from .process.state_lock import STATE_LOCK

#: Executes a request and returns the text of the response; raises `ScrewDynamicsError`.
Action = Callable[[], str]


def serve_trigger(node: Node, name: str, action: Action) -> None:
    """Serve std_srvs/Trigger."""

    def respond(request: Any, response: Any) -> Any:
        return answered(name, response, action)

    node.create_service(Trigger, name, respond)


def serve_switch(node: Node, name: str, action: Callable[[bool], str]) -> None:
    """Serve std_srvs/SetBool."""

    def respond(request: Any, response: Any) -> Any:
        return answered(name, response, lambda: action(request.data))

    node.create_service(SetBool, name, respond)


def answered(name: str, response: Any, action: Action) -> Any:
    """Fill in a response: the text of the action, or the reason of its failure."""
    try:
        with STATE_LOCK:
            response.message, response.success = action(), True
    except ScrewDynamicsError as error:
        response.message, response.success = str(error), False
    except Exception as error:  # rclpy would let it end the process
        FAULTS.record(f'service {name}', error)
        response.message, response.success = f'{type(error).__name__}: {error}', False
    return response
