# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states at 1 kHz for ten minutes: `bringup`, a node with Pinocchio, a bare echo, in turn.

`bringup` runs twice: with all outputs subscribed, beside the echo, and with those that the node
with Pinocchio has, beside that. All get the same joint states from the same driver, with the same
profiles of the middleware, quality of service, executor and priority, one after the other, as all
at once would disturb one another on few processors. Counted are states that lack an output;
measured is the time from the sending of a state to the arrival of its last output, and processor
time and memory of the node.

`bringup` with all outputs runs for ten minutes, the others for a quarter of that;
`SECONDS_AT_1_KHZ=60` in the environment makes all runs shorter.

Which outputs come for each state is found out in the first seconds; those with a rate of their own
(markers, measures of singularity) and those without a stamp (arrays) are subscribed and taken, too,
but not assigned to states.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure
from node_endurance import OUTPUTS_OF_STATES, PRIORITY, permitted, resident
from node_latency import HERE, PATIENCE, ROOT, STATE, outputs_of, publish_description, same_profiles
from numpy.typing import NDArray

RATE = 1000.0  # Hz
LONG, QUICK = 600.0, 40.0  # s, with all outputs
PART = 0.25  # of that for the others
STEADY = 3.0  # s without a new output, after which all are known
LEAD, POINTS = 30.0, 500  # s, points of a followed trajectory beyond the time of a run
SETTLED = 3.0  # s from the first output, which do not count
URDF = str(ROOT / 'urdf' / 'panda.urdf')
PINOCCHIO, ECHO = 'Pinocchio and rclpy', 'echo of objects in rclpy'
ALL, SAME = 'all outputs', 'outputs of theirs'
STATES = 'ten outputs'
MESSAGE, COMMANDS = 'one message with all outputs', 'torque commands'
FOLLOWED = 'torque commands along a followed trajectory'
TALOS, TALOS_ECHO = 'one message with all outputs of TALOS', 'echo of states of TALOS'
TOGETHER, SEPARATE = 'eight arms in one process', 'ours, a process for each'
#: Namespaces of the robots, if there are several; a state then needs the outputs of all of them.
ARMS = [f'/arm{k}' for k in range(8)]
SPACES = {TOGETHER: ARMS, SEPARATE: ARMS}

#: The only topic that is subscribed.
ONLY = {
    MESSAGE: '/bringup/model_state',
    TALOS: '/bringup/model_state',
    COMMANDS: '/dynamics/joint_command',
    FOLLOWED: '/dynamics/joint_command',
}

# Where the stamp of a serialized message stands: after the encapsulation, of /tf after a length.
STAMP_AT: dict[str, int] = defaultdict(lambda: 4, {'/tf': 8})


@dataclass(frozen=True)
class Run:
    """What was measured of one node.

    Attributes
    ----------
    sent, lost : int
        States, and those that lack an output.
    stamps, delays : (n,) arrays
        When states were sent [ns], and the time from there to the last output [s].
    processor : float
        Share of one processor [%].
    memory, growth : float
        At the end, and since it had settled [MB].
    outputs : int
        Topics with messages.
    """

    sent: int
    lost: int
    stamps: NDArray[np.int64]
    delays: NDArray[np.float64]
    processor: float
    memory: float
    growth: float
    outputs: int


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in processes and on DDS domains of their own."""
    if not prepare():
        return
    seconds = float(os.environ.get('SECONDS_AT_1_KHZ', QUICK if quick else LONG))
    priority = PRIORITY if permitted() else 0
    runs = {}
    for name in (ECHO, ALL, PINOCCHIO, SAME):
        length = seconds if name == ALL else seconds * PART
        print(f'  {name}: {length:g} s ...', file=sys.stderr, flush=True)
        runs[name] = in_a_process_of_its_own(name, length, priority)
    scheduling = f'real-time priority {priority}' if priority else 'no real-time priority'
    for name, peer in ((ALL, ECHO), (SAME, PINOCCHIO)):
        yield from compared(name, runs[name], peer, runs[peer], scheduling)


def prepare() -> bool:
    """Set what all processes inherit; return whether nodes can be measured."""
    try:
        import pinocchio_node  # noqa: F401
        import rclpy  # noqa: F401

        from screw_dynamics_ros.ros.process.executor import use_profiles
    except ImportError as error:
        print(f'nodes at 1 kHz are not measured: {error}', file=sys.stderr)
        return False
    paths = [str(ROOT), str(ROOT / 'test'), str(HERE), os.environ.get('PYTHONPATH', '')]
    os.environ.update(
        {
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'PYTHONPATH': os.pathsep.join(paths),
        }
    )
    use_profiles()  # all processes inherit what this sets
    return True


def compared(name: str, ours: Run, peer: str, theirs: Run, how: str) -> Iterator[Figure]:
    """Return the figures of ours beside one peer."""
    group, robot = '1 kHz', 'Panda'
    outputs = f'{ours.outputs} outputs, theirs {theirs.outputs}'
    yield Figure(
        group,
        robot,
        f'{name}: states that lack one',
        ours.lost,
        peer=peer,
        theirs=theirs.lost,
        unit='',
        note=f'of {ours.sent}, theirs of {theirs.sent}; {how}',
    )
    a, b = (np.quantile(run.delays, (0.5, 0.99, 1.0)) * 1e6 for run in (ours, theirs))
    yield Figure(
        group,
        robot,
        f'{name}: state to last one',
        a[0],
        a[1],
        peer,
        b[0],
        b[1],
        ratio=a[0] / b[0],
        meaning='ratio at most',
        note=outputs,
    )
    yield Figure(
        group, robot, f'{name}: longest of all', a[2] / 1e3, peer=peer, theirs=b[2] / 1e3, unit='ms'
    )
    yield Figure(
        group,
        robot,
        f'{name}: share of a processor',
        ours.processor,
        peer=peer,
        theirs=theirs.processor,
        unit='%',
    )
    yield Figure(
        group,
        robot,
        f'{name}: memory',
        ours.memory,
        peer=peer,
        theirs=theirs.memory,
        unit='MB',
        note=f'grown by {ours.growth:.2g}, theirs {theirs.growth:.2g} MB',
    )


# --- one node -------------------------------------------------------------------------------------


def in_a_process_of_its_own(name: str, seconds: float, priority: int, rate: float = RATE) -> Run:
    """Measure one node; a process hears one node only."""
    with tempfile.TemporaryDirectory(prefix='screw_dynamics_benchmark_') as folder:
        file = Path(folder) / 'delays.npy'
        numbers = map(str, (seconds, priority, rate))
        command = [sys.executable, __file__, name, *numbers, str(file)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        sent, delays = np.load(file)
        run = json.loads(done.stdout.splitlines()[-1])
        return Run(stamps=sent, delays=delays * 1e-9, **run)


def measured(
    name: str, seconds: float, priority: int, rate: float
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Start node and driver, and measure from here.

    Returns what `Run` has, and stamps and delays of all states with all outputs (2, n) [ns].
    """
    import rclpy
    from pinocchio_node import TOPICS
    from sensor_msgs.msg import JointState

    from screw_dynamics_msgs.msg import ModelState
    from screw_dynamics_ros.ros.process.children import Children, free_domain

    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    rclpy.init()
    node = rclpy.create_node('kilohertz')
    urdf = talos() if name in (TALOS, TALOS_ECHO) else Path(URDF)
    spaces = SPACES.get(name, [''])
    for space in spaces:
        publish_description(node, urdf.read_text(encoding='utf-8'), space)
    ours = (
        'screw_dynamics_ros',
        ['bringup', '--ros-args', '-p', f'realtime_priority:={priority}', '-p', 'enabled:=true'],
    )
    echo = ('echo_node', [str(priority), '--ros-args', '-r', 'echo_in:=/joint_states'])
    with_message = ours[0], [*ours[1], '-p', 'model_state:=[all]']
    bringup, options = with_message
    started = {
        ALL: ours,
        SAME: ours,
        STATES: ours,
        COMMANDS: ours,
        FOLLOWED: ours,
        MESSAGE: with_message,
        TALOS: with_message,
        PINOCCHIO: ('pinocchio_node', [URDF, str(priority)]),
        TALOS_ECHO: echo,
        ECHO: echo,
        TOGETHER: (bringup, [options[0], *ARMS, *options[1:]]),
        SEPARATE: with_message,
    }
    with Children() as children, tempfile.TemporaryDirectory() as folder:
        module, options = started[name]
        if name == SEPARATE:
            for space in spaces:
                children.start(f'node_{space[1:]}', module, [*options, '-r', f'__ns:={space}'])
        else:
            children.start('node', module, options)
        if name in SPACES:
            topics = {f'{space}{ONLY[MESSAGE]}': ModelState for space in spaces}
            wait(lambda: all(map(node.count_publishers, topics)), children)
            time.sleep(STEADY)
        elif started[name] is echo:
            wait(lambda: node.count_publishers('/echo_out') > 0, children)
            topics = {'/echo_out': JointState}
        else:
            wait(lambda: len(outputs_of(node)) >= 10, children)
            topics = {}
            while topics != (now := outputs_of(node)):
                topics = now
                time.sleep(STEADY)
            if name == SAME:
                topics = {topic: topics[topic] for topic in TOPICS}
            if name in ONLY:
                topics = {topic: kind for topic, kind in topics.items() if topic == ONLY[name]}
            if name == STATES:
                topics = {topic: kind for topic, kind in topics.items() if STATE.match(topic)}
        recorder = Recorder(node, topics, priority)
        file = Path(folder) / 'stamps'
        arguments = [str(rate), str(file), str(urdf), str(priority), *spaces]
        children.start('driver', 'joint_state_driver', arguments)
        if name == FOLLOWED:
            publish_trajectory(node, seconds + LEAD)
        pids = children.pids()
        print(same_profiles(pids.values()), file=sys.stderr)
        run = recorder.record(seconds, [p for each, p in pids.items() if each != 'driver'])
        children.check()
        os.kill(pids['driver'], signal.SIGTERM)
        wait(file.exists, None)
        time.sleep(0.5)
        return recorder.conclude(run, np.fromfile(file, dtype=np.int64))


def talos() -> Path:
    """Return the URDF of a humanoid with 32 independent joints."""
    from support.robots import urdf_path

    return urdf_path('talos_full_v2')


def publish_trajectory(node: Any, seconds: float) -> None:
    """Give the node `dynamics` a trajectory of a Panda near the states of the driver."""
    from joint_state_driver import MIDDLE
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.ros.messages.trajectories import set_duration

    trajectory = JointTrajectory(joint_names=Robot.from_urdf(URDF, backend='reference').joint_names)
    for t in np.linspace(0.0, seconds, POINTS):
        point = JointTrajectoryPoint(positions=np.array(MIDDLE) + 0.01 * np.sin(t))
        set_duration(point.time_from_start, t)
        trajectory.points.append(point)
    publisher = node.create_publisher(JointTrajectory, '/dynamics/reference', 1)
    wait(lambda: publisher.get_subscription_count() > 0, None)
    publisher.publish(trajectory)


def wait(condition: Any, children: Any) -> None:
    """Wait until something holds, while the processes run."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if children is not None:
            children.check()
        if time.monotonic() > end:
            raise RuntimeError('the processes do not come up')
        time.sleep(0.1)


class Recorder:
    """Takes all messages, and assigns those with a stamp to states."""

    def __init__(self, node: Any, topics: dict[str, type], priority: int) -> None:
        from rclpy.qos import QoSProfile

        self.subscriptions = {
            topic: node.create_subscription(kind, topic, print, QoSProfile(depth=5000), raw=True)
            for topic, kind in topics.items()
        }
        self.stamped = {t for t, kind in topics.items() if hasattr(kind, 'header') or t == '/tf'}
        if priority:  # the threads of the middleware note the times
            from screw_dynamics_ros.ros.process.scheduling import use_real_time

            use_real_time(priority)
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority - 1))
        self.counts: Counter[str] = Counter()
        self.open: dict[bytes, list[int]] = {}
        self.done: dict[int, int] = {}  # state [ns] to delay [ns]
        self.required: set[str] = set()
        gc.freeze()
        gc.disable()

    def record(self, seconds: float, processes: list[int]) -> dict[str, float]:
        """Record for some seconds after all has settled; return what the processes took."""
        while not self.counts.keys() & self.stamped:
            self.take_all()
        self.take_for(SETTLED)
        most = max(self.counts[topic] for topic in self.stamped)
        self.required = {t for t in self.stamped if self.counts[t] > OUTPUTS_OF_STATES * most}
        self.take_for(1.0)
        self.done.clear()
        self.open.clear()
        begin, before = sum(map(processor_time, processes)), time.monotonic()
        memory = sum(map(resident, processes))
        self.first = time.time_ns()
        self.take_for(seconds)
        self.last = time.time_ns()
        elapsed = time.monotonic() - before
        share = 100.0 * (sum(map(processor_time, processes)) - begin) / elapsed
        now = sum(map(resident, processes))
        self.take_for(1.0)
        return {'processor': share, 'memory': now / 1e3, 'growth': (now - memory) / 1e3}

    def conclude(
        self, run: dict[str, float], stamps: NDArray[np.int64]
    ) -> tuple[dict[str, Any], NDArray[np.int64]]:
        """Compare with what the driver has sent; returns what `measured` does."""
        wanted = stamps[(stamps >= self.first) & (stamps < self.last)].tolist()
        found = [(stamp, self.done[stamp]) for stamp in wanted if stamp in self.done]
        counts = {'sent': len(wanted), 'lost': len(wanted) - len(found)}
        outputs = {'outputs': len(self.counts)}
        return {**counts, **outputs, **run}, np.array(found, dtype=np.int64).reshape(-1, 2).T

    def take_for(self, seconds: float) -> None:
        """Take what comes within some seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.take_all()

    def take_all(self) -> None:
        """Take what has come, and sleep a little."""
        for topic, subscription in self.subscriptions.items():
            take, kind = subscription.handle.take_message, subscription.msg_type
            while (taken := take(kind, True)) is not None:
                self.counts[topic] += 1
                if topic in self.required or (topic in self.stamped and not self.required):
                    self.assign(topic, taken[0], taken[1]['received_timestamp'])
        time.sleep(0.01)

    def assign(self, topic: str, data: bytes, arrival: int) -> None:
        """Count an output for its state."""
        start = STAMP_AT[topic]
        stamp = data[start : start + 8]
        state = self.open.setdefault(stamp, [0, 0])
        state[0] += 1
        state[1] = max(state[1], arrival)
        if state[0] == len(self.required):
            del self.open[stamp]
            sent = int.from_bytes(stamp[:4], 'little') * 10**9 + int.from_bytes(stamp[4:], 'little')
            self.done[sent] = state[1] - sent


def processor_time(process: int) -> float:
    """Return the processor time of a process so far [s]."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main(name: str, seconds: str, priority: str, rate: str, file: str) -> None:
    """Measure one node; print the numbers, write stamps and delays."""
    run, delays = measured(name, float(seconds), int(priority), float(rate))
    np.save(file, delays)
    print(json.dumps(run), flush=True)
    os._exit(0)  # what the middleware does at the end is of no interest


if __name__ == '__main__':
    main(*sys.argv[1:])
