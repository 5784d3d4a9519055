# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that are computed in Python in another process: markers and singularity measures.

The thread that processes joint states only copies the required numbers. Another thread, which
sleeps most of the time, passes them to a `Worker` and publishes its results with the stamp of their
joint state. While the worker is busy, only the newest numbers of each topic are kept, and results
that have taken too long are dropped: the rate of these messages may decrease, but they are never
late.
"""

from __future__ import annotations

import math
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.process.latest import Latest
from screw_dynamics_ros.ros.process.timers import at_most
from screw_dynamics_ros.ros.process.worker import DEATH_HOLD_S, Worker, WorkerError
from screw_dynamics_ros.ros.topics.channel import Channel

#: Returns present numbers in the thread that answers joint states: always of the same shape.
Source = Callable[[], Array]

#: What to make a message with (pickled, with the shapes of its numbers), stamp and numbers.
Task = tuple[bytes, bytes, bytes]

MAX_AGE_S = 0.5  # between a state and what is drawn of it; later it is left out

RESTART_PERIOD_S = 1.0  # between two attempts to start a process
ANSWER_TIMEOUT_S = 5.0  # without an answer before a warning


class MessageBuilder(Protocol):
    """Creates messages from numbers in the other process; can be pickled."""

    def __call__(self, stamp: bytes, *numbers: Array) -> bytes | None:
        """Return a serialized message with a stamp, as `packed` makes it; None if there is none."""


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
        self.channel = Channel(publisher, self._offer, rank=2, follows_states=False)
        self.draw(None, (), 1.0)

    def draw(self, maker: MessageBuilder | None, sources: Sequence[Source], rate: float) -> None:
        """Publish from now on what `maker` makes of the sources, nothing if there is no maker.

        At most `rate` times a second [Hz].
        """
        self._process.clear()
        self._sources = tuple(sources)
        shapes = [source().shape for source in sources]
        self._maker = pickle.dumps((maker, shapes))
        self.channel.is_valid = at_most(rate) if maker is not None else never

    def _offer(self, stamp: bytes) -> None:
        """Have a message made of the present numbers; the process publishes it."""
        numbers = b''.join([source().tobytes() for source in self._sources])
        self._process.offer(self.channel, (self._maker, stamp, numbers))


class DrawingProcess:
    """Creates the messages of all drawn topics of this process in another one.

    Attributes
    ----------
    is_used : bool
        Whether any topic uses it.
    """

    def __init__(self) -> None:
        self.is_used = False
        self.worker = Worker('draws')
        self._waiting: dict[Channel, tuple[Task, float]] = {}  # and since when
        self._changing = threading.Lock()
        self._publishing = threading.Lock()
        self._era = 0  # rises when messages under way must not be published any more
        self._background: Latest[None] = Latest('drawing', in_ordinary_time=False)
        self._drawn = self._left_out = 0
        self._fault, self._last_fault = '', 0.0

    def offer(self, channel: Channel, task: Task) -> None:
        """Have a message made and published; one that still waits to be made is dropped."""
        with self._changing:
            self._left_out += channel in self._waiting
            self._waiting[channel] = task, time.monotonic()
        self._background.ask(self._draw)

    def clear(self) -> None:
        """Publish none of the messages that were offered so far."""
        with self._publishing, self._changing:
            self._era += 1
            self._waiting.clear()

    def _draw(self) -> None:
        """Have all messages made that wait, and publish them."""
        with self._changing:
            waiting, self._waiting, era = self._waiting, {}, self._era
        if self.worker.ended or not waiting:
            return
        try:
            made = self.worker.call(make_all, [task for task, _ in waiting.values()])
            self._publish({channel: since for channel, (_, since) in waiting.items()}, made, era)
        except WorkerError as error:
            self._note(str(error))
            time.sleep(RESTART_PERIOD_S)
        except Exception as error:  # whatever it is, states are answered and it is reported
            self._note(f'{type(error).__name__}: {error}')

    def _publish(
        self, channels: dict[Channel, float], made: Sequence[bytes | str | None], era: int
    ) -> None:
        """Publish what came back, unless it is out of date."""
        for (channel, since), message in zip(channels.items(), made):
            with self._publishing:
                if era != self._era:
                    return
                if isinstance(message, str):
                    self._note(f'{channel.topic}: {message}')
                elif message is not None and time.monotonic() - since > MAX_AGE_S:
                    self._left_out += 1
                elif message is not None:
                    self._send(channel, message)

    def _send(self, channel: Channel, message: bytes) -> None:
        try:
            channel.send(message)
        except Exception as error:  # of one topic: the others are published
            self._note(f'{channel.topic}: {type(error).__name__}: {error}')
        else:
            channel.published += 1
            self._drawn += 1

    def _note(self, fault: str) -> None:
        self._fault, self._last_fault = fault, time.monotonic()

    def status(self) -> Status:
        """Report the state of the drawing process."""
        status = Status('drawing')
        status.values['messages'] = f'{self._drawn}, {self._left_out} left out'
        self.worker.report(status, 'another one is started')
        if time.monotonic() - self._last_fault < DEATH_HOLD_S and not status.texts:
            status.report(Level.WARN, self._fault)
        if self.worker.waiting > ANSWER_TIMEOUT_S:
            status.report(
                Level.WARN,
                'no markers and singularity measures: the process that computes them has not '
                f'responded for {self.worker.waiting:.0f} s',
            )
        return status


def never() -> bool:
    """Return False."""
    return False


def make_all(tasks: Sequence[Task]) -> list[bytes | str | None]:
    """Return the messages, or why one cannot be made; runs in the other process."""
    made: list[bytes | str | None] = []
    for pickled, stamp, data in tasks:
        try:
            maker, shapes = maker_of(pickled)
            made.append(maker(stamp, *arrays(data, shapes)))
        except Exception as error:  # of one topic: the others are made
            made.append(f'{type(error).__name__}: {error}')
    return made


def arrays(data: bytes, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return the arrays whose numbers stand in `data` one after the other."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    flat = np.frombuffer(data) if data else np.empty(0)
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends), shapes)]


@lru_cache(maxsize=32)
def maker_of(pickled: bytes) -> tuple[MessageBuilder, list[tuple[int, ...]]]:
    """Return what makes the messages of a topic, with the shapes of its numbers."""
    return pickle.loads(pickled)
