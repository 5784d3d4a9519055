# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Object files for several processors: run where a linker and a processor, or an emulator, are."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.module import scalar_kernel, stack_kernel
from screw_dynamics_ros.core.compile.llvm.objects import object_file, target_machine
from screw_dynamics_ros.core.robot.fused_kernel import fused_specification
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


AARCH64 = ('aarch64-linux-gnu', 'cortex-a72')
EMULATOR = shutil.which('qemu-aarch64') or shutil.which('qemu-aarch64-static')
CROSS_COMPILER = shutil.which('aarch64-linux-gnu-gcc')


def main_of(robot, code):
    """Return a program that prints all results of all functions, one number a line."""
    values, lines = state(robot), []
    for name, function in zip(OUTPUTS, code.functions):
        arrays = [values[each].tolist() for each, _ in function.program.inputs]
        inputs = [f'(const double[]){{{", ".join(map(repr, each))}}}' for each in arrays]
        sizes = [int(np.prod(shape)) for shape, _ in function.program.outputs]
        results = [f'{name}_{k}' for k in range(len(sizes))]
        lines += [f'double {each}[{size}];' for each, size in zip(results, sizes)]
        lines.append(f'{function.name}({", ".join(inputs + results)});')
        for each, size in zip(results, sizes):
            lines.append(f'for (int k = 0; k < {size}; k++) printf("%.17g\\n", {each}[k]);')
    body = '\n  '.join(lines)
    return f'#include <stdio.h>\n#include "arm.h"\nint main(void) {{\n  {body}\n}}\n'


@pytest.mark.skipif(
    not (EMULATOR and CROSS_COMPILER), reason='no emulator or cross compiler of AArch64'
)
@pytest.mark.parametrize('file', ['arm.o', 'arm.c'])
def test_it_runs_on_an_emulated_aarch64(robot, code, functions, file, tmp_path):
    (tmp_path / 'arm.o').write_bytes(object_file(functions, *AARCH64))
    for name, text in {'arm.h': code.header, 'arm.c': code.source}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / 'main.c').write_text(main_of(robot, code))
    compiler = [CROSS_COMPILER, '-O2', '-static', 'main.c', file, '-lm', '-o', 'main']
    subprocess.run(compiler, cwd=tmp_path, check=True)
    text = subprocess.run(
        [EMULATOR, './main'], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    wanted = [np.ravel(each) for output in OUTPUTS for each in expected(robot, output)]
    found = np.array(text.split(), float)
    np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-11, atol=1e-11)


def test_stacks_take_vectors_of_neon(robot):
    """Two samples for each instruction of AArch64, with fused multiply-add."""
    recorded = fused_specification(robot.tree, ['inverse_dynamics'], {}).record()
    modules = stack_kernel(recorded, 'kernel', 2, native.opaque_pointers())
    machine = target_machine(*AARCH64, '')
    head = f'target triple = "{AARCH64[0]}"\n'
    assembly = ''.join(
        machine.emit_assembly(native.llvm().parse_assembly(head + each)) for each in modules
    )
    assert re.search(r'\bfml[as]\s+v\d+\.2d', assembly)


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
