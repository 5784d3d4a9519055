# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs for each joint state, at 200 and 1000 Hz, against an echo.

As `node_kilohertz`, one node after the other, in turns, as the speed of the processor changes from
minute to minute. An echo sends one message; ours sends ten with the outputs that most controllers
need, or one with all outputs, or torque commands.

Eight arms get joint states at 500 Hz at the same instants, in one process and in one for each. A
state has its outputs when the last arm has sent them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from figures import NAN, Figure
from node_endurance import PRIORITY, permitted
from node_kilohertz import (
    COMMANDS,
    ECHO,
    FOLLOWED,
    MESSAGE,
    SEPARATE,
    STATES,
    TALOS,
    TALOS_ECHO,
    TOGETHER,
    Run,
    in_a_process_of_its_own,
    prepare,
)

RATES = 200.0, 500.0, 1000.0  # Hz
LONG, QUICK = 30.0, 12.0  # s
TURNS = 4
#: What is subscribed, at which rates, beside what, and the required ratios: median and 99 %.
REQUIRED = {
    STATES: ((200.0, 1000.0), ECHO, (1.15, 1.15)),
    MESSAGE: ((1000.0,), ECHO, (0.8, 1.0)),
    COMMANDS: ((1000.0,), ECHO, (0.9, 0.9)),
    FOLLOWED: ((1000.0,), ECHO, (0.85, 1.05)),
    TALOS: ((1000.0,), TALOS_ECHO, (1.0, 1.0)),
    TOGETHER: ((500.0,), SEPARATE, (NAN, NAN)),
}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure in processes and on DDS domains of their own."""
    if not prepare():
        return
    seconds = QUICK if quick else LONG
    priority = PRIORITY if permitted() else 0
    for rate in RATES:
        names = [name for name, (rates, *_) in REQUIRED.items() if rate in rates]
        peers = list(dict.fromkeys(REQUIRED[name][1] for name in names))
        turns = [
            [in_a_process_of_its_own(n, seconds / TURNS, priority, rate) for n in (*peers, *names)]
            for _ in range(TURNS)
        ]
        runs = dict(zip((*peers, *names), map(together, zip(*turns))))
        for name in names:
            yield from compared(name, rate, runs[name], runs[REQUIRED[name][1]])


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


def compared(what: str, rate: float, ours: Run, echo: Run) -> Iterator[Figure]:
    """Return the figures of ours beside the echo."""
    robot = {TALOS: 'TALOS', TOGETHER: 'eight times Panda'}.get(what, 'Panda')
    group = 'Rates'
    a, b = ((np.quantile(run.delays, (0.5, 0.99)) * 1e6).tolist() for run in (ours, echo))
    _, peer, required = REQUIRED[what]
    for name, k, most in zip(('median', '99 %'), (0, 1), required):
        yield Figure(
            group,
            robot,
            f'{rate:g} Hz, {what}, {name}',
            a[k],
            peer=peer,
            theirs=b[k],
            ratio=a[k] / b[k],
            required=most,
            meaning='ratio at most',
            note=f'{ours.outputs} messages out, theirs {echo.outputs}',
        )
    yield Figure(
        group,
        robot,
        f'{rate:g} Hz, {what}: states without',
        ours.lost,
        peer=peer,
        theirs=echo.lost,
        unit='',
        note=f'of {ours.sent}, theirs of {echo.sent}; {ours.processor:.0f} % of a processor, '
        f'theirs {echo.processor:.0f} %',
    )
