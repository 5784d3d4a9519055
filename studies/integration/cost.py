# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a choice of group costs: operations, and times (I-42)."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
from screw_dynamics_ros.core.integration import RungeKutta
from screw_dynamics_ros.core.lie import joint_groups, se3, so3xr3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import heavy_top
from screw_dynamics_ros.core.types import Array
from studies.integration.runs import GROUPS, STEP

RUNS = 9
#: The Lie layer of each group, and what `reconstruction` calls its increments.
MAPS: tuple[tuple[ModuleType, str], ...] = ((se3, 'body'), (so3xr3, 'mixed'))


class Cost(NamedTuple):
    """What an operation costs in SE(3) and in SO(3) x R^3."""

    what: str
    unit: str
    amounts: tuple[float, float]

    @property
    def ratio(self) -> float:
        """SE(3) : SO(3) x R^3."""
        return self.amounts[0] / self.amounts[1]


def all_costs(seconds: float = 0.02) -> list[Cost]:
    """Count, and measure in turns of about so many seconds."""
    X, V = np.random.default_rng(3).uniform(-1, 1, (2, 6))
    maps = [each for each, _ in MAPS]
    return [
        counted(
            'update q exp X, compiled',
            lambda which, q, X, v: joint_groups.SE3.displaced(q, X, which[1]),
        ),
        counted('dexp^-1 times v, compiled', lambda which, q, X, v: which[0].dexp_inv(-X) @ v),
        measured('exp, NumPy', [partial(each.exp, X) for each in maps], seconds),
        measured('dexp^-1 times v, NumPy', [partial(dexp_inv, m, X, V) for m in maps], seconds),
        measured('step of the heavy top, compiled', [top_step(g) for g in GROUPS], seconds),
    ]


def dexp_inv(of_group: ModuleType, X: Array, V: Array) -> Array:
    """Return dexp^-1_X V."""
    product: Array = of_group.dexp_inv(X) @ V
    return product


def top_step(group: str) -> Callable[[], object]:
    """Return a function that makes a step of the heavy top."""
    top = heavy_top([group])
    return partial(RungeKutta(top.system).step, top.q, top.v, np.zeros(6), STEP)


def counted(what: str, function: Callable[..., Array]) -> Cost:
    """Count the operations of a recorded function of (group, q, X, v), without reuse of others."""
    counts = []
    for which in MAPS:
        recorder, sizes = Recorder(), (('q', 7), ('X', 6), ('v', 6))
        inputs = [recorder.inputs(name, size) for name, size in sizes]
        recorded = program(recorder, list(sizes), [function(which, *inputs)])
        counts.append(float(recorded.operation_count))
    return Cost(what, 'operations', (counts[0], counts[1]))


def measured(what: str, functions: list[Callable[[], object]], seconds: float) -> Cost:
    """Return the shortest times of a function in both groups, measured in turns."""
    timers = [timeit.Timer(function) for function in functions]
    calls = max(1, int(seconds / max(timers[0].timeit(3) / 3, 1e-7)))
    turns = [[timer.timeit(calls) / calls for timer in timers] for _ in range(RUNS)]
    first, second = (1e6 * min(times) for times in zip(*turns))
    return Cost(what, 'us', (first, second))
