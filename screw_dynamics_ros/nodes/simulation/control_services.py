"""Services that control the simulation: pause, single steps, reset, faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from screw_dynamics_ros.core.errors import ScrewDynamicsError

#: Does what is asked and returns in words what has been done; raises `ScrewDynamicsError`.
Action = Callable[[], str]


class ControlServices:
    """Services of a node, each of which does something and says what.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def add_trigger(self, name: str, action: Action) -> None:
        """Serve std_srvs/Trigger."""

        def respond(request: Any, response: Any) -> Any:
            return answered(response, action)

        self._node.create_service(Trigger, name, respond)

    def add_switch(self, name: str, action: Callable[[bool], str]) -> None:
        """Serve std_srvs/SetBool."""

        def respond(request: Any, response: Any) -> Any:
            return answered(response, lambda: action(request.data))

        self._node.create_service(SetBool, name, respond)


def answered(response: Any, action: Action) -> Any:
    """Fill in a response: what was done, or why not, whatever happens."""
    try:
        response.message, response.success = action(), True
    except ScrewDynamicsError as error:
        response.message, response.success = str(error), False
    except Exception as error:  # rclpy would let it end the process
        response.message, response.success = f'{type(error).__name__}: {error}', False
    return response
