# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Object files for several processors: run where a linker and a processor, or an emulator, are."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.module import scalar_kernel
from screw_dynamics_ros.core.compile.llvm.objects import object_file, target_machine
from screw_dynamics_ros.entry import DONE, NEGATIVE
from support.models import random_description
from support.robots import urdf_path

pytestmark = pytest.mark.skipif(not native.available(), reason='no llvmlite')

OUTPUTS = ('inverse_dynamics', 'forward_dynamics', 'inverse_dynamics_derivatives')
#: How object files begin: ELF with the machine's number, WebAssembly, text.
TARGETS = {
    ('aarch64-linux-gnu', 'cortex-a72'): (b'\x7fELF\x02', 183),
    ('x86_64-linux-gnu', 'x86-64-v3'): (b'\x7fELF\x02', 62),
    ('thumbv7em-none-eabihf', 'cortex-m7'): (b'\x7fELF\x01', 40),
    ('wasm32-unknown-unknown', ''): (b'\0asm', None),
    ('nvptx64-nvidia-cuda', 'sm_80'): (b'//', None),
}


@pytest.fixture(scope='module')
def robot():
    return Robot(random_description(0, 4), backend='reference')


@pytest.fixture(scope='module')
def code(robot):
    return robot.c_source('arm', *OUTPUTS, separate=True)


@pytest.fixture(scope='module')
def functions(code):
    return [(function.name, function.program) for function in code.functions]


def state(robot):
    """Return inputs by name."""
    names = ('q', 'v', 'a', 'tau')
    values = dict(zip(names, np.random.default_rng(2).uniform(-1.0, 1.0, (4, robot.nv))))
    return {**values, 'gravity': np.array([0.5, 0.2, -9.5])}


def expected(robot, output):
    """Return the outputs of the recursion."""
    fused = robot.fuse(output)
    return fused(*(state(robot)[name] for name in fused.inputs))


@pytest.mark.parametrize('cpu', ['icelake-server', 'sapphirerapids'])
def test_one_sample_takes_no_vectors_of_512_bits(functions, cpu):
    """Next to them, all other instructions of these processors run at half their rate."""
    triple = 'x86_64-linux-gnu'
    machine = target_machine(triple, cpu, '')
    head = f'target triple = "{triple}"\n'
    assembly = ''.join(
        machine.emit_assembly(native.llvm().parse_assembly(head + module))
        for name, program in functions
        for module in scalar_kernel(program, name, native.opaque_pointers())
    )
    assert '%ymm' in assembly
    assert '%zmm' not in assembly


@pytest.mark.skipif(shutil.which('cc') is None, reason='no linker')
def test_it_runs_on_this_processor(robot, code, functions, tmp_path):
    settings = native.target_settings()
    triple = native.llvm().get_process_triple()
    (tmp_path / 'arm.o').write_bytes(
        object_file(functions, triple, settings['cpu'], settings['features'])
    )
    subprocess.run(['cc', '-shared', 'arm.o', '-lm', '-o', 'arm.so'], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / 'arm.so'))
    for output, function in zip(OUTPUTS, code.functions):
        inputs = [np.ascontiguousarray(state(robot)[name]) for name, _ in function.program.inputs]
        found = [np.full(shape, np.nan) for shape, _ in function.program.outputs]
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *found))
        getattr(library, function.name)(*pointers)
        for result, wanted in zip(found, expected(robot, output)):
            np.testing.assert_allclose(result, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize('target', TARGETS, ids=lambda target: target[0].partition('-')[0])
def test_targets(functions, target):
    made = object_file(functions, *target)
    start, machine = TARGETS[target]
    assert made.startswith(start)
    if machine is not None:
        assert int.from_bytes(made[18:20], 'little') == machine
    assert all(name.encode() in made for name, _ in functions)


@pytest.mark.skipif(shutil.which('nm') is None, reason='no nm')
def test_what_all_functions_call_is_there_once(functions, tmp_path):
    (tmp_path / 'arm.o').write_bytes(object_file(functions, 'x86_64-linux-gnu'))
    text = subprocess.run(
        ['nm', 'arm.o'], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    symbols = [line.split() for line in text.splitlines()]
    assert sum(symbol[-1].startswith('sincos') for symbol in symbols) == 1
    assert {symbol[-1] for symbol in symbols if symbol[-2] == 'T'} == {n for n, _ in functions}


PROGRAM = """
#include <stdio.h>
#include "arm.h"
int main(void) {
  double tau[8];
  %s
  arm_inverse_dynamics(q, v, a, gravity, tau);
  for (int k = 0; k < 8; k++) printf("%%.17g\\n", tau[k]);
}
"""


@pytest.mark.skipif(
    not (shutil.which('qemu-aarch64') and shutil.which('aarch64-linux-gnu-gcc')),
    reason='no emulator or compiler of AArch64',
)
def test_it_runs_on_an_emulated_aarch64(robot, code, functions, tmp_path):
    (tmp_path / 'arm.o').write_bytes(object_file(functions, 'aarch64-linux-gnu', 'cortex-a72'))
    (tmp_path / 'arm.h').write_text(code.header)
    arrays = [
        f'const double {name}[] = {{{", ".join(map(repr, values.tolist()))}}};'
        for name, values in state(robot).items()
        if name != 'tau'
    ]
    (tmp_path / 'main.c').write_text(PROGRAM % '\n  '.join(arrays))
    compiler = ['aarch64-linux-gnu-gcc', '-static', 'main.c', 'arm.o', '-lm', '-o', 'main']
    subprocess.run(compiler, cwd=tmp_path, check=True)
    text = subprocess.run(
        ['qemu-aarch64', './main'], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    (wanted,) = expected(robot, 'inverse_dynamics')
    np.testing.assert_allclose([float(x) for x in text.split()], wanted, rtol=1e-11, atol=1e-11)


def test_targets_that_llvm_does_not_know_are_refused(functions, tmp_path, capsys):
    with pytest.raises(ArgumentError, match="no code can be generated for 'abacus'"):
        object_file(functions, 'abacus')
    arguments = [str(urdf_path('planar_2r')), 'mass_matrix', '--folder', str(tmp_path)]
    assert command.main([*arguments, '--target', 'abacus']) == NEGATIVE
    assert 'name a target as LLVM does' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_command_writes_object_files(tmp_path):
    arguments = [str(urdf_path('planar_2r')), 'mass_matrix', '--folder', str(tmp_path)]
    assert command.main([*arguments, '--target', 'aarch64-linux-gnu']) == DONE
    assert (tmp_path / 'planar_2r.o').read_bytes().startswith(b'\x7fELF')
    assert command.main([*arguments, '--target', 'nvptx64-nvidia-cuda']) == DONE
    assert '.visible .func' in (tmp_path / 'planar_2r.ptx').read_text()
