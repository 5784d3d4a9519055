"""Starting a process with one host and its parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import rclpy
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes.host import ModelHost
from screw_dynamics_ros.nodes.part import Part
from screw_dynamics_ros.ros.executor import spin, start

#: Makes a part whose topics and parameters belong to a node.
PartFactory = Callable[[Node, ModelHost], Part]

# Threads take turns this often [s], so that compiling does not hold up joint states.
SWITCH_INTERVAL = 0.0005


@dataclass(frozen=True)
class Process:
    """What runs in a process: nodes, their kind of executor, and nodes that get another thread."""

    nodes: Sequence[Node]
    executor: str
    slow: Sequence[Node] = ()


def run(name: str, factories: Sequence[PartFactory]) -> None:
    """Run a node `name` that hosts parts, until the process is asked to end."""
    def make() -> Process:
        node = Node(name)
        host = ModelHost(node)
        for factory in factories:
            host.add(factory(node, host), node)
        host.start()
        return Process([node], host.parameters['executor'], host.services.nodes)

    run_nodes(make)


def run_nodes(make: Callable[[], Process]) -> None:
    """Run what `make` returns."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    np.seterr(all='ignore')  # numbers that are not finite are looked for and told by the nodes
    start()
    try:
        process = make()
        spin(process.nodes, process.executor, process.slow)
    except ScrewDynamicsError as error:
        rclpy.logging.get_logger('screw_dynamics_ros').fatal(str(error))
        rclpy.try_shutdown()
        sys.exit(1)
