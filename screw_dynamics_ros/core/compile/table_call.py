# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels as functions of addresses, for typed functions and for tables of any number of arrays."""

from __future__ import annotations

import numpy as np

from ..types import Array
from .cpython.writer import EntryWriter
from .kernels import Kernel, NativeKernel
from .llvm import native
from .typed.records import Opaque


class TableCall(Opaque):
    """Machine code `void call(int64 *addresses)` that calls a kernel for one sample.

    Attributes
    ----------
    address : int
        Address of the function.
    count : int
        Number of addresses: of all inputs, then of all outputs.
    """

    def __init__(self, kernel: NativeKernel) -> None:
        self._kernel = kernel  # kept alive
        self.count = len(kernel.specification.inputs) + len(kernel.shapes)
        w = EntryWriter(native.opaque_pointers())
        arguments = [('i64', w.read('i64', '%addresses', 8 * k)) for k in range(self.count)]
        w.call('void', kernel.sample_program.address, *arguments)
        lines = ['define void @call(i64 %addresses) {', 'entry:', *w.lines, '  ret void', '}']
        self._library = native.Library(native.joined([native.emitted('\n'.join(lines), opt=0)]))
        self.address = self._library.address('call')


class KernelCode(Opaque):
    """A kernel for one sample as a function of records: of its inputs, then of its outputs.

    Typed functions call it by a `Signature` of addresses: machine code, or in Python its recursion.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.address = kernel.sample_program.address if isinstance(kernel, NativeKernel) else 0

    def __call__(self, *arrays: Array) -> None:
        """Set outputs, arrays of any shape, from the inputs before them."""
        count = len(self._kernel.specification.inputs)
        for target, output in zip(arrays[count:], self._kernel.single(arrays[:count])):
            np.copyto(target, output.reshape(target.shape))


def table_call(kernel: Kernel) -> TableCall | None:
    """Return a kernel as a function of addresses, None if it is not machine code."""
    return TableCall(kernel) if isinstance(kernel, NativeKernel) else None
