# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Without llvmlite: the recorded programs as plain Python."""

from __future__ import annotations

from collections.abc import Iterator

from figures import Figure
from robots_compared import PANDA, TALOS, pair
from single_calls import CALLS
from timing import loop, measure


def figures(quick: bool) -> Iterator[Figure]:
    """Measure single calls on the `python` backend."""
    for robot in (PANDA, TALOS):
        both = pair(robot, backend='python')
        q, v, a = (x[0] for x in both.states(1)[0])
        for name, ours, _, _ in CALLS[:4]:
            times = measure(
                {'ours': loop(ours, robot=both.robot, q=q, v=v, a=a)}, repeats=20 if quick else 100
            )
            is_required = robot == PANDA and name == 'inverse dynamics'
            yield Figure(
                'python backend, single calls',
                f'{both.name}, {both.robot.nv} dof',
                name,
                1e6 * times['ours'].median,
                1e6 * times['ours'].p99,
                required=100.0 if is_required else float('nan'),
                meaning='ours at most',
            )
