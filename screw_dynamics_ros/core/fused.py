"""Several outputs from one compiled program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import Array, vector
from screw_dynamics_ros.core.compile.cpython_entry import entry_point
from screw_dynamics_ros.core.compile.kernels import (
    Kernel,
    NativeKernel,
    Specification,
    make_kernel,
)
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.functions import INPUTS, Output, find, input_size
from screw_dynamics_ros.core.model.tree import Tree


class FusedKernel:
    """One compiled function with several outputs; gravity is always an input, never a constant.

    Attributes
    ----------
    outputs : tuple
        What is computed, as given to `Robot.fuse`.
    inputs : tuple of str
        The vectors to pass, in this order: those of 'q', 'v', 'a', 'tau', 'gravity' that are
        needed.
    shapes : tuple of tuples
        Shapes of the outputs.
    """

    def __init__(self, tree: Tree, backend: str, outputs: Sequence[Output]) -> None:
        functions = [find(tree, output) for output in outputs]
        names = tuple(name for name in INPUTS if any(name in f.inputs for f, _ in functions))

        def build(*vectors: np.ndarray) -> tuple[np.ndarray, ...]:
            values = dict(zip(names, vectors))
            return tuple(
                f.evaluate(tree, *(values[name] for name in f.inputs), *options)
                for f, options in functions
            )

        kernel = make_kernel(
            Specification(
                f'fused {tuple(outputs)}',
                tuple((name, input_size(tree, name)) for name in names),
                build,
                tree.digest(),
            ),
            backend,
        )
        self.outputs = tuple(outputs)
        self.inputs = names
        self.shapes = tuple(kernel.shapes)
        self._run = compiled_into(kernel)

    def __call__(self, *inputs: ArrayLike, out: Sequence[Array] | None = None) -> tuple[Array, ...]:
        """Return the outputs for one sample.

        Parameters
        ----------
        *inputs : (size,) arrays
            The vectors named by `inputs`.
        out : sequence of arrays, optional
            C-contiguous float64 arrays of `shapes` to write into; new ones are made otherwise.
        """
        if out is None:
            out = [np.empty(shape) for shape in self.shapes]
        self._run(*inputs, *out)
        return tuple(out)


def compiled_into(kernel: Kernel) -> Callable[..., None]:
    """Return a function of the inputs of `kernel` and of arrays it writes the outputs into."""
    run = partial(run_into, kernel)
    if not isinstance(kernel, NativeKernel):
        return run
    arguments = [(size,) for _, size in kernel.specification.inputs]
    return entry_point(
        'run', '', kernel.compiled.address, arguments, list(kernel.shapes), run, kernel
    )


def run_into(kernel: Kernel, *arrays: Any) -> None:
    """Run `kernel` for one sample; `arrays` are its inputs, then arrays for the outputs."""
    sizes = kernel.specification.inputs
    if len(arrays) != len(sizes) + len(kernel.shapes):
        raise ArgumentError(
            f'expected the inputs {", ".join(name for name, _ in sizes)} '
            f'and {len(kernel.shapes)} arrays for the outputs, got {len(arrays)} arrays'
        )
    inputs = [vector(name, size, array) for (name, size), array in zip(sizes, arrays)]
    targets = arrays[len(sizes) :]
    for k, (target, shape) in enumerate(zip(targets, kernel.shapes)):
        if not (
            isinstance(target, np.ndarray)
            and target.dtype == np.float64
            and target.shape == shape
            and target.flags.c_contiguous
            and target.flags.writeable
        ):
            raise ArgumentError(
                f'out[{k}] must be a writeable C-contiguous float64 array of shape {shape}'
            )
    for target, output in zip(targets, kernel.single(inputs)):
        np.copyto(target, output)
