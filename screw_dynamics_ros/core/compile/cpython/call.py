# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Machine code of builtin functions that pass arrays to a compiled kernel, one for all of them.

It reads its arguments through the public array struct, as NumPy's macros do in any compiled
extension. C-contiguous float64 arrays of the right shapes, for one sample or for a stack, go to a
kernel; it allocates the results (an array, a float or a tuple of arrays), or uses those given.
Everything else (lists, other keywords, wrong shapes, outputs that share memory with other arrays,
stacks for several threads) goes to a Python function, which computes or raises. During long
computations it releases the GIL.

`self` of a builtin function is an array of integers, which describes its arguments: the words from
`ARRAY` to `FIXED`, then `INPUT` words for each input and `OUTPUT` words for each output.
"""

from __future__ import annotations

from ..typed.external import External, Signature, address_of
from ..typed.functions import Bytes, Ints, typed
from ..typed.memory import bytes_at, floats_at, ints_at, local_ints, read_i32, read_i64
from .layout import (
    C_CONTIGUOUS_AND_ALIGNED,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    ND,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    TYPE,
    WRITEABLE,
)

# Words of a table: addresses of objects; numbers of inputs, outputs, arguments that are arrays;
# kind of the result; number of options; whether there are keywords.
ARRAY, FLOAT64, NONE, TUPLE, OUT, GRAVITY, FALLBACK, FALLBACK_CODE = range(8)
INPUTS, OUTPUTS, ARRAYS, RESULT, OPTIONS, KEYWORDS, HAS_GRAVITY = range(8, 15)
#: Kernels by no, one and two options: a record, dicts of the addresses of records.
ONLY, BY_FIRST, BY_SECOND = range(15, 18)
FIRST_OUTPUT, FIRST = 18, 19  # the word where outputs begin, and the first of inputs
#: Words of an input: size, address of a constant or 0, whether it is equal for all samples.
SIZE, CONSTANT, UNIFORM, INPUT = 0, 1, 2, 3
MOST_AXES = 4
#: Words of an output for one sample: number of axes, their lengths, bytes.
AXES, LENGTHS, BYTES, OUTPUT = 0, 1, 1 + MOST_AXES, 2 + MOST_AXES
#: Kinds of results: a tuple of arrays, one array (a float for one number), None.
SEVERAL, ALONE, IN_PLACE = range(3)
#: Words of a record of kernels: for one sample, for stacks; numbers of samples of the longest stack
#: that one thread computes, that keeps the GIL, and whose results NumPy allocates; what allocates
#: others.
SINGLE, STACKED, LONGEST, BRIEF, SMALL, NEW, RECORD = range(7)

MOST_ARRAYS, GRAVITY_SIZE = 256, 3
UNSUPPORTED, NO_STACK = -2, -1

VECTORCALL = Signature(('address', 'address', 'i64', 'address'), 'address')
RUN_SINGLE = Signature(('address',), 'void')
RUN_STACK = Signature(('address', 'address', 'i64', 'i64'), 'void')

new_float = External('PyFloat_FromDouble', ('double',), 'address')
keep = External('Py_IncRef', ('address',), 'void')
release = External('Py_DecRef', ('address',), 'void')
new_tuple = External('PyTuple_New', ('i64',), 'address')
set_item = External('PyTuple_SetItem', ('address', 'i64', 'address'), 'i32')
get_item = External('PyDict_GetItem', ('address', 'address'), 'address')
as_address = External('PyLong_AsVoidPtr', ('address',), 'address')
new_int = External('PyLong_FromLongLong', ('i64',), 'address')
call_object = External('PyObject_Call', ('address', 'address', 'address'), 'address')
save_thread = External('PyEval_SaveThread', (), 'address')
restore_thread = External('PyEval_RestoreThread', ('address',), 'void')
new_array = External('PyArray_Empty', ('i32', 'address', 'address', 'i32'), 'address')


@typed
def call(function: int, args: int, nargs: int, kwnames: int) -> int:
    """Return the result of a builtin function, METH_FASTCALL | METH_KEYWORDS."""
    table = ints_at(read_i64(bytes_at(function), DATA))
    result = computed(table, ints_at(args), nargs, kwnames)
    if result == UNSUPPORTED:
        return VECTORCALL(table[FALLBACK_CODE], table[FALLBACK], args, nargs, kwnames)
    return result


@typed
def computed(table: Ints, args: Ints, nargs: int, kwnames: int) -> int:
    """Return the result, 0 for an error, or `UNSUPPORTED`."""
    keywords = local_ints(2)  # out and gravity, 0 if missing
    keywords[0] = 0
    keywords[1] = 0
    if kwnames != 0 and not read_keywords(table, args, nargs, kwnames, keywords):
        return UNSUPPORTED
    address = table[ONLY]
    if nargs != table[ARRAYS]:
        address = look_up(table, args, nargs - table[ARRAYS])
    if address == 0:
        return UNSUPPORTED
    record = ints_at(address)
    addresses = local_ints(MOST_ARRAYS)
    steps = local_ints(MOST_ARRAYS)  # bytes from sample to sample
    sizes = local_ints(MOST_ARRAYS)  # bytes of a sample
    fixed = local_ints(GRAVITY_SIZE)
    samples = read_inputs(table, args, keywords[1], fixed, addresses, steps, sizes)
    if samples == UNSUPPORTED:
        return UNSUPPORTED
    if samples == NO_STACK and record[SINGLE] == 0:
        return UNSUPPORTED
    if samples != NO_STACK and (record[STACKED] == 0 or samples > record[LONGEST]):
        return UNSUPPORTED
    number = local_ints(1)
    outputs = table[table[FIRST_OUTPUT] :]
    result = keywords[0]
    if table[RESULT] == ALONE and samples == NO_STACK and result == 0:
        if outputs[AXES] == 0:
            addresses[table[INPUTS]] = address_of(number)
            RUN_SINGLE(record[SINGLE], addresses)
            return new_float(floats_at(address_of(number))[0])
        keep(table[FLOAT64])  # PyArray_Empty steals it
        result = new_array(outputs[AXES], outputs[LENGTHS:], table[FLOAT64], 0)
        if result != 0:
            addresses[table[INPUTS]] = read_i64(bytes_at(result), DATA)
            RUN_SINGLE(record[SINGLE], addresses)
        return result
    if table[RESULT] == IN_PLACE:
        result = table[NONE]
    if result != 0:
        if not read_outputs(table, outputs, args, result, samples, addresses, steps, sizes):
            return UNSUPPORTED
        keep(result)
    else:
        result = new_outputs(table, outputs, record, samples, addresses, steps)
        if result == 0:
            return 0
    run(record, samples, addresses, steps)
    return result


@typed
def run(record: Ints, samples: int, addresses: Ints, steps: Ints) -> None:
    """Call the kernel, without the GIL if that takes long."""
    if samples == NO_STACK:
        RUN_SINGLE(record[SINGLE], addresses)
    elif samples <= record[BRIEF]:
        RUN_STACK(record[STACKED], addresses, steps, 0, samples)
    else:
        thread = save_thread()
        RUN_STACK(record[STACKED], addresses, steps, 0, samples)
        restore_thread(thread)


@typed
def read_keywords(table: Ints, args: Ints, nargs: int, kwnames: int, keywords: Ints) -> bool:
    """Store the values of `out` and `gravity` that are not None; False for others."""
    if table[KEYWORDS] == 0:
        return False
    for k in range(read_i64(bytes_at(kwnames), TUPLE_SIZE)):
        name = read_i64(bytes_at(kwnames), TUPLE_ITEMS + 8 * k)
        value = args[nargs + k]
        if value == table[NONE]:
            value = 0
        if name == table[OUT]:
            keywords[0] = value
        elif name == table[GRAVITY] and table[HAS_GRAVITY] != 0:
            keywords[1] = value
        else:
            return False
    return True


@typed
def look_up(table: Ints, args: Ints, options: int) -> int:
    """Return the address of the record for the options after the arrays, 0 if there is none."""
    if options < 1 or options > table[OPTIONS]:
        return 0
    found = table[BY_FIRST]
    if options == 2:
        found = get_item(table[BY_SECOND], args[table[ARRAYS] + 1])
    if found != 0:
        found = get_item(found, args[table[ARRAYS]])
    return as_address(found) if found != 0 else 0


@typed
def read_inputs(
    table: Ints,
    args: Ints,
    gravity: int,
    fixed: Ints,
    addresses: Ints,
    steps: Ints,
    sizes: Ints,
) -> int:
    """Store addresses and steps of the inputs; return the number of samples, or `UNSUPPORTED`."""
    samples = NO_STACK
    given = 0
    for k in range(table[INPUTS]):
        item = table[FIRST + INPUT * k :]
        size = item[SIZE]
        steps[k] = 0
        sizes[k] = 8 * size
        if item[CONSTANT] != 0 and gravity == 0:
            constant = ints_at(item[CONSTANT])
            for j in range(GRAVITY_SIZE):  # other threads may change it during the call
                fixed[j] = constant[j]
            addresses[k] = address_of(fixed)
            continue
        array = gravity
        if item[CONSTANT] == 0:
            array = args[given]
            given += 1
        data = bytes_at(array)
        if not is_plain(table, data, C_CONTIGUOUS_AND_ALIGNED):
            return UNSUPPORTED
        axes = read_i32(data, ND)
        lengths = ints_at(read_i64(data, DIMENSIONS))
        if axes == 2 and item[UNIFORM] == 0:
            if lengths[1] != size or (samples != NO_STACK and lengths[0] != samples):
                return UNSUPPORTED
            samples = lengths[0]
            steps[k] = 8 * size
        elif axes != 1 or lengths[0] != size:
            return UNSUPPORTED
        addresses[k] = read_i64(data, DATA)
    return samples


@typed
def is_plain(table: Ints, data: Bytes, flags: int) -> bool:
    """Whether an object is a float64 array with the flags."""
    if read_i64(data, TYPE) != table[ARRAY] or read_i64(data, DESCR) != table[FLOAT64]:
        return False
    return read_i32(data, FLAGS) & flags == flags


@typed
def read_outputs(
    table: Ints,
    outputs: Ints,
    args: Ints,
    out: int,
    samples: int,
    addresses: Ints,
    steps: Ints,
    sizes: Ints,
) -> bool:
    """Store addresses and steps of given outputs; False unless they are valid."""
    items = bytes_at(out)
    if table[RESULT] == SEVERAL and read_i64(items, TYPE) != table[TUPLE]:
        return False
    if table[RESULT] == SEVERAL and read_i64(items, TUPLE_SIZE) != table[OUTPUTS]:
        return False
    for k in range(table[OUTPUTS]):
        item = outputs[OUTPUT * k :]
        array = out
        if table[RESULT] == SEVERAL:
            array = read_i64(items, TUPLE_ITEMS + 8 * k)
        elif table[RESULT] == IN_PLACE:
            array = args[table[ARRAYS] - table[OUTPUTS] + k]
        data = bytes_at(array)
        if not is_plain(table, data, C_CONTIGUOUS_AND_ALIGNED | WRITEABLE):
            return False
        lengths = ints_at(read_i64(data, DIMENSIONS))
        first = 0 if samples == NO_STACK else 1
        if read_i32(data, ND) != item[AXES] + first:
            return False
        if first == 1 and lengths[0] != samples:
            return False
        for axis in range(item[AXES]):
            if lengths[first + axis] != item[LENGTHS + axis]:
                return False
        place = table[INPUTS] + k
        addresses[place] = read_i64(data, DATA)
        steps[place] = item[BYTES]
        sizes[place] = item[BYTES]
        if not is_apart(place, samples, addresses, steps, sizes):
            return False
    return True


@typed
def is_apart(place: int, samples: int, addresses: Ints, steps: Ints, sizes: Ints) -> bool:
    """Whether an output shares no memory with an array before it."""
    for k in range(place):
        ends = addresses[k] + extent(k, samples, steps, sizes) <= addresses[place]
        if not ends and addresses[place] + extent(place, samples, steps, sizes) > addresses[k]:
            return False
    return True


@typed
def extent(k: int, samples: int, steps: Ints, sizes: Ints) -> int:
    """Return the bytes of an array."""
    return sizes[k] * (1 if samples == NO_STACK or steps[k] == 0 else samples)


@typed
def new_outputs(
    table: Ints, outputs: Ints, record: Ints, samples: int, addresses: Ints, steps: Ints
) -> int:
    """Return the array or the tuple of arrays for the results; 0 without memory."""
    if samples > record[SMALL]:
        return large_outputs(table, outputs, record, samples, addresses, steps)
    result = 0
    if table[RESULT] == SEVERAL:
        result = new_tuple(table[OUTPUTS])
        if result == 0:
            return 0
    lengths = local_ints(1 + MOST_AXES)
    lengths[0] = samples
    for k in range(table[OUTPUTS]):
        item = outputs[OUTPUT * k :]
        keep(table[FLOAT64])  # PyArray_Empty steals it
        array = 0
        if samples == NO_STACK:
            array = new_array(item[AXES], item[LENGTHS:], table[FLOAT64], 0)
        else:
            for axis in range(item[AXES]):
                lengths[1 + axis] = item[LENGTHS + axis]
            array = new_array(item[AXES] + 1, lengths, table[FLOAT64], 0)
        if array == 0:
            if result != 0:
                release(result)
            return 0
        addresses[table[INPUTS] + k] = read_i64(bytes_at(array), DATA)
        steps[table[INPUTS] + k] = item[BYTES]
        if table[RESULT] == SEVERAL:
            set_item(result, k, array)  # steals the reference
        else:
            result = array
    return result


@typed
def large_outputs(
    table: Ints, outputs: Ints, record: Ints, samples: int, addresses: Ints, steps: Ints
) -> int:
    """Return outputs of a long stack, from the function that reuses memory."""
    number = new_int(samples)
    if number == 0:
        return 0
    arguments = new_tuple(1)
    if arguments == 0:
        release(number)
        return 0
    set_item(arguments, 0, number)
    result = call_object(record[NEW], arguments, 0)
    release(arguments)
    if result == 0:
        return 0
    for k in range(table[OUTPUTS]):
        item = outputs[OUTPUT * k :]
        array = (
            result if table[RESULT] == ALONE else read_i64(bytes_at(result), TUPLE_ITEMS + 8 * k)
        )
        addresses[table[INPUTS] + k] = read_i64(bytes_at(array), DATA)
        steps[table[INPUTS] + k] = item[BYTES]
    return result
