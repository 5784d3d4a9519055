# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs that are measured beside joint states: motion of bodies, direction of gravity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.ros.data_path.records import InputRecord
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from .output_group import CompiledStep, Stage

if TYPE_CHECKING:
    from .state_pipeline import StatePipeline

STOP = 'stop'


class MeasuredInput(ABC):
    """An input with its own topic, or from /tf.

    Messages are checked and converted when they arrive, and written into a record. A step before
    the kernel evaluates the record at each joint state, and decides whether the input is lost.

    Parameters
    ----------
    node : rclpy.node.Node
        Owns the subscriptions.
    parameters : Parameters
        With the rows of `base_parameters` and `gravity_parameters`.
    states : StatePipeline
        Publishes nothing while an input is lost that stops outputs.
    record : InputRecord
    step : callable
        A `compiled_step` that evaluates the record.

    Attributes
    ----------
    QUANTITY : str
        In the names of parameters: QUANTITY_timeout [s], 0 for never, and on_QUANTITY_loss.
    NOTHING : str
        Why it is unknown before the first message.
    """

    QUANTITY: ClassVar[str]
    NOTHING: ClassVar[str] = 'no measurement so far'

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        states: StatePipeline,
        record: InputRecord,
        step: Callable[..., int],
    ) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self._step, self._reason = CompiledStep(step, lambda: record), ''
        self.record = record
        self._chain: FrameChain | None = None
        self._subscribed: set[str] = set()
        states.inputs = (*states.inputs, record)
        self.update_parameters()

    # --- measurements ---------------------------------------------------------------------------

    def update_parameters(self) -> None:
        """Apply the parameters: create required subscriptions, and forget all measurements."""
        record, parameters = self.record, self._parameters
        record.is_used = record.is_lost = self.is_used
        record.stops = parameters[f'on_{self.QUANTITY}_loss'] == STOP
        record.timeout = parameters[f'{self.QUANTITY}_timeout']
        self._reason = self.NOTHING
        self._forget()
        if self.is_used:
            self._subscribe()
            self.keep_house()

    @property
    @abstractmethod
    def is_used(self) -> bool:
        """Whether parameters choose this input."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget all measurements."""

    @abstractmethod
    def _subscribe(self) -> None:
        """Create subscriptions, see `_listen` and `_follow_transforms`."""

    def _look(self) -> None:  # noqa: B027 - most sources have no transforms
        """Read the transforms."""

    def keep_house(self) -> None:
        """Adopt the robot, and follow the input also without joint states and outputs."""
        model = self._states.model
        if self._chain is not None and model is not None:
            self._chain.frame = self._parameters['frame_prefix'] + model.robot.description.root
            self._look()
        if not self._states.listened:
            self.prepare()

    def _listen(self, kind: type, topic: str, receive: Callable[[Any], None]) -> None:
        """Subscribe once."""
        if topic not in self._subscribed:
            self._subscribed.add(topic)
            callback = FAULTS.guarded(f'a message on {topic}', STATE_LOCK.exclusive(receive))
            self._node.create_subscription(kind, topic, callback, qos_profile_sensor_data)

    def _follow_transforms(self) -> None:
        """Subscribe to /tf once; new transforms call `_look`."""
        if self._chain is None:
            self._chain = FrameChain(self._node, TFMessage, '', self._look)

    # --- states ---------------------------------------------------------------------------------

    def stage(self) -> Stage:
        """Return the step before the kernel."""
        return Stage(is_needed=lambda: self.record.is_used, compiled_prepare=self._step)

    def prepare(self) -> None:
        """Evaluate the input for the current joint state."""
        if self.record.is_used:
            self._states.prepare(self._step)

    # --- results --------------------------------------------------------------------------------

    @property
    def suspends(self) -> bool:
        """Whether there are no outputs because of this input."""
        return self.record.is_lost and self.record.stops

    @property
    @abstractmethod
    def fault(self) -> str:
        """Why the input is unknown."""

    @property
    @abstractmethod
    def _without(self) -> str:
        """What holds while the input is lost and outputs continue."""

    @property
    def _cause(self) -> str:
        return f': {printable(self._reason)}' if self._reason else ''

    def report(self, status: Status) -> None:
        """Report that the input is lost."""
        if self.record.is_lost:
            stopped = f'outputs have stopped (on_{self.QUANTITY}_loss)'
            consequence = stopped if self.record.stops else self._without
            status.report(Level.ERROR, f'{self.fault}; {consequence}')
