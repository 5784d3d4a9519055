"""What a host expects of the parts it feeds, and the topics they consist of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.functions import Output
from screw_dynamics_ros.nodes.model import Model
from screw_dynamics_ros.ros.diagnostics import Status


class Channel:
    """One topic: who listens, what it needs, and how its messages are made.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    encode : callable
        Returns the serialized message for a stamp (seconds, nanoseconds), or None for none.
    velocity, effort : bool
        Whether the state must have velocities, efforts.
    """

    def __init__(self, publisher: Any, encode: Callable[[tuple[int, int]], bytes | None], *,
                 velocity: bool = False, effort: bool = False) -> None:
        self.publisher = publisher
        self.encode = encode
        self.velocity, self.effort = velocity, effort
        self.enabled = True
        self.published = 0

    @property
    def listened(self) -> bool:
        """Whether there is anybody to publish for."""
        return self.enabled and self.publisher.get_subscription_count() > 0


class Plan(Protocol):
    """What a part wants of one robot; never changed after it has been made."""

    @property
    def outputs(self) -> Sequence[Output]:
        """What the kernel has to compute, as for `Robot.fuse`."""


class Part(Protocol):
    """A group of outputs; one of these makes a node."""

    def plan(self, robot: Robot) -> Any:
        """Return the `Plan` for a robot. Runs in another thread; may compile kernels of its own."""

    def bind(self, model: Model, plan: Any) -> list[Channel]:
        """Take over a new model and return the topics there are now."""

    def prepare(self) -> None:
        """Compute what several channels share, for each state that anybody listens to."""

    def status(self) -> Status:
        """Report on /diagnostics."""
