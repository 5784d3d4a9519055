"""A driver at 500 Hz and `bringup` with all outputs subscribed, for a minute.

Counts the states for which an output is missing, those whose output comes later than the next
state, and watches the memory. `bringup` runs with real-time priority where that is permitted, as
it would next to a controller manager, and so does the driver. What remains late is set against the
pauses of the machine itself: a process that does nothing but sleep, at the same priority.
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

ROOT = Path(__file__).resolve().parents[1]
RATE = 500.0  # Hz
PRIORITY = 40
GROWTH = 1000.0  # kB: pages that threads touch for the first time
GROUP = 'A driver at 500 Hz'

SLEEPER = '''
import os, sys, time
from screw_dynamics_ros.ros.scheduling import use_real_time
if int(sys.argv[2]):
    use_real_time(int(sys.argv[2]))
end, pauses, now = time.monotonic() + float(sys.argv[1]), 0, time.monotonic()
while now < end:
    time.sleep(2e-4)
    pauses += time.monotonic() - now > float(sys.argv[3])
    now = time.monotonic()
print(pauses)
'''


def figures(quick: bool) -> Iterator[Figure]:
    """Run the processes on a DDS domain of their own."""
    try:
        import rclpy  # noqa: F401

        from screw_dynamics_ros.cli.demo_processes import Children, free_domain
    except ImportError as error:
        print(f'node endurance is not measured: {error}', file=sys.stderr)
        return
    os.environ.update({
        'ROS_DOMAIN_ID': str(free_domain()),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
    })
    seconds = 10.0 if quick else 60.0
    priority = PRIORITY if permitted() else 0
    with Children() as children:
        children.start('bringup', 'screw_dynamics_ros.nodes.bringup',
                       ['--ros-args', '-p', f'realtime_priority:={priority}'])
        sleeper = subprocess.Popen(
            [sys.executable, '-c', SLEEPER, str(seconds), str(priority), str(1 / RATE)],
            stdout=subprocess.PIPE, text=True)
        recorder = Recorder()
        recorder.subscribe(priority)
        children.start('simulator', 'screw_dynamics_ros.nodes.simulator',
                       ['--ros-args', '-p', f'rate:={RATE}',
                        '-p', f'realtime_priority:={priority}'])
        result = recorder.record(seconds, children.pids()['bringup'])
        pauses = int(sleeper.communicate()[0])
    what = f'{result["states"]} states, {seconds:g} s'
    scheduling = f'real-time priority {priority}' if priority else 'no real-time priority'
    yield Figure(GROUP, 'Panda', 'states that lack an output', result['lost'], unit='',
                 required=0.0, meaning='ours at most', note=what)
    yield Figure(GROUP, 'Panda', 'last output after the next state', result['late'],
                 theirs=pauses, unit='', required=float(pauses), meaning='ours at most',
                 note=f'{scheduling}; theirs: pauses of the machine that long')
    yield Figure(GROUP, 'Panda', 'state to last output', result['median'], unit='us',
                 ours_median=result['p99'], note='median column: 99th percentile')
    yield Figure(GROUP, 'Panda', 'growth of memory', result['growth'], unit='kB', required=GROWTH,
                 meaning='ours at most', note=f'of {result["memory"]:.0f} kB')


def permitted() -> bool:
    """Return whether processes started from here get real-time priority."""
    test = ('import sys; from screw_dynamics_ros.ros.scheduling import use_real_time; '
            f'sys.exit(bool(use_real_time({PRIORITY})))')
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

        from screw_dynamics_ros.ros.scheduling import use_ordinary_time, use_real_time
        end = time.monotonic() + PATIENCE
        while len(found := outputs_of(self.node)) < 10:
            if time.monotonic() > end:
                raise RuntimeError(f'the nodes do not come up; topics: {sorted(found)}')
            time.sleep(0.1)
        self.subscriptions = {
            topic: self.node.create_subscription(kind, topic, print, QoSProfile(depth=5000),
                                                 raw=True)
            for topic, kind in {**found, '/joint_states': JointState}.items()}
        self.unstamped = {topic for topic, kind in found.items()
                          if kind.__name__ == 'Float64MultiArray' and not has_own_rate(topic)}
        if priority:  # the threads of the middleware, which note the times
            use_real_time(priority + 1)
            use_ordinary_time()
        time.sleep(2.0)

    def record(self, seconds: float, process: int) -> dict[str, float]:
        """Record until `seconds` after the first state; then compare."""
        times: dict[str, list[tuple[bytes, int]]] = {topic: [] for topic in self.subscriptions}
        states, memory = times['/joint_states'], []
        while not states or states[-1][1] - states[0][1] < seconds * 1e9:
            time.sleep(0.02)
            for topic, subscription in self.subscriptions.items():
                while (taken := self._take(subscription)) is not None:
                    times[topic].append(taken)
            memory.append(resident(process))
        first, last = states[0][1] + 10**9, states[-1][1] - 10**9  # without start and end
        sent = {self._stamp('/joint_states', data): when for data, when in states}
        wanted = [stamp for stamp, when in sent.items() if first < when < last]
        arrived: dict[str, dict[bytes, int]] = {
            topic: {self._stamp(topic, data): when for data, when in taken}
            for topic, taken in times.items()
            if topic not in self.unstamped and not has_own_rate(topic)}
        complete = [stamp for stamp in wanted
                    if all(stamp in of_topic for of_topic in arrived.values())]
        for topic, of_topic in arrived.items():
            if missing := sum(stamp not in of_topic for stamp in wanted):
                print(f'{topic} lacks {missing} of {len(wanted)}', file=sys.stderr)
        delays = np.array([
            max(of_topic[stamp] for of_topic in arrived.values()) - sent[stamp]
            for stamp in complete]) * 1e-9
        counts = {len(taken) for topic, taken in times.items() if topic in self.unstamped}
        unstamped = max(counts) - min(counts)  # sent one after the other: 1 if cut in between
        begin = len(memory) // 10
        return {
            'states': len(wanted),
            'lost': len(wanted) - len(complete) + max(0, unstamped - 1),
            'late': int((delays > 1 / RATE).sum()),
            'median': float(np.median(delays)) * 1e6,
            'p99': float(np.quantile(delays, 0.99)) * 1e6,
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
