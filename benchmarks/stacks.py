"""Stacks of samples, per sample, against a Python loop over Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator

import pinocchio as pin
from figures import Figure, compared
from robots_compared import PANDA, TALOS, pair
from timing import loop, measure, one_core

from screw_dynamics_ros.core.compile.llvm import native

SAMPLES = 4096
TURN = 25e-3  # s: several calls, so that neither side pays for the caches and pages the other took

CALLS = [
    (
        'inverse dynamics (RNEA)',
        'robot.inverse_dynamics(q, v, a)',
        '[pin.rnea(model, data, Q[i], V[i], A[i]) for i in rows]',
        True,
    ),
    (
        'forward dynamics (ABA)',
        'robot.forward_dynamics(q, v, a)',
        '[pin.aba(model, data, Q[i], V[i], A[i]) for i in rows]',
        True,
    ),
    (
        'mass matrix (CRBA)',
        'robot.mass_matrix(q)',
        '[pin.crba(model, data, Q[i]).copy() for i in rows]',
        False,
    ),
    (
        'gravity torques',
        'robot.gravity_torques(q)',
        '[pin.computeGeneralizedGravity(model, data, Q[i]) for i in rows]',
        False,
    ),
]

#: Required ratios on one core with AVX-512; half of it with narrower vectors.
REQUIRED = {PANDA: 40.0, TALOS: 25.0}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure on one core and on all."""
    repeats = 7 if quick else 25
    width = 1.0 if native.available() and native.simd_lanes() >= 8 else 0.5
    for robot in (PANDA, TALOS):
        both = pair(robot)
        (q, v, a), (Q, V, A) = both.states(SAMPLES)
        for name, ours, theirs, is_required in CALLS:
            runs = {
                'ours': loop(ours, robot=both.robot, q=q, v=v, a=a),
                'theirs': loop(
                    theirs,
                    pin=pin,
                    model=both.model,
                    data=both.data,
                    Q=Q,
                    V=V,
                    A=A,
                    rows=range(SAMPLES),
                ),
            }
            for cores in ('one core', 'all cores'):
                if cores == 'one core':
                    with one_core():
                        times = measure(runs, repeats=repeats, seconds=TURN)
                else:
                    times = measure(runs, repeats=repeats, seconds=TURN)
                yield compared(
                    f'Stacks of {SAMPLES}, per sample, {cores}',
                    f'{both.name}, {both.robot.nv} dof',
                    name,
                    times,
                    scale=1e6 / SAMPLES,
                    required=width * REQUIRED[robot]
                    if is_required and cores == 'one core'
                    else float('nan'),
                )
