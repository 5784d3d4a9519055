# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages computed in another process: markers.

The loop of joint states only copies the required numbers. Another thread sends them to a `Worker`
and publishes the results with the stamp of their joint state. While the worker is busy, only the
newest numbers of each topic are kept, and late results are dropped. The rate of these messages may
decrease, but they are never late.
"""

from __future__ import annotations

import math
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import take_snapshot
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.process.worker import DEATH_HOLD_S, Worker, WorkerError
from screw_dynamics_ros.ros.topics.channel import NO_OUTPUT, Channel
from screw_dynamics_ros.ros.topics.channel_record import CALL, Gate
from screw_dynamics_ros.ros.topics.snapshot import StateSnapshot

from ..model.parts import HostPart
from ..model.running_model import RunningModel

#: Builder of a message (pickled), stamp, and numbers.
Task = tuple[bytes, bytes, Sequence[Array]]

DRAWN_RANK = 3  # drawn topics are handled last

MAX_AGE_S = 0.5  # s from a state to its message; later messages are dropped

RESTART_PERIOD_S = 1.0  # s between two attempts to start a process
ANSWER_TIMEOUT_S = 5.0  # s without a response before a warning


class DrawnNumbers(NamedTuple):
    """Numbers of a joint state.

    Attributes
    ----------
    arrays : callable
        Returns the arrays of the model that are copied.
    value : callable
        Returns the numbers for these copies.
    """

    arrays: Callable[[], Sequence[Array]]
    value: Callable[..., Array] = np.asarray


def source_of(
    model: RunningModel, *outputs: Output | Formula, value: Callable[..., Array] = np.asarray
) -> DrawnNumbers:
    """Return the results of a model for a drawing."""
    return DrawnNumbers(lambda: [model.results[output] for output in outputs], value)


class MessageBuilder(Protocol):
    """Creates messages from numbers in the other process; can be pickled."""

    def __call__(self, stamp: bytes, *numbers: Array) -> bytes | None:
        """Return a serialized message with a stamp from `packed`, or None for no message."""


class DrawnTopic:
    """A topic whose messages are computed in another process.

    Parameters
    ----------
    publisher : rclpy.publisher.Publisher
    process : DrawingProcess

    Attributes
    ----------
    channel : Channel
    """

    def __init__(self, publisher: Any, process: DrawingProcess) -> None:
        self._process = process
        self.channel = Channel(publisher, rank=DRAWN_RANK, follows_states=False)
        self.draw(None, (), 1.0)

    def draw(
        self, maker: MessageBuilder | None, sources: Sequence[DrawnNumbers], rate: float
    ) -> None:
        """Set the builder, its inputs and the largest rate [Hz]; None publishes nothing."""
        self._process.clear()
        snapshot = self.channel.snapshot = StateSnapshot(
            lambda: [array for source in sources for array in source.arrays()],
            partial(self._offer, pickle.dumps(maker), sources),
        )
        drawn = Gate(CALL, snapshot, take_snapshot)
        self.channel.gates = (drawn if maker is not None else NO_OUTPUT,)
        self.channel.rate = RateLimit(rate)

    def _offer(
        self, maker: bytes, sources: Sequence[DrawnNumbers], stamp: int, *arrays: Array
    ) -> None:
        """Offer the numbers of a state to the drawing process, which publishes the message."""
        copies = iter(arrays)
        numbers = [each.value(*islice(copies, len(each.arrays()))) for each in sources]
        self._process.offer(self, (maker, packed(stamp), numbers))

    def send(self, message: bytes) -> None:
        """Publish a computed message."""
        self.channel.send(message)
        self.channel.published += 1


class DrawingProcess(HostPart):
    """Computes the messages of all drawn topics in another process.

    Attributes
    ----------
    is_used : bool
        Whether any topic uses it.
    """

    def __init__(self) -> None:
        self.is_used = False
        self.worker = Worker('draws')
        self._waiting: dict[
            DrawnTopic, tuple[Task, float]
        ] = {}  # task, and monotonic time of the offer
        self._changing = threading.Lock()
        self._publishing = threading.Lock()
        self._era = 0  # incremented to invalidate messages being computed
        self._background: Latest[None] = Latest('drawing', in_ordinary_time=False)
        self._drawn = self._left_out = 0
        self._fault, self._last_fault = '', -math.inf

    def offer(self, topic: DrawnTopic, task: Task) -> None:
        """Compute and publish a message; it replaces a waiting one of the same topic."""
        with self._changing:
            self._left_out += topic in self._waiting
            self._waiting[topic] = task, time.monotonic()
        self._background.ask(self._draw)

    def use(self, model: RunningModel) -> None:
        """Discard the drawings of another model."""
        self.clear()

    def clear(self) -> None:
        """Discard all messages offered so far."""
        with self._publishing, self._changing:
            self._era += 1
            self._waiting.clear()

    def _draw(self) -> None:
        """Compute all waiting messages, and publish them."""
        with self._changing:
            waiting, self._waiting, era = self._waiting, {}, self._era
        if self.worker.ended or not waiting:
            return
        try:
            made = self.worker.call(make_all, [task for task, _ in waiting.values()])
            self._publish(waiting, made, era)
        except WorkerError as error:
            self._note(str(error))
            time.sleep(RESTART_PERIOD_S)
        except Exception as error:  # any failure is reported; joint states are still processed
            self._note(f'{type(error).__name__}: {error}')

    def _publish(
        self,
        waiting: dict[DrawnTopic, tuple[Task, float]],
        made: Sequence[bytes | str | None],
        era: int,
    ) -> None:
        """Publish the computed messages, unless they are out of date."""
        for (topic, (_, since)), message in zip(waiting.items(), made):
            with self._publishing:
                if era != self._era:
                    return
                if isinstance(message, str):
                    self._note(f'{topic.channel.topic}: {message}')
                elif message is not None and time.monotonic() - since > MAX_AGE_S:
                    self._left_out += 1
                elif message is not None:
                    self._send(topic, message)

    def _send(self, topic: DrawnTopic, message: bytes) -> None:
        try:
            topic.send(message)
        except Exception as error:  # other topics are still published
            self._note(f'{topic.channel.topic}: {type(error).__name__}: {error}')
        else:
            self._drawn += 1

    def _note(self, fault: str) -> None:
        self._fault, self._last_fault = fault, time.monotonic()

    def status(self) -> Status:
        """Report the state of the drawing process."""
        status = Status('drawing')
        status.values['messages'] = f'{self._drawn}, {self._left_out} dropped'
        self.worker.report(status, 'another one is started')
        if time.monotonic() - self._last_fault < DEATH_HOLD_S and not status.texts:
            status.warn(self._fault)
        if self.worker.waiting > ANSWER_TIMEOUT_S:
            status.warn(
                'no markers: the process that computes them has not '
                f'responded for {self.worker.waiting:.0f} s'
            )
        return status


def make_all(tasks: Sequence[Task]) -> list[bytes | str | None]:
    """Return each message, or the reason for its failure; runs in the other process."""
    made: list[bytes | str | None] = []
    for pickled, stamp, numbers in tasks:
        try:
            made.append(maker_of(pickled)(stamp, *numbers))
        except Exception as error:  # other topics are still computed
            made.append(f'{type(error).__name__}: {error}')
    return made


@lru_cache(maxsize=32)
def maker_of(pickled: bytes) -> MessageBuilder:
    """Return the builder of a topic's messages."""
    return pickle.loads(pickled)
