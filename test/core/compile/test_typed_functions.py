# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed functions: each construct gives the same bits in Python and compiled."""

from __future__ import annotations

import ctypes
import math
import struct
from functools import cache

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.text.typed_c import typed_c
from screw_dynamics_ros.core.compile.typed import library as typed_library
from screw_dynamics_ros.core.compile.typed.external import (
    External,
    Signature,
    address_in_process,
    address_of,
    call_address,
    call_address_1,
)
from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.library import compiled
from screw_dynamics_ros.core.compile.typed.memory import (
    bytes_at,
    copy_bytes,
    floats_at,
    ints_at,
    read_f64,
    read_i32,
    read_i64,
    read_u32,
    write_f64,
    write_i64,
    write_u32,
)
from screw_dynamics_ros.core.errors import ArgumentError, BackendError
from support.compilation import needs_llvmlite
from support.typed_source import in_c

pytestmark = needs_llvmlite

SMALLEST = -(2**63)
LIMIT, SCALE, ENABLED = 1 << 20, 0.1, True
INTS = [0, 1, -1, 2, -2, 7, 63, 64, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, SMALLEST]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 5e-324, 0.1, 1e300, -1e300, math.inf, -math.inf]
FLOATS += [math.nan, 0.49999999999999994, 4503599627370497.5, 9.3e18, -9.3e18]
labs = External('labs', ('i64',), 'i64')
absolute_int = External('abs', ('i32',), 'i32')
hypot = External('hypot', ('double', 'double'), 'double')
memcpy = External('memcpy', ('address', 'address', 'i64'), 'address')
unknown = External('no_function_of_this_name', ('double', 'double'), 'double')
UNARY = Signature(('double',), 'double')


@typed
def float_arithmetic(a: float, b: float, out: Floats) -> float:
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = -a
    out[4] = 2 * a + LIMIT
    out[5] = a * b + SCALE
    out[6] = +SCALE
    return a / b


@typed
def int_arithmetic(a: int, b: int, out: Ints) -> int:
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = -a
    out[4] = a & b
    out[5] = a | b
    out[6] = a ^ b
    return ~a


@typed
def floor_division(a: int, b: int, out: Ints) -> int:
    out[0] = a // b
    out[1] = a // 1000
    out[2] = a % 1000
    out[3] = a // -7
    out[4] = a % -7
    out[5] = a // -1
    out[6] = a % -1
    return a % b


@typed
def shifts(a: int, b: int, out: Ints) -> int:
    out[0] = a << (b & 127)
    out[1] = a << 3
    out[2] = a >> 3
    out[3] = a >> 70
    return a >> b


@typed
def comparisons_of_floats(a: float, b: float, out: Ints) -> bool:
    out[0] = int(a < b)
    out[1] = int(a <= b)
    out[2] = int(a > b)
    out[3] = int(a >= b)
    out[4] = int(a == b)
    out[5] = int(a < 1 <= b)
    out[6] = int((a < b) == (b < a))
    return a != b


@typed
def comparisons_of_ints(a: int, b: int, out: Ints) -> bool:
    out[0] = int(a < b)
    out[1] = int(a <= b)
    out[2] = int(a > b)
    out[3] = int(a >= b)
    out[4] = int(a == b)
    out[5] = int(-2 < a < b <= 64 != a)
    out[6] = int(bool(a))
    return a != b


@typed
def conversions(a: float, b: int, c: bool, out: Ints) -> float:
    out[0] = int(a)
    out[1] = round(a)
    out[2] = math.floor(a)
    out[3] = abs(b)
    out[4] = int(c)
    out[5] = int(bool(a))
    out[6] = int(ENABLED)
    return float(b)


@typed
def mathematics(a: float, b: float, out: Floats) -> float:
    out[0] = abs(a)
    out[1] = math.copysign(a, b)
    out[2] = math.exp(a)
    out[3] = math.expm1(a)
    out[4] = min(a, b, 0.5)
    out[5] = max(a, b)
    out[6] = max(min(b, a), -math.inf)
    out[7] = min(a * 0.0, b * 0.0) if a < 2.0 else max(a * 0.0, b * 0.0)  # zeros of both signs
    return math.sqrt(a)


@typed
def angles(a: float, b: float, out: Floats) -> float:
    out[0] = math.sin(a)
    out[1] = math.cos(b)
    return math.atan2(a, b)


@typed
def classes(a: float, out: Ints) -> bool:
    out[0] = int(math.isnan(a))
    out[1] = int(math.isinf(a))
    out[2] = int(a == math.inf)
    return math.isfinite(a)


@typed
def counted(out: Ints, place: int) -> bool:
    out[place] += 1
    return out[place] % 2 == 1


@typed
def short_circuits(a: bool, b: bool, c: int, out: Ints) -> bool:
    d = (a and counted(out, 0) and b) or counted(out, 1)
    if not a or (b and counted(out, 2)):
        out[3] = c if counted(out, 4) else out[5]
    return d and c // (c + 1 if c == -1 else c) == 1 if c != 0 and c != -1 else a


@typed
def branches(a: int, b: float, out: Floats) -> int:
    sign = 0
    if a < 0:
        sign = -1
        if b > 0:
            out[0] = b
            return 7
    elif a == 0:
        pass
    else:
        sign = 1
        b = -b
    out[1] = b
    return sign


@typed
def loops(a: int, b: int, out: Ints) -> int:
    a = a % 17 - 8
    b = b % 13 - 6
    last: int
    last = 100
    for last in range(a, b, 3):
        out[0] += last
        last = 50
    for k in range(a, b, -2):
        if k == 2:
            continue
        for m in range(k):
            if m * k > 8:
                break
            out[1] += k * m
        else_value = k
        out[2] ^= else_value << 3
    while True:
        a += 1
        if a > b:
            break
        if a % 2 == 0:
            continue
        swapped = b
        b = a + 1 if a < 3 else b
        out[3] = swapped
    while a > -10 and b != a:
        a -= 3
        out[4] |= a
    return last + a


@typed
def extreme_ranges(a: int, out: Ints) -> None:
    for k in range(a, SMALLEST + 2, -1):
        out[0] = k
        if k < a - 3:
            break
    for k in range(SMALLEST, 2**63 - 1, 2**62 + 1):
        out[1] += k >> 3
    for k in range(2**63 - 3, 2**63 - 1):
        out[2] += k >> 3


@typed
def elements(n: int, ints: Ints, floats: Floats, data: Bytes) -> int:
    n = n % 4
    ints[n] = ints[n + 1] + data[n]
    floats[n] += floats[n + 1] * 0.5
    floats[n] /= 3
    data[n] = data[n + 1] ^ 0x5A
    tail = data[n + 1 :]
    tail[1] = 200
    rest = floats[2:]
    rest = rest[n:]
    rest[0] = float(tail[1])
    a = b = n
    return a + b


@typed
def bytes_of_numbers(a: int, b: float, data: Bytes, out: Ints) -> float:
    write_u32(data, 1, a)
    write_f64(data, 9, b)
    out[0] = read_u32(data, 1)
    out[1] = read_i32(data, 1)
    write_i64(data, 17, out[0] << 13)
    out[2] = read_i64(data, 17)
    copy_bytes(data[10:], data[9:], 12)
    copy_bytes(out[3:], data, 8)
    return read_f64(data, 10)


@typed
def c_functions(a: int, b: float, floats: Floats, out: Ints) -> float:
    out[0] = labs(a)
    out[1] = absolute_int(a)
    memcpy(floats, floats[4:], 16)
    memcpy(address_of(out) + 16, address_of(out), 8)
    return hypot(b, 2.0)


ALL = [
    float_arithmetic,
    int_arithmetic,
    floor_division,
    shifts,
    comparisons_of_floats,
    comparisons_of_ints,
    conversions,
    mathematics,
    angles,
    classes,
    short_circuits,
    branches,
    loops,
    extreme_ranges,
    elements,
    bytes_of_numbers,
    c_functions,
]


@cache
def library():
    return compiled(ALL)


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def bits(value) -> object:
    """Return what must be equal: of a float its bits, one NaN for all, of an int its low bits."""
    if isinstance(value, float):
        return 'nan' if value != value else struct.pack('<d', value)
    if isinstance(value, np.ndarray):
        return [bits(each) for each in value.tolist()]
    return wrapped(value) if type(value) is int else value


def random_argument(kind: str, rng: np.random.Generator) -> object:
    if kind == 'int':
        number = int(rng.integers(SMALLEST, 2**63 - 1)) >> int(rng.integers(63))
        return INTS[rng.integers(len(INTS))] if rng.random() < 0.4 else number
    if kind == 'float':
        number = float(rng.normal() * 3)
        return FLOATS[rng.integers(len(FLOATS))] if rng.random() < 0.5 else number
    if kind == 'bool':
        return bool(rng.integers(2))
    return {
        'Ints': rng.integers(-100, 100, 8),
        'Floats': rng.normal(size=8),
        'Bytes': rng.integers(0, 256, 32).astype(np.uint8),
    }[kind]


@pytest.mark.parametrize('is_c', [False, True], ids=['machine code', 'C'])
@pytest.mark.parametrize('function', ALL, ids=lambda function: function.__name__)
def test_same_bits(function, is_c, tmp_path):
    """Arguments for which Python raises are skipped: divisions by zero, and what does not fit."""
    if is_c and function is c_functions:
        with pytest.raises(ArgumentError, match='there is no C for abs, hypot, labs, memcpy'):
            typed_c([function], 'made')
        return
    run = in_c([function], tmp_path)[0] if is_c else library().callable(function)
    rng = np.random.default_rng(0)
    kinds = [kind for name, kind in function.__annotations__.items() if name != 'return']
    compared = 0
    for _ in range(150):
        python = [random_argument(kind, rng) for kind in kinds]
        copies = [each.copy() if isinstance(each, np.ndarray) else each for each in python]
        try:
            wanted = function(*python)
        except (ArithmeticError, ValueError):
            continue
        found = run(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in copies))
        assert type(found) is type(wanted)
        assert [bits(each) for each in (found, *copies)] == [
            bits(each) for each in (wanted, *python)
        ]
        compared += 1
    assert compared > 20


@typed
def by_address(pointer: int, x: float, other: int, memory: int) -> float:
    floats_at(memory)[1] = x
    ints_at(memory)[0] += call_address_1(other, -5)
    bytes_at(memory)[6] = 1
    return UNARY(pointer, x)


@typed
def by_name(x: float) -> float:
    return unknown(x, 1.0)


@typed
def call(pointer: int) -> None:
    call_address(pointer)


def test_functions_and_memory_at_addresses():
    run = compiled([by_address]).callable(by_address)
    memory = np.array([7, 0])
    cosine, absolute = address_in_process('cos'), address_in_process('abs')
    assert run(cosine, 0.3, absolute, memory.ctypes.data) == UNARY(cosine, 0.3) == math.cos(0.3)
    assert memory[0] == 12 | 1 << 48
    assert memory.view(float)[1] == 0.3
    for function in (ints_at, floats_at, bytes_at):
        with pytest.raises(ArgumentError, match=r'_at exists in compiled code only'):
            function(memory.ctypes.data)


def test_function_without_arguments_at_an_address():
    calls = []
    callback = ctypes.CFUNCTYPE(None)(lambda: calls.append(1))
    address = ctypes.cast(callback, ctypes.c_void_p).value
    compiled([call]).callable(call)(address)
    call(address)
    assert calls == [1, 1]


def test_addresses_of_externals():
    """Each library has its own, also if the code comes from the cache."""
    for name in ('pow', 'hypot', 'atan2'):
        library = compiled([by_name], {unknown.name: address_in_process(name)})
        run = library.callable(by_name)
        del library  # the function keeps it
        assert run(3.0) == Signature(('double', 'double'), 'double')(
            address_in_process(name), 3.0, 1.0
        )
    with pytest.raises(ArgumentError, match="no C function 'no_function_of_this_name'"):
        compiled([by_name])


def test_only_given_functions_have_addresses():
    library = compiled([short_circuits])
    assert library.address(short_circuits)
    with pytest.raises(ArgumentError, match='by_name is not among the compiled functions'):
        library.address(by_name)


def test_code_of_a_function_with_and_without_llvmlite(monkeypatch):
    """Typed functions call it by a signature: at its address, or in Python."""

    def missing(_):
        raise BackendError('llvmlite is missing')

    signature = Signature(('double', 'double', 'address'), 'double')
    codes, results = [typed_library.code_of(mathematics)], np.zeros((2, 8))
    monkeypatch.setattr(typed_library, 'compiled', missing)
    codes.append(typed_library.code_of.__wrapped__(mathematics))
    assert codes[0].address
    assert not codes[1].address
    returned = [signature(code, 0.3, 0.7, out) for code, out in zip(codes, results)]
    assert returned == [math.sqrt(0.3)] * 2
    assert results[0].tobytes() == results[1].tobytes()


def test_calls_take_arrays_with_and_without_llvmlite(monkeypatch):
    def missing(_):
        raise BackendError('llvmlite is missing')

    functions = [typed_library.calls(float_arithmetic)[0]]
    monkeypatch.setattr(typed_library, 'compiled', missing)
    functions += typed_library.calls.__wrapped__(float_arithmetic)  # the first ones are kept
    assert functions[1] is float_arithmetic is not functions[0]
    results = np.zeros((2, 9))
    for function, out in zip(functions, results):
        function(0.3, 0.7, out)
        for wrong in (out.astype(int), out[::2], [0.0] * 9):
            with pytest.raises(ArgumentError, match='out must be a contiguous vector for Floats'):
                function(0.3, 0.7, wrong)
    assert results.any()
    assert results[0].tobytes() == results[1].tobytes()
