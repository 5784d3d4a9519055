# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of rcl and of the system that the loop calls, and what Python calls instead."""

from __future__ import annotations

import time
from typing import Any

from screw_dynamics_ros.core.compile.typed.external import External, Signature
from screw_dynamics_ros.core.units import NANOSECONDS

REALTIME, MONOTONIC = 0, 1  # clocks of Linux
OK, TIMEOUT, NOTHING_TO_TAKE = 0, 2, 401  # results of rcl


def read_time(clock: int, words: Any) -> int:
    """Write the time on a clock into the words of a struct timespec; return 0."""
    now = time.time_ns() if clock == REALTIME else time.monotonic_ns()
    words[0], words[1] = divmod(now, NANOSECONDS)
    return OK


def read_clock(clock: Any, words: Any) -> int:
    """Write the time that a function of Python returns [ns]; return 0."""
    words[0] = clock()
    return OK


def publish_bytes(publisher: Any, serialized: Any, _: int) -> int:
    """Publish a message with a function of Python; return 0."""
    publisher(serialized.buffer.tobytes())
    return OK


wait_set_clear = External('rcl_wait_set_clear', ('address',), 'i32')
wait_set_add = External('rcl_wait_set_add_subscription', ('address', 'address', 'address'), 'i32')
wait = External('rcl_wait', ('address', 'i64'), 'i32')
take_message = External(
    'rcl_take_serialized_message', ('address', 'address', 'address', 'address'), 'i32'
)
publish_message = External(
    'rcl_publish_serialized_message', ('address', 'address', 'address'), 'i32', publish_bytes
)
clock_get_now = External('rcl_clock_get_now', ('address', 'address'), 'i32', read_clock)
lock = External('pthread_mutex_lock', ('address',), 'i32')
unlock = External('pthread_mutex_unlock', ('address',), 'i32')
wake = External('eventfd_write', ('i32', 'i64'), 'i32')
clock_gettime = External('clock_gettime', ('i32', 'address'), 'i32', read_time)
kernel = Signature(('address',), 'void')
step = Signature(('address', 'address'), 'i64')
