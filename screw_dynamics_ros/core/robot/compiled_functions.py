"""Compilation on first use: base of `Robot`.

A function is compiled when it is first called with these options and wrenched links, and kept. Once
compiled for single samples, a builtin function takes the place of the method in the instance; see
`core.compile.cpython_entry`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.compile.cpython_entry import Addresses, entry_point, is_usable
from screw_dynamics_ros.core.compile.kernels import (
    Kernel,
    KernelSpecification,
    NativeKernel,
    choose_backend,
    make_kernel,
)
from screw_dynamics_ros.core.compile.sources import origin
from screw_dynamics_ros.core.dynamics.payload import payload_parameters
from screw_dynamics_ros.core.dynamics.regrouped_tree import regrouped
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.robot.functions import Function, as_tuple, find, input_size
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array


class CompiledFunctions:
    """Evaluates functions of one tree, for single samples and stacks."""

    def __init__(self, tree: Tree, backend: str) -> None:
        self.backend = choose_backend(backend)
        self.tree = tree
        self.regrouped_tree = regrouped(tree)  # for everything that is compiled
        self._gravity = np.zeros(3)  # always this array: compiled functions know its address
        self.kernels: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Kernel] = {}
        self._addresses: dict[str, Addresses] = {}
        self._fast: dict[str, Callable[..., Any]] = {}  # the builtin functions
        self._general: CompiledFunctions | None = None

    def _make_general(self) -> None:
        """Make the twin to which builtin functions pass what they cannot handle.

        It shares everything but never has builtin functions itself: no reference leads from machine
        code back to itself.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _general=None, _fast={})
        self._general = twin

    def _evaluate(
        self,
        function: Function,
        arguments: Sequence[ArrayLike],
        options: tuple[str, ...] = (),
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Any:
        """Check the arguments, then compute one sample or a stack."""
        name = function.name
        if not isinstance(wrenches, Mapping | None):
            raise ArgumentError(
                f'external wrenches must be a dict {{link: (moment, force)}}, got {wrenches!r}'
            )
        if name in self._fast and not wrenches:  # through a method kept from before it was there
            return self._fast[name](*arguments, *options)
        links = tuple(sorted(wrenches or (), key=str))  # one kernel for any order
        if not all(isinstance(text, str) for text in (*options, *links)):
            find(self.tree, (name, *options))  # says which one
        kernel = self.kernels.get((name, options, links))
        if kernel is None:
            kernel = self.kernels.setdefault(  # another thread may have been faster
                (name, options, links), self._make_kernel(name, options, links)
            )
        applied = ((wrenches or {})[link] for link in links)
        inputs, stacked = self._inputs(name, kernel, [*arguments, *applied])
        if stacked:
            return unpacked(kernel.stack(inputs))
        selectable = 'prescribed' not in function.options  # by strings the caller passes
        if isinstance(kernel, NativeKernel) and not links and selectable:
            self._install_fast(function, options, kernel)
        outputs = kernel.single(inputs)
        return unpacked(outputs) if outputs[0].ndim else float(outputs[0])

    def _inputs(
        self, name: str, kernel: Kernel, arguments: Sequence[ArrayLike]
    ) -> tuple[list[Array], bool]:
        """Return the inputs of a kernel, gravity among them, and whether they are stacks."""
        given = iter(arguments)
        inputs = [
            self._gravity if n == 'gravity' else self._input(n, size, next(given))
            for n, size in kernel.specification.inputs
        ]
        stacks = {array.shape[0] for array in inputs if array.ndim == 2}
        if not stacks:
            return inputs, False
        if len(stacks) > 1:
            shapes = zip(kernel.specification.inputs, inputs)
            raise ArgumentError(
                f'{name}: stacks must have the same length, got '
                + ', '.join(f'{n}: {array.shape}' for (n, _), array in shapes if n != 'gravity')
            )
        samples = stacks.pop()
        return [
            array
            if array.ndim == 2 or n in kernel.specification.uniform
            else np.ascontiguousarray(np.broadcast_to(array, (samples, len(array))))
            for (n, _), array in zip(kernel.specification.inputs, inputs)
        ], True

    def _make_kernel(self, name: str, options: tuple[str, ...], links: tuple[str, ...]) -> Kernel:
        """Return the kernel of one function, with one more input for each wrench."""
        tree = self.regrouped_tree
        function, options = find(tree, (name, *options))
        for link in links:
            tree.frame(link)

        def build(*vectors: np.ndarray) -> tuple[np.ndarray, ...]:
            count = len(function.inputs)
            applied = (dict(zip(links, vectors[count:])),) if links else ()
            return as_tuple(function.evaluate(tree, *vectors[:count], *options, *applied))

        sizes = [(n, input_size(tree, n)) for n in function.inputs]
        sizes += [(f'external wrench on {link}', 6) for link in links]
        where = origin(function.evaluate)
        return make_kernel(
            KernelSpecification(
                ' '.join((name, *options, *links)),
                tuple(sizes),
                build,
                where and repr(('function', where, tree.digest, options, links)),
                frozenset({'gravity'}),
            ),
            'reference' if function.not_recorded(tree, options) else self.backend,
        )

    def _input(self, name: str, size: int, value: ArrayLike) -> Array:
        """Return an argument as a C-contiguous float64 array of shape (size,) or (N, size)."""
        if name == 'payload' and isinstance(value, Mapping):
            value = payload_parameters(self.tree, value)
        array = float_array(name, value)
        if array.ndim in (1, 2) and array.shape[-1] == size:
            return array
        order = {
            'q': 'the order is that of joint_names: ',
            'v': 'the order is that of joint_names: ',
        }
        raise ArgumentError(
            f'{name} must have shape ({size},) or (N, {size}), got {array.shape}'
            + (f'; {order[name]}{", ".join(self.tree.joint_names)}' if name in order else '')
        )

    def _install_fast(
        self, function: Function, options: tuple[str, ...], kernel: NativeKernel
    ) -> None:
        """Put a builtin function in the place of a method; see `cpython_entry`."""
        name, compiled = function.name, kernel.compiled
        entry: int | Addresses = compiled.address
        if options:
            default = function.option_defaults[function.options[-1]]
            entry = self._addresses.setdefault(name, Addresses(default))
            entry.add(options, compiled.address)
        method = getattr(type(self), name)
        overridden = getattr(method, '__wrapped__', None) is not function.method
        if self._general is None or name in self._fast or overridden or not is_usable():
            return
        fixed = {'gravity': self._gravity.ctypes.data}
        self._fast[name] = self.__dict__[name] = entry_point(
            name,
            f'{name}{text_signature(function.signature)}\n--\n\n{inspect.getdoc(method)}',
            entry,
            [fixed.get(n, (size,)) for n, size in kernel.specification.inputs],
            unpacked(compiled.shapes),
            method.__get__(self._general),
            (self.kernels, self._gravity),
        )


def text_signature(signature: inspect.Signature) -> str:
    """Return a signature as CPython reads it from the docstring of a builtin function."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))


def unpacked(outputs: tuple[Any, ...]) -> Any:
    """Return the only output, or the tuple if there are several."""
    return outputs[0] if len(outputs) == 1 else outputs
