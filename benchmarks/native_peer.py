# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio called from C++, in this process, so that it takes turns with calls from Python.

The headers of the installed wheel are compiled with all optimizations and for this processor, the
same functions as in `single_calls.py`; nothing of the wheel's own code is used. This takes a
compiler, and Eigen: `pip install cmeel-eigen` (in requirements/oracles.txt), the package
libeigen3-dev, or a folder named by EIGEN3_INCLUDE_DIR. Without them C++ is left out, and said.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin

HERE = Path(__file__).resolve().parent
SOURCE = HERE / 'pinocchio_native.cpp'
BUILD = HERE.parent / 'build' / 'benchmarks'
#: The definitions with which the wheel asks to be used.
DEFINITIONS = (
    '-DBOOST_MPL_LIMIT_LIST_SIZE=30',
    '-DBOOST_MPL_LIMIT_VECTOR_SIZE=30',
    '-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS',
    '-DBOOST_FUSION_INVOKE_MAX_ARITY=12',
)
#: The processor that is compiled for, ours and theirs: this one, or a level of x86-64.
PROCESSOR = os.environ.get('SCREW_DYNAMICS_PROCESSOR') or 'native'
FLAGS = ('-std=c++17', '-O3', f'-march={PROCESSOR}', '-DNDEBUG', '-fopenmp')
#: Of a library that keeps what it defines to itself: the wheel defines the same.
LIBRARY = ('-fPIC', '-shared', '-fvisibility=hidden', '-fno-gnu-unique', '-w')
NAME = 'Pinocchio C++'
# In the order of the C++ source.
FUNCTIONS = (
    'inverse dynamics',
    'forward dynamics',
    'mass matrix',
    'gravity torques',
    'all frames',
    "one frame's Jacobian",
    'Coriolis torques',
    'kinetic energy',
    'potential energy',
    'center of mass',
    'derivatives of inverse dynamics',
    'derivatives of forward dynamics',
    'regressor',
    'Coriolis matrix',
    'inverse mass matrix',
    'second derivatives of inverse dynamics',
)
NOTHING = -1

Doubles = ctypes.POINTER(ctypes.c_double)


def include_folders() -> list[Path] | None:
    """Return the folders of the headers of Pinocchio and of Eigen; None without them."""
    prefix = next((p for p in Path(pin.__file__).parents if p.name == 'cmeel.prefix'), None)
    if prefix is None:
        return None
    include = prefix / 'include'
    eigen = [
        os.environ.get('EIGEN3_INCLUDE_DIR', ''),
        include / 'eigen3',
        '/usr/include/eigen3',
        '/usr/local/include/eigen3',
    ]
    found = [Path(f) for f in eigen if f and Path(f, 'Eigen', 'Core').is_file()]
    complete = found and (include / 'pinocchio' / 'multibody.hpp').is_file()
    return [include, found[0]] if complete else None


@cache
def library() -> ctypes.CDLL | None:
    """Compile, once for each version of anything it depends on; None where that is not possible."""
    folders, compiler = include_folders(), shutil.which(os.environ.get('CXX', 'g++'))
    if folders is None or compiler is None:
        lacking = 'a C++ compiler' if folders else 'Eigen (pip install cmeel-eigen)'
        print(f'Pinocchio in C++ is not measured: {lacking} is missing', file=sys.stderr)
        return None
    command = [compiler, *FLAGS, *LIBRARY, *DEFINITIONS]
    command += [word for folder in folders for word in ('-isystem', str(folder))]
    processor = Path('/proc/cpuinfo').read_bytes().split(b'\n\n')[0].partition(b'flags')[2]
    key = [SOURCE.read_bytes(), repr(command).encode(), pin.__version__.encode()]
    digest = hashlib.sha256(b'\0'.join([*key, processor.partition(b'\n')[0]])).hexdigest()[:16]
    target = BUILD / f'pinocchio_native_{digest}.so'
    if not target.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        print('compiling Pinocchio in C++, some minutes ...', file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            new = Path(folder, target.name)
            done = subprocess.run(
                [*command, str(SOURCE), '-o', str(new)], capture_output=True, text=True
            )
            if done.returncode:
                print(f'Pinocchio in C++ does not compile:\n{done.stderr[:2000]}', file=sys.stderr)
                return None
            new.rename(target)
    loaded = ctypes.CDLL(str(target))
    loaded.peer_new.restype = ctypes.c_void_p
    loaded.peer_run.restype = loaded.peer_stack.restype = ctypes.c_double
    return loaded


def compiler_version() -> str:
    """Return name and version of the compiler with its flags, '' if C++ is left out."""
    if library() is None:
        return ''
    command = [os.environ.get('CXX', 'g++'), '-dumpfullversion']
    version = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return f'{Path(command[0]).name} {version} {" ".join(FLAGS)}'


class NativePeer:
    """A model of Pinocchio's, handed over to C++."""

    def __init__(self, model: pin.Model, frame: int) -> None:
        loaded = library()
        assert loaded is not None
        self._library, self.model = loaded, model
        self._handle = ctypes.c_void_p(loaded.peer_new())
        for k in range(1, model.njoints):
            joint, body, placement = model.joints[k], model.inertias[k], model.jointPlacements[k]
            axis = getattr(joint.extract(), 'axis', np.zeros(3))
            inertia = np.concatenate([[body.mass], body.lever, body.inertia.ravel()])
            index = loaded.peer_joint(
                self._handle,
                model.parents[k],
                joint.shortname().encode(),
                *map(doubles, (axis, placement.rotation, placement.translation, inertia)),
            )
            if index != k:
                raise ValueError(f'{joint.shortname()} is not known to {SOURCE.name}')
        for k, known in list(enumerate(model.frames))[1:]:  # the first is the universe
            loaded.peer_frame(
                self._handle,
                known.parentJoint,
                doubles(known.placement.rotation),
                doubles(known.placement.translation),
                int(k == frame),
            )
        self.threads = len(os.sched_getaffinity(0))
        loaded.peer_ready(self._handle, self.threads)

    def function(self, name: str, *states: np.ndarray) -> NativeCall:
        """Return a function at q, v, a (nv,) each."""
        return NativeCall(self, FUNCTIONS.index(name), states)

    def stack(self, name: str, *states: np.ndarray, threads: int) -> NativeStack:
        """Return a function at all rows of q, v, a (samples, nv) each."""
        return NativeStack(self, FUNCTIONS.index(name), states, threads)


class NativeCall:
    """Single calls of one function; a `timing.Run`."""

    def __init__(self, peer: NativePeer, function: int, states: tuple[np.ndarray, ...]) -> None:
        self._peer, self._function = peer, function
        self._states = [np.array(x, float) for x in states]

    def __call__(self, n: int) -> float:
        """Return the seconds that n calls take."""
        return self._peer._library.peer_run(
            self._peer._handle, self._function, ctypes.c_long(n), *map(doubles, self._states)
        )

    def each(self, n: int) -> list[float]:
        """Return the seconds of each of n calls, without those for reading the clock."""
        clock = float(np.median(self._times(NOTHING, 200)))
        return np.maximum(self._times(self._function, n) - clock, 0.0).tolist()

    def _times(self, function: int, n: int) -> np.ndarray:
        times = np.zeros(n)
        self._peer._library.peer_each(
            self._peer._handle,
            function,
            ctypes.c_long(n),
            *map(doubles, (*self._states, times)),
        )
        return times

    def result(self, *shape: int) -> np.ndarray:
        """Call once and return the result."""
        self(1)
        out = np.zeros(shape)
        self._peer._library.peer_result(self._peer._handle, self._function, doubles(out))
        return out


class NativeStack:
    """A stack of samples; a `timing.Run`."""

    def __init__(
        self, peer: NativePeer, function: int, states: tuple[np.ndarray, ...], threads: int
    ) -> None:
        self._peer, self._function, self._threads = peer, function, threads
        self._states = [np.array(x, float) for x in states]
        samples, n = self._states[0].shape
        self.out = np.zeros((samples, *stack_shape(FUNCTIONS[function], n)))

    def __call__(self, n: int) -> float:
        """Return the seconds that n passes over the stack take."""
        return self._peer._library.peer_stack(
            self._peer._handle,
            self._function,
            ctypes.c_long(n),
            self._threads,
            ctypes.c_long(len(self.out)),
            ctypes.c_long(self.out[0].size),
            *map(doubles, (*self._states, self.out)),
        )

    def each(self, n: int) -> list[float]:
        """Return the seconds of each of n passes."""
        return [self(1) for _ in range(n)]


def stack_shape(name: str, n: int) -> tuple[int, ...]:
    """Return the shape of what C++ writes for one sample, matrices as Pinocchio stores them."""
    if name == 'mass matrix':
        return n, n
    if name.startswith('derivatives'):
        return 3, n, n
    return (10 * n, n) if name == 'regressor' else (n,)


def doubles(array: np.ndarray) -> ctypes.Array:
    """Return the memory of an array, made C-contiguous in row order."""
    return np.ascontiguousarray(array, float).ctypes.data_as(Doubles)
