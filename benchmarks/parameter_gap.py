# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How long a change of a parameter holds up joint states: each one, at all nodes of `bringup`.

Outputs are published by the thread that also takes changes of parameters. For each parameter that
may change while the nodes run and leaves the robot what it is, the same value and another one are
set, and the time is taken for which that thread is busy with it.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

from figures import Figure

REPETITIONS = 20
REQUIRED = 5.0  # ms
ROBOT = {'robot_description'}  # another robot is another matter


def figures(quick: bool) -> list[Figure]:
    """Return the longest time."""
    longest, name, median = measure(3 if quick else REPETITIONS)
    return [
        Figure(
            'Nodes',
            'Panda',
            'change of a parameter, slowest one',
            longest,
            unit='ms',
            required=REQUIRED,
            meaning='ours at most',
            note=f'{name}; median of all parameters: {median:.2g} ms',
        )
    ]


def measure(repetitions: int) -> tuple[float, str, float]:
    """Return the longest time [ms], of which parameter, and the median of all.

    The time of a parameter is the median of some repetitions: the machine itself pauses, too.
    """
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test'))
    import rclpy
    from std_msgs.msg import String

    from support.robots import urdf_path

    rclpy.try_shutdown()  # of a part that ran before
    rclpy.init()
    host, nodes = bringup()
    host.source.receive(String(data=urdf_path('panda').read_text(encoding='utf-8')))
    settled(host)
    times: dict[str, float] = {}
    for node in nodes:
        for parameter in node.get_parameters(list(node._parameters)):
            descriptor = node.describe_parameter(parameter.name)
            if descriptor.read_only or parameter.name in ROBOT or '.' in parameter.name:
                continue
            times[f'{node.get_name()}: {parameter.name}'] = statistics.median(
                busy(host, node, parameter) for _ in range(repetitions)
            )
            settled(host)
    rclpy.shutdown()
    name = max(times, key=times.__getitem__)
    return times[name], name, statistics.median(times.values())


def bringup() -> tuple[Any, list[Any]]:
    """Return the host of all nodes, in this process, and the nodes."""
    from rclpy.node import Node

    from screw_dynamics_ros.nodes.hosting.host import ModelHost
    from screw_dynamics_ros.registry import NODES, load

    nodes = [Node('bringup')]
    host = ModelHost(nodes[0])
    for name, row in NODES.items():
        if row.kind == 'outputs':
            nodes.append(Node(name))
            host.add(load(row.factory)(nodes[-1], host), nodes[-1])
    host.start()
    return host, nodes


def settled(host: Any) -> None:
    """Wait until nothing is compiled any more."""
    while host.source.compiling:
        time.sleep(0.005)
        host.keep_house()


def busy(host: Any, node: Any, parameter: Any) -> float:
    """Return for how long the thread is busy with a change and what is compiled for it [ms]."""
    from rclpy.parameter import Parameter

    changed = another(parameter.value)
    longest = 0.0
    for value in (changed, parameter.value):
        start = time.perf_counter()
        node.set_parameters_atomically([Parameter(parameter.name, value=value)])
        longest = max(longest, time.perf_counter() - start)
        while host.source.compiling:  # in another thread
            time.sleep(0.002)
            start = time.perf_counter()
            host.keep_house()
            longest = max(longest, time.perf_counter() - start)
    return 1e3 * longest


def another(value: Any) -> Any:
    """Return another value of the same type; it may be refused."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 0.9
    return list(value)[::-1] if not isinstance(value, str) else value


if __name__ == '__main__':
    print(*figures(quick=True))
