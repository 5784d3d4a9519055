# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Message in to last message out: `bringup` with its outputs subscribed, against a bare echo.

Once with the outputs that make up the state of the model (frames, Jacobian, twist, torques, mass
matrix, wrench), once with every topic there is: single terms, energies, momentum, markers.

A client publishes a joint state, waits for the last of the messages `bringup` makes of it,
publishes the same to the echo, and waits for its answer: thousands of times, in turns. Both answers
are single messages taken by the same executor; all other outputs are subscribed and delivered too,
but by a node that does not spin, so that the time the client would need to take them is not counted
as that of `bringup`.

The echo uses the profiles of the middleware, the quality of service and the executor of our nodes;
that all processes got the same is looked up and part of the output.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from figures import Figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

MOST = 1.5  # required ratio to the echo
#: Topics of the model state; the others show parts of it, or have a rate of their own.
STATE = re.compile(
    '/tf$|/kinematics/(jacobian|twist)/|/wrench_estimator/(external_torque$|wrench/)'
    '|/dynamics/(gravity|coriolis|feedforward|commands|mass_matrix)$'
)
NODES = ('/kinematics/', '/dynamics/', '/wrench_estimator/', '/bringup/model_state')
#: Published only while a contact is located, and only with a map of residuals.
CONDITIONAL = ('/contact_force', '/contact_point', '/residual_confidence')
LATCHED = ('/contact', '/collision')
PATIENCE = 60.0  # s for nodes to come up and compile
LOST = 1.0  # s after which a message counts as lost


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in processes and on a DDS domain of their own."""
    try:
        import rclpy  # noqa: F401

        from screw_dynamics_ros.ros.process.children import Children, free_domain
        from screw_dynamics_ros.ros.process.executor import use_profiles
    except ImportError as error:
        print(f'node latency is not measured: {error}', file=sys.stderr)
        return
    environment = {
        'ROS_DOMAIN_ID': str(free_domain()),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'PYTHONPATH': os.pathsep.join(
            [str(ROOT), str(ROOT / 'test'), str(HERE), os.environ.get('PYTHONPATH', '')]
        ),
    }
    os.environ.update(environment)
    use_profiles()  # all processes inherit what this sets
    with Children() as children:
        children.start(
            'bringup',
            'screw_dynamics_ros',
            ['bringup', '--ros-args', '-p', 'enabled:=true', '-p', 'max_delay:=0.0'],
        )
        children.start('echo', 'echo_node', [])
        profiles = same_profiles(children.pids().values())
        results = {}
        for what in ('state', 'everything'):
            done = subprocess.run(
                [sys.executable, str(HERE / 'node_latency.py'), what, '300' if quick else '3000'],
                stdout=subprocess.PIPE,
                text=True,
            )
            if done.returncode:
                output = {name: children.output(name) for name in children.pids()}
                print(f'node latency could not be measured; last output: {output}', file=sys.stderr)
                return
            results[what] = json.loads(done.stdout)
    for what, result in results.items():
        yield from compared_with_echo(what, result, profiles)


def compared_with_echo(outputs: str, result: dict[str, Any], profiles: str) -> Iterator[Figure]:
    """Return the figures of one run of the client."""
    ours = result['times']['bringup']
    note = (
        f'{len(result["outputs"])} messages out, last: {result["last"]}, lost: {result["lost"]}; '
        f'echo and ours: {profiles}, {result["qos"]}'
    )
    for name, what, required in (
        ('echo', 'echo of objects in rclpy', MOST),
        ('raw', 'echo of bytes in rclpy', float('nan')),
    ):
        theirs = result['times'][name]
        yield Figure(
            'Node latency, message in to last message out; ratio: ours / theirs',
            'Panda',
            outputs,
            ours['median'],
            ours['p99'],
            what,
            theirs['median'],
            theirs['p99'],
            ratio=theirs['ratio'][1],
            ratio_low=theirs['ratio'][0],
            ratio_high=theirs['ratio'][2],
            required=required,
            meaning='ratio at most',
            note=note,
        )


def same_profiles(processes: Iterable[int]) -> str:
    """Return the middleware and the profiles of it that processes were started with."""
    from screw_dynamics_ros.ros.process.executor import PROFILES

    names = ('RMW_IMPLEMENTATION', *(variable for variable, *_ in PROFILES))
    found = set()
    for process in processes:
        variables = Path(f'/proc/{process}/environ').read_text().split('\0')
        found.add(tuple(v for name in names for v in variables if v.startswith(f'{name}=')))
    if len(found) > 1:
        raise RuntimeError(f'the processes differ in {sorted(found)}')
    (values,) = found
    files = [Path(value.partition('=')[2]).name for value in values]
    return f'profiles {", ".join(files)}' if files else 'no profiles'


def description() -> str:
    """Return the URDF of the robot."""
    return (ROOT / 'urdf' / 'panda.urdf').read_text(encoding='utf-8')


def publish_description(node: Any, text: str = '', namespace: str = '') -> None:
    """Publish a robot description, for nodes that come later, too; empty for that of a Panda."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    topic = f'{namespace}/robot_description' if namespace else 'robot_description'
    node.create_publisher(String, topic, latched).publish(String(data=text or description()))


def outputs_of(node: Any, conditional: bool = False) -> dict[str, type]:
    """Return the topics `bringup` offers, as far as `node` has discovered them.

    Without those that are published only while a contact is located or residuals are mapped.
    """
    found = {}
    for topic, types in node.get_topic_names_and_types():
        package, _, kind = types[0].partition('/msg/')
        if (topic.startswith(NODES) or topic == '/tf') and node.count_publishers(topic):
            found[topic] = getattr(importlib.import_module(f'{package}.msg'), kind)
    return {
        topic: kind
        for topic, kind in found.items()
        if kind.__name__ != 'ParameterEvent' and (conditional or not topic.endswith(CONDITIONAL))
    }


def has_own_rate(topic: str) -> bool:
    """Return whether a topic leaves out most joint states."""
    return topic.endswith('/markers') or '/singularity/' in topic


class Client:
    """Publishes joint states and takes the time until the answers are there."""

    def __init__(self) -> None:
        import rclpy
        from sensor_msgs.msg import JointState

        from screw_dynamics_ros.core import Robot
        from screw_dynamics_ros.ros.process.executor import make_executor

        self.joints = list(Robot.from_urdf(description(), backend='reference').joint_names)
        rclpy.init()
        self.node = rclpy.create_node('latency_client')
        self.silent = rclpy.create_node('latency_listener')  # never spun
        self.executor = make_executor('auto')
        self.executor.add_node(self.node)
        self.type = JointState
        publish_description(self.node)
        self.publishers = {
            name: self.node.create_publisher(JointState, topic, 10)
            for name, topic in (('bringup', 'joint_states'), ('echo', 'echo_in'), ('raw', 'raw_in'))
        }
        self.arrived: dict[str, int] = {}
        for name in ('echo', 'raw'):
            self.listen(name, f'/{name}_out', JointState)
        self.stamp = 0

    def listen(self, name: str, topic: str, kind: type) -> object:
        """Note when a message of a topic arrives."""

        def take(_: bytes) -> None:
            self.arrived[name] = time.perf_counter_ns()

        return self.node.create_subscription(kind, topic, take, 10, raw=True)

    def wait(self, condition, seconds: float) -> bool:
        """Spin until a condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.executor.spin_once(timeout_sec=0.1)
        return True

    def publish(self, name: str) -> int:
        """Publish the next joint state, a small motion away from singular configurations."""
        from math import sin

        self.stamp += 1
        message = self.type()
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.name = self.joints
        base = [0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02]
        phase = 0.01 * self.stamp
        message.position = [x + 0.01 * sin(phase + k) for k, x in enumerate(base)]
        message.velocity = [0.1 * sin(phase + 2 * k) for k in range(8)]
        message.effort = [1.0 * k for k in range(8)]
        start = time.perf_counter_ns()
        self.publishers[name].publish(message)
        return start

    def last_topic(self, outputs: dict[str, type]) -> str:
        """Return the output that mostly arrives last; every one must arrive.

        Flags are latched, which the echo is not: they are awaited, but none of them is the last.
        """
        candidates = [topic for topic in outputs if not topic.endswith(LATCHED)]
        subscriptions = [self.listen(topic, topic, kind) for topic, kind in outputs.items()]
        last: list[str] = []
        for _ in range(400):
            self.arrived.clear()
            self.publish('bringup')
            if self.wait(lambda: set(outputs) <= set(self.arrived), 0.5):
                last.append(max(candidates, key=self.arrived.__getitem__))
            if len(last) == 60:
                break
        missing = set(outputs) - set(self.arrived)
        for subscription in subscriptions:
            self.node.destroy_subscription(subscription)
        if len(last) < 60:
            raise RuntimeError(f'not all outputs arrive, missing at the end: {sorted(missing)}')
        return max(set(last), key=last.count)

    def same_qos(self, last: str) -> str:
        """Return the quality of service in which both answers, and both questions, agree."""
        found = []
        for answers, ours, echo in (
            (True, last, '/echo_out'),
            (False, '/joint_states', '/echo_in'),
        ):
            both = []
            for topic in (ours, echo):
                look_up = (
                    self.node.get_publishers_info_by_topic
                    if answers
                    else self.node.get_subscriptions_info_by_topic
                )
                both.append(
                    {
                        f'{q.reliability.name} {q.durability.name}'.lower()
                        for q in (info.qos_profile for info in look_up(topic))
                    }
                )
            if both[0] != both[1]:
                raise RuntimeError(f'{ours} and {echo} differ: {both}')
            found.append(f'{"answers" if answers else "states"} {", ".join(sorted(both[0]))}')
        return '; '.join(found)

    def run(self, what: str, samples: int) -> dict[str, object]:
        """Measure with topics of the 'state', or 'everything': medians and 99 % in microseconds."""
        ready = self.wait(
            lambda: (
                len(outputs_of(self.node)) >= 8
                and all(
                    publisher.get_subscription_count() for publisher in self.publishers.values()
                )
            ),
            PATIENCE,
        )
        if not ready:
            raise RuntimeError(f'the nodes do not come up; topics: {sorted(outputs_of(self.node))}')
        self.wait(lambda: False, 1.0)
        outputs = {
            topic: kind
            for topic, kind in outputs_of(self.node).items()
            if what == 'everything' or STATE.match(topic)
        }
        last = self.last_topic(
            {topic: kind for topic, kind in outputs.items() if not has_own_rate(topic)}
        )
        for topic, kind in outputs.items():
            if topic != last:
                self.silent.create_subscription(kind, topic, print, 10, raw=True)
        self.listen('bringup', last, outputs[last])
        self.wait(lambda: False, 1.0)
        times: dict[str, list[float]] = {name: [] for name in self.publishers}
        qos = self.same_qos(last)
        lost = 0
        for k in range(samples + 50):
            for name in times:
                self.arrived.pop(name, None)
                start = self.publish(name)
                if not self.wait(lambda name=name: name in self.arrived, LOST):
                    lost += 1
                    self.arrived[name] = start + round(1e9 * LOST)
                if k >= 50:  # the first ones warm up
                    times[name].append((self.arrived[name] - start) / 1e3)
                time.sleep(5e-4)
        return {
            'outputs': sorted(outputs),
            'last': last,
            'lost': lost,
            'qos': qos,
            'times': {
                name: {
                    'median': statistics.median(values),
                    'p99': statistics.quantiles(values, n=100)[98],
                    'ratio': ratio_of_turns(times['bringup'], values),
                }
                for name, values in times.items()
            },
        }


def ratio_of_turns(ours: list[float], theirs: list[float]) -> list[float]:
    """Return ours / theirs, compared turn by turn: all but a tenth above, median, below."""
    tenths = statistics.quantiles((a / b for a, b in zip(ours, theirs)), n=10)
    return [tenths[0], tenths[4], tenths[8]]


if __name__ == '__main__':
    print(json.dumps(Client().run(sys.argv[1], int(sys.argv[2]))))
    sys.stdout.flush()
    os._exit(0)  # what the middleware does at the end is of no interest
