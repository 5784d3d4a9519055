"""Stacks of samples, per sample: against Pinocchio's own stacks, and loops in C++ and Python.

Cores are the same for all: one, or all there are. Pinocchio's `rneaInParallel` and
`abaInParallel` run in C++ and want one sample in each column, which they get; results go into
arrays of the caller, while ours are new ones. Loops in Python use one core only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from figures import NAN, Figure, compared
from native_peer import NAME as CPP
from native_peer import NativePeer, library
from robots_compared import PANDA, TALOS, UR5, Pair, pair
from timing import Run, loop, measure, one_core

from screw_dynamics_ros.core.compile.llvm import native

SAMPLES = 4096
TURN = 10e-3  # s: several calls, so that neither side pays for the caches and pages the other took
PYTHON, PARALLEL = 'loop in Python', 'Pinocchio ...InParallel'

# name, ours, Pinocchio's in a loop, its function of stacks
CALLS = [
    (
        'inverse dynamics',
        'robot.inverse_dynamics(q, v, a)',
        '[pin.rnea(model, data, Q[i], V[i], A[i]) for i in rows]',
        'pin.rneaInParallel(threads, pool, QT, VT, AT, out)',
    ),
    (
        'forward dynamics',
        'robot.forward_dynamics(q, v, a)',
        '[pin.aba(model, data, Q[i], V[i], A[i]) for i in rows]',
        'pin.abaInParallel(threads, pool, QT, VT, AT, out)',
    ),
    (
        'gravity torques',
        'robot.gravity_torques(q)',
        '[pin.computeGeneralizedGravity(model, data, Q[i]) for i in rows]',
        '',
    ),
    (
        'mass matrix',
        'robot.mass_matrix(q)',
        '[pin.crba(model, data, Q[i]).copy() for i in rows]',
        '',
    ),
]

#: Required ratios to a loop in Python on one core with AVX-512; half of it with narrower vectors.
REQUIRED = {PANDA: 40.0, UR5: 40.0, TALOS: 25.0}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure on one core and on all."""
    repeats = 5 if quick else 25
    width = 1.0 if native.available() and native.simd_lanes() >= 8 else 0.5
    all_cores = len(os.sched_getaffinity(0))
    for robot in (PANDA, UR5, TALOS):
        both = pair(robot)
        peer = NativePeer(both.model, both.frame) if library() else None
        pool = pin.ModelPool(both.model, all_cores)
        check(both, pool, peer)
        for name, ours, theirs, stacked in CALLS:
            for cores in sorted({1, all_cores}):
                runs = candidates(both, pool, peer, (name, ours, theirs, stacked), cores)
                if cores == 1:
                    with one_core():
                        times = measure(runs, repeats=repeats, seconds=TURN)
                else:
                    times = measure(runs, repeats=repeats, seconds=TURN)
                yield from compared(
                    f'Stacks of {SAMPLES}, per sample',
                    f'{both.name}, {both.robot.nv} dof',
                    f'{name}, {"one core" if cores == 1 else f"{cores} cores"}',
                    times,
                    scale=1e6 / SAMPLES,
                    required={PYTHON: width * REQUIRED[robot] if stacked and cores == 1 else NAN},
                )


def candidates(
    both: Pair,
    pool: pin.ModelPool,
    peer: NativePeer | None,
    call: tuple[str, str, str, str],
    cores: int,
) -> dict[str, Run]:
    """Return what takes turns."""
    name, ours, theirs, stacked = call
    (q, v, a), (Q, V, A) = both.states(SAMPLES)
    runs: dict[str, Run] = {'ours': loop(ours, robot=both.robot, q=q, v=v, a=a)}
    if stacked:
        QT, VT, AT = (np.asfortranarray(x.T) for x in (Q, V, A))
        out = np.zeros_like(QT)
        assert out.flags.f_contiguous
        runs[PARALLEL] = loop(
            stacked, pin=pin, threads=cores, pool=pool, QT=QT, VT=VT, AT=AT, out=out
        )
    if peer is not None:
        runs[CPP] = peer.stack(name, Q, V, A, threads=cores)
    if cores == 1:
        names = {'pin': pin, 'model': both.model, 'data': both.data, 'rows': range(SAMPLES)}
        runs[PYTHON] = loop(theirs, Q=Q, V=V, A=A, **names)
    return runs


def check(both: Pair, pool: pin.ModelPool, peer: NativePeer | None) -> None:
    """Make sure that all compute the same."""
    (q, v, a), (Q, V, A) = both.states(64)

    def stack(name: str) -> np.ndarray:
        run = peer.stack(name, Q, V, A, threads=peer.threads)
        run(1)
        return run.out

    transposed = [np.asfortranarray(x.T) for x in (Q, V, A)]
    for name, ours, stacked in (
        ('inverse dynamics', both.robot.inverse_dynamics, pin.rneaInParallel),
        ('forward dynamics', both.robot.forward_dynamics, pin.abaInParallel),
    ):
        expected = ours(q, v, a)[:, both.order]
        out = np.zeros_like(transposed[0])
        stacked(pool.size(), pool, *transposed, out)
        results = [out.T]
        if peer is not None:
            results.append(stack(name))
        for theirs in results:
            np.testing.assert_allclose(
                theirs, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max()
            )
    if peer is not None:
        M = both.robot.mass_matrix(q)[:, both.order][:, :, both.order]
        upper = np.triu(np.ones(M.shape[1:], bool))
        found = stack('mass matrix').swapaxes(1, 2)  # column by column
        np.testing.assert_allclose(found[:, upper], M[:, upper], rtol=1e-7, atol=1e-9)
