# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Node `bringup`: several nodes in one process that share one subscription and one kernel."""

from __future__ import annotations

from rclpy.node import Node

from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.node_process import Process
from screw_dynamics_ros.nodes.parameters import hosted_nodes
from screw_dynamics_ros.registry import NODES, load
from screw_dynamics_ros.ros.parameters import Parameters

#: Factory of each node that can be hosted; imported before the signal handlers are installed.
FACTORIES = {name: load(row.factory) for name, row in NODES.items() if row.hosted}


def make_process() -> Process:
    """Return `bringup` and the nodes it hosts.

    `bringup` owns the subscriptions and the shared parameters; each hosted node has its topics,
    services and own parameters under its own name, as if it ran in its own process.
    """
    bringup = Node('bringup')
    host = ModelHost(bringup)
    nodes = [bringup]
    for name in Parameters(bringup, hosted_nodes.TABLE)['nodes']:
        # The remapping __node:=... of the process applies to bringup only.
        node = Node(name, cli_args=['--ros-args', '-r', f'__node:={name}'])
        nodes.append(node)
        if NODES[name].kind == 'outputs':
            host.add(FACTORIES[name](node, host), node)
        else:
            FACTORIES[name](node)
    host.start()
    return Process(
        nodes,
        host.parameters['executor'],
        host.services.nodes,
        host.endings,
        host.compiled_loop(),
    )
