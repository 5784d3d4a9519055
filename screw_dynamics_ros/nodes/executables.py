# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Running the nodes of the registry."""

from __future__ import annotations

from functools import partial
from typing import Any

from rclpy.node import Node

from ..registry import NODES, load
from .hosting.host import ModelHost
from .hosting.node_process import Process, model_process, run_nodes


def run(name: str) -> None:
    """Run a node until the process is shut down; then exit."""
    factory = load(NODES[name].factory)  # imported before the signal handlers are installed
    run_nodes(partial(make, name, factory), is_known)


def is_known(parameter: str) -> bool:
    """Whether any node of the package has a parameter; imports the tables of all nodes."""
    return bool(load('screw_dynamics_ros.nodes.known_parameters:is_known')(parameter))


def make(name: str, factory: Any) -> Process:
    """Return the process of a node, made by its factory in the registry."""
    kind = NODES[name].kind
    if kind == 'process':
        process: Process = factory()
        return process
    node = Node(name)
    if kind == 'node':
        return Process([node], factory(node).parameters['executor'])
    host = ModelHost(node)
    host.add(factory(node, host), node)
    host.start()
    return model_process([host], [node])
