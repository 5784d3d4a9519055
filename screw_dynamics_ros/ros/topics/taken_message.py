# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Structs and handles of rcl; a serialized message with its publisher, not reported by rclpy."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from screw_dynamics_ros.core.compile.typed.records import Opaque
from screw_dynamics_ros.core.errors import ScrewDynamicsError

if TYPE_CHECKING:  # commands without ROS import this module
    from rclpy.node import Node

OK = 0
STRUCT = 512  # bytes for a struct of unknown size, several times the expected one
INITIAL_CAPACITY = 4096  # bytes
ID_SIZE = 16  # bytes of a publisher
ID_PLACE = 40  # bytes before it in rmw_message_info_t: four numbers and a pointer


class Allocator(ctypes.Structure):
    """rcl_allocator_t."""

    NAMES = ('allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')
    _fields_ = [(name, ctypes.c_void_p) for name in NAMES]

    @property
    def words(self) -> list[int]:
        """The addresses of functions and state."""
        return [getattr(self, name) or 0 for name in self.NAMES]


class SerializedMessage(ctypes.Structure):
    """rcl_serialized_message_t, and space behind it."""

    _fields_ = [
        ('buffer', ctypes.c_void_p),
        ('length', ctypes.c_size_t),
        ('capacity', ctypes.c_size_t),
        ('allocator', Allocator),
        ('others', ctypes.c_uint8 * STRUCT),
    ]


class HandleInUse(Opaque):
    """A handle of rclpy that is not destroyed during the lifetime of this object.

    Parameters
    ----------
    handle : rclpy handle
        Raises `rclpy.handle.InvalidHandle` if it has been destroyed.

    Attributes
    ----------
    address : int
        Of the struct of rcl.
    """

    _handle: Any = None

    def __init__(self, handle: Any) -> None:
        handle.__enter__()
        self._handle, self.address = handle, handle.pointer

    def __del__(self) -> None:
        if self._handle is not None:
            self._handle.__exit__(None, None, None)


def publisher_names(node: Node, topic: str) -> dict[bytes, str]:
    """Return the names of the nodes that publish a topic, by `TakenMessage.publisher`."""
    return {
        bytes(info.endpoint_gid)[:ID_SIZE]: (f'{info.node_namespace.rstrip("/")}/{info.node_name}')
        for info in node.get_publishers_info_by_topic(topic)
    }


class TakenMessage:
    """The message that was taken last of a subscription.

    Raises `ScrewDynamicsError` if the C interface of ROS is another one.

    Attributes
    ----------
    publisher : bytes
        Identifier of its publisher, the first `ID_SIZE` bytes of `endpoint_gid` in the graph.
    """

    def __init__(self) -> None:
        self.publisher = b''
        try:
            library, utilities = ctypes.CDLL('librcl.so'), ctypes.CDLL('librcutils.so')
            self._take = library.rcl_take_serialized_message
            initialize = utilities.rcutils_uint8_array_init
            default = utilities.rcutils_get_default_allocator
        except (OSError, AttributeError) as error:
            raise ScrewDynamicsError(str(error)) from None
        default.restype = Allocator
        allocator = default()
        initialize.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self._take.argtypes = [ctypes.c_void_p] * 4
        self._message, self._info = SerializedMessage(), (ctypes.c_uint8 * STRUCT)()
        result = initialize(ctypes.byref(self._message), INITIAL_CAPACITY, ctypes.byref(allocator))
        if result != OK or self._message.capacity != INITIAL_CAPACITY:
            raise ScrewDynamicsError('rcl_serialized_message_t has other fields')

    def take(self, subscription: int) -> bool:
        """Take a message of a subscription, given by its address; return whether there is one."""
        message, info = ctypes.byref(self._message), ctypes.byref(self._info)
        if self._take(subscription, message, info, None) != OK:
            return False
        self.publisher = bytes(self._info[ID_PLACE : ID_PLACE + ID_SIZE])
        return True

    def data(self, most: int) -> bytes:
        """Return the message, the first `most` bytes of a longer one."""
        return ctypes.string_at(self._message.buffer, min(self._message.length, most))
