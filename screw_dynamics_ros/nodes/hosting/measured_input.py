# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs that are measured beside joint states: motion of bodies, direction of gravity."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core.errors import MissingStateError
from screw_dynamics_ros.ros.data_path.records import InputRecord
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.frame_chain import FrameChain

from ..model.parts import HostPart, Stage, StateStep
from ..parameters.base_parameters import FIXED, STOP, TF
from ..parameters.gravity_parameters import PARAMETER

if TYPE_CHECKING:
    from .state_pipeline import StatePipeline

OFF = FIXED, PARAMETER, False  # sources of inputs that are not used


class MeasuredInput(HostPart, ABC):
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
    SOURCE, QUANTITY : str
        Names of parameters: the source, QUANTITY_timeout [s], 0 for never, and on_QUANTITY_loss.
    """

    SOURCE: ClassVar[str]
    QUANTITY: ClassVar[str]
    _nothing = 'no measurement so far'
    _without: str  # what holds while the input is lost and outputs continue

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        states: StatePipeline,
        record: InputRecord,
        step: Callable[..., int],
    ) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self.record, self._step = record, StateStep(step, lambda: record)
        self._chain: FrameChain | None = None
        self._subscribed: set[str] = set()
        states.inputs = (*states.inputs, record)
        self.update_parameters()

    @property
    def source(self) -> Any:
        """The source that the parameters choose."""
        return self._parameters[self.SOURCE]

    # --- measurements ---------------------------------------------------------------------------

    def update_parameters(self) -> None:
        """Apply the parameters: create required subscriptions, and forget all measurements."""
        record, parameters = self.record, self._parameters
        record.is_used = record.is_lost = self.source not in OFF
        record.stops = parameters[f'on_{self.QUANTITY}_loss'] == STOP
        record.timeout = parameters[f'{self.QUANTITY}_timeout']
        self._reason = self._nothing
        self._forget()
        if self.source == TF and self._chain is None:
            self._chain = FrameChain(self._node, TFMessage, '', self._look)
        elif record.is_used and self.source != TF:
            self._subscribe()
        self.keep_house()

    @abstractmethod
    def _forget(self) -> None:
        """Forget all measurements."""

    @abstractmethod
    def _subscribe(self) -> None:
        """Create the subscription of the source, see `_listen`."""

    def _listen(self, kind: type, topic: str, receive: Callable[[Any], None]) -> None:
        """Subscribe once."""
        if topic not in self._subscribed:
            self._subscribed.add(topic)
            callback = FAULTS.guarded(f'a message on {topic}', STATE_LOCK.exclusive(receive))
            self._node.create_subscription(kind, topic, callback, qos_profile_sensor_data)

    def keep_house(self) -> None:
        """Adopt the robot, and follow the input also without joint states and outputs."""
        self._look()
        if not self._states.listened:
            self.prepare()

    def _look(self) -> None:
        """Read the transforms of the root link, if they are the source."""
        model = self._states.model
        if self._chain is not None and self.source == TF and model is not None:
            self._chain.frame = self._parameters['frame_prefix'] + model.robot.description.root
            try:
                self._take_transform(self._chain, self._parameters[f'{self.QUANTITY}_frame'])
            except MissingStateError as error:
                self._reason = str(error)

    def _take_transform(self, chain: FrameChain, world: str) -> None:
        """Take the transform in a frame; raises `MissingStateError`."""
        raise NotImplementedError

    # --- states ---------------------------------------------------------------------------------

    def stages(self) -> list[Stage]:
        """Return the step before the kernel."""
        return [Stage(self._step, is_needed=lambda: self.record.is_used)]

    def prepare(self) -> None:
        """Evaluate the input for the current joint state, if there is one."""
        loop, mapper = self._states.tables.loop, self._states.mapper
        if self.record.is_used and mapper is not None:
            loop.mapper, loop.state, loop.start = mapper, mapper.state, time.monotonic()
            self._step.function(self.record, loop)

    # --- results --------------------------------------------------------------------------------

    @property
    def suspends(self) -> bool:
        """Whether there are no outputs because of this input."""
        return self.record.is_lost and self.record.stops

    @abstractmethod
    def _what(self) -> str:
        """Return the first part of `fault`."""

    @property
    def fault(self) -> str:
        """Why the input is unknown."""
        return self._what() + (f': {printable(self._reason)}' if self._reason else '')

    def report(self, status: Status) -> None:
        """Report that the input is lost."""
        if self.record.is_lost:
            stopped = f'outputs have stopped (on_{self.QUANTITY}_loss)'
            consequence = stopped if self.record.stops else self._without
            status.error(f'{self.fault}; {consequence}')
