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

Partial derivatives of the functions of a robot, in terms of its compiled functions.

==================  =======================================  =====================================
function            by q                                     by the other arguments
==================  =======================================  =====================================
inverse_dynamics    dQ/dq of inverse_dynamics_derivatives    v: dQ/dv, a: M
forward_dynamics    da/dq of forward_dynamics_derivatives    v: da/dv, tau: M^-1
gravity_torques     dQ/dq at v = a = 0
coriolis_torques    dQ/dq at a = g = 0, no friction          v: dQ/dv
mass_matrix         mass_matrix_partials
kinetic_energy      v^T (dM/dq v) / 2, dM/dq v being dQ/dq   v: M v
                    at v = g = 0 and the acceleration v
potential_energy    gravity_torques
center_of_mass      linear rows of centroidal_map / mass
link_pose           J_k^ C, J spatial
jacobian            jacobian_partials
velocity            jacobian_partials v                      v: J
==================  =======================================  =====================================

These derivatives by q are along velocities, D_v. With the velocity B(q) dq/dt at which coordinates
change (`lie.joint_groups`), D_v B is the derivative by the coordinates. The functions normalize
quaternions: it is exact, and zero along a quaternion.

A program computes a product of all partial derivatives of a function with given vectors at once:
the tangent, sum_x D_x x', or the cotangents D_x^T y. The matrices themselves are never stored.

The arm of unit lengths and masses, straight, moves its shoulder: the tip moves along y.

>>> link_pose_partials(np.eye(4), np.array([[0, 0, 1, 0, 0, 0.0]]).T)[0][:2, :2, 0]
array([[ 0., -1.],
       [ 1.,  0.]])

Source: Müller 2018a (28) (K-25), Müller 2018b section 6.1 (D-40), (80) (D-17); Bruyninckx 2010
(3.54) to (3.56) (B-054).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np

from ...compile.calls import compiled_call
from ...compile.kernels import Kernel, make_kernel
from ...dynamics.drive_forces import without_springs
from ...errors import ArgumentError, UnknownNameError
from ...lie import se3
from ...lie.joint_groups import BODY_GROUPS
from ...linear import zeros
from ...tree.multibody_tree import Tree
from ...types import Array
from ..functions import Output, input_size
from ..fused_kernel import Formula, fused_specification, substituted
from ..robot import Robot

#: nq, nv, and where coordinates and velocities stand: (start in q, start in v, nv) of each joint.
Layout = tuple[int, int, tuple[tuple[int, int, int], ...]]

Source = Output | Formula


@dataclass(frozen=True)
class Differentiated:
    """A function of a robot, and its partial derivatives by all arguments, along velocities.

    Attributes
    ----------
    arguments : tuple of str
        Vectors it takes, q first.
    value : output
    partials : output
        A tuple of arrays, (..., size) each.
    """

    arguments: tuple[str, ...]
    value: Source
    partials: Source


def differentiated(tree: Tree, name: str, options: tuple[str, ...] = ()) -> Differentiated:
    """Return a function of a robot by name, with its derivatives; raises `UnknownNameError`."""
    make = FUNCTIONS.get(name)
    if make is None:
        raise UnknownNameError(
            f'no function {name!r} with derivatives; choose one of {", ".join(FUNCTIONS)}'
        )
    return make(tree, *options)


# --- products with vectors ------------------------------------------------------------------------


def tangent_of(function: Differentiated, tree: Tree) -> Formula:
    """Return the tangent for the rates 'dq', 'dv', ... of the arguments."""
    rates = tuple(f'd{name}' for name in function.arguments)
    return Formula('tangent', (function.partials, 'q', *rates), tangent, (layout(tree),))


def cotangents_of(function: Differentiated, tree: Tree) -> Formula:
    """Return the cotangents of the arguments for the 'cotangent' of the value, in one vector."""
    sources = (function.partials, 'q', 'cotangent')
    return Formula('cotangents', sources, cotangents, (layout(tree),))


def tangent(partials: tuple[Array, ...], q: Array, *rates_and_layout: Array | Layout) -> Array:
    """Return sum_x D_x x', the q part by way of velocities."""
    *rates, places = rates_and_layout
    first = velocities(q, cast(Array, rates[0]), cast(Layout, places))
    return np.asarray(sum(D @ rate for D, rate in zip(partials, (first, *rates[1:]))))


def cotangents(
    partials: tuple[Array, ...], q: Array, cotangent: Array, places: Layout
) -> tuple[Array, ...]:
    """Return D_x^T y for each argument x, that of q by way of velocities."""
    first, *others = (cotangent @ D.reshape(len(cotangent), D.shape[-1]) for D in partials)
    return coordinate_cotangent(q, first, places), *others


def layout(tree: Tree) -> Layout:
    """Return where coordinates and velocities stand."""
    joints = {(body.q.start, body.v.start, body.dof): None for body in tree.bodies}
    return tree.nq, tree.nv, tuple(joints)


def velocities(q: Array, rates: Array, places: Layout) -> Array:
    """Return B(q) dq/dt, the velocity (nv,) at which coordinates change at `rates` (nq,).

    A body turned by a quarter about z, moved along y of the root, which is its own x:

    >>> quarter = np.array([0, 0, 0, 0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)])
    >>> velocities(quarter, np.array([0, 1.0, 0, 0, 0, 0, 0]), (7, 6, ((0, 0, 6),))).round(3) + 0.0
    array([0., 0., 0., 1., 0., 0.])
    """
    _, nv, joints = places
    result = zeros(nv, q, rates)
    for i, k, size in joints:
        group = BODY_GROUPS[size]
        own = slice(i, i + group.nq)
        result[k : k + size] = group.velocity(q[own], rates[own])
    return result


def coordinate_cotangent(q: Array, y: Array, places: Layout) -> Array:
    """Return B(q)^T y, (nq,), the transpose of `velocities`."""
    nq, _, joints = places
    result = zeros(nq, q, y)
    for i, k, size in joints:
        group = BODY_GROUPS[size]
        own = slice(i, i + group.nq)
        result[own] = group.cotangent(q[own], y[k : k + size])
    return result


# --- partial derivatives --------------------------------------------------------------------------


def inverse_dynamics(tree: Tree) -> Differentiated:
    """Return Q(q, v, a) and (dQ/dq, dQ/dv, M)."""
    return Differentiated(('q', 'v', 'a'), 'inverse_dynamics', 'inverse_dynamics_derivatives')


def forward_dynamics(tree: Tree) -> Differentiated:
    """Return a(q, v, tau) and (da/dq, da/dv, M^-1)."""
    return Differentiated(('q', 'v', 'tau'), 'forward_dynamics', 'forward_dynamics_derivatives')


def gravity_torques(tree: Tree) -> Differentiated:
    """Return g(q) and dg/dq."""
    derivatives = without_friction(tree, v=rest(tree.nv), a=rest(tree.nv))
    return Differentiated(
        ('q',), 'gravity_torques', Formula('dg/dq', (derivatives,), leading, (1,))
    )


def coriolis_torques(tree: Tree) -> Differentiated:
    """Return C v and its derivatives by q and v."""
    derivatives = without_friction(without_springs(tree), a=rest(tree.nv), gravity=rest(3))
    partials = Formula('d(C v)', (derivatives,), leading, (2,))
    return Differentiated(('q', 'v'), 'coriolis_torques', partials)


def mass_matrix(tree: Tree) -> Differentiated:
    """Return M(q) and dM/dq."""
    return Differentiated(('q',), 'mass_matrix', tupled('mass_matrix_partials'))


def kinetic_energy(tree: Tree) -> Differentiated:
    """Return the kinetic energy and its derivatives by q and v."""
    smooth = without_springs(tree)
    derivatives = without_friction(smooth, v=rest(tree.nv), a='v', gravity=rest(3))
    partials = Formula('dT', (derivatives, 'v'), kinetic_energy_partials)
    return Differentiated(('q', 'v'), 'kinetic_energy', partials)


def potential_energy(tree: Tree) -> Differentiated:
    """Return the potential energy and its derivative by q."""
    return Differentiated(('q',), 'potential_energy', tupled('gravity_torques'))


def center_of_mass(tree: Tree) -> Differentiated:
    """Return the center of mass and its derivative by q."""
    mass = repr(tree.total_mass)
    partials = Formula('dc/dq', ('centroidal_map',), center_of_mass_partials, (mass,))
    return Differentiated(('q',), 'center_of_mass', partials)


def link_pose(tree: Tree, link: str) -> Differentiated:
    """Return the pose of a link and its derivative by q."""
    pose, jacobian = ('link_pose', link), ('jacobian', link, 'spatial')
    return Differentiated(('q',), pose, Formula('dC/dq', (pose, jacobian), link_pose_partials))


def jacobian(tree: Tree, link: str, representation: str = 'hybrid') -> Differentiated:
    """Return the Jacobian of a link and its derivative by q."""
    partials = tupled(('jacobian_partials', link, representation))
    return Differentiated(('q',), ('jacobian', link, representation), partials)


def velocity(tree: Tree, link: str, representation: str = 'hybrid') -> Differentiated:
    """Return the twist of a link and its derivatives by q and v."""
    sources = (
        ('jacobian_partials', link, representation),
        ('jacobian', link, representation),
        'v',
    )
    partials = Formula('dV', sources, velocity_partials)
    return Differentiated(('q', 'v'), ('velocity', link, representation), partials)


#: Functions with derivatives by name.
FUNCTIONS: dict[str, Callable[..., Differentiated]] = {
    make.__name__: make
    for make in (
        inverse_dynamics,
        forward_dynamics,
        gravity_torques,
        coriolis_torques,
        mass_matrix,
        kinetic_energy,
        potential_energy,
        center_of_mass,
        link_pose,
        jacobian,
        velocity,
    )
}


def without_friction(tree: Tree, **sources: Source) -> Formula:
    """Return (dQ/dq, dQ/dv, M) of the robot without friction, other formulas for some inputs."""
    smooth = replace(tree, with_friction=False) if tree.with_friction else tree
    return substituted(smooth, 'inverse_dynamics_derivatives', sources)


def rest(size: int) -> Formula:
    """Return zeros (size,): the program for them is shorter."""
    return Formula('zeros', (), zeros, (size,))


def tupled(source: Source) -> Formula:
    """Return the only partial derivative as a tuple."""
    return Formula('partials', (source,), only)


def only(partial: Array) -> tuple[Array, ...]:
    """Return a tuple of one array."""
    return (partial,)


def leading(partials: tuple[Array, ...], count: int) -> tuple[Array, ...]:
    """Return the first arrays of a tuple."""
    return partials[:count]


def kinetic_energy_partials(derivatives: tuple[Array, ...], v: Array) -> tuple[Array, Array]:
    """Return (v^T dM/dq v / 2, M v) from d(M v)/dq and M."""
    by_q, _, M = derivatives
    return 0.5 * (v @ by_q), M @ v


def center_of_mass_partials(A: Array, mass: str) -> tuple[Array, ...]:
    """Return the derivative of the center of mass, (3, nv), from the centroidal map."""
    return (A[3:] / float(mass),)


def link_pose_partials(C: Array, J: Array) -> tuple[Array, ...]:
    """Return dC/dq_k = J_k^ C, (4, 4, nv), from pose and spatial Jacobian."""
    columns = [se3.hat(J_k) @ C for J_k in J.T]
    return (np.stack(columns, axis=-1) if columns else np.zeros((4, 4, 0)),)


def velocity_partials(partials: Array, J: Array, v: Array) -> tuple[Array, Array]:
    """Return the derivatives of J v by q and v, (6, nv) each."""
    return partials.swapaxes(1, 2) @ v, J


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
