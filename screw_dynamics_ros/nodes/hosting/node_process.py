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

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.ros.process.executor import (
    ProcessingThread,
    ShutdownTask,
    end_process,
    spin,
    start,
)
from screw_dynamics_ros.ros.process.start_parameters import check_parameters

from ..model.parts import OutputGroup
from .host import ModelHost

#: Returns a group whose topics and parameters belong to a node.
OutputGroupFactory = Callable[[Node, ModelHost], OutputGroup[Any]]

# Switch interval of threads [s]: short, so that compilation does not delay joint states.
SWITCH_INTERVAL = 0.0005

#: Parameters of robots that apply to the whole process.
OF_PROCESS = 'executor', 'realtime_priority'


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
    threads : sequence of ProcessingThread
        Threads that process joint states.
    """

    nodes: Sequence[Node]
    executor: str
    slow: Sequence[Node] = ()
    endings: Sequence[ShutdownTask] = ()
    threads: Sequence[ProcessingThread] = ()


def model_process(hosts: Sequence[ModelHost], nodes: Sequence[Node]) -> Process:
    """Return the process of `nodes`, whose robots `hosts` compute; they have been started.

    Raises `ArgumentError` if the robots differ in a parameter of the process.
    """
    for name in OF_PROCESS:
        values = sorted({str(host.parameters[name]) for host in hosts})
        if len(values) > 1:
            raise ArgumentError(
                f'parameter {name}: the robots of a process share its value, found '
                f'{", ".join(values)}; set the same for all of them'
            )
    loops = [host.compiled_loop() for host in hosts]
    return Process(
        nodes,
        hosts[0].parameters['executor'],
        [node for host in hosts for node in host.services.nodes],
        [ending for host in hosts for ending in host.endings],
        [loop for loop in loops if loop is not None],
    )


def run_nodes(make: Callable[[], Process], is_known: Callable[[str], bool]) -> NoReturn:
    """Run the process that `make` returns, unless its configuration is invalid; then exit.

    `is_known` returns whether any node of the package has a parameter.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    np.seterr(all='ignore')  # nodes check for numbers that are not finite
    try:
        start()
        process = make()
        check_parameters(process.nodes, is_known, sys.argv)
        spin(process.nodes, process.executor, process.slow, process.endings, process.threads)
    except (ScrewDynamicsError, ParameterException, NameValidationException) as error:
        rclpy.logging.get_logger('screw_dynamics_ros').fatal(str(error))
        end_process(1)  # without destroying nodes, for which the middleware may wait
    except SystemExit:  # shut down before the nodes ran
        pass
    rclpy.try_shutdown()
    end_process(0)
