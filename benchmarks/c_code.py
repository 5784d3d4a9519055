# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The C that is written for a robot, and the object files, beside Pinocchio in C++.

All are called from a loop of their own language, with one state, and leave results where they are.
The same compiler, with the same flags, compiles the C and Pinocchio's headers; object files come
from LLVM, for this processor.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from figures import NAN, Figure, compared
from native_peer import NAME as CPP
from native_peer import PROCESSOR, NativePeer, doubles, library
from robots_compared import PANDA, TALOS, UR5, Pair, pair
from timing import measure

from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.objects import object_file
from screw_dynamics_ros.core.compile.text.c_source import CFunction, CSource

FLAGS = ('-std=gnu11', '-O3', f'-march={PROCESSOR}', '-DNDEBUG', '-fPIC')
NAME = 'robot'
# name as Pinocchio's in native_peer, output
CALLS = (
    ('inverse dynamics', 'inverse_dynamics'),
    ('forward dynamics', 'forward_dynamics'),
    ('mass matrix', 'mass_matrix'),
    ('gravity torques', 'gravity_torques'),
    ('derivatives of inverse dynamics', 'inverse_dynamics_derivatives'),
    ('derivatives of forward dynamics', 'forward_dynamics_derivatives'),
)
REQUIRED = {
    UR5: dict(zip((output for _, output in CALLS), (15.0, 16.0, NAN, 40.0, 20.0, 17.0))),
    PANDA: {'inverse_dynamics': 10.0},
    TALOS: {},
}


def figures(quick: bool) -> Iterator[Figure]:
    """Measure."""
    compiler = shutil.which(os.environ.get('CC', 'gcc'))
    if compiler is None or library() is None or not native.available():
        print('C code is not measured: it takes a C compiler and llvmlite', file=sys.stderr)
        return
    repeats = 50 if quick else 400
    for name in (UR5, PANDA, TALOS):
        both = pair(name)
        peer = NativePeer(both.model, both.frame)
        with tempfile.TemporaryDirectory(prefix='screw_dynamics_benchmark_') as folder:
            outputs = [output for _, output in CALLS]
            code = both.robot.c_source(NAME, *outputs, separate=True)
            ours = compiled(code, compiler, Path(folder))
            yield from measured(both, peer, ours, code, REQUIRED[name], repeats)


def measured(
    both: Pair,
    peer: NativePeer,
    ours: dict[str, ctypes.CDLL],
    code: CSource,
    required: dict[str, float],
    repeats: int,
) -> Iterator[Figure]:
    """Return the figures of one robot."""
    (q, v, a), (Q, V, A) = ([x[0] for x in states] for states in both.states(1))
    functions = {function.name: function for function in code.functions}
    for name, output in CALLS:
        function = functions[f'{NAME}_{output}']
        # The third input of forward dynamics is a torque; its size changes no time.
        values = {'q': q, 'v': v, 'a': a, 'tau': a, 'gravity': both.robot.gravity}
        calls = {how: CCall(loaded, function, values) for how, loaded in ours.items()}
        check(both, calls.values(), output, q, v, a)
        for how, call in calls.items():
            times = measure({'ours': call, CPP: peer.function(name, Q, V, A)}, repeats=repeats)
            for figure in compared(
                'C code',
                f'{both.name}, {both.robot.nv} dof',
                f'{name}, {how}',
                times,
                required={CPP: required.get(output, NAN) if how == 'C' else NAN},
                note=f'{function.program.operation_count} operations' if how == 'C' else '',
            ):
                yield replace(
                    figure,
                    ours=1e3 * figure.ours,
                    ours_p99=NAN,  # reading the clock takes as long as a call
                    theirs=1e3 * figure.theirs,
                    theirs_p99=NAN,
                    unit='ns',
                )


def compiled(code: CSource, compiler: str, folder: Path) -> dict[str, ctypes.CDLL]:
    """Return libraries with all functions and loops around them, by how they were compiled."""
    (folder / f'{NAME}.h').write_text(code.header)
    (folder / f'{NAME}.c').write_text(code.source)
    (folder / 'loops.c').write_text(loops(code.functions))
    machine = native.target_settings()
    programs = [(function.name, function.program) for function in code.functions]
    triple = native.llvm().get_process_triple()
    (folder / 'llvm.o').write_bytes(
        object_file(programs, triple, machine['cpu'], machine['features'])
    )
    run([compiler, *FLAGS, '-c', f'{NAME}.c', '-o', 'c.o'], folder)
    found = {}
    for how, part in (('C', 'c.o'), ('object file', 'llvm.o')):
        target = f'{part}.so'
        run([compiler, *FLAGS, '-shared', 'loops.c', part, '-lm', '-o', target], folder)
        found[how] = ctypes.CDLL(str(folder / target))
    return found


def run(command: Sequence[str], folder: Path) -> None:
    """Run a compiler; if it fails, its output is reported."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f'{" ".join(command)}:\n{done.stderr[:2000]}')


def loops(functions: Sequence[CFunction]) -> str:
    """Return C that calls each function n times; `arrays` are its inputs and outputs."""
    text = [f'#include "{NAME}.h"', '#include <time.h>', 'static double seconds(void) {']
    text += ['  struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);']
    text += ['  return t.tv_sec + 1e-9 * t.tv_nsec;', '}']
    for function in functions:
        count = len(function.program.inputs) + len(function.program.outputs)
        arrays = ', '.join(f'arrays[{k}]' for k in range(count))
        text += [
            f'double loop_{function.name}(long n, double **arrays) {{',
            '  const double start = seconds();',
            f'  for (long k = 0; k < n; k++) {function.name}({arrays});',
            '  return seconds() - start;',
            '}',
        ]
    return '\n'.join(text) + '\n'


class CCall:
    """Calls of one function with one state; a `timing.Run`."""

    def __init__(
        self, loaded: ctypes.CDLL, function: CFunction, values: dict[str, np.ndarray]
    ) -> None:
        self._loop = getattr(loaded, f'loop_{function.name}')
        self._loop.restype = ctypes.c_double
        self.outputs = [np.zeros(shape) for shape, _ in function.program.outputs]
        self._arrays = [np.array(values[name], float) for name, _ in function.program.inputs]
        self._arrays += self.outputs
        self._pointers = (ctypes.c_void_p * len(self._arrays))(
            *(ctypes.cast(doubles(array), ctypes.c_void_p) for array in self._arrays)
        )

    def __call__(self, n: int) -> float:
        """Return the seconds that n calls take."""
        return self._loop(ctypes.c_long(n), self._pointers)

    def each(self, n: int) -> list[float]:
        """Return the seconds of each of n calls."""
        return [self(1) for _ in range(n)]


def check(
    both: Pair,
    calls: Sequence[CCall],
    output: str,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
) -> None:
    """Make sure that all compute what Pinocchio's bindings do."""
    model, data, order = both.model, both.data, both.order
    Q, V, A = (x[order] for x in (q, v, a))
    expected = {
        'inverse_dynamics': lambda: pin.rnea(model, data, Q, V, A),
        'forward_dynamics': lambda: pin.aba(model, data, Q, V, A),
        'mass_matrix': lambda: pin.computeMinverse(model, data, Q),
        'gravity_torques': lambda: pin.computeGeneralizedGravity(model, data, Q),
        'inverse_dynamics_derivatives': lambda: pin.computeRNEADerivatives(model, data, Q, V, A)[0],
        'forward_dynamics_derivatives': lambda: pin.computeABADerivatives(model, data, Q, V, A)[0],
    }[output]()
    for call in calls:
        call(1)
        found = call.outputs[0]
        found = found[order] if found.ndim == 1 else found[np.ix_(order, order)]
        found = np.linalg.inv(found) if output == 'mass_matrix' else found
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
