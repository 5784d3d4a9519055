# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calls with stacks of samples: one compiled function checks arguments for all entry points.

It accepts arrays (N, size), or (size,) for inputs that are equal for all samples, and the keywords
`out` and, if the function has it, `gravity`. It allocates the results and calls a kernel of
`stack_loop`. The `StackTable` of a function describes its arguments. `NOT_A_STACK` is returned for
unsupported cases: other types and layouts, outputs that share memory with other arrays, and stacks
for several threads. During long computations it releases the GIL.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ...types import Array
from ..llvm import native
from .layout import DATA, DIMENSIONS, GRAVITY, ND, OUT, TUPLE_ITEMS, TUPLE_SIZE, TYPE, c_api
from .writer import Addresses, EntryWriter, Shape

_compiling = threading.Lock()

NOT_A_STACK = 1  # returned instead of the address of an object
MOST_ARRAYS, MOST_AXES, MOST_FIXED = 64, 4, 8

# 64-bit numbers in a table: a header, then four for each input and eight for each output.
FUNCTION, INPUTS, OUTPUTS, UNPACKED, HAS_GRAVITY, FIRST = 0, 8, 16, 24, 32, 40
SIZE, FIXED, UNIFORM, INPUT = 0, 8, 16, 32
AXES, LENGTHS, BYTES, OUTPUT = 0, 8, 8 + 8 * MOST_AXES, 64


class StackTable:
    """Arguments of a function for stacks, and addresses of its compiled kernels.

    Parameters
    ----------
    inputs : sequence of (size, address)
        An address other than 0 is that of an input which is not an argument, but can be replaced by
        the keyword `gravity`.
    uniform : sequence of bool
        Which inputs always have shape (size,).
    shapes : sequence of shapes
        Shapes of the outputs for one sample.
    unpacked : bool
        Whether a single output is returned as array instead of a tuple.
    options : int
    default : str, optional
        As in `Addresses`.
    """

    def __init__(
        self,
        inputs: Sequence[tuple[int, int]],
        uniform: Sequence[bool],
        shapes: Sequence[Shape],
        unpacked: bool,
        options: int = 0,
        default: str | None = None,
    ) -> None:
        self.records = Addresses(options, default)
        self._kept: list[object] = []
        words = [0, len(inputs), len(shapes), int(unpacked and len(shapes) == 1)]
        words.append(int(any(address for _, address in inputs)))
        for (size, address), same in zip(inputs, uniform):
            words += [size, address, int(same), 0]
        for shape in shapes:
            lengths = [*shape, *[0] * (MOST_AXES - len(shape))]
            words += [len(shape) + 1, *lengths, 8 * elements(shape), 0, 0]
        self._words = (ctypes.c_int64 * len(words))(*words)
        self.address = ctypes.addressof(self._words)

    @staticmethod
    def fits(inputs: Sequence[tuple[int, int]], shapes: Sequence[Shape]) -> bool:
        """Return whether the compiled function supports this number of inputs, outputs and axes."""
        return (
            len(inputs) + len(shapes) <= MOST_ARRAYS
            and all(len(shape) <= MOST_AXES for shape in shapes)
            and all(size <= MOST_FIXED for size, address in inputs if address)
        )

    def add(
        self,
        options: tuple[str, ...],
        kernel: int,
        limits: tuple[int, int, int],
        new: Callable[[int], Sequence[Array]],
    ) -> None:
        """Register a kernel of `stack_loop` for some options.

        `limits` are three numbers of samples: the longest stack for which it is called, the longest
        for which it keeps the GIL, and the longest whose results NumPy allocates; `new` allocates
        those of longer stacks. `kernel` stays loaded.
        """
        unpacked = bool(self._words[UNPACKED // 8])

        def result(samples: int) -> Any:
            outputs = tuple(new(samples))
            return outputs[0] if unpacked else outputs

        record = (ctypes.c_int64 * 5)(kernel, *limits, id(result))
        self._kept += [record, result]
        self._words[FUNCTION // 8] = stack_function()
        self.records.add(options, ctypes.addressof(record))


def elements(shape: Shape) -> int:
    """Return the number of elements of an array with this shape."""
    count = 1
    for n in shape:
        count *= n
    return count


def stack_function() -> int:
    """Return the address of the compiled function; it is compiled on first use."""
    with _compiling:  # only once: tables contain its address
        return _library().address('stacks')


@cache
def _library() -> native.Library:
    ir, addresses = stacks_ir()
    # Without optimization: a quarter of the time; 25 ns more for each call.
    return native.Library(native.machine_code(ir, opt=0), addresses)


def stacks_ir() -> tuple[str, list[int]]:
    """Return IR of `i64 stacks(i64 table, i64 record, i64 args, i64 nargs, i64 kwnames)`.

    With the addresses that it is linked to.
    """
    w = EntryWriter(native.opaque_pointers())
    out, gravity, samples, argument, result = (w.words(1) for _ in range(5))
    addresses, steps, sizes = (w.words(MOST_ARRAYS) for _ in range(3))
    lengths, fixed = w.words(MOST_AXES + 1), w.words(MOST_FIXED)
    has_gravity = w.compare('ne', w.read('i64', '%table', HAS_GRAVITY), 0)
    read_keywords(w, out, gravity, has_gravity)
    w.write(-1, samples)
    w.write('%args', argument)
    inputs = w.read('i64', '%table', INPUTS)
    with w.loop('input', inputs) as k:
        item = w.element(w('add i64 %table, ' + str(FIRST)), k, INPUT)
        place = w.element(addresses, k), w.element(steps, k)
        _read_input(w, item, gravity, argument, samples, fixed, place)
        w.write(w(f'mul i64 {w.read("i64", item, SIZE)}, 8'), w.element(sizes, k))
    count = w.read('i64', samples)
    w.unless(w.compare('sge', count, 0), 'other', 'stacked')
    w.unless(w.compare('sle', count, w.read('i64', '%record', 8)), 'other', 'not_long')
    first = w.element(w(f'add i64 %table, {FIRST}'), inputs, INPUT)
    _outputs(w, first, count, out, result, addresses, steps, sizes, lengths)
    returned = w.read('i64', result)
    kernel = w.read('i64', '%record')
    arguments: list[tuple[str, int | str]] = [
        ('i64', addresses),
        ('i64', steps),
        ('i64', 0),
        ('i64', count),
    ]
    w.unless(w.compare('sgt', count, w.read('i64', '%record', 16)), 'briefly', 'long')
    state = w.call('i64', c_api()['PyEval_SaveThread'])
    w.call('void', kernel, *arguments)
    w.call('void', c_api()['PyEval_RestoreThread'], ('i64', state))
    w.do(f'ret i64 {returned}')
    w.label('briefly')
    w.call('void', kernel, *arguments)
    w.do(f'ret i64 {returned}')
    w.label('other')
    w.do(f'ret i64 {NOT_A_STACK}')
    names = ('table', 'record', 'args', 'nargs', 'kwnames')
    head = f'define i64 @stacks({", ".join(f"i64 %{name}" for name in names)}) {{'
    return '\n'.join([*w.link(), head, 'entry:', *w.lines, '}']), w.addresses


def read_keywords(w: EntryWriter, out: str, gravity: str, has_gravity: str) -> None:
    """Write the values of the keywords to `out` and `gravity`, 0 if missing or None.

    Branches to `%other` for other keywords; the block `positional` follows.
    """
    w.write(0, out)
    w.write(0, gravity)
    w.unless(w.compare('ne', '%kwnames', 0), 'positional', 'with_keywords')
    values = w.element('%args', '%nargs')
    with w.loop('keyword', w.read('i64', '%kwnames', TUPLE_SIZE)) as k:
        name = w.read('i64', w.element('%kwnames', k), TUPLE_ITEMS)
        given = w.read('i64', w.element(values, k))
        value = w.select(w.compare('eq', given, w.outside(id(None))), 0, given)
        is_out, is_gravity = (
            w.compare('eq', name, w.outside(id(keyword))) for keyword in (OUT, GRAVITY)
        )
        allowed = w(f'or i1 {is_out}, {w(f"and i1 {is_gravity}, {has_gravity}")}')
        w.unless(allowed, 'other', 'keyword_known')
        w.write(w.select(is_out, value, w.read('i64', out)), out)
        w.write(w.select(is_gravity, value, w.read('i64', gravity)), gravity)
    w.go_to('positional')
    w.label('positional')


def _read_input(
    w: EntryWriter,
    item: str,
    gravity: str,
    argument: str,
    samples: str,
    fixed: str,
    place: tuple[str, str],
) -> None:
    """Write the checks of one input; store its address and sample stride [bytes] at `place`."""
    size, address = w.read('i64', item, SIZE), w.read('i64', item, FIXED)
    replaced = w.read('i64', gravity)
    data, step = place
    is_fixed = w.compare('ne', address, 0)
    kept = w.compare('eq', replaced, 0)
    w.unless(w(f'and i1 {is_fixed}, {kept}'), 'given', 'kept')
    with w.loop('number', size) as k:  # a copy: other threads may change it during the call
        w.write(w.read('i64', w.element(address, k)), w.element(fixed, k))
    w.write(fixed, data)
    w.write(0, step)
    w.go_to('input_read')

    w.label('given')
    first = w.read('i64', argument)
    array = w.read('i64', w.select(is_fixed, gravity, first))
    w.write(w.select(is_fixed, first, w(f'add i64 {first}, 8')), argument)
    w.require_floats(array, 'input', False)
    axes = w(f'sext i32 {w.read("i32", array, ND)} to i64')
    is_stack = w.compare('eq', axes, 2)
    is_vector = w.compare('eq', axes, 1)
    w.unless(w(f'or i1 {is_stack}, {is_vector}'), 'other', 'input_axes')
    allowed = w.select(is_stack, w.read('i64', item, UNIFORM), 0)
    w.unless(w.compare('eq', allowed, 0), 'other', 'input_allowed')
    dimensions = w.read('i64', array, DIMENSIONS)
    columns = w.read('i64', w.element(dimensions, axes), -8)
    w.unless(w.compare('eq', columns, size), 'other', 'input_size')
    known = w.read('i64', samples)
    count = w.select(is_stack, w.read('i64', dimensions), known)
    is_first = w.compare('eq', known, -1)
    is_same = w.compare('eq', known, count)
    w.unless(w(f'or i1 {is_first}, {is_same}'), 'other', 'input_samples')
    w.write(count, samples)
    w.write(w.read('i64', array, DATA), data)
    w.write(w.select(is_stack, w(f'mul i64 {size}, 8'), 0), step)
    w.go_to('input_read')
    w.label('input_read')


def _outputs(
    w: EntryWriter,
    items: str,
    samples: str,
    out: str,
    result: str,
    addresses: str,
    steps: str,
    sizes: str,
    lengths: str,
) -> None:
    """Write the checks of given output arrays, or the allocation of new ones, to `result`."""
    inputs, count = w.read('i64', '%table', INPUTS), w.read('i64', '%table', OUTPUTS)
    unpacked = w.compare('ne', w.read('i64', '%table', UNPACKED), 0)

    def register(k: str, item: str, array: str) -> None:
        place = w(f'add i64 {inputs}, {k}')
        size = w.read('i64', item, BYTES)
        w.write(w.read('i64', array, DATA), w.element(addresses, place))
        w.write(size, w.element(steps, place))
        w.write(size, w.element(sizes, place))

    def item_of(k: str, place: str, target: str) -> str:
        """Return an array of the tuple at `target`, or the single array at `place`."""
        of_tuple = w(f'add i64 {w.element(target, k)}, {TUPLE_ITEMS}')
        return w.read('i64', w.select(unpacked, place, of_tuple))

    target = w.read('i64', out)
    w.unless(w.compare('ne', target, 0), 'new_outputs', 'given_outputs')
    w.write(target, result)
    w.unless(w(f'xor i1 {unpacked}, true'), 'outputs', 'packed')
    w.require_equal('i64', w.read('i64', target, TYPE), w.outside(id(tuple)), 'outputs_tuple')
    w.unless(w.compare('eq', w.read('i64', target, TUPLE_SIZE), count), 'other', 'outputs_count')
    w.go_to('outputs')
    w.label('outputs')
    with w.loop('target', count) as k:
        item = w.element(items, k, OUTPUT)
        array = item_of(k, out, target)
        _check_output(w, item, samples, array)
        register(k, item, array)
        _check_apart(w, w(f'add i64 {inputs}, {k}'), samples, addresses, steps, sizes)
    w.call('void', c_api()['Py_IncRef'], ('i64', target))
    w.go_to('ready')

    w.label('new_outputs')
    w.unless(w.compare('sle', samples, w.read('i64', '%record', 24)), 'large', 'not_large')
    w.write(0, result)
    w.unless(w(f'xor i1 {unpacked}, true'), 'make', 'make_tuple')
    made = w.call('i64', c_api()['PyTuple_New'], ('i64', count))
    w.unless(w.compare('ne', made, 0), 'no_memory', 'tuple_made')
    w.write(made, result)
    w.go_to('make')
    w.label('make')
    w.write(samples, lengths)
    with w.loop('output', count) as k:
        item = w.element(items, k, OUTPUT)
        for axis in range(MOST_AXES):
            w.write(w.read('i64', item, LENGTHS + 8 * axis), lengths, 8 + 8 * axis)
        axes = w(f'trunc i64 {w.read("i64", item, AXES)} to i32')
        array, there = w.empty(axes, lengths)
        w.unless(there, 'no_array', 'output_made')
        register(k, item, array)
        w.unless(w(f'xor i1 {unpacked}, true'), 'output_alone', 'output_in_tuple')
        held = w.read('i64', result)
        w.call(
            'i32', c_api()['PyTuple_SetItem'], ('i64', held), ('i64', k), ('i64', array)
        )  # steals the reference
        w.go_to('output_registered')
        w.label('output_alone')
        w.write(array, result)
        w.go_to('output_registered')
        w.label('output_registered')
    w.go_to('ready')

    w.label('large')
    number = w.call('i64', c_api()['PyLong_FromLongLong'], ('i64', samples))
    w.unless(w.compare('ne', number, 0), 'no_memory', 'large_counted')
    arguments = w.call('i64', c_api()['PyTuple_New'], ('i64', 1))
    w.unless(w.compare('ne', arguments, 0), 'no_memory', 'large_asked')
    w.call('i32', c_api()['PyTuple_SetItem'], ('i64', arguments), ('i64', 0), ('i64', number))
    new = w.read('i64', '%record', 32)
    kept = w.call('i64', c_api()['PyObject_Call'], ('i64', new), ('i64', arguments), ('i64', 0))
    w.call('void', c_api()['Py_DecRef'], ('i64', arguments))
    w.unless(w.compare('ne', kept, 0), 'no_memory', 'large_made')
    w.write(kept, result)
    with w.loop('large_output', count) as k:
        register(k, w.element(items, k, OUTPUT), item_of(k, result, kept))
    w.go_to('ready')

    w.label('no_array')
    w.call('void', c_api()['Py_DecRef'], ('i64', w.read('i64', result)))
    w.go_to('no_memory')
    w.label('no_memory')
    w.do('ret i64 0')
    w.label('ready')


def _check_output(w: EntryWriter, item: str, samples: str, array: str) -> None:
    """Branch to `%other` unless it is a writeable array of the right shape."""
    w.require_floats(array, 'target', True)
    axes = w.read('i64', item, AXES)
    found = w(f'sext i32 {w.read("i32", array, ND)} to i64')
    w.unless(w.compare('eq', found, axes), 'other', 'target_axes')
    dimensions = w.read('i64', array, DIMENSIONS)
    w.unless(w.compare('eq', w.read('i64', dimensions), samples), 'other', 'target_samples')
    with w.loop('axis', w(f'sub i64 {axes}, 1')) as k:
        length = w.read('i64', w.element(item, k), LENGTHS)
        there = w.read('i64', w.element(dimensions, k), 8)
        w.unless(w.compare('eq', there, length), 'other', 'axis_fits')


def _check_apart(
    w: EntryWriter, place: str, samples: str, addresses: str, steps: str, sizes: str
) -> None:
    """Branch to `%other` if an output shares memory with an array before it."""

    def extent(k: str) -> tuple[str, str]:
        start = w.read('i64', w.element(addresses, k))
        size, step = w.read('i64', w.element(sizes, k)), w.read('i64', w.element(steps, k))
        rows = w.select(w.compare('eq', step, 0), 1, samples)
        return start, w(f'add i64 {start}, {w(f"mul i64 {size}, {rows}")}')

    start, end = extent(place)
    with w.loop('other_array', place) as k:
        its_start, its_end = extent(k)
        before, after = w.compare('sle', its_end, start), w.compare('sle', end, its_start)
        w.unless(w(f'or i1 {before}, {after}'), 'other', 'apart')
