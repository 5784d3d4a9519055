# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The mass distribution of one body, and what no body can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import float_array, is_number
from ..errors import ArgumentError, InertiaError
from ..types import Array

#: A fault counts from here on, relative to the largest moment: numbers in files have six digits.
TRIANGLE_TOLERANCE = 1e-6

#: A radius of gyration in m below which a body is a point: exporters leave 1e-20 kg m^2.
POINT_RADIUS = 1e-6

#: Asymmetry of an inertia matrix by rounding, relative to its largest entry.
SYMMETRY_TOLERANCE = 1e-9

#: kg/m^3
STEEL_DENSITY = 7850.0

_UPPER = np.triu_indices(3)

_CHECK_TENSOR = (
    'correct its <inertia>, which is the matrix about the center of mass in the axes of its '
    '<origin>, in kg m^2'
)


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass distribution of one link.

    Attributes
    ----------
    mass : float
        In kg.
    com : (3,) array
        Center of mass in the link frame, in m.
    matrix : (3, 3) array
        Rotational inertia about the center of mass, resolved in the link axes, in kg m^2.

    Raises
    ------
    ArgumentError
        Wrong shapes, or no numbers.
    InertiaError
        Numbers that are not finite, a negative mass, a matrix that is not symmetric. See
        `inertia_fault` for other impossible inertias.
    """

    mass: float
    com: NDArray[np.float64]
    matrix: NDArray[np.float64]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        com, I = (float_array(f'{kind}: {x}', getattr(self, x)).copy() for x in ('com', 'matrix'))  # noqa: E741
        if com.shape != (3,) or I.shape != (3, 3):
            raise ArgumentError(
                f'{kind}: com must have shape (3,) and matrix (3, 3), got {com.shape} and {I.shape}'
            )
        if not is_number(self.mass):
            raise ArgumentError(f'{kind}: mass must be a number, got {self.mass!r}')
        if not (np.isfinite(self.mass) and np.isfinite(com).all() and np.isfinite(I).all()):
            raise InertiaError(f'{kind}: mass, com and matrix must be finite numbers')
        if self.mass < 0.0:
            raise InertiaError(f'{kind}: mass is {self.mass:g} kg; a mass cannot be negative')
        if np.abs(I - I.T).max() > SYMMETRY_TOLERANCE * np.abs(I).max():
            raise InertiaError(
                f'{kind}: matrix differs from its transpose by {np.abs(I - I.T).max():.3g} kg m^2; '
                'take (matrix + matrix.T) / 2'
            )
        for name, array in (('com', com), ('matrix', I)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def moments(self) -> NDArray[np.float64]:
        """Moments about the center of mass (6,): xx, xy, xz, yy, yz, zz [kg m^2]."""
        return self.matrix[_UPPER]

    def numbers(self) -> tuple[float, list[float], list[list[float]]]:
        """Return mass, center of mass and matrix as plain numbers, to the last digit."""
        return self.mass, self.com.tolist(), self.matrix.tolist()


def principal_axes(inertia: Inertia) -> tuple[Array, Array]:
    """Return the principal moments (3,) [kg m^2], ascending, and their axes, columns (3, 3).

    The axes are a right-handed frame.
    """
    moments, axes = np.linalg.eigh(inertia.matrix)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return moments, axes


def equivalent_ellipsoid(inertia: Inertia) -> tuple[Array, Array]:
    """Return the homogeneous ellipsoid with this inertia: semi-axes (3,) [m], axes (3, 3).

    A principal moment of its mass m is m / 5 times the squares of the other two semi-axes. The mass
    must be positive; semi-axes that no body has are 0.
    """
    moments, axes = principal_axes(inertia)
    squares = 2.5 / inertia.mass * (moments.sum() - 2.0 * moments)
    return np.sqrt(np.maximum(squares, 0.0)), axes


def sphere_radius(mass: float) -> float:
    """Return the radius [m] of a sphere of steel with a mass [kg]."""
    return float(np.cbrt(0.75 / np.pi * mass / STEEL_DENSITY))


def inertia_fault(inertia: Inertia) -> tuple[str, str] | None:
    """Return message and remedy if no body has this mass and inertia matrix.

    Binet's matrix theta = 1/2 tr(I) 1 - I holds the second moments of the mass distribution, so it
    is positive semidefinite. With principal moments a <= b <= c its smallest eigenvalue is
    (a + b - c) / 2: the triangle inequality (spec D-17).
    """
    a, b, c = (float(moment) for moment in np.linalg.eigvalsh(inertia.matrix))
    moments = f'principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m^2'
    if inertia.mass == 0.0 and np.any(inertia.matrix != 0.0):
        return f'{moments} but no mass', 'give it its mass, or set its inertia to zero as well'
    tolerance = TRIANGLE_TOLERANCE * max(abs(a), abs(c)) + inertia.mass * POINT_RADIUS**2
    if a < -tolerance:
        return f'{moments}: not positive semidefinite', _CHECK_TENSOR
    if a + b < c - tolerance:
        return (
            f'{moments} break the triangle inequality: {a:.6g} + {b:.6g} < {c:.6g}',
            _CHECK_TENSOR,
        )
    return None
