# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values, tangents and cotangents of a function of a robot, for NumPy arrays.

What PyTorch and JAX call: three compiled programs, one for each, that take single samples and
stacks with any number of leading axes. They are compiled when they are first used, once for single
samples and once for stacks, and kept as long as the robot is.

>>> import numpy as np
>>> robot = Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0.0, -10.0, 0.0))
>>> energy = differentiable(robot, 'potential_energy')
>>> energy.cotangents((np.array([0.3, 0.4]),), np.ones(()))[0] == robot.gravity_torques([0.3, 0.4])
array([ True,  True])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from weakref import WeakKeyDictionary

from screw_dynamics_ros.core.compile.kernels import Kernel, compiled_call, make_kernel
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from ..functions import input_size
from ..fused_kernel import fused_specification
from ..robot import Robot
from .partials import Source, cotangents_of, differentiated, tangent_of

GRAVITY = 'gravity'


class DifferentiableFunction:
    """A function of a robot with products of its partial derivatives.

    Attributes
    ----------
    name : str
    arguments : tuple of str
        Vectors it takes, q first.
    sizes : tuple of int
        Their numbers of elements.
    shape : tuple of int
        Of the value.
    """

    def __init__(self, robot: Robot, name: str, options: tuple[str, ...] = ()) -> None:
        tree = robot.regrouped_tree
        function = differentiated(tree, name, options)
        self.name = name
        self.arguments = function.arguments
        self.sizes = tuple(input_size(tree, argument) for argument in self.arguments)
        self.joint_names = robot.joint_names
        self._robot_parts = tree, robot.backend, robot._gravity  # the robot itself is not kept
        self._function = function
        self.shape = self.value_program.shapes[0]

    @cached_property
    def value_program(self) -> BatchProgram:
        """Program of the value: takes the arguments."""
        return self._program(self._function.value, self.arguments, {})

    @cached_property
    def tangent_program(self) -> BatchProgram:
        """Program of the tangent: takes the arguments and their rates."""
        rates = {f'd{name}': size for name, size in zip(self.arguments, self.sizes)}
        formula = tangent_of(self._function, self._robot_parts[0])
        return self._program(formula, (*self.arguments, *rates), rates)

    @cached_property
    def cotangent_program(self) -> BatchProgram:
        """Program of the cotangents: takes the arguments and the cotangent of the value."""
        formula = cotangents_of(self._function, self._robot_parts[0])
        names = (*self.arguments, 'cotangent')
        return self._program(formula, names, {'cotangent': prod(self.shape)})

    def _program(
        self, output: Source, names: tuple[str, ...], parameters: dict[str, int]
    ) -> BatchProgram:
        tree, backend, gravity = self._robot_parts
        specification = fused_specification(tree, [output], parameters, backend != 'reference')
        specification = replace(specification, uniform=frozenset({GRAVITY}))
        return BatchProgram(make_kernel(specification, backend), names, gravity)

    def value(self, arguments: Sequence[Array]) -> Array:
        """Return the value, (*batch, *shape), for arguments (*batch, size)."""
        return self.value_program(arguments)[0]

    def tangent(self, arguments: Sequence[Array], rates: Sequence[Array]) -> Array:
        """Return the rate of the value, (*batch, *shape), for rates of the arguments."""
        return self.tangent_program((*arguments, *rates))[0]

    def cotangents(self, arguments: Sequence[Array], cotangent: Array) -> tuple[Array, ...]:
        """Return the cotangents of the arguments, (*batch, size), for that of the value."""
        flat = cotangent.reshape(*arguments[0].shape[:-1], prod(self.shape))
        return self.cotangent_program((*arguments, flat))

    def check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Raise `ArgumentError` unless these are shapes (..., size) of the arguments."""
        for name, size, shape in zip(self.arguments, self.sizes, shapes):
            if not shape or shape[-1] != size:
                hint = (
                    f'; the order is that of joint_names: {", ".join(self.joint_names)}'
                    if name in ('q', 'v')
                    else ''
                )
                raise ArgumentError(
                    f'{self.name}: {name} must have shape (..., {size}), got {tuple(shape)}{hint}'
                )


class BatchProgram:
    """A compiled program for single samples and for stacks with any number of leading axes.

    Attributes
    ----------
    kernel : Kernel
    order : tuple of int
        Which of the arrays it is called with each input of the kernel is; -1 is gravity.
    gravity : (3,) array
        That of the robot, which may change.
    shapes : tuple of tuples
        Shapes of the outputs of one sample.
    """

    def __init__(self, kernel: Kernel, names: tuple[str, ...], gravity: Array) -> None:
        self.kernel, self.gravity = kernel, gravity
        self.order = tuple(
            -1 if name == GRAVITY else names.index(name) for name, _ in kernel.specification.inputs
        )
        self.shapes = tuple(kernel.shapes)
        self._call = compiled_call(kernel)

    def __call__(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs, (*batch, *shape), for float64 arrays (*batch, size)."""
        batch = arrays[0].shape[:-1]
        if len(batch) > 1:
            rows = prod(batch)
            arrays = [array.reshape(rows, array.shape[-1]) for array in arrays]
        outputs = self._call(*[self.gravity if k < 0 else arrays[k] for k in self.order])
        if len(batch) > 1:
            return tuple(output.reshape(*batch, *output.shape[1:]) for output in outputs)
        return outputs


_KNOWN: WeakKeyDictionary[Robot, dict[tuple[str, ...], DifferentiableFunction]] = (
    WeakKeyDictionary()
)


def differentiable(robot: Robot, name: str, *options: str) -> DifferentiableFunction:
    """Return a function of a robot, the same object each time.

    Raises
    ------
    ArgumentError
        If `robot` is not a robot.
    UnknownNameError
        There is no such function, link or representation.
    """
    try:
        return _KNOWN[robot][(name, *options)]
    except (KeyError, TypeError):
        pass
    if not isinstance(robot, Robot):
        raise ArgumentError(f'{name}: robot must be a Robot, got {robot!r}')
    function = DifferentiableFunction(robot, name, options)
    return _KNOWN.setdefault(robot, {}).setdefault((name, *options), function)
