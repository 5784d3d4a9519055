# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Object files linked without LLVM compute what they do if LLVM loads them, or the linker."""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from screw_dynamics_ros.core import ArgumentError, BackendError
from screw_dynamics_ros.core.compile.llvm import linking, native
from support.compilation import needs_llvmlite, run_python

pytestmark = [
    needs_llvmlite,
    pytest.mark.skipif(
        not sys.platform.startswith('linux') or platform.machine() != 'x86_64',
        reason='LLVM loads machine code on this system',
    ),
]

#: Two modules: constants, a variable, C functions, and a function of the other module.
MODULES = (
    """
    @counter = global i64 0
    @start = internal global double 0.25
    @table = internal constant [3 x double] [double 1.5, double 2.5, double 4.5]
    declare double @other(double)
    declare double @sin(double)
    define i64 @counted() {
      %a = load i64, POINTER(i64) @counter
      %b = add i64 %a, 1
      store i64 %b, POINTER(i64) @counter
      ret i64 %b
    }
    define double @sum(double %x, i64 %k) {
      %p = getelementptr [3 x double], POINTER([3 x double]) @table, i64 0, i64 %k
      %t = load double, POINTER(double) %p
      %s = load double, POINTER(double) @start
      %y = call double @sin(double %x)
      %z = call double @other(double %y)
      %u = fadd double %z, %t
      %v = fadd double %u, %s
      ret double %v
    }""",
    'define double @other(double %x) {\n%y = fmul double %x, 0.3\nret double %y\n}',
)


@pytest.fixture(scope='module')
def objects():
    opaque = native.opaque_pointers()
    pointer = 'ptr' if opaque else r'\1*'
    texts = [re.sub(r'POINTER\((.*?)\)', pointer, dedent(text)) for text in MODULES]
    return [native.emitted(text) for text in texts]


def test_code_computes_what_a_linker_and_llvm_make_of_it(objects, monkeypatch, tmp_path):
    code = linking.LinkedCode(objects)
    monkeypatch.setattr(native, 'is_linked', lambda: False)
    loaded = native.Library(native.joined(objects))
    ways = [code.addresses.__getitem__, loaded.address]
    if shutil.which('cc'):
        names = [f'part{k}.o' for k in range(len(objects))]
        for name, data in zip(names, objects):
            (tmp_path / name).write_bytes(data)
        subprocess.run(['cc', '-shared', *names, '-lm', '-o', 'all.so'], cwd=tmp_path, check=True)
        library = ctypes.CDLL(str(tmp_path / 'all.so'))
        ways.append(lambda name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    for address in ways:
        total = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(address('sum'))
        assert [total(0.5, k) for k in range(3)] == pytest.approx(
            [0.3 * 0.479425538604203 + t + 0.25 for t in (1.5, 2.5, 4.5)], rel=1e-15
        )
        counted = ctypes.CFUNCTYPE(ctypes.c_int64)(address('counted'))
        assert [counted(), counted()] == [1, 2]


def rights_at(address):
    """Return the permissions of memory at an address, '' if nothing is mapped."""
    for line in Path('/proc/self/maps').read_text().splitlines():
        place, permissions, *_ = line.split()
        start, end = (int(each, 16) for each in place.split('-'))
        if start <= address < end:
            return permissions
    return ''


def test_code_cannot_be_written_and_variables_cannot_run(objects):
    """Both are freed with the object."""
    code = linking.LinkedCode(objects)
    places = code.addresses['sum'], code.addresses['counter']
    assert list(map(rights_at, places)) == ['r-xp', 'rw-p']
    del code
    gc.collect()
    assert not any('x' in rights_at(place) for place in places)


def test_what_is_not_known_is_refused(objects):
    with pytest.raises(BackendError, match='no object file for x86-64'):
        linking.LinkedCode([b'\x7fELF\x02' + objects[0][5:18] + b'\xb7' + objects[0][19:]])
    with pytest.raises(ArgumentError, match="no C function 'other'"):
        linking.LinkedCode(objects[:1])
    data = bytearray(objects[0])
    file = linking.ObjectFile(objects[0])
    (first, *_) = file.sections[file.sections['kind'] == linking.RELOCATIONS]
    data[int(first['offset']) + 8] = 10  # 32 bits without sign, of the large model
    with pytest.raises(BackendError, match=r'unknown relocations of machine code: \[10\]'):
        linking.LinkedCode([bytes(data), objects[1]])


USE = """
    import sys
    import numpy as np
    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.core.compile.typed import library
    from screw_dynamics_ros.core.state_clock import advance_clock
    from support.models import random_description
    kernel = Robot(random_description(0, 3), backend='native').fuse('mass_matrix', 'gravity')
    outputs = kernel.once(np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.0, -9.81]))
    call = kernel.table_call
    library.compiled([advance_clock])
    print(outputs[0].tobytes().hex())
    print('llvmlite' in sys.modules, 'llvmlite' in open('/proc/self/maps').read())
"""


def test_a_process_whose_programs_are_known_does_not_load_llvm(tmp_path):
    first, again = (run_python(USE, SCREW_DYNAMICS_CACHE=str(tmp_path)).split() for _ in range(2))
    assert first[1:] == ['True', 'True']
    assert again == [first[0], 'False', 'False']


def test_another_processor_or_llvmlite_is_asked_again(tmp_path, monkeypatch):
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(tmp_path))
    keys = {native._host_key()}
    monkeypatch.setattr(native.sources, 'COMPILING', 'another version')
    keys.add(native._host_key())
    folder = tmp_path / 'llvmlite'
    (folder / 'binding').mkdir(parents=True)
    (folder / '__init__.py').write_text('')
    monkeypatch.setattr(native, 'find_spec', lambda _: type('', (), {'origin': f'{folder}/a.py'}))
    assert native._host_key() == ''
    library = folder / 'binding' / 'libllvmlite.so'
    for text in ('one', 'other'):
        library.write_text(text)
        keys.add(native._host_key())
    assert len(keys) == 4
