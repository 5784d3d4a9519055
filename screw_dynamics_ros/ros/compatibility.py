# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All differences between ROS 2 distributions, detected by the features of rclpy."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from rclpy.node import Node
from rclpy.subscription import Subscription

from ..core.errors import ScrewDynamicsError

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # humble
    from rclpy.qos_event import SubscriptionEventCallbacks

__all__ = ['SubscriptionEventCallbacks']


def stay_on_this_machine() -> None:
    """Restrict discovery to this machine, for all processes started from now on."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    if os.environ.get('ROS_DISTRO') == 'humble':
        os.environ['ROS_LOCALHOST_ONLY'] = '1'


def events_executor() -> Any:
    """Return an EventsExecutor, None if rclpy has none (humble)."""
    # The stable module, which does not exist yet, then the experimental one.
    for module in ('rclpy.executors', 'rclpy.experimental'):
        with suppress(ImportError, AttributeError):
            return import_module(module).EventsExecutor()
    return None


# --- parameters ---------------------------------------------------------------------------------


def call_before_parameters_are_set(node: Node, callback: Callable[[Any], Any]) -> None:
    """Register a callback that converts new values; not in humble, which refuses 1 for 1.0."""
    if hasattr(node, 'add_pre_set_parameters_callback'):
        node.add_pre_set_parameters_callback(callback)


def call_after_parameters_are_set(node: Node, callback: Callable[[Any], None]) -> bool:
    """Register a callback for accepted values; return False if rclpy cannot call it (humble)."""
    if can_call_after_parameters_are_set(node):
        node.add_post_set_parameters_callback(callback)
        return True
    return False


def can_call_after_parameters_are_set(node: Node) -> bool:
    """Whether `call_after_parameters_are_set` has an effect."""
    return hasattr(node, 'add_post_set_parameters_callback')


# --- messages -----------------------------------------------------------------------------------


def message_receiver(callback: Callable[[Any, dict[str, Any]], None]) -> Callable[..., None]:
    """Return a subscription callback for all conventions of rclpy to pass a message and its info.

    `info` is empty if rclpy does not pass it (humble).
    """

    def receive(received: Any, info: dict[str, Any] | None = None) -> None:
        if info is None:  # the EventsExecutor of rclpy 7.1 passes both as one argument
            received, info = received if isinstance(received, tuple) else (received, {})
        callback(received, info)

    return receive


def request_message_info(subscription: Subscription) -> None:
    """Make a subscription pass the info of messages to its callback, if rclpy can."""
    if hasattr(Subscription, 'CallbackType'):
        # A callback with a second parameter causes a SystemError in the EventsExecutor.
        subscription._callback_type = Subscription.CallbackType.WithMessageInfo


def hide_from_executors(node: Node, subscription: Subscription) -> None:
    """Keep a subscription from the executors of its node, which have not seen it yet.

    It ends with the context, and no longer with the node.

    Raises `ScrewDynamicsError` if rclpy stores its subscriptions elsewhere.
    """
    try:
        node._subscriptions.remove(subscription)
    except (AttributeError, ValueError):
        raise ScrewDynamicsError('rclpy stores subscriptions in another way') from None
    node.context.on_shutdown(subscription.destroy)  # open, it keeps node and participant


def show_to_executors(node: Node, subscription: Subscription) -> None:
    """Return a subscription to the executors of its node."""
    node._subscriptions.append(subscription)
    assert node.executor is not None
    node.executor.wake()


def joint_command_type() -> Any:
    """Return control_msgs/JointCommand, None if the distribution does not have it."""
    with suppress(ImportError):
        from control_msgs.msg import JointCommand

        return JointCommand
    return None
