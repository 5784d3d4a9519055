# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start of a process with nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import rclpy
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes.hosting.host import ModelHost
from screw_dynamics_ros.nodes.hosting.output_group import OutputGroup
from screw_dynamics_ros.ros.process.executor import (
    ProcessingThread,
    ShutdownTask,
    end_process,
    spin,
    start,
)
from screw_dynamics_ros.ros.process.start_parameters import check_parameters

#: Returns a group whose topics and parameters belong to a node.
OutputGroupFactory = Callable[[Node, ModelHost], OutputGroup[Any]]

# Switch interval of threads [s]: short, so that compilation does not delay joint states.
SWITCH_INTERVAL = 0.0005


@dataclass(frozen=True)
class Process:
    """The content of a process.

    Attributes
    ----------
    nodes : sequence of rclpy.node.Node
    executor : str
        Type of their executor.
    slow : sequence of rclpy.node.Node
        Further nodes, which run in another thread.
    endings : sequence of ShutdownTask
        Tasks before the process exits.
    thread : ProcessingThread, optional
        Thread that processes joint states.
    """

    nodes: Sequence[Node]
    executor: str
    slow: Sequence[Node] = ()
    endings: Sequence[ShutdownTask] = ()
    thread: ProcessingThread | None = None


def run_nodes(make: Callable[[], Process], is_known: Callable[[str], bool]) -> NoReturn:
    """Run the process that `make` returns, unless its configuration is invalid; then exit.

    `is_known` returns whether any node of the package has a parameter.
    """
    status = 0
    sys.setswitchinterval(SWITCH_INTERVAL)
    np.seterr(all='ignore')  # nodes check for numbers that are not finite
    try:
        start()
        process = make()
        check_parameters(process.nodes, is_known, sys.argv)
        spin(process.nodes, process.executor, process.slow, process.endings, process.thread)
    except (ScrewDynamicsError, ParameterException, NameValidationException) as error:
        rclpy.logging.get_logger('screw_dynamics_ros').fatal(str(error))
        status = 1
    except SystemExit:  # shut down before the nodes ran
        pass
    rclpy.try_shutdown()
    end_process(status)
