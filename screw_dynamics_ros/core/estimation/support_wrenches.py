# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of the feet of a robot with a floating base.

The environment acts on the velocities of the robot, those of the base included, with the forces

    r = sum_k J_k^T W_k,                                                                       (1)

the forces on the base are what its motion requires, as nothing drives it. With the deviations s of
independent errors of r, the contact wrenches w = (W_1, ..., W_m) are those of least squares,

    min |S^-1 (r - A w)|,      A = (J_1^T, ..., J_m^T),      cov w = (A^T S^-2 A)^-1.           (2)

A point exerts a force only, and J_k has three rows. With A^T S^-1 = L Q, L lower triangular,
w = L^-T Q S^-1 r and cov w = L^-T L^-1.

Example: a body of 9 N on one foot; its joints are not modeled:

>>> found = SupportWrenches([np.eye(6)], 6)
>>> found.forces[:], found.deviations[:] = [0, 0, 0, 0, 0, 9.0], 1.0
>>> found.solve(), found.contacts[0].wrench, np.diagonal(found.contacts[0].covariance.reshape(6, 6))
(True, array([0., 0., 9., 0., 0., 0.]), array([1., 1., 1., 0., 0., 0.]))

Source: Bruyninckx 2010 (7.42) to (7.44) (C-107) for (1); least squares as in Golub and Van Loan,
Matrix Computations, 4th edition, 5.3 and 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..compile.typed.library import calls
from ..compile.typed.records import Record
from ..types import Array
from .triangular import divide, orthonormalize, product, project

#: A component whose effect depends on those before it up to this share is not determined.
TOLERANCE = 1e-9


class SupportContact(Record):
    """A link that may touch the environment.

    Attributes
    ----------
    is_used : bool
        Whether it does.
    jacobian : (6 n,) array
        Its body Jacobian, angular rows first.
    wrench : (6,) array
        Force [N] and moment [N m] at its origin, in its axes.
    covariance : (36,) array
        Not changed while the link is not in contact.
    """

    is_used: bool
    jacobian: Floats
    wrench: Floats
    covariance: Floats


class SupportWrenches(Record):
    """Wrenches of the environment on m links of a robot with n velocities.

    Parameters
    ----------
    jacobians : sequence of (6, n) arrays
    n : int

    Attributes
    ----------
    has_moments : bool
        Whether contacts exert moments, too.
    contacts : tuple of SupportContact
    forces, deviations : (n,) arrays
        r of (1) [N m, N], and s, which is positive.
    A, L, inverse, y : arrays
        Intermediate results: A^T S^-1, later Q; L, L^-T and Q S^-1 r.
    """

    has_moments: bool
    contacts: tuple[SupportContact, ...]
    forces: Floats
    deviations: Floats
    A: Floats
    L: Floats
    inverse: Floats
    y: Floats

    def __init__(self, jacobians: Sequence[Array], n: int) -> None:
        self.contacts = tuple(SupportContact() for _ in jacobians)
        for each, jacobian in zip(self.contacts, jacobians):
            each.is_used, each.jacobian = True, jacobian
            each.wrench, each.covariance = np.zeros(6), np.zeros(36)
        N = 6 * len(self.contacts)
        self.forces, self.deviations, self.y = np.zeros(n), np.ones(n), np.zeros(N)
        self.A, self.L, self.inverse = np.zeros((N + 1) * n), np.zeros(N * N), np.zeros(N * N)

    def solve(self) -> bool:
        """Return the result of `solve_support`."""
        is_determined: bool = calls(solve_support)[0](self)
        return is_determined


@typed
def solve_support(s: SupportWrenches) -> bool:
    """Set the wrenches of all links in contact, zero for others; False if not determined."""
    n = len(s.forces)
    first = 0 if s.has_moments else 3
    N = 0
    for k in range(len(s.contacts)):
        if s.contacts[k].is_used:
            for i in range(first, 6):
                for j in range(n):
                    s.A[n * N + j] = s.contacts[k].jacobian[n * i + j] / s.deviations[j]
                N += 1
    if not orthonormalize(s.A, s.L, N, n, TOLERANCE):
        return False
    r = s.A[n * N :]
    for j in range(n):
        r[j] = s.forces[j] / s.deviations[j]
    project(s.A, r, s.y, N, n)
    for k in range(N * N):
        s.inverse[k] = 1.0 if k % (N + 1) == 0 else 0.0
    divide(s.inverse, s.L, s.inverse, N, N)
    N0 = 0
    for k in range(len(s.contacts)):
        contact = s.contacts[k]
        for i in range(6):
            contact.wrench[i] = 0.0
        if contact.is_used:
            for i in range(first, 6):
                row = s.inverse[N * (N0 + i - first) :]
                at = (i + 3) % 6
                contact.wrench[at] = product(row, s.y, N)
                for j in range(first, 6):
                    x = product(row, s.inverse[N * (N0 + j - first) :], N)
                    contact.covariance[6 * at + (j + 3) % 6] = x
            N0 += 6 - first
    return True
