# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One rigid body: its mass distribution in any frame, its momentum, energy, equations of motion.

Everything is about the origin of the body's frame and resolved in it: twists V = (omega, v) are
body-fixed, wrenches W = (moment, force) and momenta (angular, linear) are dual to them. The same
equations hold in an inertial frame, with spatial twists and `moved` bodies. The recursions of
`core.dynamics` are for chains of bodies; this is one of them, in the textbook's formulations.

Sources: Bruyninckx 2010, section 4.12, with the errata of doc/spec/bruyninckx_errata.md;
Müller 2018b, sections 3 and 6 (D-17 to D-20, D-43).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arguments import vector
from ..errors import InertiaError, UnknownNameError
from ..lie import points, screws, se3, so3
from ..lie._arrays import as_float_stack, check_pose
from ..reproducible import product
from ..types import Array
from .body_inertia import SYMMETRY_TOLERANCE, Inertia, inertia_fault, principal_axes

#: The ten parameters in which the equations of motion are linear: mass, first and second moments.
PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')

_UPPER = np.triu_indices(3)


class PrincipalFrame(NamedTuple):
    """Frame at the center of mass along the principal axes, and the principal moments."""

    pose: Array  # (4, 4), in the body's frame
    moments: Array  # (3,), kg m^2, ascending; equal ones leave their axes open


@dataclass(frozen=True, eq=False)
class RigidBody(Inertia):
    """A rigid body: mass (kg), center of mass (3,) (m), inertia matrix about it (3, 3) (kg m^2).

    The same data as a link's `Inertia`, of which it is a kind.

    Raises
    ------
    InertiaError
        If no body has this mass and inertia (negative mass, moments that break the triangle
        inequality, a matrix that is not symmetric).

    Examples
    --------
    >>> hammer = RigidBody(2.0, [0.3, 0, 0], np.diag([0.01, 0.02, 0.02]))
    >>> float(hammer.kinetic_energy([0, 0, 1, 0, 0, 0]).round(6))  # turning about its handle
    0.1
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        fault = inertia_fault(self)
        if fault is not None:
            raise InertiaError(f'RigidBody: {fault[0]}; {fault[1]}')

    # --- other ways to make one ------------------------------------------------------------------

    @classmethod
    def from_particles(cls, masses: npt.ArrayLike, positions: npt.ArrayLike) -> RigidBody:
        """Return the body made of particles: masses (n,), kg, at positions (n, 3), m.

        m = sum m_i, c = sum m_i r_i / m, I = -sum m_i r_i~ r_i~ with r_i from the center of mass.

        Source: Bruyninckx 2010 (4.49) to (4.58), (4.66) (B-090, B-091).

        >>> RigidBody.from_particles([1, 3], [[0, 0, 0], [0.4, 0, 0]]).com.round(6)
        array([0.3, 0. , 0. ])
        """
        m = as_float_stack('RigidBody.from_particles', 'masses', masses, 'n')
        p = as_float_stack('RigidBody.from_particles', 'positions', positions, len(m), 3)
        total = float(m.sum())
        if total <= 0.0 or (m < 0.0).any():
            raise InertiaError('RigidBody.from_particles: masses must be positive')
        com = m @ p / total
        r = so3.hat(p - com)
        return cls(total, com, -np.sum(m[:, None, None] * (r @ r), axis=0))

    @classmethod
    def from_parameters(cls, parameters: npt.ArrayLike) -> RigidBody:
        """Return the body with the ten `PARAMETERS` (10,): m, m c and I about the origin.

        Raises InertiaError if no body has them.

        Source: Bruyninckx 2010, section 4.12.9 (B-101).

        >>> RigidBody.from_parameters([2, 0.6, 0, 0, 0, 0, 0, 0.2, 0, 0.2]).com
        array([0.3, 0. , 0. ])
        """
        x = as_float_stack('RigidBody.from_parameters', 'parameters', parameters, 10)
        m, h = float(x[0]), x[1:4]
        if m <= 0.0:
            raise InertiaError(f'RigidBody.from_parameters: mass is {m:g} kg; it must be positive')
        about_origin = np.zeros((3, 3))
        about_origin[_UPPER] = about_origin.T[_UPPER] = x[4:]
        return cls(m, h / m, about_origin + so3.hat(h) @ so3.hat(h) / m)

    @classmethod
    def from_moments(cls, mass: float, com: npt.ArrayLike, moments: npt.ArrayLike) -> RigidBody:
        """Return the body with a center of mass (3,) and `moments` (6,) about it, in their order.

        Raises ArgumentError for wrong shapes, InertiaError if no body has them.

        >>> RigidBody.from_moments(1.0, [0, 0, 0], [2, 0.1, 0.2, 3, 0.3, 4]).matrix
        array([[2. , 0.1, 0.2],
               [0.1, 3. , 0.3],
               [0.2, 0.3, 4. ]])
        """
        matrix = np.zeros((3, 3))
        matrix[_UPPER] = matrix.T[_UPPER] = vector('RigidBody: moments', 6, moments)
        return cls(mass, vector('RigidBody: com', 3, com), matrix)

    @classmethod
    def from_pseudo_inertia(cls, Sigma: npt.ArrayLike) -> RigidBody:
        """Return the body with this pseudo-inertia (4, 4).

        Raises InertiaError if it is not symmetric or no body has it.

        Source: Müller 2018b (87), with the matrix of E-27 (D-17).

        >>> RigidBody.from_pseudo_inertia(np.diag([0.1, 0.2, 0.3, 2.0])).inertia.diagonal()
        array([0.5, 0.4, 0.3])
        """
        S = as_float_stack('RigidBody.from_pseudo_inertia', 'Sigma', Sigma, 4, 4)
        if S.ndim != 2 or np.abs(S - S.T).max() > SYMMETRY_TOLERANCE * np.abs(S).max():
            raise InertiaError(
                'RigidBody.from_pseudo_inertia: Sigma must be one symmetric (4, 4) matrix'
            )
        inertia = np.trace(S[:3, :3]) * np.eye(3) - S[:3, :3]
        return cls.from_parameters(np.concatenate([S[3, 3:], S[:3, 3], inertia[_UPPER]]))

    def moved(self, C: npt.ArrayLike) -> RigidBody:
        """Return the same body in frame 1; C (4, 4) is the pose of its present frame in frame 1.

        c' = R c + r, I' = R I R^T about the center of mass.

        Source: Bruyninckx 2010 (4.71), (4.79) corrected (B-091, B-095).

        >>> RigidBody(1, [1, 0, 0], np.eye(3)).moved(se3.pose(np.eye(3), [0, 2, 0])).com
        array([1., 2., 0.])
        """
        C = as_float_stack('RigidBody.moved', 'C', C, 4, 4)
        check_pose('RigidBody.moved', C)
        R = C[:3, :3]
        matrix = product(R, self.matrix, R.T)
        return RigidBody(self.mass, points.transform_point(C, self.com), matrix)

    def __add__(self, other: RigidBody) -> RigidBody:
        """Return both bodies as one; their data must be given in the same frame (B-090)."""
        return RigidBody.from_parameters(self.parameters + other.parameters)

    # --- mass distribution -----------------------------------------------------------------------

    @property
    def first_moment(self) -> Array:
        """Mass times center of mass (3,), kg m (B-090)."""
        return self.mass * self.com

    @property
    def inertia(self) -> Array:
        """Inertia matrix (3, 3) about the origin: I - m c~ c~, kg m^2 (B-091, parallel axes)."""
        return self.matrix - self.mass * product(so3.hat(self.com), so3.hat(self.com))

    @property
    def parameters(self) -> Array:
        """The ten `PARAMETERS` (10,) (B-101)."""
        return np.concatenate([[self.mass], self.first_moment, self.inertia[_UPPER]])

    @property
    def mass_matrix(self) -> Array:
        """The matrix M (6, 6) = [[I, m c~], [-m c~, m 1]] about the origin (B-095, D-17).

        >>> RigidBody(2, [0.3, 0, 0], np.diag([0.01, 0.02, 0.02])).mass_matrix[1:3, 4:]
        array([[ 0. , -0.6],
               [ 0.6,  0. ]])
        """
        h = so3.hat(self.first_moment)
        return np.block([[self.inertia, h], [-h, self.mass * np.eye(3)]])

    @property
    def pseudo_inertia(self) -> Array:
        """The matrix (4, 4) [[theta, m c], [m c^T, m]], theta = 1/2 tr(I) 1 - I (Binet) (D-17).

        It is the sum of (r, 1) (r, 1)^T dm, becomes C Sigma C^T in another frame, and is positive
        semidefinite for every body, see `is_physical`.

        >>> RigidBody(2, [0.3, 0, 0], np.diag([0.01, 0.02, 0.02])).pseudo_inertia.diagonal()
        array([0.195, 0.005, 0.005, 2.   ])
        """
        return pseudo_inertias(self.parameters)

    def principal_frame(self) -> PrincipalFrame:
        """Return the right-handed frame at the center of mass in which the inertia is diagonal.

        Source: Bruyninckx 2010, section 4.12.4 (B-092).

        >>> RigidBody(1, [0, 0, 0], np.diag([3.0, 1.0, 2.0])).principal_frame().moments
        array([1., 2., 3.])
        """
        moments, axes = principal_axes(self)
        return PrincipalFrame(se3.pose(axes, self.com), moments)

    # --- motion ----------------------------------------------------------------------------------

    def momentum(self, V: npt.ArrayLike) -> Array:
        """Return M V (...,6): angular momentum about the origin, N m s, and linear, N s.

        V (...,6) is the body-fixed twist.

        Source: Bruyninckx 2010 (4.84) (B-097); Müller 2018b (35), (36), (41), (52) (D-18).

        >>> RigidBody(2, [0.3, 0, 0], np.eye(3)).momentum([0, 0, 1, 0, 0, 0]).round(6) + 0.0
        array([0.  , 0.  , 1.18, 0.  , 0.6 , 0.  ])
        """
        V = as_float_stack('RigidBody.momentum', 'V', V, 6)
        return V @ self.mass_matrix  # which is symmetric

    def kinetic_energy(self, V: npt.ArrayLike) -> Array:
        """Return V^T M V / 2 (...), J, for body-fixed twists V (...,6).

        Source: Bruyninckx 2010 (4.78) (B-093).

        >>> float(RigidBody(2, [0, 0, 0], np.eye(3)).kinetic_energy([0, 0, 0, 3, 0, 0]))
        9.0
        """
        return np.asarray(0.5 * screws.power(self.momentum(V), V))[()]

    def potential_energy(
        self, C: npt.ArrayLike, gravity: npt.ArrayLike = (0.0, 0.0, -9.81)
    ) -> Array:
        """Return -m gravity . r_c (...), J, at the pose C (...,4,4), zero at the origin.

        gravity (...,3) is the acceleration of free fall, m/s^2, in the reference frame.

        Source: Bruyninckx 2010 (4.75) corrected (B-094).

        >>> lifted = se3.pose(np.eye(3), [0, 0, 1])
        >>> float(RigidBody(2, [0, 0, 0], np.eye(3)).potential_energy(lifted))
        19.62
        """
        g = as_float_stack('RigidBody.potential_energy', 'gravity', gravity, 3)
        return np.asarray(-self.mass * np.sum(g * points.transform_point(C, self.com), axis=-1))[()]

    def wrench(self, V: npt.ArrayLike, A: npt.ArrayLike, acceleration: str = 'screw') -> Array:
        """Return the wrench (...,6), N m and N, that gives the body its motion: Newton and Euler.

        V (...,6) is the body-fixed twist. A (...,6) is

        * 'screw': the derivative of its components; M A - ad_V^T M V;
        * 'material': (alpha, a) with the acceleration a = v' + omega × v of the body's point at the
          origin, which an accelerometer there measures (but for gravity); M A + (omega × I omega,
          omega × (omega × m c)). Needs no linear velocity.

        Source: Bruyninckx 2010 (4.87), (4.89) corrected (B-096, B-098, B-099); Müller 2018b (41) to
        (46) (D-20).

        >>> ball = RigidBody(2, [0.5, 0, 0], np.eye(3))  # on a merry-go-round, m r omega^2
        >>> ball.wrench([0, 0, 3, 0, 0, 0], np.zeros(6)) + 0.0
        array([ 0.,  0.,  0., -9.,  0.,  0.])
        """
        V = as_float_stack('RigidBody.wrench', 'V', V, 6)
        A = as_float_stack('RigidBody.wrench', 'A', A, 6)
        if acceleration == 'screw':
            return A @ self.mass_matrix - screws.dual_motor_product(V, self.momentum(V))
        if acceleration == 'material':
            omega = V[..., :3]
            moment = np.cross(omega, omega @ self.inertia)
            force = np.cross(omega, np.cross(omega, self.first_moment))
            return A @ self.mass_matrix + np.concatenate([moment, force], axis=-1)
        raise _unknown('RigidBody.wrench', acceleration)

    def acceleration(self, V: npt.ArrayLike, W: npt.ArrayLike) -> Array:
        """Return the screw acceleration (...,6) under the wrench W (...,6): undoes `wrench`.

        Raises InertiaError for a body that some wrench accelerates without limit.

        Source: Bruyninckx 2010 (4.35), (4.62), (4.85) to (4.88) (B-087, B-096, B-098).

        >>> RigidBody(2, [0, 0, 0], np.eye(3)).acceleration(np.zeros(6), [0, 0, 1, 4, 0, 0])
        array([0., 0., 1., 2., 0., 0.])
        """
        V = as_float_stack('RigidBody.acceleration', 'V', V, 6)
        W = as_float_stack('RigidBody.acceleration', 'W', W, 6)
        least = np.linalg.eigvalsh(self.matrix)[0]
        if self.mass == 0.0 or least <= 0.0:
            raise InertiaError(
                f'RigidBody.acceleration: mass {self.mass:g} kg and smallest principal moment '
                f'{least:g} kg m^2 must be positive'
            )
        force = W + screws.dual_motor_product(V, self.momentum(V))
        return np.linalg.solve(self.mass_matrix, force[..., None])[..., 0]


def is_physical(parameters: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return whether some body has the ten `PARAMETERS` (...,10): identified ones need not.

    Positive mass and a positive semidefinite pseudo-inertia, up to rounding; that is positive
    principal moments about the center of mass and their triangle inequalities.

    Source: Müller 2018b (87), with the matrix of E-27 (D-17).

    >>> is_physical([[1, 0, 0, 0, 1, 0, 0, 1, 0, 1.9], [1, 0, 0, 0, 1, 0, 0, 1, 0, 2.1]])
    array([ True, False])
    """
    x = as_float_stack('rigid_body.is_physical', 'parameters', parameters, 10)
    eigenvalues = np.linalg.eigvalsh(pseudo_inertias(x))
    rounding = 1e-12 * np.abs(eigenvalues).max(axis=-1)
    return np.asarray((x[..., 0] > 0.0) & (eigenvalues[..., 0] >= -rounding))[()]


def pseudo_inertias(x: Array) -> Array:
    """Return the pseudo-inertias (...,4,4) of parameters (...,10)."""
    inertia = np.zeros((*x.shape[:-1], 3, 3))
    for column, (i, j) in enumerate(zip(*_UPPER)):
        inertia[..., i, j] = inertia[..., j, i] = x[..., 4 + column]
    half_trace = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] / 2.0
    Sigma = np.empty((*x.shape[:-1], 4, 4))
    Sigma[..., :3, :3] = half_trace * np.eye(3) - inertia
    Sigma[..., :3, 3] = Sigma[..., 3, :3] = x[..., 1:4]
    Sigma[..., 3, 3] = x[..., 0]
    return Sigma


def regressor(V: npt.ArrayLike, A: npt.ArrayLike, acceleration: str = 'screw') -> Array:
    """Return Y (...,6,10) with wrench = Y @ parameters for any body moving with V, A (...,6).

    V and A as in `RigidBody.wrench`; the parameters are `PARAMETERS`.

    Source: Bruyninckx 2010, section 4.12.9 (B-101); Müller 2018b, section 6 (D-43).

    >>> body = RigidBody(2, [0.3, 0, 0], np.diag([0.01, 0.02, 0.02]))
    >>> V, A = np.arange(1.0, 7.0), np.ones(6)
    >>> bool(np.allclose(regressor(V, A) @ body.parameters, body.wrench(V, A)))
    True
    """
    V = as_float_stack('rigid_body.regressor', 'V', V, 6)
    A = as_float_stack('rigid_body.regressor', 'A', A, 6)
    if acceleration not in ('screw', 'material'):
        raise _unknown('rigid_body.regressor', acceleration)
    omega, v, alpha, a = V[..., :3], V[..., 3:], A[..., :3], A[..., 3:]
    if acceleration == 'screw':
        a = a + np.cross(omega, v)
    turning = so3.hat(alpha) + so3.hat(omega) @ so3.hat(omega)
    Y = np.zeros((*np.broadcast_shapes(omega.shape, a.shape)[:-1], 6, 10))
    Y[..., :3, 1:4], Y[..., 3:, 0], Y[..., 3:, 1:4] = -so3.hat(a), a, turning
    Y[..., :3, 4:] = _times_inertia(alpha) + so3.hat(omega) @ _times_inertia(omega)
    return Y


def _times_inertia(x: Array) -> Array:
    """Return L (...,3,6) with I x = L (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)."""
    L = np.zeros((*x.shape, 6))
    for column, (i, j) in enumerate(zip(*_UPPER)):
        L[..., i, column] = x[..., j]
        L[..., j, column] = x[..., i]
    return L


def _unknown(function: str, acceleration: str) -> UnknownNameError:
    return UnknownNameError(
        f"{function}: acceleration must be 'screw' or 'material', got {acceleration!r}"
    )
