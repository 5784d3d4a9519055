# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Node `bringup`: several nodes in one process that share one subscription and one kernel."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ThreadPoolExecutor

from rclpy.node import Node

from ..registry import NODES, load
from ..ros.parameters import Parameters
from ..ros.process.start_parameters import namespaces
from .hosting.host import ModelHost
from .hosting.node_process import Process, model_process
from .parameters import hosted_nodes


def make_process() -> Process:
    """Return `bringup` and the nodes it hosts, once for each namespace on the command line."""
    rules = [[f'__ns:={each}'] for each in namespaces(sys.argv)] or [[]]
    with ThreadPoolExecutor(1) as compiler:
        robots = [make_robot(compiler, *each) for each in rules]
    hosts = [host for host, _ in robots]
    return model_process(hosts, [node for _, nodes in robots for node in nodes])


def make_robot(compiler: Executor, *rules: str) -> tuple[ModelHost, list[Node]]:
    """Return the host of one robot and its nodes, `bringup` first.

    `bringup` owns the subscriptions and the shared parameters; each hosted node has its topics,
    services and own parameters under its own name, as if it ran in its own process. `rules` are
    remappings that take precedence over those of the process. Meanwhile `compiler` compiles the
    loop of joint states.
    """
    bringup = Node('bringup', cli_args=remapped(*rules))
    host = ModelHost(bringup)
    nodes = [bringup]
    hosted = Parameters(bringup, hosted_nodes.TABLE)['nodes']
    factories = [load(NODES[name].factory) for name in hosted]  # imports what runs, no other node
    host.compile_loop(compiler)
    for name, factory in zip(hosted, factories):
        # The remapping __node:=... of the process applies to bringup only.
        node = Node(name, cli_args=remapped(f'__node:={name}', *rules))
        nodes.append(node)
        if NODES[name].kind == 'outputs':
            host.add(factory(node, host), node)
        else:
            factory(node)
    host.start()
    return host, nodes


def remapped(*rules: str) -> list[str]:
    """Return the arguments of a node with remappings."""
    return ['--ros-args', *(word for rule in rules for word in ('-r', rule))]
