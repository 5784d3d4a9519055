# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The C interface of ROS for the compiled loop: functions, structs, and checks of both.

Sizes and fields of structs are not declared by any file that is there at run time. What the loop
needs of them is therefore verified by the behavior of the functions; if anything differs, the loop
is not used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock

from screw_dynamics_ros.core.compile.typed.external import External, address_of
from screw_dynamics_ros.core.compile.typed.library import PythonCode, TypedLibrary, compiled
from screw_dynamics_ros.core.compile.typed.records import Opaque
from screw_dynamics_ros.core.errors import ScrewDynamicsError

from ..topics.channel import Channel
from ..topics.taken_message import ID_PLACE, ID_SIZE, OK, STRUCT, Allocator, HandleInUse
from . import externals, loop
from .records import LoopRecord, MessageBuffer

MAX_CLOCK_STEP = 10_000_000_000  # ns between the arrival of a message and now
INITIAL_CAPACITY = 65536  # bytes of the message buffer

#: Words of rcl_wait_set_t: number of subscriptions, and those of other entities.
SUBSCRIPTION_COUNT, OTHER_COUNTS = 1, (3, 5, 7, 9, 11)
#: Words of rmw_message_info_t.
SOURCE_TIME, RECEIVED_TIME, SEQUENCE_NUMBER = 0, 1, 2


class IncompatibleError(ScrewDynamicsError):
    """The C interface of ROS differs from what the compiled loop requires."""


class Rcl:
    """Functions of librcl and librcutils; raises `IncompatibleError` if one is missing."""

    def __init__(self) -> None:
        try:
            self._rcl, utilities = ctypes.CDLL('librcl.so'), ctypes.CDLL('librcutils.so')
            addresses = {
                each.name: self._address(each.name)
                for each in vars(externals).values()
                if isinstance(each, External) and each.name.startswith('rcl_')
            }
            self.wait_set_init = self._rcl.rcl_wait_set_init
            self.wait_set_fini = self._rcl.rcl_wait_set_fini
            self.message_init = utilities.rcutils_uint8_array_init
            default = utilities.rcutils_get_default_allocator
        except (OSError, AttributeError) as error:
            raise IncompatibleError(str(error)) from None
        default.restype = Allocator
        self.allocator = default()
        self.wait_set_init.argtypes = [
            ctypes.c_void_p,
            *[ctypes.c_size_t] * 6,
            ctypes.c_void_p,
            Allocator,
        ]
        self.wait_set_fini.argtypes = [ctypes.c_void_p]
        self.message_init.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        if not all(self.allocator.words[:4]):
            raise IncompatibleError('the default allocator has other fields')
        self.library: TypedLibrary = compiled(
            [loop.run, loop.receive, loop.answer, *loop.STEPS], addresses
        )
        self.run: Callable[[LoopRecord], int] = self.library.callable(loop.run)
        self.receive: Callable[[LoopRecord, int], int] = self.library.callable(loop.receive)
        self.answer: Callable[[LoopRecord], int] = self.library.callable(loop.answer)

    def _address(self, name: str) -> int:
        return ctypes.cast(getattr(self._rcl, name), ctypes.c_void_p).value or 0

    def code(self, function: Callable[..., int]) -> Opaque:
        """Return a `compiled_step` for records."""
        return self.library.code(function)

    @staticmethod
    def clock(clock: Clock, _: Callable[[], int]) -> Opaque:
        """Return the rcl_clock_t."""
        return HandleInUse(clock.handle)

    @staticmethod
    def publisher(channel: Channel) -> Opaque:
        """Return the rcl_publisher_t."""
        return HandleInUse(channel.publisher.handle)

    def buffer(self, message: NDArray[np.uint8]) -> MessageBuffer:
        """Return the rcl_serialized_message_t of a message in memory."""
        found = MessageBuffer()
        found.buffer, found.capacity = message, message.size
        for name in Allocator.NAMES:
            setattr(found, name, getattr(self.allocator, name) or 0)
        return found


class PlainFunctions:
    """The functions of the loop as Python, with the interface of `Rcl`."""

    receive = staticmethod(loop.receive)
    answer = staticmethod(loop.answer)

    @staticmethod
    def code(function: Callable[..., int]) -> Opaque:
        """Return a `compiled_step` for records."""
        return PythonCode(function)

    @staticmethod
    def clock(_: Clock, now: Callable[[], int]) -> Opaque:
        """Return the clock that the function reads [ns]."""
        return PythonCode(now)

    @staticmethod
    def publisher(channel: Channel) -> Opaque:
        """Return the function that publishes serialized messages."""
        return PythonCode(lambda data: channel.send(data))

    @staticmethod
    def buffer(message: NDArray[np.uint8]) -> MessageBuffer:
        """Return a message in memory."""
        found = MessageBuffer()
        found.buffer = message
        return found


def functions(compiled: Callable[[], Rcl] = Rcl) -> Rcl | PlainFunctions:
    """Return the functions of the loop: compiled if possible."""
    try:
        return compiled()
    except ScrewDynamicsError:
        return PlainFunctions()


class LoopSubscription:
    """What the loop needs to wait on a subscription and to take its messages.

    Parameters
    ----------
    rcl : Rcl
    context, subscription : rclpy handles

    Attributes
    ----------
    wait_set, message, info, place : arrays
        Memory of the structs.
    has_info : bool
        Whether `info` has been verified; see `verify`.
    """

    def __init__(self, rcl: Rcl, context: Any, subscription: Any) -> None:
        self._rcl, self._context = rcl, HandleInUse(context)
        self.subscription = HandleInUse(subscription)
        self.wait_set, self.info = (np.zeros(STRUCT // 8, dtype=np.int64) for _ in range(2))
        self.message = MessageBuffer()
        self.place = np.zeros(1, dtype=np.int64)
        self.has_info = False
        self._before: tuple[int, int] | None = None
        self._check(
            rcl.wait_set_init(
                address_of(self.wait_set), 1, 0, 0, 0, 0, 0, self._context.address, rcl.allocator
            )
        )
        if self.wait_set[SUBSCRIPTION_COUNT] != 1 or self.wait_set[[*OTHER_COUNTS]].any():
            raise IncompatibleError('rcl_wait_set_t has other fields')
        self._check(
            rcl.message_init(self.message.address, INITIAL_CAPACITY, ctypes.byref(rcl.allocator))
        )
        expected = INITIAL_CAPACITY, *rcl.allocator.words
        found = tuple(getattr(self.message, name) for name in ('capacity', *Allocator.NAMES))
        if found != expected or self.message.data:
            raise IncompatibleError('rcl_serialized_message_t has other fields')

    @staticmethod
    def _check(result: int) -> None:
        if result != OK:
            raise IncompatibleError(f'rcl reports error {result}')

    def close(self) -> None:
        """Release the wait set and the handles."""
        self._rcl.wait_set_fini(address_of(self.wait_set))
        del self._context, self.subscription

    def data(self) -> bytes:
        """Return the message that was taken last."""
        return self.message.data

    def message_info(self) -> dict[str, Any]:
        """Return its info as rclpy does, and its publisher; only the latter before `verify`."""
        found: dict[str, Any] = {'publisher': self.info.tobytes()[ID_PLACE : ID_PLACE + ID_SIZE]}
        if not self.has_info:
            return found
        return {
            **found,
            'source_timestamp': int(self.info[SOURCE_TIME]),
            'publication_sequence_number': int(self.info[SEQUENCE_NUMBER]),
        }

    def verify(self, now: int) -> bool:
        """Verify the fields of the info with consecutive messages; return whether that is done.

        Sequence numbers of one publisher must follow one another, times must increase and be in
        order.

        Parameters
        ----------
        now : int
            System time [ns].
        """
        sent, received, number = (
            int(self.info[place]) for place in (SOURCE_TIME, RECEIVED_TIME, SEQUENCE_NUMBER)
        )
        before, self._before = self._before, (sent, number)
        if before is None or not 0 < number < 2**62:
            return False
        self.has_info = (
            number == before[1] + 1 > 1
            and 0 < before[0] < sent
            and abs(now - received) < MAX_CLOCK_STEP
        )
        return self.has_info
