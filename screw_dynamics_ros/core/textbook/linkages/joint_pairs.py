# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints with several degrees of freedom: lower pairs and macro joints as sets of unit screws.

A joint is given by k unit screws Z_a, as rows of a (k, 6) array in the joint frame, and by the kind
of its k coordinates:

* canonical coordinates of the second kind: the motions act in sequence, as in a chain,
  D(q) = exp(Z_1 q_1) ... exp(Z_k q_k), such as the two angles of a universal joint or Euler angles;
* canonical coordinates of the first kind: the motions act simultaneously,
  D(q) = exp(Z_1 q_1 + ... + Z_k q_k), such as the rotation vector of a spherical joint or the axis
  and angle of a constant-velocity joint.

=================== === ======== ================================================================
joint               dof subgroup screws
=================== === ======== ================================================================
prismatic            1  T(1)     a translation
revolute             1  SO(2)    a rotation
helical              1  H_h      a screw of pitch h
planar_translation   2  T(2)     macro joint: two translations
cylindrical          2  C        rotation about and translation along one axis
spatial_translation  3  T(3)     macro joint: three translations
spherical            3  SO(3)    rotations about a point
planar_helical       3  Y_h      macro joint: two translations and a screw along their normal
planar               3  SE(2)    two translations and the rotation about their normal
schoenflies          4  X        macro joint: three translations, one rotation
floating             6  SE(3)    all rigid motions
universal            2  none     two intersecting axes; not a lower pair
constant_velocity    2  none     the same two axes, coordinates of the first kind
=================== === ======== ================================================================

A joint is a lower pair or macro joint of a motion subgroup if and only if the span of its screws is
closed under the bracket (`generated_algebra`). Sources: Müller 2018a, tables 1
and 2 (K-10), remark 4 (K-11); Bruyninckx 2010, section 5.4 (B-121).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...description.robot_description import Joint, Link
from ...errors import ArgumentError, DescriptionError
from ...kinematics.product_of_exponentials import BodyScrews
from ...kinematics.robot_geometry import ROOT_NAME, description_of
from ...lie import screw_systems, screws, se3
from ...tree.multibody_tree import rotation_of_z_to
from ...types import Array

Kind = Literal['first', 'second']

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)
ORIGIN = np.zeros(3)


@dataclass(frozen=True, eq=False)
class MacroJoint:
    """A joint with k degrees of freedom.

    Attributes
    ----------
    name : str
    screws : (k, 6) array
        Unit screws in the joint frame.
    kind : {'second', 'first'}
        Kind of the coordinates, see above.
    """

    name: str
    screws: Array
    kind: Kind = 'second'

    def __post_init__(self) -> None:
        if self.kind not in ('first', 'second'):
            raise ArgumentError(f"{self.name}: kind is {self.kind!r}; use 'first' or 'second'")
        self.geometry()  # raises an error unless they are unit screws

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return len(self.screws)

    @property
    def is_subgroup(self) -> bool:
        """Whether the motions of the joint form a group: its screws span a subalgebra."""
        return len(generated_algebra(self.screws)) == screw_systems.rank(self.screws.T)

    def of_kind(self, kind: Kind) -> MacroJoint:
        """Return the joint with coordinates of the given kind."""
        return replace(self, kind=kind)

    def geometry(self) -> BodyScrews:
        """Return the degrees of freedom as a chain of joints."""
        names = [f'{self.name}{a + 1}' for a in range(self.dof)]
        return BodyScrews(np.broadcast_to(np.eye(4), (self.dof, 4, 4)), self.screws, None, names)

    def pose(self, q: ArrayLike) -> Array:
        """Return D(q), (..., 4, 4), for q (..., k); recorded scalars for the second kind only."""
        if self.kind == 'first':
            return se3.exp(np.asarray(q) @ self.screws)
        return self.geometry().poses(q)[..., -1, :, :]

    def jacobian(self, q: ArrayLike) -> Array:
        """Return J(q), (6, k): the body-fixed relative twist is J q' (B-121).

        First kind: dexp_{-S} Z with S = sum Z_a q_a. Second kind: Ad^-1 of the subsequent motions
        (Müller 2018a (17)).
        """
        q = np.asarray(q)
        if self.kind == 'first':
            return se3.dexp(-(q @ self.screws)) @ self.screws.T
        columns, D = [], np.eye(4)
        for Z, q_a in zip(self.screws[::-1], q[::-1]):
            columns.append(screws.inverse_transform_twist(D, Z))
            D = se3.exp_unit_screw(Z, q_a) @ D
        return np.stack(columns[::-1], axis=-1)

    def jacobian_derivative(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the time derivative of J, (6, k): the body-fixed acceleration is J q'' + J' q'.

        Second kind: J'_a = sum over b > a of [J_a, J_b] q'_b (D-04). First kind: the upper right
        block of f([[a, a'], [0, a]]), f(a) = sum a^n / (n + 1)! being dexp, a = -ad_S.
        """
        q, v = np.asarray(q), np.asarray(v)
        if self.kind == 'first':
            a, rate = -se3.ad(q @ self.screws), -se3.ad(v @ self.screws)
            both = np.block([[a, rate], [np.zeros((6, 6)), a]])
            padded = np.block([[both, np.eye(12)], [np.zeros((12, 24))]])
            from scipy.linalg import expm  # slow to import and rarely needed

            return expm(padded)[:6, 18:] @ self.screws.T
        J = self.jacobian(q).T
        following = np.cumsum((v[:, None] * J)[::-1], axis=0)[::-1]
        return screws.motor_product(J, following).T

    def parts(
        self, name: str, parent: str, child: str, origin: ArrayLike | None = None
    ) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
        """Return the massless links and the joints that represent it in a robot description.

        Parameters
        ----------
        name : str
            The joints are called '<name>1', '<name>2', ..., the links '<name>1_link', ...
        parent, child : str
            The links it connects; they are not among the links returned.
        origin : (4, 4) array, optional
            The joint frame in the parent's frame; the identity if not given.

        Raises
        ------
        DescriptionError
            The coordinates are of the first kind, which a chain of joints cannot represent.
        """
        if self.kind == 'first':
            raise DescriptionError(
                f'joint {name!r}: coordinates of the first kind are not those of a chain; '
                "take of_kind('second')"
            )
        own = self.geometry()
        B = np.array(own.B)
        B[0] = np.eye(4) if origin is None else origin
        names = [f'{name}{a + 1}' for a in range(self.dof)]
        made = description_of(
            BodyScrews(B, own.X, None, names), links=[*(f'{n}_link' for n in names[:-1]), child]
        )
        return (
            tuple(link for link in made.links if link.name not in (ROOT_NAME, child)),
            tuple(replace(j, parent=parent) if j.parent == ROOT_NAME else j for j in made.joints),
        )


def revolute(axis: ArrayLike = Z_AXIS, point: ArrayLike = ORIGIN) -> MacroJoint:
    """Return a revolute joint about the line through `point` [m]."""
    return _joint('revolute', screws.unit_screw(axis, point))


def prismatic(axis: ArrayLike = Z_AXIS) -> MacroJoint:
    """Return a prismatic joint along `axis`."""
    return _joint('prismatic', _slide(axis))


def helical(pitch: float, axis: ArrayLike = Z_AXIS, point: ArrayLike = ORIGIN) -> MacroJoint:
    """Return a screw joint that advances by `pitch` [m/rad].

    >>> helical(0.1).pose([np.pi])[:3, 3].round(6)
    array([0.      , 0.      , 0.314159])
    """
    if not np.isfinite(pitch):
        raise ArgumentError(f'helical: pitch is {pitch}; a joint of infinite pitch is prismatic')
    return _joint('helical', screws.unit_screw(axis, point, pitch))


def cylindrical(axis: ArrayLike = Z_AXIS, point: ArrayLike = ORIGIN) -> MacroJoint:
    """Return a cylindrical joint: coordinates (angle, distance)."""
    return _joint('cylindrical', screws.unit_screw(axis, point), _slide(axis))


def planar_translation(normal: ArrayLike = Z_AXIS) -> MacroJoint:
    """Return two translations in the plane with this normal."""
    return _joint('planar_translation', *_plane(normal))


def spatial_translation() -> MacroJoint:
    """Return three translations: coordinates (x, y, z)."""
    return _joint('spatial_translation', *np.eye(6)[3:])


def spherical(point: ArrayLike = ORIGIN, kind: Kind = 'first') -> MacroJoint:
    """Return a spherical joint: a rotation vector, or for the second kind three angles about X Y Z.

    >>> spherical().pose([0, 0, np.pi / 2])[:3, :3].round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    axes = [screws.unit_screw(e, point) for e in np.eye(3)]
    return _joint('spherical', *axes).of_kind(kind)


def planar(normal: ArrayLike = Z_AXIS, point: ArrayLike = ORIGIN) -> MacroJoint:
    """Return a planar joint: coordinates (x, y, angle); the axis through `point` also moves."""
    return _joint('planar', *_plane(normal), screws.unit_screw(normal, point))


def planar_helical(
    pitch: float, normal: ArrayLike = Z_AXIS, point: ArrayLike = ORIGIN
) -> MacroJoint:
    """Return two translations and a screw joint along their normal."""
    return _joint('planar_helical', *_plane(normal), screws.unit_screw(normal, point, pitch))


def schoenflies(axis: ArrayLike = Z_AXIS, point: ArrayLike = ORIGIN) -> MacroJoint:
    """Return three translations and a rotation: the motion of the tool of a SCARA arm."""
    return _joint('schoenflies', *np.eye(6)[3:], screws.unit_screw(axis, point))


def floating(kind: Kind = 'second') -> MacroJoint:
    """Return all six freedoms: x, y, z, then angles about X Y Z; a twist for the first kind."""
    order = [3, 4, 5, 0, 1, 2] if kind == 'second' else list(range(6))
    return _joint('floating', *np.eye(6)[order]).of_kind(kind)


def universal(
    first: ArrayLike = X_AXIS, second: ArrayLike = Y_AXIS, point: ArrayLike = ORIGIN
) -> MacroJoint:
    """Return a universal (Hooke, Cardan) joint: two angles about axes through `point`."""
    axes = np.array([screws.unit_screw(e, point) for e in (first, second)])
    if screw_systems.rank(axes.T) < 2:
        raise ArgumentError(f'universal: the axes {first!r} and {second!r} must not be parallel')
    return _joint('universal', *axes)


def constant_velocity(
    first: ArrayLike = X_AXIS, second: ArrayLike = Y_AXIS, point: ArrayLike = ORIGIN
) -> MacroJoint:
    """Return an ideal constant-velocity joint: rotation about any axis in the plane of the two."""
    both = universal(first, second, point)
    return MacroJoint('constant_velocity', both.screws, 'first')


def generated_algebra(X: ArrayLike) -> Array:
    """Return a basis (r, 6) of the smallest subalgebra of se(3) that contains the screws (k, 6).

    Its dimension r is that of the smallest motion subgroup that contains all motions of joints with
    these screws, and the number of independent constraints of a loop of them (K-39).

    >>> len(generated_algebra([screws.unit_screw([0, 0, 1], [x, 0, 0]) for x in (0, 1)]))  # SE(2)
    3
    """
    basis = _row_space(np.asarray(X, dtype=np.float64).reshape(-1, 6))
    while True:
        brackets = screws.motor_product(basis[:, None], basis[None]).reshape(-1, 6)
        larger = _row_space(np.concatenate([basis, brackets]))
        if len(larger) == len(basis):
            return basis
        basis = larger


def _row_space(X: Array) -> Array:
    """Return an orthonormal basis of the span of the rows."""
    if not len(X):
        return X
    _, sizes, V = np.linalg.svd(X)
    independent: Array = V[: int((sizes > screw_systems.TOLERANCE * max(sizes[0], 1.0)).sum())]
    return independent


def _joint(name: str, *rows: Array) -> MacroJoint:
    Z = np.array(rows)
    Z.setflags(write=False)
    return MacroJoint(name, Z)


def _slide(axis: ArrayLike) -> Array:
    return screws.unit_screw(axis, pitch=np.inf)


def _plane(normal: ArrayLike) -> list[Array]:
    """Return the translations along the first two axes of a frame with Z along the normal."""
    e = _slide(normal)[3:]
    return [_slide(axis) for axis in rotation_of_z_to(e).T[:2]]
