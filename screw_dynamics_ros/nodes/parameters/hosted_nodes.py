# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The parameter `nodes`: which nodes `bringup` hosts."""

from screw_dynamics_ros.registry import NODES
from screw_dynamics_ros.ros.parameters import Specification

TABLE = (
    Specification(
        'nodes',
        ['kinematics', 'dynamics', 'wrench_estimator'],
        'Nodes that run in this process.',
        choices=tuple(name for name, row in NODES.items() if row.hosted),
        read_only=True,
    ),
)
