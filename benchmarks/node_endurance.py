# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A driver at 500 Hz and `bringup` with all outputs subscribed, for a minute.

Counts the states for which an output is missing, those whose last output comes later than the next
state, and watches the memory. `bringup` runs with real-time priority where that is permitted, as
it would next to a controller manager, and so do the driver and those who listen. Then processors
are kept awake, as those of a robot's computer are (idle=poll, or 0 in /dev/cpu_dma_latency).

What is late may be the machine's doing: on each processor a process before all others does nothing
but sleep, and notes when it slept for too long. A state is late by itself if no processor paused
between its being sent and its last output, nor so shortly before that the others were not done
with what had piled up. Late states that a pause excuses are counted too, and limited: where a
machine pauses too often, the benchmark proves nothing, and ends with status 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure
from node_latency import PATIENCE, has_own_rate, outputs_of, publish_description
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
RATE = 500.0  # Hz
PRIORITY = 40
#: Every state counts, as in the analysis of a recording, and all topics are published.
RECORDING = [
    '-p',
    'max_delay:=0.0',
    '-p',
    'enabled:=true',
    '-p',
    'qos_overrides./joint_states.subscription.depth:=1000',
]
OUTPUTS_OF_STATES = 0.9  # of all states have those outputs that come for each state
GROWTH = 1000.0  # kB: pages that threads touch for the first time
EXCUSED = 1.0  # percent of the states that may be late because the machine paused
GROUP = 'A driver at 500 Hz'

# On processor argv[1], until asked to end; then prints begin and end of its pauses [s]: sleeps that
# took twice as long as asked.
SLEEPER = """
import json, os, signal, sys, time
from screw_dynamics_ros.ros.process.scheduling import use_real_time
os.sched_setaffinity(0, {int(sys.argv[1])})
if int(sys.argv[2]):
    use_real_time(int(sys.argv[2]))
nap, ended, pauses, now = 2.5e-4, [], [], time.time()
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
while not ended:
    before = now
    time.sleep(nap)
    now = time.time()
    if now - before > 2 * nap:
        pauses.append((before, now))
print(json.dumps(pauses))
"""

# On processor argv[1], after all others.
WAKER = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True:
    pass
"""


def figures(quick: bool) -> Iterator[Figure]:
    """Run the processes on a DDS domain of their own."""
    try:
        import rclpy  # noqa: F401

        from screw_dynamics_ros.ros.process.children import Children, free_domain
    except ImportError as error:
        print(f'node endurance is not measured: {error}', file=sys.stderr)
        return
    os.environ.update(
        {
            'ROS_DOMAIN_ID': str(free_domain()),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
        }
    )
    seconds = 10.0 if quick else 60.0
    priority = PRIORITY if permitted() else 0
    with Children() as children:
        children.start(
            'bringup',
            'screw_dynamics_ros',
            ['bringup', '--ros-args', '-p', f'realtime_priority:={priority}', *RECORDING],
        )
        recorder = Recorder()
        recorder.subscribe(priority)
        sleepers = on_each_processor(SLEEPER, str(priority and priority + 2))
        wakers = on_each_processor(WAKER) if priority else []
        children.start(
            'simulator',
            'screw_dynamics_ros',
            [
                'simulator',
                '--ros-args',
                '-p',
                f'rate:={RATE}',
                '-p',
                f'realtime_priority:={priority}',
            ],
        )
        result = recorder.record(seconds, children.pids()['bringup'])
        for process in sleepers + wakers:
            process.terminate()
        pauses = np.array(
            [pause for sleeper in sleepers for pause in json.loads(sleeper.communicate()[0])]
        ).reshape(-1, 2)
    what = f'{result["states"]} states, {seconds:g} s'
    scheduling = f'real-time priority {priority}' if priority else 'no real-time priority'
    late = result['delays'] > 1 / RATE
    paused = follows_a_pause(result['sent'], result['delays'], pauses)
    yield Figure(
        GROUP,
        'Panda',
        'states that lack an output',
        result['lost'],
        unit='',
        required=0.0,
        meaning='ours at most',
        fails=True,
        note=what,
    )
    yield Figure(
        GROUP,
        'Panda',
        'late while the machine ran',
        int((late & ~paused).sum()),
        unit='',
        required=0.0,
        meaning='ours at most',
        fails=bool(priority),
        note=f'last output after the next state; {scheduling}',
    )
    yield Figure(
        GROUP,
        'Panda',
        'late, excused by pauses',
        100.0 * int((late & paused).sum()) / result['states'],
        unit='%',
        required=EXCUSED,
        meaning='ours at most',
        fails=True,
        note=f'{(late & paused).sum()} of {late.sum()} late states; the machine paused '
        f'{len(pauses)} times, which {paused.sum()} states met',
    )
    yield Figure(
        GROUP,
        'Panda',
        'state to last output',
        float(np.median(result['delays'])) * 1e6,
        float(np.quantile(result['delays'], 0.99)) * 1e6,
        note=f'longest {1e3 * result["delays"].max():.1f} ms',
    )
    yield Figure(
        GROUP,
        'Panda',
        'growth of memory',
        result['growth'],
        unit='kB',
        required=GROWTH,
        meaning='ours at most',
        note=f'of {result["memory"]:.0f} kB',
    )


def on_each_processor(program: str, *arguments: str) -> list[subprocess.Popen[str]]:
    """Start a Python program for each processor, which it gets as its first argument."""
    from screw_dynamics_ros.ros.process.children import end_with_parent

    return [
        subprocess.Popen(
            [sys.executable, '-c', program, str(processor), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=end_with_parent,
        )
        for processor in sorted(os.sched_getaffinity(0))
    ]


def follows_a_pause(sent: Array, delays: Array, pauses: Array) -> NDArray[np.bool_]:
    """Return which states (n,) met a pause of the machine, or what it had left to do [s].

    Less than half of the time is spent on states: what piles up in a pause is done after another
    time as long as the pause, and a period.
    """
    begin, end = pauses.T
    until = end + (end - begin) + 1 / RATE
    return ((begin < (sent + delays)[:, None]) & (sent[:, None] < until)).any(axis=1)


def permitted() -> bool:
    """Return whether processes started from here get real-time priority."""
    test = (
        'import sys; from screw_dynamics_ros.ros.process.scheduling import use_real_time; '
        f'sys.exit(bool(use_real_time({PRIORITY})))'
    )
    return subprocess.run([sys.executable, '-c', test]).returncode == 0


class Recorder:
    """Takes all messages with the times at which the middleware received them."""

    def __init__(self) -> None:
        import rclpy

        rclpy.init()
        self.node = rclpy.create_node('endurance')
        publish_description(self.node)

    def subscribe(self, priority: int) -> None:
        """Subscribe to the joint states and to everything `bringup` offers."""
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState

        from screw_dynamics_ros.ros.process.scheduling import use_real_time

        end = time.monotonic() + PATIENCE
        while len(outputs_of(self.node)) < 10:
            if time.monotonic() > end:
                raise RuntimeError(
                    f'the nodes do not come up; topics: {sorted(outputs_of(self.node))}'
                )
            time.sleep(0.1)
        time.sleep(1.0)
        found = outputs_of(self.node)
        self.subscriptions = {
            topic: self.node.create_subscription(
                kind, topic, print, QoSProfile(depth=5000), raw=True
            )
            for topic, kind in {**found, '/joint_states': JointState}.items()
        }
        self.unstamped = {
            topic
            for topic, kind in found.items()
            if kind.__name__ == 'Float64MultiArray' and not has_own_rate(topic)
        }
        # The threads of the middleware, which note the times, have the priority of the nodes:
        # before them they would interrupt who sends although another processor is idle.
        if priority:
            use_real_time(priority)
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority - 1))
        time.sleep(2.0)

    def record(self, seconds: float, process: int) -> dict[str, Any]:
        """Record until `seconds` after the first state; then compare."""
        times: dict[str, list[tuple[bytes, int]]] = {topic: [] for topic in self.subscriptions}
        states, memory = times['/joint_states'], []
        while not states or states[-1][1] - states[0][1] < seconds * 1e9:
            time.sleep(0.02)
            for topic, subscription in self.subscriptions.items():
                while (taken := self._take(subscription)) is not None:
                    times[topic].append(taken)
            memory.append(resident(process))
        sent = {self._stamp('/joint_states', data): when for data, when in states}
        arrived: dict[str, dict[bytes, int]] = {
            topic: {self._stamp(topic, data): when for data, when in taken}
            for topic, taken in times.items()
            if topic not in self.unstamped and not has_own_rate(topic)
        }
        # Wrenches that are not observable are not published.
        least = OUTPUTS_OF_STATES * max(map(len, arrived.values()))
        arrived = {topic: each for topic, each in arrived.items() if len(each) > least}
        # From the first answer on, which comes when driver and nodes have found each other.
        first = max(min(of_topic.values()) for of_topic in arrived.values()) + 10**9
        last = states[-1][1] - 10**9
        wanted = [stamp for stamp, when in sent.items() if first < when < last]
        complete = [
            stamp for stamp in wanted if all(stamp in of_topic for of_topic in arrived.values())
        ]
        for topic, of_topic in arrived.items():
            if missing := sum(stamp not in of_topic for stamp in wanted):
                print(f'{topic} lacks {missing} of {len(wanted)}', file=sys.stderr)
        counts = {len(times[topic]) for topic in self.unstamped if len(times[topic]) > least}
        unstamped = max(counts) - min(counts)  # sent one after the other: 1 if cut in between
        begin = len(memory) // 10
        return {
            'states': len(wanted),
            'lost': len(wanted) - len(complete) + max(0, unstamped - 1),
            'sent': np.array([sent[stamp] for stamp in complete]) * 1e-9,
            'delays': np.array(
                [
                    max(of_topic[stamp] for of_topic in arrived.values()) - sent[stamp]
                    for stamp in complete
                ]
            )
            * 1e-9,
            'memory': memory[begin],
            'growth': memory[-1] - memory[begin],
        }

    @staticmethod
    def _take(subscription: Any) -> tuple[bytes, int] | None:
        taken = subscription.handle.take_message(subscription.msg_type, True)
        return None if taken is None else (taken[0], taken[1]['received_timestamp'])

    @staticmethod
    def _stamp(topic: str, data: bytes) -> bytes:
        start = 8 if topic == '/tf' else 4  # after the encapsulation, and the number of transforms
        return data[start : start + 8]


def resident(process: int) -> float:
    """Return the memory of a process [kB]."""
    pages = int(Path(f'/proc/{process}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e3


if __name__ == '__main__':
    print(json.dumps([figure.as_dict() for figure in figures('--quick' in sys.argv)], indent=1))
