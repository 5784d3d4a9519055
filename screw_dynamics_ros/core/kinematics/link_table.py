# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of link parameters: what Denavit-Hartenberg, Hayati-Roberts and similar tables share.

Frame {i-1} of a table has its Z axis on the axis of joint i. Row i holds the few constants that
lead to frame {i}; a general pose has six parameters, which is why the first frame is placed by a
general pose `base` and the last one carries a general pose `tool`:

    C(q) = base  T_1(q_1)  T_2(q_2)  ...  T_n(q_n)  tool,    T_i(q) = before exp(Z q) after.

There are many conventions, and a table without its own is worthless: the class of the rows is the
convention, and printing a table prints it. The rows are in `denavit_hartenberg` and
`hayati_roberts`. Sources: Bruyninckx 2010, sections 5.3.1 to 5.3.3 (B-110 to B-113); Müller 2018a
(3) (K-12).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..description.robot_description import Finding
from ..errors import ArgumentError, DescriptionError
from ..lie import screws, se3
from ..lie._arrays import finite_pose
from ..reproducible import product
from ..tree.multibody_tree import rotation_of_z_to
from ..types import Array
from .product_of_exponentials import Geometry, JointFrames, SpatialScrews, joint_axes

JointKind = Literal['revolute', 'prismatic']

#: The screw of a joint in its frame: the Z axis.
Z_SCREWS = {'revolute': np.eye(6)[2], 'prismatic': np.eye(6)[5]}


def turn(axis: int, angle: float) -> Array:
    """Return the rotation (4, 4) by `angle` [rad] about the axis 0, 1 or 2."""
    return se3.exp_unit_screw(np.eye(6, dtype=object)[axis], angle).astype(float)


def shift(axis: int, distance: float) -> Array:
    """Return the translation (4, 4) by `distance` [m] along the axis 0, 1 or 2."""
    return se3.exp_unit_screw(np.eye(6)[3 + axis], distance)


def virtual_joint(axis: int, C: Array) -> Array:
    """Return the unit screw (6,) along or about an axis, in the axes of a frame with the pose C.

    Axes 0, 1, 2 rotate about X, Y, Z and 3, 4, 5 slide along them.
    """
    return screws.inverse_transform_twist(C, np.eye(6)[axis])


@dataclass(frozen=True)
class Row(ABC):
    """The constants of one joint and of the link it carries; angles in rad, lengths in m.

    Attributes
    ----------
    joint : {'revolute', 'prismatic'}
    convention : str
        The transform as a product, and where the joint variable enters.
    """

    joint: JointKind
    convention: ClassVar[str]

    def __post_init__(self) -> None:
        if self.joint not in Z_SCREWS:
            raise DescriptionError(
                f'{type(self).__name__}: joint is {self.joint!r}; use one of {", ".join(Z_SCREWS)}'
            )
        for name, value in self.parameters().items():
            if not np.isfinite(value):
                raise DescriptionError(f'{type(self).__name__}: {name} = {value}; give a number')

    def parameters(self) -> dict[str, float]:
        """Return the constants by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != 'joint'}

    @property
    @abstractmethod
    def before(self) -> Array:
        """The constant transform (4, 4) before the joint."""

    @property
    @abstractmethod
    def after(self) -> Array:
        """The constant transform (4, 4) after the joint."""

    @property
    @abstractmethod
    def error_screws(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """How the ends of `before` and of `after` move for a unit rate of each constant (B-132).

        Screws (6,) in the axes of these ends: errors of the constants are virtual joints.
        """

    @property
    def doubt(self) -> str:
        """Numerical difficulty of these numbers; empty if there is none."""
        return ''

    def transform(self, q: ArrayLike) -> Array:
        """Return T(q) = before exp(Z q) after, (..., 4, 4); q may be a recorded scalar."""
        T: Array = self.before @ se3.exp_unit_screw(Z_SCREWS[self.joint], q) @ self.after
        return T


#: Makes the row of a joint after which the Z axis is the line with direction e (3,) through p (3,),
#: given in the frame before the row. p is None where only the direction matters.
Fit = Callable[[JointKind, Array, 'Array | None'], Row]


class LinkTable:
    """A serial chain as a table of link parameters.

    Attributes
    ----------
    rows : tuple of Row
        One for each joint. Rows of different conventions go together if all of them are of the kind
        that leads from the axis of one joint to the axis of the next.
    base, tool : (4, 4) arrays
        Pose of the first frame in the root frame, and of the last body in the last frame [m]; the
        identity if not given.
    names : tuple of str
        Of the joints; 'joint1', 'joint2', ... if not given.

    Raises
    ------
    DescriptionError
        No rows, as many names as rows not, or `base` or `tool` is not a rigid motion.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        base: ArrayLike | None = None,
        tool: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.rows = tuple(rows)
        self.names = tuple(names or (f'joint{i + 1}' for i in range(len(self.rows))))
        if not self.rows or len(self.names) != len(self.rows):
            raise DescriptionError(
                f'a table of {len(self.rows)} rows and {len(self.names)} joint names; '
                'give at least one row, and one name for each'
            )
        self.base, self.tool = _checked('base', base), _checked('tool', tool)

    def __str__(self) -> str:
        lines = [f'base:\n{self.base}']
        for i, (name, row) in enumerate(zip(self.names, self.rows)):
            if i == 0 or type(row) is not type(self.rows[i - 1]):
                lines.append(f'{type(row).__name__}: T = {row.convention}')
                lines.append(' '.join(f'{c:>14}' for c in ('joint', 'type', *row.parameters())))
            cells = [name, row.joint, *(f'{x:.9g}' for x in row.parameters().values())]
            lines.append(' '.join(f'{cell:>14}' for cell in cells))
        return '\n'.join([*lines, f'tool:\n{self.tool}', 'rad, m, right-handed frames'])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Numerical difficulties, and their remedies."""
        return tuple(
            Finding.warning(f'joint {name}', row.doubt, 'use the rows of automatic()')
            for name, row in zip(self.names, self.rows)
            if row.doubt
        )

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose (..., 4, 4) of the last body, q (..., n); q may hold recorded scalars."""
        q = np.asarray(q)
        if q.ndim == 0 or q.shape[-1] != len(self.rows):
            raise ArgumentError(f'q must have shape (..., {len(self.rows)}), got {q.shape}')
        C = self.base
        for i, row in enumerate(self.rows):
            C = C @ row.transform(q[..., i])
        return C @ self.tool

    def joint_frames(self) -> JointFrames:
        """Return the chain in the description with joint frames, to be converted further (K-12).

        The frames of the bodies are those of the table, that of the last body includes `tool`.
        """
        before = [row.before for row in self.rows]
        after = [row.after for row in self.rows]
        before[0], after[-1] = product(self.base, before[0]), product(after[-1], self.tool)
        Z = [Z_SCREWS[row.joint] for row in self.rows]
        return JointFrames(before, se3.inverse(np.stack(after)), Z, None, self.names)

    @classmethod
    def of(cls, geometry: Geometry, fit: Fit) -> LinkTable:
        """Return the table of a serial chain (B-113).

        Parameters
        ----------
        geometry : Geometry
            A chain of revolute and prismatic joints (take one out of a tree by `BodyScrews.chain`).
        fit : callable
            The convention: `StandardRow.fit`, `HayatiRobertsRow.fit`, `ContinuousRow.fit` or
            `automatic`.

        Returns
        -------
        LinkTable
            With the same coordinates and the same pose of the last body at every q.

        Raises
        ------
        DescriptionError
            The geometry branches or has a helical joint, or the convention has no parameters for
            two successive axes.
        """
        spatial = SpatialScrews.of(geometry)
        axes = joint_axes(spatial.Y)
        for i, name in enumerate(spatial.names):
            if spatial.parents[i] != i - 1:
                raise DescriptionError(
                    f'joint {name!r} starts a branch; a table describes a chain, so take one path '
                    'by BodyScrews.chain'
                )
            if np.isfinite(axes.pitch[i]) and axes.pitch[i] != 0.0:
                raise DescriptionError(
                    f'joint {name!r} is helical with pitch {axes.pitch[i]:g} m/rad; '
                    'tables have revolute and prismatic joints only'
                )
        kinds: list[JointKind] = ['prismatic' if np.isinf(h) else 'revolute' for h in axes.pitch]
        base = F = se3.pose(rotation_of_z_to(axes.direction[0]), axes.point[0])
        rows = []
        for i, kind in enumerate(kinds):
            e, p = np.eye(3)[2], np.zeros(3)  # the tool completes the last row
            if i + 1 < len(kinds):
                e = F[:3, :3].T @ axes.direction[i + 1]
                p = F[:3, :3].T @ (axes.point[i + 1] - F[:3, 3])
            translates = i + 1 < len(kinds) and kinds[i + 1] == 'prismatic'
            try:
                rows.append(fit(kind, e, None if translates else p))
            except DescriptionError as error:
                raise DescriptionError(f'after joint {spatial.names[i]!r}: {error}') from None
            F = F @ rows[-1].transform(0.0)
        return cls(rows, base, se3.inverse(F) @ spatial.A[-1], spatial.names)


def _checked(name: str, pose: ArrayLike | None) -> Array:
    try:
        C = finite_pose(name, np.eye(4) if pose is None else pose).copy()
    except ArgumentError as error:
        raise DescriptionError(str(error)) from None
    C.setflags(write=False)
    return C
