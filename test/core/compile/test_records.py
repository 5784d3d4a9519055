# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Records with addresses own what is there."""

import copy
import ctypes
import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.typed.shared_numbers import (
    SharedNumbers,
    SharedRecord,
    pointers,
)
from screw_dynamics_ros.core.errors import ArgumentError


class Array(np.ndarray):
    """An array that can be watched."""


def array(*numbers):
    return np.array(numbers, dtype=float).view(Array)


def number_at(address):
    return ctypes.c_double.from_address(int(address)).value


def is_alive(reference):
    gc.collect()
    return reference() is not None


def test_a_target_lives_as_long_as_the_record_points_to_it():
    record, target = SharedRecord(3), array(1.0, 2.0)
    first = weakref.ref(target)
    record.point(1, target)
    del target
    assert is_alive(first)
    assert number_at(record[1] + 8) == 2.0
    record.point(1, array(3.0))
    assert not is_alive(first)
    assert number_at(record[1]) == 3.0
    second = weakref.ref(record.target(1))
    record.point(1, None)
    assert record.tolist() == [0, 0, 0]
    assert not is_alive(second)


def test_the_same_target_is_written_once():
    record, target = SharedRecord(1), array(1.0)
    record.point(0, target)
    record[0] = -1
    record.point(0, target)
    assert record[0] == -1


def test_views_keep_the_targets():
    """Also those of plain arrays and memory."""
    for view in (
        lambda record: record[1:],
        lambda record: np.asarray(record),
        lambda record: record.data,
        lambda record: np.asarray(record)[2:].reshape(-1, 1),
        lambda record: record.view(np.ndarray)[::2],
    ):
        record, target = SharedRecord(4), array(1.0)
        reference = weakref.ref(target)
        record.point(0, target)
        kept = view(record)
        del record, target
        assert is_alive(reference)
        del kept
        assert not is_alive(reference)


def test_targets_of_targets_live_as_long():
    """As those of the records of channels in the record of a loop."""
    target = array(7.0)
    reference = weakref.ref(target)
    inner = SharedRecord(2, 2)
    inner.point((1, 0), target)
    outer = pointers([None, inner])
    del inner, target
    assert is_alive(reference)
    assert outer[0] == 0
    assert number_at(ctypes.c_int64.from_address(int(outer[1]) + 16).value) == 7.0
    del outer
    assert not is_alive(reference)


def test_objects_with_an_address():
    class Owner:
        address = 5

    owner, record = Owner(), SharedRecord(1)
    reference = weakref.ref(owner)
    record.point(0, owner)
    del owner
    assert record[0] == 5
    assert is_alive(reference)


def test_memory_that_is_not_contiguous_is_refused():
    record = SharedRecord(1)
    record.point(0, before := np.ones(2))
    for target in (np.zeros(6)[::2], np.zeros((3, 3)).T, memoryview(np.zeros(6))[::2]):
        with pytest.raises(ArgumentError, match='contiguous'):
            record.point(0, target)
    with pytest.raises(AttributeError):
        record.point(0, [1.0, 2.0])
    assert record.target(0) is before
    assert number_at(record[0] + 8) == 1.0


def test_targets_that_are_replaced_outlive_their_address():
    """Nothing frees the last target before the record points to the next one."""
    record, seen = SharedRecord(1), []
    target = array(1.0)
    weakref.finalize(target, lambda: seen.append(int(record[0])))
    record.point(0, target)
    del target
    record.point(0, SimpleNamespace(address=8))
    assert seen == [8]


def test_numbers_that_are_detached_have_the_same_targets():
    shared, target = SharedNumbers(2, 1), array(3.0)
    reference = weakref.ref(target)
    shared.words.point(1, target)
    other = copy.copy(shared)
    other.detach()
    other.words[0] = 4
    assert shared.words[0] == 0
    del shared, target
    assert is_alive(reference)
    assert number_at(other.words[1]) == 3.0
