"""Subscriptions that pass on when a message was sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription


def subscribe(
    node: Node,
    kind: type,
    topic: str,
    callback: Callable[[Any, dict[str, Any]], None],
    profile: QoSProfile,
    **options: Any,
) -> Subscription:
    """Call ``callback(message, info)``; options as for `Node.create_subscription`.

    `info` has what the middleware tells of the message, like 'source_timestamp' [ns]; it is empty
    where rclpy does not pass it on (humble).
    """

    def receive(received: Any, info: dict[str, Any] | None = None) -> None:
        if info is None:  # the EventsExecutor of rclpy 7.1 passes both as one argument
            received, info = received if isinstance(received, tuple) else (received, {})
        callback(received, info)

    subscription = node.create_subscription(kind, topic, receive, profile, **options)
    if hasattr(Subscription, 'CallbackType'):
        # Asking for both by the signature ends in a SystemError of that executor.
        subscription._callback_type = Subscription.CallbackType.WithMessageInfo
    return subscription
