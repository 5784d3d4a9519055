# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Screws, twists and wrenches: axes and pitches, products, frame changes, representations.

A twist V = (omega, v) (..., 6), rad/s and m/s, and a wrench W = (t, f) (..., 6), N m and N, have
the angular part (the moment) first, so that the power is W . V. Screw coordinates of a line with
direction e through p and pitch h are (e, p × e + h e). A twist has this order, a wrench the
opposite one, which `swap` exchanges: statements about axes are valid for both. Leading axes are
stacks.

Twists, wrenches and Jacobians of a body at pose C = (R, r) come in four representations:

=========  ==========================  ================  ==================  ==================
name       twist                       reference point   angular axes        linear axes
=========  ==========================  ================  ==================  ==================
'body'     vee(C^-1 Cdot)              body origin       body                body
'spatial'  vee(Cdot C^-1)              inertial origin   inertial            inertial
'hybrid'   (omega of spatial, rdot)    body origin       inertial            inertial
'mixed'    (omega of body, rdot)       body origin       body                inertial
=========  ==========================  ================  ==================  ==================

NaN in gives NaN out, without an exception. The products, the frame changes and the conversions are
free of branches and accept object arrays (traced scalars).

Sources, listed in doc/spec/README.md, with their errata (doc/spec/muller_errata.md): Müller 2018a;
Müller 2018b, appendix B; Bruyninckx 2010, sections 2.6, 2.7, 4.2, 4.3, 4.6 and 4.8.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, UnknownNameError
from ..linear import cross, times
from ..reproducible import total
from ..types import Array
from . import se3, so3
from ._arrays import as_float_stack, as_stack, length

#: Rows of twists and wrenches in ROS messages: linear, then angular part.
TWIST_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')
WRENCH_ROWS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')

REPRESENTATIONS = ('body', 'spatial', 'hybrid', 'mixed')

# A screw with larger distance of the axis or larger pitch (m) is a translation (or a couple).
FAR = 1e12


class Screw(NamedTuple):
    """A line with a pitch and a magnitude: represents a twist, a wrench or a displacement.

    For a twist: instantaneous screw axis, magnitude |omega| (rad/s). For a wrench: Poinsot's axis,
    magnitude |f| (N). For a displacement: Chasles' axis, magnitude the angle (rad). With infinite
    pitch there is no axis point; the magnitude is |v| (m/s), |t| (N m) or the distance (m).
    The null screw has magnitude 0, direction 0 and pitch NaN.
    """

    direction: Array  # (..., 3), unit
    point: Array  # (..., 3), m, the point of the axis nearest to the origin
    pitch: Array  # (...), m/rad
    magnitude: Array  # (...), not negative


# --- axis, pitch, magnitude -----------------------------------------------------------------------


def unit_screw(
    axis: npt.ArrayLike, point: npt.ArrayLike = (0.0, 0.0, 0.0), pitch: npt.ArrayLike = 0.0
) -> Array:
    """Return the unit screw (e, p × e + h e) (...,6), or (0, e) for infinite pitch.

    `axis` (...,3) may have any non-zero length; `point` (...,3), m, is any point on the axis; pitch
    h (...), m/rad. Raises ArgumentError for a zero axis.

    Source: Müller 2018a (83) (K-04); Bruyninckx 2010 (2.14), (2.15) (B-024).

    >>> unit_screw([0, 0, 2], point=[1, 0, 0], pitch=0.5)
    array([ 0. ,  0. ,  1. ,  0. , -1. ,  0.5])
    >>> unit_screw([0, 0, 2], pitch=np.inf)
    array([0., 0., 0., 0., 0., 1.])
    """
    axis = as_float_stack('screws.unit_screw', 'axis', axis, 3)
    point = as_float_stack('screws.unit_screw', 'point', point, 3)
    h = as_float_stack('screws.unit_screw', 'pitch', pitch)[..., None]
    size = length(axis)[..., None]
    if (size == 0.0).any():
        raise ArgumentError(
            'screws.unit_screw: axis is (0, 0, 0) and has no direction; give a non-zero vector'
        )
    e = axis / size
    turns = ~np.isinf(h)
    angular = np.where(turns, e, 0.0)
    linear = np.where(turns, np.cross(point, e) + np.where(turns, h, 0.0) * e, e)
    return np.concatenate(np.broadcast_arrays(angular, linear), axis=-1)


def screw_axis(X: npt.ArrayLike) -> Screw:
    """Return the axis, pitch and magnitude of a twist or screw X = (xi, eta) (...,6).

    e = xi/|xi|, p = xi × eta/|xi|^2, h = xi . eta/|xi|^2. Without rotation the pitch is infinite,
    and the direction is that of eta. X must be a 'spatial' or 'body' twist (point and direction are
    in the inertial or body frame); the other representations do not determine the axis.

    Source: Müller 2018a (1), (2), (83) (K-04); Bruyninckx 2010 (2.16), (2.17) (B-025, B-067).

    >>> axis = screw_axis([0, 0, 2, 0, -2, 1])
    >>> axis.point, float(axis.pitch), float(axis.magnitude)
    (array([1., 0., 0.]), 0.5, 2.0)
    """
    X = as_float_stack('screws.screw_axis', 'X', X, 6)
    xi, eta = X[..., :3], X[..., 3:]
    angular, linear = (length(x)[..., None] for x in (xi, eta))
    translates = (linear > FAR * angular) | ((angular == 0.0) & (linear == 0.0))
    magnitude = np.where(translates, linear, angular)
    scale = np.where(magnitude == 0.0, 1.0, magnitude)
    e = np.where(translates, eta, xi) / scale
    moment = eta / scale
    point = np.where(translates, 0.0, cross(e, moment)) + 0.0  # no negative zeros
    products = e * moment
    h = total(products[..., k] for k in range(3))[..., None]
    pitch = np.where(translates, np.inf, h)
    pitch = np.where(magnitude == 0.0, np.nan, pitch)
    return Screw(e, point, pitch[..., 0][()], magnitude[..., 0][()])


def wrench_axis(W: npt.ArrayLike) -> Screw:
    """Return Poinsot's axis, pitch and magnitude of a wrench W = (t, f) (...,6).

    A force f along a line through p = f × t/|f|^2, and a couple h f parallel to it with
    h = t . f/|f|^2. A pure couple has infinite pitch and the direction of t.

    Source: Müller 2018b, appendix B.2 (D-03); Bruyninckx 2010, sections 4.4 and 4.8 (B-071).

    >>> wrench_axis([0, 10, 0, 0, 0, -10]).point  # weight of a mass hanging at x = 1
    array([1., 0., 0.])
    """
    return screw_axis(swap(as_float_stack('screws.wrench_axis', 'W', W, 6)))


def chasles(C: npt.ArrayLike) -> Screw:
    """Return the axis, pitch and angle of the screw displacement equal to the pose C (...,4,4).

    Rotation by the magnitude (rad, at most pi) about the axis and translation by pitch * magnitude
    along it; a pure translation has infinite pitch and its length as magnitude.

    Source: Bruyninckx 2010, section 4.8 (B-072).

    >>> chasles(se3.pose(so3.exp([0, 0, np.pi / 2]), [1, 1, 0.5])).point.round(6) + 0.0
    array([0., 1., 0.])
    """
    return screw_axis(se3.log(C))


def from_axis(screw: Screw) -> Array:
    """Return the coordinates (...,6) of a `Screw`: inverse of `screw_axis`.

    With `swap`, it is the inverse of `wrench_axis`.

    >>> from_axis(screw_axis([0, 0, 2, 0, -2, 1]))
    array([ 0.,  0.,  2.,  0., -2.,  1.])
    """
    null = np.asarray(screw.magnitude == 0.0)[..., None]
    direction = np.where(null, [0.0, 0.0, 1.0], screw.direction)
    pitch = np.where(null[..., 0], 0.0, screw.pitch)
    return np.asarray(screw.magnitude)[..., None] * unit_screw(direction, screw.point, pitch)


def swap(X: npt.ArrayLike) -> Array:
    """Exchange the halves of X (...,6): a wrench (t, f) becomes the screw (f, t) and back.

    Source: Bruyninckx 2010, section 4.8 (B-080).

    >>> swap([1, 2, 3, 4, 5, 6])
    array([4., 5., 6., 1., 2., 3.])
    """
    X = as_stack('screws.swap', 'X', X, 6)
    return np.concatenate([X[..., 3:], X[..., :3]], axis=-1)


# --- products -------------------------------------------------------------------------------------


def reciprocal_product(X1: npt.ArrayLike, X2: npt.ArrayLike) -> Array:
    """Return the reciprocal product xi1 . eta2 + eta1 . xi2 (...) of two screws (...,6).

    If it is zero, a wrench along one does no work on a twist about the other. Two lines (pitch 0)
    are reciprocal if and only if they intersect or are parallel. Invariant under Ad.

    Source: Müller 2018b, appendix B.2 (D-03); Bruyninckx 2010 (2.18), (2.19) (B-026).

    >>> float(reciprocal_product(unit_screw([1, 0, 0]), unit_screw([0, 0, 1], point=[0, 2, 0])))
    2.0
    """
    return _sum(swap(X1) * as_stack('screws.reciprocal_product', 'X2', X2, 6))


def power(W: npt.ArrayLike, V: npt.ArrayLike) -> Array:
    """Return the power t . omega + f . v (...), W, of a wrench and a twist in one representation.

    Source: Müller 2018b, appendix B.2 (D-03); Bruyninckx 2010 (4.25) to (4.28) (B-076).

    >>> float(power([0, 0, 2, 0, 0, 0], [0, 0, 3, 0, 0, 0]))
    6.0
    """
    return _sum(as_stack('screws.power', 'W', W, 6) * as_stack('screws.power', 'V', V, 6))


def motor_product(X1: npt.ArrayLike, X2: npt.ArrayLike) -> Array:
    """Return the screw product (xi1 × xi2, eta1 × xi2 + xi1 × eta2) = ad_X1 X2 (...,6).

    The rate of a screw X2 fixed in a body with twist X1 (both spatial, D-02).

    Source: Müller 2018b (113) (D-01); Bruyninckx 2010 (2.20), (4.33), (4.34) (B-028).

    >>> motor_product([1, 2, 3, 4, 5, 6], [-1, 0.5, 2, 0, 1, -3])
    array([  2.5,  -5. ,   2.5,  -2. , -11. ,   8. ])
    """
    X1 = as_stack('screws.motor_product', 'X1', X1, 6)
    X2 = as_stack('screws.motor_product', 'X2', X2, 6)
    xi1, eta1, xi2, eta2 = X1[..., :3], X1[..., 3:], X2[..., :3], X2[..., 3:]
    return np.concatenate([cross(xi1, xi2), cross(eta1, xi2) + cross(xi1, eta2)], axis=-1)


def dual_motor_product(V: npt.ArrayLike, W: npt.ArrayLike) -> Array:
    """Return the coadjoint product ad_V^T W = (t × omega + f × v, f × omega) (...,6).

    power(dual_motor_product(V, W), X) = power(W, motor_product(V, X)).

    Source: Müller 2018b, appendix B.2 (D-03).

    >>> dual_motor_product([0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0])
    array([ 0.,  0.,  0.,  0., -1.,  0.])
    """
    V = as_stack('screws.dual_motor_product', 'V', V, 6)
    W = as_stack('screws.dual_motor_product', 'W', W, 6)
    omega, v, t, f = V[..., :3], V[..., 3:], W[..., :3], W[..., 3:]
    return np.concatenate([cross(t, omega) + cross(f, v), cross(f, omega)], axis=-1)


# --- frame changes --------------------------------------------------------------------------------


def transform_twist(C: npt.ArrayLike, V: npt.ArrayLike) -> Array:
    """Return a twist or screw of frame 2 in frame 1: Ad_C V = (R omega, R v + r × R omega).

    C (...,4,4) is the pose of frame 2 in frame 1, V (...,6).

    Source: Müller 2018a (87) (K-06); Bruyninckx 2010 (2.25) to (2.27) (B-030).

    >>> C = se3.pose(so3.exp([0, 0, np.pi / 2]), [1, 2, 3])
    >>> transform_twist(C, [0, 0, 1, 0, -1, 0.5]).round(6) + 0.0
    array([ 0. ,  0. ,  1. ,  3. , -1. ,  0.5])
    """
    R, r, omega, v = _split('screws.transform_twist', C=C, V=V)
    omega = times(R, omega)
    return np.concatenate([omega, times(R, v) + cross(r, omega)], axis=-1)


def inverse_transform_twist(C: npt.ArrayLike, V: npt.ArrayLike) -> Array:
    """Return a twist or screw of frame 1 in frame 2: Ad_C^-1 V = (R^T omega, R^T (v - r × omega)).

    C (...,4,4) is the pose of frame 2 in frame 1, V (...,6).

    Source: Müller 2018a (87) to (92) (K-06).

    >>> C = se3.pose(so3.exp([0, 0, np.pi / 2]), [1, 2, 3])
    >>> inverse_transform_twist(C, [0, 0, 1, 3, -1, 0.5]).round(6) + 0.0
    array([ 0. ,  0. ,  1. ,  0. , -1. ,  0.5])
    """
    R, r, omega, v = _split('screws.inverse_transform_twist', C=C, V=V)
    R = np.swapaxes(R, -1, -2)
    return np.concatenate([times(R, omega), times(R, v - cross(r, omega))], axis=-1)


def transform_wrench(C: npt.ArrayLike, W: npt.ArrayLike) -> Array:
    """Return a wrench of frame 2 in frame 1: Ad_C^-T W = (R t + r × R f, R f).

    C (...,4,4) is the pose of frame 2 in frame 1, W (...,6).

    Source: Müller 2018b (120) (D-03); Bruyninckx 2010 (4.19), (4.20) (B-069).

    >>> transform_wrench(se3.pose(np.eye(3), [1, 0, 0]), [0, 0, 0, 0, 0, -10])
    array([  0.,  10.,   0.,   0.,   0., -10.])
    """
    R, r, t, f = _split('screws.transform_wrench', C=C, W=W)
    f = times(R, f)
    return np.concatenate([times(R, t) + cross(r, f), f], axis=-1)


def inverse_transform_wrench(C: npt.ArrayLike, W: npt.ArrayLike) -> Array:
    """Return a wrench of frame 1 in frame 2: Ad_C^T W = (R^T (t - r × f), R^T f).

    C (...,4,4) is the pose of frame 2 in frame 1, W (...,6).

    Source: Müller 2018b (120) (D-03).

    >>> inverse_transform_wrench(se3.pose(np.eye(3), [1, 0, 0]), [0, 10, 0, 0, 0, -10])
    array([  0.,   0.,   0.,   0.,   0., -10.])
    """
    R, r, t, f = _split('screws.inverse_transform_wrench', C=C, W=W)
    R = np.swapaxes(R, -1, -2)
    return np.concatenate([times(R, t - cross(r, f)), times(R, f)], axis=-1)


def infinitesimal_transform(t: npt.ArrayLike) -> Array:
    """Return I + ad_t (...,6,6), the `Ad` of a small displacement t = (delta, d) (...,6), rad, m.

    It differs from Ad(exp(t)) by terms of second order in t.

    Source: Bruyninckx 2010 (2.33) (B-032).

    >>> infinitesimal_transform([0, 0, 0, 0.001, 0, 0]) @ [0, 0, 1, 0, 0, 0]
    array([ 0.   ,  0.   ,  1.   ,  0.   , -0.001,  0.   ])
    """
    matrix: Array = np.eye(6) + se3.ad(t)
    return matrix


def spatial_transpose(X: npt.ArrayLike) -> Array:
    """Return Delta X^T Delta (...,6,6) of X (...,6,6), where Delta exchanges the halves.

    The inverse, if X is an adjoint matrix; (X Y)^S = Y^S X^S. Delta Ad Delta, without transposing,
    is Ad^-T: the map of wrenches (t, f).

    Source: Bruyninckx 2010 (2.31), (2.32) (B-031).

    >>> X = se3.Ad_r([1, 2, 3])
    >>> (spatial_transpose(X) @ X).round(6).tolist() == np.eye(6).tolist()
    True
    """
    X = as_stack('screws.spatial_transpose', 'X', X, 6, 6)
    return np.roll(np.swapaxes(X, -1, -2), (3, 3), axis=(-2, -1))


def general_twist(V: npt.ArrayLike, C_point: npt.ArrayLike, R_axes: npt.ArrayLike) -> Array:
    """Return the twist kV^j (...,6): of the spatial twist V, at the origin of F_j, resolved in F_k.

    C_point (...,4,4) is the pose of F_j, R_axes (...,3,3) the rotation of F_k. The body twist is
    the case j = k = body, the hybrid one j = body, k = 0.

    Source: Müller 2018a (95), (96) (K-07).

    >>> general_twist([0, 0, 1, 0, 0, 0], se3.pose(np.eye(3), [2, 0, 0]), np.eye(3))
    array([0., 0., 1., 0., 2., 0.])
    """
    R, r, omega, v = _split('screws.general_twist', C_point=C_point, V=V)
    R = np.swapaxes(as_stack('screws.general_twist', 'R_axes', R_axes, 3, 3), -1, -2)
    return np.concatenate([times(R, omega), times(R, v - cross(r, omega))], axis=-1)


def relative_twist(V_i: npt.ArrayLike, V_j: npt.ArrayLike, C_ij: npt.ArrayLike) -> Array:
    """Return the body twist (...,6) of body j relative to body i, in F_j: V_j - Ad_(C_ij)^-1 V_i.

    V_i, V_j are body twists, C_ij (...,4,4) = C_i^-1 C_j is the pose of j in i.

    Source: Müller 2018a (97) (K-08).

    >>> relative_twist([0, 0, 1, 0, 0, 0], [0, 0, 3, 0, 2, 0], se3.pose(np.eye(3), [2, 0, 0]))
    array([0., 0., 2., 0., 0., 0.])
    """
    return as_stack('screws.relative_twist', 'V_j', V_j, 6) - inverse_transform_twist(C_ij, V_i)


# --- representations ------------------------------------------------------------------------------


def conversion_matrix(C: npt.ArrayLike, source: str, target: str) -> Array:
    """Return the matrix T (...,6,6) with V^target = T V^source for the body at pose C (...,4,4).

    The angular rows differ by R if one is resolved in the body and the other is not, likewise the
    linear rows; the moment r × omega enters when one reference point is the inertial origin. Only
    body <-> spatial is a frame transformation (Ad_C). Raises UnknownNameError.

    Source: Müller 2018a, table 3 (K-09).

    >>> conversion_matrix(se3.pose(np.eye(3), [1, 2, 3]), 'hybrid', 'spatial')[3:, :3]
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    for name in (source, target):
        if name not in REPRESENTATIONS:
            raise UnknownNameError(
                f'screws: unknown representation {name!r}; choose from {", ".join(REPRESENTATIONS)}'
            )
    C = as_stack('screws.conversion_matrix', 'C', C, 4, 4)
    R, r = C[..., :3, :3], C[..., :3, 3]
    body_angular, body_linear = ('body', 'mixed'), ('body',)
    T = np.zeros((*C.shape[:-2], 6, 6), dtype=C.dtype)
    T[..., :3, :3] = A = _change_of_axes(R, source in body_angular, target in body_angular)
    T[..., 3:, 3:] = D = _change_of_axes(R, source in body_linear, target in body_linear)
    if target == 'spatial' and source != 'spatial':
        T[..., 3:, :3] = so3.hat(r) @ A
    if source == 'spatial' and target != 'spatial':
        T[..., 3:, :3] = -D @ so3.hat(r)
    return T


def convert_twist(V: npt.ArrayLike, C: npt.ArrayLike, source: str, target: str) -> Array:
    """Return the twist (...,6) of the body at pose C (...,4,4) in another representation.

    Source: Müller 2018a (63), (70) to (75), (98) (K-09); Bruyninckx 2010 (4.12), (4.14) (B-064).

    >>> convert_twist([0, 0, 1, 0, 2, 0], se3.pose(np.eye(3), [2, 0, 0]), 'hybrid', 'spatial')
    array([0., 0., 1., 0., 0., 0.])
    """
    V = as_stack('screws.convert_twist', 'V', V, 6)
    return times(conversion_matrix(C, source, target), V)


def convert_jacobian(J: npt.ArrayLike, C: npt.ArrayLike, source: str, target: str) -> Array:
    """Return the Jacobian (...,6,n) of the body at pose C (...,4,4) in another representation.

    Source: Müller 2018a (70) to (75) (K-09).

    >>> convert_jacobian(np.eye(6), se3.pose(np.eye(3), [1, 2, 3]), 'body', 'mixed').shape
    (6, 6)
    """
    J = as_stack('screws.convert_jacobian', 'J', J, 6, 'n')
    product: Array = conversion_matrix(C, source, target) @ J
    return product


def convert_wrench(W: npt.ArrayLike, C: npt.ArrayLike, source: str, target: str) -> Array:
    """Return the wrench (...,6) on the body at pose C (...,4,4) in another representation.

    The power with the twist of the same representation is invariant: W^target = T^T W^source with
    the matrix T that converts twists from target to source.

    Source: Müller 2018b, appendix B.2 (D-03).

    >>> convert_wrench([0, 0, 0, 0, 0, -10], se3.pose(np.eye(3), [1, 0, 0]), 'hybrid', 'spatial')
    array([  0.,  10.,   0.,   0.,   0., -10.])
    """
    W = as_stack('screws.convert_wrench', 'W', W, 6)
    return times(np.swapaxes(conversion_matrix(C, target, source), -1, -2), W)


# --- helpers --------------------------------------------------------------------------------------


def _change_of_axes(R: Array, from_body: bool, to_body: bool) -> Array:
    if from_body == to_body:
        return np.broadcast_to(np.eye(3), R.shape)
    return np.swapaxes(R, -1, -2) if to_body else R


def _split(function: str, **arguments: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Return R, r and the halves of a pose and a screw by their names."""
    (pose, C), (screw, X) = arguments.items()
    C, X = as_stack(function, pose, C, 4, 4), as_stack(function, screw, X, 6)
    return C[..., :3, :3], C[..., :3, 3], X[..., :3], X[..., 3:]


def _sum(x: Array) -> Array:
    return np.asarray(x.sum(axis=-1))[()]
