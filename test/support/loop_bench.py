# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node in the process of a test, whose joint states go through the compiled loop.

The loop is the real one. The test gives what it calls of ROS and of the system: the clocks are
those of the bench, and messages are recorded as those of Python are.
"""

import ctypes
from collections import Counter
from functools import cache

import numpy as np

from screw_dynamics_ros.core.compile.typed.library import compiled
from screw_dynamics_ros.core.compile.typed.records import Opaque
from screw_dynamics_ros.nodes.hosting.compiled_loop import CompiledLoop
from screw_dynamics_ros.ros.data_path import externals, loop, rcl
from screw_dynamics_ros.ros.data_path.records import MessageBuffer
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import Bench

SECOND = 10**9
CLOCK = Opaque()
CLOCK.address = 1  # never read
OUTCOMES = {
    loop.DONE: 'done',
    loop.CHANGED: 'with python',
    loop.HAND_OVER: 'handed over',
    loop.TOO_LATE: 'late',
    loop.NOT_FINITE: 'not finite',
    loop.ABANDONED: 'abandoned',
}


class TestedRcl(rcl.Rcl):
    """The loop with functions of the test; its code is that of all benches with the same steps."""

    _active = None

    def __init__(self, bench):
        self.allocator = rcl.Allocator()
        functions = loop.process, loop.receive, loop.answer
        self.library, self._kept = self._compiled(*functions, *loop.STEPS)

        def of_bench(function):
            def call(*arguments):
                TestedRcl._active = bench
                return function(*arguments)

            return call

        self.process, self.receive, self.answer = (
            of_bench(self.library.callable(each)) for each in functions
        )

    @staticmethod
    @cache
    def _compiled(*functions):
        """Return machine code, and the functions of Python that it calls."""
        integer, pointer = ctypes.c_int32, ctypes.c_void_p

        def publish(publisher, serialized, _):
            TestedRcl._active.published(publisher, serialized)
            return 0

        def gettime(clock, time):
            read, is_wall = TestedRcl._active.clock, clock == externals.REALTIME
            words = ctypes.cast(time, ctypes.POINTER(ctypes.c_int64))
            words[0], words[1] = divmod(read.time_ns() if is_wall else read.monotonic_ns(), SECOND)
            return 0

        def get_now(_, now):
            ctypes.cast(now, ctypes.POINTER(ctypes.c_int64))[0] = TestedRcl._active.clock.time_ns()
            return 0

        called = (
            ctypes.CFUNCTYPE(integer, pointer, pointer, pointer)(publish),
            ctypes.CFUNCTYPE(integer, integer, pointer)(gettime),
            ctypes.CFUNCTYPE(integer, pointer, pointer)(get_now),
        )
        names = 'rcl_publish_serialized_message', 'clock_gettime', 'rcl_clock_get_now'
        addresses = [ctypes.cast(each, pointer).value for each in called]
        return compiled(functions, dict(zip(names, addresses))), called

    @staticmethod
    def clock(clock, now):
        return CLOCK


class TestedSubscription:
    """Memory for a message."""

    def __init__(self):
        self.wait_set, self.info = (np.zeros(64, dtype=np.int64) for _ in range(2))
        self.message = MessageBuffer()
        self.place, self.subscription, self.has_info = np.zeros(1, dtype=np.int64), None, True

    def put(self, data, info):
        self.message.buffer = np.frombuffer(data, np.uint8)
        self.info[0] = info.get('source_timestamp', 0)
        self.info[2] = info.get('publication_sequence_number', 0)
        self.info[5:7] = np.frombuffer(info.get('publisher', bytes(16)), np.int64)

    def data(self):
        return self.message.data

    def message_info(self):
        return {
            'publisher': self.info[5:7].tobytes(),
            'source_timestamp': int(self.info[0]),
            'publication_sequence_number': int(self.info[2]),
        }


class LoopBench(Bench):
    """The node.

    Attributes
    ----------
    called : Counter
        The functions of Python that the loop has called, by name.
    outcomes : list of str
        What the loop has returned for each message, see `OUTCOMES`; 'with python' if it has
        called functions of Python.
    """

    def __init__(self, monkeypatch, *arguments, **parameters):
        super().__init__(monkeypatch, *arguments, **{'backend': 'native', **parameters})
        self.outcomes, self._calls, self.called = [], 0, Counter()
        call = PythonFunction.__call__

        def counted(function, *addresses):
            self._calls += 1
            self.called[function._name] += 1
            return call(function, *addresses)

        monkeypatch.setattr(PythonFunction, '__call__', counted)
        self._taken = TestedSubscription()
        self._rcl = TestedRcl(self)
        self.host.states.use_functions(self._rcl, self._taken)
        self.loop = CompiledLoop(self.host.states, self._rcl, self._taken, lambda: None)
        self.loop.attach()

    def close(self):
        self.loop.detach()
        super().close()

    def published(self, publisher, serialized):
        """Record what the loop publishes."""
        words = ctypes.cast(serialized, ctypes.POINTER(ctypes.c_int64))
        topics = {
            channel.publisher.handle.pointer: channel.topic for channel in self.host.states.channels
        }
        self.sent.append((topics[publisher], ctypes.string_at(words[0], words[1])))

    def receive(self, data, info):
        """Let the loop process a message, and Python what is left of it."""
        with STATE_LOCK:
            self._taken.put(data, info)
        STATE_LOCK.acquire()
        self._calls = 0
        outcome = self._rcl.process(self.host.states.tables.loop)
        is_native = outcome != loop.DONE or not self._calls
        self.outcomes.append(OUTCOMES[outcome] if is_native else 'with python')
        if outcome != loop.DONE:
            self.loop.finish(outcome)
        self.loop.arm()
        STATE_LOCK.release()
        self.host.states.use_snapshots()
