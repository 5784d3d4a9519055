# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of other processors, for tests in processes of their own.

NumPy leaves out what a processor would lack, OpenBLAS takes its kernels for another one, the C
library its functions, and LLVM compiles for a level of x86-64.
"""

from __future__ import annotations

import platform

from screw_dynamics_ros.core.compile.llvm import native

try:
    from numpy._core import _multiarray_umath as umath
except ImportError:  # NumPy 1
    from numpy.core import _multiarray_umath as umath


def without(*names: str) -> str:
    """Return the features that NumPy dispatches to and whose names contain one of these."""
    return ' '.join(
        feature
        for feature in umath.__cpu_dispatch__
        if umath.__cpu_features__.get(feature) and any(name in feature for name in names)
    )


AVX512 = ('AVX512', 'X86_V4')

#: Environment variables of each processor.
PROCESSORS = {
    'plain x86-64': {
        'NPY_DISABLE_CPU_FEATURES': without(*AVX512, 'AVX', 'FMA', 'F16C', 'XOP', 'X86_V3'),
        'OPENBLAS_CORETYPE': 'Nehalem',
        'OPENBLAS_NUM_THREADS': '1',
        'GLIBC_TUNABLES': 'glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F',
        'SCREW_DYNAMICS_PROCESSOR': 'x86-64',
    },
    'AVX2': {
        'NPY_DISABLE_CPU_FEATURES': without(*AVX512),
        'OPENBLAS_CORETYPE': 'Haswell',
        'OPENBLAS_NUM_THREADS': '2',
        'GLIBC_TUNABLES': 'glibc.cpu.hwcaps=-AVX512F',
        'SCREW_DYNAMICS_PROCESSOR': 'x86-64-v3',
        'PYTHONHASHSEED': '1',
    },
}


def _runs(variables: dict[str, str]) -> bool:
    """Return whether this processor has what the level to compile for has."""
    needed = native.LEVELS[variables.get('SCREW_DYNAMICS_PROCESSOR', 'x86-64')].features
    kernels = {'Haswell': 'avx2'}
    kernel = kernels.get(variables['OPENBLAS_CORETYPE'])
    host = native.host_features().split(',')
    return all(f'+{each}' in host for each in [*needed, *([kernel] if kernel else [])])


def usable(variables: dict[str, str]) -> bool:
    """Return whether programs can be run with the settings here."""
    return platform.machine() == 'x86_64' and (not native.available() or _runs(variables))
