# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Python callables, written in LLVM IR, that pass arrays to a compiled kernel.

A call through ctypes takes longer than an inverse dynamics. An entry point here is a builtin
function (METH_FASTCALL) that reads its arguments through the public array struct, as NumPy's macros
do in any compiled extension. If all are C-contiguous float64 arrays of the right shape, it
allocates the result (an array or a tuple of arrays) or uses the keyword `out`, and calls the
kernel: 0.1 us in total. Stacks go to `stacks`, which all entry points share. Everything else
(lists, other keywords, wrong shapes) goes to a Python function, which computes or raises.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ..llvm import native
from .layout import DATA, TUPLE_ITEMS, TUPLE_SIZE, TYPE, c_api, vectorcall
from .stacks import NOT_A_STACK, StackTable, elements, read_keywords
from .writer import Addresses, EntryWriter, Shape

METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02
GRAVITY_SIZE = 3

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
) -> tuple[str, list[int]]:
    """Return IR of `i64 entry(i64 self, i64 args, i64 nargs, i64 kwnames)`, and its addresses.

    Parameters
    ----------
    kernel : int or Addresses
        Address of `void kernel(double*, ...)`: the arguments, then the results. `Addresses` select
        it by string arguments after the arrays, and may not contain it yet.
    arguments : sequence of shapes
        Shapes of the array arguments. An int is the address of an array (3,) that is passed to the
        kernel without being an argument, unless the keyword `gravity` is given.
    result : tuple of int, tuple of shapes, or list of shapes
        A shape: an array is returned, or a float for (). A tuple of shapes: a tuple of arrays is
        returned. A list of shapes: further arguments are written in place, and None is returned.
    fallback : callable
        Called if an argument does not match; a bound method or a partial function.
    stacks : StackTable, optional
        Called for stacks of the arguments. With it the function has the keyword `out`.
    """
    w = EntryWriter(native.opaque_pointers())
    out, gravity = w.words(1), w.words(1)
    if stacks is not None:
        fixed = any(isinstance(argument, int) for argument in arguments)
        read_keywords(w, out, gravity, str(fixed).lower())
    else:
        w.require_equal('i64', '%kwnames', 0, 'positional')
        w.write(0, out)
        w.write(0, gravity)
    shapes = [shape for shape in arguments if isinstance(shape, tuple)]
    targets = result if isinstance(result, list) else []
    count = len(shapes) + len(targets)
    if isinstance(kernel, Addresses):
        address = kernel.write_look_up(w, count, 'other', 'single')
    else:
        w.require_equal('i64', '%nargs', count, 'enough')
        address = w.outside(kernel)
    found = iter(
        w.data_of_array(w.read('i64', '%args', 8 * k), shape, f'a{k}', k >= len(shapes))
        for k, shape in enumerate([*shapes, *targets])
    )
    inputs = [
        (next(found), elements(a))
        if isinstance(a, tuple)
        else (_fixed(w, a, gravity), GRAVITY_SIZE)
        for a in arguments
    ]
    _write_call(w, address, inputs, list(found), result, out)
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
            ('i64', w.outside(id(fallback))),
            ('i64', '%args'),
            ('i64', '%nargs'),
            ('i64', '%kwnames'),
        )
    )
    ir = '\n'.join(
        [
            *w.globals,
            *w.link(),
            'define i64 @entry(i64 %self, i64 %args, i64 %nargs, i64 %kwnames) {',
            'entry:',
            *w.lines,
            '}',
        ]
    )
    return ir, w.addresses


def _fixed(w: EntryWriter, address: int, gravity: str) -> str:
    """Return the data address of the array in the keyword `gravity`, or a fixed one."""
    given, known, before = w.read('i64', gravity), w.outside(address), w.block
    w.do(f'br i1 {w.compare("eq", given, 0)}, label %fixed, label %gravity')
    w.label('gravity')
    data = w.data_of_array(given, (GRAVITY_SIZE,), 'gravity', False)
    after = w.block
    w.go_to('fixed')
    w.label('fixed')
    return w(f'phi i64 [{known}, %{before}], [{data}, %{after}]')


def _write_call(
    w: EntryWriter,
    address: str,
    inputs: Sequence[tuple[str, int]],
    targets: list[str],
    result: Result,
    out: str,
) -> None:
    """Write the call of the kernel with arrays for the results, and the return.

    `inputs` are data addresses and numbers of elements, `targets` the addresses of outputs.
    """
    api = c_api()
    data = [place for place, _ in inputs] + targets
    returned: int | str
    if isinstance(result, list):
        returned = w.outside(id(None))
        w.call('void', api['Py_IncRef'], ('i64', returned))
    elif result == ():
        w.require_equal('i64', w.read('i64', out), 0, 'number')
        slot = w('alloca double')
        data.append(w(f'ptrtoint {w.pointer("double")} {slot} to i64'))
    else:
        several = [shape for shape in result if isinstance(shape, tuple)]
        shapes = several or [tuple(n for n in result if isinstance(n, int))]
        returned, results = _results(w, shapes, not several, inputs, w.read('i64', out))
        data += results
    w.call('void', address, *(('i64', pointer) for pointer in data))
    if result == ():
        number = w(f'load double, {w.pointer("double")} {slot}')
        returned = w.call('i64', api['PyFloat_FromDouble'], ('double', number))
    w.do(f'ret i64 {returned}')
    w.label('no_memory')
    w.do('ret i64 0')


def _results(
    w: EntryWriter,
    shapes: Sequence[Shape],
    alone: bool,
    inputs: Sequence[tuple[str, int]],
    out: str,
) -> tuple[str, list[str]]:
    """Return the array or the tuple of arrays for the results, and the addresses of their data.

    They are new if `out` is 0. Branches to `%other` if given arrays do not match, or share memory
    with an input or with one another.
    """
    api = c_api()
    w.unless(w.compare('eq', out, 0), 'given', 'new')
    if alone:
        made, there = w.new_array(shapes[0])
        w.unless(there, 'no_memory', 'allocated')
        new = [w.read('i64', made, DATA)]
    else:
        made, arrays = w.new_tuple(shapes)
        new = [w.read('i64', array, DATA) for array in arrays]
    after_new = w.block
    w.go_to('results')
    if not alone:
        w.label('no_array')
        w.call('void', api['Py_DecRef'], ('i64', made))
        w.go_to('no_memory')
    w.label('given')
    if not alone:
        w.require_equal('i64', w.read('i64', out, TYPE), w.outside(id(tuple)), 'out_tuple')
        w.require_equal('i64', w.read('i64', out, TUPLE_SIZE), len(shapes), 'out_count')
    known = list(inputs)
    for k, shape in enumerate(shapes):
        array = out if alone else w.read('i64', out, TUPLE_ITEMS + 8 * k)
        known.append((w.data_of_array(array, shape, f'out{k}', True), elements(shape)))
        _require_apart(w, known, f'out{k}')
    w.call('void', api['Py_IncRef'], ('i64', out))
    given, after_given = [place for place, _ in known[len(inputs) :]], w.block
    w.go_to('results')
    w.label('results')
    returned, *data = (
        w(f'phi i64 [{a}, %{after_new}], [{b}, %{after_given}]')
        for a, b in zip((made, *new), (out, *given))
    )
    return returned, data


def _require_apart(w: EntryWriter, arrays: Sequence[tuple[str, int]], block: str) -> None:
    """Branch to `%other` if the last array shares memory with one before it."""
    ends = [w(f'add i64 {place}, {8 * numbers}') for place, numbers in arrays]
    for k, (place, _) in enumerate(arrays[:-1]):
        before = w.compare('sle', ends[k], arrays[-1][0])
        after = w.compare('sle', ends[-1], place)
        w.unless(w(f'or i1 {before}, {after}'), 'other', f'{block}_apart{k}')


def _write_stacks(w: EntryWriter, stacks: StackTable, count: int) -> None:
    """Write the call of the function for stacks; the block `python` follows."""
    record = stacks.records.write_look_up(w, count, 'python', 'stacked')
    table = w.outside(stacks.address)
    result = w.call(
        'i64',
        w.read('i64', table),
        ('i64', table),
        ('i64', record),
        ('i64', '%args'),
        ('i64', '%nargs'),
        ('i64', '%kwnames'),
    )
    w.unless(w.compare('ne', result, NOT_A_STACK), 'python', 'computed')
    w.do(f'ret i64 {result}')


class _Code:
    """Owner of the code and data of a builtin function, as its `__self__`.

    It holds no reference to anything that could refer back to the function, so that the garbage
    collector never clears it before the function.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        library: native.Library,
        fallback: Callable[..., Any],
        kept: tuple[Any, ...],
    ) -> None:
        self.kept, self.owner = kept, getattr(fallback, '__self__', None)
        self.library = library
        self.definition = _MethodDef(
            name.encode(),
            self.library.address('entry'),
            METH_FASTCALL | METH_KEYWORDS,
            doc.encode(),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a builtin function as the method that it implements."""
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
    ir, addresses = entry_ir(kernel, arguments, result, fallback, stacks)
    made = native.machine_code(ir, opt=0)  # in a third of the time; calls take 2 ns more
    library = native.Library(made, addresses)
    code = _Code(name, doc, library, fallback, (fallback, kernel, kept, stacks))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    function: Callable[..., Any] = new(ctypes.addressof(code.definition), code, None)
    return function
