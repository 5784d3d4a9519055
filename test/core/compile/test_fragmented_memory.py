# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Machine code is loaded where free memory is scattered, as in a process with many threads."""

import subprocess
import sys

import pytest

pytest.importorskip('llvmlite')
if not sys.platform.startswith('linux'):
    pytest.skip('reserves memory as Linux does', allow_module_level=True)

#: Leaves one hole of some pages above 3 GB that are taken; whatever does not fit goes below.
SCRIPT = """
import ctypes
import mmap
import sys

from screw_dynamics_ros.core.compile.llvm import native

PAGE, GIB, RESERVED = mmap.PAGESIZE, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
if 'llvmlite' in sys.argv or 'own' in sys.argv:
    native.is_linked = lambda: False
if 'own' in sys.argv:
    native.memory_manager = dict

system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

sums = '\\n'.join(f'%x{k + 1} = fadd double %x{k}, 1.{k:03}e-3' for k in range(999))
P = 'ptr' if native.opaque_pointers() else 'double*'
code = native.joined(map(native.emitted, (
    f'''
    declare double @other(double)
    declare double @llvm.sin.f64(double)
    define double @sum(double %x0) {{
      {sums}
      %y = call double @llvm.sin.f64(double %x999)
      %z = call double @other(double %y)
      ret double %z
    }}''',
    'define double @other(double %x) {\\n%y = fmul double %x, 0.3\\nret double %y\\n}',
)))


def loaded():
    library = native.Library(code)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address('sum'))
    return function(0.5)


expected = loaded()
reserved = system.mmap(None, 4 * GIB, 0, RESERVED, -1, 0)
for size in (256 * PAGE, 16 * PAGE, 4 * PAGE, PAGE):
    while system.mmap(None, size, 0, RESERVED, -1, 0) > reserved:
        pass
for pages in range(1, 9):
    system.munmap(reserved + 3 * GIB + pages * 256 * PAGE, pages * PAGE)
    print(loaded() == expected)
"""


@pytest.mark.parametrize('manager', ['none', 'of llvmlite', 'own of LLVM'])
def test_code_and_constants_may_be_anywhere(manager):
    """Linked here, loaded by LLVM into one block, or with 64-bit addresses."""
    made = subprocess.run(
        [sys.executable, '-c', SCRIPT, *manager.split()], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.split() == ['True'] * 8
