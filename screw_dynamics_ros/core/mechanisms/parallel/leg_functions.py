# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled functions of a parallel robot, each recorded when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from screw_dynamics_ros.core.compile.kernels import (
    Kernel,
    KernelSpecification,
    choose_backend,
    make_kernel,
)
from screw_dynamics_ros.core.types import Array

from . import recursions
from .mechanism import Mechanism


class LegFunctions:
    """Recursions of `recursions` for one mechanism, on numbers.

    Parameters
    ----------
    mechanism : Mechanism
    backend : {'auto', 'native', 'python', 'reference'}
    """

    def __init__(self, mechanism: Mechanism, backend: str) -> None:
        self._mechanism, self.backend = mechanism, choose_backend(backend)
        self._kernels: dict[str, Kernel] = {}

    def motor_positions(self, T: Array) -> tuple[Array, Array]:
        """Return `recursions.motor_positions`."""
        x, discriminants = self._run(recursions.motor_positions, T)
        return x, discriminants

    def wrench_basis(self, q: Array, T: Array) -> tuple[Array, Array]:
        """Return `recursions.wrench_basis`."""
        G, levers = self._run(recursions.wrench_basis, q, T)
        return G, levers

    def newton_step(self, q: Array, T: Array) -> tuple[Array, Array]:
        """Return `recursions.newton_step`."""
        moved, errors = self._run(recursions.newton_step, q, T)
        return moved, errors

    def _run(
        self, recursion: Callable[..., tuple[Array, ...]], *inputs: Array
    ) -> tuple[Array, ...]:
        name = recursion.__name__
        if name not in self._kernels:
            self._kernels[name] = self._make(recursion, len(inputs) == 2)
        arrays = [np.ascontiguousarray(x, dtype=float).reshape(-1) for x in inputs]
        return self._kernels[name].single(arrays)

    def _make(self, recursion: Callable[..., tuple[Array, ...]], with_motors: bool) -> Kernel:
        motors = (('q', len(self._mechanism.legs)),) if with_motors else ()
        inputs = (*motors, ('T', 16))
        title = f'{recursion.__name__} of {self._mechanism.name}'
        specification = KernelSpecification(
            title, inputs, partial(on_vectors, recursion), model=(self._mechanism,)
        )
        return make_kernel(specification, self.backend)


def on_vectors(
    recursion: Callable[..., tuple[Array, ...]], mechanism: Mechanism, *inputs: Array
) -> tuple[Array, ...]:
    """Run a recursion on q, if it takes that, and the elements of T row by row."""
    *q, T = inputs
    return recursion(mechanism, *q, T.reshape(4, 4))
