"""Python callables, written in LLVM IR, that pass arrays to a compiled kernel.

A call through ctypes costs more than a whole inverse dynamics. An entry point here is a builtin
function (METH_FASTCALL) that looks at its arguments through the public array struct, as NumPy's
macros do in any compiled extension: if all are C-contiguous float64 arrays of the right shape it
allocates the result, an array or a tuple of arrays, and calls the kernel, 0.1 us in all. Stacks
and the keywords `out` and `gravity` go to `stacks`, which all entry points share. Everything else
(lists, other keywords, wrong shapes) goes to a Python function, which computes or raises.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from screw_dynamics_ros.core.compile.cpython.addresses import Addresses
from screw_dynamics_ros.core.compile.cpython.layout import DATA, c_api, vectorcall
from screw_dynamics_ros.core.compile.cpython.stacks import NOT_A_STACK, StackTable
from screw_dynamics_ros.core.compile.cpython.writer import EntryWriter, Shape
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.compilers import compile_code

METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02

Result = Shape | tuple[Shape, ...] | list[Shape]


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    ]


def entry_ir(
    kernel: int | Addresses,
    arguments: Sequence[Shape | int],
    result: Result,
    fallback: Callable[..., Any],
    stacks: StackTable | None = None,
) -> str:
    """Return IR of `i64 entry(i64 self, i64 args, i64 nargs, i64 kwnames)`.

    Parameters
    ----------
    kernel : int or Addresses
        Address of `void kernel(double*, ...)`: the arguments, then the results. `Addresses` choose
        it by string arguments after the arrays, and may not have it yet.
    arguments : sequence of shapes
        Shapes of the array arguments; an int is an address passed to the kernel without being an
        argument.
    result : tuple of int, tuple of shapes, or list of shapes
        Shape of the array to return, () for a float; several: a tuple of arrays is returned. A
        list: these arrays are further arguments, to be written into, and None is returned.
    fallback : callable
        Called when an argument does not fit; a bound method or a partial function.
    stacks : StackTable, optional
        What is called for stacks of the arguments.
    """
    w = EntryWriter(native.opaque_pointers())
    w.require_equal('i64', '%kwnames', 0, 'positional')
    shapes = [shape for shape in arguments if isinstance(shape, tuple)]
    targets = result if isinstance(result, list) else []
    count = len(shapes) + len(targets)
    if isinstance(kernel, Addresses):
        address = kernel.write_look_up(w, count, 'other', 'single')
    else:
        w.require_equal('i64', '%nargs', count, 'enough')
        address = str(kernel)
    found = iter(
        w.data_of_array(w.read('i64', '%args', 8 * k), shape, f'a{k}', k >= len(shapes))
        for k, shape in enumerate([*shapes, *targets])
    )
    data = [next(found) if isinstance(a, tuple) else str(a) for a in arguments] + list(found)
    _write_call(w, address, data, result)
    w.label('other')
    if stacks is not None:
        _write_stacks(w, stacks, count)
    else:
        w.go_to('python')
    w.label('python')
    w.do(
        'ret i64 '
        + w.call(
            'i64',
            vectorcall(fallback),
            ('i64', id(fallback)),
            ('i64', '%args'),
            ('i64', '%nargs'),
            ('i64', '%kwnames'),
        )
    )
    return '\n'.join(
        [
            *w.globals,
            'define i64 @entry(i64 %self, i64 %args, i64 %nargs, i64 %kwnames) {',
            'entry:',
            *w.lines,
            '}',
        ]
    )


def _write_call(w: EntryWriter, address: str, data: list[str], result: Result) -> None:
    """Write the call of the kernel with arrays for the results, and the end."""
    api = c_api()
    returned: int | str
    if isinstance(result, list):
        returned = id(None)
        w.call('void', api['Py_IncRef'], ('i64', returned))
    elif result == ():
        slot = w('alloca double')
        data.append(w(f'ptrtoint {w.pointer("double")} {slot} to i64'))
    elif isinstance(result[0], tuple):
        returned, arrays = w.new_tuple(result)
        data += [w.read('i64', array, DATA) for array in arrays]
    else:
        returned, there = w.new_array(result)
        w.unless(there, 'no_memory', 'allocated')
        data.append(w.read('i64', returned, DATA))
    w.call('void', address, *(('i64', pointer) for pointer in data))
    if result == ():
        number = w(f'load double, {w.pointer("double")} {slot}')
        returned = w.call('i64', api['PyFloat_FromDouble'], ('double', number))
    w.do(f'ret i64 {returned}')
    w.label('no_array')
    if not isinstance(result, list) and result and isinstance(result[0], tuple):
        w.call('void', api['Py_DecRef'], ('i64', returned))
    w.go_to('no_memory')
    w.label('no_memory')
    w.do('ret i64 0')


def _write_stacks(w: EntryWriter, stacks: StackTable, count: int) -> None:
    """Write the call of the function for stacks; the block `python` follows."""
    record = stacks.records.write_look_up(w, count, 'python', 'stacked')
    function = w.read('i64', str(stacks.address))
    result = w.call(
        'i64',
        function,
        ('i64', stacks.address),
        ('i64', record),
        ('i64', '%args'),
        ('i64', '%nargs'),
        ('i64', '%kwnames'),
    )
    w.unless(w.compare('ne', result, NOT_A_STACK), 'python', 'computed')
    w.do(f'ret i64 {result}')


class _Code:
    """What a builtin function needs to live: it is the function's `__self__`.

    It refers to nothing that could refer back to the function, so that the garbage collector never
    takes it apart before the function.
    """

    def __init__(
        self, name: str, doc: str, ir: str, fallback: Callable[..., Any], kept: tuple[Any, ...]
    ) -> None:
        self.kept, self.owner = kept, getattr(fallback, '__self__', None)
        self.library = native.Library(compile_code([ir]))
        self.definition = _MethodDef(
            name.encode(),
            self.library.address('entry'),
            METH_FASTCALL | METH_KEYWORDS,
            doc.encode(),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a builtin function as the method of its owner that it stands for."""
        if self.owner is None:
            raise TypeError('compiled code cannot be pickled')
        return itself, (self.owner,)


def itself(x: Any) -> Any:
    """Return x."""
    return x


def entry_point(
    name: str,
    doc: str,
    kernel: int | Addresses,
    arguments: Sequence[Shape | int],
    result: Result,
    fallback: Callable[..., Any],
    kept: object,
    stacks: StackTable | None = None,
) -> Callable[..., Any]:
    """Return a builtin function in front of a compiled kernel; parameters as in `entry_ir`.

    `fallback` must not refer to the returned function, not even indirectly. `kept` is kept alive.
    """
    ir = entry_ir(kernel, arguments, result, fallback, stacks)
    code = _Code(name, doc, ir, fallback, (fallback, kernel, kept, stacks))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    function: Callable[..., Any] = new(ctypes.addressof(code.definition), code, None)
    return function
