# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stacks of samples, per sample: against Pinocchio's own stacks, and loops in C++ and Python.

Cores are the same for all: one, or all there are. Pinocchio's `rneaInParallel` and
`abaInParallel` run in C++ and want one sample in each column, which they get; results go into
arrays of the caller, while ours are new ones. Loops in Python use one core only.

Then ours alone: stacks of several sizes beside single calls that leave their results in the rows of
stacks, and all cores beside one.
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
from timing import Run, Times, loop, measure, one_core

from screw_dynamics_ros.core.compile.llvm import native

SAMPLES = 4096
TURN = 10e-3  # s: several calls, so that neither side pays for the caches and pages the other took
PYTHON, PARALLEL = 'loop in Python', 'Pinocchio ...InParallel'
SINGLE_CALLS, ONE_CORE = 'ours, single calls', 'ours, one core'
SIZES = (8, 64, 4096, 65536)
FEWER = 256
MOST_BYTES = 400e6  # of the results of a stack

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
    (
        'derivatives of inverse dynamics',
        'robot.inverse_dynamics_derivatives(q, v, a)',
        '[pin.computeRNEADerivatives(model, data, Q[i], V[i], A[i]) for i in rows]',
        '',
    ),
    (
        'derivatives of forward dynamics',
        'robot.forward_dynamics_derivatives(q, v, a)',
        '[pin.computeABADerivatives(model, data, Q[i], V[i], A[i]) for i in rows]',
        '',
    ),
    (
        'regressor',
        'robot.regressor(q, v, a)',
        '[pin.computeJointTorqueRegressor(model, data, Q[i], V[i], A[i]).copy() for i in rows]',
        '',
    ),
]
#: Those of which stacks of several sizes are measured.
SIZED = ('inverse dynamics', 'mass matrix', 'derivatives of forward dynamics')

#: Required ratios to a loop in Python on one core with AVX-512; half of it with narrower vectors.
REQUIRED = {PANDA: 40.0, UR5: 40.0, TALOS: 25.0}
#: Of two runs of the same code: the processor's speed varies by as much within a measurement.
NEVER_SLOWER = 0.97
#: To a loop in C++ on one core, of the matrices of these robots, for `SAMPLES` and for `FEWER`.
REQUIRED_OF_MATRICES = dict.fromkeys(
    ('mass matrix', 'derivatives of inverse dynamics', 'derivatives of forward dynamics'), 15.0
)


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
                samples = 512 if robot == TALOS and name == 'regressor' else SAMPLES
                runs = candidates(both, pool, peer, (name, ours, theirs, stacked), cores, samples)
                if cores == 1:
                    with one_core():
                        times = measure(runs, repeats=repeats, seconds=TURN)
                else:
                    times = measure(runs, repeats=repeats, seconds=TURN)
                of_matrices = REQUIRED_OF_MATRICES.get(name, NAN) if robot != UR5 else NAN
                yield from compared(
                    f'Stacks of {SAMPLES}, per sample',
                    f'{both.name}, {both.robot.nv} dof',
                    f'{name}, {"one core" if cores == 1 else f"{cores} cores"}',
                    times,
                    scale=1e6 / samples,
                    required={
                        PYTHON: width * REQUIRED[robot] if stacked and cores == 1 else NAN,
                        CPP: width * of_matrices if cores == 1 else NAN,
                    },
                    note='' if samples == SAMPLES else f'{samples} samples',
                )
        if robot != UR5:
            if peer is not None:
                yield from matrices_of_fewer(both, peer, repeats)
            yield from sizes(both, repeats, all_cores)


def matrices_of_fewer(both: Pair, peer: NativePeer, repeats: int) -> Iterator[Figure]:
    """Measure shorter stacks of matrices, of 12 MB at most, on one core."""
    (q, v, a), (Q, V, A) = both.states(FEWER)
    for name, ours, _, _ in CALLS:
        if name in REQUIRED_OF_MATRICES:
            runs: dict[str, Run] = {
                'ours': loop(ours, robot=both.robot, q=q, v=v, a=a),
                CPP: peer.stack(name, Q, V, A, threads=1),
            }
            with one_core():
                times = measure(runs, repeats=repeats, seconds=TURN)
            yield from compared(
                f'Stacks of {FEWER}, per sample',
                f'{both.name}, {both.robot.nv} dof',
                f'{name}, one core',
                times,
                scale=1e6 / FEWER,
                required={CPP: REQUIRED_OF_MATRICES[name]},
            )


def sizes(both: Pair, repeats: int, all_cores: int) -> Iterator[Figure]:
    """Measure stacks of several sizes beside single calls on one core, and beside all cores."""
    where = f'{both.name}, {both.robot.nv} dof'
    for name, ours, _, _ in CALLS:
        if name not in SIZED:
            continue
        runs: dict[int, Run] = {}
        for samples in SIZES:
            (q, v, a), _ = both.states(samples)
            names = {'robot': both.robot, 'q': q, 'v': v, 'a': a}
            few = {key: x[:8] for key, x in names.items() if key != 'robot'}
            result = eval(ours, {'robot': both.robot, **few})
            arrays = result if isinstance(result, tuple) else (result,)
            if sum(x.nbytes for x in arrays) / 8 * samples <= MOST_BYTES:
                runs[samples] = loop(ours, **names)
        for samples, run in runs.items():
            with one_core():
                times = measure(
                    {'ours': run, SINGLE_CALLS: into_rows(both, ours, samples)},
                    repeats=repeats,
                    seconds=TURN,
                )
            yield from compared(
                'Stacks of several sizes, per sample, one core',
                where,
                f'{name}, {samples} samples',
                times,
                scale=1e6 / samples,
                required={SINGLE_CALLS: 1.0},
            )
            if all_cores > 1:
                yield from compared(
                    f'Stacks on {all_cores} cores, per sample',
                    where,
                    f'{name}, {samples} samples',
                    on_cores(run, repeats),
                    scale=1e6 / samples,
                    required={ONE_CORE: 1.6 if samples == max(SIZES) else NEVER_SLOWER},
                )


def into_rows(both: Pair, ours: str, samples: int) -> Run:
    """Return single calls, one for each sample, that leave their results in the rows of stacks.

    Results that nobody keeps would stay in the first cache, and cost less than those of stacks.
    """
    (q, v, a), _ = both.states(samples)
    results = eval(ours, {'robot': both.robot, 'q': q, 'v': v, 'a': a})
    rows = zip(*results) if isinstance(results, tuple) else results
    call = f'[{ours[:-1]}, out=out) for q, v, a, out in samples]'
    return loop(call, robot=both.robot, samples=list(zip(q, v, a, rows)))


def on_cores(run: Run, repeats: int) -> dict[str, Times]:
    """Return the times on all cores and on one, in turns."""

    class OnOneCore:
        def __call__(self, n: int) -> float:
            with one_core():
                return run(n)

        def each(self, n: int) -> list[float]:
            with one_core():
                return run.each(n)

    return measure({'ours': run, ONE_CORE: OnOneCore()}, repeats=repeats, seconds=TURN)


def candidates(
    both: Pair,
    pool: pin.ModelPool,
    peer: NativePeer | None,
    call: tuple[str, str, str, str],
    cores: int,
    samples: int,
) -> dict[str, Run]:
    """Return what takes turns."""
    name, ours, theirs, stacked = call
    (q, v, a), (Q, V, A) = both.states(samples)
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
        names = {'pin': pin, 'model': both.model, 'data': both.data, 'rows': range(samples)}
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
        for name, ours_of_matrices in (
            ('derivatives of inverse dynamics', both.robot.inverse_dynamics_derivatives),
            ('derivatives of forward dynamics', both.robot.forward_dynamics_derivatives),
        ):
            found = stack(name)  # row by row, the third one aside, a triangle
            for k, matrix in enumerate(ours_of_matrices(q, v, a)[:2]):
                mine = matrix[:, both.order][:, :, both.order]
                np.testing.assert_allclose(
                    found[:, k], mine, rtol=1e-6, atol=1e-8 * np.abs(mine).max()
                )
