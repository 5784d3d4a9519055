# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Records mean the same to Python and to compiled code, and own what they refer to."""

import copy
import ctypes
import gc
import random
import weakref

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.typed.functions import (
    Bytes,
    Floats,
    Ints,
    TypedFunctionError,
    typed,
)
from screw_dynamics_ros.core.compile.typed.library import compiled
from screw_dynamics_ros.core.compile.typed.records import AddressTable, Record
from screw_dynamics_ros.core.errors import ArgumentError


class Part(Record):
    level: float
    is_on: bool
    values: Floats


class LongPart(Part):
    count: int


class Whole(Record):
    count: int
    first: Part
    offsets: Floats | None
    parts: tuple[Part, ...]
    places: Ints
    letters: Bytes


@typed
def advance_part(part: Part, by: float) -> float:
    part.level += by
    part.is_on = not part.is_on or part.level > 3.0
    total = 0.0
    for k in range(len(part.values)):
        part.values[k] = 0.5 * part.values[k] + part.level
        total += part.values[k]
    return total


@typed
def advance(whole: Whole, by: float) -> float:
    total = advance_part(whole.first, by)
    whole.count += len(whole.parts)
    if whole.offsets is not None:
        total += whole.offsets[len(whole.offsets) - 1]
    for k in range(len(whole.parts)):
        part = whole.parts[k]
        total += advance_part(part, by * float(k))
        if part.is_on and whole.first.is_on:
            whole.parts[k].level = total
        whole.letters[whole.places[k]] = k + len(whole.parts[k].values)
    return total


@typed
def grow(part: LongPart) -> float:
    part.count += 1
    return advance_part(part, 1.0)


def part_of(rng, kind=Part):
    part = kind()
    part.level, part.is_on = rng.uniform(-2.0, 2.0), rng.random() < 0.5
    part.values = np.array([rng.uniform(-1.0, 1.0) for _ in range(rng.randrange(4))])
    return part


def whole_of(seed):
    rng, whole = random.Random(seed), Whole()
    whole.first, whole.count = part_of(rng), rng.randrange(-5, 5)
    whole.parts = [part_of(rng, rng.choice([Part, LongPart])) for _ in range(rng.randrange(5))]
    whole.offsets = np.array([[1.5, 2.5], [3.5, rng.random()]]) if seed % 2 else None
    whole.places = np.array(rng.sample(range(5), 5))
    whole.letters = np.zeros(5, dtype=np.uint8)
    return whole


def numbers(whole):
    parts = [whole.first, *whole.parts]
    return (
        whole.count,
        whole.letters.tolist(),
        [(part.level, part.is_on, part.values.tolist()) for part in parts],
    )


def test_compiled_code_does_what_python_does():
    pytest.importorskip('llvmlite')
    run = compiled([advance]).callable(advance)
    for seed in range(200):
        one, other = whole_of(seed), whole_of(seed)
        for by in (0.25, -1.5, 2.0):
            assert advance(one, by) == run(other, by)
            assert numbers(one) == numbers(other)


def test_a_subclass_begins_with_the_fields_of_its_base():
    pytest.importorskip('llvmlite')
    run = compiled([grow]).callable(grow)
    one, other = (part_of(random.Random(2), LongPart) for _ in range(2))
    assert (grow(one), one.count, one.level) == (run(other), other.count, other.level)
    assert one.count == 1


def is_alive(reference):
    gc.collect()
    return reference() is not None


class Watched(np.ndarray):
    """An array that can be watched."""


def test_what_a_field_refers_to_lives_as_long():
    part, whole = Part(), Whole()
    values = np.ones(2).view(Watched)
    array, record = weakref.ref(values), weakref.ref(part)
    part.values = values
    whole.first, whole.parts = part, [part]
    del values, part
    assert is_alive(array)
    assert is_alive(record)
    whole.first = None
    assert is_alive(record)
    whole.parts = ()
    assert not is_alive(record)
    assert not is_alive(array)
    assert (whole.first, whole.parts) == (None, ())


def test_targets_that_are_replaced_outlive_their_address():
    """Nothing frees the last target before the field refers to the next one."""
    part, seen, values = Part(), [], np.ones(1).view(Watched)
    weakref.finalize(values, lambda: seen.append(part._words[Part.fields['values'].place]))
    part.values = values
    del values
    part.values = following = np.ones(2)
    gc.collect()
    assert seen == [following.ctypes.data]


def test_addresses_keep_what_is_there():
    values, part = np.ones(1).view(Watched), Part()
    array, record = weakref.ref(values), weakref.ref(part)
    addresses = AddressTable([values, part])
    expected = [values.ctypes.data, part.address]
    del values, part
    assert is_alive(array)
    assert is_alive(record)
    assert list((ctypes.c_int64 * 2).from_address(addresses.address)) == expected
    del addresses
    assert not is_alive(array)
    assert not is_alive(record)
    with pytest.raises(ArgumentError, match='contiguous'):
        AddressTable([np.ones(4)[::2]])


def test_the_memory_of_a_number():
    part = Part()
    level, is_on = part.element('level'), part.element('is_on')
    part.level, part.is_on = 1.5, True
    assert (level[0], is_on[0]) == (1.5, 1)
    level[0] = -2.0
    assert part.level == -2.0
    del part
    gc.collect()
    assert level.tolist() == [-2.0]


def test_copies_have_numbers_of_their_own():
    part = part_of(random.Random(5))
    other = copy.copy(part)
    assert (other.level, other.values) == (part.level, part.values)
    other.level, other.values = 9.0, np.zeros(1)
    assert part.level != 9.0
    assert len(part.values) != 1
    assert other.address != part.address


@pytest.mark.parametrize(
    'array', [np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.float32), np.zeros((4, 4))[:, 1]]
)
def test_arrays_that_compiled_code_cannot_read(array):
    part = Part()
    with pytest.raises(ArgumentError, match='contiguous array of float64'):
        part.values = array
    assert part.values is None


def test_records_of_another_class():
    whole = Whole()
    for name, value in (('first', whole), ('parts', [Part(), whole]), ('first', np.zeros(3))):
        with pytest.raises(ArgumentError, match='a field needs Part, found'):
            setattr(whole, name, value)
    whole.first = LongPart()


def test_a_list_that_has_changed_is_read_again():
    whole, parts = Whole(), [Part()]
    whole.parts = parts
    parts.append(Part())
    whole.parts = parts
    assert whole.parts == tuple(parts)


def test_an_annotation_that_is_no_field():
    with pytest.raises(TypedFunctionError, match=r'Wrong\.name: fields have no type'):

        class Wrong(Record):
            name: str


@typed
def set_array(part: Part, other: Part) -> None:
    part.values = other.values


@typed
def unknown_field(part: Part) -> float:
    return part.weight


@typed
def number_is_none(part: Part) -> bool:
    return part.level is None


@typed
def length_of_parameter(values: Floats) -> int:
    return len(values)


@typed
def base_as_subclass(part: Part) -> float:
    return grow(part)


@pytest.mark.parametrize(
    ('function', 'text'),
    [
        (set_array, 'part.values is Floats, which is set in Python only'),
        (unknown_field, 'part is Part, without a field weight'),
        (number_is_none, 'arrays and records are compared to None only'),
        (length_of_parameter, 'only arrays and tuples in fields have a length'),
        (base_as_subclass, "'part' is Part, not LongPart"),
    ],
)
def test_refusals(function, text):
    pytest.importorskip('llvmlite')
    with pytest.raises(TypedFunctionError, match=text):
        compiled([function])
