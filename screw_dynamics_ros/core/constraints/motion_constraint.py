# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constraints on the motion of a link, as prescribed accelerations.

The twist V of a frame of a link, relative to another link or to the root frame, has the
components A^T V along the wrenches A that enforce the constraint. The constraint prescribes their
rate of change,

    A^T dV/dt = acceleration - 2 alpha A^T V - beta^2 A^T (displacement from the target),

with Baumgarte's gains alpha, beta, which make errors of velocity and position decay. V is
in one of the four representations, so that A^T dV/dt is the rate of components in axes that are
fixed in the reference (`hybrid`: the linear part is the acceleration of the point) or in the link
(`body`: a blade without lateral slip); or it is expressed in the frame of a third link (a wheel at
its contact point, which is fixed in the frame of its fork). A holonomic constraint has a target, a
nonholonomic one does not. A constraint between two links of the tree closes a loop.

Source: Bruyninckx 2010 (6.36) to (6.39), (6.45) corrected (C-070, E-21), sections 6.9.3 and 6.10
(C-085, C-086).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_count, check_number, float_array, vector
from ..errors import ArgumentError, UnknownNameError
from ..kinematics.jacobians import check_representation
from ..types import Array

#: What a constraint is compiled for; all else may change from call to call.
Structure = tuple[str, str | None, str | None, str, int, bool]


@dataclass(frozen=True, eq=False)
class MotionConstraint:
    """Up to six prescribed accelerations of a link, or lower bounds of accelerations.

    Attributes
    ----------
    link : str
        The link the constraint acts on.
    wrenches : (6, m) array
        A: directions in which it acts, as unit wrenches (moment, force) at the point.
    acceleration : float, (m,) or (N, m) array
        Prescribed rates of A^T V [rad/s^2, m/s^2]; (N, m) next to stacks.
    point : (3,) array
        Where it acts, in the frame of the link [m].
    representation : {'hybrid', 'body', 'spatial', 'mixed'}
        Of the twist V and of the wrenches A.
    other : str, optional
        Reference link, on which the opposite wrench acts; by default the root frame.
    expressed_in : str, optional
        Link in whose frame V and A are given, instead of `representation`; `point` is then fixed in
        this frame, and a target is that of the frame of `link`.
    target : (4, 4) array, optional
        Desired pose of the frame at the point in the frame of `other`; required if beta is not 0.
    alpha, beta : float
        Baumgarte's gains [1/s]; alpha = beta is critical damping.
    compliance : float
        A^T dV/dt may deviate by compliance times the multiplier [1/kg, 1/(kg m^2)] (C-081). With
        the gains it is a spring of stiffness beta^2 / compliance and a damper 2 alpha / compliance.
    unilateral : bool
        The constraint force acts along +A only: A^T dV/dt >= ..., multipliers >= 0, complementary.
    name : str
        For messages.
    """

    link: str
    wrenches: Array
    acceleration: ArrayLike = 0.0
    point: ArrayLike = (0.0, 0.0, 0.0)
    representation: str = 'hybrid'
    other: str | None = None
    expressed_in: str | None = None
    target: ArrayLike | None = None
    alpha: float = 0.0
    beta: float = 0.0
    compliance: float = 0.0
    unilateral: bool = False
    name: str = ''
    parameters: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ArgumentError(f'the name of a constraint must be a text, got {self.name!r}')
        for link in (self.link, self.other or '', self.expressed_in or ''):
            if not isinstance(link, str):
                raise UnknownNameError(f'{self}: no link named {link!r}')
        if not isinstance(self.unilateral, (bool, np.bool_)):
            raise ArgumentError(f'{self}: unilateral must be a bool, got {self.unilateral!r}')
        A = float_array(f'wrenches of {self}', self.wrenches)
        if A.ndim != 2 or A.shape[0] != 6 or not A.shape[1] >= 1:
            raise ArgumentError(
                f'{self}: wrenches must have shape (6, m), one column (moment, force) for each '
                f'direction, got {A.shape}'
            )
        m = A.shape[1]
        b = float_array(f'acceleration of {self}', self.acceleration)
        if np.ndim(self.acceleration) == 0:
            b = np.full(m, b[0])
        if b.ndim > 2 or b.shape[-1] != m:
            raise ArgumentError(
                f'{self}: acceleration must have shape ({m},) or (N, {m}), one number for each '
                f'column of wrenches, got {b.shape}'
            )
        check_representation(self.representation)
        point = float_array(f'point of {self}', self.point)
        if point.shape != (3,):
            raise ArgumentError(f'{self}: point must have shape (3,), got {point.shape}')
        for gain in ('alpha', 'beta', 'compliance'):
            value = getattr(self, gain)
            if type(value) is not float or value:  # zero needs no message: loops make many of these
                check_number(f'{self}: {gain}', value)
        parts = [A.ravel(), point]
        if self.target is not None:
            parts.append(float_array(f'target of {self}', self.target).ravel())
            check_target(self, parts[-1])
        elif self.beta:
            raise ArgumentError(f'{self}: beta = {self.beta:g} needs a target; give one, or beta=0')
        parameters = np.concatenate(parts)
        if not math.isfinite(parameters.sum()) and not np.isfinite(parameters).all():
            raise ArgumentError(f'{self}: wrenches and point must be finite numbers')
        object.__setattr__(self, 'wrenches', A)
        object.__setattr__(self, 'acceleration', b)
        object.__setattr__(self, 'parameters', parameters)

    def __str__(self) -> str:
        where = f' relative to {self.other!r}' if self.other else ''
        return self.name or f'constraint on {self.link!r}{where}'

    @property
    def size(self) -> int:
        """Number of directions m."""
        return self.wrenches.shape[1]

    @property
    def structure(self) -> Structure:
        """Everything but the numbers."""
        frames = self.link, self.other, self.expressed_in
        return *frames, self.representation, self.size, self.target is not None


def check_target(constraint: MotionConstraint, target: Array) -> None:
    """Raise `ArgumentError` unless the target is a rigid motion."""
    C = target.reshape(4, 4) if target.size == 16 else np.full((4, 4), np.nan)
    R = C[:3, :3]
    rigid = np.allclose(R.T @ R, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0
    if not rigid or not np.array_equal(C[3], [0, 0, 0, 1]):
        raise ArgumentError(
            f'{constraint}: target must be a (4, 4) matrix [[R, r], [0, 1]] with R^T R = 1 and '
            'det R = 1'
        )


def unit_vector(name: str, value: ArrayLike) -> Array:
    """Return a vector (3,) at unit length; raises `ArgumentError` for zero."""
    x = vector(name, 3, value)
    length = np.linalg.norm(x)
    if not 0.0 < length < np.inf:
        raise ArgumentError(f'{name} must be a finite vector other than zero, got {value!r}')
    unit: Array = x / length
    return unit


def fixed_frame(link: str, **keywords: object) -> MotionConstraint:
    """Return the constraint of all six directions, (6.39): `acceleration` (6,) is that of the link.

    Keywords are the attributes of `MotionConstraint`.

    >>> fixed_frame('tool', acceleration=[0, 0, 0, 0, 0, 1]).size
    6
    """
    return MotionConstraint(link, np.eye(6), **keywords)  # type: ignore[arg-type]


def fixed_point(
    link: str, directions: ArrayLike = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), **keywords: object
) -> MotionConstraint:
    """Return a constraint on a point, along some directions given as rows (m, 3), (6.37).

    >>> fixed_point('tip', [(1, 0, 0), (0, 1, 0)]).wrenches.T  # it moves up and down only
    array([[0., 0., 0., 1., 0., 0.],
           [0., 0., 0., 0., 1., 0.]])
    """
    n = np.atleast_2d(float_array('directions', directions))
    return MotionConstraint(link, np.vstack([0 * n.T, n.T]), **keywords)  # type: ignore[arg-type]


def sliding_frame(link: str, direction: ArrayLike, **keywords: object) -> MotionConstraint:
    """Return the five directions that leave a link a translation along `direction` (3,), (6.38)."""
    across = np.linalg.svd(unit_vector('direction', direction)[None])[2][1:]
    A = np.zeros((6, 5))
    A[:3, :3], A[3:, 3:] = np.eye(3), across.T
    return MotionConstraint(link, A, **keywords)  # type: ignore[arg-type]


def checked(constraints: object) -> tuple[MotionConstraint, ...]:
    """Return one constraint or a sequence of them as a tuple; raises `ArgumentError`."""
    given = (constraints,) if isinstance(constraints, MotionConstraint) else constraints
    if not isinstance(given, Sequence) or not all(isinstance(c, MotionConstraint) for c in given):
        raise ArgumentError(
            f'constraints must be a MotionConstraint or a sequence of them, got {constraints!r}'
        )
    if not given:
        raise ArgumentError('there are no constraints: use forward_dynamics')
    return tuple(given)


def friction_pyramid(
    link: str, normal: ArrayLike, coefficient: float, edges: int = 4, **keywords: object
) -> MotionConstraint:
    """Return a contact with friction: forces along the edges normal + coefficient * tangent.

    Multipliers of the edges are nonnegative, so that the force is within the pyramid, which is
    inscribed in Coulomb's cone; the first tangent is the projection of the x axis. The problem is
    convex: friction dissipates as much as possible, and a sliding contact can separate with
    `coefficient` times its sliding acceleration (relaxation of Anitescu and Todorov).

    Parameters
    ----------
    link : str
    normal : (3,)
        Direction in which the contact pushes the link.
    coefficient : float
        Of friction.
    edges : int
        Of the pyramid, at least 3.
    """
    n = unit_vector('normal', normal)
    check_number(f'friction_pyramid on {link!r}: the coefficient', coefficient)
    check_count(f'friction_pyramid on {link!r}: the number of edges', edges)
    if edges < 3:
        raise ArgumentError(f'friction_pyramid on {link!r}: there must be 3 edges, got {edges}')
    x = np.eye(3)[0] if abs(n[0]) < 0.9 else np.eye(3)[1]
    t = x - n * (n @ x)
    t = t / np.linalg.norm(t)
    angles = 2.0 * np.pi * np.arange(edges) / edges
    tangents = np.outer(t, np.cos(angles)) + np.outer(np.cross(n, t), np.sin(angles))
    A = np.vstack([np.zeros((3, edges)), n[:, None] + coefficient * tangents])
    return MotionConstraint(link, A, unilateral=True, **keywords)  # type: ignore[arg-type]
