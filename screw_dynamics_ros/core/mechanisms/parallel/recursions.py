# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded functions of a parallel robot: motor positions, wrenches, Newton steps.

A pose T = (R, p) of the platform puts the pivots of its rods at t = p + R a. With unit vectors e
along the rods, from the base to the platform, the wrench of a motor that pushes its rod with unit
force or torque, at the origin of the platform and along the axes of the base, is

    G_i = (R a_i × e_i; e_i) / lever_i,    rate of the motor = G_i^T t  for twists t

(Bruyninckx 2010, (8.10), (8.14), corrected by E-39 and E-40; components in the order of this
package). Newton's method for the pose of given motor positions (8.15) to (8.18) sees the rods only:
with their lengths rho and G for lever 1 in the spatial representation,

    rho - |t - c| = G^T X,    T <- exp(X) T

(E-41: the exponential stands on the left). With more than six rods X is that of least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...compile.kernels import Kernel, KernelSpecification, choose_backend, make_kernel
from ...compile.program.tracing import clamp
from ...lie import se3
from ...linear import solve_positive_definite, symmetric
from ...types import Array
from .mechanism import Mechanism

#: Largest turn [rad], and shift in sizes of the mechanism, of one Newton step.
MAX_STEP = 0.5


def cross(x: Array, y: Array) -> Array:
    """Return x × y, (3,), of numbers or recorded scalars."""
    return np.array(
        [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    )


def rod_vectors(mechanism: Mechanism, q: Array, T: Array) -> Array:
    """Return t - c of all rods, (rods, 3) [m]."""
    tops = T[:3, 3] + mechanism.platform_pivots @ T[:3, :3].T
    elbows = np.concatenate([leg.elbows(x) for leg, x in zip(mechanism.legs, q)])
    return tops - elbows


def rod_lengths(mechanism: Mechanism, q: Array) -> Array:
    """Return rho of all rods, (rods,) [m]."""
    return np.concatenate([leg.lengths(x) for leg, x in zip(mechanism.legs, q)])


def length_errors(mechanism: Mechanism, q: Array, T: Array) -> Array:
    """Return rho - |t - c| of all rods, (rods,) [m]: zero where motors and pose agree (8.1)."""
    d = rod_vectors(mechanism, q, T)
    return rod_lengths(mechanism, q) - np.sqrt((d * d).sum(axis=1))


def unit_wrenches(mechanism: Mechanism, q: Array, T: Array) -> Array:
    """Return wrenches of unit forces along the rods, (6, rods), hybrid [m; 1]."""
    arms = mechanism.platform_pivots @ T[:3, :3].T
    d = rod_vectors(mechanism, q, T)
    e = d / np.sqrt((d * d).sum(axis=1))[:, None]
    return np.array([np.concatenate([cross(r, x), x]) for r, x in zip(arms, e)]).T


def levers(mechanism: Mechanism, q: Array, E: Array) -> Array:
    """Return e . t' of each rod for unit rate of its motor, (rods,); E (rods, 3) unit vectors."""
    return np.array(
        [mechanism.legs[leg].lever(q[leg], e) for (leg, _), e in zip(mechanism.rod_legs, E)]
    )


def wrench_basis(mechanism: Mechanism, q: Array, T: Array) -> tuple[Array, Array]:
    """Return unit wrenches of the rods (6, rods), hybrid, and their levers (rods,)."""
    G = unit_wrenches(mechanism, q, T)
    return G, levers(mechanism, q, G[3:].T)


def motor_positions(mechanism: Mechanism, T: Array) -> tuple[Array, Array]:
    """Return motor positions of a pose as in `Leg.coordinates`, (n, 2, 2), and discriminants (n,).

    By the first rod of each leg.
    """
    tops = T[:3, 3] + np.array([leg.platform[0] for leg in mechanism.legs]) @ T[:3, :3].T
    solved = [leg.coordinates(0, t) for leg, t in zip(mechanism.legs, tops)]
    return np.array([x for x, _ in solved]), np.array([discriminant for _, discriminant in solved])


def newton_step(mechanism: Mechanism, q: Array, T: Array) -> tuple[Array, Array]:
    """Return the pose (4, 4) after one Newton step, and the length errors (rods,) before it.

    The rotation of T is brought back to an orthogonal matrix by one step of the iteration
    R (3 - R^T R) / 2, as a pose that is handed on from state to state would lose it.
    """
    errors = length_errors(mechanism, q, T)
    G = unit_wrenches(mechanism, q, T)
    p = T[:3, 3]
    spatial = np.array([np.concatenate([W[:3] + cross(p, W[3:]), W[3:]]) for W in G.T]).T
    scale = np.array([mechanism.size] * 3 + [1.0] * 3)  # moments as forces at that arm
    A = spatial / scale[:, None]
    normal = symmetric(A @ A.T) + 1e-300 * np.eye(6)
    X = solve_positive_definite(normal, A @ errors) / scale
    X = X * limit(X, mechanism.size)
    R = T[:3, :3]
    orthogonal = R @ (1.5 * np.eye(3) - 0.5 * (R.T @ R))
    return se3.compose(se3.exp(X), se3.pose(orthogonal, p)), errors


def limit(X: Array, size: float) -> Array:
    """Return the factor, at most 1, that keeps a step within `MAX_STEP`."""
    turn, shift = np.sqrt(X[:3] @ X[:3]), np.sqrt(X[3:] @ X[3:]) / size
    return clamp(MAX_STEP / (turn + shift + 1e-300), 0.0, 1.0)


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
        x, discriminants = self._run(motor_positions, T)
        return x, discriminants

    def wrench_basis(self, q: Array, T: Array) -> tuple[Array, Array]:
        """Return `recursions.wrench_basis`."""
        G, levers = self._run(wrench_basis, q, T)
        return G, levers

    def newton_step(self, q: Array, T: Array) -> tuple[Array, Array]:
        """Return `recursions.newton_step`."""
        moved, errors = self._run(newton_step, q, T)
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
