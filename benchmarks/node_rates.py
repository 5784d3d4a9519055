# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ten outputs of the model state for each joint state, at 200 and 1000 Hz, against an echo.

As `node_kilohertz`, one node after the other, in turns, as the speed of the processor changes from
minute to minute; an echo sends one message where ours sends ten. Then ours runs once more and notes
when it does what with each state: how long each stage takes in the middle and in the slowest of a
hundred states tells where the 99th percentile comes from.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from figures import Figure
from node_endurance import PRIORITY, permitted
from node_kilohertz import ECHO, STATES, Run, in_a_process_of_its_own, prepare
from numpy.typing import NDArray
from traced_node import COLUMNS

RATES = 200.0, 1000.0  # Hz
LONG, QUICK = 30.0, 12.0  # s
TURNS = 4
MEDIAN, TAIL = 1.3, 1.5  # required ratios to the echo
STAGES = (
    'from the driver to Python',
    'reading the state',
    'computing',
    'ten messages to the middleware',
    'from there to the subscriber',
)


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in processes and on DDS domains of their own."""
    if not prepare():
        return
    seconds = QUICK if quick else LONG
    priority = PRIORITY if permitted() else 0
    for rate in RATES:
        turns = [
            [in_a_process_of_its_own(n, seconds / TURNS, priority, rate) for n in (ECHO, STATES)]
            for _ in range(TURNS)
        ]
        echo, ours = map(together, zip(*turns))
        yield from compared(rate, ours, echo)
        with tempfile.TemporaryDirectory(prefix='screw_dynamics_benchmark_') as folder:
            notes = str(Path(folder) / 'notes.npy')
            traced = in_a_process_of_its_own(STATES, seconds, priority, rate, notes)
            yield from stages(rate, traced, np.load(notes))


def together(runs: Sequence[Run]) -> Run:
    """Return several runs of a node as one."""
    return Run(
        sent=sum(run.sent for run in runs),
        lost=sum(run.lost for run in runs),
        stamps=np.concatenate([run.stamps for run in runs]),
        delays=np.concatenate([run.delays for run in runs]),
        processor=float(np.mean([run.processor for run in runs])),
        memory=max(run.memory for run in runs),
        growth=max(run.growth for run in runs),
        outputs=max(run.outputs for run in runs),
    )


def compared(rate: float, ours: Run, echo: Run) -> Iterator[Figure]:
    """Return the figures of ours beside the echo."""
    group, robot = 'Rates', 'Panda'
    a, b = ((np.quantile(run.delays, (0.5, 0.99)) * 1e6).tolist() for run in (ours, echo))
    for name, k, most in (('median', 0, MEDIAN), ('99 %', 1, TAIL)):
        yield Figure(
            group,
            robot,
            f'{rate:g} Hz, state to last output, {name}',
            a[k],
            peer=ECHO,
            theirs=b[k],
            ratio=a[k] / b[k],
            required=most,
            meaning='ratio at most',
            note=f'{ours.outputs} messages out, theirs {echo.outputs}',
        )
    yield Figure(
        group,
        robot,
        f'{rate:g} Hz, states that lack one',
        ours.lost,
        peer=ECHO,
        theirs=echo.lost,
        unit='',
        note=f'of {ours.sent}, theirs of {echo.sent}',
    )


def stages(rate: float, run: Run, notes: NDArray[np.int64]) -> Iterator[Figure]:
    """Return how long each stage takes: the median, and the mean of the slowest 1 % of states."""
    places = {stamp: k for k, stamp in enumerate(notes[:, 0].tolist())}
    found = [(places[s], k) for k, s in enumerate(run.stamps.tolist()) if s in places]
    rows, states = np.array(found).T
    delays = run.delays[states]
    arrived = run.stamps[states] + np.round(delays * 1e9).astype(np.int64)
    assert COLUMNS[0] == 'stamp'
    times = np.column_stack([notes[rows], arrived])
    lengths = np.diff(times, axis=1) * 1e-3  # us
    slow = delays >= np.quantile(delays, 0.99)
    for k, stage in enumerate(STAGES):
        yield Figure(
            'Rates',
            'Panda',
            f'{rate:g} Hz, {stage}',
            float(np.median(lengths[:, k])),
            float(lengths[slow, k].mean()),
            note='median of all states (mean of the slowest 1 % of them)',
        )
