# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of a robot as functions in C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..compile.text.c_source import CFunction, CSource, c_source, identifier
from ..tree.multibody_tree import Tree
from .functions import Output
from .fused_kernel import Formula, FusedKernel, fused_specification


def c_functions(
    tree: Tree,
    robot: str,
    name: str,
    outputs: Sequence[Output | Formula],
    parameters: Mapping[str, int],
    separate: bool,
) -> CSource:
    """Return what `Robot.fuse` computes as a function `name` in C; `robot` is for its comment.

    Or as one function for each output, if they are to be `separate`.
    """
    groups = [[output] for output in outputs] if separate else [list(outputs)]
    functions = []
    for group in groups:
        program = fused_specification(tree, group, parameters).record()
        arrays = [array for output in group for array in array_names(tree, output, parameters)]
        own_name = f'{name}_{output_name(group[0])}' if separate else name
        functions.append(CFunction(own_name, program, tuple(arrays)))
    return c_source(name, functions, comment(tree, robot, functions))


def output_name(output: Output | Formula) -> str:
    """Return an identifier for an output."""
    named = output.name if isinstance(output, Formula) else output
    return identifier(named if isinstance(named, str) else '_'.join(named))


def array_names(
    tree: Tree, output: Output | Formula, parameters: Mapping[str, int]
) -> Iterator[str]:
    """Return an identifier for each array of an output."""
    whole = output_name(output)
    count = len(FusedKernel(tree, 'reference', [output], parameters).shapes)
    yield from [whole] if count == 1 else (f'{whole}_{k}' for k in range(count))


def comment(tree: Tree, robot: str, functions: Sequence[CFunction]) -> Iterator[str]:
    """Return what a user of the functions must know."""
    yield f'Robot {robot!r}, by screw_dynamics_ros.'
    yield ''
    yield 'SI units and radians, arrays row-major. Angular parts of twists, wrenches and Jacobians'
    yield 'come first. No state, no allocation; inputs are read before outputs are written.'
    yield ''
    yield 'Joints and their places in q and v:'
    for joint, (q, v) in tree.coordinates.items():
        yield f'  {joint}: {place("q", q)}, {place("v", v)}'
    for function in functions:
        program = function.program
        yield ''
        yield f'{function.name}, {program.operation_count} operations:'
        for array, size in program.inputs:
            meaning = ': acceleration of free fall in root axes' if array == 'gravity' else ''
            yield f'  in:  {array} ({size},){meaning}'
        for array, (shape, _) in zip(function.results, program.outputs):
            yield f'  out: {array} {shape}'


def place(vector: str, where: slice) -> str:
    """Return where coordinates stand in a vector."""
    last = where.stop - 1
    return f'{vector}[{where.start}]' + (f' to {vector}[{last}]' if last > where.start else '')
