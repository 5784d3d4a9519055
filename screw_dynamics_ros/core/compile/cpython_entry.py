"""Python callables, written in LLVM IR, that pass arrays to a compiled kernel.

A call through ctypes costs more than a whole inverse dynamics. An entry point here is a builtin
function (METH_FASTCALL) that looks at its arguments through the public array struct, as NumPy's
macros do in any compiled extension: if all are C-contiguous float64 arrays of the right shape it
allocates the result, an array or a tuple of arrays, and calls the kernel, 0.1 us in all. Everything
else (stacks, lists, keywords, wrong shapes) goes to a Python function, which computes or raises.
"""

from __future__ import annotations

import ctypes
import logging
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.compilers import compile_code
from screw_dynamics_ros.core.compile.llvm.writer import Writer

METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02
PYARRAY_EMPTY = 184  # index in NumPy's C API table, the same in NumPy 1 and 2
C_CONTIGUOUS_AND_ALIGNED, WRITEABLE = 0x0101, 0x0400

# PyArrayObject: the object header, then data, nd, dimensions, strides, base, descr, flags.
HEADER = object.__basicsize__  # longer where Python runs without the GIL
TYPE, DATA, ND, DIMENSIONS, DESCR, FLAGS = (
    HEADER - 8,
    HEADER,
    HEADER + 8,
    HEADER + 16,
    HEADER + 40,
    HEADER + 48,
)

Shape = tuple[int, ...]
Result = Shape | tuple[Shape, ...] | list[Shape]


class Addresses:
    """Where the kernels of a function with string options are, by the values of the options.

    `by_first[a]` serves calls that leave the second option at its default, `by_second[b][a]` calls
    that give both. Addresses may be added while entry points use the tables.
    """

    def __init__(self, default: str | None = None) -> None:
        self.default = default
        self.by_first: dict[str, int] = {}
        self.by_second: dict[str, dict[str, int]] = {}

    def add(self, options: Sequence[str], address: int) -> None:
        """Register the kernel for the values of the options."""
        if len(options) == 2:
            self.by_second.setdefault(options[1], {})[options[0]] = address
        if len(options) == 1 or options[1] == self.default:
            self.by_first[options[0]] = address


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    ]


@cache
def _c_api() -> Mapping[str, int]:
    """Return the addresses of the C functions an entry point calls."""
    core = getattr(np, '_core', None) or np.core
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(
        get(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)
    )
    names = (
        'PyFloat_FromDouble',
        'Py_IncRef',
        'Py_DecRef',
        'PyTuple_New',
        'PyTuple_SetItem',
        'PyDict_GetItem',
        'PyLong_AsVoidPtr',
    )
    addresses = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in names
    }
    return {**addresses, 'PyArray_Empty': table[PYARRAY_EMPTY]}


def vectorcall(function: Callable[..., Any]) -> int:
    """Return the address behind a callable, found as the inline PyVectorcall_Function does.

    `PyObject_Vectorcall` itself is not exported by CPython 3.10.
    """
    # PyVarObject header, tp_name, tp_basicsize, tp_itemsize, tp_dealloc, tp_vectorcall_offset
    offset = ctypes.c_ssize_t.from_address(id(type(function)) + HEADER + 8 + 4 * 8).value
    address = ctypes.c_void_p.from_address(id(function) + offset).value if offset > 0 else None
    if address is None:
        raise TypeError(f'{function!r} cannot be called from compiled code')
    return address


class _EntryWriter(Writer):
    """Writes C-like code on integers that are addresses, the same for typed and opaque pointers."""

    def __init__(self, opaque_pointers: bool) -> None:
        super().__init__(opaque_pointers)
        self.globals: list[str] = []

    def read(self, type_: str, address: str, offset: int = 0) -> str:
        """Return the value of `type_` stored `offset` bytes after an address."""
        at = self(f'add i64 {address}, {offset}')
        pointer = self(f'inttoptr i64 {at} to {self.pointer(type_)}')
        return self(f'load {type_}, {self.pointer(type_)} {pointer}')

    def call(self, result: str, address: int | str, *arguments: tuple[str, int | str]) -> str:
        """Call the function at an address with (type, value) arguments; return the result."""
        types = ', '.join(type_ for type_, _ in arguments)
        function = self(f'inttoptr i64 {address} to {self.pointer(f"{result} ({types})")}')
        text = f'call {result} {function}({", ".join(f"{t} {v}" for t, v in arguments)})'
        if result == 'void':
            self.do(text)
            return ''
        return self(text)

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(f'{name}:')

    def unless(self, condition: str, target: str, otherwise: str) -> None:
        """Go on in a new block `otherwise` if `condition` holds, at `target` if not."""
        self.do(f'br i1 {condition}, label %{otherwise}, label %{target}')
        self.label(otherwise)

    def require_equal(self, type_: str, value: str, wanted: int, block: str) -> None:
        """Leave for `%other` unless `value` is the wanted one."""
        self.unless(self(f'icmp eq {type_} {value}, {wanted}'), 'other', block)

    def data_of_array(self, address: str, shape: Shape, block: str, written: bool) -> str:
        """Return the data address of a float64 array of `shape`; leave for `%other` if not."""
        wanted = C_CONTIGUOUS_AND_ALIGNED | (WRITEABLE if written else 0)
        self.require_equal('i64', self.read('i64', address, TYPE), id(np.ndarray), f'{block}_array')
        self.require_equal(
            'i64', self.read('i64', address, DESCR), id(np.dtype(np.float64)), f'{block}_float'
        )
        flags = self(f'and i32 {self.read("i32", address, FLAGS)}, {wanted}')
        self.require_equal('i32', flags, wanted, f'{block}_plain')
        self.require_equal('i32', self.read('i32', address, ND), len(shape), f'{block}_axes')
        for axis, size in enumerate(shape):
            dimensions = self.read('i64', address, DIMENSIONS)
            self.require_equal(
                'i64', self.read('i64', dimensions, 8 * axis), size, f'{block}_axis{axis}'
            )
        return self.read('i64', address, DATA)

    def new_array(self, shape: Shape) -> tuple[str, str]:
        """Allocate a float64 array; return its address and whether that is not NULL."""
        dimensions = f'[{len(shape)} x i64]'
        name = f'@shape{len(self.globals)}'
        sizes = ', '.join(f'i64 {n}' for n in shape)
        self.globals.append(f'{name} = private constant {dimensions} [{sizes}]')
        pointer = self(f'ptrtoint {self.pointer(dimensions)} {name} to i64')
        float64 = id(np.dtype(np.float64))
        self.call('void', _c_api()['Py_IncRef'], ('i64', float64))  # PyArray_Empty takes it
        array = self.call(
            'i64',
            _c_api()['PyArray_Empty'],
            ('i32', len(shape)),
            ('i64', pointer),
            ('i64', float64),
            ('i32', 0),
        )
        return array, self(f'icmp ne i64 {array}, 0')

    def new_tuple(self, shapes: Sequence[Shape]) -> tuple[str, list[str]]:
        """Allocate a tuple of new arrays; return its address and theirs.

        Leaves for `%no_memory`, or `%no_array` if the tuple is already there.
        """
        api, arrays = _c_api(), []
        result = self.call('i64', api['PyTuple_New'], ('i64', len(shapes)))
        self.unless(self(f'icmp ne i64 {result}, 0'), 'no_memory', 'tuple')
        for k, shape in enumerate(shapes):
            array, there = self.new_array(shape)
            self.unless(there, 'no_array', f'array{k}')
            self.call(
                'i32', api['PyTuple_SetItem'], ('i64', result), ('i64', k), ('i64', array)
            )  # takes the reference
            arrays.append(array)
        return result, arrays

    def address_for_options(self, addresses: Addresses, first: int) -> str:
        """Return the kernel's address for the string arguments from number `first` on."""
        api = _c_api()

        def look_up(table: int | str, argument: int, block: str) -> str:
            key = self.read('i64', '%args', 8 * argument)
            found = self.call('i64', api['PyDict_GetItem'], ('i64', table), ('i64', key))
            self.unless(self(f'icmp ne i64 {found}, 0'), 'other', block)
            return found

        table = self('alloca i64')
        pointer = self.pointer('i64')
        self.do(f'store i64 {id(addresses.by_first)}, {pointer} {table}')
        if addresses.default is not None:
            given = self(f'icmp eq i64 %nargs, {first + 2}')
            self.do(f'br i1 {given}, label %both, label %one')
            self.label('both')
            inner = look_up(id(addresses.by_second), first + 1, 'found_second')
            self.do(f'store i64 {inner}, {pointer} {table}')
            self.do('br label %one')
            self.label('one')
        found = look_up(self(f'load i64, {pointer} {table}'), first, 'found_first')
        return self.call('i64', api['PyLong_AsVoidPtr'], ('i64', found))


def entry_ir(
    kernel: int | Addresses,
    arguments: Sequence[Shape | int],
    result: Result,
    fallback: Callable[..., Any],
) -> str:
    """Return IR of `i64 entry(i64 self, i64 args, i64 nargs, i64 kwnames)`.

    Parameters
    ----------
    kernel : int or Addresses
        Address of `void kernel(double*, ...)`: the arguments, then the results. `Addresses` choose
        it by string arguments after the arrays.
    arguments : sequence of shapes
        Shapes of the array arguments; an int is an address passed to the kernel without being an
        argument.
    result : tuple of int, tuple of shapes, or list of shapes
        Shape of the array to return, () for a float; several: a tuple of arrays is returned. A
        list: these arrays are further arguments, to be written into, and None is returned.
    fallback : callable
        Called when an argument does not fit; a bound method or a partial function.
    """
    api = _c_api()
    w = _EntryWriter(native.opaque_pointers())
    w.require_equal('i64', '%kwnames', 0, 'positional')
    shapes = [shape for shape in arguments if isinstance(shape, tuple)]
    targets = result if isinstance(result, list) else []
    count = len(shapes) + len(targets)
    if isinstance(kernel, Addresses):
        fewest, most = count + 1, count + (1 if kernel.default is None else 2)
    else:
        fewest = most = count
    w.unless(w(f'icmp sge i64 %nargs, {fewest}'), 'other', 'enough')
    w.unless(w(f'icmp sle i64 %nargs, {most}'), 'other', 'not_too_many')
    address = w.address_for_options(kernel, count) if isinstance(kernel, Addresses) else kernel
    found = iter(
        w.data_of_array(w.read('i64', '%args', 8 * k), shape, f'a{k}', k >= len(shapes))
        for k, shape in enumerate([*shapes, *targets])
    )
    data = [next(found) if isinstance(a, tuple) else str(a) for a in arguments] + list(found)
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
    w.do('br label %no_memory')
    w.label('no_memory')
    w.do('ret i64 0')
    w.label('other')
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
            *w.lines,
            '}',
        ]
    )


@cache
def is_usable() -> bool:
    """Return whether this Python and this NumPy have the layout that entry points rely on.

    Tried once, by reading an array that is known and making another one. If it fails, that is
    logged, and functions are called through Python from then on: slower, with the same results.
    """
    fault = layout_fault()
    if fault:
        logging.getLogger('screw_dynamics_ros').warning(
            'compiled functions are called by the slower Python method: %s (Python %s, NumPy %s)',
            fault,
            platform.python_version(),
            np.__version__,
        )
    return not fault


def layout_fault() -> str:
    """Return what is not as entry points expect it, '' if nothing is."""
    sample = np.zeros((2, 3))
    expected = {
        'type': (ctypes.c_ssize_t, TYPE, id(np.ndarray)),
        'data': (ctypes.c_ssize_t, DATA, sample.ctypes.data),
        'number of axes': (ctypes.c_int, ND, 2),
        'element type': (ctypes.c_ssize_t, DESCR, id(np.dtype(np.float64))),
    }
    for what, (kind, offset, value) in expected.items():
        if kind.from_address(id(sample) + offset).value != value:
            return f'the {what} of an array is not where it was expected'
    dimensions = ctypes.c_ssize_t.from_address(id(sample) + DIMENSIONS).value
    if dimensions != ctypes.cast(sample.ctypes.shape, ctypes.c_void_p).value and list(
        (ctypes.c_ssize_t * 2).from_address(dimensions)
    ) != [2, 3]:
        return 'the shape of an array is not where it was expected'
    flags = ctypes.c_int.from_address(id(sample) + FLAGS).value
    if flags & (C_CONTIGUOUS_AND_ALIGNED | WRITEABLE) != C_CONTIGUOUS_AND_ALIGNED | WRITEABLE:
        return 'the flags of an array are not where they were expected'
    try:
        make = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int
        )(_c_api()['PyArray_Empty'])
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(np.dtype(np.float64)))  # it takes one
        made = make(2, (ctypes.c_ssize_t * 2)(2, 3), np.dtype(np.float64), 0)
        vectorcall(sample.sum)
    except Exception as error:  # of whatever kind: there is another way
        return f'{type(error).__name__}: {error}'
    if type(made) is not np.ndarray or made.shape != (2, 3) or made.dtype != np.float64:
        return 'NumPy makes other arrays than expected'
    return ''


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
) -> Callable[..., Any]:
    """Return a builtin function in front of a compiled kernel; parameters as in `entry_ir`.

    `fallback` must not refer to the returned function, not even indirectly. `kept` is kept alive.
    """
    ir = entry_ir(kernel, arguments, result, fallback)
    code = _Code(name, doc, ir, fallback, (fallback, kernel, kept))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    function: Callable[..., Any] = new(ctypes.addressof(code.definition), code, None)
    return function
