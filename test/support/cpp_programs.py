# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws as shared objects, and C++ programs that load them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.paths import ROOT

COMPILER, CPP = shutil.which('gcc'), shutil.which('g++')
CPUINFO = Path('/proc/cpuinfo')
needs_fma = pytest.mark.skipif(
    not (CPUINFO.exists() and ' fma ' in CPUINFO.read_text()), reason='no fused multiply-add'
)
needs_compilers = pytest.mark.skipif(COMPILER is None or CPP is None, reason='no C++ compiler')

FLAGS = ['-O2', '-fno-math-errno', '-ffp-contract=fast', '-shared', '-fPIC']
STRICT = ['-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror']
CPP_FLAGS = ['-std=c++17', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-pedantic', '-Werror']
SANITIZERS = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']
SUPPORT = ROOT / 'test' / 'support'  # has counted_allocations.hpp
INCLUDE = ROOT / 'screw_dynamics_control' / 'include'
HEADER = INCLUDE / 'screw_dynamics_control' / 'control_law.hpp'


class Field(ctypes.Structure):
    """`screw_dynamics_law_field`."""

    _fields_ = [
        *((name, ctypes.c_char_p) for name in ('name', 'unit', 'text')),
        *((name, ctypes.c_uint32) for name in ('offset', 'size')),
        *((name, ctypes.c_double) for name in ('value', 'minimum', 'maximum')),
    ]


class Vector(ctypes.Structure):
    """`screw_dynamics_law_vector`."""

    _fields_ = [
        ('size', ctypes.c_uint32),
        ('count', ctypes.c_uint32),
        ('fields', ctypes.POINTER(Field)),
    ]


def shared_object(source: Path, *flags: object) -> Path:
    """Compile a law, with its digest."""
    path = source.with_suffix('.so')
    names = [source, *flags, '-lm', '-o', path]
    subprocess.run([COMPILER, *STRICT, *FLAGS, *map(str, names)], check=True, cwd=source.parent)
    return with_digest(path)


def with_digest(path: Path) -> Path:
    """Append the digest of a file, by the command of the documentation."""
    command = f"sha256sum < '{path.name}' >> '{path.name}'"
    subprocess.run(command, shell=True, check=True, cwd=path.parent)
    return path


def built(folder: Path, name: str, text: str, *flags: str) -> Path:
    """Compile a C++ program."""
    (folder / f'{name}.cpp').write_text(text)
    files = [f'-I{INCLUDE}', f'-I{SUPPORT}', f'{name}.cpp', '-o', name, '-ldl']
    subprocess.run([CPP, *CPP_FLAGS, '-g', *flags, *files], check=True, cwd=folder)
    return folder / name


def run(program: Path, *arguments: str) -> list[str]:
    """Return the lines that a program prints; one that waits for a pipe is ended."""
    environment = {**os.environ, 'LD_PRELOAD': '', 'ASAN_OPTIONS': 'alloc_dealloc_mismatch=0'}
    done = subprocess.run(
        [program, *arguments],
        env=environment,
        cwd=program.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def hexadecimal(numbers: Iterable[float]) -> str:
    """Return numbers as text without rounding."""
    return ' '.join(float(number).hex() for number in numbers)
