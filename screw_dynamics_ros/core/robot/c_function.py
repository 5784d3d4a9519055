"""Outputs of a robot as one function in C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from screw_dynamics_ros.core.compile.program.tracing import Program
from screw_dynamics_ros.core.compile.text.c_source import CSource, c_source, identifier
from screw_dynamics_ros.core.robot.functions import Output
from screw_dynamics_ros.core.robot.fused_kernel import Formula, FusedKernel, fused_specification
from screw_dynamics_ros.core.tree.multibody_tree import Tree


def c_function(
    tree: Tree,
    robot: str,
    name: str,
    outputs: Sequence[Output | Formula],
    parameters: Mapping[str, int],
) -> CSource:
    """Return what `Robot.fuse` computes as a function `name` in C; `robot` is for its comment."""
    program = fused_specification(tree, outputs, parameters).record()
    arrays = [array for output in outputs for array in array_names(tree, output, parameters)]
    return c_source(program, name, arrays, comment(tree, robot, program, arrays))


def array_names(
    tree: Tree, output: Output | Formula, parameters: Mapping[str, int]
) -> Iterator[str]:
    """Return an identifier for each array of an output."""
    named = output.name if isinstance(output, Formula) else output
    whole = identifier(named if isinstance(named, str) else '_'.join(named))
    count = len(FusedKernel(tree, 'reference', [output], parameters).shapes)
    yield from [whole] if count == 1 else (f'{whole}_{k}' for k in range(count))


def comment(tree: Tree, robot: str, program: Program, arrays: Sequence[str]) -> Iterator[str]:
    """Return what a user of the function must know."""
    yield f'Robot {robot!r}, by screw_dynamics_ros; {program.operation_count} operations.'
    yield ''
    yield 'SI units and radians, arrays row-major. Angular parts of twists, wrenches and Jacobians'
    yield 'come first. No state, no allocation; inputs are read before outputs are written.'
    yield ''
    yield 'Joints and their places in q and v:'
    for joint, (q, v) in tree.coordinates.items():
        yield f'  {joint}: {place("q", q)}, {place("v", v)}'
    yield ''
    for array, size in program.inputs:
        meaning = ': acceleration of free fall in root axes' if array == 'gravity' else ''
        yield f'in:  {array} ({size},){meaning}'
    for array, (shape, _) in zip(arrays, program.outputs):
        yield f'out: {array} {shape}'


def place(vector: str, where: slice) -> str:
    """Return where coordinates stand in a vector."""
    last = where.stop - 1
    return f'{vector}[{where.start}]' + (f' to {vector}[{last}]' if last > where.start else '')
