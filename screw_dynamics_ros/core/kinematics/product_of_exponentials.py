# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The geometry of a robot as a product of exponentials, in five descriptions of one tree.

Joint i carries body i on its predecessor p(i); it has one freedom and a constant unit screw
(e, p × e + h e), revolute for h = 0, helical for a pitch h [m/rad], or (0, e), prismatic.

==================== ================== ======================================== ===============
class                data of a joint    configuration of body i                  source
==================== ================== ======================================== ===============
`JointFrames`        S_p, S_i, Z        C_i = C_p S_p exp(Z_i q_i) S_i^-1        (3) (K-12)
`BodyScrews`         B, X               C_i = C_p B_i exp(X_i q_i)               (4) (K-13)
`PredecessorScrews`  B, X               C_i = C_p exp(X_i q_i) B_i               (6) (K-14)
`SpatialScrews`      A, Y               C_i = exp(Y_1 q_1) ... exp(Y_i q_i) A_i  (9) (K-15)
`ConstructionScrews` Y                  C_i = exp(Y_1 q_1) ... exp(Y_i q_i)      K-16
==================== ================== ======================================== ===============

`SpatialScrews.of(geometry)` converts any of them, by C exp(X) C^-1 = exp(Ad_C X) (K-06, K-18).
`poses` is written over arrays: it runs on numbers, on stacks of them and on recorded scalars.

Source: Müller 2018a, section 2, with its equations in parentheses; the formulas are those of
doc/spec/muller.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, DescriptionError
from ..lie import screws, se3
from ..lie._arrays import check_pose
from ..reproducible import reproducible
from ..tree.multibody_tree import GROUND, rotation_of_z_to
from ..types import Array

UNIT_TOLERANCE = 1e-9  # of the length of a unit screw, from 1

ROUNDING_TOLERANCE = 1e-12  # pitches [m/rad] and axis points [m] below this are rounding

G = TypeVar('G', bound='Geometry')


def joint_axes(X: ArrayLike) -> screws.Screw:
    """Return directions, points and pitches of joint screws (n, 6), rounding set to zero.

    A revolute joint then has pitch 0, and one whose axis meets the origin has the point (0, 0, 0).

    >>> joint_axes([[0, 0, 1, 0, -0.5, 1e-17]]).pitch
    array([0.])
    """
    axes = screws.screw_axis(X)
    point = np.where(
        (np.abs(axes.point) < ROUNDING_TOLERANCE).all(axis=-1, keepdims=True), 0.0, axes.point
    )
    pitch = np.where(np.abs(axes.pitch) < ROUNDING_TOLERANCE, 0.0, axes.pitch)
    return axes._replace(point=point, pitch=pitch)


class Geometry(ABC):
    """What the five descriptions have in common; arrays are read-only.

    Attributes
    ----------
    parents : tuple of int
        Index of each body's predecessor, smaller than its own; `GROUND` (-1) for the root frame.
        A serial chain if not given.
    names : tuple of str
        Of the joints; 'joint1', 'joint2', ... if not given.

    Raises
    ------
    DescriptionError
        Lengths that do not match, a predecessor that comes later, a matrix that is not a pose, a
        screw that is not of unit length, a number that is not finite; names the joint.
    """

    def __init__(
        self, screws: ArrayLike, parents: Sequence[int] | None, names: Sequence[str] | None
    ) -> None:
        n = len(np.asarray(screws))
        self.parents = tuple(range(-1, n - 1)) if parents is None else tuple(map(int, parents))
        self.names = tuple(f'joint{i + 1}' for i in range(n)) if names is None else tuple(names)
        if len(self.parents) != n or len(self.names) != n:
            raise DescriptionError(
                f'{type(self).__name__}: {n} joint screws, {len(self.parents)} parents and '
                f'{len(self.names)} names; give one of each for every joint'
            )
        for i, parent in enumerate(self.parents):
            if not GROUND <= parent < i:
                raise DescriptionError(
                    f'joint {self.names[i]!r}: its predecessor is body {parent}; a predecessor '
                    f'comes before its successors, so use a number from {GROUND} to {i - 1}'
                )

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self.parents)

    @abstractmethod
    def poses(self, q: ArrayLike) -> Array:
        """Return the configurations C_i of all bodies, (..., n, 4, 4), for q (..., n)."""

    @abstractmethod
    def body_screws(self) -> BodyScrews:
        """Return the same robot as B, X: the description through which all others convert."""

    @classmethod
    @abstractmethod
    def of(cls: type[G], geometry: Geometry) -> G:
        """Return the same robot in this description."""

    def path(self, i: int) -> list[int]:
        """Return the bodies from the root to body i, i included."""
        path = []
        while i != GROUND:
            path.append(i)
            i = self.parents[i]
        return path[::-1]

    def with_offsets(self: G, q0: ArrayLike) -> G:
        """Return the robot whose zero configuration is q0 of this one: C'(q) = C(q + q0) (K-17).

        The constants absorb the offsets, B'_i = B_i exp(X_i q0_i).
        """
        own = self.body_screws()
        B = own.B @ se3.exp_unit_screw(own.X, self._coordinates(q0))
        return type(self).of(BodyScrews(B, own.X, own.parents, own.names))

    def _coordinates(self, q: ArrayLike) -> Array:
        q = np.asarray(q)
        if q.ndim == 0 or q.shape[-1] != len(self):
            raise ArgumentError(
                f'q must have shape (..., {len(self)}), one number for each joint, got {q.shape}'
            )
        return q

    def _multiplied(self, steps: Array) -> Array:
        """Return the products of steps (..., n, 4, 4) from the root to each body."""
        C: list[Array] = []
        for i, parent in enumerate(self.parents):
            step = steps[..., i, :, :]
            C.append(step if parent == GROUND else C[parent] @ step)
        return np.stack(C, axis=-3) if C else steps

    def _predecessors(self, of_bodies: Array) -> Array:
        """Return the poses (n, 4, 4) that belong to the predecessors."""
        return np.array([np.eye(4) if p == GROUND else of_bodies[p] for p in self.parents]).reshape(
            -1, 4, 4
        )

    def _checked_poses(self, field: str, value: ArrayLike) -> Array:
        C = self._frozen(field, value, (4, 4))
        for i, name in enumerate(self.names):
            try:
                check_pose(f'joint {name!r}: {field}', C[i])
            except ArgumentError as error:
                raise DescriptionError(str(error)) from None
        return C

    def _checked_screws(self, field: str, value: ArrayLike) -> Array:
        X = self._frozen(field, value, (6,))
        turns = (X[:, :3] != 0.0).any(axis=1, keepdims=True)
        length = np.linalg.norm(np.where(turns, X[:, :3], X[:, 3:]), axis=1)
        for i in np.flatnonzero(np.abs(length - 1.0) > UNIT_TOLERANCE):
            raise DescriptionError(
                f'joint {self.names[i]!r}: {field} = {X[i]} is not a unit screw, its direction has '
                f'length {length[i]:.9g}; divide it by that (see screws.unit_screw)'
            )
        return X

    def _frozen(self, field: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DescriptionError(f'{type(self).__name__}: {field}: {error}') from None
        if array.shape != (len(self), *shape):
            raise DescriptionError(
                f'{type(self).__name__}: {field} must have shape {(len(self), *shape)}, '
                f'got {array.shape}'
            )
        for name, numbers in zip(self.names, array):
            if not np.isfinite(numbers).all():
                raise DescriptionError(f'joint {name!r}: {field} holds numbers that are not finite')
        array.setflags(write=False)
        return array


class JointFrames(Geometry):
    """Joints between frames on both bodies: Sheth and Uicker's shape matrices, DH, URDF (K-12).

    Attributes
    ----------
    S_p, S_i : (n, 4, 4) arrays
        The joint frame fixed on the predecessor, in the predecessor's frame, and the one fixed on
        the body, in the body's frame [m]. The two coincide at q = 0 (otherwise: `with_offsets`, or
        the displacement multiplied to S_p from the right, K-17).
    Z : (n, 6) array
        Joint screws in the joint frame; (0, 0, 1, 0, 0, h) or (0, 0, 0, 0, 0, 1) if its 3-axis is
        the joint axis.
    """

    def __init__(
        self,
        S_p: ArrayLike,
        S_i: ArrayLike,
        Z: ArrayLike,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(Z, parents, names)
        self.S_p = self._checked_poses('S_p', S_p)
        self.S_i = self._checked_poses('S_i', S_i)
        self.Z = self._checked_screws('Z', Z)

    def poses(self, q: ArrayLike) -> Array:
        """Return C_i = C_p S_p exp(Z_i q_i) S_i^-1, (..., n, 4, 4) (Müller 2018a (3))."""
        motion = se3.exp_unit_screw(self.Z, self._coordinates(q))
        return self._multiplied(self.S_p @ motion @ se3.inverse(self.S_i))

    def body_screws(self) -> BodyScrews:
        """Return B_i = S_p S_i^-1, X_i = Ad_{S_i} Z_i (Müller 2018a (5))."""
        S_p, S_i, Z = reproducible((self.S_p, self.S_i, self.Z))
        B, X = S_p @ se3.inverse(S_i), screws.transform_twist(S_i, Z)
        return BodyScrews(B, X, self.parents, self.names)

    @classmethod
    def of(cls, geometry: Geometry) -> JointFrames:
        """Return joint frames with the 3-axis on the joint axis, at its point next to the body."""
        own = geometry.body_screws()
        axes = joint_axes(own.X)
        R = np.array([rotation_of_z_to(e) for e in axes.direction]).reshape(-1, 3, 3)
        S_i = se3.pose(R, axes.point)
        Z = screws.unit_screw([0.0, 0.0, 1.0], pitch=axes.pitch)
        return cls(own.B @ S_i, S_i, Z, own.parents, own.names)


class BodyScrews(Geometry):
    """The body-fixed product of exponentials, screws in the frame of the moving body (K-13).

    Attributes
    ----------
    B : (n, 4, 4) array
        Configuration of the body in its predecessor's frame at q = 0 [m].
    X : (n, 6) array
        Joint screws in the frame of the body.

    Examples
    --------
    >>> arm = BodyScrews([se3.pose(np.eye(3), [0, 0, 0.3])], [[0, 0, 1, 0, -0.1, 0]])
    >>> arm.poses([np.pi / 2])[0].round(6) + 0.0
    array([[ 0. , -1. ,  0. ,  0.1],
           [ 1. ,  0. ,  0. , -0.1],
           [ 0. ,  0. ,  1. ,  0.3],
           [ 0. ,  0. ,  0. ,  1. ]])
    """

    def __init__(
        self,
        B: ArrayLike,
        X: ArrayLike,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(X, parents, names)
        self.B = self._checked_poses('B', B)
        self.X = self._checked_screws('X', X)

    def poses(self, q: ArrayLike) -> Array:
        """Return C_i = C_p B_i exp(X_i q_i), (..., n, 4, 4) (Müller 2018a (8))."""
        motion = se3.exp_unit_screw(self.X, self._coordinates(q))
        return self._multiplied(self.B @ motion)

    def body_screws(self) -> BodyScrews:
        """Return the object itself."""
        return self

    @classmethod
    def of(cls, geometry: Geometry) -> BodyScrews:
        """Return the same robot as B, X."""
        return geometry.body_screws()

    def with_body_frames(self, S: ArrayLike) -> BodyScrews:
        """Return the robot with another frame on each body, C'_i = C_i S_i, S (n, 4, 4) (K-34).

        B'_i = S_p^-1 B_i S_i and X'_i = Ad_{S_i}^-1 X_i.
        """
        S, B, X = reproducible((self._checked_poses('S', S), self.B, self.X))
        B = se3.inverse(self._predecessors(S)) @ B @ S
        return BodyScrews(B, screws.inverse_transform_twist(S, X), self.parents, self.names)

    def chain(self, i: int) -> BodyScrews:
        """Return the serial chain from the root to body i."""
        path = self.path(i)
        return BodyScrews(self.B[path], self.X[path], None, [self.names[k] for k in path])


class PredecessorScrews(Geometry):
    """The body-fixed product of exponentials, screws in the frame of the predecessor (K-14).

    Attributes
    ----------
    B : (n, 4, 4) array
        As in `BodyScrews`.
    X : (n, 6) array
        Joint screws in the frame of the predecessor.
    """

    def __init__(
        self,
        B: ArrayLike,
        X: ArrayLike,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(X, parents, names)
        self.B = self._checked_poses('B', B)
        self.X = self._checked_screws('X', X)

    def poses(self, q: ArrayLike) -> Array:
        """Return C_i = C_p exp(X_i q_i) B_i, (..., n, 4, 4) (Müller 2018a (8))."""
        motion = se3.exp_unit_screw(self.X, self._coordinates(q))
        return self._multiplied(motion @ self.B)

    def body_screws(self) -> BodyScrews:
        """Return X_i = Ad_{B_i}^-1 of the screws seen in the predecessor (Müller 2018a (7))."""
        X = screws.inverse_transform_twist(*reproducible((self.B, self.X)))
        return BodyScrews(self.B, X, self.parents, self.names)

    @classmethod
    def of(cls, geometry: Geometry) -> PredecessorScrews:
        """Return the same robot with the screws Ad_{B_i} X_i (Müller 2018a (7))."""
        own = geometry.body_screws()
        return cls(own.B, screws.transform_twist(own.B, own.X), own.parents, own.names)


class SpatialScrews(Geometry):
    """The spatial product of exponentials: Brockett's, Gupta's zero reference (K-15).

    Attributes
    ----------
    A : (n, 4, 4) array
        Configurations of the bodies at q = 0 [m].
    Y : (n, 6) array
        Joint screws at q = 0, in the root frame: the spatial Jacobian there.
    """

    def __init__(
        self,
        A: ArrayLike,
        Y: ArrayLike,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(Y, parents, names)
        self.A = self._checked_poses('A', A)
        self.Y = self._checked_screws('Y', Y)

    def poses(self, q: ArrayLike) -> Array:
        """Return C_i = exp(Y_1 q_1) ... exp(Y_i q_i) A_i, (..., n, 4, 4) (Müller 2018a (10))."""
        motion = se3.exp_unit_screw(self.Y, self._coordinates(q))
        C: Array = self._multiplied(motion) @ self.A
        return C

    def body_screws(self) -> BodyScrews:
        """Return B_i = A_p^-1 A_i and X_i = Ad_{A_i}^-1 Y_i (Müller 2018a (12))."""
        A, Y = reproducible((self.A, self.Y))
        B, X = se3.inverse(self._predecessors(A)) @ A, screws.inverse_transform_twist(A, Y)
        return BodyScrews(B, X, self.parents, self.names)

    @classmethod
    def of(cls, geometry: Geometry) -> SpatialScrews:
        """Return A_i = B_1 ... B_i and Y_i = Ad_{A_i} X_i (Müller 2018a (11), (12))."""
        own = geometry.body_screws()
        A = own._multiplied(own.B)
        return cls(A, screws.transform_twist(A, own.X), own.parents, own.names)


class ConstructionScrews(Geometry):
    """All body frames coincide with the root frame at q = 0: the data of a CAD assembly (K-16).

    Axes, a point on each and pitches are everything: Y = screws.unit_screw(e, y, h). Converting
    another description to this one gives its bodies new frames, C'_i = C_i A_i^-1, in which their
    inertias have to be given too (`robot_geometry.moved_inertia`).

    Attributes
    ----------
    Y : (n, 6) array
        Joint screws at q = 0, in the root frame.
    """

    def __init__(
        self,
        Y: ArrayLike,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(Y, parents, names)
        self.Y = self._checked_screws('Y', Y)

    def poses(self, q: ArrayLike) -> Array:
        """Return C_i = exp(Y_1 q_1) ... exp(Y_i q_i), (..., n, 4, 4)."""
        motion = se3.exp_unit_screw(self.Y, self._coordinates(q))
        return self._multiplied(motion)

    def body_screws(self) -> BodyScrews:
        """Return B_i = 1, X_i = Y_i."""
        identity = np.broadcast_to(np.eye(4), (len(self), 4, 4))
        return BodyScrews(identity, self.Y, self.parents, self.names)

    @classmethod
    def of(cls, geometry: Geometry) -> ConstructionScrews:
        """Return the screws Y_i; the body frames become C_i A_i^-1."""
        spatial = SpatialScrews.of(geometry)
        return cls(spatial.Y, spatial.parents, spatial.names)
