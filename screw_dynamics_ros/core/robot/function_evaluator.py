# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compilation on first use: base of `Robot`.

A function is compiled when it is first called with these options and wrenched links, and kept: for
single samples, or for stacks. Then a builtin function replaces the method in the
instance; see `core.compile.cpython.builtin`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array
from ..compile.calls import call_table, common_length, computed, register
from ..compile.cpython.builtin import CallTable, builtin_function
from ..compile.cpython.call import ALONE, SEVERAL
from ..compile.kernels import Kernel, KernelSpecification, NativeKernel, choose_backend, make_kernel
from ..compile.sources import origin
from ..dynamics.massless_joints import has_positive_energy, regrouped
from ..dynamics.payload import payload_parameters
from ..errors import ArgumentError, InertiaError
from ..tree.multibody_tree import Tree
from ..types import Array
from .functions import Function, as_tuple, find, input_size


class FunctionEvaluator:
    """Evaluates functions of one tree, for single samples and stacks."""

    def __init__(self, tree: Tree, backend: str) -> None:
        self.backend = choose_backend(backend)
        self.tree = tree
        self.regrouped_tree = regrouped(tree)  # for everything that is compiled
        self._gravity = np.zeros(3)  # always this array: compiled functions know its address
        self.kernels: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Kernel] = {}
        self._tables: dict[str, CallTable] = {}
        self._fast: dict[str, Callable[..., Any]] = {}  # the builtin functions
        self._general: FunctionEvaluator | None = None

    @cached_property
    def _doubtful_inertias(self) -> tuple[str, ...]:
        """Joints about which there may be no inertia in some configurations.

        Those whose links have none, and those of links whose inertia no body can have.
        """
        return tuple(
            body.joint
            for body, regrouped_body in zip(self.tree.bodies, self.regrouped_tree.bodies)
            if regrouped_body.massless_about_joint or not has_positive_energy(body)
        )

    def _explain_undefined(self, inputs: Sequence[ArrayLike]) -> None:
        """Raise `InertiaError` for a result that is not finite, unless the inputs are not either.

        Stacks are not checked: their samples that are singular are NaN.
        """
        joints = self._doubtful_inertias
        if joints and all(np.isfinite(x).all() for x in inputs):
            raise InertiaError(
                'accelerations are not defined in this configuration: the links of some of the '
                f'joints {", ".join(map(repr, joints))} have no inertia about them, or one that no '
                'body can have, and nothing they carry makes up for it; give those links inertias '
                'or armatures, or prescribe their motion'
            )

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
        *,
        gravity: ArrayLike | None = None,
        out: Any = None,
    ) -> Any:
        """Check the arguments, then compute one sample or a stack."""
        name = function.name
        if not isinstance(wrenches, Mapping | None):
            raise ArgumentError(
                f'external wrenches must be a dict {{link: (moment, force)}}, got {wrenches!r}'
            )
        if name in self._fast and not wrenches:  # through a method kept from before it was there
            keywords = {'gravity': gravity, 'out': out}
            given = {key: value for key, value in keywords.items() if value is not None}
            return self._fast[name](*arguments, *options, **given)
        links = tuple(sorted(wrenches or (), key=str))  # one kernel for any order
        if not all(isinstance(text, str) for text in (*options, *links)):
            find(self.tree, (name, *options))  # names the option
        kernel = self.kernels.get((name, options, links))
        if kernel is None:
            kernel = self.kernels.setdefault(  # another thread may have been faster
                (name, options, links), self._make_kernel(name, options, links)
            )
        applied = ((wrenches or {})[link] for link in links)
        inputs, samples = self._inputs(name, kernel, [*arguments, *applied], gravity)
        outputs = computed(kernel, inputs, samples, out_tuple(kernel, out))
        doubtful = function.divides and bool(self._doubtful_inertias)
        if doubtful and samples is None and not all(np.isfinite(each).all() for each in outputs):
            self._explain_undefined(inputs)
        selectable = 'prescribed' not in function.options  # by strings the caller passes
        if isinstance(kernel, NativeKernel) and not links and selectable and not doubtful:
            self._install_fast(function, options, kernel, samples is not None)
        if out is not None:
            return unpacked(outputs)
        return unpacked(outputs) if samples is not None or outputs[0].ndim else float(outputs[0])

    def _inputs(
        self,
        name: str,
        kernel: Kernel,
        arguments: Sequence[ArrayLike],
        gravity: ArrayLike | None = None,
    ) -> tuple[list[Array], int | None]:
        """Return the inputs of a kernel, gravity among them, and the number of samples.

        That is None where no input is a stack.
        """
        given, sizes = iter(arguments), kernel.specification.inputs
        weight = self._gravity.copy() if gravity is None else gravity
        inputs = [self._input(n, k, weight if n == 'gravity' else next(given)) for n, k in sizes]
        return inputs, common_length(f'{name}: stacks', sizes, inputs)

    def _make_kernel(self, name: str, options: tuple[str, ...], links: tuple[str, ...]) -> Kernel:
        """Return the kernel of one function, with one more input for each wrench."""
        tree = self.regrouped_tree
        function, options = find(tree, (name, *options))
        for link in links:
            tree.frame(link)

        def build(tree: Tree, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
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
                model=(tree,),
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
        self, function: Function, options: tuple[str, ...], kernel: NativeKernel, stacked: bool
    ) -> None:
        """Let compiled code call a kernel; replace a method by a builtin function.

        See `core.compile.cpython.builtin`.
        """
        name = function.name
        table = self._tables.get(name)
        known = table is not None and table.has(options, stacked)
        if known and (self._general is None or name in self._fast):
            return
        if table is None:
            table = call_table(
                kernel,
                ALONE if len(kernel.shapes) == 1 else SEVERAL,
                {'gravity': self._gravity.ctypes.data},
                options=len(options),
                default=function.option_defaults[function.options[-1]] if options else None,
            )
            if table is None:
                return
            table = self._tables.setdefault(name, table)
        register(kernel, table, stacked, options)
        method = getattr(type(self), name)
        overridden = getattr(method, '__wrapped__', None) is not function.method
        if self._general is None or name in self._fast or overridden:
            return
        self._fast[name] = self.__dict__[name] = builtin_function(
            name,
            f'{name}{text_signature(function.signature)}\n--\n\n{inspect.getdoc(method)}',
            table,
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


def out_tuple(kernel: Kernel, out: Any) -> Any:
    """Return the arrays to write into as a tuple; None if there are none."""
    alone = out is not None and len(kernel.shapes) == 1
    return (out,) if alone else out
