# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels as functions of addresses, for typed functions and for tables of any number of arrays."""

from __future__ import annotations

from ..types import Array
from .kernels import Kernel, NativeKernel
from .typed.library import PythonCode
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
        self.address = kernel.sample_program.table_address


class KernelCode(Opaque):
    """Machine code of a kernel for one sample: a function of the addresses of its arrays."""

    def __init__(self, kernel: NativeKernel) -> None:
        self._kernel, self.address = kernel, kernel.sample_program.address


def kernel_code(kernel: Kernel) -> Opaque:
    """Return a kernel for typed functions, which call it with its inputs, then its outputs."""
    if isinstance(kernel, NativeKernel):
        return KernelCode(kernel)
    count = len(kernel.specification.inputs)

    def run(*arrays: Array) -> None:
        for target, output in zip(arrays[count:], kernel.single(arrays[:count])):
            target[:] = output.ravel()

    return PythonCode(run)


def table_call(kernel: Kernel) -> TableCall | None:
    """Return a kernel as a function of addresses, None if it is not machine code."""
    return TableCall(kernel) if isinstance(kernel, NativeKernel) else None
