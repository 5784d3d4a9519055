# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Several outputs from one compiled program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_count
from ..compile.calls import checked_single, compiled_call, compiled_into
from ..compile.kernels import KernelSpecification, make_kernel
from ..compile.sources import origin
from ..compile.table_call import TableCall, table_call
from ..description.rigid_body import PARAMETERS
from ..dynamics.payload import with_inertia_changes
from ..errors import ArgumentError, UnknownNameError
from ..tree.multibody_tree import Tree
from ..types import Array
from .functions import INPUTS, Output, as_tuple, find, input_size

#: A parameter of this name is added to the inertial parameters of the bodies, (10 n_bodies,), as
#: `Robot.payload_parameters` has them: the robot itself changes, in all outputs. As a source of
#: formulas it is zero without such a parameter.
INERTIA_CHANGES = 'inertia_changes'

#: What equals only itself; see `is_constant`.
Constant = int | str | tuple['Constant', ...]


@dataclass(frozen=True)
class Formula:
    """An output computed from others, in the same program.

    Formulas with equal attributes are the same output. Lambdas are never equal to each other: to
    share a formula, use a function of a module and `constants`.

    Attributes
    ----------
    name : str
    sources : tuple
        Arguments of `function`: outputs, formulas, and names of inputs or parameters.
    function : callable
        Function of arrays that returns arrays. It cannot branch on values: `choice` and `minimum`
        of `core.compile.program.recorded_arrays` choose between numbers.
    constants : tuple
        Further arguments: integers, strings, and tuples of these.

    Raises
    ------
    ArgumentError
        Something that is not hashable, or constants of another kind.
    """

    name: str
    sources: tuple[Output | Formula, ...]
    function: Callable[..., Array | tuple[Array, ...]] = field(repr=False)
    constants: tuple[Constant, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.constants, tuple) and is_constant(self.constants)):
            raise ArgumentError(
                f'formula {self.name!r}: constants must be a tuple of whole numbers, strings, and '
                f'tuples of these, got {self.constants!r}'
            )
        try:
            value = hash((self.name, self.sources, self.function, self.constants))
        except TypeError as error:
            raise ArgumentError(f'formula {self.name!r}: {error}') from error
        object.__setattr__(self, '_hash', value)  # sources nest: not each time again

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula, (self.name, self.sources, self.function, self.constants)  # own hash


def is_constant(value: object) -> bool:
    """Whether equal values are the same: 1.0 and True equal 1 but are not."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return type(value) in (int, str)


class DescribedFunction:
    """A function of a formula that states what it computes."""

    def described(self) -> tuple[object, ...]:
        """Return all that a recording depends on, besides the sources of this package.

        The second element is None if that is unknown: then it is recorded each time.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Evaluation(DescribedFunction):
    """A function of a robot as the function of a formula; those of equal robots are equal."""

    tree: Tree = field(compare=False)
    digest: str
    output: Output

    def __call__(self, *inputs: Array) -> Any:
        """Return the output for these inputs."""
        return self.on(self.tree, *inputs)

    def on(self, tree: Tree, *inputs: Array) -> Any:
        """Return the output of another tree for these inputs."""
        function, options = find(tree, self.output)
        return function.evaluate(tree, *inputs, *options)

    def described(self) -> tuple[object, ...]:
        """Return which function it is, and of which robot."""
        found, options = find(self.tree, self.output)
        return 'evaluation', origin(found.evaluate), found.inputs, options, self.digest


class FusedKernel:
    """One compiled function with several outputs; gravity is always an input, never a constant.

    Attributes
    ----------
    outputs : tuple
        The outputs, as given to `Robot.fuse`.
    inputs : tuple of str
        The vectors to pass, in this order: those of 'q', 'v', 'a', 'tau', 'gravity' that are
        needed, then the parameters.
    shapes : tuple of tuples
        Shapes of the arrays returned: one for each output, several for a function that returns a
        tuple.
    backend : str
        That of the robot, or 'reference' if the function of a large robot is too long to compile.
    """

    def __init__(
        self,
        tree: Tree,
        backend: str,
        outputs: Sequence[Output | Formula],
        parameters: Mapping[str, int],
    ) -> None:
        specification = fused_specification(tree, outputs, parameters, backend != 'reference')
        self._kernel = make_kernel(specification, backend)
        self.outputs = tuple(outputs)
        self.inputs = tuple(name for name, _ in specification.inputs)
        self.shapes = tuple(self._kernel.shapes)
        self.backend = self._kernel.backend

    @cached_property
    def run(self) -> Callable[..., None]:
        """``run(*inputs, *results)`` writes one sample into arrays of `shapes`.

        For loops with allocated arrays.
        """
        return compiled_into(self._kernel)

    def once(self, *inputs: ArrayLike) -> tuple[Array, ...]:
        """Return new arrays for one sample, as a call does; no code is compiled for the call."""
        return checked_single(self._kernel, *inputs)

    @cached_property
    def table_call(self) -> TableCall | None:
        """The compiled function with one argument, addresses; None if it is not machine code.

        Its argument is an array of the addresses of inputs and results.
        """
        return table_call(self._kernel)

    @cached_property
    def _call(self) -> Callable[..., tuple[Array, ...]]:
        """The function that makes new arrays, and takes stacks."""
        return compiled_call(self._kernel)

    def __call__(self, *inputs: ArrayLike, out: Sequence[Array] | None = None) -> tuple[Array, ...]:
        """Return the outputs for one sample, or for a stack.

        Parameters
        ----------
        *inputs : (size,) or (N, size) arrays
            The vectors named by `inputs`. Any of them may be a stack, each of them for itself:
            every sample may have another gravity, payload, or other inertias.
        out : sequence of arrays, optional
            C-contiguous float64 arrays of `shapes`, for a stack (N, *shape), to write into; new
            ones are made otherwise.
        """
        if out is None:
            return self._call(*inputs)
        results = tuple(out)
        if results and getattr(results[0], 'ndim', 0) > len(self.shapes[0]):
            return self._call(*inputs, out=results)
        self.run(*inputs, *results)
        return results


def fused_specification(
    tree: Tree,
    outputs: Sequence[Output | Formula],
    parameters: Mapping[str, int],
    recorded: bool = True,
) -> KernelSpecification:
    """Return several outputs as one function; if it is to be `recorded`, it must not branch."""
    if not isinstance(parameters, Mapping):
        raise ArgumentError(f'parameters must be a dict {{name: size}}, got {parameters!r}')
    for name, size in parameters.items():
        check_count(f'the size of parameter {name!r}', size)
    used = needed_inputs(tree, outputs, parameters)
    names = (*(name for name in INPUTS if name in used - set(parameters)), *parameters)
    sizes = {**{name: input_size(tree, name) for name in used}, **parameters}

    digest = tree.digest

    def build(tree: Tree, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
        known: dict[Output | Formula, Array | tuple[Array, ...]] = dict(zip(names, vectors))
        changes = dict(zip(names, vectors)).get(INERTIA_CHANGES)
        moved = tree if changes is None else with_inertia_changes(tree, changes)
        known.setdefault(INERTIA_CHANGES, np.zeros(len(PARAMETERS) * len(tree.bodies)))

        def evaluated(output: Output | Formula) -> Array | tuple[Array, ...]:
            if isinstance(output, Formula):
                inputs: Iterator[Any] = map(value, output.sources)
                if isinstance(output.function, Evaluation) and output.function.digest == digest:
                    return cast(Array, output.function.on(moved, *inputs))
                return output.function(*inputs, *output.constants)
            function, options = find(tree, output)
            reason = function.not_recorded(moved, options) if recorded else ''
            if reason:
                raise ArgumentError(f'{output!r} cannot be compiled: {reason}')
            return function.evaluate(moved, *(known[name] for name in function.inputs), *options)

        def value(output: Output | Formula) -> Array | tuple[Array, ...]:
            if output not in known:
                try:
                    known[output] = evaluated(output)
                except ZeroDivisionError as error:
                    name = output.name if isinstance(output, Formula) else output
                    raise ArgumentError(f'{name!r} divides by 0; robot without mass?') from error
            return known[output]

        return tuple(array for output in outputs for array in as_tuple(value(output)))

    return KernelSpecification(
        f'fused {tuple(outputs)}',
        tuple((name, int(sizes[name])) for name in names),
        build,
        identity(tree, outputs, names),
        model=(tree,),
    )


def identity(
    tree: Tree, outputs: Sequence[Output | Formula], inputs: Collection[str]
) -> str | None:
    """Return all that a recording depends on; None if a function is not of this package."""
    places: dict[Output | Formula, int] = {}
    steps: list[tuple[object, ...]] = []

    def place(output: Output | Formula) -> int:
        if output not in places:
            step: tuple[object, ...]
            if isinstance(output, Formula):
                before = [place(source) for source in output.sources]
                step = (*described(output.function), before, output.constants)
            elif output in inputs or output == INERTIA_CHANGES:
                step = 'input', output
            else:
                step = described(Evaluation(tree, '', output))
            places[output] = len(steps)
            steps.append(step)
        return places[output]

    wanted = [place(output) for output in outputs]
    if any(step[1] is None for step in steps):
        return None
    return repr(('fused', tree.digest, INERTIA_CHANGES in inputs, steps, wanted))


def described(function: Callable[..., Any]) -> tuple[object, ...]:
    """Return which function of this package it is; the second element is None for others."""
    if isinstance(function, DescribedFunction):
        return function.described()
    return 'function', origin(function)


def substituted(tree: Tree, output: Output, sources: Mapping[str, Output | Formula]) -> Formula:
    """Return a function of the robot, some of its inputs being other outputs or formulas."""
    inputs = find(tree, output)[0].inputs
    arguments = tuple(sources.get(name, name) for name in inputs)
    return Formula(f'{output} substituted', arguments, Evaluation(tree, tree.digest, output))


def needed_inputs(
    tree: Tree, outputs: Sequence[Output | Formula], parameters: Mapping[str, int]
) -> set[str]:
    """Return the names of the vectors that some outputs read, without parameters."""
    needed: set[str] = set()
    for output in outputs:
        if not isinstance(output, str | tuple | Formula):
            raise UnknownNameError(
                f'{output!r} does not name an output: give a name, (name, option, ...) or a Formula'
            )
        if isinstance(output, Formula):
            needed |= needed_inputs(tree, output.sources, parameters)
        elif output in INPUTS:
            needed.add(str(output))
        elif output not in parameters and output != INERTIA_CHANGES:
            needed |= set(find(tree, output)[0].inputs)
    return needed
