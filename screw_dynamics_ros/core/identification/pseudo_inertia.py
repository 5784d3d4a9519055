# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Physically possible mass distributions: pseudo-inertias.

A body with mass m, first moment h = m c and inertia I about the origin has the pseudo-inertia

    Sigma = [[1/2 tr(I) 1 - I, h], [h^T, m]],

the second moments of (r, 1) over its mass. It is physically possible if and only if Sigma is
positive definite (positive mass and moments, triangle inequality). The difference of bodies is
measured by |L^-1 (Sigma - Sigma_0) L^-T| with Sigma_0 = L L^T, which is the same in every frame.

Sources: Wensing, Kim and Slotine 2018, *Linear matrix inequalities for physically consistent
inertial parameter identification*, IEEE RA-L 3(1); Lee, Wensing and Park 2020, *Geometric robot
dynamic identification*, IEEE T-RO 36(2) (constant pullback metric); Müller 2018b (87) (D-17).
"""

from __future__ import annotations

import numpy as np

from ..description.body_inertia import Inertia
from ..dynamics.regressor import PARAMETERS
from ..types import Array

#: Where (m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) stand, the order of `PARAMETERS`.
_ENTRIES = {'Ixx': (0, 0), 'Ixy': (0, 1), 'Iyy': (1, 1), 'Ixz': (0, 2), 'Iyz': (1, 2)}
_ENTRIES |= {'Izz': (2, 2)}

#: Smallest radius of gyration [m] of a nominal body in each direction.
MIN_RADIUS = 1e-3

#: The same for the metric of prior deviations.
TYPICAL_RADIUS = 0.05


def _basis() -> Array:
    """Return dSigma / dparameter, (10, 4, 4)."""
    basis = np.zeros((len(PARAMETERS), 4, 4))
    for k, name in enumerate(PARAMETERS):
        if name == 'm':
            basis[k, 3, 3] = 1.0
        elif name in _ENTRIES:
            i, j = _ENTRIES[name]
            basis[k, i, j] = basis[k, j, i] = -1.0
            if i == j:
                basis[k, :3, :3] = 0.5 * np.eye(3)
                basis[k, i, i] = -0.5
        else:
            i = 'xyz'.index(name[1])
            basis[k, i, 3] = basis[k, 3, i] = 1.0
    return basis


BASIS = _basis()


def pseudo_inertia(parameters: Array) -> Array:
    """Return Sigma (..., 4, 4) of (..., 10) parameters in the order of `PARAMETERS`.

    >>> pseudo_inertia(np.array([2.0, 0.6, 0, 0, 0.01, 0, 0.2, 0, 0, 0.2])).round(3).diagonal()
    array([0.195, 0.005, 0.005, 2.   ])
    """
    return np.tensordot(parameters, BASIS, axes=1)


def parameters_of(Sigma: Array) -> Array:
    """Return the ten parameters (10,) of Sigma (4, 4): the inverse of `pseudo_inertia`."""
    I = np.trace(Sigma[:3, :3]) * np.eye(3) - Sigma[:3, :3]  # noqa: E741
    values = {'m': Sigma[3, 3], **{f'm{axis}': Sigma[i, 3] for i, axis in enumerate('xyz')}}
    values |= {name: I[entry] for name, entry in _ENTRIES.items()}
    return np.array([values[name] for name in PARAMETERS])


def inertia_of(parameters: Array) -> Inertia:
    """Return mass, center of mass and inertia about it for ten parameters (10,)."""
    m = float(parameters[0])
    com = parameters[1:4] / m
    Sigma = pseudo_inertia(parameters)
    second = Sigma[:3, :3] - m * np.outer(com, com)
    second = (second + second.T) / 2
    return Inertia(m, com, np.trace(second) * np.eye(3) - second)


def physical(parameters: Array, radius: float = MIN_RADIUS) -> Array:
    """Return the nearest Sigma (4, 4) with at least this radius of gyration in all directions."""
    Sigma = pseudo_inertia(parameters)
    m = max(float(parameters[0]), 1e-6)
    com = parameters[1:4] / m
    second, axes = np.linalg.eigh(Sigma[:3, :3] - m * np.outer(com, com))
    second = np.maximum(second, m * radius**2)
    Sigma[:3, :3] = axes @ np.diag(second) @ axes.T + m * np.outer(com, com)
    Sigma[3, 3] = m
    return Sigma


def metric(parameters: Array) -> Array:
    """Return D (16, 10): |D (phi - phi_0)| is the relative difference from a nominal body.

    1 corresponds to doubled mass, or a displacement by the radius of gyration (or
    `TYPICAL_RADIUS`).
    """
    L = np.linalg.cholesky(physical(parameters, TYPICAL_RADIUS))
    inverse = np.linalg.inv(L)
    return (inverse @ BASIS @ inverse.T).reshape(len(PARAMETERS), 16).T
